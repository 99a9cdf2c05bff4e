//! `logdef`: shows, checks, repairs and converts crash-resilient logs.
//!
//! One file for each verb, each thin: what a log holds is the library's
//! business, and how it looks is a verb's.

#![forbid(unsafe_code)]

mod args;
mod check;
mod chosen;
mod clock;
mod condition;
mod destination;
mod draw;
mod dump;
mod early;
mod escape;
mod export;
mod failure;
mod filter;
mod folded;
mod follow;
mod fxt;
mod hyperlink;
mod import;
mod journal;
mod json;
mod log;
mod losses;
mod manual;
mod map;
mod output;
mod paths;
mod printer;
mod progress;
mod recover;
mod send;
mod serve;
mod sites;
mod stats;
mod stream;
mod symbolize;
mod tabular;
mod text;
mod view;
mod viewer;
mod when;

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
            log::say(&failure.to_string());
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
        Verb::Export(export) => export::run(&export),
        Verb::Import(import) => import::run(&import),
        Verb::Stats(stats) => stats::run(&stats),
        Verb::Sites(sites) => sites::run(&sites),
        Verb::Symbolize(symbolize) => symbolize::run(&symbolize),
        Verb::Serve(serve) => serve::run(&serve),
        Verb::Stream(stream) => stream::run(&stream),
        Verb::Send(send) => send::run(&send),
        Verb::Completions { shell } => manual::completions(shell),
        Verb::Man => manual::page(),
        Verb::Fxt(fxt) => fxt::run(&fxt),
    }
}
