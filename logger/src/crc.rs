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

/// The checksum of `body`.
#[inline(always)]
pub(crate) fn checksum(body: &[u8]) -> u32 {
    #[cfg(target_arch = "x86_64")]
    if let (8..=LONGEST, true) = (body.len(), is_x86_feature_detected!("pclmulqdq")) {
        // SAFETY: the instruction is there, and the length is in range.
        return unsafe { by_words(body) };
    }
    crc32fast::hash(body)
}

/// Whether `body` holds the byte `c1`, without which it holds no frame header.
#[inline(always)]
pub(crate) fn holds_c1(body: &[u8]) -> bool {
    #[cfg(target_arch = "x86_64")]
    if body.len() >= 16 {
        // SAFETY: SSE2 is part of the architecture.
        return unsafe { holds_c1_by_pieces(body) };
    }
    body.contains(&0xc1)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "sse2")]
#[inline]
fn holds_c1_by_pieces(body: &[u8]) -> bool {
    use core::arch::x86_64::*;
    let mut found = _mm_setzero_si128();
    let mut at = 0;
    while at < body.len() {
        // The last piece overlaps the one before it.
        let from = at.min(body.len() - 16);
        // SAFETY: sixteen bytes from `from` lie within `body`, which has as
        // many at least, by the only caller.
        let piece = unsafe { _mm_loadu_si128(body.as_ptr().add(from).cast()) };
        let equal = _mm_cmpeq_epi8(piece, _mm_set1_epi8(0xc1u8 as i8));
        found = _mm_or_si128(found, equal);
        at += 16;
    }
    _mm_movemask_epi8(found) != 0
}

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

/// See the module.
///
/// # Safety
///
/// The CPU has PCLMULQDQ, and `body` has 8 to [`LONGEST`] bytes.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "pclmulqdq")]
#[inline]
unsafe fn by_words(body: &[u8]) -> u32 {
    use core::arch::x86_64::*;

    let len = body.len();
    debug_assert!((8..=LONGEST).contains(&len));
    let word = |at: usize| {
        debug_assert!(at + 8 <= len);
        // SAFETY: callers pass offsets of whole words within `body`.
        u64::from_le(unsafe { body.as_ptr().add(at).cast::<u64>().read_unaligned() })
    };
    let product = |word: u64, behind: usize| {
        let (word, k) = (word as i64, K[behind] as i64);
        _mm_clmulepi64_si128::<0>(_mm_cvtsi64_si128(word), _mm_cvtsi64_si128(k))
    };
    // The register starts as ones, which comes to the first four bytes inverted.
    let mut sum = product(word(0) ^ 0xffff_ffff, len - 8);
    let mut at = 8;
    while at + 8 <= len {
        sum = _mm_xor_si128(sum, product(word(at), len - 8 - at));
        at += 8;
    }
    if at < len {
        // What is left, as the end of a word whose other bytes are done.
        let done = 8 - (len - at);
        let rest = word(len - 8) >> (8 * done) << (8 * done);
        sum = _mm_xor_si128(sum, product(rest, 0));
    }
    let constants = _mm_set_epi64x(P as i64, INVERSE as i64);
    let q = _mm_clmulepi64_si128::<0x00>(sum, constants);
    let multiple = _mm_clmulepi64_si128::<0x10>(q, constants);
    let rest = _mm_unpackhi_epi64(_mm_xor_si128(sum, multiple), sum);
    !(_mm_cvtsi128_si64(rest) as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checksums_are_the_librarys_at_every_length_and_alignment() {
        let mut state = 1u64;
        let bytes: Vec<u8> = (0..700)
            .map(|_| {
                state = state.wrapping_mul(6364136223846793005).wrapping_add(1);
                (state >> 56) as u8
            })
            .collect();
        for start in 0..17 {
            for len in 0..600 {
                let body = &bytes[start..start + len];
                assert_eq!(checksum(body), crc32fast::hash(body), "{start} {len}");
            }
        }
        // The check value of the CRC catalogue.
        assert_eq!(checksum(b"123456789"), 0xcbf4_3926);
    }

    #[test]
    fn c1_is_found_wherever_it_stands() {
        for len in 0..100 {
            let mut body = vec![0xc0; len];
            assert!(!holds_c1(&body));
            for at in 0..len {
                body[at] = 0xc1;
                assert!(holds_c1(&body), "{at} of {len}");
                body[at] = 0;
            }
        }
    }
}
