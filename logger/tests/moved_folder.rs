//! Files are the log's by more than their names: the folder may be another one, and so may the program's
//! working directory.

use common::in_child;
use logdef::{Sink, logdef};
use std::io::{BufRead, BufReader, Read};
use std::os::fd::AsRawFd;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};

mod common;

/// The path of another process's log.
const OTHER: &str = "LOGDEF_TEST_OTHER";
/// The sink of a program that was executed in the place of another.
const AFTER: &str = "LOGDEF_TEST_AFTER";

fn log(numbers: std::ops::Range<u64>) {
    for number in numbers {
        logdef!(Info, "number %llu", number);
    }
}

fn names(directory: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(directory).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<_> = names.collect();
    names.sort();
    names
}

/// Begins a log at a path, and lives until its input ends.
fn other(path: &Path) {
    logdef::options().rotate(1 << 20).open(path).unwrap();
    log(0..1);
    println!("\nlogging");
    let _ = std::io::stdin().read_line(&mut String::new());
}

/// A file of a living process was removed since its name was that of one of this log's files.
fn another_folder_of_that_name(sink: Sink) {
    let all = tempfile::tempdir().unwrap();
    let (folder, moved) = (all.path().join("logs"), all.path().join("moved"));
    std::fs::create_dir(&folder).unwrap();
    in_child(|| {
        let options = logdef::options().sink(sink).rotate(64 << 10).keep(2);
        options.open(folder.join("log")).unwrap();
        log(0..1);
        std::fs::rename(&folder, &moved).unwrap();
        std::fs::create_dir(&folder).unwrap();
        let mut other = Command::new(std::env::current_exe().unwrap())
            .arg("--nocapture")
            .env(OTHER, folder.join("log"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut printed = BufReader::new(other.stdout.take().unwrap());
        let mut lines = printed.by_ref().lines();
        let begun = lines.any(|line| line.unwrap() == "logging");
        assert!(begun);
        log(1..4_000);
        assert!(folder.join("log.000001").exists(), "{sink:?}");
        drop(other.stdin.take());
        other.wait().unwrap();
    });
    assert!(names(&folder).len() > 2);
}

/// A child's files had no directory once its parent had opened another log, and stood where
/// the child did.
fn a_child_of_a_log_that_was_left() {
    let all = tempfile::tempdir().unwrap();
    let [old, new, work] = ["old", "new", "work"].map(|name| all.path().join(name));
    for directory in [&old, &new, &work] {
        std::fs::create_dir(directory).unwrap();
    }
    in_child(|| {
        std::env::set_current_dir(&work).unwrap();
        let open = |folder: &Path| {
            let options = logdef::options()
                .sink(Sink::Mapped)
                .rotate(64 << 10)
                .keep(2);
            options.open(folder.join("log")).unwrap();
        };
        open(&old);
        log(0..1);
        let (mut wait, go) = std::io::pipe().unwrap();
        // SAFETY: the child logs and leaves.
        let child = unsafe { libc::fork() };
        if child == 0 {
            drop(go);
            let _ = wait.read(&mut [0]);
            log(1..5_000);
            // SAFETY: leaves without running what the parent will run.
            unsafe { libc::_exit(i32::from(logdef::state().dropped > 0)) };
        }
        logdef::close();
        open(&new);
        log(0..1);
        drop(go);
        let mut status = 0;
        // SAFETY: waits for a child of this process.
        assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
        assert_eq!(status, 0);
    });
    assert_eq!(names(&work), [""; 0]);
    let (numbers, _) = common::numbers(&old);
    assert!(numbers.contains(&4_999));
}

/// Executes this program again in the place of a process whose child logs on, and opens the log
/// with one file to be kept: that of the child went, since it was of the same process.
fn a_child_of_the_program_before(sink: Sink) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("log");
    in_child(|| {
        let options = logdef::options().sink(sink).rotate(64 << 10);
        options.open(&path).unwrap();
        log(0..1);
        let (mut wait, go) = std::io::pipe().unwrap();
        let (mut ready, logged) = std::io::pipe().unwrap();
        // SAFETY: the child logs and leaves.
        if unsafe { libc::fork() } == 0 {
            drop(go);
            log(1..100);
            drop(logged);
            let _ = wait.read(&mut [0]);
            // SAFETY: leaves without running what the parent will run.
            unsafe { libc::_exit(0) };
        }
        drop(logged);
        let _ = ready.read(&mut [0]);
        let mut program = Command::new(std::env::current_exe().unwrap());
        program.env(AFTER, format!("{sink:?}")).env(OTHER, &path);
        // SAFETY: takes numbers.
        unsafe { libc::fcntl(go.as_raw_fd(), libc::F_SETFD, 0) };
        panic!("{}", program.exec());
    });
    let (numbers, _) = common::numbers(directory.path());
    let missing = (0..100).filter(|number| !numbers.contains(number)).count();
    assert_eq!(missing, 0, "{sink:?}");
}

/// Closes the log, and opens it with one file to be kept, while a child logs on: its file went,
/// since it was of the same process. `closes`: the child has no descriptor of it.
fn a_child_of_the_log_before(sink: Sink, closes: bool) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("log");
    in_child(|| {
        let options = || logdef::options().sink(sink).rotate(64 << 10);
        options().open(&path).unwrap();
        log(0..1);
        let (mut wait, go) = std::io::pipe().unwrap();
        let (mut ready, logged) = std::io::pipe().unwrap();
        // SAFETY: the child logs and leaves.
        let child = unsafe { libc::fork() };
        if child == 0 {
            drop(go);
            log(1..50);
            if closes {
                // SAFETY: takes numbers; the pipes have low ones.
                unsafe { libc::close_range(100, u32::MAX, 0) };
            }
            drop(logged);
            let _ = wait.read(&mut [0]);
            log(50..100);
            // SAFETY: leaves without running what the parent will run.
            unsafe { libc::_exit(i32::from(logdef::state().dropped > 0)) };
        }
        drop(logged);
        let _ = ready.read(&mut [0]);
        logdef::close();
        options().keep(1).open(&path).unwrap();
        log(1_000..5_000);
        drop(go);
        let mut status = 0;
        // SAFETY: waits for a child of this process.
        assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
        assert_eq!(status, 0);
        logdef::close();
    });
    let (numbers, _) = common::numbers(directory.path());
    let missing = (0..100).filter(|number| !numbers.contains(number)).count();
    assert_eq!(missing, 0, "{sink:?} {closes}");
}

/// What the program does that was executed in the place of another.
fn after_it(sink: &str, path: &Path) {
    let sink = match sink {
        "Mapped" => Sink::Mapped,
        _ => Sink::Append,
    };
    let options = logdef::options().sink(sink).rotate(64 << 10).keep(1);
    options.open(path).unwrap();
    log(1000..5000);
    logdef::close();
}

#[test]
fn a_log_touches_what_is_its_own() {
    if let Some(path) = std::env::var_os(OTHER) {
        let path = Path::new(&path);
        return match std::env::var(AFTER) {
            Ok(sink) => after_it(&sink, path),
            Err(_) => other(path),
        };
    }
    a_child_of_the_program_before(Sink::Mapped);
    a_child_of_the_program_before(Sink::Append);
    a_child_of_the_log_before(Sink::Mapped, false);
    a_child_of_the_log_before(Sink::Mapped, true);
    a_child_of_the_log_before(Sink::Append, false);
    another_folder_of_that_name(Sink::Mapped);
    another_folder_of_that_name(Sink::Append);
    a_child_of_a_log_that_was_left();
}
