//! Handlers that log and move their thread to chunk after chunk while a log is opened again and again: the windows
//! that are kept for the call that they interrupted are let go of, and none of the threads is without one for long.

mod common;
#[path = "common/interrupts.rs"]
mod interrupts;

use interrupts::HANDLED;
use logdef::{Sink, logdef};
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering};

/// Signals go to the other thread.
fn block_signals() {
    // SAFETY: a set that is valid for the calls.
    unsafe {
        let mut all: libc::sigset_t = std::mem::zeroed();
        libc::sigfillset(&raw mut all);
        libc::pthread_sigmask(libc::SIG_SETMASK, &raw const all, std::ptr::null_mut());
    }
}

/// Nine of ten calls were dropped, from the first on that found no place for one more window: a thread lets go
/// of windows when it has another.
#[test]
fn a_thread_lets_go_of_windows_though_it_is_interrupted_all_the_time() {
    const INTERRUPTIONS: u64 = 4_000;
    let folder = tempfile::tempdir().unwrap();
    common::in_child(|| {
        let options = logdef::options().sink(Sink::Mapped).rotate(64 << 10);
        options.open(folder.path().join("log")).unwrap();
        let mut calls = 0;
        let is_over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                block_signals();
                while !is_over.load(Ordering::Relaxed) {
                    logdef::reopen().unwrap();
                    std::thread::sleep(std::time::Duration::from_micros(300));
                }
            });
            interrupts::each(50);
            while HANDLED.load(Ordering::Relaxed) < INTERRUPTIONS {
                logdef!(Info, "main %lu", calls);
                calls += 1;
            }
            interrupts::each(0);
            is_over.store(true, Ordering::Relaxed);
        });
        let calls = calls + HANDLED.load(Ordering::Relaxed);
        let dropped = logdef::state().dropped;
        assert!(dropped * 10 < calls, "{dropped} of {calls}");
    });
}

const PAGE: usize = 4096;
/// What can be read from when the handler returns.
static STRING: AtomicPtr<libc::c_void> = AtomicPtr::new(std::ptr::null_mut());
/// Calls of the handler: more than a thread can have windows.
const INSIDE: u64 = 100;

extern "C" fn log_and_reopen(_signal: i32) {
    for number in 0..INSIDE {
        logdef::reopen().unwrap();
        logdef!(Info, "inside %lu", number);
    }
    let string = STRING.load(Ordering::Relaxed);
    // SAFETY: a page that is mapped.
    unsafe { libc::mprotect(string, PAGE, libc::PROT_READ) };
}

/// A string whose first read has the calling thread interrupted.
fn string_that_interrupts() -> &'static str {
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
    // SAFETY: new memory, and a handler of the right shape.
    let page = unsafe {
        let handler: extern "C" fn(i32) = log_and_reopen;
        libc::signal(libc::SIGSEGV, handler as libc::sighandler_t);
        libc::mmap(std::ptr::null_mut(), PAGE, libc::PROT_NONE, flags, -1, 0)
    };
    assert_ne!(page, libc::MAP_FAILED);
    STRING.store(page, Ordering::Relaxed);
    // SAFETY: zeros, as soon as the handler returns from the first read of them.
    unsafe { std::str::from_utf8_unchecked(std::slice::from_raw_parts(page.cast(), 8)) }
}

/// A thread that had no place for one more window began a file at each call that it dropped, while the
/// call that was interrupted waited: where files take long and signals come often, it dropped half of its calls.
#[test]
fn a_call_that_has_no_place_for_a_window_begins_no_file() {
    let folder = tempfile::tempdir().unwrap();
    common::in_child(|| {
        let options = logdef::options().sink(Sink::Mapped).rotate(64 << 10);
        options.open(folder.path().join("log")).unwrap();
        logdef!(Info, "interrupted %s", string_that_interrupts());
        let dropped = logdef::state().dropped;
        assert!(dropped >= INSIDE / 4, "{dropped}");
        // The link leads to one of them.
        let files = std::fs::read_dir(folder.path()).unwrap().count() as u64 - 1;
        assert!(
            files <= INSIDE + 2 - dropped,
            "{files} files, {dropped} calls dropped"
        );

        // It has places again, and what was asked meanwhile is done.
        logdef!(Info, "after it");
        assert_eq!(logdef::state().dropped, dropped);
        assert_eq!(
            std::fs::read_dir(folder.path()).unwrap().count() as u64 - 1,
            files + 1
        );
    });
}
