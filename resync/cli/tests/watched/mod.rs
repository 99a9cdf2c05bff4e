//! The command run on a log, with an eye on its memory.

#![allow(dead_code, missing_docs, unreachable_pub)]

use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// Every verb that reads a whole log, in every form that does other work.
pub const VERBS: &[&str] = &[
    "check",
    "check --json",
    "view",
    "view -o json",
    "view --tail 10",
    "stats",
    "recover -o -",
    "merge -o -",
    "export --to fxt -o -",
    "export --to otlp-json -o -",
    "export --to journald -o -",
    "export --to folded -o -",
    "export --to fuchsia -o -",
    "export --to diagnostics-json -o -",
];

/// How a run ended.
pub struct Watched {
    /// The most memory that was seen, in bytes: a moment's peak at the very end may be missed.
    pub peak: u64,
    /// The exit status, or 128 and the signal.
    pub status: i32,
}

/// Memory beyond which a run has failed: others need some too.
const MOST: u64 = 3 << 30;

/// Runs `logdef` with words and a file, and ends it after a number of seconds or with too much
/// memory; what it says is thrown away.
pub fn run(program: &str, words: &str, file: &Path, seconds: u64) -> Watched {
    use std::os::unix::process::ExitStatusExt;
    let mut command = Command::new(program);
    command.args(words.split_whitespace()).arg(file);
    command.stdin(Stdio::null()).stdout(Stdio::null());
    let mut child = command.stderr(Stdio::null()).spawn().unwrap();
    let end = Instant::now() + Duration::from_secs(seconds);
    let mut peak = 0;
    let status = loop {
        peak = peak.max(most_of(child.id()).unwrap_or(0));
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        if Instant::now() > end || peak > MOST {
            // It may have ended just now.
            let _ = child.kill();
        }
        thread::sleep(Duration::from_millis(3));
    };
    let signal = status.signal().map(|signal| 128 + signal);
    Watched {
        peak,
        status: signal.or(status.code()).unwrap_or(-1),
    }
}

/// The most memory that a process had, in bytes.
fn most_of(process: u32) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    let kib: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kib << 10)
}
