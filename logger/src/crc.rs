//! The checksum of a record's body, CRC-32/ISO-HDLC, made for a hundred bytes:
//! libraries are made for long buffers, and pay at each call for what a record
//! is too short to use. A room for unsafe: vector instructions.
//!
//! # How
//!
//! Let P be the polynomial. A body is words W of 64 bits, and the CRC of a
//! word with `d` bytes behind it is W·x^(8d+32) mod P. Nothing in that sum waits
//! for anything else: each word is multiplied by K(d) = x^(8d+31) mod P, which
//! stands in a table, and the products, of 95 bits, are added without carry.
//! The sum is then reduced once. In the reflected order that this CRC uses, the
//! terms of the highest degrees are the low 64 bits, and a multiple of P that
//! cancels them is found by one multiplication with P's inverse modulo y^64; the
//! 32 bits that remain above them are the checksum. They stand for one power of
//! x more than the product does, which is why K(d) has one less.

/// The state before the first byte of a body.
pub(crate) const START: u32 = 0xffff_ffff;

/// What has to be known of a body before it goes into a frame.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Check {
    /// The checksum.
    pub crc: u32,
    /// Whether the byte `c1` is in it, without which it holds no frame header.
    pub holds_c1: bool,
}

/// The beginning of a body as its writer has it: the checksum needs not look for
/// these bytes in memory, where they may still be on their way.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Front {
    /// Bytes of the first part, and the state after it.
    pub first: (usize, u32),
    /// Bytes of the second part, and the state after it, had it been zero before.
    pub second: (usize, u32),
    /// The third part, first byte the lowest.
    pub third: [u64; 3],
    /// Bytes of the third part: more than 16.
    pub third_len: usize,
    /// Whether the byte `c1` is in the first two parts.
    pub holds_c1: bool,
}

impl Front {
    fn len(&self) -> usize {
        self.first.0 + self.second.0 + self.third_len
    }
}

/// Checks `body`.
#[inline]
pub(crate) fn check(body: &[u8]) -> Check {
    #[cfg(target_arch = "x86_64")]
    if let (8..=LONGEST, true) = (body.len(), is_x86_feature_detected!("pclmulqdq")) {
        // SAFETY: the instruction is there, and the length is in range.
        return unsafe { by_words(body) };
    }
    by_library(body)
}

/// Checks `body`, which begins with `front`.
#[inline(always)]
pub(crate) fn check_after(front: &Front, body: &[u8]) -> Check {
    #[cfg(target_arch = "x86_64")]
    if let (16..=LONGEST, true) = (body.len(), is_x86_feature_detected!("pclmulqdq")) {
        // SAFETY: the instruction is there, and the length is in range.
        return unsafe { by_words_after(front, body) };
    }
    by_library(body)
}

/// The state after `bytes`.
pub(crate) fn state_after(state: u32, bytes: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new_with_initial(!state);
    hasher.update(bytes);
    !hasher.finalize()
}

#[cold]
fn by_library(body: &[u8]) -> Check {
    Check {
        crc: crc32fast::hash(body),
        holds_c1: body.contains(&0xc1),
    }
}

#[cfg(target_arch = "x86_64")]
use core::arch::x86_64::*;

/// P in reflected order, its highest term the lowest bit.
const P: u64 = 0x1_db71_0641;
/// Longer bodies are left to the library.
const LONGEST: usize = 512;

/// K(d) for each number of bytes behind a word.
const K: [u32; LONGEST - 7] = {
    let mut table = [0; LONGEST - 7];
    // x^31, whose only bit is the lowest.
    let mut power = 1;
    let mut d = 0;
    while d < table.len() {
        table[d] = power;
        let mut bit = 0;
        while bit < 8 {
            power = power >> 1 ^ if power & 1 != 0 { (P >> 1) as u32 } else { 0 };
            bit += 1;
        }
        d += 1;
    }
    table
};

/// The inverse of P modulo y^64, without carries.
const INVERSE: u64 = {
    let mut inverse = 0u64;
    let mut product = 0u64;
    let mut bit = 0;
    while bit < 64 {
        // The product so far must be 1: bit 0 set, all others clear.
        if product >> bit & 1 != (bit == 0) as u64 {
            inverse |= 1 << bit;
            product ^= P << bit;
        }
        bit += 1;
    }
    inverse
};

/// A sum of words, and where among them a `c1` was.
#[cfg(target_arch = "x86_64")]
struct Sum {
    sum: __m128i,
    c1: __m128i,
}

#[cfg(target_arch = "x86_64")]
impl Sum {
    #[target_feature(enable = "pclmulqdq")]
    #[inline]
    fn new() -> Sum {
        Sum {
            sum: _mm_setzero_si128(),
            c1: _mm_setzero_si128(),
        }
    }

    /// Adds a word with `behind` bytes behind it.
    #[target_feature(enable = "pclmulqdq")]
    #[inline]
    fn add(&mut self, word: u64, behind: usize) {
        self.add_state(word, behind);
        let equal = _mm_cmpeq_epi8(_mm_cvtsi64_si128(word as i64), _mm_set1_epi8(0xc1u8 as i8));
        self.c1 = _mm_or_si128(self.c1, equal);
    }

