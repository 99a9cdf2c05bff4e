//! What a log gives up to make room for newer records: files that were removed, and,
//! where no new file can be made, the oldest chunks of those that it has. Knows
//! nothing of what is in a chunk.
//!
//! A log that keeps some files is counted in parts of a file's size. A file has one, and
//! one more for each time that it had to grow where another should have followed it;
//! the newest parts stay, as many as files are kept.

use super::{Log, MOST_UNITS, Reached};
use crate::shared::Shared;
use crate::sink::chunk::UNIT;
use crate::sink::file::LogFile;
use crate::sys::Errno;
use crate::window::Range;
use core::sync::atomic::Ordering;

/// How many units a log that keeps all of its files adds to the last one before it
/// tries again to make another.
const STEP: u64 = (64 << 20) / UNIT;

/// Bytes of a file whose blocks are given back at a time: half a millisecond.
const PIECE: usize = 4 << 20;

impl Log<'_> {
    /// Lets a file grow past the `capacity` that it may have, since its successor cannot be
    /// made.
    pub(super) fn grow_full(
        &self,
        shared: &Shared,
        file: &LogFile,
        capacity: u64,
        why: Errno,
    ) -> Result<(), Errno> {
        let size = self.family.file_units.load(Ordering::Relaxed);
        let units = match self.family.keep.load(Ordering::Relaxed) {
            0 => size.min(STEP),
            _ => size,
        };
        let grown = (capacity + units).min(MOST_UNITS);
        if grown == capacity {
            return Err(why);
        }
        shared.stay_in_file(why);
        // Before another thread claims what it has more.
        self.prune_parts(shared, |turn| if turn == file.turn() { grown } else { 0 });
        file.grow(capacity, grown);
        Ok(())
    }

    /// Gives up what is not kept since file `turn` is there, but for what threads still
    /// see: those leave before their next calls.
    pub(super) fn prune(&self, shared: &Shared, turn: u64) {
        let oldest = self.oldest_beside(turn);
        self.prune_files(shared, oldest.max(self.family.names.oldest_turn()));
        self.prune_parts(shared, |_| 0);
    }

    /// Gives up what will not be kept when file `turn` is there, but for the file before it:
    /// a thread that is kept from pruning once others write to that file would leave the log
    /// with a file too many.
    pub(super) fn prune_for(&self, shared: &Shared, turn: u64) {
        self.prune_files(shared, self.oldest_beside(turn).min(turn - 1));
    }

    /// The turn of the oldest file that is kept beside file `turn`.
    fn oldest_beside(&self, turn: u64) -> u64 {
        match self.family.keep.load(Ordering::Relaxed) as u64 {
            0 => 0,
            keep => (turn + 1).saturating_sub(keep),
        }
    }

    fn prune_files(&self, shared: &Shared, oldest: u64) {
        if oldest == 0 {
            return;
        }
        self.family.oldest.fetch_max(oldest, Ordering::SeqCst);
        // The thread that left the last of them has expelled their writers.
        let is_older = |file: &&LogFile| file.in_use().is_some() && file.turn() < oldest;
        let older = self.family.files.iter().filter(is_older).count();
        if older == 0 {
            return;
        }
        self.expel_pruned(shared);
        if older == 1 && self.mapped.ahead.has_helper() {
            // Its space comes back some milliseconds later, which this call need not wait for.
            self.mapped.ahead.ask_for_more();
        } else {
            self.empty_old_files(|| {});
        }
    }

    /// Gives back the space of files that the log no longer keeps. In pieces, between which
    /// something else may be done.
    pub(super) fn empty_old_files(&self, meanwhile: impl Fn()) {
        let oldest = self.family.oldest.load(Ordering::SeqCst);
        for (index, reached, file_use) in self.files_in_use() {
            let turn = reached.file.turn();
            if turn < oldest {
                let end = reached.file.claimed_bytes();
                for from in (0..end).step_by(PIECE) {
                    self.punch(&reached, turn, from, end.min(from + PIECE as u64));
                    meanwhile();
                }
                self.leave(index, file_use);
            }
        }
    }

    /// Prunes all parts of the log but the newest, once the file of a turn may have `least` units at the least.
    fn prune_parts(&self, shared: &Shared, least: impl Fn(u64) -> u64) {
        let mut keep = self.family.keep.load(Ordering::Relaxed) as u64;
        if keep == 0 {
            return;
        }
        let size = self.family.file_units.load(Ordering::Relaxed);
        let newest = self.family.turn();
        let oldest = self.family.oldest.load(Ordering::SeqCst);
        for turn in (oldest..=newest).rev() {
            let Some(reached) = self.file_of_turn(turn) else {
                // Of one part: it was synced, and has no slot any more.
                let Some(rest) = keep.checked_sub(1) else {
                    return self.family.names.remove_before(turn + 1);
                };
                keep = rest;
                continue;
            };
            let parts = reached.file.capacity().max(least(turn)).div_ceil(size);
            let kept = parts.min(keep);
            keep -= kept;
            let end = (parts - kept) * size;
            let Some(from) = reached.file.prune(turn, end) else {
                continue;
            };
            if kept == 0 && turn < newest && self.lacks_a_descriptor_for(&reached) {
                // It cannot be emptied; to remove it takes no descriptor.
                self.family.names.remove_before(turn + 1);
                return self.prune_files(shared, turn + 1);
            }
            self.expel_pruned(shared);
            let from = match from {
                0 => reached.file.front(),
                from => from * UNIT,
            };
            self.punch(&reached, turn, from, end * UNIT);
        }
    }

    /// Whether this process has no descriptor of a file, and may have none.
    fn lacks_a_descriptor_for(&self, file: &Reached) -> bool {
        let mut is_denied = false;
        let open = || {
            let opened = self.try_to_reopen(file.file);
            is_denied = opened.is_err_and(Errno::lacks_descriptors);
            opened.ok()
        };
        file.opened(open).is_none() && is_denied
    }

    /// Makes the threads of this process leave what the log gave up, and does it for
    /// those that ended, and for members that were killed.
    fn expel_pruned(&self, shared: &Shared) {
        self.expel(shared, |range| self.left_of(range).is_some());
        self.family.forget_the_dead(|range| self.clear(range));
    }

    /// Makes the threads of this process leave some ranges, and does it for those that ended.
    pub(super) fn expel(&self, shared: &Shared, of: impl Fn(Range) -> bool) {
        self.send_writers_away(shared, &of);
        self.leave_for_ended(shared, of);
    }

    /// Leaves some ranges for the threads of this process that ended.
    pub(super) fn leave_for_ended(&self, shared: &Shared, of: impl Fn(Range) -> bool) {
        for thread in shared.threads.iter() {
            let lasting = thread.lasting();
            // No call of that thread will come that could leave it.
            if thread.take() {
                if lasting.windows.ranges().any(&of) {
                    thread.place.store(0, Ordering::Relaxed);
                    self.mapped.unmap(&lasting.windows, |_| false);
                }
                thread.release();
            }
        }
    }

    /// Gives back a range that no process maps any more, if the log gave it up meanwhile.
    pub(super) fn clear(&self, range: Range) {
        if let Some(left) = self.left_to_clear(range)
            && let Some(file) = self.file_of_turn(range.turn)
        {
            let (start, end) = (range.offset + left, range.offset + range.len);
            file.punch(range.turn, start, end, || self.reopen(file.file));
        }
    }

    /// Gives back the parts of a range of the file of a turn that no process maps.
    fn punch(&self, file: &Reached, turn: u64, mut from: u64, end: u64) {
        if !self.may_clear(turn) {
            return;
        }
        while let Some((start, next)) = self.family.gap(turn, from, end) {
            file.punch(turn, start, next, || self.reopen(file.file));
            from = next;
        }
    }

    /// Whether what the log gave up of a file may be cleared: of one that it keeps, or that nothing but
    /// the log leads to. Another program may have moved a file aside, or linked it, to keep it.
    fn may_clear(&self, turn: u64) -> bool {
        let is_kept = turn >= self.family.oldest.load(Ordering::SeqCst);
        is_kept || (self.family.names).is_ours_alone(turn, self.family.turn())
    }

    /// How many bytes are to stay at the front of a range that the log gave up; `None` if all of it
    /// is.
    pub(super) fn left_to_clear(&self, range: Range) -> Option<u64> {
        self.left_of(range).filter(|_| self.may_clear(range.turn))
    }

    /// How many bytes stay at the front of a range that the log gave up; `None` if it
    /// keeps the range.
    pub(super) fn left_of(&self, range: Range) -> Option<u64> {
        if range.turn < self.family.oldest.load(Ordering::SeqCst) {
            return Some(0);
        }
        let file = self.file_of_turn(range.turn)?.file;
        (range.offset < file.pruned_bytes()).then(|| match range.offset {
            0 => file.front(),
            _ => 0,
        })
    }
}
