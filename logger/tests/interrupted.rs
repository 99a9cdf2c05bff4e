//! Handlers that log and move their thread to chunk after chunk while a log is opened again and again: the windows
//! that are kept for the call that they interrupted are let go of, and none of the threads is without one for long.

mod common;
#[path = "common/interrupts.rs"]
mod interrupts;

use interrupts::HANDLED;
use logdef::{Sink, logdef};
use std::sync::atomic::{AtomicBool, Ordering};

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
