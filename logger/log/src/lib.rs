//! Records of the [`log`] crate in a logdef log: each call site of `info!` and its like is a call
//! site of the log, with its file, line, module and target, and key-values keep their types.
//!
//! ```
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let directory = tempfile::tempdir()?;
//! # let path = directory.path().join("app.log");
//! logdef::open(path)?;
//! logdef_log::init()?;
//! log::info!("listening on {}:{}", "localhost", 8080);
//! log::warn!(target: "disk", used = 0.93; "nearly full");
//! # Ok(())
//! # }
//! ```
//!
//! What is logged follows the filter of the log, `LOGDEF` in the environment or
//! [`logdef::set_filter`], in which a record's target stands for its module, as in other loggers.
//! What is off is neither formatted nor looked at.
//!
//! When a call has returned its record survives `kill -9`, as that of `logdef!`. A message with
//! arguments is printed straight into the record; one without is not formatted at all.

#![forbid(unsafe_code)]

mod pairs;
mod sites;

use log::{LevelFilter, Log, Metadata, Record, SetLoggerError};
use logdef::{CallSite, Level, Passed};
use pairs::Pairs;

/// The logger, for programs that combine loggers; others call [`init`].
#[derive(Clone, Copy, Debug, Default)]
pub struct Logger;

/// Makes the log the program's logger. The greatest level of `log` follows what is logged.
///
/// # Errors
///
/// If the program has a logger already.
pub fn init() -> Result<(), SetLoggerError> {
    log::set_logger(&Logger)?;
    follow_level();
    logdef::on_change(follow_level);
    Ok(())
}

extern "C" fn follow_level() {
    log::set_max_level(max_level());
}

/// The greatest level of which a record can be logged now.
pub fn max_level() -> LevelFilter {
    let levels = log::Level::iter().filter(|level| logdef::is_possible(level_of(*level)));
    levels
        .last()
        .map_or(LevelFilter::Off, |level| level.to_level_filter())
}

fn level_of(level: log::Level) -> Level {
    match level {
        log::Level::Error => Level::ERROR,
        log::Level::Warn => Level::WARN,
        log::Level::Info => Level::INFO,
        log::Level::Debug => Level::DEBUG,
        log::Level::Trace => Level::TRACE,
    }
}

impl Log for Logger {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        let record = Record::builder().metadata(metadata.clone()).build();
        sites::site(&record).is_on()
    }

    fn log(&self, record: &Record<'_>) {
        let site = sites::site(record);
        if site.is_on() {
            write(site, record);
        }
    }

    fn flush(&self) {}
}

/// Logs a record; by itself, so that a call which is off does not make room for it.
#[inline(never)]
fn write(site: CallSite, record: &Record<'_>) {
    let message = match record.args().as_str() {
        Some(text) => logdef::value(text),
        None => Passed::display(record.args()),
    };
    if record.key_values().count() == 0 {
        return site.log(&[message]);
    }
    let pairs = Pairs::of(record.key_values());
    pairs.with_values(|pairs| site.log_pairs(&[message], pairs));
}

/// The examples of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
