//! Mapped memory into which frames are stored. A room for unsafe; knows neither threads
//! nor files.

use super::chunk::Memory;
use core::ptr;
use core::sync::atomic::{AtomicU8, Ordering, compiler_fence};

/// Mapped memory that was taken for frames: valid for writes, and used by nothing else.
pub(crate) struct Room(pub *mut u8);

impl Memory for Room {
    #[inline(always)]
    unsafe fn store(&self, offset: usize, bytes: &[u8]) {
        // SAFETY: the contract of `Memory` is that the bytes lie within the room.
        unsafe { copy(bytes, self.0.add(offset)) };
    }

    #[inline(always)]
    unsafe fn publish(&self, offset: usize, byte: u8, order: Ordering) {
        // SAFETY: the contract of `Memory` is that the byte lies within the room; a byte is always aligned.
        unsafe { AtomicU8::from_ptr(self.0.add(offset)) }.store(byte, order);
    }

    #[inline(always)]
    fn barrier(&self) {
        compiler_fence(Ordering::SeqCst);
    }
}

/// Copies in pieces of sixteen bytes, the last of which overlaps the one before:
/// for the hundred bytes of a record a call of `memcpy` would cost more than the
/// copying.
///
/// # Safety
///
/// `to` is valid for writes of as many bytes and overlaps nothing.
#[inline(always)]
unsafe fn copy(bytes: &[u8], to: *mut u8) {
    const PIECE: usize = 16;
    let from = bytes.as_ptr();
    let Some(last) = bytes.len().checked_sub(PIECE) else {
        // SAFETY: `to` takes as many bytes and does not overlap them (this function's contract).
        return unsafe { ptr::copy_nonoverlapping(from, to, bytes.len()) };
    };
    // SAFETY: each piece lies within the bytes.
    let piece = |offset: usize| unsafe {
        let piece = from.add(offset).cast::<[u8; PIECE]>().read_unaligned();
        to.add(offset).cast::<[u8; PIECE]>().write_unaligned(piece);
    };
    let mut offset = 0;
    while offset + PIECE < last {
        piece(offset);
        piece(offset + PIECE);
        offset += 2 * PIECE;
    }
    if offset < last {
        piece(offset);
    }
    piece(last);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sink::chunk;
    use logdef_wire::frame;

    #[test]
    fn a_frame_of_any_length_is_stored_and_nothing_beside_it() {
        for len in (0..70).chain([255, 256, 1000]) {
            let body: Vec<u8> = (0..len).map(|n| n as u8).collect();
            let (header, header_len) = frame::header(&body);
            let one = [&header[..header_len], &body].concat();
            let two = [&one[..], &one].concat();
            for frames in [&one, &two] {
                let mut memory = vec![0; 16 + frames.len() + 16];
                let room = Room(memory[16..][..frames.len()].as_mut_ptr());
                // SAFETY: as long as the frames.
                unsafe { chunk::put(&room, frames) };
                let (before, rest) = memory.split_at(16);
                assert_eq!(&rest[..frames.len()], frames, "{len}");
                assert!(before.iter().chain(&rest[frames.len()..]).all(|b| *b == 0));
            }
        }
    }
}
