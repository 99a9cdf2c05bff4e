//! The command run on a log, with an eye on its memory and its CPU time.

#![allow(dead_code, missing_docs, unreachable_pub)]

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// Every verb that reads a whole log, in every form that does other work. NEW is the name of nothing yet. Not
/// `push`, which waits for a store: its memory is watched where one answers.
pub const VERBS: &[&str] = &[
    "check",
    "check --json",
    "view",
    "view -o json",
    "view -o full --with-context",
    "view -o csv",
    "view -o logfmt",
    "view -n 10",
    "view --tail 10",
    "view --tail 1000000 -o json",
    "view --grep nowhere -C 1000000",
    "view -w level>=warn",
    "view --fold",
    "view --follow",
    "view --follow --tail 200000",
    "stats",
    "stats --json",
    "report -o -",
    "recover -o -",
    "merge -o -",
    "archive -o NEW",
    "dump",
    "dump --strict",
    "export --to fxt -o -",
    "export --to fxt --as perfetto -o -",
    "export --to otlp-json -o -",
    "export --to journald -o -",
    "export --to folded -o -",
    "export --to fuchsia -o -",
    "export --to diagnostics-json -o -",
];

/// How a run ended.
#[derive(Clone, Copy, Debug)]
pub struct Watched {
    /// The most memory that was seen, in bytes: a moment's peak at the very end may be missed.
    pub peak: u64,
    /// CPU time of all its threads, in seconds.
    pub seconds: f64,
    /// The exit status, or 128 and the signal.
    pub status: i32,
}

/// Memory beyond which a run has failed: others need some too.
const MOST: u64 = 3 << 30;
/// What `/proc` counts CPU time in, on every machine.
const TICKS: f64 = 100.0;
/// Looks at a follower of which nearly all find it asleep when it has read all. One that is kept
/// from running by others is not asleep.
const LOOKS: u32 = 400;
const ASLEEP: u32 = 340;
/// What it may spend while it waits, as a part of the time.
const IDLE: f64 = 0.15;

/// Runs `logdef` with words and a file, and ends it after a number of seconds of CPU time or
/// with too much memory; what it says is thrown away. A follower is ended when it waits.
pub fn run(program: &str, words: &str, file: &Path, seconds: u64) -> Watched {
    let new = file.with_extension("new");
    let mut command = Command::new(program);
    let words_of = words.split_whitespace();
    let words_of = words_of.map(|word| {
        if word == "NEW" {
            new.as_os_str()
        } else {
            word.as_ref()
        }
    });
    command.args(words_of).arg(file);
    command.stdin(Stdio::null()).stdout(Stdio::null());
    let child = command.stderr(Stdio::null()).spawn().unwrap();
    let watched = watch(child, words.contains("--follow"), seconds);
    // Most verbs make nothing.
    let _ = std::fs::remove_dir_all(new);
    watched
}

/// Watches a command until it ends, or is ended.
pub fn watch(mut child: Child, follows: bool, seconds: u64) -> Watched {
    use std::os::unix::process::ExitStatusExt;
    // Others may have most of the machine.
    let end = Instant::now() + Duration::from_secs(20 * seconds);
    let (mut peak, mut spent) = (0, 0.0);
    let (mut since, mut before) = (Instant::now(), 0.0);
    let (mut looks, mut asleep, mut has_waited) = (0, 0, false);
    // Once it has ended, its times are there until it is waited for.
    while let Some((state, now)) = state_of(child.id()).filter(|(state, _)| *state != 'Z') {
        spent = now;
        peak = peak.max(most_of(child.id()).unwrap_or(0));
        looks += 1;
        asleep += u32::from(state == 'S');
        if looks == LOOKS {
            let is_idle = spent - before < IDLE * since.elapsed().as_secs_f64();
            has_waited = follows && asleep >= ASLEEP && is_idle;
            (looks, asleep) = (0, 0);
            (since, before) = (Instant::now(), spent);
        }
        if has_waited || spent > seconds as f64 || Instant::now() > end || peak > MOST {
            // It may have ended just now.
            let _ = child.kill();
            break;
        }
        thread::sleep(Duration::from_millis(3));
    }
    spent = state_of(child.id()).map_or(spent, |(_, now)| now.max(spent));
    let status = child.wait().unwrap();
    let signal = status.signal().map(|signal| 128 + signal);
    Watched {
        peak,
        seconds: spent,
        status: match signal.or(status.code()) {
            Some(_) if has_waited => 0,
            status => status.unwrap_or(-1),
        },
    }
}

/// The state of a process, and its CPU time in seconds.
fn state_of(process: u32) -> Option<(char, f64)> {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // The name of the program, in parentheses, may hold anything.
    let (_, rest) = stat.rsplit_once(") ")?;
    let words: Vec<_> = rest.split(' ').collect();
    let ticks = |at: usize| words.get(at)?.parse::<f64>().ok();
    let state = words.first()?.chars().next()?;
    Some((state, (ticks(11)? + ticks(12)?) / TICKS))
}

/// The most memory that a process had, in bytes.
fn most_of(process: u32) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    let kib: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kib << 10)
}
