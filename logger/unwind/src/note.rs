//! ELF notes: a run of `namesz, descsz, type, name, desc` with both parts
//! padded to the segment's alignment. Pure: bytes in, slices out.

/// `NT_GNU_BUILD_ID`.
const GNU_BUILD_ID: u32 = 3;

/// The first GNU build ID among the notes in `bytes`; `alignment` is that of
/// the segment (8 pads to 8, everything else to 4, as the GNU tools do).
pub(crate) fn build_id(bytes: &[u8], alignment: u64) -> Option<&[u8]> {
    let alignment = if alignment == 8 { 8 } else { 4 };
    let mut at = 0usize;
    loop {
        let name_len = word(bytes, at)?;
        let desc_len = word(bytes, at.checked_add(4)?)?;
        let kind = word(bytes, at.checked_add(8)?)? as u32;
        let name_at = at.checked_add(12)?;
        let desc_at = name_at
            .checked_add(name_len)?
            .checked_next_multiple_of(alignment)?;
        let desc_end = desc_at.checked_add(desc_len)?;
        let name = bytes.get(name_at..name_at.checked_add(name_len)?)?;
        let desc = bytes.get(desc_at..desc_end)?;
        if kind == GNU_BUILD_ID && name == b"GNU\0" && !desc.is_empty() {
            return Some(desc);
        }
        at = desc_end.checked_next_multiple_of(alignment)?;
    }
}

fn word(bytes: &[u8], at: usize) -> Option<usize> {
    let word = bytes.get(at..at.checked_add(4)?)?;
    Some(u32::from_ne_bytes(word.try_into().ok()?) as usize)
}

#[cfg(all(test, target_endian = "little"))]
mod tests {
    use super::*;

    #[rustfmt::skip]
    const FOUR: &[u8] = &[
        4, 0, 0, 0,  16, 0, 0, 0,  1, 0, 0, 0,  b'G', b'N', b'U', 0, // NT_GNU_ABI_TAG
        0, 0, 0, 0,  3, 0, 0, 0,  2, 0, 0, 0,  0, 0, 0, 0,           // Linux 3.2.0
        4, 0, 0, 0,  5, 0, 0, 0,  3, 0, 0, 0,  b'G', b'N', b'U', 0, // NT_GNU_BUILD_ID
        1, 2, 3, 4, 5,
    ];

    #[rustfmt::skip]
    const EIGHT: &[u8] = &[
        6, 0, 0, 0,  4, 0, 0, 0,  3, 0, 0, 0,  b'O', b't', b'h', b'e', b'r', 0, // not GNU
        0, 0, 0, 0, 0, 0,                                          // 18 padded to 24
        9, 9, 9, 9,  0, 0, 0, 0,                                   // 28 padded to 32
        4, 0, 0, 0,  3, 0, 0, 0,  3, 0, 0, 0,  b'G', b'N', b'U', 0, // ends at 16: no padding
        0xAA, 0xBB, 0xCC,
    ];

    #[test]
    fn a_build_id_of_odd_length_is_found_after_another_note() {
        assert_eq!(build_id(FOUR, 4), Some(&[1u8, 2, 3, 4, 5][..]));
        assert_eq!(build_id(FOUR, 1), build_id(FOUR, 4));
    }

    #[test]
    fn notes_of_alignment_eight_are_padded_to_eight() {
        assert_eq!(build_id(EIGHT, 8), Some(&[0xAAu8, 0xBB, 0xCC][..]));
        assert_eq!(build_id(EIGHT, 4), None);
    }

    #[test]
    fn no_prefix_and_no_flipped_byte_makes_it_panic() {
        for (bytes, alignment) in [(FOUR, 4), (EIGHT, 8)] {
            for end in 0..bytes.len() {
                assert_eq!(build_id(&bytes[..end], alignment), None);
            }
            for at in 0..bytes.len() {
                let mut bytes = bytes.to_vec();
                for flip in [0x01, 0x80, 0xFF] {
                    bytes[at] ^= flip;
                    build_id(&bytes, alignment);
                    bytes[at] ^= flip;
                }
            }
        }
    }
}
