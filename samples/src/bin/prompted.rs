//! Logs numbers when its standard input says so, so that a test decides what happens between them.
//!
//! ```text
//! prompted LOG mapped|append
//! ```
//!
//! The lines of the input are `log FROM END`, for a record of each number up to END, and `reopen`, as after a
//! rename. After each it prints one line: calls that were dropped, what was done with the file that stood
//! at the path, its new name, and the log's own. It prints one too when the log is open, and closes it when the input ends.

use logdef::{Sink, logdef};
use std::path::PathBuf;
use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (log, sink) = match &arguments[..] {
        [log, sink] if sink == "mapped" => (log, Sink::Mapped),
        [log, sink] if sink == "append" => (log, Sink::Append),
        _ => {
            eprintln!("usage: prompted LOG mapped|append");
            return ExitCode::from(2);
        }
    };
    if let Err(error) = logdef::options().sink(sink).open(log) {
        eprintln!("{log}: {error}");
        return ExitCode::FAILURE;
    }
    print_state();
    for line in std::io::stdin().lines() {
        let line = line.expect("a line");
        let words: Vec<&str> = line.split(' ').collect();
        match words[..] {
            ["log", from, end] => log_numbers(number(from)..number(end)),
            ["reopen"] => logdef::reopen().expect("it opens again"),
            _ => panic!("{line:?} is no line of an input"),
        }
        print_state();
    }
    logdef::close();
    ExitCode::SUCCESS
}

fn number(word: &str) -> u64 {
    word.parse().expect("a number")
}

fn log_numbers(numbers: std::ops::Range<u64>) {
    for number in numbers {
        logdef!(Info, "number %lu", number);
    }
}

fn print_state() {
    let state = logdef::state();
    let previous = state.previous.unwrap_or_else(|| PathBuf::from("-"));
    println!(
        "dropped={} existing={:?} previous={} path={}",
        state.dropped,
        state.existing,
        previous.display(),
        state.path.display()
    );
}
