//! String references: 16 bits in a record that stand for a string. Empty, an index
//! into the provider's string table, or the length of a string spelled out further
//! on in the same record.

use core::num::NonZeroU16;

use super::buffer::{Buffer, Words};
use super::cursor::Cursor;
use super::error::{Malformed, WriteError};

/// Set in a reference whose string is spelled out.
const INLINE: u64 = 0x8000;

/// The words that the string with this reference takes in its record.
#[inline]
pub(crate) fn inline_words(reference: u64) -> u64 {
    match reference & INLINE {
        0 => 0,
        _ => (reference & !INLINE).div_ceil(8),
    }
}

/// The longest string that a record can spell out, in bytes. What fits beside the
/// rest of the record is less; the format advises [`ADVISED_STRING_LEN`].
pub const MAX_STRING_LEN: usize = 0x7fff;

/// The longest string that the format advises writers to use, in bytes.
pub const ADVISED_STRING_LEN: usize = 32_000;

/// An index into a string table: 1 to 32,767.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StringIndex(NonZeroU16);

impl StringIndex {
    /// The largest index, 32,767.
    pub const MAX: u16 = 0x7fff;

    /// `index`, if it is one.
    pub const fn new(index: u16) -> Option<StringIndex> {
        match NonZeroU16::new(index) {
            Some(index) if index.get() <= StringIndex::MAX => Some(StringIndex(index)),
            _ => None,
        }
    }

    /// The number, 1 to 32,767.
    pub const fn get(self) -> u16 {
        self.0.get()
    }
}

/// A string as a record refers to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum StringRef<'a> {
    /// The empty string, which needs no entry of the table.
    Empty,
    /// An entry of the string table, as registered by an earlier string record.
    Index(StringIndex),
    /// Spelled out in the record. UTF-8 by the format, but readers must cope with any
    /// bytes; an empty one is legal and says the same as [`StringRef::Empty`].
    Inline(&'a [u8]),
}

impl<'a> StringRef<'a> {
    /// Reads the reference in the low 16 bits of `bits`, taking a string that is
    /// spelled out from `cursor`.
    #[inline]
    pub(crate) fn read(
        bits: u64,
        cursor: &mut Cursor<'a>,
        what: &'static str,
    ) -> Result<StringRef<'a>, Malformed> {
        if bits & INLINE != 0 {
            return Ok(StringRef::Inline(cursor.stream(bits & !INLINE, what)?));
        }
        Ok(match StringIndex::new(bits as u16) {
            Some(index) => StringRef::Index(index),
            None => StringRef::Empty,
        })
    }

    /// The 16 bits that stand for this string.
    pub(crate) fn bits(&self, what: &'static str) -> Result<u64, WriteError> {
        Ok(match self {
            StringRef::Empty => 0,
            StringRef::Index(index) => u64::from(index.get()),
            StringRef::Inline(text) => {
                INLINE | WriteError::check(what, text.len(), MAX_STRING_LEN as u64)?
            }
        })
    }

    /// Writes the stream of a string that is spelled out, nothing for others.
    pub(crate) fn write(&self, words: &mut Words<'_, impl Buffer>) -> Result<(), WriteError> {
        match self {
            StringRef::Inline(text) => words.stream(text),
            _ => Ok(()),
        }
    }
}

impl<'a> From<&'a str> for StringRef<'a> {
    /// The reference that spells `text` out.
    fn from(text: &'a str) -> StringRef<'a> {
        if text.is_empty() {
            StringRef::Empty
        } else {
            StringRef::Inline(text.as_bytes())
        }
    }
}
