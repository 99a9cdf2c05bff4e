//! The table of system calls in the logger's documentation: a program that may make no others
//! logs.

use common::in_child;
use logdef::{Options, Sink, logdef};
use std::path::{Path, PathBuf};
use std::time::Duration;

mod common;
#[path = "common/seccomp.rs"]
mod seccomp;
#[path = "common/system_calls.rs"]
mod system_calls;

const RECORDS: u32 = 60_000;

fn log() {
    for number in 0..RECORDS {
        logdef!(Info, "number %u", number);
    }
}

/// A call for which the digest of the test is had.
fn first() {
    logdef!(Warn, "call %u of this image", 0u32);
}

fn confine(rows: &[&str]) {
    seccomp::allow(&system_calls::of(rows));
}

/// Ends the process without what it would run at its end.
fn leave() -> ! {
    // SAFETY: has no preconditions.
    unsafe { libc::_exit(0) }
}

/// Does something in a forked child that knows the digest of no program. Asserts that the newest
/// records are in the log's files then, and that none is missing between.
fn logged(what: &str, work: impl FnOnce(&Path)) {
    let directory = tempfile::tempdir().unwrap();
    let subfolder = |name| {
        let path: PathBuf = directory.path().join(name);
        std::fs::create_dir(&path).unwrap();
        path
    };
    let (logs, cache) = (subfolder("logs"), subfolder("cache"));
    eprintln!("{what}:");
    in_child(|| {
        // SAFETY: no other thread of the process uses its environment.
        unsafe { std::env::set_var("XDG_CACHE_HOME", cache) };
        work(&logs.join("log"));
        leave();
    });
    let (numbers, _) = common::numbers(&logs);
    let oldest = *numbers.iter().min().expect(what) as u32;
    assert!(numbers.contains(&u64::from(RECORDS - 1)), "{what}");
    assert_eq!(numbers.len() as u32, RECORDS - oldest, "{what}");
}

/// Logs in a process that opens a log and makes its first call before it confines itself.
fn logged_with(what: &str, options: Options, rows: &[&str], work: fn()) {
    logged(what, |path| {
        options.open(path).unwrap();
        first();
        confine(rows);
        work();
    });
}

fn mapped() -> Options {
    logdef::options().sink(Sink::Mapped)
}

fn appended() -> Options {
    logdef::options().sink(Sink::Append)
}

fn rotated(options: Options) -> Options {
    options.rotate(4 << 20).keep(2)
}

const CHUNKS: [&str; 2] = ["a call", "another chunk"];
const FILES: [&str; 3] = ["a call", "another chunk", "another file"];
const ALL: [&str; 6] = [
    "[`open`]",
    "an image's first call",
    "a thread's first call",
    "a call",
    "another chunk",
    "another file",
];

fn a_process_logs() {
    logged_with("chunks", mapped(), &CHUNKS, log);
    let sync = || {
        log();
        logdef::sync().unwrap();
    };
    let rows = [&CHUNKS[..], &["[`sync`]"]].concat();
    logged_with("sync", mapped(), &rows, sync);
    logged_with("files", rotated(mapped()), &FILES, log);
    let aged = mapped().rotate_after(Duration::from_millis(10));
    logged_with("files by age", aged.folder_bytes(6 << 20), &FILES, log);
    let reopen = || {
        logdef::reopen().unwrap();
        log();
    };
    logged_with("another file under the same name", mapped(), &FILES, reopen);
    let rows = [&FILES[..], &["with a helper"]].concat();
    logged_with("beside a helper", rotated(mapped()).helper(), &rows, log);
    let row = "a call, appended";
    logged_with("appended", appended(), &[row], log);
    let rows = [row, "another file"];
    logged_with("appended files", rotated(appended()), &rows, log);
}

fn a_thread_and_a_child_log() {
    logged("a thread", |path| {
        mapped().open(path).unwrap();
        first();
        // Confines itself alone, and ends the process.
        let logging = std::thread::spawn(|| {
            confine(&[&CHUNKS[..], &["a thread's first call"]].concat());
            log();
            leave();
        });
        logging.join().unwrap();
    });
    logged("a child", |path| {
        mapped().open(path).unwrap();
        first();
        in_child(|| {
            confine(&[&CHUNKS[..], &["a forked child's first call"]].concat());
            log();
            leave();
        });
    });
}

fn a_log_is_opened() {
    let appended_rows = [&ALL[..], &["a call, appended"]].concat();
    let helped_rows = [&ALL[..], &["with a helper"]].concat();
    for (what, options, rows) in [
        ("opened", mapped(), &ALL[..]),
        ("opened to be rotated", rotated(mapped()), &ALL),
        ("opened to be appended", appended(), &appended_rows),
        (
            "opened with a helper",
            rotated(mapped()).helper(),
            &helped_rows,
        ),
    ] {
        logged(what, |path| {
            confine(rows);
            options.open(path).unwrap();
            log();
        });
    }
}

fn a_pipe_carries_a_log() {
    logged("a pipe", |path| {
        let (mut reader, writer) = std::io::pipe().unwrap();
        let mut copy = std::fs::File::create(path).unwrap();
        // Ends with the last process that has the other end.
        let copying = std::thread::spawn(move || std::io::copy(&mut reader, &mut copy));
        in_child(|| {
            logdef::options().open_fd(writer.into()).unwrap();
            first();
            confine(&["a call on a pipe, a socket or a terminal"]);
            log();
            leave();
        });
        copying.join().unwrap().unwrap();
    });
}

/// One test, so that no other thread of the process has a lock when it forks.
#[test]
fn a_program_that_may_make_no_other_calls_logs() {
    if seccomp::is_here() {
        a_process_logs();
        a_thread_and_a_child_log();
        a_log_is_opened();
        a_pipe_carries_a_log();
    }
}
