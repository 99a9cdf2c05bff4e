//! What a family of processes knows of its log: the process that opened it, and all that
//! were forked from it since. It stands in memory that they share, made at `open`, so
//! that a child needs no more than it inherits to go on in its parent's files: chunks
//! are claimed by one cursor, files follow each other by one count.
//!
//! Any member may be killed at any instruction. So nothing here is ever locked; what a
//! member noted of itself is worth something while it is alive.

use super::file::LogFile;
use super::names::Names;
use crate::sys::{self, Errno};
use crate::window::Range;
use core::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

/// Slots for files: the one written to, and those before it that are kept, or that a
/// `sync` has yet to reach.
pub(crate) const FILES: usize = 128;
pub(crate) const SLOT_BITS: u32 = 8;
/// Windows of the family that can be told apart.
const WINDOWS: usize = 4096;

/// The memory that a process shares with its forked children.
pub(crate) struct Family {
    pub files: [LogFile; FILES],
    /// The file that is written to: its slot, and above that how many came
    /// before it.
    pub current: AtomicU64,
    /// Units that a file may have.
    pub file_units: AtomicU64,
    /// How many files are kept; 0: all.
    pub keep: AtomicU32,
    /// When (monotonic time) the current file was made, and the age, in nanoseconds, at which
    /// it is followed by another; 0 for any.
    pub begun: AtomicU64,
    pub file_age: AtomicU64,
    /// Files of earlier turns were removed.
    pub oldest: AtomicU64,
    pub names: Names,
    windows: [Entry; WINDOWS],
    /// There were more windows than places for them.
    crowded: AtomicBool,
}

/// A window of a member.
struct Entry {
    /// The member's process id; 0 for none.
    owner: AtomicU32,
    turn: AtomicU64,
    offset: AtomicU64,
    len: AtomicU64,
}

impl Family {
    /// Memory for a family, zeroed, that is shared with children.
    pub fn allocate() -> Result<&'static Family, Errno> {
        let at = sys::allocate_shared(size_of::<Family>())?;
        let _ = sys::advise(at, size_of::<Family>(), libc::MADV_DONTDUMP);
        // SAFETY: fresh memory of this size, aligned like a page; zeros are a valid
        // `Family`.
        Ok(unsafe { &*at.cast::<Family>() })
    }

    /// Gives the memory back; other processes keep theirs.
    ///
    /// # Safety
    ///
    /// Nobody in this process uses it any more.
    pub unsafe fn free(family: *const Family) {
        sys::unmap(family.cast_mut().cast(), size_of::<Family>());
    }

    /// How many files were the current one, this one included.
    pub fn turn(&self) -> u64 {
        self.current.load(Ordering::Acquire) >> SLOT_BITS
    }

    /// The file that `current` says.
    pub fn slot(&self, current: u64) -> usize {
        current as usize & ((1 << SLOT_BITS) - 1)
    }

    /// A member maps a range of a file.
    pub fn enter_window(&self, range: Range) {
        let pid = sys::process_id();
        let mut all = self.windows.iter();
        let free = all.find(|entry| {
            let owner = &entry.owner;
            owner.load(Ordering::Relaxed) == 0
                && owner
                    .compare_exchange(0, pid, Ordering::AcqRel, Ordering::Relaxed)
                    .is_ok()
        });
        match free {
            Some(entry) => {
                entry.offset.store(range.offset, Ordering::Relaxed);
                entry.len.store(range.len, Ordering::Relaxed);
                entry.turn.store(range.turn, Ordering::SeqCst);
            }
            None => self.crowded.store(true, Ordering::SeqCst),
        }
    }

    /// A member no longer maps a range of a file.
    pub fn leave_window(&self, range: Range) {
        let pid = sys::process_id();
        let mut all = self.windows.iter();
        if let Some(entry) = all.find(|entry| entry.is_of(pid) && entry.range() == range) {
            entry.free();
        }
    }

    /// Whether a member maps a range of a file.
    pub fn has_window(&self, turn: u64) -> bool {
        let mut all = self.windows.iter();
        self.crowded.load(Ordering::SeqCst) || all.any(|entry| entry.range().turn == turn)
    }

    /// The windows of a member that was killed are nobody's.
    pub fn forget_the_dead(&self) {
        for entry in &self.windows {
            let owner = entry.owner.load(Ordering::Relaxed);
            if owner != 0 && !sys::is_alive(owner) {
                entry.free();
            }
        }
    }

    /// The next range of a file, from an offset on, that no member maps; up to `end`.
    /// `None` if there is none, or if not all windows are known.
    pub fn gap(&self, turn: u64, from: u64, end: u64) -> Option<(u64, u64)> {
        if self.crowded.load(Ordering::SeqCst) {
            return None;
        }
        let mut start = from;
        let next = loop {
            let before = start;
            let mut next = end;
            for entry in &self.windows {
                let range = entry.range();
                if range.turn != turn || range.offset + range.len <= start {
                    continue;
                }
                if range.offset <= start {
                    start = range.offset + range.len
                } else {
                    next = next.min(range.offset)
                }
            }
            if start == before {
                break next;
            }
        };
        (start < next).then_some((start, next))
    }
}

impl Entry {
    fn is_of(&self, pid: u32) -> bool {
        self.owner.load(Ordering::Relaxed) == pid
    }

    fn range(&self) -> Range {
        Range {
            turn: self.turn.load(Ordering::SeqCst),
            offset: self.offset.load(Ordering::Relaxed),
            len: self.len.load(Ordering::Relaxed),
        }
    }

    fn free(&self) {
        self.turn.store(0, Ordering::SeqCst);
        self.owner.store(0, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range(turn: u64, offset: u64, len: u64) -> Range {
        Range { turn, offset, len }
    }

    #[test]
    fn what_no_member_maps_is_found() {
        let family = Family::allocate().unwrap();
        let windows = [
            range(2, 0, 4),
            range(3, 16, 16),
            range(3, 32, 4),
            range(3, 64, 8),
        ];
        windows
            .iter()
            .for_each(|window| family.enter_window(*window));
        let mut gaps = Vec::new();
        let mut from = 0;
        while let Some((start, end)) = family.gap(3, from, 100) {
            gaps.push((start, end));
            from = end;
        }
        assert_eq!(gaps, [(0, 16), (36, 64), (72, 100)]);
        assert!(family.has_window(2) && !family.has_window(4));
        family.leave_window(range(3, 64, 8));
        assert_eq!(family.gap(3, 36, 100), Some((36, 100)));
        // SAFETY: made above, and used no more.
        unsafe { Family::free(family) };
    }
}
