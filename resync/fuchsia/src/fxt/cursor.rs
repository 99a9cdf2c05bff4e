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
}

impl<'a> Cursor<'a> {
    /// Starts at byte `at` of `bytes`, which offsets in errors count from.
    pub(crate) fn new(bytes: &'a [u8], at: usize) -> Cursor<'a> {
        Cursor { bytes, at }
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
        let left = self.bytes.len() - self.at;
        if len > left as u64 || words_for(len as usize) * WORD > left {
            return Err(self.ends_inside(what));
        }
        let len = len as usize;
        let stream = &self.bytes[self.at..self.at + len];
        self.at += words_for(len) * WORD;
        Ok(stream)
    }

    /// The next `len` bytes as a cursor of their own, with offsets still counted
    /// from the start of the record.
    pub(crate) fn sub(&mut self, len: usize) -> Option<Cursor<'a>> {
        let end = self.at.checked_add(len)?;
        let sub = Cursor::new(self.bytes.get(..end)?, self.at);
        self.at = end;
        Some(sub)
    }

    /// The bytes from `from` up to here.
    pub(crate) fn since(&self, from: usize) -> &'a [u8] {
        &self.bytes[from..self.at]
    }

    /// Everything not read yet.
    pub(crate) fn rest(&self) -> &'a [u8] {
        &self.bytes[self.at..]
    }

    fn ends_inside(&self, what: &'static str) -> Malformed {
        Malformed {
            at: self.at,
            problem: Problem::EndsInside(what),
        }
    }
}
