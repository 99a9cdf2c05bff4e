//! `logdef`: shows, checks, repairs and converts crash-resilient logs.
//!
//! One file for each verb, each thin: what a log holds is the library's
//! business, and how it looks is a verb's.

#![forbid(unsafe_code)]

mod args;
mod check;
mod dump;
mod escape;
mod failure;
mod json;
mod log;
mod output;
mod recover;
mod text;
mod view;

use args::{Args, Verb};
use failure::Failure;
use std::process::ExitCode;

fn main() -> ExitCode {
    let args = Args::parse_with_default_verb();
    match run(args) {
        Ok(status) => status,
        // Whoever reads our output had enough: `logdef … | head`.
        Err(Failure::OutputClosed) => ExitCode::SUCCESS,
        Err(failure) => {
            anstream::eprintln!("logdef: {failure}");
            failure.status()
        }
    }
}

fn run(args: Args) -> Result<ExitCode, Failure> {
    args.color.write_global();
    match args.verb {
        Verb::View(view) => view::run(&view),
        Verb::Check(check) => check::run(&check),
        Verb::Recover(rewrite) => recover::recover(&rewrite),
        Verb::Merge(rewrite) => recover::merge(&rewrite),
        Verb::Dump(dump) => dump::run(&dump),
    }
}
