//! The memory of all threads of a process: mapped as it is needed, never freed, part of
//! it wiped when a process forks. Knows of a thread only that zeros are one.

use super::{Lasting, Thread};
use crate::published::Published;
use crate::sys::{self, Errno};
use core::sync::atomic::Ordering;

/// Few, since a process may have little memory that it may lock, or few addresses.
pub(super) const REGION_THREADS: usize = 4;
const MAX_REGIONS: usize = 16384;

/// Memory of some threads. Both parts of a thread take the same room, so that the one
/// is found from the other by a constant distance.
#[repr(C)]
pub(super) struct Region {
    /// Wiped on fork.
    threads: [Cell<Thread>; REGION_THREADS],
    lasting: [Cell<Lasting>; REGION_THREADS],
}

#[repr(C)]
union Cell<T> {
    part: core::mem::ManuallyDrop<T>,
    room: core::mem::MaybeUninit<[u64; ROOM / 8]>,
}

/// Bytes for each of the parts of a thread.
const ROOM: usize = {
    let (wiped, lasting) = (size_of::<Thread>(), size_of::<Lasting>());
    let larger = if wiped > lasting { wiped } else { lasting };
    larger.next_multiple_of(WIPED_WHOLE / REGION_THREADS)
};

/// The kernel wipes whole pages, of up to 64 KiB.
const WIPED_WHOLE: usize = 64 << 10;

// SAFETY: both parts are shared between threads as they are.
unsafe impl Sync for Region {}

// SAFETY: integers, whose zeros mean no run and no window, and bytes.
unsafe impl sys::Zeroed for Region {}

impl<T> Cell<T> {
    fn part(&self) -> &T {
        // SAFETY: zeros, as which the memory begins, are valid for both parts.
        unsafe { &self.part }
    }
}

impl Region {
    pub(super) const WIPED: usize = core::mem::offset_of!(Region, lasting);

    fn allocate() -> Result<&'static Region, Errno> {
        let region = sys::allocate_wiped_on_fork_to::<Region>(Region::WIPED)?;
        core::ptr::from_ref(region).expose_provenance();
        Ok(region)
    }
}

const _: () = assert!(Region::WIPED.is_multiple_of(WIPED_WHOLE));

/// The memory of all threads of a process: regions of [`REGION_THREADS`],
/// mapped as they are needed, their pages as they are touched.
pub(crate) struct Threads {
    regions: [Published<Region>; MAX_REGIONS],
}

impl Threads {
    pub const fn new() -> Threads {
        Threads {
            regions: [const { Published::new() }; MAX_REGIONS],
        }
    }

    /// Makes the memory of the first threads.
    pub fn prepare(&self) -> Result<(), Errno> {
        let first = &self.regions[0];
        if first.get().is_none() {
            first.publish_first(Region::allocate()?);
        }
        Ok(())
    }

    /// Every thread's memory, owned or not.
    pub fn iter(&self) -> impl Iterator<Item = &'static Thread> {
        let regions = self.regions.iter().map_while(Published::get);
        regions.flat_map(|region| region.threads.iter().map(Cell::part))
    }

    /// Memory for a thread that logs for the first time: that of a thread that
    /// has ended, with the chunk that it left, or new.
    pub fn claim(&self) -> Option<&'static Thread> {
        let thread = self.take().or_else(|| self.take_from_the_dead())?;
        thread.takes_chunk.store(false, Ordering::Relaxed);
        thread.lasting().begin();
        Some(thread)
    }

    fn take(&self) -> Option<&'static Thread> {
        for (index, slot) in self.regions.iter().enumerate() {
            let region = match slot.get() {
                Some(region) => region,
                None => {
                    if index.is_power_of_two()
                        && let Some(thread) = self.take_from_the_dead()
                    {
                        return Some(thread);
                    }
                    // If another thread's region came first, ours stays untouched and
                    // costs no memory.
                    slot.publish_first(Region::allocate().ok()?)
                }
            };
            let mut threads = region.threads.iter().map(Cell::part);
            if let Some(thread) = threads.find(|thread| thread.take()) {
                return Some(thread);
            }
        }
        None
    }

    /// Looked at when the regions have doubled, since each thread's is a system call.
    fn take_from_the_dead(&self) -> Option<&'static Thread> {
        self.iter().find(|thread| thread.take_from_the_dead())
    }

    /// The process is a forked child: of all threads only the calling one is there.
    pub fn keep_only(&self, mine: Option<&Thread>) {
        for thread in self.iter() {
            if mine.is_some_and(|mine| core::ptr::eq(mine, thread)) {
                thread.keep();
            } else {
                thread.release();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_forked_child_uses_the_memory_of_threads_that_it_does_not_have() {
        static THREADS: Threads = Threads::new();
        let mine = THREADS.claim().unwrap();
        let of_another = THREADS.claim().unwrap();
        assert!(!core::ptr::eq(mine, of_another));
        THREADS.keep_only(Some(mine));
        let claimed = THREADS.claim().unwrap();
        assert!(core::ptr::eq(claimed, of_another));
    }
}
