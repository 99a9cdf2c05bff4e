//! Inputs in pieces, for who reads them side by side: where each begins and ends, and what is in it. Knows
//! where frames stand, and nothing of what they hold.

use crate::recover::walk::Share;

/// The frames of an input that begin between two multiples of the size that was asked for.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Piece {
    /// Which of the inputs.
    pub input: u32,
    /// Where its first frame begins.
    pub from: u64,
    /// Where its last frame ends.
    pub to: u64,
    /// Data records in it, suspect and repeated ones too.
    pub records: u64,
    /// Times that all of them are within, in nanoseconds since the epoch, where no time counts as 0.
    pub times: (u64, u64),
}

impl Piece {
    fn add(&mut self, share: &Share) {
        self.to = share.to;
        if share.records == 0 {
            return;
        }
        let (first, last) = share.times;
        self.times = match self.records {
            0 => share.times,
            _ => (self.times.0.min(first), self.times.1.max(last)),
        };
        self.records += share.records;
    }
}

/// Pieces in the making, from the frames in their order.
#[derive(Debug)]
pub(super) struct Pieces {
    size: u64,
    done: Vec<Piece>,
}

impl Pieces {
    pub(super) fn new(size: u64) -> Pieces {
        Pieces {
            size,
            done: Vec::new(),
        }
    }

    /// Takes frames in that begin in one piece.
    pub(super) fn add(&mut self, input: u32, share: &Share) {
        if share.from == share.to {
            return;
        }
        let is_in = |piece: &Piece| {
            piece.input == input && piece.from / self.size == share.from / self.size
        };
        match self.done.last_mut().filter(|piece| is_in(piece)) {
            Some(piece) => piece.add(share),
            None => self.done.push(Piece {
                input,
                from: share.from,
                to: share.to,
                records: share.records,
                times: share.times,
            }),
        }
    }

    pub(super) fn finish(self) -> Vec<Piece> {
        self.done
    }
}
