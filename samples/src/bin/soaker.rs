//! Logs for as long as it lives: eight threads at full speed, and a child each
//! second. Its descriptors run short now and then.
//!
//! ```text
//! soaker LOG COUNTS
//! ```
//!
//! COUNTS is a file of 64-bit numbers, one for each thread: how many of its calls
//! have returned. One more counts the children that have ended, and a last one the calls of
//! theirs that were dropped.

use logdef::{Sink, logdef};
use std::fs::OpenOptions;
use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

const THREADS: usize = 8;
/// What each child logs before it ends.
const RECORDS_OF_A_CHILD: u64 = 3;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [log, counts] = &args[..] else {
        eprintln!("usage: soaker LOG COUNTS");
        return ExitCode::from(2);
    };
    let counts = OpenOptions::new().read(true).write(true).open(counts);
    let map = memmap2::MmapRaw::map_raw(&counts.expect("the counts")).expect("a map");
    assert!(map.len() >= (THREADS + 2) * 8);
    // SAFETY: maps are aligned to pages, and this one holds these words. It is never
    // unmapped, and the file is never truncated.
    let returned: &'static [AtomicU64] =
        unsafe { std::slice::from_raw_parts(map.as_ptr().cast(), THREADS + 2) };
    std::mem::forget(map);

    let options = logdef::options()
        .sink(Sink::Mapped)
        .rotate(16 << 20)
        .keep(4);
    if let Err(error) = options.open(log) {
        eprintln!("{log}: {error}");
        return ExitCode::FAILURE;
    }
    for (number, returned) in (0u32..).zip(&returned[..THREADS]) {
        thread::spawn(move || log_calls(number, returned));
    }
    for generation in 0u32.. {
        thread::sleep(Duration::from_secs(1));
        bear(generation, &returned[THREADS + 1]);
        returned[THREADS].fetch_add(1, Ordering::Release);
        if generation % 4 == 1 {
            starve();
        }
    }
    ExitCode::SUCCESS
}

/// A thread that logs without pause. Its texts differ in length.
fn log_calls(thread: u32, returned: &AtomicU64) {
    let text = "abcdefghijklmnopqrstuvwxyz".repeat(8);
    for count in 0u64.. {
        let length = (count % 200) as usize;
        logdef!(
            Info,
            "record %llu of thread %u: %s",
            count,
            thread,
            &text[..length]
        );
        returned.store(count + 1, Ordering::Release);
    }
}

/// A forked child that logs and ends, and counts what it could not write.
fn bear(generation: u32, dropped: &AtomicU64) {
    // SAFETY: the child calls only `logdef!`, an atomic and `_exit`, all of which are
    // allowed in a forked child of a program with threads.
    match unsafe { libc::fork() } {
        0 => {
            for count in 0..RECORDS_OF_A_CHILD {
                logdef!(Info, "record %llu of child %u", count, generation);
            }
            dropped.fetch_add(logdef::state().dropped, Ordering::Release);
            // SAFETY: takes a number and returns nowhere.
            unsafe { libc::_exit(0) }
        }
        // SAFETY: a null status is allowed.
        child => unsafe { libc::waitpid(child, std::ptr::null_mut(), 0) },
    };
}

/// For some milliseconds no descriptor can be had.
fn starve() {
    let mut limit = libc::rlimit {
        rlim_cur: 0,
        rlim_max: 0,
    };
    // SAFETY: `limit` is a place for one limit.
    unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit) };
    let none = libc::rlimit {
        rlim_cur: 3,
        ..limit
    };
    // SAFETY: reads one limit.
    unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &none) };
    thread::sleep(Duration::from_millis(50));
    // SAFETY: the call reads one `rlimit`, which lives during it.
    unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &limit) };
}
