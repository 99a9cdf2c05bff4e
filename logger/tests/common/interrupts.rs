//! Signals by a timer, for handlers that log.

/// Has the calling process interrupted by a handler after each of these microseconds; 0 for no more.
pub fn each(handler: extern "C" fn(i32), microseconds: libc::suseconds_t) {
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
        libc::signal(libc::SIGALRM, handler as libc::sighandler_t);
        libc::setitimer(libc::ITIMER_REAL, &raw const timer, std::ptr::null_mut());
    }
}