    /// Adds what is no part of the message: the state before a word with `behind`
    /// bytes behind it.
    #[target_feature(enable = "pclmulqdq")]
    #[inline]
    fn add_state(&mut self, word: u64, behind: usize) {
        let k = _mm_cvtsi32_si128(K[behind] as i32);
        let product = _mm_clmulepi64_si128::<0>(_mm_cvtsi64_si128(word as i64), k);
        self.sum = _mm_xor_si128(self.sum, product);
    }

    /// Adds the bytes of `body` from `at` on; eight bytes or more in all are
    /// there.
    #[target_feature(enable = "pclmulqdq")]
    #[inline]
    fn add_bytes(&mut self, body: &[u8], mut at: usize) {
        let len = body.len();
        debug_assert!((8..=LONGEST).contains(&len) && at <= len);
        let word = |at: usize| {
            debug_assert!(at + 8 <= len);
            // SAFETY: eight bytes from `at` lie within `body`, by the conditions
            // below and since `body` has at least eight.
            u64::from_le(unsafe { body.as_ptr().add(at).cast::<u64>().read_unaligned() })
        };
        while at + 8 <= len {
            self.add(word(at), len - 8 - at);
            at += 8;
        }
        if at < len {
            // What is left, as the end of a word whose other bytes are done.
            let done = 8 - (len - at);
            self.add(word(len - 8) >> (8 * done) << (8 * done), 0);
        }
    }

    #[target_feature(enable = "pclmulqdq")]
    #[inline]
    fn check(self, holds_c1: bool) -> Check {
        let constants = _mm_set_epi64x(P as i64, INVERSE as i64);
        let q = _mm_clmulepi64_si128::<0x00>(self.sum, constants);
        let multiple = _mm_clmulepi64_si128::<0x10>(q, constants);
        let rest = _mm_unpackhi_epi64(_mm_xor_si128(self.sum, multiple), self.sum);
        Check {
            crc: !(_mm_cvtsi128_si64(rest) as u32),
            holds_c1: holds_c1 | (_mm_movemask_epi8(self.c1) != 0),
        }
    }
}

/// The checksum of a body, eight bytes at a time.
///
/// # Safety
///
/// The CPU has PCLMULQDQ, and `body` has 8 to [`LONGEST`] bytes.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "pclmulqdq")]
unsafe fn by_words(body: &[u8]) -> Check {
    let mut sum = Sum::new();
    sum.add_state(START as u64, body.len() - 8);
    sum.add_bytes(body, 0);
    sum.check(false)
}

/// The state after some bytes is a word of the message that stands where they
/// end: it is added to the bytes already there.
///
/// # Safety
///
/// The CPU has PCLMULQDQ, and `body` has 16 to [`LONGEST`] bytes, of which
/// `front` are the first.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "pclmulqdq")]
unsafe fn by_words_after(front: &Front, body: &[u8]) -> Check {
    let len = body.len();
    let third = front.first.0 + front.second.0;
    debug_assert!(front.third_len > 16 && front.third_len <= 24 && front.len() <= len);
    let mut sum = Sum::new();
    sum.add_state(front.first.1 as u64, len - 8 - front.first.0);
    sum.add_state(front.second.1 as u64, len - 8 - third);
    let [a, b, c] = front.third;
    sum.add(a, len - 8 - third);
    sum.add(b, len - 16 - third);
    // The last word's bytes, as the end of a word whose other bytes are done.
    sum.add(c << (8 * (24 - front.third_len)), len - front.len());
    sum.add_bytes(body, front.len());
    sum.check(front.holds_c1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn random(len: usize) -> Vec<u8> {
        let mut state = 1u64;
        let mut byte = || {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1);
            (state >> 56) as u8
        };
        (0..len).map(|_| byte()).collect()
    }

    #[test]
    fn checksums_are_the_librarys_at_every_length_and_alignment() {
        let bytes = random(700);
        for start in 0..17 {
            for len in 0..600 {
                let body = &bytes[start..start + len];
                assert_eq!(check(body), by_library(body), "{start} {len}");
            }
        }
        // The check value of the CRC catalogue.
        assert_eq!(check(b"123456789").crc, 0xcbf4_3926);
    }

    #[test]
    fn a_known_front_changes_nothing() {
        let bytes = random(700);
        for (first, second) in [(0, 0), (12, 13), (30, 24), (48, 20)] {
            for third_len in 17..=24 {
                let third = first + second;
                let front_len = third + third_len;
                for len in front_len..front_len + 40 {
                    let body = &bytes[..len];
                    let word = |at: usize| {
                        let mut word = [0; 8];
                        let end = (at + 8).min(front_len);
                        word[..end - at].copy_from_slice(&body[at..end]);
                        u64::from_le_bytes(word)
                    };
                    let front = Front {
                        first: (first, state_after(START, &body[..first])),
                        second: (second, state_after(0, &body[first..third])),
                        third: [word(third), word(third + 8), word(third + 16)],
                        third_len,
                        holds_c1: body[..third].contains(&0xc1),
                    };
                    assert_eq!(check_after(&front, body), by_library(body));
                }
            }
        }
    }

    #[test]
    fn c1_is_found_wherever_it_stands() {
        for len in 0..100 {
            let mut body = vec![0xc0; len];
            assert!(!check(&body).holds_c1);
            for at in 0..len {
                body[at] = 0xc1;
                assert!(check(&body).holds_c1, "{at} of {len}");
                body[at] = 0;
            }
        }
    }
}
