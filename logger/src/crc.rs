//! The checksum of a record's body, CRC-32/ISO-HDLC, made for a hundred bytes:
//! libraries are made for long buffers, and pay at each call for what a record
//! is too short to use. The machine's own way lives in a file of its own, and the
//! library does what that leaves.

#[cfg(target_arch = "aarch64")]
#[path = "crc/instructions.rs"]
mod machine;
#[cfg(target_arch = "x86_64")]
#[path = "crc/words.rs"]
mod machine;

/// The state before the first byte of a body.
pub(crate) const START: u32 = 0xffff_ffff;

/// What has to be known of a body before it goes into a frame.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Check {
    /// The checksum.
    pub crc: u32,
    /// Whether a frame header may begin in it: where the byte `c1` is.
    pub may_begin_header: bool,
}

/// The beginning of a body as its writer has it: the checksum needs not look for
/// these bytes in memory, where they may still be on their way.
#[derive(Clone, Copy, Debug)]
#[cfg_attr(
    not(target_arch = "x86_64"),
    allow(dead_code, reason = "used where that saves instructions")
)]
pub(crate) struct Front {
    /// Bytes of the first part, and the state after it.
    pub first: (usize, u32),
    /// Bytes of the second part, and the state after it, had it been zero before.
    pub second: (usize, u32),
    /// The third part, first byte the lowest.
    pub third: [u64; 3],
    /// Bytes of the third part: more than 16.
    pub third_len: usize,
    /// Whether a frame header may begin in the first two parts.
    pub may_begin_header: bool,
}

/// Checks `body`.
#[inline]
pub(crate) fn check(body: &[u8]) -> Check {
    machine::check(body)
}

/// Checks `body`, which begins with `front`.
///
/// # Safety
///
/// It does: `body` is as long as the three parts or longer, and the third has 17 to 24 bytes.
#[inline(always)]
pub(crate) unsafe fn check_after(front: &Front, body: &[u8]) -> Check {
    // SAFETY: the contract is the same.
    unsafe { machine::check_after(front, body) }
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
        may_begin_header: body.contains(&0xc1),
    }
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
                        may_begin_header: body[..third].contains(&0xc1),
                    };
                    // SAFETY: the parts are of this body, which is no shorter.
                    assert_eq!(unsafe { check_after(&front, body) }, by_library(body));
                }
            }
        }
    }

    #[test]
    fn c1_is_found_wherever_it_stands() {
        for len in 0..100 {
            let mut body = vec![0xc0; len];
            assert!(!check(&body).may_begin_header);
            for at in 0..len {
                body[at] = 0xc1;
                assert!(check(&body).may_begin_header, "{at} of {len}");
                body[at] = 0;
            }
        }
    }
}
