//! What is to be done once a file has followed another: the log's path is to lead to it, and
//! what is not kept any more is to go. The file system may take milliseconds for that, so
//! the helper does it, if there is one; else the thread that made the file.
//!
//! A log that is killed in between has its newest records under a number to which its path
//! does not lead, and one file too many.

use super::super::family::SLOT_BITS;
use super::super::names::UNNUMBERED;
use super::{Log, Mapped};
use crate::shared::Shared;
use crate::sys;
use core::sync::atomic::{AtomicU32, Ordering};

/// For how long a thread waits for another that is at it.
const PATIENCE_MS: u32 = 1000;

/// For how many rotations one after another a thread sees to the link: one that was about to set it
/// when others overtook it has to set it once more.
const ROTATIONS: u32 = 16;

/// Whether something is to be done, and how many threads are at it.
pub(super) struct Due {
    state: AtomicU32,
}

const NOTHING: u32 = 0;
const DUE: u32 = 1;
const BEING_DONE: u32 = 2;

/// One thread that does it although another is to: the log had a file too many otherwise.
const BESIDE: u32 = 4;

impl Due {
    pub const fn new() -> Due {
        Due {
            state: AtomicU32::new(NOTHING),
        }
    }

    /// Changes the state, but for the count of threads beside.
    fn change(&self, from: u32, to: u32) -> bool {
        let (order, failed) = (Ordering::SeqCst, Ordering::Relaxed);
        let changed = self.state.fetch_update(order, failed, |state| {
            (state % BESIDE == from).then(|| state - from + to)
        });
        changed.is_ok()
    }

    /// Leaves it to another thread. `false` if that has not come to it since the last time:
    /// then the log would have more than one file too many.
    fn leave(&self) -> bool {
        self.change(NOTHING, DUE)
    }

    /// Does it, if it is to be done and no other thread is at it.
    fn settle(&self, work: impl FnOnce()) {
        if self.change(DUE, BEING_DONE) {
            work();
            // A forked child has forgotten it meanwhile.
            self.change(BEING_DONE, NOTHING);
        }
    }

    /// Does it, though another thread is at it, or is to do it.
    pub fn settle_beside(&self, work: impl FnOnce()) {
        self.state.fetch_add(BESIDE, Ordering::SeqCst);
        work();
        let (order, failed) = (Ordering::SeqCst, Ordering::Relaxed);
        let without = |state: u32| state.checked_sub(BESIDE);
        let _ = self.state.fetch_update(order, failed, without);
    }

    /// Waits for the threads that are at it. Not for handlers, which may have interrupted one.
    pub fn wait_until_done(&self) {
        for _ in 0..PATIENCE_MS {
            let state = self.state.load(Ordering::Acquire);
            if state < BEING_DONE {
                break;
            }
            sys::wait_while(&self.state, state, 1);
        }
    }

    /// Nothing is to be done: so in a forked child.
    pub fn forget(&self) {
        self.state.store(NOTHING, Ordering::Release);
    }
}

impl Log<'_> {
    /// The file of a turn is there.
    pub(super) fn welcome(&self, shared: &Shared, turn: u64) {
        let Mapped { ahead, due, .. } = self.mapped;
        if ahead.has_helper() && due.leave() {
            ahead.ask_for_more();
            // A helper that was stopped meanwhile may have looked before.
            if !ahead.has_helper() {
                self.settle_rotation(shared);
            }
        } else {
            due.settle_beside(|| self.finish_rotation(shared, turn));
        }
    }

    /// Does what was left to the helper, unless another thread is at it.
    pub(super) fn settle_rotation(&self, shared: &Shared) {
        let due = &self.mapped.due;
        due.settle(|| self.finish_rotation(shared, self.family.turn()));
    }

    /// Does what is to be done since the file of a turn is there, unless it was done.
    fn finish_rotation(&self, shared: &Shared, turn: u64) {
        if self.family.settled.load(Ordering::SeqCst) < turn {
            self.settle_since(shared, turn);
        }
    }

    /// Does it once more, and for the files that follow meanwhile.
    pub(super) fn settle_since(&self, shared: &Shared, mut turn: u64) {
        let names = &self.family.names;
        // A rotation that overtakes this one has its own links: the newest is to stand.
        for _ in 0..ROTATIONS {
            let reached = self.file_of_turn(turn);
            let number = reached.and_then(|reached| reached.file.number_at_turn(turn));
            if let Some(number) = number.filter(|number| *number != UNNUMBERED) {
                names.confirm(turn, number);
                // A file without the link to it is a file all the same.
                if let Err(errno) = names.point_to(number) {
                    shared.not_linked(errno);
                }
            }
            names.end_work_of_the_dead(|| self.newest());
            names.prune(turn);
            self.prune(shared, turn);
            self.family.settled.fetch_max(turn, Ordering::SeqCst);
            let newest = self.family.turn();
            if core::mem::replace(&mut turn, newest) == newest {
                break;
            }
        }
    }

    /// The turn and the number of the newest file.
    fn newest(&self) -> (u64, u32) {
        let current = || self.family.current.load(Ordering::Acquire);
        let mut found = current();
        loop {
            let number = self.file_of(found).file.number();
            // Else another file may have its slot by now.
            let now = current();
            if core::mem::replace(&mut found, now) == now {
                return (now >> SLOT_BITS, number);
            }
        }
    }
}

impl Mapped {
    /// Does what a rotation left to the helper, unless a thread is at it. For handlers too.
    pub fn settle_rotation(&self, shared: &Shared) {
        if let Some(log) = self.log() {
            log.settle_rotation(shared);
        }
    }

    /// Does it, or waits for the threads that are at it.
    pub fn finish_last_rotation(&self, shared: &Shared) {
        if let Some(log) = self.log() {
            log.settle_rotation(shared);
            // The thread that made the newest file has not come to that yet: others write there already.
            let turn = log.family.turn();
            (self.due).settle_beside(|| log.finish_rotation(shared, turn));
        }
        self.due.wait_until_done();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rotation_is_left_to_the_helper_once_until_it_was_seen_to() {
        let due = Due::new();
        due.settle(|| panic!("nothing was left"));
        assert!(due.leave());
        assert!(!due.leave());
        let mut times = 0;
        due.settle(|| {
            times += 1;
            // Another file comes meanwhile: who made it sees to that.
            assert!(!due.leave());
            due.settle(|| panic!("one thread at a time"));
        });
        due.wait_until_done();
        assert!(times == 1 && due.leave());
    }

    #[test]
    fn a_thread_that_does_it_beside_the_helper_is_waited_for() {
        let due = Due::new();
        // The helper made a file while that of another thread was left to it. A `sync` that found all
        // done once returned while the helper still removed files.
        assert!(due.leave());
        let is_done = AtomicU32::new(0);
        let begun = std::sync::Barrier::new(2);
        std::thread::scope(|threads| {
            threads.spawn(|| {
                due.settle_beside(|| {
                    begun.wait();
                    sys::wait_while(&is_done, 0, 50);
                    is_done.store(1, Ordering::SeqCst);
                });
            });
            begun.wait();
            due.settle(|| ());
            due.wait_until_done();
            assert_eq!(is_done.load(Ordering::SeqCst), 1);
        });
        assert!(due.leave());
    }

    #[test]
    fn a_child_that_is_forked_in_the_middle_has_nothing_to_wait_for() {
        let due = Due::new();
        due.settle_beside(|| due.forget());
        assert!(due.leave());
        due.settle(|| due.forget());
        assert!(due.leave());
    }
}
