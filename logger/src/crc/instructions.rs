//! Checksums on aarch64: the CPU has instructions for just this CRC, eight bytes each. A room for
//! unsafe: these instructions.

use super::{Check, Front, START, by_library};
use core::arch::aarch64::{__crc32b, __crc32d};
use std::arch::is_aarch64_feature_detected;

/// Checks a body: here if the CPU can, else by the library.
#[inline(always)]
pub(super) fn check(body: &[u8]) -> Check {
    if is_aarch64_feature_detected!("crc") {
        // SAFETY: the CPU was just found to have the instructions.
        return unsafe { by_instructions(body) };
    }
    by_library(body)
}

/// The same for a body that begins with `front`, whose states would save hardly an instruction.
///
/// # Safety
///
/// None is needed here: the contract is the one of [`super::check_after`].
#[inline(always)]
pub(super) unsafe fn check_after(_: &Front, body: &[u8]) -> Check {
    check(body)
}

/// # Safety
///
/// The CPU has the instructions for CRC-32.
#[target_feature(enable = "crc")]
unsafe fn by_instructions(body: &[u8]) -> Check {
    let (words, rest) = body.as_chunks::<8>();
    let mut crc = START;
    let mut holds_c1 = false;
    for word in words {
        let word = u64::from_le_bytes(*word);
        crc = __crc32d(crc, word);
        holds_c1 |= has_c1(word);
    }
    for byte in rest {
        crc = __crc32b(crc, *byte);
        holds_c1 |= *byte == 0xc1;
    }
    Check {
        crc: !crc,
        may_begin_header: holds_c1,
    }
}

/// Whether one of the bytes is `c1`: with all of them changed so that it is zero, only a zero
/// borrows from its own highest bit.
fn has_c1(word: u64) -> bool {
    const ONES: u64 = u64::from_ne_bytes([1; 8]);
    let changed = word ^ ONES * 0xc1;
    changed.wrapping_sub(ONES) & !changed & ONES << 7 != 0
}
