//! Masked records (126): another record's body XORed with a mask, written
//! where the body as it stands would contain a frame header pattern. Knows
//! nothing of the record inside.

use super::{Fields, Tag};
use crate::frame::{HEADER_LEN, MAX_SHORT_BODY, starts_with_pattern};
use crate::msgpack::{DecodeError, Encoder, OutOfRoom};

/// A masked record.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Masked<'a> {
    /// Field 0: XORed over the body, repeated, first byte the highest.
    pub mask: Option<u64>,
    /// Field 1: the masked body.
    pub body: Option<&'a [u8]>,
}

/// Bytes that masking adds to a body: tag, map head, mask, head of the raw.
pub const OVERHEAD: usize = 1 + 1 + 1 + 9 + 1 + 5;

impl<'a> Masked<'a> {
    pub(super) fn decode(fields: &mut Fields<'a>) -> Result<Self, DecodeError> {
        let mut masked = Masked::default();
        while let Some((tag, value)) = fields.next_field()? {
            match tag {
                0 => masked.mask = value.as_uint(),
                1 => masked.body = value.as_raw(),
                _ => {}
            }
        }
        Ok(masked)
    }

    /// Writes the record's body.
    pub fn encode(&self, encoder: &mut Encoder<'_>) -> Result<(), OutOfRoom> {
        encoder.uint(Tag::MASKED.0 as u64)?;
        let mut fields = encoder.fields()?;
        fields.uint64(0, self.mask)?;
        fields.raw(1, self.body)?;
        fields.finish()
    }

    /// Writes the body that was masked into the front of `out` and returns it.
    /// `None` if a field is missing or `out` is too small.
    pub fn unmask<'o>(&self, out: &'o mut [u8]) -> Option<&'o [u8]> {
        let body = self.body?;
        let out = out.get_mut(..body.len())?;
        out.copy_from_slice(body);
        apply(out, self.mask?);
        Some(out)
    }
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
    encoder.uint(Tag::MASKED.0 as u64)?;
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

fn apply(body: &mut [u8], mask: u64) {
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
    use crate::record::Record;
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

    #[test]
    fn masking_is_undone() {
        for len in [8, 31, 32, 300, 70_000] {
            let mut body = vec![0x7f, 0x80];
            while body.len() < len {
                body.extend([0xc1, 0xce, 9, 9, 9, 9, 0xc1, 0xda]);
            }
            let mut buffer = body.clone();
            buffer.resize(body.len() + OVERHEAD, 0);
            let masked_len = mask_in_place(&mut buffer, body.len()).unwrap();
            let masked = &buffer[..masked_len];
            assert!(oracle(masked));
            let Ok(Record::Masked(masked)) = Record::decode(masked) else {
                panic!("not a masked record");
            };
            let mut out = vec![0; body.len()];
            assert_eq!(masked.unmask(&mut out), Some(&body[..]));
            let mut short = vec![0; body.len() - 1];
            assert_eq!(masked.unmask(&mut short), None);
        }
    }

    #[test]
    fn a_masked_record_is_these_bytes() {
        let mut buffer = [0; 64];
        let mut encoder = Encoder::new(&mut buffer);
        let masked = Masked {
            mask: Some(0x0102_0304_0506_0708),
            body: Some(&[0x7f, 0x80]),
        };
        masked.encode(&mut encoder).unwrap();
        let bytes = [
            0x7e, 0x82, // masked, two fields
            0x00, 0xcf, 1, 2, 3, 4, 5, 6, 7, 8, // 0: the mask
            0x01, 0xa2, 0x7f, 0x80, // 1: the body
        ];
        assert_eq!(encoder.written(), bytes);
        assert_eq!(Record::decode(&bytes), Ok(Record::Masked(masked)));
        let mut out = [0; 2];
        assert_eq!(masked.unmask(&mut out), Some(&[0x7e, 0x82][..]));
    }
}
