//! Threads whose records stand in several lanes, of which some hold their records in another
//! order than that of the times. A record must not be given before one of a lower count that
//! its lane has not come to yet. Knows of lanes only how far they were read.

use crate::merge::open_lane::OpenLane;
use crate::recover::lane::{ByThread, ThreadKey};
use std::collections::HashSet;

/// Open lanes that may hold a thread; of one that more hold, records come as they stand.
const HOLDERS: usize = 1 << 10;

/// The threads that stand in several open lanes.
#[derive(Debug, Default)]
pub(crate) struct Shared(ByThread<Holders>);

/// The open lanes that hold a thread.
#[derive(Debug, Default)]
struct Holders {
    slots: HashSet<usize>,
    /// All of them were read up to this count.
    read_to: u64,
}

impl Shared {
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn open(&mut self, lane: &OpenLane<'_>, slot: usize) {
        for thread in lane.mixed_threads() {
            let holders = self.0.entry(thread).or_default();
            holders.slots.insert(slot);
            let is_many = holders.slots.len() > HOLDERS;
            holders.read_to = if is_many { u64::MAX } else { 0 };
        }
    }

    pub(crate) fn close(&mut self, lane: &OpenLane<'_>, slot: usize) {
        for thread in lane.mixed_threads() {
            if let Some(holders) = self.0.get_mut(&thread) {
                holders.slots.remove(&slot);
                if holders.slots.is_empty() {
                    self.0.remove(&thread);
                }
            }
        }
    }

    /// Gives records of a thread as they stand, until another lane of it opens.
    pub(crate) fn give_up(&mut self, thread: ThreadKey) {
        if let Some(holders) = self.0.get_mut(&thread) {
            holders.read_to = u64::MAX;
        }
    }

    /// A lane that has lower counts of a thread and was not read so far.
    pub(crate) fn behind(
        &mut self,
        thread: ThreadKey,
        count: u64,
        has_read_to: impl Fn(usize) -> u64,
    ) -> Option<usize> {
        let holders = self.0.get_mut(&thread)?;
        if count <= holders.read_to {
            return None;
        }
        let slots = holders.slots.iter().copied();
        let (read_to, slot) = slots.map(|slot| (has_read_to(slot), slot)).min()?;
        holders.read_to = read_to;
        (read_to < count).then_some(slot)
    }
}
