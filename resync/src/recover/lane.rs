//! Lanes: stretches of an input within which each thread's records stand in
//! their own order. A chunk is a lane, so is an appended log, so is each part of
//! a file that was concatenated from several. What can be merged by time is
//! lanes; a table of them is small however long the input.

use foldhash::fast::RandomState;
use logdef_wire::{Run, ThreadNumber};
use std::cmp::Reverse;
use std::collections::HashMap;

/// A thread of a run.
pub(crate) type ThreadKey = (Run, ThreadNumber);

/// What is known of each thread. It is asked for every record where threads take turns, so its hash is a
/// quick one, with a random seed.
pub(crate) type ByThread<T> = HashMap<ThreadKey, T, RandomState>;

/// A stretch of an input.
#[derive(Clone, Debug)]
pub(crate) struct Lane {
    pub(crate) input: u32,
    pub(crate) start: u64,
    pub(crate) end: u64,
    /// Whether some of its data records name no thread.
    pub(crate) has_nameless: bool,
    /// Whether it may hold threads that are not among its own: of more lanes than there are.
    pub(crate) is_last: bool,
    /// Whether a thread of it stands in other lanes too, and one of those lanes is mixed.
    pub(crate) is_shared: bool,
    /// The lowest time that its records are merged by.
    pub(crate) key: u64,
    /// Its threads, in the order of their first records.
    pub(crate) threads: Vec<LaneThread>,
}

impl Lane {
    /// Whether its records may stand in another order than that of the times they are
    /// merged by.
    pub(crate) fn is_mixed(&self) -> bool {
        self.threads.len() != 1 || self.has_nameless
    }
}

/// What a lane holds of a thread.
#[derive(Clone, Debug)]
pub(crate) struct LaneThread {
    pub(crate) key: ThreadKey,
    pub(crate) first: u64,
    pub(crate) last: u64,
    pub(crate) first_time: u64,
    /// The lowest and the highest time, where no time counts as 0.
    pub(crate) lowest_time: u64,
    pub(crate) last_time: u64,
    /// No record here is merged before this time, since the thread has earlier
    /// records of that time elsewhere: its clock was set back.
    pub(crate) floor: u64,
}

impl LaneThread {
    /// Takes in records after those before, of times that do not go down.
    #[inline]
    pub(super) fn add(&mut self, last: u64, (lowest, highest): (u64, u64)) {
        self.last = last;
        self.lowest_time = self.lowest_time.min(lowest);
        self.last_time = self.last_time.max(highest);
    }
}

/// A time such that the lanes that end at it or later hold `bytes` bytes or a few more.
/// Each lane is given by the time that it ends at and its length. 0 if all lanes together
/// hold no more.
pub(crate) fn since_of(bytes: u64, lanes: impl Iterator<Item = (u64, u64)>) -> u64 {
    let mut lanes: Vec<_> = lanes.collect();
    lanes.sort_unstable_by_key(|lane| Reverse(*lane));
    let mut sum = 0u64;
    for (end, len) in lanes {
        if sum >= bytes {
            return end.saturating_add(1);
        }
        sum = sum.saturating_add(len);
    }
    0
}
