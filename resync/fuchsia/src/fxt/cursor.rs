//! Reading words and streams inside one record. A [`Cursor`] cannot leave the slice
//! it was given, so no length found in a record can reach beyond the record.

use super::error::{Malformed, Problem};

/// Bytes in a word.
pub(crate) const WORD: usize = 8;

/// Words that `len` bytes take, padding included.
pub(crate) const fn words_for(len: usize) -> usize {
    len.div_ceil(WORD)
}

/// The little-endian word at byte `at`, if the bytes reach that far.
pub(crate) fn word_at(bytes: &[u8], at: usize) -> Option<u64> {
    let word = bytes.get(at..at.checked_add(WORD)?)?;
    Some(u64::from_le_bytes(word.try_into().ok()?))
}

/// A position in a record (or in one argument of it).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
    /// Streams may lie beyond the bytes: they are passed over and read as empty.
    measuring: bool,
}

impl<'a> Cursor<'a> {
    /// Starts at byte `at` of `bytes`, which offsets in errors count from.
    pub(crate) fn new(bytes: &'a [u8], at: usize) -> Cursor<'a> {
        Cursor {
            bytes,
            at,
            measuring: false,
        }
    }

    /// A cursor that finds out where the record would end if there were enough bytes,
    /// as long as the words that give its lengths are there.
    pub(crate) fn measuring(bytes: &'a [u8], at: usize) -> Cursor<'a> {
        Cursor {
            bytes,
            at,
            measuring: true,
        }
    }

    /// Bytes read so far, the header included.
    pub(crate) fn at(&self) -> usize {
        self.at
    }

    /// The next word. `what` names it in the error.
    #[inline]
    pub(crate) fn word(&mut self, what: &'static str) -> Result<u64, Malformed> {
        let word = word_at(self.bytes, self.at).ok_or_else(|| self.ends_inside(what))?;
        self.at += WORD;
        Ok(word)
    }

    /// The next `len` bytes; their padding is passed over, and may hold anything.
    #[inline]
    pub(crate) fn stream(&mut self, len: u64, what: &'static str) -> Result<&'a [u8], Malformed> {
        // Empty if measuring has gone beyond the bytes.
        let rest = self.rest();
        // In 64 bits, where neither the padding nor the sum can overflow.
        let padded = len.div_ceil(WORD as u64).saturating_mul(WORD as u64);
        if padded > rest.len() as u64 {
            if !self.measuring {
                return Err(self.ends_inside(what));
            }
            let beyond = usize::try_from(padded).ok();
            self.at = beyond
                .and_then(|padded| self.at.checked_add(padded))
                .ok_or_else(|| self.ends_inside(what))?;
            return Ok(&[]);
        }
        self.at += padded as usize;
        Ok(&rest[..len as usize])
    }

    /// Passes over the next `len` bytes, if they are there.
    #[inline]
    pub(crate) fn skip(&mut self, len: usize) -> bool {
        let there = len <= self.rest().len();
        if there {
            self.at += len;
        }
        there
    }

    /// The next `len` bytes as a cursor of their own, with offsets still counted
    /// from the start of the record.
    pub(crate) fn sub(&mut self, len: usize) -> Option<Cursor<'a>> {
        let end = self.at.checked_add(len)?;
        let bytes = match self.bytes.get(..end) {
            Some(bytes) => bytes,
            None if self.measuring => self.bytes,
            None => return None,
        };
        let sub = Cursor { bytes, ..*self };
        self.at = end;
        Some(sub)
    }

    /// The bytes from `from` up to here.
    pub(crate) fn since(&self, from: usize) -> &'a [u8] {
        self.bytes.get(from..self.at).unwrap_or_default()
    }

    /// Everything not read yet.
    pub(crate) fn rest(&self) -> &'a [u8] {
        self.bytes.get(self.at..).unwrap_or_default()
    }

    fn ends_inside(&self, what: &'static str) -> Malformed {
        Malformed {
            at: self.at,
            problem: Problem::EndsInside(what),
        }
    }
}
