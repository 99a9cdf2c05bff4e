//! `logdef-sql`: questions in SQL about logs and archives.
#![forbid(unsafe_code)]

mod args;
mod ask;
mod cooperative;
mod escape;
mod failure;
mod output;
mod prompt;
mod worker;

use args::Args;
use clap::Parser;
use failure::Failure;
use std::env;
use std::process::ExitCode;

fn main() -> ExitCode {
    // A log that is called so is asked about as ./worker.
    if env::args_os().nth(1).is_some_and(|word| word == "worker") {
        return worker::main();
    }
    let args = Args::parse();
    match run(&args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(),
    }
}

fn run(args: &Args) -> Result<(), Failure> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    let answered = runtime.block_on(ask::run(args));
    // What was abandoned may still compute.
    runtime.shutdown_background();
    answered
}
