//! Which thread the memory of a thread belongs to. Known beyond a fork: in a forked child
//! the memory of the thread that forked is not another's, though it reads as zeros and that
//! thread has not logged yet. Knows nothing of what is in the memory.

use crate::sys;
use core::sync::atomic::{AtomicU64, Ordering};

/// The kernel's ids of the owner's process and of the owner, and how often the memory was
/// taken, so that one owner is distinguished from a later one with the same ids. Zeros mean
/// that there is no owner.
pub(super) struct Owner(AtomicU64);

/// The kernel's ids are smaller than 2²².
const ID_BITS: u32 = 22;
const IDS: u64 = (1 << (2 * ID_BITS)) - 1;

impl Owner {
    /// The memory is the calling thread's, unless it is another's.
    pub fn take(&self) -> bool {
        let before = self.0.load(Ordering::Relaxed);
        before & IDS == 0 && self.replace(before)
    }

    /// The same, if the owner was a thread of this process that has ended: it logged after
    /// its last destructor had run, in a signal handler.
    pub fn take_from_the_dead(&self) -> bool {
        let before = self.0.load(Ordering::Relaxed);
        let ids = before & IDS;
        let (process, thread) = (ids >> ID_BITS, ids & ((1 << ID_BITS) - 1));
        process == u64::from(sys::process_id())
            && !sys::thread_exists(thread as u32)
            && self.replace(before)
    }

    fn replace(&self, before: u64) -> bool {
        let taken = (before & !IDS).wrapping_add(IDS + 1) | caller();
        let (success, failure) = (Ordering::Acquire, Ordering::Relaxed);
        self.0
            .compare_exchange(before, taken, success, failure)
            .is_ok()
    }

    /// The memory is the calling thread's, which has it already.
    pub fn set(&self) {
        let before = self.0.load(Ordering::Relaxed);
        self.0.store(before & !IDS | caller(), Ordering::Relaxed);
    }

    /// The memory has no owner.
    pub fn clear(&self) {
        self.0.fetch_and(!IDS, Ordering::Release);
    }
}

/// The ids of the calling thread.
fn caller() -> u64 {
    u64::from(sys::process_id()) << ID_BITS | u64::from(sys::thread_id())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_nobodys_or_a_dead_threads_is_taken() {
        let owner = Owner(AtomicU64::new(0));
        assert!(owner.take() && !owner.take() && !owner.take_from_the_dead());
        owner.clear();
        let ended = std::thread::scope(|scope| scope.spawn(|| owner.take()).join().unwrap());
        assert!(ended && !owner.take());
        // The kernel forgets a thread shortly after it was joined.
        while !owner.take_from_the_dead() {
            std::thread::yield_now();
        }
        assert_eq!(owner.0.load(Ordering::Relaxed) & IDS, caller());
        // As a forked child finds it: whether its thread is the one that forked is not known.
        let parents = (u64::from(sys::process_id()) + 1) << ID_BITS | 1;
        owner.0.store(parents, Ordering::Relaxed);
        assert!(!owner.take() && !owner.take_from_the_dead());
    }
}
