//! Every answer is a cut of the same whole: `-n`, `--tail`, `--since`, `--until` and the
//! filters show what stands there in the output of `view` alone, for logs whose clocks
//! step, clean or damaged.

use crate::early::synth::{EPOCH, Log, Random};
use crate::fixture::{Files, command, run};
use logdef_wire::{Run, Svma};
use std::path::Path;

/// A log in chunks of threads whose clock is set, forward and back, in each.
fn stepping(random: &mut Random) -> Log {
    let id = Run(random.next() | 1);
    let mut log = Log::new();
    let threads = 1 + random.below(3);
    let mut counts = vec![0u64; threads];
    let mut time = EPOCH;
    for _ in 0..2 + random.below(8) {
        let start = log.bytes.len();
        let thread = random.below(threads);
        log.preamble(id, Some(2048))
            .string(id, Svma(0x2000), b"main.c")
            .string(id, Svma(0x2008), b"record %d says %s")
            .thread(id, thread as u64, b"worker");
        for _ in 0..1 + random.below(14) {
            time = match random.below(12) {
                0 => time.saturating_sub(3_600_000_000_000),
                1 => time + 3_600_000_000_000,
                _ => time + 1_000_000_000,
            };
            if random.below(60) == 0 {
                time = [0, u64::MAX, 1 << 63][random.below(3)];
            }
            log.data(id, thread as u64, counts[thread], time, b"text");
            counts[thread] += 1;
            time = time.clamp(EPOCH - (1 << 50), EPOCH + (1 << 50));
        }
        let len = log.bytes.len() - start;
        assert!(len <= 2048, "{len}");
        log.zeros(2048 - len);
    }
    log
}

fn shown(words: &[&str], file: &Path) -> Vec<String> {
    let mut command = command();
    command.args(["view", "--no-logged-paths", "-o", "json"]);
    let ran = run(command.args(words).arg(file), b"");
    assert!(ran.status == 0 || ran.status == 3, "{words:?}: {}", ran.err);
    ran.out.lines().map(str::to_owned).collect()
}

/// The number behind a key of a line.
fn number(line: &str, key: &str) -> Option<u64> {
    let (_, rest) = line.split_once(&format!("\"{key}\":"))?;
    let end = rest.find(|c: char| !c.is_ascii_digit())?;
    rest[..end].parse().ok()
}

fn time(line: &str) -> u64 {
    number(line, "time_ns").unwrap_or(0)
}

fn each_thread_is_in_order(lines: &[String]) {
    let mut last = std::collections::HashMap::new();
    for line in lines {
        let thread = number(line, "thread_number");
        let count = number(line, "sequence");
        let before = last.insert(thread, count);
        assert!(before.is_none_or(|before| before < count), "{line}");
    }
}

#[test]
fn every_answer_is_a_cut_of_the_whole() {
    let files = Files::new();
    let mut random = Random::new(31);
    for log in 0..60 {
        let mut bytes = stepping(&mut random).bytes;
        for _ in 0..random.below(3) {
            let at = random.below(bytes.len());
            bytes[at] ^= 0x10;
        }
        let path = files.put("app.log", &bytes);
        let whole = shown(&[], &path);
        each_thread_is_in_order(&whole);
        let some = random.below(whole.len() + 2);
        let number = some.to_string();
        let head = |lines: &[String]| lines[..some.min(lines.len())].to_vec();
        let tail = |lines: &[String]| lines[lines.len() - some.min(lines.len())..].to_vec();
        assert_eq!(
            shown(&["-n", &number], &path),
            head(&whole),
            "-n, log {log}"
        );
        assert_eq!(
            shown(&["--tail", &number], &path),
            tail(&whole),
            "--tail, log {log}"
        );
        // A time of a record, or near one.
        let middle = whole
            .get(random.below(whole.len()))
            .map_or(EPOCH, |line| time(line));
        let seconds = middle.clamp(EPOCH - (1 << 50), EPOCH + (1 << 50)) / 1_000_000_000;
        let middle = seconds * 1_000_000_000;
        let at = format!("@{seconds}");
        for limit in ["--since", "--until"] {
            let is_in = |line: &&String| match limit {
                "--since" => time(line) >= middle,
                _ => time(line) <= middle,
            };
            let cut: Vec<_> = whole.iter().filter(is_in).cloned().collect();
            let limited = [limit, &at];
            assert_eq!(shown(&limited, &path), cut, "{limited:?}, log {log}");
            let words = [limit, &at, "-n", &number];
            assert_eq!(shown(&words, &path), head(&cut), "{words:?}, log {log}");
            let words = [limit, &at, "--tail", &number];
            assert_eq!(shown(&words, &path), tail(&cut), "{words:?}, log {log}");
        }
    }
}

/// Longer logs are shown while they are read, and chunks left out by the times in their heads.
#[test]
fn what_is_shown_early_is_a_cut_of_the_whole_too() {
    let files = Files::new();
    let mut random = Random::new(37);
    for log in 0..60 {
        let path = files.put("app.log", &stepping(&mut random).bytes);
        let whole = shown(&[], &path);
        let some = 1 + random.below(whole.len());
        let number = some.to_string();
        let seconds = time(&whole[random.below(whole.len())]) / 1_000_000_000;
        let seconds = seconds.clamp(1, EPOCH / 1_000_000_000 + (1 << 20));
        let at = format!("@{seconds}");
        let early = |words: &[&str]| shown(&[&["--early-from", "0"], words].concat(), &path);
        assert_eq!(early(&["-n", &number]), whole[..some], "-n, log {log}");
        for limit in ["--since", "--until"] {
            let is_in = |line: &&String| match limit {
                "--since" => time(line) >= seconds * 1_000_000_000,
                _ => time(line) <= seconds * 1_000_000_000,
            };
            let cut: Vec<_> = whole.iter().filter(is_in).cloned().collect();
            let head = cut[..some.min(cut.len())].to_vec();
            let words = [limit, &at, "-n", &number];
            assert_eq!(early(&words), head, "{words:?}, log {log}");
            // What is found late stands below, and is said to.
            let sorted = |mut lines: Vec<String>| {
                lines.sort();
                lines
            };
            assert_eq!(
                sorted(early(&[limit, &at])),
                sorted(cut),
                "{limit} {at}, log {log}"
            );
        }
    }
}
