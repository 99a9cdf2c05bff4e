//! Blocks behind the end of a file that is appended to, so that a disk without space cuts no record
//! short, and takes a note that says how many were dropped.

use crate::sink::file_system;
use crate::sys::{self, Errno};
use core::ffi::c_int;
use core::sync::atomic::{AtomicU64, Ordering};

/// Bytes behind the last record that are kept for notes.
pub(crate) const ROOM: u64 = 4 << 10;
/// Bytes that are reserved at once.
const AHEAD: u64 = 16 << 10;

/// A range of the file that has blocks, as far as this process knows.
pub(super) struct Reserved {
    from: AtomicU64,
    to: AtomicU64,
}

impl Reserved {
    pub const fn new() -> Reserved {
        Reserved {
            from: AtomicU64::new(0),
            to: AtomicU64::new(0),
        }
    }

    /// The place is that of another file, on the file system with this magic number, if it is a file.
    pub fn begin(&self, file_system: Option<i64>) {
        if file_system.is_some_and(file_system::keeps_what_is_reserved) {
            self.set(0, 0);
        } else {
            self.give_up();
        }
    }

    fn set(&self, from: u64, to: u64) {
        self.from.store(from, Ordering::Relaxed);
        self.to.store(to, Ordering::Relaxed);
    }

    /// Nothing is asked for from now on.
    fn give_up(&self) {
        self.set(0, u64::MAX);
    }

    /// Makes sure that `len` bytes more, and a note behind them, fit a file of `size` bytes, as far as the
    /// file system can say.
    #[inline]
    pub fn reserve(&self, fd: c_int, size: u64, len: u64) -> Result<(), Errno> {
        let end = size.saturating_add(len).saturating_add(ROOM);
        // A file that is smaller than it was has no blocks behind its end.
        let has_blocks = self.from.load(Ordering::Relaxed) <= size;
        if has_blocks && end <= self.to.load(Ordering::Relaxed) {
            return Ok(());
        }
        self.extend(fd, size, end)
    }

    #[cold]
    fn extend(&self, fd: c_int, size: u64, end: u64) -> Result<(), Errno> {
        // What is left of a disk goes without more ahead.
        let reserve = |to: u64| sys::reserve_behind(fd, size, to - size).map(|()| to);
        let ahead = end.saturating_add(AHEAD);
        let reserved = reserve(ahead).or_else(|errno| match errno {
            Errno(libc::ENOSPC | libc::EDQUOT) => reserve(end),
            errno => Err(errno),
        });
        match reserved {
            Ok(to) => self.set(size, to),
            Err(errno @ Errno(libc::ENOSPC | libc::EDQUOT)) => return Err(errno),
            // A signal came, or the descriptor was closed meanwhile.
            Err(Errno(libc::EINTR | libc::EBADF)) => {}
            Err(_) => self.give_up(),
        }
        Ok(())
    }
}

/// Reserves the room for notes of a file that has nothing yet. Fails where there is no space only.
pub(crate) fn reserve_first(fd: c_int) -> Result<(), Errno> {
    match sys::reserve_behind(fd, 0, ROOM) {
        Err(errno @ Errno(libc::ENOSPC | libc::EDQUOT)) => Err(errno),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;
    use std::os::fd::AsRawFd;
    use std::os::unix::fs::MetadataExt;

    #[test]
    fn blocks_are_reserved_behind_the_end_now_and_then() {
        let file = tempfile::tempfile().unwrap();
        let (fd, reserved) = (file.as_raw_fd(), Reserved::new());
        let about = |file: &File| {
            let found = file.metadata().unwrap();
            (found.len(), found.blocks() * 512)
        };
        reserved.begin(sys::file_system(fd).ok());
        reserved.reserve(fd, 0, 100).unwrap();
        let (size, bytes) = about(&file);
        if reserved.to.load(Ordering::Relaxed) == u64::MAX {
            // A file system that keeps nothing.
            return;
        }
        assert_eq!(size, 0, "the size is that of what was written");
        assert!(bytes >= 100 + ROOM + AHEAD, "{bytes}");
        // The next calls have room.
        reserved.reserve(fd, 100, AHEAD - 100).unwrap();
        assert_eq!(about(&file).1, bytes);
        reserved.reserve(fd, 100, AHEAD + 1).unwrap();
        assert!(about(&file).1 > bytes);
        // A file that another program cut has lost its blocks.
        reserved.set(1 << 20, 2 << 20);
        file.set_len(0).unwrap();
        reserved.reserve(fd, 0, 100).unwrap();
        assert!(about(&file).1 >= 100 + ROOM);
    }
}
