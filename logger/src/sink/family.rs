//! What a family of processes knows of its log: the process that opened it, and all that
//! were forked from it since. It stands in memory that they share, made at `open`, so that
//! a child needs only what it inherits to continue its parent's files: chunks are claimed
//! by one cursor, files follow each other by one count.
//!
//! Any member may be killed at any instruction. So nothing here is ever locked; what a
//! member noted of itself is worth something while it is alive.

use super::chunk::UNIT;
use super::file::LogFile;
use super::lent::Shareable;
use super::names::Names;
use super::owed::Owed;
use super::unsynced::Unsynced;
use crate::sys;
use crate::window::Range;
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// Slots for files: the one written to, and those before it that are kept, or that a
/// `sync` has yet to reach.
pub(crate) const FILES: usize = 128;
pub(crate) const SLOT_BITS: u32 = 8;
/// Windows of the family that can be distinguished.
const WINDOWS: usize = 4096;

/// The memory that a process shares with its forked children.
pub(crate) struct Family {
    pub files: [LogFile; FILES],
    /// The file that is written to: its slot, and above that how many came
    /// before it.
    pub current: AtomicU64,
    /// One more than the `current` that a thread is about to replace, or was.
    pub rotating: AtomicU64,
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
    /// Files of earlier turns are written to no more: the log was opened again since.
    pub left_before: AtomicU64,
    /// The path leads to the file of this turn, or to a later one, and what was not kept then is gone.
    pub settled: AtomicU64,
    /// When (monotonic time) a thread began to open the log again; 0 if none is at it.
    pub reopening_since: AtomicU64,
    pub names: Names,
    pub unsynced: Unsynced,
    pub owed: Owed,
    windows: [Entry; WINDOWS],
    /// There were more windows than places for them: up to where, in what file.
    crowded: Crowd,
}

/// The last place of the log, by its files' turns and then its offset, up to which
/// some windows may have no entry.
struct Crowd {
    /// The turn, and below it units of a file; 0 for none.
    end: AtomicU64,
}

/// A window of a member.
struct Entry {
    /// The member's process id; 0 for none.
    owner: AtomicU32,
    turn: AtomicU64,
    offset: AtomicU64,
    len: AtomicU64,
}

// SAFETY: zeros are a family without files, windows and a path; all of it is atomics.
unsafe impl Shareable for Family {
    unsafe fn clear(&self) {
        // SAFETY: what uses no family uses no path of one.
        unsafe { self.names.base.free() };
    }
}

impl Family {
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
            None => self.crowded.reaches(range),
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
        self.crowded.end_in(turn) > 0 || all.any(|entry| entry.range().turn == turn)
    }

    /// Calls `report` with each window of a member that was killed: no process owns it any more.
    pub fn forget_the_dead(&self, report: impl Fn(Range)) {
        for entry in &self.windows {
            let owner = entry.owner.load(Ordering::Relaxed);
            if owner != 0 && !sys::is_alive(owner) {
                let range = entry.range();
                entry.free();
                report(range);
            }
        }
    }

    /// The next range of a file, from an offset on, that no member maps, as far as its
    /// windows are known; up to `end`. `None` if members map everything up to there.
    pub fn gap(&self, turn: u64, from: u64, end: u64) -> Option<(u64, u64)> {
        let mut start = from.max(self.crowded.end_in(turn));
        if start >= end {
            return None;
        }
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

impl Crowd {
    const BITS: u32 = 40;

    /// A range is mapped that has no entry.
    fn reaches(&self, range: Range) {
        let end = (range.offset + range.len).div_ceil(UNIT);
        self.end
            .fetch_max(range.turn << Crowd::BITS | end, Ordering::SeqCst);
    }

    /// Up to what offset of the file of a turn.
    fn end_in(&self, turn: u64) -> u64 {
        let end = self.end.load(Ordering::SeqCst);
        match (end >> Crowd::BITS).cmp(&turn) {
            core::cmp::Ordering::Less => 0,
            core::cmp::Ordering::Equal => (end & ((1 << Crowd::BITS) - 1)) * UNIT,
            core::cmp::Ordering::Greater => u64::MAX,
        }
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
    }

    #[test]
    fn more_windows_than_can_be_distinguished_are_forgotten_as_the_log_grows() {
        let family = Family::allocate().unwrap();
        for window in 0..=WINDOWS as u64 {
            family.enter_window(range(2, window * UNIT, UNIT));
        }
        let end = (WINDOWS as u64 + 1) * UNIT;
        assert_eq!(family.gap(1, 0, end), None);
        assert_eq!(family.gap(2, 0, 2 * end), Some((end, 2 * end)));
        assert_eq!(family.gap(3, 0, end), Some((0, end)));
        assert!(family.has_window(1) && family.has_window(2) && !family.has_window(3));
    }

    #[test]
    fn the_windows_of_a_member_that_was_killed_are_named() {
        let family = Family::allocate().unwrap();
        family.enter_window(range(2, 0, 4));
        family.enter_window(range(2, 8, 4));
        let of_the_dead = u32::MAX >> 2;
        family.windows[1]
            .owner
            .store(of_the_dead, Ordering::Relaxed);
        let named = core::cell::RefCell::new(Vec::new());
        family.forget_the_dead(|range| named.borrow_mut().push(range));
        assert_eq!(named.into_inner(), [range(2, 8, 4)]);
        assert_eq!(family.gap(2, 4, 20), Some((4, 20)));
    }
}
