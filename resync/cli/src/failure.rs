//! Why a verb could not do its work, in one line each, and the exit status
//! that goes with it.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// No record matches, where the status is to say so.
pub const NO_MATCH: u8 = 1;
/// The command line makes no sense; clap's own.
const USAGE: u8 = 2;
/// Damage was found.
pub const DAMAGED: u8 = 3;
/// An input could not be read.
pub const UNREADABLE: u8 = 4;

/// Why a verb failed.
#[derive(Debug)]
pub enum Failure {
    /// Inputs could not be read, or hold nothing.
    Unreadable(String),
    /// The output could not be written.
    Output(String, io::Error),
    /// The output is there already.
    Exists(PathBuf),
    /// What was asked for makes no sense with this log.
    Usage(String),
    /// The reader of the output has closed it.
    OutputClosed,
}

impl Failure {
    /// Writing to `path` failed.
    pub fn output(path: &Path, error: io::Error) -> Failure {
        if path == Path::new("-") {
            error.into()
        } else {
            Failure::Output(path.display().to_string(), error)
        }
    }

    /// Reading the inputs, or writing `path` from them, failed.
    pub fn rewriting(path: &Path, error: logdef_resync::Error) -> Failure {
        if error.name() != "output" {
            return error.into();
        }
        let cause = match error.cause().raw_os_error() {
            Some(number) => io::Error::from_raw_os_error(number),
            None => error.cause().kind().into(),
        };
        Failure::output(path, cause)
    }

    pub fn status(&self) -> ExitCode {
        match self {
            Failure::Unreadable(_) => ExitCode::from(UNREADABLE),
            Failure::Output(..) => ExitCode::FAILURE,
            Failure::Exists(_) | Failure::Usage(_) => ExitCode::from(USAGE),
            Failure::OutputClosed => ExitCode::SUCCESS,
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Unreadable(why) => f.write_str(why),
            Failure::Output(name, error) => write!(f, "cannot write {name}: {error}"),
            Failure::Exists(path) => write!(
                f,
                "{} exists already: name another file, or remove it",
                path.display()
            ),
            Failure::Usage(why) => f.write_str(why),
            Failure::OutputClosed => f.write_str("output closed"),
        }
    }
}

impl From<logdef_resync::Error> for Failure {
    fn from(error: logdef_resync::Error) -> Self {
        Failure::Unreadable(error.to_string())
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Failure::OutputClosed,
            _ => Failure::Output("standard output".into(), error),
        }
    }
}
