//! Pieces of a log that are read side by side. A frame belongs to the piece in which its first byte
//! stands; the piece is read on after its end for the rest of its last frame.

use logdef_resync::Piece;
use serde::{Deserialize, Serialize};

/// A piece of a log. It begins where a frame begins.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Split {
    /// Which of the logs.
    pub input: u32,
    /// The first byte of its first frame.
    pub from: u64,
    /// Frames from here on are in other pieces.
    pub to: u64,
    /// Records in it.
    pub records: u64,
    /// Times that all of them are within, in nanoseconds since the epoch.
    pub times: Option<(i64, i64)>,
}

impl Split {
    /// A piece that a recovery found.
    pub(super) fn of(piece: &Piece) -> Split {
        let time = |time: u64| i64::try_from(time).unwrap_or(i64::MAX);
        let (first, last) = piece.times;
        Split {
            input: piece.input,
            from: piece.from,
            to: piece.to,
            records: piece.records,
            times: (piece.records > 0).then(|| (time(first), time(last))),
        }
    }

    /// Bytes in it.
    pub fn bytes(&self) -> u64 {
        self.to - self.from
    }
}

/// Deals pieces out to at most `most` readers, in their order, so that each has about as many bytes.
pub(super) fn deal(splits: &[Split], most: usize) -> Vec<Vec<Split>> {
    let total: u64 = splits.iter().map(Split::bytes).sum();
    let share = total.div_ceil(most.max(1) as u64).max(1);
    let mut dealt: Vec<Vec<Split>> = Vec::new();
    let mut done = 0;
    for split in splits {
        if dealt.is_empty() || done >= share * dealt.len() as u64 {
            dealt.push(Vec::new());
        }
        done += split.bytes();
        dealt.last_mut().expect("begun above").push(*split);
    }
    if dealt.is_empty() {
        dealt.push(Vec::new());
    }
    dealt
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_piece_is_dealt_once() {
        let split = |index: u64| Split {
            input: 0,
            from: index * 10,
            to: index * 10 + 10,
            records: 1,
            times: None,
        };
        for len in 0..20 {
            let splits: Vec<_> = (0..len).map(split).collect();
            for most in 1..25 {
                let dealt = deal(&splits, most);
                assert!(!dealt.is_empty() && dealt.len() <= most);
                assert_eq!(dealt.concat(), splits);
            }
        }
    }
}
