//! The guard against a log file that another process cuts short: where a page is gone, memory of the
//! process's own is put in its place.
//!
//! Off unless asked for: a library must not take a signal unasked. It minds faults
//! in the log's own memory only, and leaves every other one to the handler that SIGBUS had
//! before. A program that sets a handler of SIGBUS later, which does not call the one before it,
//! turns the guard off.

use crate::process::Process;
use crate::sys;
use crate::thread::{Thread, own_add};

/// Puts a page in place of one of the log that the kernel says is gone; `false` if it is not the log's.
/// Runs in the thread that touched the page, in a signal handler.
pub(crate) fn replace_page(process: &Process, info: *mut libc::siginfo_t) -> bool {
    let Some(address) = sys::fault_address(info) else {
        return false;
    };
    let is_replaced = process.sink.replace_page(&process.shared, address);
    // The record that was being written is lost with the page.
    if is_replaced && let Some(thread) = Thread::mine() {
        own_add(&thread.dropped, 1);
        process.shared.run.drops.add(1);
    }
    is_replaced
}
