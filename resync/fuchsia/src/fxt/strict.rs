//! The strict check of one record: bits and padding bytes that the format reserves
//! and that are not zero. Found by writing the decoded record again, which makes them
//! zero and keeps everything else, and comparing.

use core::fmt;

use super::cursor::{WORD, word_at};
use super::reader::Located;
use super::record::Decoded;

/// A word with reserved bits or padding that should be zero and is not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotZero {
    /// Where the word stands in the input, in bytes.
    pub offset: u64,
    /// The bits of the (little-endian) word that should be zero and are not.
    pub bits: u64,
}

impl fmt::Display for NotZero {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "word at {}: reserved bits or padding not zero:",
            self.offset
        )?;
        let mut left = self.bits;
        while left != 0 {
            let first = left.trailing_zeros();
            let count = (left >> first).trailing_ones();
            match count {
                1 => write!(f, " [{first}]")?,
                _ => write!(f, " [{first} .. {}]", first + count - 1)?,
            }
            // In two steps, as a shift by 64 overflows.
            left &= (u64::MAX << first) << (count - 1) << 1;
        }
        Ok(())
    }
}

/// Finds what should be zero; keeps a buffer between records.
#[derive(Clone, Debug, Default)]
pub struct Strict {
    written: Vec<u8>,
}

impl Strict {
    /// The words of `found` that have bits set which should be zero.
    pub fn check(&mut self, found: &Located<'_>) -> impl Iterator<Item = NotZero> {
        self.written.clear();
        let decoded = Decoded {
            record: found.record,
            extra: found.extra,
        };
        // What has been decoded can be encoded. Were it not so, all bits would show.
        let _ = decoded.encode(&mut self.written);
        let written = &self.written;
        let words = found.bytes.len() / WORD;
        // Almost always nothing is found: compare all at once first.
        let words = if found.bytes == written { 0 } else { words };
        (0..words).filter_map(move |index| {
            let at = index * WORD;
            let bits = word_at(found.bytes, at)? ^ word_at(written, at).unwrap_or(0);
            (bits != 0).then_some(NotZero {
                offset: found.offset + at as u64,
                bits,
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_of_bits_are_named_as_the_format_names_them() {
        let text = |bits| NotZero { offset: 8, bits }.to_string();
        assert!(text(1).ends_with("zero: [0]"));
        assert!(text(0xf0_8000_0000).ends_with("zero: [31] [36 .. 39]"));
        assert!(text(u64::MAX).ends_with("zero: [0 .. 63]"));
        assert!(text(1 << 63 | 1).ends_with("zero: [0] [63]"));
    }
}
