//! The mirror: records as lines of text on standard error while a program is being
//! developed. Off unless asked for; a call that it does not show pays nothing for
//! it.
//!
//! It shows what was written: the record's own body is decoded again. Nothing here
//! allocates or takes a lock of the logger's; the conversions are the C library's,
//! whose locale also sets the decimal point. The log itself remains the record of
//! what happened: lines are cut at 4 KiB, and a full pipe makes the call wait.

mod braces;
mod line;
#[allow(unsafe_code)]
mod number;
mod std_format;
mod text;

use crate::call::site::Strings;
use crate::captured::{Captures, Parts};
use crate::clock;
use crate::context;
use crate::environment;
use crate::handler;
use crate::observer::{Observed, Observer};
use crate::published::Published;
use crate::sys;
use core::ffi::c_int;
use core::sync::atomic::{AtomicBool, AtomicI32, AtomicU8, AtomicU64, Ordering};
use line::{Line, Style};
use logdef_wire::record::{Data, Record};
use logdef_wire::{Level, Value};

/// Standard error.
const STDERR: c_int = 2;
/// The most bytes of a body that is unmasked to be shown.
const UNMASKED: usize = 4096;

/// What is shown on standard error, to which observer, and what tests capture.
pub(crate) struct Mirror {
    /// The lowest level that is shown; 0 for none.
    level: AtomicU8,
    colored: AtomicBool,
    /// What standard error was when the log was opened: device and inode.
    device: AtomicU64,
    inode: AtomicU64,
    /// Seconds that local time is ahead, as it was when the log was opened.
    ahead: AtomicI32,
    /// The lowest level that the observer is called for; 0 for none.
    observed: AtomicU8,
    /// One that was set before is not freed: a thread may be telling it something.
    observer: Published<&'static dyn Observer>,
    pub captures: Captures,
}

impl Mirror {
    pub const fn new() -> Mirror {
        Mirror {
            level: AtomicU8::new(0),
            colored: AtomicBool::new(false),
            device: AtomicU64::new(0),
            inode: AtomicU64::new(0),
            ahead: AtomicI32::new(0),
            observed: AtomicU8::new(0),
            observer: Published::new(),
            captures: Captures::new(),
        }
    }

