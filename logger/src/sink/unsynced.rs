//! Files that were let go of before a `sync` reached them, since descriptors are few: a
//! later one reaches them by their file system. Knows neither their names nor what is in them.

use crate::sys::{self, Errno};
use core::ffi::c_int;
use core::sync::atomic::{AtomicU64, Ordering};

/// Counts of such files. Memory of zeros counts none.
pub(crate) struct Unsynced {
    /// How many were let go of.
    left: AtomicU64,
    /// How many of them a `sync` has reached.
    synced: AtomicU64,
}

impl Unsynced {
    pub const fn new() -> Unsynced {
        Unsynced {
            left: AtomicU64::new(0),
            synced: AtomicU64::new(0),
        }
    }

    /// A file is let go of: before its descriptor is closed, so that no `sync` misses it.
    pub fn leave_one(&self) {
        self.left.fetch_add(1, Ordering::SeqCst);
    }

    /// Another log follows.
    pub fn forget(&self) {
        let left = self.left.load(Ordering::SeqCst);
        self.synced.fetch_max(left, Ordering::SeqCst);
    }

    /// Waits until all of them are on stable storage, after the files that are open are, some of which may have
    /// been let go of meanwhile. `fd` opens a file on their file system.
    pub fn sync(&self, fd: impl FnOnce() -> Result<c_int, Errno>) -> Result<(), Errno> {
        let left = self.left.load(Ordering::SeqCst);
        if left > self.synced.load(Ordering::SeqCst) {
            sys::sync_file_system(fd()?)?;
            self.synced.fetch_max(left, Ordering::SeqCst);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::AsRawFd;

    #[test]
    fn what_was_left_is_synced_once() {
        let unsynced = Unsynced::new();
        let not_asked = || panic!("nothing was left");
        unsynced.sync(not_asked).unwrap();
        unsynced.leave_one();
        unsynced.leave_one();
        // What fails is tried again.
        assert!(unsynced.sync(|| Ok(-1)).is_err());
        assert!(unsynced.sync(|| Err(Errno(libc::EMFILE))).is_err());
        let file = tempfile::tempfile().unwrap();
        unsynced.sync(|| Ok(file.as_raw_fd())).unwrap();
        unsynced.sync(not_asked).unwrap();
    }
}
