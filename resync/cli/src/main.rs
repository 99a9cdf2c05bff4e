//! `logdef`: shows, checks, repairs and converts crash-resilient logs.
//!
//! What a log holds is the library's business. Here are the verbs, one file for
//! each and each thin, which records they choose, and how those look.

#![forbid(unsafe_code)]

mod archived;
mod args;
mod choose;
mod clock_offset;
mod complete;
mod count;
mod destination;
mod examples;
mod failure;
mod fault;
mod followed;
mod journal;
mod log;
mod output;
mod pager;
mod paths;
mod progress;
mod push;
mod redact;
mod report;
mod show;
mod spelling;
mod verb;

use args::Args;
use failure::Failure;
use pager::Pager;
use rustix::process::{Resource, getrlimit, setrlimit};
use signal_hook::consts::SIGXFSZ;
use std::process::ExitCode;
use std::sync::Arc;

fn main() -> ExitCode {
    fault::install();
    let args = Args::parse_with_default_verb();
    args.color.write_global();
    log::keep_of_streams(args.spool);
    raise_limit_of_open_files();
    outlive_limits_of_files();
    let pager = if args.no_pager {
        None
    } else {
        Pager::start(&args.verb)
    };
    let status = match args.verb.run() {
        Ok(status) => status,
        // The reader of our output closed it: `logdef … | head`.
        Err(Failure::OutputClosed) => ExitCode::SUCCESS,
        Err(failure) => {
            log::say(&failure.to_string());
            failure.status()
        }
    };
    drop(pager);
    status
}

/// A file that may not grow is an error of a write, which says so, and not the end of the command.
fn outlive_limits_of_files() {
    let _ = signal_hook::flag::register(SIGXFSZ, Arc::default());
}

/// A directory may hold more logs than the usual soft limit of 1,024 descriptors, which is
/// kept low for programs that call `select`. Where the hard limit is no higher, opening too
/// many says so.
fn raise_limit_of_open_files() {
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    let _ = setrlimit(Resource::Nofile, limit);
}
