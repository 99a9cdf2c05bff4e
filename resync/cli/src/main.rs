//! `logdef`: shows, checks, repairs and converts crash-resilient logs.
//!
//! What a log holds is the library's business. Here are the verbs, one file for
//! each and each thin, which records they choose, and how those look.

#![forbid(unsafe_code)]

mod args;
mod choose;
mod destination;
mod failure;
mod journal;
mod log;
mod output;
mod paths;
mod progress;
mod show;
mod verb;

use args::Args;
use failure::Failure;
use std::process::ExitCode;

fn main() -> ExitCode {
    let args = Args::parse_with_default_verb();
    match run(args) {
        Ok(status) => status,
        // Whoever reads our output had enough: `logdef … | head`.
        Err(Failure::OutputClosed) => ExitCode::SUCCESS,
        Err(failure) => {
            log::say(&failure.to_string());
            failure.status()
        }
    }
}

fn run(args: Args) -> Result<ExitCode, Failure> {
    args.color.write_global();
    args.verb.run()
}
