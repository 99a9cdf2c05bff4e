//! The header pattern, with which every frame starts, and how a body is kept free
//! of it: what a program logs must never read as a frame. Stands below frames and
//! records, which both need it; knows neither.

use crate::msgpack::{Encoder, OutOfRoom};

/// Bytes of the header of a frame whose body takes at most [`MAX_SHORT_BODY`].
pub const HEADER_LEN: usize = 10;
/// The longest body whose length fits the short header.
pub const MAX_SHORT_BODY: usize = 0xffff;
/// Bytes from the first `c1` to the head of the raw, inclusive: what a search
/// must see to know a candidate.
pub const PATTERN_LEN: usize = 8;

/// The tag of the record that holds a masked body.
pub(crate) const MASKED: u8 = 126;

/// Bytes that masking adds to a body: tag, map head, mask, head of the raw.
pub const OVERHEAD: usize = 1 + 1 + 1 + 9 + 1 + 5;

/// Whether `bytes` start with the frame header pattern
/// `C1 CE . . . . C1 {A0..BF|DA|DB}`.
#[inline]
pub fn starts_with_pattern(bytes: &[u8]) -> bool {
    match bytes.first_chunk::<PATTERN_LEN>() {
        Some([0xc1, 0xce, _, _, _, _, 0xc1, raw]) => matches!(raw, 0xa0..=0xbf | 0xda | 0xdb),
        _ => false,
    }
}

/// Whether the header pattern may begin in a part of a body, whatever stands after it there.
pub fn may_begin_in(part: &[u8]) -> bool {
    let begins = |pair: &[u8]| pair == [0xc1, 0xce];
    part.last() == Some(&0xc1) || part.windows(2).any(begins)
}

/// Whether a body may stand in a frame as it is: the header pattern starts
/// nowhere in it, nor in the length that stands before it.
pub fn is_clean(body: &[u8]) -> bool {
    let [l0, l1, l2, l3] = (body.len() as u32).to_be_bytes();
    // A pattern that begins in the length needs its last seven bytes to be
    // looked at together with it.
    let mut seam = [0; 11];
    let head = if body.len() <= MAX_SHORT_BODY {
        seam[2..4].copy_from_slice(&[l2, l3]);
        2
    } else {
        seam[..4].copy_from_slice(&[l0, l1, l2, l3]);
        0
    };
    let tail = body.len().min(7);
    seam[4..4 + tail].copy_from_slice(&body[..tail]);
    (head..4).all(|at| !starts_with_pattern(&seam[at..4 + tail])) && !contains_pattern(body)
}

/// Looks at eight bytes at once for the one that a pattern starts with: a time can
/// hold it in all records of many minutes.
fn contains_pattern(body: &[u8]) -> bool {
    const LOW: u64 = u64::MAX / 0xff;
    const HIGH: u64 = LOW << 7;
    let starts_at = |at: usize| starts_with_pattern(&body[at..]);
    let (words, rest) = body.as_chunks::<8>();
    for (index, word) in words.iter().enumerate() {
        // Zero where the byte is. The lowest of them borrows first, so that none
        // is missed; what comes of the borrow above it is looked at in vain.
        let differs = u64::from_le_bytes(*word) ^ (LOW * 0xc1);
        let mut found = differs.wrapping_sub(LOW) & !differs & HIGH;
        while found != 0 {
            if starts_at(8 * index + found.trailing_zeros() as usize / 8) {
                return true;
            }
            found &= found - 1;
        }
    }
    (body.len() - rest.len()..body.len()).any(starts_at)
}

/// Replaces the body in the front of `buffer` by a masked record that holds it
/// and is clean, and returns the new length.
pub fn mask_in_place(buffer: &mut [u8], body_len: usize) -> Result<usize, OutOfRoom> {
    let (head, head_len) = head(0, body_len)?;
    let len = head_len + body_len;
    let buffer = buffer.get_mut(..len).ok_or(OutOfRoom)?;
    buffer.copy_within(..body_len, head_len);
    buffer[..head_len].copy_from_slice(&head[..head_len]);
    // Any mask fails only where the masked bytes happen to hold a pattern of
    // five given bytes: the second try is as good as never needed, and a body
    // for which all fail does not exist at our lengths.
    let mut worn = 0;
    for attempt in 1..=64u64 {
        let mask = attempt.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        apply(&mut buffer[head_len..], worn ^ mask);
        worn = mask;
        let (head, _) = self::head(mask, body_len)?;
        buffer[..head_len].copy_from_slice(&head[..head_len]);
        if is_clean(buffer) {
            return Ok(len);
        }
    }
    Err(OutOfRoom)
}

