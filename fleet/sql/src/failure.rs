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
    /// The answer needs more memory than it may take.
    Memory(String),
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
            Failure::Output(why) | Failure::Memory(why) => (why, 1),
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

/// Letters of a question that are quoted.
const QUOTED: usize = 80;

/// What was asked, for messages.
pub struct Asked<'q> {
    /// The question.
    pub question: &'q str,
    /// Memory that it may take, in MiB.
    pub memory: u32,
}

impl Asked<'_> {
    /// What went wrong while it was answered.
    pub fn failed(&self, error: &DataFusionError) -> Failure {
        match error.find_root() {
            DataFusionError::ResourcesExhausted(text) => Failure::Memory(self.lacks_memory(text)),
            _ => Failure::of(error),
        }
    }

    fn lacks_memory(&self, text: &str) -> String {
        let who = taker(text);
        let question = self.question.replace(char::is_whitespace, " ");
        let mut quoted: String = question.chars().take(QUOTED).collect();
        if quoted.len() < question.len() {
            quoted.push('…');
        }
        let (place, limit, more) = match text.split_once(": ") {
            Some((worker, _)) if worker.starts_with("worker ") => (
                format!(" at {worker}"),
                "it may take there".to_owned(),
                "start the worker with more --memory",
            ),
            _ => (
                String::new(),
                format!("the {} MiB that it may take", self.memory),
                "give it more with --memory",
            ),
        };
        format!(
            "not enough memory{place}: {who} needs more than {limit}, and has no use for temporary files: ask for less \
             at once, or {more}: {quoted}"
        )
    }
}

/// The part of a plan that took more memory than there was, as the engine names it: `… for NAME[0] with …`.
fn taker(text: &str) -> &str {
    let name = text
        .split_once(" for ")
        .map_or("a part of it", |(_, it)| it);
    let name = name.split(" with ").next().unwrap_or(name);
    name.split(['[', '#']).next().unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lack_of_memory_says_who_where_how_much_and_what_to_do() {
        let asked = Asked {
            question: "select *\nfrom records",
            memory: 7,
        };
        let said = |text: &str| {
            let error = DataFusionError::ResourcesExhausted(text.into());
            match asked.failed(&error.context("somewhere")) {
                Failure::Memory(said) => said,
                other => panic!("{other:?}"),
            }
        };
        let text =
            "Additional allocation failed for HashJoinInput[0] with top memory consumers as:\n A";
        assert_eq!(
            said(text),
            "not enough memory: HashJoinInput needs more than the 7 MiB that it may take, and has no use for temporary \
             files: ask for less at once, or give it more with --memory: select * from records"
        );
        let there = said(&format!("worker 10.0.0.1:7401: {text}"));
        assert!(
            there.starts_with("not enough memory at worker 10.0.0.1:7401: HashJoinInput needs")
        );
        assert!(there.contains("start the worker with more --memory"));
    }
}
