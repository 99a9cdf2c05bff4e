//! Copies of few bytes, which would be over sooner than a call of the C library begins. A room for
//! unsafe; knows nothing of what the bytes are.

use core::ptr;

/// Copies up to 32 bytes in two pieces at most, which may overlap; more as the C library does.
///
/// # Safety
///
/// `from` is valid for reads and `to` for writes of `len` bytes, and they do not overlap.
#[inline(always)]
pub(crate) unsafe fn copy(from: *const u8, to: *mut u8, len: usize) {
    // SAFETY: both pieces of `N` bytes lie within the `len` bytes, which are no fewer.
    unsafe {
        match len {
            16..=32 => in_two::<16>(from, to, len),
            8..16 => in_two::<8>(from, to, len),
            4..8 => in_two::<4>(from, to, len),
            2..4 => in_two::<2>(from, to, len),
            1 => to.write(from.read()),
            0 => {}
            _ => ptr::copy_nonoverlapping(from, to, len),
        }
    }
}

/// Copies the first `N` bytes and the last.
///
/// # Safety
///
/// As for [`copy`], of at least `N` bytes.
#[inline(always)]
unsafe fn in_two<const N: usize>(from: *const u8, to: *mut u8, len: usize) {
    // SAFETY: `len` is at least `N`.
    unsafe {
        let first = from.cast::<[u8; N]>().read_unaligned();
        let last = from.add(len - N).cast::<[u8; N]>().read_unaligned();
        to.cast::<[u8; N]>().write_unaligned(first);
        to.add(len - N).cast::<[u8; N]>().write_unaligned(last);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_bytes_are_copied_as_are_asked_for_and_none_beside_them() {
        let from: Vec<u8> = (1..=100).collect();
        for len in 0..=from.len() {
            let mut to = vec![0; 8 + len + 8];
            // SAFETY: both have `len` bytes, and are two vectors.
            unsafe { copy(from.as_ptr(), to[8..][..len].as_mut_ptr(), len) };
            let expected = [&[0; 8][..], &from[..len], &[0; 8]].concat();
            assert_eq!(to, expected, "{len}");
        }
    }
}
