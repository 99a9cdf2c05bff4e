//! A signal handler logs while its own thread is anywhere in a log call. Every
//! call of both leaves exactly one record, and every record finds what it
//! refers to.

mod common;

use logdef::{Sink, logdef};
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};

static HANDLED: AtomicU32 = AtomicU32::new(0);

extern "C" fn handler(_: libc::c_int) {
    let nth = HANDLED.fetch_add(1, Ordering::Relaxed);
    logdef!(Warn, "in the handler: %u of %s", nth, "many");
}

/// In a process of one thread: the kernel would have the test's main thread, which waits, take the signal.
#[test]
fn a_handler_logs_in_the_middle_of_a_call() {
    let directory = tempfile::tempdir().unwrap();
    common::in_child(|| log_and_be_interrupted(directory.path()));
}

fn log_and_be_interrupted(directory: &Path) {
    logdef::options()
        .sink(Sink::Mapped)
        .rotate(2 << 20)
        .open(directory.join("log"))
        .unwrap();
    // SAFETY: the handler does nothing but log, which may be done in handlers,
    // and the timer interrupts this process only.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = handler as *const () as usize;
        action.sa_flags = libc::SA_RESTART;
        libc::sigaction(libc::SIGALRM, &action, std::ptr::null_mut());
        let interval = libc::timeval {
            tv_sec: 0,
            tv_usec: 200,
        };
        let timer = libc::itimerval {
            it_interval: interval,
            it_value: interval,
        };
        libc::setitimer(libc::ITIMER_REAL, &timer, std::ptr::null_mut());
    }
    let mut calls = 0u32;
    while HANDLED.load(Ordering::Relaxed) < 2_000 {
        logdef!(Info, "outside: %u, %f, %s", calls, 0.25, "and a string");
        calls += 1;
        if calls.is_multiple_of(1000) {
            logdef!(Error, "outside, with a backtrace: %u", calls);
        }
    }
    // SAFETY: stops the timer.
    unsafe {
        libc::setitimer(libc::ITIMER_REAL, &std::mem::zeroed(), std::ptr::null_mut());
    }
    let (outside, inside) = common::numbers(directory);
    assert_eq!(outside.len() as u32, calls);
    assert_eq!(inside.len() as u32, HANDLED.load(Ordering::Relaxed));
}
