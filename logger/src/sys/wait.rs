//! Waiting, for another thread or for a reader. Part of the room for unsafe.

use super::{Errno, checked, clock};
use core::ffi::c_int;
use core::ptr;
use core::sync::atomic::AtomicU32;

/// Waits until a descriptor takes bytes, or its other end is gone; for at most
/// `milliseconds`, or for ever if that is negative. `false` if it takes none by then.
pub(crate) fn wait_for_room(fd: c_int, milliseconds: c_int) -> Result<bool, Errno> {
    let mut wanted = libc::pollfd {
        fd,
        events: libc::POLLOUT,
        revents: 0,
    };
    let time = timespec(nanoseconds(milliseconds));
    let limit = match milliseconds {
        0.. => &raw const time,
        _ => ptr::null(),
    };
    let (mask, size) = (ptr::null::<u8>(), 0);
    // SAFETY: the descriptor's record and the time are valid for the call, and the mask is
    // null.
    let ready = unsafe { libc::syscall(libc::SYS_ppoll, &raw mut wanted, 1, limit, mask, size) };
    checked(ready as isize).map(|ready| ready > 0)
}

/// Waits while a word has a value, for `milliseconds` at most, however many signals are handled meanwhile.
pub(crate) fn wait_while(word: &AtomicU32, value: u32, milliseconds: c_int) {
    let until = timespec(clock(libc::CLOCK_MONOTONIC) + nanoseconds(milliseconds));
    let operation = libc::FUTEX_WAIT_BITSET | libc::FUTEX_PRIVATE_FLAG;
    loop {
        // SAFETY: the word and the time are valid for the call.
        let waited = unsafe {
            libc::syscall(
                libc::SYS_futex,
                word.as_ptr(),
                operation,
                value,
                &raw const until,
                ptr::null::<u32>(),
                libc::FUTEX_BITSET_MATCH_ANY,
            )
        };
        if waited == 0 || Errno::last() != Errno(libc::EINTR) {
            return;
        }
    }
}

/// Waits for some milliseconds.
pub(crate) fn pause(milliseconds: c_int) {
    wait_while(&AtomicU32::new(0), 0, milliseconds);
}

/// Wakes one that [waits](wait_while).
pub(crate) fn wake_one(word: &AtomicU32) {
    let operation = libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG;
    // SAFETY: the word is valid for the call.
    unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), operation, 1) };
}

/// Whether a thread of this process has a kernel's id.
pub(crate) fn thread_exists(id: u32) -> bool {
    // SAFETY: the call takes numbers only, and signal 0 is not delivered.
    let sent = unsafe { libc::syscall(libc::SYS_tgkill, libc::getpid(), id as c_int, 0) };
    sent == 0 || Errno::last() != Errno(libc::ESRCH)
}

fn nanoseconds(milliseconds: c_int) -> u64 {
    milliseconds.max(0) as u64 * 1_000_000
}

fn timespec(nanoseconds: u64) -> libc::timespec {
    libc::timespec {
        tv_sec: (nanoseconds / 1_000_000_000) as _,
        tv_nsec: (nanoseconds % 1_000_000_000) as _,
    }
}
