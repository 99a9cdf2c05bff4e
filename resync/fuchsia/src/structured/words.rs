//! Little-endian 8-byte words and string references: the two primitives under every field.

use super::error::Rule;
use super::{MAX_TEXT_BYTES, Profile};

/// Bytes in a word.
pub(super) const WORD: usize = 8;

/// The top bit of a string reference: the text follows in line.
const INLINE: u16 = 0x8000;

/// The word at byte `offset`, if all of it is there.
pub(super) fn word_at(bytes: &[u8], offset: usize) -> Option<u64> {
    let word = bytes.get(offset..)?.first_chunk()?;
    Some(u64::from_le_bytes(*word))
}

/// `length` rounded up to whole words, in bytes.
pub(super) const fn padded(length: usize) -> usize {
    length.div_ceil(WORD) * WORD
}

/// The length in bytes that a string reference announces.
pub(super) fn referenced_length(reference: u16, profile: Profile) -> Result<usize, Rule> {
    match (reference, profile) {
        (0, _) => Ok(0),
        (INLINE, Profile::Strict) => Err(Rule::InlineEmptyText),
        (1..INLINE, _) => Err(Rule::ReservedStringReference(reference)),
        (INLINE.., _) => Ok(usize::from(reference & !INLINE)),
    }
}

/// The reference that announces `length` bytes of text, or nothing if no reference can.
pub(super) fn reference_to(length: usize) -> Option<u16> {
    match length {
        0 => Some(0),
        1..=MAX_TEXT_BYTES => Some(INLINE | length as u16),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reference_is_zero_or_a_flagged_length() {
        assert_eq!(reference_to(0), Some(0));
        assert_eq!(reference_to(1), Some(0x8001));
        assert_eq!(reference_to(32_767), Some(0xffff));
        assert_eq!(reference_to(32_768), None);
    }

    #[test]
    fn references_without_the_flag_are_reserved() {
        for profile in [Profile::Strict, Profile::Lenient] {
            assert_eq!(referenced_length(0, profile), Ok(0));
            assert_eq!(referenced_length(0xffff, profile), Ok(32_767));
            for reserved in [1, 0x4000, 0x7fff] {
                assert_eq!(
                    referenced_length(reserved, profile),
                    Err(Rule::ReservedStringReference(reserved))
                );
            }
        }
    }

    #[test]
    fn padding_reaches_the_next_word() {
        assert_eq!([0, 1, 7, 8, 9].map(padded), [0, 8, 8, 8, 16]);
    }
}
