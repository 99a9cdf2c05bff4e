//! The addresses at which log files are mapped: one reservation for the life
//! of the process, so that a chunk's number is all it takes to find its
//! memory. A room for unsafe; knows neither frames nor threads.
//!
//! Chunks are numbered in units of [`UNIT`] bytes, upwards for ever; the
//! address of a unit is its number modulo the size of the reservation.

use super::chunk::{Memory, UNIT};
use crate::sys::Errno;
use core::ffi::c_int;
use core::ptr;
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicU8, AtomicU64, Ordering, compiler_fence};

/// See the module.
pub(crate) struct Arena {
    base: AtomicPtr<u8>,
    /// Units minus one; their number is a power of two.
    mask: AtomicU64,
    /// Set in a forked child that has memory in place of its parent's mappings.
    covered: AtomicBool,
}

impl Arena {
    pub const fn new() -> Arena {
        Arena {
            base: AtomicPtr::new(ptr::null_mut()),
            mask: AtomicU64::new(0),
            covered: AtomicBool::new(false),
        }
    }

    /// Reserves addresses, if there are none yet: as many as the process may
    /// have, up to 256 GiB.
    pub fn reserve(&self) -> Result<(), Errno> {
        if !self.base.load(Ordering::Acquire).is_null() {
            return Ok(());
        }
        let mut len = 256u64 << 30;
        loop {
            // SAFETY: a new mapping without access harms nobody.
            let at = unsafe {
                libc::mmap(
                    ptr::null_mut(),
                    len as usize,
                    libc::PROT_NONE,
                    libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE,
                    -1,
                    0,
                )
            };
            if at != libc::MAP_FAILED {
                // SAFETY: the range was just mapped. A child must not find the
                // parent's log at its addresses.
                unsafe { libc::madvise(at, len as usize, libc::MADV_DONTFORK) };
                self.mask.store(len / UNIT - 1, Ordering::Relaxed);
                self.base.store(at.cast(), Ordering::Release);
                return Ok(());
            }
            if len <= 1 << 30 {
                return Err(Errno::last());
            }
            len /= 2;
        }
    }

    /// The process is a forked child: the mappings stayed with the parent. Puts
    /// memory of its own in their place.
    pub fn cover(&self) {
        let base = self.base.load(Ordering::Relaxed);
        if base.is_null() {
            return;
        }
        // SAFETY: the range was the parent's reservation, and nothing else in
        // this process has had time to be mapped there.
        let at = unsafe {
            libc::mmap(
                base.cast(),
                (self.units() * UNIT) as usize,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE | libc::MAP_FIXED,
                -1,
                0,
            )
        };
        self.covered
            .store(at != libc::MAP_FAILED, Ordering::Relaxed);
    }

    /// The process is a forked child that is to have a log: what covers its
    /// parent's reservation is its own; without that, it needs another.
    pub fn renew(&self) -> Result<(), Errno> {
        if !self.covered.swap(false, Ordering::Relaxed) {
            self.base.store(ptr::null_mut(), Ordering::Relaxed);
        }
        self.reserve()
    }

    /// How many units are reserved.
    pub fn units(&self) -> u64 {
        self.mask.load(Ordering::Relaxed) + 1
    }

    /// The address of a unit.
    #[inline(always)]
    pub fn address(&self, unit: u64) -> *mut u8 {
        let offset = (unit & self.mask.load(Ordering::Relaxed)) * UNIT;
        // SAFETY: within the reservation.
        unsafe { self.base.load(Ordering::Relaxed).add(offset as usize) }
    }

    /// The unit that holds an address, counted from the start of the reservation.
    pub fn unit_of(&self, address: usize) -> Option<u64> {
        let base = self.base.load(Ordering::Relaxed).addr();
        let offset = address.checked_sub(base)? as u64;
        (base != 0 && offset / UNIT < self.units()).then_some(offset / UNIT)
    }

    /// Puts memory of the process's own in place of the page at an address of the
    /// reservation. One system call; for signal handlers.
    pub fn replace_page(&self, address: usize) -> bool {
        const PAGE: usize = 4096;
        let at = self
            .base
            .load(Ordering::Relaxed)
            .with_addr(address & !(PAGE - 1));
        // SAFETY: a page of the reservation, whose content is lost.
        let mapped = unsafe {
            libc::mmap(
                at.cast(),
                PAGE,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED,
                -1,
                0,
            )
        };
        mapped != libc::MAP_FAILED
    }

    /// Maps a file from its start at a unit, in place of what was there. The
    /// memory may be touched as far as the file has blocks.
    pub fn map(&self, unit: u64, units: u64, fd: c_int) -> Result<(), Errno> {
        let at = self.address(unit).cast();
        let len = (units * UNIT) as usize;
        // SAFETY: the range lies within the reservation, which nobody else
        // uses; the caller sees to it that no thread writes there.
        let mapped = unsafe {
            libc::mmap(
                at,
                len,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED | libc::MAP_FIXED,
                fd,
                0,
            )
        };
        if mapped == libc::MAP_FAILED {
            return Err(Errno::last());
        }
        // SAFETY: as above.
        if unsafe { libc::madvise(at, len, libc::MADV_DONTFORK) } != 0 {
            return Err(Errno::last());
        }
        Ok(())
    }

    /// Lets nobody write to units any more: a stray pointer finds no record to
    /// spoil. Not while a call that was interrupted may still store there.
    pub fn seal(&self, unit: u64, units: u64) {
        let len = (units * UNIT) as usize;
        // SAFETY: within the reservation; nobody stores there, by the caller.
        unsafe { libc::mprotect(self.address(unit).cast(), len, libc::PROT_READ) };
    }

    /// Gives the memory of units back to the kernel; their bytes stay in the
    /// file.
    pub fn release(&self, unit: u64, units: u64) {
        let len = (units * UNIT) as usize;
        // SAFETY: within the reservation; the pages of a shared mapping of a
        // file come back with their content when they are touched.
        unsafe { libc::madvise(self.address(unit).cast(), len, libc::MADV_DONTNEED) };
    }

    /// Makes pages ready to be written without a fault.
    pub fn populate(&self, unit: u64, units: u64) -> Result<(), Errno> {
        let len = (units * UNIT) as usize;
        // SAFETY: within the reservation; touches the pages, and reports what
        // would be a signal as an error.
        match unsafe { libc::madvise(self.address(unit).cast(), len, libc::MADV_POPULATE_WRITE) } {
            0 => Ok(()),
            _ => Err(Errno::last()),
        }
    }
}

/// Mapped memory that was taken for frames: valid for writes, and nobody else's.
pub(crate) struct Room(pub *mut u8);

impl Memory for Room {
    #[inline(always)]
    unsafe fn store(&self, offset: usize, bytes: &[u8]) {
        // SAFETY: within the room, by the caller.
        unsafe { copy(bytes, self.0.add(offset)) };
    }

    #[inline(always)]
    unsafe fn publish(&self, offset: usize, byte: u8, order: Ordering) {
        // SAFETY: within the room, by the caller; a byte is always aligned.
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
        // SAFETY: by the caller.
        return unsafe { ptr::copy_nonoverlapping(from, to, bytes.len()) };
    };
    // SAFETY: each piece lies within the bytes.
    let piece = |offset: usize| unsafe {
        let piece = from.add(offset).cast::<[u8; PIECE]>().read_unaligned();
        to.add(offset).cast::<[u8; PIECE]>().write_unaligned(piece);
    };
    let mut offset = 0;
    while offset < last {
        piece(offset);
        offset += PIECE;
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
