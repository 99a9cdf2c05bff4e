//! Chunks that a helper thread makes ready before a thread wants them, windows that it
//! unmaps when they were left, and files whose space it gives back when the log no longer keeps
//! them: a call that needs another chunk only takes one then. The
//! helper is there if the program asked for it. It claims chunks as every thread does, so
//! that no byte of them is touched once another thread may write there.
//!
//! No thread waits for the helper: it makes what is not ready for itself. Places are
//! taken and filled by one word each. In a forked child there is no helper, and what
//! was ready is the parent's.

use super::claim::{AHEAD, Held};
use super::{Log, Mapped};
use crate::shared::Shared;
use crate::sink::chunk::UNIT;
use crate::sys;
use crate::thread::Thread;
use crate::window::Range;
use core::sync::atomic::{AtomicI32, AtomicPtr, AtomicU32, AtomicU64, Ordering};

/// Chunks that are ready at a time.
const READY: usize = 4;
/// Windows that are to be unmapped at a time.
const LEFT: usize = 8;
/// Smaller windows are unmapped by their threads, in a microsecond.
const LARGE: u64 = 1 << 20;
/// The helper looks after the log this often if no thread wakes it.
const PAUSE_MS: i32 = 60_000;

/// What a helper has made ready, and what it is to unmap.
pub(super) struct Ahead {
    ready: [HeldRange; READY],
    left: [HeldRange; LEFT],
    /// Which helper is to run, the first being 1; less than before: none.
    wanted: AtomicU32,
    started: AtomicU32,
    /// Why there is no helper though it was asked for.
    failed: AtomicI32,
    /// Changes when a helper has something to do.
    bell: AtomicU32,
}

/// Room for one mapped range.
struct HeldRange {
    state: AtomicU32,
    base: AtomicPtr<u8>,
    turn: AtomicU64,
    offset: AtomicU64,
    len: AtomicU64,
}

const EMPTY: u32 = 0;
const CHANGING: u32 = 1;
const FILLED: u32 = 2;

impl HeldRange {
    const fn new() -> HeldRange {
        HeldRange {
            state: AtomicU32::new(EMPTY),
            base: AtomicPtr::new(core::ptr::null_mut()),
            turn: AtomicU64::new(0),
            offset: AtomicU64::new(0),
            len: AtomicU64::new(0),
        }
    }

    fn change(&self, from: u32) -> bool {
        let (order, failed) = (Ordering::Acquire, Ordering::Relaxed);
        self.state
            .compare_exchange(from, CHANGING, order, failed)
            .is_ok()
    }

    fn is_empty(&self) -> bool {
        self.state.load(Ordering::Relaxed) == EMPTY
    }

    fn is_filled(&self) -> bool {
        self.state.load(Ordering::Relaxed) == FILLED
    }

    /// Puts a range here, unless one is there.
    fn put(&self, Held { base, range }: Held) -> bool {
        let is_mine = self.change(EMPTY);
        if is_mine {
            self.base.store(base, Ordering::Relaxed);
            self.turn.store(range.turn, Ordering::Relaxed);
            self.offset.store(range.offset, Ordering::Relaxed);
            self.len.store(range.len, Ordering::Relaxed);
            self.state.store(FILLED, Ordering::Release);
        }
        is_mine
    }

    /// Takes the range that is here.
    fn take(&self) -> Option<Held> {
        self.change(FILLED).then(|| {
            let range = Range {
                turn: self.turn.load(Ordering::Relaxed),
                offset: self.offset.load(Ordering::Relaxed),
                len: self.len.load(Ordering::Relaxed),
            };
            let base = self.base.load(Ordering::Relaxed);
            self.state.store(EMPTY, Ordering::Release);
            Held { base, range }
        })
    }
}

impl Ahead {
    pub const fn new() -> Ahead {
        Ahead {
            ready: [const { HeldRange::new() }; READY],
            left: [const { HeldRange::new() }; LEFT],
            wanted: AtomicU32::new(0),
            started: AtomicU32::new(0),
            failed: AtomicI32::new(0),
            bell: AtomicU32::new(0),
        }
    }

