//! How threads are made to leave chunks to which nothing more may be written: of a file that
//! was removed, of one that cannot be relied on, of what was pruned. Knows nothing of why.
//!
//! Threads of this process are sent away by name. Those of the other members find out by
//! themselves, since their memory is their own: a count that the family shares says that a
//! member has to leave, and each thread compares it with what it knows before a record that
//! comes a millisecond or more after it last asked for the time.

use super::{Log, Mapped};
use crate::shared::Shared;
use crate::sink::chunk::Place;
use crate::sys::{self, Errno};
use crate::thread::{Thread, own_add};
use crate::window::Range;
use core::ptr;
use core::sync::atomic::{AtomicPtr, AtomicU64, Ordering};

/// How often threads had to leave their chunks, counted by a process and its forked
/// children together.
pub(super) struct Evictions {
    /// In memory that is never given back; null before the first log.
    count: AtomicPtr<AtomicU64>,
}

impl Evictions {
    pub const fn new() -> Evictions {
        Evictions {
            count: AtomicPtr::new(ptr::null_mut()),
        }
    }

    /// Makes the memory, before a log is opened; only one thread at a time.
    pub fn begin(&self) -> Result<(), Errno> {
        if self.count.load(Ordering::Relaxed).is_null() {
            let memory = sys::allocate_shared(size_of::<AtomicU64>())?;
            self.count.store(memory.cast(), Ordering::Release);
        }
        Ok(())
    }

    /// Whether there were more than `known`, which is then brought up to date.
    pub fn have_changed(&self, known: &mut u64) -> bool {
        let count = self
            .count()
            .map_or(0, |count| count.load(Ordering::Acquire));
        core::mem::replace(known, count) != count
    }

    #[inline]
    fn count(&self) -> Option<&AtomicU64> {
        // SAFETY: null, or zeroed memory of a page that `begin` mapped and that is never unmapped.
        unsafe { self.count.load(Ordering::Acquire).as_ref() }
    }
}

impl Mapped {
    /// Makes the thread leave its chunk if nothing more may be written there. Its next
    /// frames find the chunk full.
    #[inline]
    pub fn heed_evictions(&self, thread: &Thread) {
        if let Some(count) = self.evictions.count() {
            let count = count.load(Ordering::Acquire);
            if thread.evictions.load(Ordering::Relaxed) != count {
                self.leave_if_evicted(thread, count);
            }
        }
    }

    #[cold]
    #[inline(never)]
    fn leave_if_evicted(&self, thread: &Thread, count: u64) {
        thread.evictions.store(count, Ordering::Relaxed);
        let place = Place(thread.place.load(Ordering::Relaxed));
        let range = thread.lasting().windows.range(place.chunk());
        let is_evicted = |range| self.log().is_some_and(|log| log.is_evicted(range));
        let has_room = place.size() > 0 && place.used() <= place.size();
        if has_room && range.is_some_and(is_evicted) {
            // Of a chunk that a handler takes meanwhile this wastes the rest.
            own_add(&thread.place, place.size() + 1 - place.used());
        }
    }
}

impl Log<'_> {
    /// Makes the threads that have their places in some ranges, to which nothing more may be
    /// written, leave them before their next calls.
    pub(super) fn send_writers_away(&self, shared: &Shared, of: impl Fn(Range) -> bool) {
        if let Some(count) = self.mapped.evictions.count() {
            count.fetch_add(1, Ordering::AcqRel);
        }
        self.mapped.ahead.ask_for_more();
        for thread in shared.threads.iter() {
            let lasting = thread.lasting();
            let place = Place(thread.place.load(Ordering::Acquire));
            let range = lasting.windows.range(place.chunk());
            if place.size() > 0 && range.is_some_and(&of) {
                thread.send_away();
            }
        }
    }

    /// Whether nothing more may be written to a range.
    pub(super) fn is_evicted(&self, range: Range) -> bool {
        let left_before = self.family.left_before.load(Ordering::SeqCst);
        let is_in_use = |file: super::Reached| !file.file.is_given_up();
        range.turn < left_before
            || self.left_of(range).is_some()
            || !self.file_of_turn(range.turn).is_some_and(is_in_use)
    }
}
