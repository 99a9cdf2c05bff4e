//! Frames with no damage between them: which of them touch damage on neither side, so that no frame
//! around them can have been broken there, and which are to be marked. Knows no other block.

use logdef_wire::{Run, frame};
use std::collections::HashMap;

/// Runs remembered of one block; more are taken as vouched for.
pub(super) const BLOCK_RUNS: usize = 1 << 14;
/// Bytes beside a damage whose frames are marked if another damage is near, or some of
/// them do not continue their threads: those of a frame with a length of two bytes.
pub(super) const MARKED: u64 = 1 << 16;

/// Frames with no damage between them.
#[derive(Debug, Default)]
pub(super) struct Block {
    pub before: Edge,
    pub claim: u64,
    pub frames: Option<(u64, u64)>,
    /// The first and the last frames in a row that name the same run.
    pub first: Option<Row>,
    pub last: Option<Row>,
    pub runs: HashMap<Run, (u64, u64)>,
    pub has_more_runs: bool,
    pub has_nameless: bool,
    /// Where the first chunk begins that stands where chunks do.
    pub chunk: Option<u64>,
    /// The first and the last records that do not continue their threads.
    pub misfits: Option<(u64, u64)>,
}

/// What stands on a side of a block.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(super) enum Edge {
    /// The end of the input.
    #[default]
    Clean,
    /// A frame that was cut off, whose header says how far it would have reached.
    Torn,
    Damage,
}

/// Frames of one run, or of none, without another between them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Row {
    pub run: Option<Run>,
    pub start: u64,
    pub end: u64,
}

impl Block {
    #[cold]
    pub fn begin_row(&mut self, row: Row) {
        self.end_row();
        self.first.get_or_insert(row);
        self.last = Some(row);
    }

    /// Takes the last row in.
    pub fn end_row(&mut self) {
        let Some(row) = self.last else {
            return;
        };
        let start = self.frames.map_or(row.start, |(start, _)| start);
        self.frames = Some((start, row.end));
        if self.first.is_some_and(|first| first.start == row.start) {
            self.first = Some(row);
        }
        let Some(run) = row.run else {
            self.has_nameless = true;
            return;
        };
        // The last frame of the row starts somewhere before its end.
        let last = row.end - 1;
        if let Some(span) = self.runs.get_mut(&run) {
            span.1 = last;
        } else if self.runs.len() < BLOCK_RUNS {
            self.runs.insert(run, (row.start, last));
        } else {
            self.has_more_runs = true;
        }
    }

    /// The offsets between which frames touch no damage that could have laid them bare.
    pub fn sound(&self, after: Edge) -> Option<(u64, u64)> {
        let (start, end) = self.frames?;
        let is_cut_before = self.before != Edge::Clean;
        let is_cut_after = after == Edge::Damage;
        let from = if is_cut_before {
            start + frame::MAX_FRAME
        } else {
            start
        };
        let to = if is_cut_after {
            end.saturating_sub(frame::MAX_FRAME)
        } else {
            end - 1
        };
        if from <= to {
            return Some((from, to));
        }
        match (self.before, is_cut_after) {
            // Two quotations, of two frames, that meet: of those nothing is known.
            (Edge::Torn | Edge::Damage, true) => {
                let is_long = end - start > frame::MAX_FRAME;
                let is_one_run = self.first.map(|row| row.end) == Some(end);
                let inner = if is_one_run {
                    (start, end - 1)
                } else {
                    (to, from.min(end - 1))
                };
                is_long.then_some(inner)
            }
            // A quotation reaches to the damage.
            (Edge::Clean, _) => {
                let first = self.first.filter(|row| row.run.is_some())?;
                Some((start, first.end - 1))
            }
            (Edge::Torn, false) => {
                let last = self.last.filter(|row| row.run.is_some())?;
                let from = last.start.max(self.claim);
                (from < end).then_some((from, end - 1))
            }
            (Edge::Damage, false) => None,
        }
    }

    /// The offsets between which frames that are vouched for are not marked.
    pub fn unmarked(&self, after: Edge, tainted: u64) -> (u64, u64) {
        let (start, end) = self.frames.unwrap_or_default();
        let mut from = start.max(self.claim);
        let mut to = end;
        if self.before != Edge::Clean {
            from = from.max(tainted);
        }
        let is_between = self.before == Edge::Damage && after == Edge::Damage;
        let is_inside = is_between && end - start <= frame::MAX_FRAME;
        let is_odd_at = |near: &dyn Fn(u64) -> bool| {
            let misfits = self.misfits.into_iter();
            misfits.flat_map(|(first, last)| [first, last]).any(near)
        };
        let at_start = |offset: u64| offset < start + MARKED;
        let at_end = |offset: u64| offset + MARKED >= end;
        if self.before == Edge::Damage && (is_inside || is_odd_at(&at_start)) {
            from = from.max(start + MARKED);
        }
        if after == Edge::Damage && (is_inside || is_odd_at(&at_end)) {
            to = end.saturating_sub(MARKED);
        }
        // What belongs to a chunk whose front is whole is no part of a frame before it.
        match self.chunk {
            Some(chunk) => (from.min(chunk), end),
            None => (from, to),
        }
    }
}
