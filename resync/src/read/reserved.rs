//! A frame that a writer has reserved and not published. It stores the second `c1` with the length,
//! then the body, and the first `c1` with the checksum at last. Knows nothing of where frames stand.
//!
//! ```text
//!  0   1   2   3   4   5   6   7   8   9   10
//! +---+---+---+---+---+---+---+---+---+---+----------
//! | 00| 00| 00  00  00  00| C1| DA| length| body ...
//! +---+---+---+---+---+---+---+---+---+---+----------
//! ```

use logdef_wire::frame::{HEADER_LEN, LONG_HEADER_LEN, MAX_BODY, RESERVED_OFFSET};

/// Bytes of the frame whose reservation stands at [`RESERVED_OFFSET`] of `bytes`; `None` if none is
/// there, or if no frame is so long.
pub(crate) fn frame_len(bytes: &[u8]) -> Option<usize> {
    Some(match bytes.get(RESERVED_OFFSET..)? {
        [0xc1, 0xda, hi, lo, ..] => HEADER_LEN + usize::from(u16::from_be_bytes([*hi, *lo])),
        [0xc1, 0xdb, len @ ..] => {
            let len = u32::from_be_bytes(*len.first_chunk()?) as usize;
            LONG_HEADER_LEN + Some(len).filter(|len| *len <= MAX_BODY)?
        }
        _ => return None,
    })
}

/// Whether these bytes, up to the last one that is not zero, can be all that was written of one frame
/// before it was published. The second `c1` alone is not: it is stored with the rest of the reservation, which
/// may be in the next cache line and be read before that.
pub(crate) fn is_front(bytes: &[u8]) -> bool {
    let Some((publishing, reserving)) = bytes.split_at_checked(RESERVED_OFFSET) else {
        return bytes.is_empty();
    };
    let is_unpublished = publishing.iter().all(|byte| *byte == 0);
    let fits = match (frame_len(bytes), reserving) {
        (Some(len), _) => bytes.len() <= len,
        // A length may end in zeros.
        (None, [0xc1, 0xda | 0xdb, ..]) => bytes.len() < LONG_HEADER_LEN,
        _ => false,
    };
    is_unpublished && fits
}

#[cfg(test)]
mod tests {
    use super::*;
    use logdef_wire::frame;

    /// A frame of a body of 258 bytes, and where its last byte that is not zero ends.
    fn whole() -> Vec<u8> {
        let mut bytes = vec![0; 300];
        let len = frame::encode(&mut bytes, |body| {
            body.bytes(&[0, 0x81, 0])?;
            body.raw(&[b'x'; 252])
        });
        bytes.truncate(len.unwrap());
        bytes
    }

    #[test]
    fn a_frame_is_a_front_until_it_is_published() {
        let whole = whole();
        assert_eq!(whole[RESERVED_OFFSET..HEADER_LEN], [0xc1, 0xda, 1, 2]);
        let mut front = whole.clone();
        front[..RESERVED_OFFSET].fill(0);
        for end in 0..=front.len() {
            let front = &front[..end];
            let written = end - front.iter().rev().take_while(|byte| **byte == 0).count();
            let is_all = written != RESERVED_OFFSET + 1;
            assert_eq!(is_front(&front[..written]), is_all, "{end}");
        }
        assert_eq!(frame_len(&front), Some(whole.len()));
        assert!(!is_front(&whole));
        for stored in 0..RESERVED_OFFSET {
            let mut bytes = front.clone();
            bytes[stored] = whole[stored];
            assert!(!is_front(&bytes) && !is_front(&bytes[..stored + 1]));
        }
        front.push(1);
        assert!(!is_front(&front), "more than the frame");
        front[RESERVED_OFFSET] = 0;
        assert!(!is_front(&front[..20]), "not reserved");
    }

    #[test]
    fn a_long_frame_has_its_length_in_four_bytes() {
        let mut bytes = [0, 0, 0, 0, 0, 0, 0xc1, 0xdb, 0, 1, 0, 0];
        assert_eq!(frame_len(&bytes), Some((64 << 10) + LONG_HEADER_LEN));
        assert_eq!(frame_len(&bytes[..11]), None);
        bytes[8] = 1;
        assert_eq!(frame_len(&bytes), None, "longer than any frame");
    }
}
