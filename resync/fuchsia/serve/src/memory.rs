//! Shared memory files: written by one process, sealed against all others, read by many.
//!
//! This is one of the rooms of `unsafe` here. Every access is an atomic load or store of a word, because
//! another process may change the memory at any time; nothing outside sees a pointer or a slice of it.

use std::io;
use std::ops::Range;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::ptr::{NonNull, null_mut};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use rustix::fs::{
    MemfdFlags, SealFlags, fcntl_add_seals, fcntl_get_seals, fstat, ftruncate, memfd_create,
};
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};

const WORD: usize = 8;

/// A mapping of a memory file whose size cannot change.
#[derive(Debug)]
struct Mapping {
    start: NonNull<AtomicU64>,
    words: usize,
}

// SAFETY: the mapping is owned by this value until it is dropped, and all access to it is atomic.
unsafe impl Send for Mapping {}
// SAFETY: all access to the mapping is atomic.
unsafe impl Sync for Mapping {}

impl Mapping {
    /// Maps the first `length` bytes, a multiple of 8, of a file that has as many and keeps them.
    fn new(file: BorrowedFd<'_>, length: usize, protection: ProtFlags) -> io::Result<Self> {
        debug_assert!(length >= WORD && length.is_multiple_of(WORD));
        // SAFETY: a new mapping at an address of the kernel's choice aliases nothing.
        let start = unsafe { mmap(null_mut(), length, protection, MapFlags::SHARED, file, 0)? };
        let start = NonNull::new(start.cast()).ok_or(io::ErrorKind::InvalidData)?;
        let words = length / WORD;
        Ok(Self { start, words })
    }

    fn words(&self) -> &[AtomicU64] {
        // SAFETY: `new` mapped this many words at this page-aligned address and only `drop` unmaps them;
        // the file cannot shrink (its creator sized and sealed it, a reader checked the seal), so every
        // word stays backed.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.words) }
    }

    /// The 32-bit field at `offset`, a multiple of 4; never used on a word that is also used whole.
    fn half(&self, offset: usize) -> &AtomicU32 {
        assert!(offset.is_multiple_of(4) && offset < self.words * WORD);
        // SAFETY: within the mapping and aligned, as just checked; backed as in `words`.
        unsafe { &*self.start.as_ptr().cast::<AtomicU32>().add(offset / 4) }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: `new` made this mapping and no reference into it outlives `self`.
        let unmapped = unsafe { munmap(self.start.as_ptr().cast(), self.words * WORD) };
        debug_assert!(unmapped.is_ok());
    }
}

/// A memory file that only this process can write.
#[derive(Debug)]
pub(crate) struct WritableMemory {
    mapping: Mapping,
    file: OwnedFd,
}

impl WritableMemory {
    /// Creates a file of `length` zero bytes, a multiple of 8, maps it, and seals it: from
    /// then on it can be written only through this mapping, and not be resized or unsealed.
    pub(crate) fn create(name: &str, length: usize) -> io::Result<Self> {
        let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
        // Kernels before 6.3 do not know that a memory file may be barred from execution.
        let file = memfd_create(name, flags | MemfdFlags::NOEXEC_SEAL)
            .or_else(|_| memfd_create(name, flags))?;
        ftruncate(&file, length as u64)?;
        let mapping = Mapping::new(file.as_fd(), length, ProtFlags::READ | ProtFlags::WRITE)?;
        fcntl_add_seals(
            &file,
            SealFlags::SHRINK | SealFlags::GROW | SealFlags::FUTURE_WRITE | SealFlags::SEAL,
        )?;
        Ok(Self { mapping, file })
    }

    /// The file, to be sent to readers.
    pub(crate) fn file(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }

    /// The 32-bit field at `offset`.
    pub(crate) fn u32_at(&self, offset: usize) -> &AtomicU32 {
        self.mapping.half(offset)
    }

    /// The 64-bit field at `offset`, a multiple of 8.
    pub(crate) fn u64_at(&self, offset: usize) -> &AtomicU64 {
        &self.mapping.words()[offset / WORD]
    }

    /// Writes whole words at `offset`, a multiple of 8.
    pub(crate) fn write(&mut self, offset: usize, bytes: &[u8]) {
        let (words, rest) = bytes.as_chunks::<WORD>();
        debug_assert!(rest.is_empty() && offset.is_multiple_of(WORD));
        let room = &self.mapping.words()[offset / WORD..][..words.len()];
        for (to, from) in room.iter().zip(words) {
            to.store(u64::from_le_bytes(*from), Ordering::Relaxed);
        }
    }

