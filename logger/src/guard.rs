//! The guard against a log file that another process cuts short: where a page is gone, memory of the
//! process's own is put in its place.
//!
//! Off unless asked for, but for the note of a fatal signal: a library must not take a signal
//! unasked. It minds faults in the log's own memory only, and leaves every other one to the handler that SIGBUS had
//! before. A program that sets a handler of SIGBUS later, which does not call the one before it,
//! turns the guard off, and a thread that blocks SIGBUS is not guarded: the kernel ends the process.

use crate::process::Process;
use crate::sys;
use crate::thread::{Thread, own_add};
use core::sync::atomic::{AtomicU64, Ordering};

static REPLACED: AtomicU64 = AtomicU64::new(0);

/// How many pages were replaced since the process began.
pub(crate) fn replaced_pages() -> u64 {
    REPLACED.load(Ordering::Relaxed)
}

/// Puts a page in place of one of the log that the kernel says is gone; `false` if it is not the log's.
/// Runs in the thread that touched the page, in a signal handler.
pub(crate) fn replace_page(process: &Process, info: *mut libc::siginfo_t) -> bool {
    let Some(address) = sys::fault_address(info) else {
        return false;
    };
    let is_replaced = process.sink.replace_page(&process.shared, address);
    REPLACED.fetch_add(is_replaced.into(), Ordering::Relaxed);
    // The record that was being written is lost with the page.
    if is_replaced && let Some(thread) = Thread::mine() {
        own_add(&thread.dropped, 1);
        process.shared.run.drops.add(1);
    }
    is_replaced
}
