//! A log that is shown while it is read shows as one that was read before. An empty
//! second file makes the command read all of it first.

use crate::fixture::*;
use logdef_wire::Run;
use std::path::Path;

#[path = "../../../tests/synth/mod.rs"]
pub mod synth;

/// The corpus, and logs in chunks.
fn logs() -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../samples/corpus");
    let entries = std::fs::read_dir(folder).unwrap();
    let mut logs: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    logs.retain(|path| path.extension().is_some_and(|end| end == "log"));
    logs.sort();
    assert!(logs.len() > 5);
    let mut logs: Vec<_> = logs
        .iter()
        .map(|path| std::fs::read(path).unwrap())
        .collect();
    for threads in [1, 3] {
        logs.push(synth::chunked(Run(7), threads, 200, 4096, threads).bytes);
    }
    logs
}

fn shown(words: &[&str], files: &[&Path]) -> (i32, String, String) {
    let mut command = command();
    command.args(["view", "--no-logged-paths", "--early-from", "0"]);
    let ran = run(command.args(words).args(files), b"");
    (ran.status, ran.out, ran.err)
}

#[test]
fn what_is_shown_early_is_what_is_shown_after_all_was_read() {
    let files = Files::new();
    let empty = files.put("empty.log", b"");
    let mut state = 7u64;
    let mut below = |bound: usize| {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1);
        (state >> 33) as usize % bound
    };
    for whole in logs() {
        for mutant in [0, 2] {
            let mut bytes = whole.clone();
            for _ in 0..mutant {
                let at = below(bytes.len());
                bytes[at] ^= 0x10;
            }
            let path = files.put("mutant.log", &bytes);
            for words in [
                &["--time", "utc"][..],
                &["-o", "full"],
                &["-o", "json"],
                &["--level", "warn", "-C", "1"],
                &["--grep", "1"],
                &["--thread", "0", "--strict"],
                &["--fold", "--time", "delta"],
                &["--since", "2027-01-15T08:00:00.00003Z", "-o", "csv"],
                &["--since", "2027-01-15T08:00:00.00018Z", "--time", "utc"],
                &["--until", "2027-01-15T08:00:00.00003Z", "--time", "utc"],
                &[
                    "--until",
                    "2027-01-15T08:00:00.00018Z",
                    "--level",
                    "warn",
                    "-C",
                    "2",
                ],
                &["--tail", "7", "--strict", "--fold"],
            ] {
                let early = shown(words, &[&path]);
                let late = shown(words, &[&path, &empty]);
                assert!(early.0 == 0 || early.0 == 3, "{words:?}: {}", early.2);
                assert_eq!(early, late, "{words:?}, mutant {mutant}");
            }
        }
    }
}

#[test]
fn what_is_counted_since_a_time_is_what_is_shown() {
    let files = Files::new();
    let path = files.put("app.log", &synth::chunked(Run(7), 3, 200, 4096, 3).bytes);
    for since in [0, 30, 180] {
        let since = format!("--since 2027-01-15T08:00:00.{since:06}Z");
        let shown = logdef(&format!("view {since} -o json {{}}"), &path);
        let counted = logdef(&format!("stats {since} {{}}"), &path);
        let wanted = format!("{} records\n", shown.lines().len());
        assert!(counted.out.starts_with(&wanted), "{}", counted.out);
    }
    let all = logdef("stats {}", &path);
    assert!(all.out.starts_with("200 records\n"), "{}", all.out);
}

/// A log whose end is found in several steps.
fn long() -> Vec<u8> {
    synth::chunked(Run(7), 5, 12_000, 16 << 10, 9).bytes
}

