//! Zeros that threads jumped across: blocks of a file that were lost, unless what was jumped over
//! stands elsewhere, or was given up. Knows gaps and holes, and no bytes.

use super::{Account, BLOCK, GapReport, Hole, NEAR};
use crate::read::gap::{Damage, GapKind};
use crate::recover::sequences::Intervals;

/// Stretches of records that turn up later, of one block.
const FOUND: usize = 256;

/// Zeros that a thread's sequence jumped across.
#[derive(Clone, Debug)]
pub(super) struct Block {
    gap: usize,
    hole: Hole,
    /// The last gap that may have taken part of the hole.
    last: usize,
    /// Counts of the hole that turned up after it.
    found: Intervals,
}

impl Account {
    /// A hole is the loss of some zeros, unless it turns out to be none. `false` where there is no
    /// room to learn that.
    pub(super) fn suspect_block(&mut self, gap: usize, hole: Hole, last: usize) -> bool {
        let has_room = self.room.memory.take(BLOCK);
        let found = Intervals::default();
        let block = Block {
            gap,
            hole,
            last,
            found,
        };
        self.blocks.extend(has_room.then_some(block));
        has_room
    }

    /// Zeros that a thread's sequence jumps across are no padding: a block of
    /// the file was lost.
    pub(super) fn lose_block(&mut self, hole: Hole, since: usize) {
        let is_padding = |gap: &GapReport| gap.gap.kind == GapKind::Padding;
        let between = &self.gaps[since..];
        // The zeros where this thread was last, else those before it came back.
        let first = between.iter().take(1).position(is_padding);
        let last = || {
            between
                .len()
                .checked_sub(1)
                .filter(|at| is_padding(&between[*at]))
        };
        match first.or_else(last) {
            Some(at) => {
                self.suspect_block(since + at, hole, since + at);
                let gap = &mut self.gaps[since + at];
                gap.gap.kind = GapKind::Damage(Damage::LostBlock);
                gap.lose(hole, &mut self.room);
                let len = gap.gap.len;
                self.padding.count -= 1;
                self.padding.bytes -= len;
                self.damage.add(len);
            }
            None if self.room.take_hole() => self.unexplained.push(hole),
            None => {}
        }
    }

    /// A thread's records from `first` to `last` stand after later ones of it.
    pub(crate) fn add_overtaken(&mut self, thread: usize, first: u64, last: u64) {
        for block in self.blocks.iter_mut().rev().take(NEAR) {
            let (from, to) = (first.max(block.hole.from), (last + 1).min(block.hole.to));
            let is_of_it = block.hole.thread == thread && from < to;
            if is_of_it && block.found.len() < FOUND && self.room.take_hole() {
                block.found.insert_range(from, to);
            }
        }
    }

    /// Zeros that threads jumped across are no damage if the writer gave up what stood there.
    /// The holes in threads' counts that this explains, each identified by the time of the
    /// record after the zeros.
    pub(crate) fn take_pruned(
        &mut self,
        is_pruned: impl Fn(&Hole, Option<u64>) -> bool,
    ) -> Vec<Hole> {
        let mut holes = Vec::new();
        for block in std::mem::take(&mut self.blocks) {
            let gap = &mut self.gaps[block.gap];
            let time = gap.times.1;
            gap.losses.retain(|hole| {
                let is_pruned = is_pruned(hole, time);
                holes.extend(is_pruned.then_some(*hole));
                !is_pruned
            });
            if gap.losses.is_empty() && !gap.shared {
                self.be_padding(block.gap);
            } else if !is_pruned(&block.hole, time) {
                self.blocks.push(block);
            }
        }
        holes
    }

    /// What seemed to be a lost block is padding.
    fn be_padding(&mut self, index: usize) {
        let gap = &mut self.gaps[index];
        gap.losses.clear();
        if gap.gap.kind == GapKind::Damage(Damage::LostBlock) {
            gap.gap.kind = GapKind::Padding;
            let len = gap.gap.len;
            self.damage.count -= 1;
            self.damage.bytes -= len;
            self.padding.add(len);
        }
    }

    /// Zeros that threads only jumped across because their chunks do not stand in the order of
    /// their records, in this input or in another, are the ends of chunks.
    pub(crate) fn settle_blocks(&mut self, mut stands_elsewhere: impl FnMut(&Hole) -> bool) {
        let mut blocks = std::mem::take(&mut self.blocks);
        blocks.retain_mut(|block| {
            let is_there = block.found.missing(block.hole.from, block.hole.to) == 0
                || stands_elsewhere(&block.hole);
            if !is_there {
                self.share(block.gap, block.last);
            }
            is_there
        });
        for Block { gap, hole, .. } in blocks {
            self.gaps[gap].losses.retain(|lost| *lost != hole);
            if self.gaps[gap].losses.is_empty() && !self.gaps[gap].shared {
                self.be_padding(gap);
            }
        }
    }
}
