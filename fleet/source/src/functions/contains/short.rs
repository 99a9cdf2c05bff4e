//! A text that is looked for in short ones, which stand in the views of a column themselves: in all bytes of one at a
//! time. Knows no buffers.

/// Bytes that a view has room for.
pub(super) const MOST: usize = 12;
/// Bits of a view before its text.
const HEAD: u32 = 32;
const ONES: u128 = u128::MAX / 0xff;
const LOW: u128 = ONES * 0x7f;

/// What is looked for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Short {
    len: usize,
    text: u128,
    /// Its first byte and its last, in every place.
    ends: [u128; 2],
}

impl Short {
    /// `None` of a text that is empty, or for which a view has no room.
    pub(super) fn of(text: &[u8]) -> Option<Short> {
        let (first, last) = (text.first()?, text.last()?);
        if text.len() > MOST {
            return None;
        }
        let mut bytes = [0; 16];
        bytes[..text.len()].copy_from_slice(text);
        Some(Short {
            len: text.len(),
            text: u128::from_le_bytes(bytes),
            ends: [first, last].map(|byte| ONES * u128::from(*byte)),
        })
    }

    /// Whether it is in the text of a view, where it may begin at the byte `end` and before.
    #[inline]
    pub(super) fn is_in(&self, view: u128, end: usize) -> bool {
        let text = view >> HEAD;
        let [first, last] = self.ends.map(|end| zeros(text ^ end));
        let mut begins = first & (last >> (8 * (self.len - 1)));
        let mask = u128::MAX >> (128 - 8 * self.len);
        while begins != 0 {
            let at = begins.trailing_zeros() as usize / 8;
            if at > end {
                return false;
            }
            if (text >> (8 * at)) & mask == self.text {
                return true;
            }
            begins &= begins - 1;
        }
        false
    }
}

/// The highest bit of each byte that is zero.
#[inline]
fn zeros(bytes: u128) -> u128 {
    // No byte carries into the next.
    !(((bytes & LOW) + LOW) | bytes | LOW)
}
