//! The checksum of any range of a window in bounded work. A hostile file can
//! claim sixteen megabytes every eight bytes; summing each claim would cost the
//! square of the file. Prefix checksums at fixed distances, and the algebra of
//! CRC, answer each claim with the work of two short ends.
//!
//! With `crc(AB) = crc(A) · x^(8·|B|) + crc(B)` over GF(2), the checksum of `B`
//! follows from those of `A` and `AB`. Polynomials stand reflected, as in
//! CRC-32/ISO-HDLC: the highest bit is the coefficient of `x^0`.

use crate::read::window::{BEHIND, Window};
use crc32fast::Hasher;
use std::collections::VecDeque;

/// The polynomial of CRC-32/ISO-HDLC, reflected, without its highest term.
const POLYNOMIAL: u32 = 0xedb8_8320;
/// Bytes between two checkpoints: as many as a window keeps for them.
const DISTANCE: u64 = BEHIND;
/// Hexadecimal digits of the longest range, and of a little more.
const DIGITS: usize = 7;

/// `SHIFT[i][d]` is `x^(8 · d · 16^i)`: what a checksum is multiplied with when
/// that many bytes follow.
static SHIFT: [[u32; 16]; DIGITS] = shift_table();

/// Prefix checksums of the bytes from an origin on, made as they are asked for.
#[derive(Debug, Default)]
pub(crate) struct Checkpoints {
    /// Offset of the first byte summed by the second entry, where the first
    /// entry stands.
    origin: u64,
    /// The sum of all bytes from some earlier origin to `origin + i · DISTANCE`.
    sums: VecDeque<u32>,
    /// How many bytes were summed, for tests that bound the work.
    pub(crate) summed: u64,
}

impl Checkpoints {
    /// The checksum of `[start, end)`, all of which the window holds. Asked with
    /// ascending starts, the work is linear in the bytes and in the questions.
    pub(crate) fn range(&mut self, window: &Window<'_>, start: u64, end: u64) -> u32 {
        self.forget_before(start, window.start());
        let before = self.prefix(window, start);
        let whole = self.prefix(window, end);
        whole ^ shift(before, end - start)
    }

    /// Drops the entries that no question from `start` on needs, and starts again
    /// where none are left.
    fn forget_before(&mut self, start: u64, window_start: u64) {
        while self.sums.len() > 1 && self.origin + DISTANCE <= start {
            self.sums.pop_front();
            self.origin += DISTANCE;
        }
        let reaches = !self.sums.is_empty() && self.origin + DISTANCE > start;
        if !reaches || self.origin < window_start || self.origin > start {
            self.sums.clear();
            self.sums.push_back(0);
            self.origin = start;
        }
    }

    fn prefix(&mut self, window: &Window<'_>, at: u64) -> u32 {
        let index = ((at - self.origin) / DISTANCE) as usize;
        while self.sums.len() <= index {
            let from = self.origin + (self.sums.len() as u64 - 1) * DISTANCE;
            let sum = self.extend(
                window,
                self.sums[self.sums.len() - 1],
                from,
                from + DISTANCE,
            );
            self.sums.push_back(sum);
        }
        let checkpoint = self.origin + index as u64 * DISTANCE;
        self.extend(window, self.sums[index], checkpoint, at)
    }

    fn extend(&mut self, window: &Window<'_>, sum: u32, from: u64, to: u64) -> u32 {
        let mut hasher = Hasher::new_with_initial(sum);
        hasher.update(window.range(from, to));
        self.summed += to - from;
        hasher.finalize()
    }
}

/// What becomes of a checksum when `len` bytes follow, before those bytes are
/// added.
fn shift(sum: u32, len: u64) -> u32 {
    let mut sum = sum;
    let mut len = len;
    for digit in &SHIFT {
        if len & 0xf != 0 {
            sum = multiply(sum, digit[(len & 0xf) as usize]);
        }
        len >>= 4;
    }
    debug_assert_eq!(len, 0, "ranges are no longer than the longest frame");
    sum
}

/// The product of two polynomials modulo the CRC's.
const fn multiply(a: u32, b: u32) -> u32 {
    let mut product = 0;
    let mut b = b;
    let mut bit = 32;
    while bit > 0 {
        bit -= 1;
        if a >> bit & 1 == 1 {
            product ^= b;
        }
        b = b >> 1 ^ POLYNOMIAL & (b & 1).wrapping_neg();
    }
    product
}

const fn shift_table() -> [[u32; 16]; DIGITS] {
    let one = 1 << 31;
    let mut table = [[one; 16]; DIGITS];
    // x^8, then its sixteenth power for each further digit.
    let mut power = one >> 8;
    let mut digit = 0;
    while digit < DIGITS {
        let mut value = 1;
        while value < 16 {
            table[digit][value] = multiply(table[digit][value - 1], power);
            value += 1;
        }
        power = multiply(table[digit][15], power);
        digit += 1;
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    fn noise(len: usize) -> Vec<u8> {
        let mut state = 7u64;
        let step = |_| {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1);
            (state >> 56) as u8
        };
        (0..len).map(step).collect()
    }

    #[test]
    fn every_range_sums_as_the_plain_checksum_does() {
        let bytes = noise(5000);
        let window = Window::whole(&bytes);
        let mut checkpoints = Checkpoints::default();
        for start in (0..4000).step_by(37) {
            for end in [
                start,
                start + 1,
                start + 511,
                start + 512,
                start + 513,
                5000,
            ] {
                assert_eq!(
                    checkpoints.range(&window, start as u64, end as u64),
                    crc32fast::hash(&bytes[start..end]),
                    "{start}..{end}"
                );
            }
        }
    }

    #[test]
    fn a_jump_forward_starts_again() {
        let bytes = noise(40_000);
        let window = Window::whole(&bytes);
        let mut checkpoints = Checkpoints::default();
        for start in [3, 9_000, 9_001, 30_000, 39_000] {
            let end = start + 700;
            assert_eq!(
                checkpoints.range(&window, start as u64, end as u64),
                crc32fast::hash(&bytes[start..end])
            );
        }
        assert!(checkpoints.summed < 10_000, "{}", checkpoints.summed);
    }

    #[test]
    fn the_longest_range_is_within_the_table() {
        let bytes = vec![0x5a; logdef_wire::frame::MAX_BODY + 100];
        let window = Window::whole(&bytes);
        let mut checkpoints = Checkpoints::default();
        let end = bytes.len();
        for start in [1, 99, 100] {
            let sum = checkpoints.range(&window, start, end as u64);
            assert_eq!(sum, crc32fast::hash(&bytes[start as usize..]));
        }
    }
}