#[test]
fn a_tail_is_the_end_of_what_is_shown_whole() {
    let files = Files::new();
    let empty = files.put("empty.log", b"");
    let mut damaged = long();
    let middle = damaged.len() / 2;
    damaged[middle..][..100].fill(0xff);
    for bytes in [long(), damaged] {
        assert!(bytes.len() > 600_000, "{}", bytes.len());
        let path = files.put("long.log", &bytes);
        for words in [
            &["--time", "utc"][..],
            &["--thread", "3", "-o", "json"],
            // Rare enough to be looked for further back.
            &["--grep", "7[0-9] ", "-A", "2", "-B", "1", "--time", "utc"],
            &["--until", "2027-01-15T08:00:00.003Z", "-o", "logfmt"],
            &["--since", "2027-01-15T08:00:00.011Z", "-o", "logfmt"],
        ] {
            let whole = shown(words, &[&path, &empty]).1;
            let lines: Vec<_> = whole.lines().filter(|line| *line != "--").collect();
            for tail in [0, 1, 20, 60, 80, 100, 130, 170, 1000, usize::MAX] {
                let wanted = &lines[lines.len() - tail.min(lines.len())..];
                let number = tail.to_string();
                let words = [words, &["--tail", &number]].concat();
                for files in [&[&*path][..], &[&path, &empty]] {
                    let (status, out, err) = shown(&words, files);
                    assert_eq!(status, 0, "{words:?}: {err}");
                    let out: Vec<_> = out.lines().collect();
                    assert!(out == wanted, "{words:?} of {} files", files.len());
                }
            }
        }
    }
}

#[test]
fn what_a_tail_does_not_reach_is_checked_if_asked_for() {
    let files = Files::new();
    let mut bytes = long();
    // In a record, far from where a chunk begins.
    let at = (bytes.len() / 2).next_multiple_of(16 << 10) + (8 << 10);
    bytes[at] ^= 1;
    let path = files.put("long.log", &bytes);
    let done = logdef("view --early-from 0 --tail 3 {}", &path);
    assert_eq!((done.status, &*done.err), (0, ""));
    let done = logdef("view --early-from 0 --tail 3 --strict {}", &path);
    assert_eq!(done.status, 3);
    assert_eq!(done.err.matches(" missing of ").count(), 1, "{}", done.err);
    for words in [
        "--since 2027-01-15T08:00:00.0119Z",
        "--until 2027-01-15T08:00:00.0001Z",
    ] {
        let done = logdef(&format!("view --strict {words} {{}}"), &path);
        assert_eq!(done.status, 3, "{words}");
        assert!(done.err.contains("1 record missing"), "{}", done.err);
    }
}

/// Chunks that stand where the chain of chunks does not lead are found when others were shown.
#[test]
fn records_of_swapped_blocks_stand_in_order_or_are_said_to_stand_late() {
    let files = Files::new();
    let empty = files.put("empty.log", b"");
    let mut random = synth::Random::new(53);
    let times = |out: &str| -> Vec<u64> {
        let records = out.lines().map(|line| serde_json::from_str(line).unwrap());
        records
            .map(|record: serde_json::Value| record["time_ns"].as_u64().unwrap())
            .collect()
    };
    for log in 0..40 {
        let threads = 1 + random.below(3) as u64;
        let mut bytes = synth::chunked(Run(7), threads, 2000, 16 << 10, log).bytes;
        let blocks = bytes.len() / 4096;
        // Any two; or the end of a chunk and zeros at the end, so that only the next chunk of its
        // thread shows that records are missing here.
        let (a, b) = match log % 2 {
            0 => (random.below(blocks), random.below(blocks)),
            _ => (random.below(blocks / 4 - 1) * 4 + 3, blocks - 1),
        };
        for at in 0..4096 {
            bytes.swap(a * 4096 + at, b * 4096 + at);
        }
        let path = files.put("swapped.log", &bytes);
        let what = format!("log {log}, blocks {a} and {b} of {blocks}");
        let early = shown(&["-o", "json"], &[&path]);
        let whole = shown(&["-o", "json"], &[&path, &empty]);
        let (mut latest, mut late) = (0, 0);
        for time in times(&early.1) {
            late += u32::from(time < latest);
            latest = latest.max(time);
        }
        let word = format!("{late} of the records stand below later ones");
        assert_eq!(early.2.contains(&word), late > 0, "{what}: {}", early.2);
        assert!(times(&whole.1).is_sorted(), "{what}");
        let sorted = |out: &str| {
            let mut lines: Vec<_> = out.lines().map(str::to_owned).collect();
            lines.sort();
            lines
        };
        assert_eq!(sorted(&early.1), sorted(&whole.1), "{what}");
    }
}
