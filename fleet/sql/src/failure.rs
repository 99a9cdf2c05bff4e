//! Why a question cannot be answered, in one line, and the exit status that goes with it.

use crate::escape;
use datafusion::error::DataFusionError;
use std::io::{self, Write};
use std::process::ExitCode;

/// The question is wrong.
const USAGE: u8 = 2;
/// A file cannot be read.
const UNREADABLE: u8 = 4;

/// Why a question cannot be answered.
#[derive(Debug)]
pub enum Failure {
    /// The question makes no sense, or not with these tables.
    Question(String),
    /// Files cannot be read.
    Unreadable(String),
    /// The answer cannot be written.
    Output(String),
    /// Who read the answer has enough.
    OutputClosed,
}

impl Failure {
    /// Writes why to standard error, and returns the exit status.
    pub fn report(&self) -> ExitCode {
        let (why, status) = match self {
            Failure::OutputClosed => return ExitCode::SUCCESS,
            Failure::Question(why) => (why, USAGE),
            Failure::Unreadable(why) => (why, UNREADABLE),
            Failure::Output(why) => (why, 1),
        };
        let why = escape::line(why);
        // Standard error may be closed.
        let _ = writeln!(io::stderr(), "logdef-sql: {why}");
        ExitCode::from(status)
    }

    /// Whether no later answer can be written either.
    pub fn is_of_output(&self) -> bool {
        matches!(self, Failure::Output(_) | Failure::OutputClosed)
    }

    /// What went wrong while a question was answered.
    pub fn of(error: &DataFusionError) -> Failure {
        let root = error.find_root();
        let text = root.to_string();
        let first = text.lines().next().unwrap_or_default();
        let plain = first.strip_prefix("External error: ").unwrap_or(first);
        let plain = plain
            .strip_prefix("Error during planning: ")
            .unwrap_or(plain);
        let plain = plain.strip_prefix("Execution error: ").unwrap_or(plain);
        match root {
            DataFusionError::External(_)
            | DataFusionError::IoError(_)
            | DataFusionError::ObjectStore(_)
            | DataFusionError::ParquetError(_) => Failure::Unreadable(plain.to_owned()),
            _ => Failure::Question(plain.to_owned()),
        }
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Failure {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Failure::OutputClosed,
            _ => Failure::Output(format!("standard output: {error}")),
        }
    }
}
