//! The files of an appended log that is rotated, as a family of processes knows them: the process
//! that opened it, and all that were forked from it since. One file is the newest for all of them,
//! and what is kept is counted once. Knows nothing of what is written.

use super::FLAGS;
use crate::sink::Rotation;
use crate::sink::lent::{Owned, Shareable};
use crate::sink::names::{Names, Opened};
use crate::sink::owed::Owed;
use crate::sys::{self, Errno};
use core::ffi::CStr;
use core::sync::atomic::{AtomicU64, Ordering};

/// Files that others may begin while a thread sets the link: the last of them will set it.
const LINKS: u32 = 8;

/// The memory that a process shares with its forked children.
pub(super) struct Rotated {
    pub names: Names,
    /// The newest file ([`Newest`]).
    newest: AtomicU64,
    /// When (monotonic time) it was made.
    pub begun: AtomicU64,
    pub owed: Owed,
}

/// A file of the log.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(super) struct Newest {
    /// How many files were the newest, this one included.
    pub turn: u32,
    /// The number in its name.
    pub number: u32,
}

impl Newest {
    pub fn from_word(word: u64) -> Newest {
        Newest {
            turn: (word >> 32) as u32,
            number: word as u32,
        }
    }

    pub fn word(self) -> u64 {
        u64::from(self.turn) << 32 | u64::from(self.number)
    }
}

// SAFETY: zeros are a log without files and a path; all of it is atomics.
unsafe impl Shareable for Rotated {
    unsafe fn clear(&self) {
        // SAFETY: no code uses the log any more (contract of `Shareable`).
        unsafe { self.names.base.free() };
    }
}

impl Rotated {
    /// A log under `path` without a file so far. Allocates.
    pub fn named(path: &[u8], rotation: &Rotation) -> Result<Owned<Rotated>, Errno> {
        let rotated = Rotated::allocate()?;
        rotated.names.set_bounds(rotation);
        rotated.names.set(path, rotation.keep, 1)?;
        Ok(rotated)
    }

    /// The newest file.
    pub fn newest(&self) -> Newest {
        Newest::from_word(self.newest.load(Ordering::Acquire))
    }

    /// Lets file `number`, which has an inode, follow `before` as the newest. `None` if another has:
    /// another thread of the family was quicker.
    pub fn advance(&self, before: Newest, number: u32, inode: u64) -> Option<Newest> {
        self.confirm(before);
        let newest = Newest {
            turn: before.turn.wrapping_add(1),
            number,
        };
        let (success, failure) = (Ordering::AcqRel, Ordering::Relaxed);
        let exchanged =
            self.newest
                .compare_exchange(before.word(), newest.word(), success, failure);
        exchanged.ok()?;
        self.begun
            .store(crate::clock::monotonic(), Ordering::Relaxed);
        self.names.enter(u64::from(newest.turn), number, inode);
        Some(newest)
    }

    /// Enters a file whose process was killed before it could.
    fn confirm(&self, file: Newest) {
        self.names.confirm(u64::from(file.turn), file.number);
    }

    /// Removes the newest file, if there is one, to which no process has written.
    pub fn discard_newest(&self) {
        let newest = self.newest();
        if newest.turn > 0 {
            self.names.discard(newest.number);
        }
    }

    /// Lets the path lead to the newest file, and removes what is not kept beside it.
    pub fn settle(&self) -> Result<(), Errno> {
        let mut linked = Ok(());
        for _ in 0..LINKS {
            let newest = self.newest();
            self.confirm(newest);
            linked = self.names.point_to(newest.number);
            self.names.end_work_of_the_dead(|| {
                let Newest { turn, number } = self.newest();
                (u64::from(turn), number)
            });
            self.names.prune(u64::from(newest.turn));
            // Another member may have set its link before this one.
            if self.newest() == newest {
                break;
            }
        }
        linked
    }

    /// Opens a file of the log, to be added to. EAGAIN if another stands under its name, as where the
    /// directory is another one by now, or if it is not entered yet; EBADF if the program closed it meanwhile.
    pub fn open(&self, file: Newest) -> Result<Opened, Errno> {
        let open = |path: &CStr| {
            let fd = sys::open(path, FLAGS | libc::O_NOFOLLOW, 0)?;
            Opened::at(path, fd)
        };
        let opened = self.names.with(file.number, open)??;
        self.confirm(file);
        let (turn, inode) = (u64::from(file.turn), opened.file.file.1);
        let is_set = if !self.names.is(turn, file.number, inode) {
            Err(Errno(libc::EAGAIN))
        } else if !opened.leads_there() {
            Err(Errno(libc::EBADF))
        } else {
            sys::set_status_flags(opened.fd, libc::O_APPEND)
        };
        is_set.inspect_err(|_| opened.close())?;
        sys::mark_in_use(opened.fd);
        Ok(opened)
    }
}
