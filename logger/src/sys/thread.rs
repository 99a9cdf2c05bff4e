//! A thread of the logger's own. Part of the room for unsafe. Not for handlers.

use super::Errno;
use core::ptr;
use std::thread::Builder;

/// Bytes of its stack.
const STACK: usize = 128 << 10;

/// Starts a thread that blocks all signals, but for those by which the C library
/// changes the rights of all threads. Allocates.
pub(crate) fn start_thread(name: &str, work: impl FnOnce() + Send + 'static) -> Result<(), Errno> {
    // It has the mask of the thread that starts it.
    // SAFETY: plain data, of which zeros are a value.
    let (mut all, mut before): (libc::sigset_t, libc::sigset_t) = unsafe { core::mem::zeroed() };
    // SAFETY: both sets are valid; the mask is given back below.
    unsafe {
        libc::sigfillset(&raw mut all);
        libc::pthread_sigmask(libc::SIG_SETMASK, &raw const all, &raw mut before);
    }
    let builder = Builder::new().name(name.to_owned()).stack_size(STACK);
    let started = builder.spawn(work);
    // SAFETY: the set that the thread had.
    unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &raw const before, ptr::null_mut()) };
    match started {
        Ok(_) => Ok(()),
        Err(error) => Err(Errno(error.raw_os_error().unwrap_or(libc::EAGAIN))),
    }
}
