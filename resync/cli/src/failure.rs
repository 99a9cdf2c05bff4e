//! Why a verb could not do its work, in one line each, and the exit status
//! that goes with it.

use std::fmt;
use std::io;
use std::process::ExitCode;

/// Damage was found.
pub const DAMAGED: u8 = 3;
/// Nothing could be read.
const UNREADABLE: u8 = 4;

/// See the module.
#[derive(Debug)]
pub enum Failure {
    /// Inputs could not be read, or hold nothing.
    Unreadable(String),
    /// The output could not be written.
    Output(String, io::Error),
    /// Whoever read the output has gone.
    OutputClosed,
}

impl Failure {
    /// The exit status.
    pub fn status(&self) -> ExitCode {
        match self {
            Failure::Unreadable(_) => ExitCode::from(UNREADABLE),
            Failure::Output(..) => ExitCode::FAILURE,
            Failure::OutputClosed => ExitCode::SUCCESS,
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Unreadable(why) => f.write_str(why),
            Failure::Output(name, error) => write!(f, "cannot write {name}: {error}"),
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
