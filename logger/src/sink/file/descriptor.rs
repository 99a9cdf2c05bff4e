//! How a process reaches the file in a slot: a descriptor, which the program may close at any
//! time, so that its number leads elsewhere; and so may a thread that lets go of an old file.

use super::Use;
use crate::sys::{self, Identity};
use core::ffi::c_int;
use core::sync::atomic::{AtomicU64, Ordering};

/// A process's descriptor of the file in a slot, for one use of that.
pub(crate) struct Descriptor {
    /// The use of the slot for which it was opened, and one more than its number; 0 for
    /// none. One word: who closes it must not close the next one.
    word: AtomicU64,
    /// Of the file, as it was when the word was set.
    device: AtomicU64,
    inode: AtomicU64,
}

/// A descriptor that one call has for itself: no other thread closes it, so that its number leads to one file
/// until the call is done. Where the process may have no more of them, it is the one that others use.
#[derive(Debug, Eq, PartialEq)]
pub(crate) struct OfCall {
    fd: c_int,
    is_shared: bool,
}

impl OfCall {
    pub(super) fn like(fd: c_int) -> OfCall {
        match sys::duplicate_high(fd) {
            Ok(fd) => OfCall {
                fd,
                is_shared: false,
            },
            Err(_) => OfCall {
                fd,
                is_shared: true,
            },
        }
    }

    pub fn fd(&self) -> c_int {
        self.fd
    }
}

impl Drop for OfCall {
    fn drop(&mut self) {
        if !self.is_shared {
            sys::close(self.fd);
        }
    }
}

impl Descriptor {
    pub const fn new() -> Descriptor {
        Descriptor {
            word: AtomicU64::new(0),
            device: AtomicU64::new(0),
            inode: AtomicU64::new(0),
        }
    }

    /// What is held, in one word.
    pub(super) fn word(&self) -> u64 {
        self.word.load(Ordering::Acquire)
    }

    fn word_of(Use(of): Use, fd: c_int) -> u64 {
        of << 32 | (fd as u64 + 1)
    }

    /// The descriptor that a word holds.
    pub(super) fn fd_in(word: u64) -> Option<c_int> {
        (word as u32 as c_int).checked_sub(1).filter(|fd| *fd >= 0)
    }

    /// Closes it, if it was opened for another use of its slot than this one. `false` if it was not, or another
    /// thread has closed it.
    pub fn close_unless_of(&self, now: Option<Use>) -> bool {
        let word = self.word();
        let current = now.map(|Use(of)| of << 32 >> 32);
        word != 0 && current != Some(word >> 32) && self.empty(word, None)
    }

    /// Closes it, if it was opened for this use of its slot. `false` if it was not, or another thread has
    /// closed it.
    pub fn close_of(&self, Use(of): Use) -> bool {
        let word = self.word();
        word != 0 && word >> 32 == of << 32 >> 32 && self.empty(word, None)
    }

    /// Forgets a word, unless another thread has, and closes what it leads to. A daemon
    /// may have closed that, and the number be another file's, or `new`.
    fn empty(&self, word: u64, new: Option<c_int>) -> bool {
        let device = self.device.load(Ordering::Relaxed);
        let inode = self.inode.load(Ordering::Relaxed);
        let emptied = self
            .word
            .compare_exchange(word, 0, Ordering::AcqRel, Ordering::Relaxed);
        if let (Ok(_), Some(fd)) = (emptied, Descriptor::fd_in(word))
            && Some(fd) != new
            && sys::identity(fd).is_ok_and(|found| found.file == (device, inode))
        {
            sys::close(fd);
        }
        emptied.is_ok()
    }

    /// Leads to another file, unless another thread has seen to that since `word`.
    pub(super) fn set(&self, word: u64, of: Use, fd: c_int, facts: &Identity) -> bool {
        if word != 0 && !self.empty(word, Some(fd)) {
            return false;
        }
        self.device.store(facts.file.0, Ordering::Relaxed);
        self.inode.store(facts.file.1, Ordering::Relaxed);
        let set = self.word.compare_exchange(
            0,
            Descriptor::word_of(of, fd),
            Ordering::AcqRel,
            Ordering::Relaxed,
        );
        set.is_ok()
    }
}