    /// Whether a helper runs.
    pub fn has_helper(&self) -> bool {
        self.wanted.load(Ordering::SeqCst) != 0
    }

    /// Whether a helper runs (1), cannot be had (the errno, below zero), or was not wanted (0).
    pub fn state(&self) -> i32 {
        if self.has_helper() {
            1
        } else {
            -self.failed.load(Ordering::Relaxed)
        }
    }

    /// Asks the helper, if there is one, to look what is to be done.
    pub fn ask_for_more(&self) {
        if self.has_helper() {
            self.bell.fetch_add(1, Ordering::Release);
            sys::wake_one(&self.bell);
        }
    }

    /// Leaves a window to the helper, which will unmap it. `false` without a helper, or
    /// if its places for windows are full.
    pub fn leave(&self, base: *mut u8, len: u64) -> bool {
        let range = Range {
            turn: 0,
            offset: 0,
            len,
        };
        let held = Held { base, range };
        len >= LARGE && self.has_helper() && self.left.iter().any(|place| place.put(held))
    }

    fn unmap_left(&self) {
        while let Some(held) = self.left.iter().find_map(HeldRange::take) {
            sys::unmap(held.base, held.range.len as usize);
        }
    }

    /// The process is a forked child, without a helper: what it has mapped is its parent's.
    pub fn leave_to_parent(&self) {
        self.wanted.store(0, Ordering::Relaxed);
        self.unmap_left();
        for place in &self.ready {
            if let Some(held) = place.take() {
                sys::unmap(held.base, held.range.len as usize);
            }
        }
        // One that another thread was changing when the process forked stays mapped.
        for place in self.ready.iter().chain(&self.left) {
            place.state.store(EMPTY, Ordering::Relaxed);
        }
    }
}

impl Mapped {
    /// Starts a helper, which also calls `each_round`, again after at most as
    /// many milliseconds as that returns. Not for handlers.
    pub fn start_helper(&'static self, shared: &'static Shared, each_round: fn() -> i32) {
        let ahead = &self.ahead;
        let number = ahead.started.fetch_add(1, Ordering::Relaxed) + 1;
        ahead.wanted.store(number, Ordering::Release);
        let started = sys::start_thread("logdef", move || self.help(shared, number, each_round));
        let failed = started.err().map_or(0, |errno| errno.0);
        ahead.failed.store(failed, Ordering::Relaxed);
        if failed != 0 {
            ahead.wanted.store(0, Ordering::Release);
        }
    }

    /// Ends the helper, if there is one, gives up what is ready, and does what was left to it. Not
    /// for handlers.
    pub fn stop_helper(&self, shared: &Shared) {
        let ahead = &self.ahead;
        ahead.failed.store(0, Ordering::Relaxed);
        if ahead.wanted.swap(0, Ordering::SeqCst) != 0 {
            ahead.bell.fetch_add(1, Ordering::Release);
            sys::wake_one(&ahead.bell);
            self.finish_last_rotation(shared);
            self.give_up_ready();
        }
    }

    /// What the helper does for as long as it is wanted.
    fn help(&self, shared: &Shared, number: u32, each_round: fn() -> i32) {
        let ahead = &self.ahead;
        let mut evictions = 0;
        let is_wanted = || ahead.wanted.load(Ordering::Acquire) == number;
        while is_wanted() {
            let bell = ahead.bell.load(Ordering::Acquire);
            ahead.unmap_left();
            if let Some(log) = self.log() {
                if self.evictions.have_changed(&mut evictions) {
                    log.give_up_evicted();
                }
                log.settle_rotation(shared);
                log.make_ready(is_wanted);
                log.empty_old_files(|| log.make_ready(is_wanted));
            }
            let pause_ms = each_round().min(PAUSE_MS);
            if is_wanted() {
                sys::wait_while(&ahead.bell, bell, pause_ms);
            }
        }
        // Another may run already.
        if !ahead.has_helper() {
            self.give_up_ready();
        }
    }

