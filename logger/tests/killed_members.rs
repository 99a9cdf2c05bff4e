//! Processes of a family that are killed in the middle of a rotation leave nothing behind that a bound on
//! the files does not count.

mod common;

use logdef::{Sink, logdef};
use std::path::Path;
use std::time::Duration;

const KILLS: u32 = 60;
const THREADS: usize = 3;
const KEPT: usize = 4;
const FILE: u64 = 64 << 10;

fn log_without_end() {
    let text = "x".repeat(1000);
    loop {
        logdef!(Info, "%s", text);
    }
}

/// Kills a forked child, which begins file after file.
fn kill_one(after: Duration) {
    // SAFETY: the child has but this thread, and starts those that it needs.
    let child = unsafe { libc::fork() };
    assert!(child >= 0);
    if child == 0 {
        for _ in 1..THREADS {
            std::thread::spawn(log_without_end);
        }
        log_without_end();
    }
    std::thread::sleep(after);
    // SAFETY: the child's id, which is not waited for yet.
    unsafe { libc::kill(child, libc::SIGKILL) };
    // SAFETY: the same, and no status is asked for.
    let ended = unsafe { libc::waitpid(child, std::ptr::null_mut(), 0) };
    assert_eq!(ended, child);
}

/// Files, and links to them other than the log's path.
fn files(directory: &Path) -> usize {
    let entries = std::fs::read_dir(directory).unwrap();
    entries
        .filter(|entry| entry.as_ref().unwrap().file_name() != "log")
        .count()
}

/// Each such child left a file or two for as long as the family lived: those that it was making, and those
/// that it was about to remove.
#[test]
fn killed_children_leave_no_files() {
    let text = "x".repeat(1000);
    for sink in [Sink::Mapped, Sink::Append] {
        let directory = tempfile::tempdir().unwrap();
        let options = logdef::options().sink(sink).rotate(FILE);
        let options = options.keep(KEPT as u32);
        options.open(directory.path().join("log")).unwrap();
        for kill in 0..KILLS {
            kill_one(Duration::from_millis(10 + u64::from(kill) % 7));
        }
        // A file that a child may just be making is not taken for one of those that were killed.
        common::until("more files than are kept", || {
            common::fill_file(&text);
            files(directory.path()) <= KEPT
        });
        logdef::close();
    }
}
