//! Signals by a timer, whose handler logs.

use logdef::logdef;
use std::sync::atomic::{AtomicU64, Ordering};

/// Records of the handler.
pub static HANDLED: AtomicU64 = AtomicU64::new(0);

extern "C" fn log_one(_signal: i32) {
    logdef!(Info, "handler %lu", HANDLED.fetch_add(1, Ordering::Relaxed));
}

/// Has the calling process interrupted after each of these microseconds; 0 for no more.
pub fn each(microseconds: libc::suseconds_t) {
    let time = libc::timeval {
        tv_sec: 0,
        tv_usec: microseconds,
    };
    let timer = libc::itimerval {
        it_interval: time,
        it_value: time,
    };
    // SAFETY: a handler of the right shape, and a timer that is valid for the call.
    unsafe {
        let handler: extern "C" fn(i32) = log_one;
        libc::signal(libc::SIGALRM, handler as libc::sighandler_t);
        libc::setitimer(libc::ITIMER_REAL, &raw const timer, std::ptr::null_mut());
    }
}