    /// Zeroes the words in `range`, whose ends are multiples of 8.
    pub(crate) fn zero(&mut self, range: Range<usize>) {
        for word in &self.mapping.words()[range.start / WORD..range.end / WORD] {
            word.store(0, Ordering::Relaxed);
        }
    }
}

/// A memory file that another process writes.
#[derive(Debug)]
pub(crate) struct ReadableMemory {
    mapping: Mapping,
}

impl ReadableMemory {
    /// Maps a file for reading after checking that it is a memory file of at most `limit` bytes whose
    /// size is sealed and which only its creator can write.
    pub(crate) fn map(file: BorrowedFd<'_>, minimum: usize, limit: usize) -> io::Result<Self> {
        let refuse = |why: &'static str| Err(io::Error::new(io::ErrorKind::InvalidData, why));
        let Ok(seals) = fcntl_get_seals(file) else {
            return refuse("not a memory file");
        };
        if !seals.contains(SealFlags::SHRINK | SealFlags::GROW) {
            return refuse("the size of the memory file is not sealed");
        }
        if !seals.intersects(SealFlags::FUTURE_WRITE | SealFlags::WRITE) {
            return refuse("the content of the memory file is not sealed");
        }
        let length = usize::try_from(fstat(file)?.st_size).unwrap_or(usize::MAX);
        if !(minimum..=limit).contains(&length) || !length.is_multiple_of(WORD) {
            return refuse("the memory file has an unusable size");
        }
        let mapping = Mapping::new(file, length, ProtFlags::READ)?;
        Ok(Self { mapping })
    }

    /// Bytes in the file.
    pub(crate) fn length(&self) -> usize {
        self.mapping.words * WORD
    }

    /// The 32-bit field at `offset`; only to be loaded or waited on.
    pub(crate) fn u32_at(&self, offset: usize) -> &AtomicU32 {
        self.mapping.half(offset)
    }

    /// The 64-bit field at `offset`, a multiple of 8; only to be loaded.
    pub(crate) fn u64_at(&self, offset: usize) -> &AtomicU64 {
        &self.mapping.words()[offset / WORD]
    }

    /// Copies the words in `range`, whose ends are multiples of 8, to `out`.
    pub(crate) fn copy(&self, range: Range<usize>, out: &mut Vec<u8>) {
        out.clear();
        out.reserve(range.len());
        for word in &self.mapping.words()[range.start / WORD..range.end / WORD] {
            out.extend_from_slice(&word.load(Ordering::Relaxed).to_le_bytes());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reader_sees_what_was_written_and_can_do_nothing_else() {
        let mut memory = WritableMemory::create("test", 4096).unwrap();
        let reader = ReadableMemory::map(memory.file(), 64, 4096).unwrap();
        memory.write(64, &[1, 2, 3, 4, 5, 6, 7, 8]);
        let mut copy = Vec::new();
        reader.copy(56..72, &mut copy);
        assert_eq!(copy, [0, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8]);
        memory.zero(64..72);
        assert_eq!(reader.u64_at(64).load(Ordering::Relaxed), 0);

        // With the very descriptor that readers get:
        let file = memory.file();
        let writable = Mapping::new(file, 4096, ProtFlags::READ | ProtFlags::WRITE);
        assert_eq!(
            writable.unwrap_err().kind(),
            io::ErrorKind::PermissionDenied
        );
        assert!(rustix::io::pwrite(file, b"x", 0).is_err());
        assert!(ftruncate(file, 0).is_err());
        assert!(ftruncate(file, 8192).is_err());
        assert!(fcntl_add_seals(file, SealFlags::WRITE).is_err());
    }

    #[test]
    fn files_that_could_hurt_their_reader_are_refused() {
        let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
        let sized = |length| {
            let file = memfd_create("test", flags).unwrap();
            ftruncate(&file, length).unwrap();
            file
        };
        let map = |file: &OwnedFd| ReadableMemory::map(file.as_fd(), 64, 4096).map(|_| ());
        let size = SealFlags::SHRINK | SealFlags::GROW;

        let file = sized(4096);
        assert!(map(&file).is_err(), "nothing sealed");
        fcntl_add_seals(&file, size).unwrap();
        assert!(map(&file).is_err(), "content not sealed");
        fcntl_add_seals(&file, SealFlags::WRITE).unwrap();
        map(&file).unwrap();

        for length in [0, 56, 4100, 8192] {
            let file = sized(length);
            fcntl_add_seals(&file, size | SealFlags::WRITE).unwrap();
            assert!(map(&file).is_err(), "{length} bytes");
        }
        let regular = OwnedFd::from(tempfile::tempfile().unwrap());
        assert!(map(&regular).is_err(), "a regular file");
    }
}
