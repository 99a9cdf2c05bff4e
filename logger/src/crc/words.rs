//! Checksums on x86_64: eight bytes at a time, by multiplication without carries. A room for
//! unsafe: vector instructions.
//!
//! # How
//!
//! Let P be the polynomial. A body is words W of 64 bits, and the CRC of a
//! word with `d` bytes after it is W·x^(8d+32) mod P. Nothing in that sum waits
//! for anything else: each word is multiplied by K(d) = x^(8d+31) mod P, which
//! stands in a table, and the products, of 95 bits, are added without carry.
//! The sum is then reduced once. In the reflected order that this CRC uses, the
//! terms of the highest degrees are the low 64 bits, and a multiple of P that
//! cancels them is found by one multiplication with P's inverse modulo y^64; the
//! 32 bits that remain above them are the checksum. They stand for one power of
//! x more than the product does, which is why K(d) has one less.

use super::{Check, Front, START, by_library};
use core::arch::x86_64::*;

impl Front {
    fn len(&self) -> usize {
        self.first.0 + self.second.0 + self.third_len
    }
}

/// Checks a body: here if it is neither too short nor too long and the CPU can, else by the library.
#[inline(always)]
pub(super) fn check(body: &[u8]) -> Check {
    if let (8..=LONGEST, true) = (body.len(), is_x86_feature_detected!("pclmulqdq")) {
        // SAFETY: the instruction is there, and the length is in range.
        return unsafe { by_words(body) };
    }
    by_library(body)
}

/// The same for a body that begins with `front`.
///
/// # Safety
///
/// As for [`super::check_after`].
#[inline(always)]
pub(super) unsafe fn check_after(front: &Front, body: &[u8]) -> Check {
    if let (16..=LONGEST, true) = (body.len(), is_x86_feature_detected!("pclmulqdq")) {
        // SAFETY: the instruction is there, the length is in range, and the body begins with
        // `front` (this function's contract).
        return unsafe { by_words_after(front, body) };
    }
    by_library(body)
}

/// P in reflected order, its highest term the lowest bit.
const P: u64 = 0x1_db71_0641;
/// Longer bodies are left to the library.
const LONGEST: usize = 512;

/// K(d) for each number of bytes after a word.
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
struct Sum {
    sum: __m128i,
    c1: __m128i,
}

impl Sum {
    #[target_feature(enable = "pclmulqdq")]
    #[inline]
    fn new() -> Sum {
        Sum {
            sum: _mm_setzero_si128(),
            c1: _mm_setzero_si128(),
        }
    }

    /// Adds a word with `behind` bytes after it.
    #[target_feature(enable = "pclmulqdq")]
    #[inline]
    fn add(&mut self, word: u64, behind: usize) {
        self.add_state(word, behind);
        let equal = _mm_cmpeq_epi8(_mm_cvtsi64_si128(word as i64), _mm_set1_epi8(0xc1u8 as i8));
        self.c1 = _mm_or_si128(self.c1, equal);
    }

    /// Adds what is no part of the message: the state before a word with `behind`
    /// bytes after it.
    #[target_feature(enable = "pclmulqdq")]
    #[inline]
    fn add_state(&mut self, word: u64, behind: usize) {
        debug_assert!(behind < K.len());
        // SAFETY: a word and what is after it lie within a body of at most `LONGEST` bytes,
        // so `behind` is at most `LONGEST - 8` (contracts of `by_words` and `by_words_after`).
        let k = unsafe { *K.get_unchecked(behind) };
        let k = _mm_cvtsi32_si128(k as i32);
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
    fn check(self, before: bool) -> Check {
        let constants = _mm_set_epi64x(P as i64, INVERSE as i64);
        let q = _mm_clmulepi64_si128::<0x00>(self.sum, constants);
        let multiple = _mm_clmulepi64_si128::<0x10>(q, constants);
        let rest = _mm_unpackhi_epi64(_mm_xor_si128(self.sum, multiple), self.sum);
        Check {
            crc: !(_mm_cvtsi128_si64(rest) as u32),
            may_begin_header: before | (_mm_movemask_epi8(self.c1) != 0),
        }
    }
}

/// The checksum of a body, eight bytes at a time.
///
/// # Safety
///
/// The CPU has PCLMULQDQ, and `body` has 8 to [`LONGEST`] bytes.
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
/// `front` are the first, as [`super::check_after`] demands.
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
    sum.check(front.may_begin_header)
}
