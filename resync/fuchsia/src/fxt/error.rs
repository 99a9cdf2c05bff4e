//! What can be wrong with a record: [`Malformed`] when reading (always inside one
//! record, with the byte offset in it), [`WriteError`] when writing. Damage between
//! records is not an error but a gap: see `scan`.

use core::fmt;

/// Why the bytes of one record do not form a record of its type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Malformed {
    /// Byte offset inside the record where it stopped making sense.
    pub at: usize,
    /// What is wrong there.
    pub problem: Problem,
}

/// The ways a record can be malformed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Problem {
    /// The record (or the argument) ends inside the named part.
    EndsInside(&'static str),
    /// An argument says it has this many words: none, or more than its record holds.
    ArgumentSize(u16),
    /// A magic number record holds another number, or more than its header.
    NotMagic,
    /// The slice given is not of the size that the header claims, in words.
    Size {
        /// Words that the header claims.
        claimed: u64,
        /// Words in the slice.
        given: usize,
    },
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.problem {
            Problem::EndsInside(what) => write!(f, "record ends inside its {what}"),
            Problem::ArgumentSize(0) => write!(f, "argument size is zero"),
            Problem::ArgumentSize(words) => {
                write!(f, "argument of {words} words does not fit its record")
            }
            Problem::NotMagic => write!(f, "magic number record without the magic number"),
            Problem::Size { claimed, given } => {
                write!(f, "record of {claimed} words in a slice of {given}")
            }
        }?;
        write!(f, " (at byte {} of the record)", self.at)
    }
}

impl core::error::Error for Malformed {}

/// Why something cannot be written. Nothing of the record has been written then.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteError {
    /// `what` is `value`, and the format has room for `limit` at most.
    TooLarge {
        /// The field or part.
        what: &'static str,
        /// What was asked for.
        value: u64,
        /// The largest that can be encoded.
        limit: u64,
    },
    /// `what` must not be zero.
    Zero {
        /// The name of the field.
        what: &'static str,
    },
    /// The record is well formed but the format forbids it here.
    Forbidden {
        /// What was asked for, as a sentence.
        what: &'static str,
    },
    /// The caller's buffer has no room for the record.
    BufferFull,
}

impl WriteError {
    /// `value`, if it is at most `limit`.
    pub(crate) fn check(what: &'static str, value: usize, limit: u64) -> Result<u64, WriteError> {
        let value = value as u64;
        if value > limit {
            return Err(WriteError::TooLarge { what, value, limit });
        }
        Ok(value)
    }
}

impl fmt::Display for WriteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            WriteError::TooLarge { what, value, limit } => {
                write!(f, "{what} is {value}, the limit is {limit}")
            }
            WriteError::Zero { what } => write!(f, "{what} is zero"),
            WriteError::Forbidden { what } => f.write_str(what),
            WriteError::BufferFull => write!(f, "no room in the buffer"),
        }
    }
}

impl core::error::Error for WriteError {}
