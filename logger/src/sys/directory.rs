//! Directories, descriptors' numbers and locks of files. Part of the room for unsafe.

use super::{Errno, checked, close, open};
use core::ffi::{CStr, c_int};

/// Descriptors of the log are numbered from here: programs that close 0, 1 and 2, or
/// count on the lowest free number, do not meet them.
const HIGH: c_int = 64;

/// Gives a descriptor that was just opened a high number; where the limit on open files
/// allows none, one that is at least not 0, 1 or 2.
pub(crate) fn lift(fd: c_int) -> Result<c_int, Errno> {
    if fd >= HIGH {
        return Ok(fd);
    }
    let lifted = duplicate(fd, HIGH).or_else(|errno| match fd {
        0..=2 => duplicate(fd, 3),
        3.. => Ok(fd),
        _ => Err(errno),
    });
    if lifted != Ok(fd) {
        close(fd);
    }
    lifted
}

/// A second descriptor of what `fd` leads to, numbered high.
pub(crate) fn duplicate_high(fd: c_int) -> Result<c_int, Errno> {
    duplicate(fd, HIGH).or_else(|_| duplicate(fd, 3))
}

fn duplicate(fd: c_int, from: c_int) -> Result<c_int, Errno> {
    // SAFETY: touches none of our memory.
    let new = unsafe { libc::syscall(libc::SYS_fcntl, fd, libc::F_DUPFD_CLOEXEC, from) };
    checked(new as isize).map(|fd| fd as c_int)
}

/// The status flags of what a descriptor leads to.
pub(crate) fn status_flags(fd: c_int) -> Result<c_int, Errno> {
    // SAFETY: touches none of our memory.
    let flags = unsafe { libc::syscall(libc::SYS_fcntl, fd, libc::F_GETFL, 0) };
    checked(flags as isize).map(|flags| flags as c_int)
}

/// Sets the status flags of what a descriptor leads to.
pub(crate) fn set_status_flags(fd: c_int, flags: c_int) -> Result<(), Errno> {
    // SAFETY: touches none of our memory.
    let set = unsafe { libc::syscall(libc::SYS_fcntl, fd, libc::F_SETFL, flags) };
    checked(set as isize).map(drop)
}

/// Marks a file as one that this process, or a child of it, has open. The mark goes
/// with the last descriptor.
pub(crate) fn mark_in_use(fd: c_int) {
    // SAFETY: touches none of our memory.
    unsafe { libc::syscall(libc::SYS_flock, fd, libc::LOCK_SH | libc::LOCK_NB) };
}

/// Whether a process has [marked](mark_in_use) the file that a descriptor of its own
/// was opened on.
pub(crate) fn is_in_use(fd: c_int) -> bool {
    // SAFETY: touches none of our memory.
    let locked = unsafe { libc::syscall(libc::SYS_flock, fd, libc::LOCK_EX | libc::LOCK_NB) };
    locked == -1 && Errno::last() == Errno(libc::EWOULDBLOCK)
}

/// Exchanges what two names of one file system stand for.
pub(crate) fn exchange(one: &CStr, other: &CStr) -> Result<(), Errno> {
    // SAFETY: both paths end in a NUL.
    let exchanged = unsafe {
        libc::syscall(
            libc::SYS_renameat2,
            libc::AT_FDCWD,
            one.as_ptr(),
            libc::AT_FDCWD,
            other.as_ptr(),
            libc::RENAME_EXCHANGE,
        )
    };
    checked(exchanged as isize).map(drop)
}

/// Reads a file from its start until `into` is full or the file ends, and returns how
/// many bytes it read.
pub(crate) fn read_start(path: &CStr, into: &mut [u8]) -> Result<usize, Errno> {
    let flags = libc::O_RDONLY | libc::O_NOFOLLOW | libc::O_NONBLOCK | libc::O_NOCTTY;
    let fd = open(path, flags, 0)?;
    let read = read_whole(fd, into);
    close(fd);
    read
}

/// Reads until `into` is full or the file ends, and returns how many bytes it read.
pub(crate) fn read_whole(fd: c_int, into: &mut [u8]) -> Result<usize, Errno> {
    let mut len = 0;
    loop {
        match super::read(fd, &mut into[len..]) {
            Ok(0) => return Ok(len),
            Ok(more) => len += more,
            Err(Errno(libc::EINTR)) => {}
            Err(errno) => return Err(errno),
        }
    }
}
