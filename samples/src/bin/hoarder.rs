//! Logs on a disk that fills up, when its parent says so.
//!
//! ```text
//! hoarder LOG SINK
//! ```
//!
//! Each line of its input is a number of calls to make, `sync` or `unwritten`; each
//! is answered by a line: how many calls there were until now and how long the
//! longest took, in milliseconds; what the sync said; how many of the last calls
//! could not be written. SINK is `auto`, `mapped` or `append`.

use logdef::{Sink, logdef};
use std::io::BufRead;
use std::process::ExitCode;
use std::time::{Duration, Instant};

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [log, sink] = &args[..] else {
        eprintln!("usage: hoarder LOG SINK");
        return ExitCode::from(2);
    };
    let sink = match &**sink {
        "mapped" => Sink::Mapped,
        "append" => Sink::Append,
        _ => Sink::Auto,
    };
    if let Err(error) = logdef::options().sink(sink).open(log) {
        println!("{error}");
        return ExitCode::FAILURE;
    }
    println!("open");
    let mut calls = 0;
    for line in std::io::stdin().lock().lines() {
        let line = line.expect("a line");
        if line == "sync" {
            let said = logdef::sync();
            println!(
                "{}",
                said.map_or_else(|e| e.to_string(), |()| "synced".into())
            );
            continue;
        }
        if line == "unwritten" {
            println!("{}", logdef::unwritten());
            continue;
        }
        let more: u64 = line.parse().expect("a number of calls");
        let mut longest = Duration::ZERO;
        for _ in 0..more {
            let start = Instant::now();
            logdef!(Info, "call %lu of %s", calls, "a hoarder");
            longest = longest.max(start.elapsed());
            calls += 1;
        }
        println!("{calls} {}", longest.as_millis());
    }
    ExitCode::SUCCESS
}