    /// Calls an observer with each record of this level or above.
    pub fn set_observer(&self, observer: Option<(Level, &'static dyn Observer)>) {
        let set = observer.map(|(_, observer)| &*Box::leak(Box::new(observer)));
        self.observer.replace(set);
        let level = observer.map_or(0, |(level, _)| level.0.max(1));
        self.observed.store(level, Ordering::Relaxed);
    }

    /// The lowest level that the observer is called for.
    pub fn observed_level(&self) -> Option<Level> {
        let level = self.observed.load(Ordering::Relaxed);
        (level > 0).then_some(Level(level))
    }

    /// Shows records of this level and above; none without a level.
    pub fn set(&self, level: Option<Level>) {
        let plain = environment::variable("NO_COLOR").is_some_and(|value| !value.is_empty())
            || environment::variable("TERM").is_some_and(|term| term == "dumb");
        let colored = !plain && sys::is_terminal(STDERR);
        self.colored.store(colored, Ordering::Relaxed);
        let (device, inode) = sys::identity(STDERR).map_or((0, 0), |found| found.file);
        self.device.store(device, Ordering::Relaxed);
        self.inode.store(inode, Ordering::Relaxed);
        let ahead = sys::local_time_ahead(clock::realtime() / 1_000_000_000);
        self.ahead.store(ahead, Ordering::Relaxed);
        let level = level.map_or(0, |level| level.0.max(1));
        self.level.store(level, Ordering::Relaxed);
    }

    /// The lowest level that is shown.
    pub fn level(&self) -> Option<Level> {
        let level = self.level.load(Ordering::Relaxed);
        (level > 0).then_some(Level(level))
    }

    /// The lowest level whose records are printed, passed to the observer or captured.
    pub fn lowest_level(&self) -> Option<Level> {
        let captured = self.captures.is_any().then_some(Level(0));
        let from = [self.level(), self.observed_level(), captured];
        from.into_iter().flatten().min()
    }

    /// Whether records of a level are printed, passed to the observer or captured.
    pub fn wants(&self, level: Level) -> bool {
        self.lowest_level().is_some_and(|from| level >= from)
    }

    /// Whether records of a level are printed or passed to the observer.
    pub fn shows(&self, level: Level) -> bool {
        let from = [self.level(), self.observed_level()];
        from.into_iter().flatten().any(|from| level >= from)
    }

    /// Prints a record, if its level asks for it, passes it to the observer, and offers it to
    /// the captures.
    pub fn show(&self, body: &[u8], strings: Strings<'_>) {
        // Lines take more of the stack than a handler may have.
        handler::with_room(|| {
            let mut unmasked = [0; UNMASKED];
            if let Some((body, data)) = decode(body, &mut unmasked) {
                self.show_decoded(body, data, strings);
                if self.captures.is_any() {
                    self.capture(body, &data, strings);
                }
            }
        });
    }

    /// Shows a record of a call that was made before the log was open. The captures of that
    /// time have it already.
    pub fn show_late(&self, body: &[u8], strings: Strings<'_>) {
        let mut unmasked = [0; UNMASKED];
        if let Some((body, data)) = decode(body, &mut unmasked) {
            self.show_decoded(body, data, strings);
        }
    }

    #[inline(never)]
    fn capture(&self, body: &[u8], data: &Data<'_>, strings: Strings<'_>) {
        let mut line = Line::of_raw_text();
        text::write(&mut line, strings, data.args.unwrap_or_default());
        let message = line.finish();
        let place = strings.place();
        let [module, target, _] = place.map(|name| name.unwrap_or_default().to_bytes());
        let parts = Parts {
            parts: [
                body,
                strings.file().to_bytes(),
                message.strip_suffix(b"\n").unwrap_or(message),
                module,
                target,
                strings.description().as_bytes(),
            ],
            // Before the log is open its key-values are the record's own.
            context: data.context.and_then(|_| context::current()),
        };
        self.captures.offer(data.thread.unwrap_or(0), &parts);
    }

    #[inline(never)]
    fn show_decoded(&self, body: &[u8], data: Data<'_>, strings: Strings<'_>) {
        let shown = self.level().zip(data.level);
        if shown.is_some_and(|(from, level)| level >= from) {
            let mut line = Line::new(self.colored.load(Ordering::Relaxed));
            self.write(&mut line, &data, strings);
            if self.is_standard_error() {
                let _ = sys::write_without_signals(STDERR, line.finish());
            }
        }
        let observed = self.observed_level().zip(data.level);
        if observed.is_some_and(|(from, level)| level >= from)
            && let Some(observer) = self.observer.get()
        {
            let mut line = Line::new(false);
            let args = data.args.unwrap_or_default();
            text::write(&mut line, strings, args);
            let line = line.finish();
            observer.observe(&Observed {
                data,
                body,
                file: strings.file().to_bytes(),
                message: line.strip_suffix(b"\n").unwrap_or(line),
            });
        }
    }

    /// Whether descriptor 2 is what it was: a program may close it, and the number become
    /// that of its database.
    fn is_standard_error(&self) -> bool {
        let device = self.device.load(Ordering::Relaxed);
        let inode = self.inode.load(Ordering::Relaxed);
        sys::identity(STDERR).is_ok_and(|found| found.file == (device, inode))
    }

    fn write(&self, line: &mut Line, data: &Data<'_>, strings: Strings<'_>) {
        let level = data.level.unwrap_or(Level::INFO);
        let thread = data.sequence.map_or(0, |sequence| sequence.number().0);
        line.styled(Style::Dim, |line| {
            line.time_of_day(data.time.unwrap_or(0), self.ahead.load(Ordering::Relaxed));
        });
        line.bytes(b" ");
        line.styled(Style::of(level), |line| {
            line.print(format_args!("{level:<5}"))
        });
        line.bytes(b" ");
        line.styled(Style::Dim, |line| {
            line.print(format_args!("[{thread}] "));
            let (file, at) = (strings.file().to_bytes(), data.line.unwrap_or(0));
            // Calls by bindings of other languages may name no place.
            if !file.is_empty() || at > 0 {
                line.text(file_name(file));
                line.print(format_args!(":{at}: "));
            }
        });
        let args = data.args.unwrap_or_default();
        text::write(line, strings, args);
        let skipped = data.keys.into_iter().flat_map(|keys| keys.iter());
        for (key, value) in skipped {
            if let (Value::Raw(key), Value::Uint(value)) = (key, value) {
                line.styled(Style::Dim, |line| {
                    line.bytes(b" {");
                    line.text(key);
                    line.print(format_args!(": {value}}}"));
                });
            }
        }
        if let Some(dropped) = data.dropped {
            line.styled(Style::Warn, |line| {
                line.print(format_args!(" ({dropped} dropped before)"));
            });
        }
    }
}

/// The level from which the environment's `LOGDEF_STDERR` shows records: a level,
/// or `1`, `on` or `all` for every one. An error is the text that says none of that.
pub(crate) fn level_of_environment() -> Result<Option<Level>, String> {
    let Some(text) = environment::text("LOGDEF_STDERR") else {
        return Ok(None);
    };
    match text.trim() {
        "" | "0" | "off" => Ok(None),
        "1" | "on" | "all" => Ok(Some(Level(1))),
        level => Level::parse(level).map(Some).ok_or(text),
    }
}

/// Writes `logdef: ` and `text` as a line to standard error.
pub(crate) fn print_line(text: &str) {
    let line = format!("logdef: {text}\n");
    let _ = sys::write_without_signals(STDERR, line.as_bytes());
}

/// A data record's body, unmasked, and its fields.
fn decode<'b>(body: &'b [u8], unmasked: &'b mut [u8]) -> Option<(&'b [u8], Data<'b>)> {
    match Record::decode(body) {
        Ok(Record::Data(data)) => Some((body, data)),
        Ok(Record::Masked(masked)) => {
            let body = masked.unmask(unmasked)?;
            match Record::decode(body) {
                Ok(Record::Data(data)) => Some((body, data)),
                _ => None,
            }
        }
        _ => None,
    }
}

/// The last part of a path.
fn file_name(path: &[u8]) -> &[u8] {
    path.rsplit(|byte| *byte == b'/').next().unwrap_or(path)
}
