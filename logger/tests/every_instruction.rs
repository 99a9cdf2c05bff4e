//! A handler logs after every single instruction of a log call: the CPU's trap
//! flag brings a signal at each. Whatever two steps of a call a handler comes
//! between, no record of either is lost, and none is damaged.

#![cfg(target_arch = "x86_64")]

mod common;

use logdef::{Level, Sink, logdef};
use std::arch::asm;
use std::sync::atomic::{AtomicU64, Ordering};

static TRAPS: AtomicU64 = AtomicU64::new(0);

extern "C" fn handler(_: libc::c_int, _: *mut libc::siginfo_t, context: *mut libc::c_void) {
    // SAFETY: the kernel passes the context of the instruction that was interrupted.
    let blocked = unsafe {
        let context = &*context.cast::<libc::ucontext_t>();
        libc::sigismember(&context.uc_sigmask, libc::SIGALRM) == 1
    };
    if blocked {
        return;
    }
    let nth = TRAPS.fetch_add(1, Ordering::Relaxed);
    logdef!(Warn, "after instruction %lu, %s", nth, "in the handler");
}

#[inline(never)]
fn call(number: u64) {
    logdef!(Info, "%lu is stepped through: %f, %s", number, 0.5, "text");
}

#[test]
fn a_handler_may_log_after_every_instruction_of_a_call() {
    let directory = tempfile::tempdir().unwrap();
    logdef::options()
        .sink(Sink::Mapped)
        .backtrace_level(Level::FATAL)
        // Small files: chunks and files change often, in calls of both.
        .rotate(2 << 20)
        .open(directory.path().join("log"))
        .unwrap();
    // SAFETY: the handler only logs, which may be done in handlers.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = handler as *const () as usize;
        action.sa_flags = libc::SA_SIGINFO;
        libc::sigaction(libc::SIGTRAP, &action, std::ptr::null_mut());
    }
    // A call takes ten times the instructions, and each handler ten times as long,
    // where nothing is optimized.
    const CALLS: u64 = if cfg!(debug_assertions) { 1 } else { 40 };
    for number in 0..CALLS {
        // SAFETY: sets the trap flag, and clears it again after the call; the
        // red zone is stepped over.
        unsafe {
            asm!(
                "sub rsp, 128",
                "pushfq",
                "or qword ptr [rsp], 0x100",
                "popfq",
                "add rsp, 128"
            );
        }
        call(number);
        // SAFETY: clears the trap flag; the red zone is stepped over.
        unsafe {
            asm!(
                "sub rsp, 128",
                "pushfq",
                "and qword ptr [rsp], ~0x100",
                "popfq",
                "add rsp, 128"
            );
        }
    }
    let traps = TRAPS.load(Ordering::Relaxed);
    assert!(traps > CALLS * 300, "{traps} traps");
    let (calls, handled) = common::numbers(directory.path());
    assert_eq!(calls.len() as u64, CALLS);
    assert_eq!(handled.len() as u64, traps);
}
