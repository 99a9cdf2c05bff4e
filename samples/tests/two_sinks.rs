//! A process appends to the path of a log that another one maps and writes to, in one file, and the other way
//! round: each has a file of its own. What was appended to a mapped file was overwritten with zeros, and `check`
//! found nothing missing.

use logdef_samples::frames::{self, Value};
use logdef_samples::workshop::Running;
use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::{ChildStdin, ChildStdout, Command, Stdio};

const CALLS: u64 = 40_000;
const ALL: Range<u64> = 0..CALLS;
const FIRST_HALF: Range<u64> = 0..CALLS / 2;
const SECOND_HALF: Range<u64> = CALLS / 2..CALLS;

/// A program that has opened the log, and does what it is asked for.
struct Program {
    running: Running,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    /// What it said last.
    said: String,
}

impl Program {
    fn start(log: &Path, sink: &str) -> Program {
        let mut child = Command::new(env!("CARGO_BIN_EXE_prompted"))
            .arg(log)
            .arg(sink)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let input = child.stdin.take().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        let mut program = Program {
            running: Running(child),
            input,
            output,
            said: String::new(),
        };
        program.read();
        program
    }

    /// Waits until it says that it has done what it was asked for.
    fn read(&mut self) {
        self.said.clear();
        self.output.read_line(&mut self.said).unwrap();
        assert!(self.said.starts_with("dropped=0 "), "{}", self.said);
    }

    fn does(&mut self, line: &str) {
        writeln!(self.input, "{line}").unwrap();
        self.read();
    }

    fn logs(&mut self, numbers: Range<u64>) {
        self.does(&format!("log {} {}", numbers.start, numbers.end));
    }

    /// Fails if it is not as where the log has its path, and the file that stood there another name: that of the
    /// first file of a rotated log.
    fn assert_has_renamed(&self, log: &Path) {
        let (name, log) = (first_file(log), log.display());
        let expected = format!("existing=Renamed previous={} path={log}", name.display());
        assert_eq!(self.said, format!("dropped=0 {expected}\n"));
    }

    fn ends(self) {
        let Program {
            mut running, input, ..
        } = self;
        drop(input);
        assert!(running.0.wait().unwrap().success());
    }
}

fn first_file(log: &Path) -> PathBuf {
    log.with_extension("000001")
}

/// The numbers in a log.
fn numbers(path: &Path) -> BTreeSet<u64> {
    let frames = frames::scan(&std::fs::read(path).unwrap());
    let data = frames.iter().filter(|frame| frame.is_data());
    let numbers = data.map(|frame| frame.fields[&9].array().unwrap()[0].clone());
    numbers
        .map(|number| match number {
            Value::Int(number) => number.try_into().unwrap(),
            other => panic!("{other:?}"),
        })
        .collect()
}

fn check(earlier: &str, later: &str) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log");
    let mut first = Program::start(&path, earlier);
    first.logs(FIRST_HALF);
    let mut second = Program::start(&path, later);
    second.logs(ALL);
    second.assert_has_renamed(&path);
    second.ends();
    first.logs(SECOND_HALF);
    first.ends();
    let all = ALL.collect();
    assert_eq!(numbers(&first_file(&path)), all, "{earlier}");
    assert_eq!(numbers(&path), all, "{later}");
}

#[test]
fn a_mapped_and_an_appended_log_have_a_file_each() {
    check("mapped", "append");
    check("append", "mapped");
}

/// Before its first record nothing in a file says that it is mapped.
#[test]
fn a_file_that_another_process_maps_and_has_not_written_to_is_not_shared() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log");
    let mut other = Program::start(&path, "mapped");
    let mut program = Program::start(&path, "append");
    program.logs(FIRST_HALF);
    other.logs(ALL);
    other.ends();
    program.logs(SECOND_HALF);
    program.assert_has_renamed(&path);
    program.ends();
    let all = ALL.collect();
    assert_eq!(numbers(&first_file(&path)), all);
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
        let mut program = Program::start(&path, "append");
        program.logs(0..10);
        std::fs::rename(&path, &old).unwrap();
        let mut other = Program::start(&path, "mapped");
        other.logs(FIRST_HALF);
        if is_removed {
            std::fs::remove_file(&old).unwrap();
        } else {
            program.does("reopen");
        }
        program.logs(10..CALLS / 2);
        other.logs(SECOND_HALF);
        other.ends();
        program.logs(SECOND_HALF);
        program.assert_has_renamed(&path);
        program.ends();
        // The first call after it was asked still writes to the file that was open.
        let first = if is_removed { 10 } else { 11 };
        let found = (numbers(&path), numbers(&first_file(&path)));
        let expected = ((first..CALLS).collect(), ALL.collect());
        assert!(found == expected, "{is_removed}");
        assert_eq!(old.exists(), !is_removed);
    }
}
