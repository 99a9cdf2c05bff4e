//! Gaps: ranges of a trace that hold no readable record, and why. Finding one is
//! never an error; the reader continues after it.

use core::fmt;

use super::error::Malformed;

/// A range of bytes that is not a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gap {
    /// Where it begins in the input, in bytes.
    pub offset: u64,
    /// Its length in bytes.
    pub len: u64,
    /// Why these bytes are no record.
    pub reason: GapReason,
}

/// Why a range of bytes is not a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GapReason {
    /// A record cannot have a size of zero.
    ZeroSize,
    /// A record of this many words would reach beyond the end, while other records
    /// follow before.
    BeyondEnd {
        /// The size that the header claims, in words of 8 bytes.
        words: u64,
    },
    /// A record that contradicts itself.
    Malformed(Malformed),
    /// The header claims a size that swallows the records after this one.
    Swallows {
        /// The size that the header claims, in words.
        words: u64,
        /// The size of the record's parts, in words.
        parts: u64,
    },
    /// A record of unknown type, whose claimed size leads to nothing while records
    /// follow before.
    LeadsNowhere {
        /// The size that the header claims, in words of 8 bytes.
        words: u64,
    },
    /// A record larger than the reader's limit on memory.
    TooLarge {
        /// Its size in words of 8 bytes.
        words: u64,
    },
    /// The input ends inside a record.
    Truncated {
        /// Bytes that the record lacks.
        missing: u64,
    },
    /// The trace was written on a big-endian machine. Reading ends here.
    BigEndian,
}

impl fmt::Display for Gap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Gap {
            offset,
            len,
            reason,
        } = self;
        write!(f, "{len} bytes at {offset} skipped: {reason}")
    }
}

impl fmt::Display for GapReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            GapReason::ZeroSize => write!(f, "record size is zero"),
            GapReason::BeyondEnd { words } => {
                write!(f, "record of {words} words reaches beyond the end")
            }
            GapReason::Malformed(malformed) => malformed.fmt(f),
            GapReason::Swallows { words, parts } => write!(
                f,
                "record of {parts} words claims {words} and so the records after it"
            ),
            GapReason::LeadsNowhere { words } => {
                write!(
                    f,
                    "no record follows a record of unknown type and {words} words"
                )
            }
            GapReason::TooLarge { words } => {
                write!(
                    f,
                    "record of {words} words is more than may be held in memory"
                )
            }
            GapReason::Truncated { missing } => {
                write!(f, "the input ends {missing} bytes before the record does")
            }
            GapReason::BigEndian => write!(
                f,
                "the trace is big-endian; only little-endian traces can be read"
            ),
        }
    }
}
