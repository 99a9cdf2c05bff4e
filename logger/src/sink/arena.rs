//! The addresses at which log files are mapped: one reservation for the life
//! of the process, so that a chunk's number is all it takes to find its
//! memory. A room for unsafe; knows neither frames nor threads.
//!
//! Chunks are numbered in units of [`UNIT`] bytes, upwards for ever; the
//! address of a unit is its number modulo the size of the reservation.

use crate::sys::Errno;
use core::ffi::c_int;
use core::ptr;
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicU8, AtomicU64, Ordering, compiler_fence};
use logdef_wire::frame::{HEADER_LEN, RESERVED_OFFSET};

/// Bytes of the smallest chunk.
pub(crate) const UNIT: u64 = 16 << 10;

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

/// Stores the frames of one call into reserved memory, each so that it is
/// whole or not there ([`publish_frame`]).
///
/// # Safety
///
/// `at` is valid for writes of `frames.len()` bytes that nobody else writes,
/// and `frames` is a sequence of whole frames with short headers.
pub(crate) unsafe fn publish(at: *mut u8, frames: &[u8]) {
    let mut offset = 0;
    // All lengths before everything else: no frame is lost between two that a
    // reader finds.
    while let Some((_, body)) = split(&frames[offset..]) {
        // SAFETY: a whole frame within `frames`.
        unsafe { claim(at.add(offset), body.len()) };
        offset += HEADER_LEN + body.len();
    }
    compiler_fence(Ordering::SeqCst);
    let mut offset = 0;
    while let Some((checksum, body)) = split(&frames[offset..]) {
        // SAFETY: as above.
        unsafe { publish_frame(at.add(offset), checksum, body) };
        offset += HEADER_LEN + body.len();
    }
}

/// The checksum and the body of the first of some frames.
fn split(frames: &[u8]) -> Option<(u32, &[u8])> {
    let (&[_, _, a, b, c, d, _, _, hi, lo], rest) = frames.split_first_chunk::<HEADER_LEN>()?;
    let len = u16::from_be_bytes([hi, lo]) as usize;
    Some((u32::from_be_bytes([a, b, c, d]), rest.get(..len)?))
}

/// Stores a frame into reserved memory.
///
/// Its length comes first: a reader that meets a frame which was never finished
/// knows where it ends. Its first byte comes last, with release order: whoever
/// sees it sees all of the frame.
///
/// # Safety
///
/// `at` is valid for writes of a frame with this body, which fits a short
/// header, and nobody else writes there.
#[inline(always)]
pub(crate) unsafe fn publish_frame(at: *mut u8, checksum: u32, body: &[u8]) {
    let [hi, _] = (body.len() as u16).to_be_bytes();
    let [a, b, c, d] = checksum.to_be_bytes();
    // SAFETY: all of it lies within the frame. The first byte is stored on its
    // own, a byte is always aligned.
    unsafe {
        claim(at, body.len());
        // A signal handler, or the kill, must find the length before the rest.
        compiler_fence(Ordering::SeqCst);
        copy(body, at.add(HEADER_LEN));
        let header = [0xce, a, b, c, d, 0xc1, 0xda, hi];
        at.add(1).cast::<[u8; 8]>().write_unaligned(header);
        AtomicU8::from_ptr(at).store(0xc1, Ordering::Release);
    }
    // The call must not return before the last store is made.
    compiler_fence(Ordering::SeqCst);
}

/// Stores the part of a frame's header from which its length is known.
///
/// # Safety
///
/// As for [`publish_frame`].
#[inline(always)]
unsafe fn claim(at: *mut u8, body_len: usize) {
    let [hi, lo] = (body_len as u16).to_be_bytes();
    // SAFETY: within the frame.
    unsafe {
        let at = at.add(RESERVED_OFFSET).cast::<[u8; 4]>();
        at.write_unaligned([0xc1, 0xda, hi, lo]);
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