/// The bytes of a masked record before the masked body itself.
fn head(mask: u64, body_len: usize) -> Result<([u8; OVERHEAD], usize), OutOfRoom> {
    let mut head = [0; OVERHEAD];
    let mut encoder = Encoder::new(&mut head);
    encoder.uint(MASKED as u64)?;
    encoder.map(2)?;
    encoder.uint(0)?;
    encoder.uint64(mask)?;
    encoder.uint(1)?;
    let len = match body_len {
        0..=0x1f => encoder.bytes(&[0xa0 | body_len as u8]),
        0x20..=0xffff => {
            encoder.bytes(&[0xda])?;
            encoder.bytes(&(body_len as u16).to_be_bytes())
        }
        _ => {
            encoder.bytes(&[0xdb])?;
            encoder.bytes(&(body_len as u32).to_be_bytes())
        }
    };
    len?;
    let len = encoder.position();
    Ok((head, len))
}

pub(crate) fn apply(body: &mut [u8], mask: u64) {
    let mask = mask.to_be_bytes();
    for (byte, mask) in body.iter_mut().zip(mask.iter().cycle()) {
        *byte ^= mask;
    }
}

const _: () = assert!(HEADER_LEN == 10, "the seam above holds two length bytes");

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame;
    use std::vec;
    use std::vec::Vec;

    /// The slow obvious check that `is_clean` must agree with: every offset of
    /// the finished frame from its length on.
    fn oracle(body: &[u8]) -> bool {
        let (header, header_len) = frame::header(body);
        let mut bytes = header[8..header_len].to_vec();
        bytes.extend_from_slice(body);
        (0..bytes.len()).all(|at| !starts_with_pattern(&bytes[at..]))
    }

    #[test]
    fn a_pattern_at_any_place_is_seen() {
        let pattern = [0xc1, 0xce, 1, 2, 3, 4, 0xc1, 0xa3];
        for at in 0..40 {
            let mut body = vec![0xc1; 48];
            assert!(is_clean(&body));
            body[at..at + 8].copy_from_slice(&pattern);
            assert!(!is_clean(&body) && !oracle(&body), "{at}");
        }
    }

    #[test]
    fn a_pattern_that_begins_in_the_length_is_seen() {
        // 0xc1ce bytes: the length itself is the first half of a pattern.
        let mut body = vec![0; 0xc1ce];
        body[..6].copy_from_slice(&[0x7f, 0x81, 0, 0, 0xc1, 0xbf]);
        assert!(!oracle(&body));
        assert!(!is_clean(&body));
        body[5] = 0xc0;
        assert!(oracle(&body) && is_clean(&body));
    }

    #[test]
    fn a_pattern_begins_in_one_of_two_parts() {
        let dirty = [0xc1, 0xce, 1, 2, 3, 4, 0xc1, 0xda];
        for before in 0..5 {
            let mut body = vec![0xc1; before];
            body.extend(dirty);
            for at in 0..=body.len() {
                let (first, second) = body.split_at(at);
                // In the first part, or at a `c1` of the second.
                assert!(
                    may_begin_in(first) || second.contains(&0xc1),
                    "{at} of {body:02x?}"
                );
                let begins_before = at > before;
                assert!(may_begin_in(first) || !begins_before, "{at} of {body:02x?}");
            }
        }
        for harmless in [
            &[][..],
            &[0xce],
            &[0xc1, 0xc0],
            &[0xc1, 0x4f, 0xce, 0xc1, 0],
        ] {
            assert!(!may_begin_in(harmless), "{harmless:02x?}");
        }
    }

    #[test]
    fn is_clean_agrees_with_the_oracle_on_dense_bytes() {
        // Bytes from the pattern's own alphabet, so that near misses abound.
        let alphabet = [0xc1, 0xce, 0xa0, 0xda, 0x00];
        let mut state = 1u64;
        let mut dirty = 0;
        for _ in 0..200_000 {
            let body: Vec<u8> = (0..16)
                .map(|_| {
                    state = state.wrapping_mul(6364136223846793005).wrapping_add(1);
                    alphabet[(state >> 33) as usize % 5]
                })
                .collect();
            assert_eq!(is_clean(&body), oracle(&body), "{body:02x?}");
            dirty += !is_clean(&body) as u32;
        }
        assert!(dirty > 1000);
    }
}