    fn give_up_ready(&self) {
        self.ahead.unmap_left();
        let ready = || self.ahead.ready.iter().find_map(HeldRange::take);
        if let Some(log) = self.log() {
            while let Some(held) = ready() {
                log.give_back_ready(held);
            }
            log.empty_old_files(|| {});
        }
    }
}

impl Log<'_> {
    /// A chunk of as many units as `fits` wants that is ready, unless nothing may be written there
    /// any more. It is of no file before the thread's newest, nor of a part of that before the one
    /// where the thread was: what a thread logs later is pruned later.
    pub(super) fn take_ready(&self, thread: &Thread, fits: impl Fn(u64) -> bool) -> Option<Held> {
        let has_size =
            |held: &&HeldRange| held.is_filled() && fits(held.len.load(Ordering::Relaxed) / UNIT);
        let ready = || {
            let mut sized = self.mapped.ahead.ready.iter().filter(has_size);
            sized.find_map(HeldRange::take)
        };
        let part = self.family.file_units.load(Ordering::Relaxed);
        let newest = thread.lasting().windows.newest();
        let in_parts = |(turn, offset)| (turn, offset / UNIT / part);
        while let Some(held) = ready() {
            let Range { turn, offset, .. } = held.range;
            if in_parts((turn, offset)) < in_parts(newest) {
                self.give_back_ready(held);
            } else if !self.is_evicted(held.range) && fits(held.range.len / UNIT) {
                return Some(held);
            } else {
                self.discard(held);
            }
        }
        None
    }

    /// Fills the places for chunks. The first chunk of a file is left to a thread that
    /// needs one, so that the file begins with frames.
    fn make_ready(&self, is_wanted: impl Fn() -> bool) {
        for place in &self.mapped.ahead.ready {
            let now = || sys::clock(libc::CLOCK_MONOTONIC_COARSE);
            let current = self.family.current.load(Ordering::Acquire);
            let is_begun = self.file_of(current).file.claimed_bytes() > 0;
            let can_be_had = is_begun && !self.mapped.retry.is_paused(now);
            if !is_wanted() || !can_be_had {
                return;
            }
            if place.is_empty() {
                let Some(Ok(held)) = self.try_current(current, AHEAD, 0).claimed else {
                    return;
                };
                if !place.put(held) {
                    self.give_back_ready(held);
                }
            }
        }
    }

    /// Gives up what is ready of files and ranges to which nothing more may be written.
    fn give_up_evicted(&self) {
        for place in &self.mapped.ahead.ready {
            if let Some(held) = place.take()
                && (self.is_evicted(held.range) || !place.put(held))
            {
                self.discard(held);
            }
        }
    }

    fn give_back_ready(&self, held: Held) {
        self.discard(held);
        if let Some(file) = self.file_of_turn(held.range.turn) {
            let (at, units) = (held.range.offset / UNIT, held.range.len / UNIT);
            file.give_back(held.range.turn, at, units);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::opened;
    use super::*;
    use crate::sink::rotation::Rotation;
    use crate::thread::Threads;

    /// The helper had found that a chunk was claimed of the file, and claimed one of the next, which began with
    /// zeros then: when the log was opened again it was not taken for a log, and stayed.
    #[test]
    fn a_chunk_is_claimed_of_the_file_that_was_looked_at_or_of_none() {
        static THREADS: Threads = Threads::new();
        static SHARED: Shared = Shared::new(&THREADS);
        let directory = tempfile::tempdir().unwrap();
        let rotation = Rotation {
            file_size: Some(1 << 20),
            ..Rotation::default()
        };
        let mapped = opened(&directory.path().join("log"), rotation);
        let log = mapped.log().unwrap();
        let current = || log.family.current.load(Ordering::Acquire);

        let looked_at = current();
        let held = log.try_current(looked_at, 0, 0).claimed.unwrap().unwrap();
        log.discard(held);
        log.rotate(&SHARED, looked_at).unwrap();
        assert!(log.try_current(looked_at, AHEAD, 0).claimed.is_none());
        assert_eq!(log.file_of(current()).file.claimed_bytes(), 0);
        log.make_ready(|| true);
        assert!(mapped.ahead.ready.iter().all(HeldRange::is_empty));
    }
}
