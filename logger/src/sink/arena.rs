//! The addresses at which log files are mapped: one reservation for the life
//! of the process, so that a chunk's number is all it takes to find its
//! memory. A room for unsafe; knows neither frames nor threads.
//!
//! Chunks are numbered in units of [`UNIT`] bytes, upwards for ever; the
//! address of a unit is its number modulo the size of the reservation.

use crate::sys::Errno;
use core::ffi::c_int;
use core::ptr;
use core::sync::atomic::{AtomicPtr, AtomicU8, AtomicU64, Ordering, compiler_fence};
use logdef_wire::frame::{HEADER_LEN, RESERVED_OFFSET};

/// Bytes of the smallest chunk.
pub(crate) const UNIT: u64 = 16 << 10;

/// See the module.
pub(crate) struct Arena {
    base: AtomicPtr<u8>,
    /// Units minus one; their number is a power of two.
    mask: AtomicU64,
}

impl Arena {
    pub const fn new() -> Arena {
        Arena {
            base: AtomicPtr::new(ptr::null_mut()),
            mask: AtomicU64::new(0),
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

    /// The process is a forked child: the reservation stayed with the parent.
    pub fn forget(&self) {
        self.base.store(ptr::null_mut(), Ordering::Relaxed);
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
/// whole or not there.
///
/// The lengths come first: a reader that meets a frame which was never
/// finished knows where it ends. A frame's first byte comes last, with release
/// order: whoever sees it sees all of the frame.
///
/// # Safety
///
/// `at` is valid for writes of `frames.len()` bytes that nobody else writes,
/// and `frames` is a sequence of whole frames with short headers.
pub(crate) unsafe fn publish(at: *mut u8, frames: &[u8]) {
    let frame_len = |offset: usize| {
        let len = [frames[offset + 8], frames[offset + 9]];
        HEADER_LEN + u16::from_be_bytes(len) as usize
    };
    let mut offset = 0;
    while offset < frames.len() {
        // SAFETY: bytes 6 to 9 of a whole frame within `frames`.
        unsafe {
            let from = frames.as_ptr().add(offset + RESERVED_OFFSET);
            ptr::copy_nonoverlapping(from, at.add(offset + RESERVED_OFFSET), 4);
        }
        offset += frame_len(offset);
    }
    // A signal handler, or the kill, must find the lengths before the rest.
    compiler_fence(Ordering::SeqCst);
    let mut offset = 0;
    while offset < frames.len() {
        let len = frame_len(offset);
        // SAFETY: a whole frame within `frames`.
        unsafe { publish_frame(at.add(offset), &frames[offset..offset + len]) };
        offset += len;
    }
}

/// [`publish`] of one frame, of the length that `frame` has.
///
/// # Safety
///
/// As for [`publish`].
#[inline(always)]
pub(crate) unsafe fn publish_frame(at: *mut u8, frame: &[u8]) {
    debug_assert!(frame.len() > PIECE);
    let from = frame.as_ptr();
    // SAFETY: all of it lies within the frame, which is longer than a piece: a
    // header and the start of a map. The first byte is stored on its own, a byte
    // is always aligned.
    unsafe {
        let piece = |offset: usize| {
            let bytes = from.add(offset).cast::<[u8; PIECE]>().read_unaligned();
            at.add(offset).cast::<[u8; PIECE]>().write_unaligned(bytes);
        };
        ptr::copy_nonoverlapping(from.add(RESERVED_OFFSET), at.add(RESERVED_OFFSET), 4);
        compiler_fence(Ordering::SeqCst);
        let last = frame.len() - PIECE;
        let mut offset = 1;
        while offset < last {
            piece(offset);
            offset += PIECE;
        }
        piece(last);
        AtomicU8::from_ptr(at).store(*from, Ordering::Release);
    }
    // The call must not return before the last store is made.
    compiler_fence(Ordering::SeqCst);
}

/// Frames are copied in pieces of so many bytes: a call of `memcpy` would cost
/// more than the copying.
const PIECE: usize = 16;
