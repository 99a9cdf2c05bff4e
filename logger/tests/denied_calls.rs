//! A log in whose process one system call is denied with an error: what that call was for is lost, and
//! the records that are lost with it are counted.

use common::in_child;
use libc::c_long;
use logdef::{Options, Sink, logdef};
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};

mod common;
#[path = "common/seccomp.rs"]
mod seccomp;
#[path = "common/system_calls.rs"]
mod system_calls;

const RECORDS: u32 = 20_000;
/// In place of a count: the log was not opened.
const NOT_OPENED: u64 = u64::MAX;
/// Without these there is no room for records, or no other file. All others can be done without, but to open
/// a log.
const NEEDED: [c_long; 6] = [
    libc::SYS_mmap,
    libc::SYS_openat,
    libc::SYS_fcntl,
    libc::SYS_newfstatat,
    libc::SYS_fallocate,
    libc::SYS_write,
];

/// When a call is denied first.
#[derive(Clone, Copy, Debug)]
enum From {
    Start,
    FirstRecord,
}

/// A number that a process shares with its forked children.
fn shared() -> &'static AtomicU64 {
    let (prot, flags) = (
        libc::PROT_READ | libc::PROT_WRITE,
        libc::MAP_SHARED | libc::MAP_ANONYMOUS,
    );
    // SAFETY: zeroed memory of its own of this length, which is never given back.
    unsafe {
        let at = libc::mmap(std::ptr::null_mut(), 8, prot, flags, -1, 0);
        assert_ne!(at, libc::MAP_FAILED);
        &*at.cast()
    }
}

/// Logs while a call is denied. Asserts that all records are in the log's files, or counted.
fn log_without(call: c_long, options: Options, from: From) {
    let directory = tempfile::tempdir().unwrap();
    let dropped = shared();
    in_child(|| {
        let deny = || seccomp::fail(&[call], libc::EPERM);
        if matches!(from, From::Start) {
            deny();
        }
        let is_open = options.open(directory.path().join("log")).is_ok();
        logdef!(Warn, "call %u of this image", 0u32);
        if matches!(from, From::FirstRecord) {
            assert!(is_open);
            deny();
        }
        for number in 0..RECORDS {
            logdef!(Info, "number %u", number);
        }
        let count = if is_open {
            logdef::state().dropped
        } else {
            NOT_OPENED
        };
        dropped.store(count, Ordering::Relaxed);
        // SAFETY: leaves without running what the parent will run.
        unsafe { libc::_exit(0) };
    });
    let dropped = dropped.load(Ordering::Relaxed);
    if dropped == NOT_OPENED {
        eprintln!("not opened");
        return;
    }
    let (infos, warnings) = common::numbers(directory.path());
    let found = infos.len() + warnings.len();
    eprintln!("{found} + {dropped}");
    assert_eq!(found as u64 + dropped, u64::from(RECORDS) + 1);
    assert!(dropped == 0 || NEEDED.contains(&call));
}

#[test]
fn a_call_that_is_denied_loses_only_what_it_was_for() {
    if !seccomp::is_here() {
        return;
    }
    let mut calls: BTreeSet<_> = BTreeSet::from_iter(system_calls::of(&[
        "[`open`]",
        "an image's first call",
        "a thread's first call",
        "another chunk",
        "another file",
        "a call, appended",
    ]));
    // The standard library panics where a directory cannot be closed.
    calls.remove(&libc::SYS_close);
    for call in calls {
        for sink in [Sink::Mapped, Sink::Append] {
            for from in [From::Start, From::FirstRecord] {
                eprintln!("{call} denied, {sink:?}, {from:?}: ");
                let options = logdef::options().sink(sink);
                log_without(call, options.rotate(512 << 10).keep(1000), from);
            }
        }
    }
}
