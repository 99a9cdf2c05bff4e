//! The guard against a log file that another process cuts short: a handler of SIGBUS
//! that puts memory of the process's own in place of the page that is gone. A room
//! for unsafe.
//!
//! Off unless asked for: a library must not take a signal unasked. It minds faults
//! in the log's own memory only, and passes every other one on to the handler that
//! SIGBUS before, as if it were not there. Who takes SIGBUS after it and does not
//! pass it on ends the guard.

use crate::process::process;
use crate::sys::{self, Errno};
use crate::thread::{Thread, own_add};
use core::cell::UnsafeCell;
use core::ffi::c_int;
use core::mem::MaybeUninit;
use core::sync::atomic::{AtomicBool, Ordering};

/// What handled SIGBUS before.
struct Before(UnsafeCell<MaybeUninit<libc::sigaction>>);

// SAFETY: written once, before the handler is installed; only read afterwards.
unsafe impl Sync for Before {}

static BEFORE: Before = Before(UnsafeCell::new(MaybeUninit::zeroed()));

/// Installs the handler, once.
pub(crate) fn install() -> Result<(), Errno> {
    static INSTALLED: AtomicBool = AtomicBool::new(false);
    if INSTALLED.swap(true, Ordering::AcqRel) {
        return Ok(());
    }
    // SAFETY: the action is valid zeros before it is filled; `BEFORE` is written
    // here only, once; the handler is never unloaded.
    let installed = unsafe {
        libc::sigaction(libc::SIGBUS, core::ptr::null(), BEFORE.0.get().cast());
        let mut action: libc::sigaction = core::mem::zeroed();
        action.sa_sigaction = handle as *const () as usize;
        action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK | libc::SA_NODEFER;
        libc::sigemptyset(&mut action.sa_mask);
        libc::sigaction(libc::SIGBUS, &action, core::ptr::null_mut())
    };
    match installed {
        0 => Ok(()),
        _ => {
            INSTALLED.store(false, Ordering::Release);
            Err(Errno::last())
        }
    }
}

/// Runs in the thread that touched the page.
extern "C" fn handle(signal: c_int, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    let errno = Errno::last();
    let (address, _) = sys::signal_details(info, context);
    // SAFETY: the kernel passes a valid pointer, or null to who asks for it by hand.
    let by_kernel = unsafe { info.as_ref() }.is_some_and(|info| info.si_code > 0);
    let process = process();
    if by_kernel && process.sink.replace_page(&process.shared, address) {
        // The record that was being written is lost with the page.
        if let Some(thread) = Thread::mine() {
            own_add(&thread.dropped, 1);
            process.shared.run.drops.add(1);
        }
        errno.restore();
        return;
    }
    errno.restore();
    pass_on(signal, info, context);
}

fn pass_on(signal: c_int, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    // SAFETY: written before this was installed. What the program had for a handler
    // takes one argument or three, as its flags say.
    unsafe {
        let before = (*BEFORE.0.get()).assume_init_ref();
        match before.sa_sigaction {
            libc::SIG_DFL => {
                // The same instruction fails again when this returns, and what
                // should have happened happens.
                libc::sigaction(signal, before, core::ptr::null_mut());
                if info.as_ref().is_none_or(|info| info.si_code <= 0) {
                    libc::raise(signal);
                }
            }
            libc::SIG_IGN => {}
            handler if before.sa_flags & libc::SA_SIGINFO != 0 => {
                let handler: sys::Handler = core::mem::transmute(handler);
                handler(signal, info, context);
            }
            handler => {
                let handler: extern "C" fn(c_int) = core::mem::transmute(handler);
                handler(signal);
            }
        }
    }
}
