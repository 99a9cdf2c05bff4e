//! A rotated log with a helper: the calls that log neither set the link to the newest file nor
//! remove an old one, for which the file system may take milliseconds.

use logdef::{Sink, logdef};
use std::ffi::{c_char, c_int};
use std::path::Path;
use std::sync::atomic::{AtomicI32, AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

mod common;

const FILE: u64 = 1 << 20;
const KEPT: u32 = 2;

/// The thread that logs.
static LOGS: AtomicI32 = AtomicI32::new(0);
/// Calls by it, and by others.
static MINE: AtomicU32 = AtomicU32::new(0);
static OTHERS: AtomicU32 = AtomicU32::new(0);

/// How long the helper's calls take.
static DELAY_MS: AtomicU64 = AtomicU64::new(0);

fn count() {
    // SAFETY: asks for a number.
    let is_mine = unsafe { libc::gettid() } == LOGS.load(Ordering::Relaxed);
    let calls = if is_mine { &MINE } else { &OTHERS };
    calls.fetch_add(1, Ordering::Relaxed);
    if !is_mine {
        std::thread::sleep(Duration::from_millis(DELAY_MS.load(Ordering::Relaxed)));
    }
}

fn take() -> (u32, u32) {
    let taken = [&MINE, &OTHERS].map(|calls| calls.swap(0, Ordering::Relaxed));
    (taken[0], taken[1])
}

/// In the place of the C library's.
#[unsafe(no_mangle)]
extern "C" fn symlink(target: *const c_char, at: *const c_char) -> c_int {
    count();
    // SAFETY: the caller's strings end in a NUL.
    unsafe { libc::symlinkat(target, libc::AT_FDCWD, at) }
}

/// In the place of the C library's.
#[unsafe(no_mangle)]
extern "C" fn unlink(at: *const c_char) -> c_int {
    count();
    // SAFETY: the caller's string ends in a NUL.
    unsafe { libc::unlinkat(libc::AT_FDCWD, at, 0) }
}

/// The number of the newest file in the directory, if no more are there than are kept, and the
/// path leads to it.
fn settled(directory: &Path) -> Option<u32> {
    let entries = std::fs::read_dir(directory).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut files: Vec<_> = names
        .filter(|name| name.len() == "log.000000".len())
        .collect();
    files.sort();
    let newest = files.last()?.clone();
    let link = std::fs::read_link(directory.join("log")).ok()?;
    let is_settled = files.len() <= KEPT as usize && link.as_os_str() == &*newest;
    is_settled.then(|| newest["log.".len()..].parse().unwrap())
}

/// What is in the directory, and where the link leads.
fn listed(directory: &Path) -> String {
    let entries = std::fs::read_dir(directory).unwrap();
    let of = |entry: std::fs::DirEntry| (entry.file_name(), entry.metadata().map(|of| of.len()));
    let entries: Vec<_> = entries.map(|entry| of(entry.unwrap())).collect();
    let link = std::fs::read_link(directory.join("log"));
    format!("{entries:?}, {link:?}")
}

fn log(records: u32) {
    let text = "x".repeat(1000);
    for number in 0..records {
        logdef!(Info, "%u %s", number, text);
    }
}

/// Waits until the path leads to a file after the `newest` that was seen.
fn wait_until_settled(directory: &Path, newest: &mut u32) {
    let seen = *newest;
    common::until("the helper has not come", || {
        *newest = settled(directory).unwrap_or(seen);
        *newest > seen
    });
}

#[test]
fn the_helper_sets_the_link_and_removes_old_files() {
    // SAFETY: asks for a number.
    LOGS.store(unsafe { libc::gettid() }, Ordering::Relaxed);
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("log");
    let open = || {
        let options = logdef::options().sink(Sink::Mapped).helper();
        options.rotate(FILE).keep(KEPT).open(&path).unwrap();
    };
    open();
    let text = "x".repeat(1000);
    let mut newest = settled(directory.path()).unwrap();
    take();
    // A file each time.
    for _ in 0..20 {
        common::fill_file(&text);
        wait_until_settled(directory.path(), &mut newest);
    }
    let (mine, others) = take();
    // Where a file follows before the helper was done with the one before it, the thread that
    // logs sees to that by itself.
    assert!(
        others > mine,
        "{mine} by the thread that logs, {others} by the helper"
    );

    // The helper may be in the middle of it when the thread sees to the next file: both then set the
    // same link. They once exchanged it for the old one a second time, which stayed.
    for round in 0..300 {
        log(2400 + round);
        wait_until_settled(directory.path(), &mut newest);
    }

    // What the helper had not come to is done when the log is closed, and by `sync`.
    for round in 0..60 {
        DELAY_MS.store(round % 4, Ordering::Relaxed);
        common::fill_file(&text);
        std::thread::sleep(Duration::from_micros(100 * (round % 5)));
        if round % 2 == 0 {
            logdef::close();
        } else {
            logdef::sync().unwrap();
        }
        let names = settled(directory.path()).ok_or_else(|| listed(directory.path()));
        assert!(names.is_ok(), "round {round}: {names:?}");
        if round % 2 == 0 {
            open();
        }
    }
    assert_eq!(logdef::state().dropped, 0);
    logdef::close();
    // No name under which a link was made stays.
    let names = std::fs::read_dir(directory.path()).unwrap();
    assert_eq!(names.count(), 1 + KEPT as usize);
}
