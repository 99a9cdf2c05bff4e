//! A process appends to the path of a log that another one maps and writes to, in one file, and the other way
//! round: each has a file of its own. What was appended to a mapped file was overwritten with zeros, and `check`
//! found nothing missing.

mod common;

use logdef::{Existing, Sink, logdef};
use std::collections::HashSet;
use std::io::{BufRead, BufReader, Lines, Write, stdin};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};

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

/// A program that was executed, as other processes are.
fn program(test: &str, path: &Path, sink: Sink) -> Command {
    let mut program = Command::new(std::env::current_exe().unwrap());
    let sink = if sink == Sink::Append {
        "append"
    } else {
        "mapped"
    };
    program.args(["--exact", test, "--nocapture"]);
    program.env("OTHER_PATH", path).env("OTHER_SINK", sink);
    program
}

fn check(earlier: Sink, later: Sink) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log");
    common::in_child(|| {
        logdef::options().sink(earlier).open(&path).unwrap();
        log(0..CALLS / 2);
        let status = program("other", &path, later).status();
        assert!(status.unwrap().success());
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

/// Part of the test below: it logs, says so, and logs on after a line of its input.
#[test]
fn other_in_two_halves() {
    let Some(path) = std::env::var_os("OTHER_PATH") else {
        return;
    };
    let first = std::env::var("OTHER_FIRST").map_or(CALLS / 2, |first| first.parse().unwrap());
    logdef::options().sink(Sink::Mapped).open(&path).unwrap();
    log(0..first);
    println!("\nhalf");
    stdin().read_line(&mut String::new()).unwrap();
    log(first..CALLS);
    assert_eq!(logdef::state().dropped, 0);
    logdef::close();
}

/// A program that has done the first half.
struct Half {
    program: Child,
    said: Lines<BufReader<ChildStdout>>,
}

impl Half {
    fn of(mut program: Command) -> Half {
        let program = program.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut program = program.spawn().unwrap();
        let mut said = BufReader::new(program.stdout.take().unwrap()).lines();
        assert!(said.any(|line| line.unwrap() == "half"));
        Half { program, said }
    }

    /// Waits until it has done the other half.
    fn finish(&mut self) {
        let mut input = self.program.stdin.take().unwrap();
        input.write_all(b"on\n").unwrap();
        self.said.by_ref().for_each(drop);
        assert!(self.program.wait().unwrap().success());
    }
}

/// Before its first record nothing in a file says that it is mapped.
#[test]
fn a_file_that_another_process_maps_and_has_not_written_to_is_not_shared() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log");
    common::in_child(|| {
        let mut other = program("other_in_two_halves", &path, Sink::Mapped);
        other.env("OTHER_FIRST", "0");
        let mut other = Half::of(other);
        logdef::options().sink(Sink::Append).open(&path).unwrap();
        log(0..CALLS / 2);
        other.finish();
        log(CALLS / 2..CALLS);
        let state = logdef::state();
        assert_eq!((state.dropped, state.existing), (0, Existing::Renamed));
    });
    let all = (0..CALLS).collect::<HashSet<_>>();
    assert_eq!(numbers(&path.with_extension("000001")), all);
    assert_eq!(numbers(&path), all);
}

/// A program that appends to its log opens it again, or finds its file removed, when another process maps what its
/// path leads to by then.
#[test]
fn a_log_that_is_opened_again_shares_no_file_with_one_that_maps_it() {
    for is_removed in [false, true] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        let old = folder.path().join("old");
        common::in_child(|| {
            logdef::options().sink(Sink::Append).open(&path).unwrap();
            log(0..10);
            std::fs::rename(&path, &old).unwrap();
            let mut other = Half::of(program("other_in_two_halves", &path, Sink::Mapped));
            if is_removed {
                std::fs::remove_file(&old).unwrap();
            } else {
                logdef::reopen().unwrap();
            }
            log(10..CALLS / 2);
            other.finish();
            log(CALLS / 2..CALLS);
            let state = logdef::state();
            assert_eq!((state.dropped, state.existing), (0, Existing::Renamed));
            assert_eq!(state.path, path);
        });
        let all = |from| (from..CALLS).collect::<HashSet<_>>();
        let other = numbers(&path.with_extension("000001"));
        // The first call after it was asked still writes to the file that was open.
        let first = if is_removed { 10 } else { 11 };
        let found = (numbers(&path), other);
        assert!(found == (all(first), all(0)), "{is_removed}");
        assert_eq!(old.exists(), !is_removed);
    }
}
