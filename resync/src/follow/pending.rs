//! Ranges of a file that may yet become frames: to come back to.

use std::collections::BTreeMap;

/// Places to come back to; when there are more, the oldest are given up, as the
/// unused ends of chunks are.
const MOST: usize = 1 << 16;

/// A range, up to its end.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pending {
    pub(super) end: u64,
    /// How often it was looked at without success while it was not zeros.
    pub(super) looks: u32,
    /// Whether it is the rest of one chunk, which is filled from its start.
    pub(super) is_rest: bool,
}

/// The ranges, by where they begin.
#[derive(Debug, Default)]
pub(super) struct PendingRanges(BTreeMap<u64, Pending>);

impl PendingRanges {
    /// Whether an offset is in one of them.
    pub(super) fn contain(&self, offset: u64) -> bool {
        let before = self.0.range(..=offset).next_back();
        before.is_some_and(|(_, pending)| offset < pending.end)
    }

    /// Takes all, to be looked at.
    pub(super) fn take(&mut self) -> impl Iterator<Item = (u64, Pending)> + use<> {
        std::mem::take(&mut self.0).into_iter()
    }

    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    /// Forgets those that begin at an offset or after it.
    pub(super) fn forget_from(&mut self, offset: u64) {
        self.0.split_off(&offset);
    }

    /// Gives the oldest up where there are too many.
    pub(super) fn give_up_excess(&mut self) {
        while self.0.len() > MOST {
            self.0.pop_first();
        }
    }

    /// Zeros may reach across the end of a chunk, and each chunk is filled from its start.
    pub(super) fn add_zeros(&mut self, start: u64, end: u64, chunk_end: u64) {
        let seam = chunk_end.clamp(start, end);
        let rest = Pending {
            end: seam,
            looks: 0,
            is_rest: true,
        };
        self.add(start, rest);
        self.add_frames(seam, end, 0);
    }

    pub(super) fn add_frames(&mut self, start: u64, end: u64, looks: u32) {
        let pending = Pending {
            end,
            looks,
            is_rest: false,
        };
        self.add(start, pending);
    }

    pub(super) fn add(&mut self, start: u64, pending: Pending) {
        if start < pending.end {
            self.0.insert(start, pending);
        }
    }
}
