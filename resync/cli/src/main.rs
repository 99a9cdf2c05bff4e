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

use args::{Args, Verb};
use failure::Failure;
use std::process::ExitCode;
use verb::{
    check, dump, export, fxt, import, manual, recover, send, serve, sites, stats, stream,
    symbolize, view,
};

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
