//! A frame: what stands around a record in a file so that it can be found and
//! trusted. Knows that a body starts with a tag and a map, and nothing else
//! about records.
//!
//! ```text
//!  0   1   2   3   4   5   6   7   8   9   10
//! +---+---+---+---+---+---+---+---+---+---+----------
//! | C1| CE|   CRC-32      | C1| DA| length| body ...     the form we write
//! +---+---+---+---+---+---+---+---+---+---+----------
//! ```
//!
//! The length stands in the head of a msgpack raw: `A0..BF`, `DA hh ll` or
//! `DB hh hh ll ll`. The CRC covers the body alone.

use crate::msgpack::{Encoder, OutOfRoom};
pub use crate::pattern::{HEADER_LEN, MAX_SHORT_BODY, PATTERN_LEN, starts_with_pattern};
use crate::pattern::{is_clean, mask_in_place};
use core::fmt;

/// Bytes of the header of a longer frame.
pub const LONG_HEADER_LEN: usize = 12;
/// The longest body that a reader takes for one; longer claims are damage.
pub const MAX_BODY: usize = 16 << 20;
/// Bytes of the longest frame, to be added to an offset in a file.
pub const MAX_FRAME: u64 = (MAX_BODY + LONG_HEADER_LEN) as u64;
/// The shortest body: a tag and an empty map.
pub const MIN_BODY: usize = 2;

/// Offset of the CRC in the header.
pub const CRC_OFFSET: usize = 2;
/// Offset of the second `c1`, the first byte that a writer reserves with.
pub const RESERVED_OFFSET: usize = 6;

/// The checksum of a body: CRC-32/ISO-HDLC, zlib's.
pub fn checksum(body: &[u8]) -> u32 {
    crc32fast::hash(body)
}

/// What a frame header claims. Nothing of it is to be trusted before the
/// checksum was found right.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Header {
    /// The checksum of the body.
    pub checksum: u32,
    /// Bytes from the first `c1` to the body.
    pub len: usize,
    /// Bytes of the body.
    pub body_len: usize,
}

impl Header {
    /// The header at the front of `bytes`; `None` if the pattern is not there
    /// or the length is cut off.
    #[inline]
    pub fn parse(bytes: &[u8]) -> Option<Header> {
        if !starts_with_pattern(bytes) {
            return None;
        }
        let checksum = u32::from_be_bytes(*bytes[CRC_OFFSET..].first_chunk()?);
        let raw = &bytes[PATTERN_LEN - 1..];
        let (head, body_len) = raw_head(raw)?;
        Some(Header {
            checksum,
            len: PATTERN_LEN - 1 + head,
            body_len,
        })
    }

    /// Bytes of the whole frame.
    pub fn frame_len(&self) -> usize {
        self.len + self.body_len
    }
}

/// Length of the head of a raw and of the raw itself.
fn raw_head(bytes: &[u8]) -> Option<(usize, usize)> {
    Some(match *bytes.first()? {
        fix @ 0xa0..=0xbf => (1, (fix & 0x1f) as usize),
        0xda => (3, u16::from_be_bytes(*bytes[1..].first_chunk()?) as usize),
        0xdb => (5, u32::from_be_bytes(*bytes[1..].first_chunk()?) as usize),
        _ => return None,
    })
}

/// A valid frame, borrowed from the bytes it was found in.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Frame<'a> {
    /// The record: its tag and payload.
    pub body: &'a [u8],
    /// Bytes of the whole frame.
    pub len: usize,
}

/// Why there is no valid frame at the front of bytes.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum FrameError {
    /// The header pattern is not there.
    NoHeader,
    /// The header or the body it claims runs past the end.
    PastEnd,
    /// A body shorter than [`MIN_BODY`] or longer than [`MAX_BODY`] is claimed.
    Length,
    /// The body's checksum is not the header's.
    Checksum,
    /// The checksum is right, but the body does not start with a tag and a map
    /// head.
    NotARecord,
}

impl fmt::Display for FrameError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            FrameError::NoHeader => "no frame header",
            FrameError::PastEnd => "frame runs past the end",
            FrameError::Length => "length no record has",
            FrameError::Checksum => "checksum mismatch",
            FrameError::NotARecord => "body is not a record",
        })
    }
}

impl core::error::Error for FrameError {}

/// Whether a body starts as a record does: a positive fixnum and a map head.
#[inline]
pub fn looks_like_record(body: &[u8]) -> bool {
    matches!(body, [0..=0x7f, 0x80..=0x8f | 0xde | 0xdf, ..])
}

/// The valid frame at the front of `bytes`. Frames that follow are not looked
/// at.
pub fn decode(bytes: &[u8]) -> Result<Frame<'_>, FrameError> {
    if !starts_with_pattern(bytes) {
        return Err(FrameError::NoHeader);
    }
    let header = Header::parse(bytes).ok_or(FrameError::PastEnd)?;
    if !(MIN_BODY..=MAX_BODY).contains(&header.body_len) {
        return Err(FrameError::Length);
    }
    let body = bytes
        .get(header.len..header.frame_len())
        .ok_or(FrameError::PastEnd)?;
    // Cheap before dear: most chance candidates end here.
    if !looks_like_record(body) {
        return Err(FrameError::NotARecord);
    }
    if checksum(body) != header.checksum {
        return Err(FrameError::Checksum);
    }
    Ok(Frame {
        body,
        len: header.frame_len(),
    })
}

