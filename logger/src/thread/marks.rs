//! What the chunk that a thread writes to already defines. A mark is never a flag that must
//! be cleared: it is the id of the chunk for which it holds, and a new chunk makes all marks
//! stale at once.

use super::Thread;
use core::sync::atomic::{AtomicU8, AtomicU32, AtomicU64, Ordering, compiler_fence};

/// Sites with numbers beyond this are defined again at each call.
const MAX_SITES: usize = 16 << 10;
const ADDRESS_SETS: usize = 2048;
const ADDRESS_WAYS: usize = 2;

/// A chunk's id for each thing that it defines.
#[repr(C)]
pub(super) struct Marks {
    thread: AtomicU32,
    images: [AtomicU32; 256],
    files: [AtomicU32; crate::image::Images::MAX_FILES],
    addresses: [[AddressMark; ADDRESS_WAYS]; ADDRESS_SETS],
    victim: AtomicU8,
    sites: [AtomicU32; MAX_SITES],
}

struct AddressMark {
    chunk: AtomicU32,
    address: AtomicU64,
}

impl Marks {
    /// The thread is not defined in any chunk.
    pub(super) fn forget_thread(&self) {
        self.thread.store(0, Ordering::Relaxed);
    }

    /// Nothing is defined in any chunk.
    pub(super) fn forget(&self) {
        self.forget_thread();
        let addresses = self.addresses.iter().flatten().map(|mark| &mark.chunk);
        let all = self.images.iter().chain(&self.files).chain(&self.sites);
        all.chain(addresses)
            .for_each(|mark| mark.store(0, Ordering::Relaxed));
    }
}

impl Thread {
    /// Whether a chunk defines this thread.
    #[inline]
    pub fn has_thread(&self, chunk: u32) -> bool {
        self.marks.thread.load(Ordering::Relaxed) == chunk
    }

    /// Marks the thread as defined; after its logdef was published.
    pub fn mark_thread(&self, chunk: u32) {
        self.marks.thread.store(chunk, Ordering::Relaxed);
    }

    /// Whether a chunk defines the format and file of a site.
    #[inline]
    pub fn has_site(&self, id: u32, chunk: u32) -> bool {
        let mark = self.marks.sites.get(id as usize);
        mark.is_some_and(|mark| mark.load(Ordering::Relaxed) == chunk)
    }

    /// Marks a site as defined; after its logdefs were published.
    pub fn mark_site(&self, id: u32, chunk: u32) {
        if let Some(mark) = self.marks.sites.get(id as usize) {
            mark.store(chunk, Ordering::Relaxed);
        }
    }

    /// Whether a chunk defines a file name.
    pub fn has_file(&self, file: u16, chunk: u32) -> bool {
        let mark = self.marks.files.get(file as usize);
        mark.is_some_and(|mark| mark.load(Ordering::Relaxed) == chunk)
    }

    /// Marks a file name as defined.
    pub fn mark_file(&self, file: u16, chunk: u32) {
        if let Some(mark) = self.marks.files.get(file as usize) {
            mark.store(chunk, Ordering::Relaxed);
        }
    }

    /// Whether a chunk holds the preamble of an image.
    pub fn has_image(&self, image: u8, chunk: u32) -> bool {
        self.marks.images[image as usize].load(Ordering::Relaxed) == chunk
    }

    /// Marks an image's preamble as written.
    pub fn mark_image(&self, image: u8, chunk: u32) {
        self.marks.images[image as usize].store(chunk, Ordering::Relaxed);
    }

    /// Whether a chunk defines a code address.
    pub fn has_address(&self, address: u64, chunk: u32) -> bool {
        // The chunk is read first. If a handler replaces the entry between the
        // two reads and the address still matches, the handler defined it.
        address_set(&self.marks.addresses, address)
            .iter()
            .any(|mark| {
                let of = mark.chunk.load(Ordering::Relaxed);
                compiler_fence(Ordering::SeqCst);
                of == chunk && mark.address.load(Ordering::Relaxed) == address
            })
    }

    /// Marks a code address as defined. An older one may be forgotten for it,
    /// and is then defined again.
    pub fn mark_address(&self, address: u64, chunk: u32) {
        let set = address_set(&self.marks.addresses, address);
        let stale = set
            .iter()
            .position(|mark| mark.chunk.load(Ordering::Relaxed) != chunk);
        let way = stale.unwrap_or_else(|| {
            let victim = self.marks.victim.load(Ordering::Relaxed);
            self.marks
                .victim
                .store(victim.wrapping_add(1), Ordering::Relaxed);
            victim as usize % ADDRESS_WAYS
        });
        set[way].chunk.store(0, Ordering::Relaxed);
        compiler_fence(Ordering::SeqCst);
        set[way].address.store(address, Ordering::Relaxed);
        compiler_fence(Ordering::SeqCst);
        set[way].chunk.store(chunk, Ordering::Relaxed);
    }
}

fn address_set(
    sets: &[[AddressMark; ADDRESS_WAYS]; ADDRESS_SETS],
    address: u64,
) -> &[AddressMark; ADDRESS_WAYS] {
    let hash = address.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - ADDRESS_SETS.ilog2());
    &sets[hash as usize % ADDRESS_SETS]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::thread::tests::thread;

    #[test]
    fn marks_hold_for_one_chunk() {
        let thread = thread();
        assert!(!thread.has_site(7, 1));
        thread.mark_site(7, 1);
        thread.mark_file(3, 1);
        thread.mark_image(0, 1);
        assert!(thread.has_site(7, 1) && thread.has_file(3, 1) && thread.has_image(0, 1));
        assert!(!thread.has_site(7, 2) && !thread.has_file(3, 2) && !thread.has_image(0, 2));
        thread.mark_site(MAX_SITES as u32, 1);
        assert!(!thread.has_site(MAX_SITES as u32, 1));
    }

    #[test]
    fn addresses_are_remembered_until_they_are_crowded_out() {
        let thread = thread();
        for address in 0..100_000u64 {
            thread.mark_address(address, 9);
            assert!(thread.has_address(address, 9));
            assert!(!thread.has_address(address, 8));
        }
        let kept = (0..100_000).filter(|a| thread.has_address(*a, 9)).count();
        assert_eq!(kept, ADDRESS_SETS * ADDRESS_WAYS);
    }
}
