//! A process appends to the path of a log that another one maps and writes to, in one file, and the other way
//! round: each has a file of its own. What was appended to a mapped file was overwritten with zeros, and `check`
//! found nothing missing.

mod common;

use logdef::{Existing, Sink, logdef};
use std::collections::HashSet;
use std::path::Path;

const CALLS: u64 = 40_000;

fn log(numbers: std::ops::Range<u64>) {
    for number in numbers {
        logdef!(Info, "number %lu", number);
    }
}

/// The numbers in a log.
fn numbers(path: &Path) -> HashSet<u64> {
    let mut found = HashSet::new();
    common::data(&std::fs::read(path).unwrap(), |data| {
        let number = data.args.unwrap().iter().next().unwrap();
        found.insert(number.as_uint().unwrap());
    });
    found
}

fn check(earlier: Sink, later: Sink) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log");
    common::in_child(|| {
        logdef::options().sink(earlier).open(&path).unwrap();
        log(0..CALLS / 2);
        // A program that was executed, as other processes are.
        let program = std::env::current_exe().unwrap();
        let other = std::process::Command::new(program)
            .args(["--exact", "other", "--nocapture"])
            .env("OTHER_PATH", &path)
            .env(
                "OTHER_SINK",
                if later == Sink::Append {
                    "append"
                } else {
                    "mapped"
                },
            )
            .status();
        assert!(other.unwrap().success());
        log(CALLS / 2..CALLS);
        assert_eq!(logdef::state().dropped, 0);
    });
    let all = (0..CALLS).collect::<HashSet<_>>();
    assert_eq!(numbers(&path.with_extension("000001")), all, "{earlier:?}");
    assert_eq!(numbers(&path), all, "{later:?}");
}

/// Part of the other test: the other process.
#[test]
fn other() {
    let Some(path) = std::env::var_os("OTHER_PATH") else {
        return;
    };
    let is_append = std::env::var("OTHER_SINK").unwrap() == "append";
    let sink = if is_append {
        Sink::Append
    } else {
        Sink::Mapped
    };
    logdef::options().sink(sink).open(&path).unwrap();
    log(0..CALLS);
    let state = logdef::state();
    assert_eq!((state.dropped, state.existing), (0, Existing::Renamed));
    let previous = Path::new(&path).with_extension("000001");
    assert_eq!(state.previous, Some(previous));
    logdef::close();
}

#[test]
fn a_mapped_and_an_appended_log_have_a_file_each() {
    check(Sink::Mapped, Sink::Append);
    check(Sink::Append, Sink::Mapped);
}
