//! A handler on an alternate stack of 16 KiB may log, also where lines go to standard error: nothing is written below
//! that stack.

use logdef::{Level, Sink, logdef};
use std::os::fd::AsRawFd;

mod common;

/// Not optimized, functions take more of it.
const STACK: usize = if cfg!(debug_assertions) {
    24 << 10
} else {
    16 << 10
};
const BELOW: usize = 64 << 10;
const PAINT: u8 = 0xa5;

extern "C" fn logs(_: i32) {
    logdef!(
        Info,
        "from a handler: %d %.3f %s %-300s|",
        7,
        1.0e300,
        "text",
        "padded"
    );
    logdef!(Error, "with a backtrace: {} {:?}", 2.5, "quoted");
}

/// Raises the signal, and returns how many bytes below the top of the stack were used.
fn used_by_handler() -> usize {
    let mut memory = vec![PAINT; BELOW + STACK];
    let stack = libc::stack_t {
        ss_sp: memory[BELOW..].as_mut_ptr().cast(),
        ss_flags: 0,
        ss_size: STACK,
    };
    let mut before = stack;
    // SAFETY: the memory is there until the stack is given back, and the signal handled before `raise` returns.
    unsafe {
        assert_eq!(libc::sigaltstack(&raw const stack, &raw mut before), 0);
        libc::raise(libc::SIGUSR1);
        assert_eq!(
            libc::sigaltstack(&raw const before, std::ptr::null_mut()),
            0
        );
    }
    let painted = memory.iter().take_while(|byte| **byte == PAINT).count();
    BELOW + STACK - painted
}

/// With lines on standard error, handlers wrote up to 8 KiB below their stacks.
#[test]
fn a_handler_with_little_stack_logs() {
    let directory = tempfile::tempdir().unwrap();
    let screen = tempfile::tempfile().unwrap();
    common::in_child(|| {
        // SAFETY: takes numbers; zeros are a valid action, and the handler takes one argument.
        unsafe {
            assert_eq!(libc::dup2(screen.as_raw_fd(), 2), 2);
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = logs as *const () as usize;
            action.sa_flags = libc::SA_ONSTACK;
            let none = std::ptr::null_mut();
            assert_eq!(libc::sigaction(libc::SIGUSR1, &raw const action, none), 0);
        }
        for mirror in [None, Some(Level::TRACE)] {
            let options = logdef::options().sink(Sink::Mapped);
            let options = mirror.map_or(options.clone(), |level| options.mirror(level));
            options.open(directory.path().join("log")).unwrap();
            logdef!(Info, "the thread has logged");
            let used = used_by_handler();
            assert!(used <= STACK, "{used} bytes of {STACK}, {mirror:?}");
            logdef::close();
        }
    });
}