/// The header of a frame whose body has this checksum and this length, which fits two
/// bytes.
#[inline(always)]
pub const fn short_header(checksum: u32, len: u16) -> [u8; HEADER_LEN] {
    let [c0, c1, c2, c3] = checksum.to_be_bytes();
    let [l0, l1] = len.to_be_bytes();
    [0xc1, 0xce, c0, c1, c2, c3, 0xc1, 0xda, l0, l1]
}

/// The header of a frame around `body`: ten or twelve bytes, and how many.
pub fn header(body: &[u8]) -> ([u8; LONG_HEADER_LEN], usize) {
    let mut header = [0; LONG_HEADER_LEN];
    let short = short_header(checksum(body), body.len() as u16);
    header[..HEADER_LEN].copy_from_slice(&short);
    if body.len() <= MAX_SHORT_BODY {
        return (header, HEADER_LEN);
    }
    let [.., head, l0, l1, l2, l3] = &mut header;
    *head = 0xdb;
    [*l0, *l1, *l2, *l3] = (body.len() as u32).to_be_bytes();
    (header, LONG_HEADER_LEN)
}

/// Writes a frame around the body that `body` writes, and returns the frame's
/// length. A body that contains the header pattern is written masked, so that
/// nothing a program logs can look like a frame.
pub fn encode(
    buffer: &mut [u8],
    body: impl FnOnce(&mut Encoder<'_>) -> Result<(), OutOfRoom>,
) -> Result<usize, OutOfRoom> {
    let room = buffer.get_mut(HEADER_LEN..).ok_or(OutOfRoom)?;
    let mut encoder = Encoder::new(room);
    body(&mut encoder)?;
    let mut body_len = encoder.position();
    if !is_clean(encoder.written()) {
        body_len = mask_in_place(room, body_len)?;
    }
    let (header, header_len) = header(&room[..body_len]);
    let frame_len = header_len + body_len;
    if header_len != HEADER_LEN {
        let whole = buffer.get_mut(..frame_len).ok_or(OutOfRoom)?;
        whole.copy_within(HEADER_LEN..HEADER_LEN + body_len, header_len);
    }
    buffer[..header_len].copy_from_slice(&header[..header_len]);
    Ok(frame_len)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::vec;

    /// The smallest record: tag 0, an empty map. Python's
    /// `zlib.crc32(b"\x00\x80")` is 0xac6191df.
    const EMPTY_PREAMBLE: [u8; 10] = [
        0xc1, // never used in msgpack
        0xce, 0xac, 0x61, 0x91, 0xdf, // uint32: the checksum
        0xc1, // again
        0xa2, // fixraw of two bytes
        0x00, // tag: preamble
        0x80, // payload: a map of no fields
    ];

    #[test]
    fn the_shortest_frame_is_read() {
        let frame = decode(&EMPTY_PREAMBLE).unwrap();
        assert_eq!(frame.body, [0x00, 0x80]);
        assert_eq!(frame.len, 10);
    }

    #[test]
    fn longer_raw_heads_than_needed_are_legal() {
        let mut short = vec![
            0xc1, 0xce, 0xac, 0x61, 0x91, 0xdf, 0xc1, 0xda, 0, 2, 0, 0x80,
        ];
        assert_eq!(decode(&short).unwrap().len, 12);
        short.splice(7..10, [0xdb, 0, 0, 0, 2]);
        assert_eq!(decode(&short).unwrap().len, 14);
    }

    #[test]
    fn str8_and_bin_are_no_frame() {
        for head in [0xd9, 0xc4] {
            let bytes = [0xc1, 0xce, 0xac, 0x61, 0x91, 0xdf, 0xc1, head, 2, 0, 0x80];
            assert_eq!(decode(&bytes), Err(FrameError::NoHeader));
        }
    }

    #[test]
    fn every_flipped_bit_is_noticed() {
        for bit in 0..EMPTY_PREAMBLE.len() * 8 {
            let mut bytes = EMPTY_PREAMBLE;
            bytes[bit / 8] ^= 1 << (bit % 8);
            assert!(decode(&bytes).is_err(), "bit {bit}");
        }
    }

    #[test]
    fn every_shorter_frame_runs_past_the_end() {
        for len in 0..EMPTY_PREAMBLE.len() {
            let error = decode(&EMPTY_PREAMBLE[..len]).unwrap_err();
            let expected = match len {
                0..8 => FrameError::NoHeader,
                _ => FrameError::PastEnd,
            };
            assert_eq!(error, expected, "{len}");
        }
    }

    #[test]
    fn a_frame_of_nothing_protects_nothing_and_is_refused() {
        // The CRC of no bytes is 0: consistent, and worth nothing.
        let bytes = [0xc1, 0xce, 0, 0, 0, 0, 0xc1, 0xa0];
        assert_eq!(decode(&bytes), Err(FrameError::Length));
    }

    #[test]
    fn long_bodies_get_the_long_header() {
        let mut buffer = vec![0; 70_100];
        let len = encode(&mut buffer, |e| {
            e.bytes(&[0x55, 0x81, 0x00])?;
            e.raw(&vec![b'x'; 70_000])
        })
        .unwrap();
        assert_eq!(buffer[7], 0xdb);
        let frame = decode(&buffer[..len]).unwrap();
        assert_eq!(frame.len, len);
        assert_eq!(frame.body.len(), 70_008);
        for room in [0, 9, 12, len - 1] {
            let write = |e: &mut Encoder<'_>| {
                e.bytes(&[0x55, 0x81, 0x00])?;
                e.raw(&vec![b'x'; 70_000])
            };
            assert_eq!(encode(&mut buffer[..room], write), Err(OutOfRoom));
        }
    }
}
