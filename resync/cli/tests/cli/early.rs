//! A log that is shown while it is read shows as one that was read before. An empty
//! second file makes the command read all of it first.

use crate::fixture::*;
use logdef_wire::Run;
use std::path::Path;

#[path = "../../../tests/synth/mod.rs"]
mod synth;

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
    command.args(["view", "--no-logged-paths"]);
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
