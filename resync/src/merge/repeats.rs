//! Which of the records that the inputs hold more than once were given already, and
//! with which bytes.

use crate::recover::lane::ByThread;
use crate::recover::recovery::Recovery;
use crate::recover::sequences::Intervals;
use logdef_wire::{Run, Sequence};
use std::collections::{HashSet, VecDeque};
use std::hash::{BuildHasher, RandomState};

/// Repeated records whose bytes are remembered, those that came last.
const REMEMBERED: usize = 1 << 20;

/// How often a record's identity was met.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Sighting {
    First,
    /// The same bytes were given before.
    Same,
    /// A record of this identity was, with other bytes or with forgotten ones.
    Other,
}

/// The records that were given already.
#[derive(Debug, Default)]
pub(crate) struct Repeats {
    given: ByThread<Intervals>,
    /// Of their bytes, which hold the identity too, with random keys.
    hashes: HashSet<u64>,
    /// The same, in the order in which they came.
    order: VecDeque<u64>,
    hasher: RandomState,
    /// Records that the merge left out because of this.
    pub(crate) left_out: u64,
}

impl Repeats {
    /// Takes note of a record that comes.
    pub(crate) fn see(
        &mut self,
        recovery: &Recovery,
        identity: (Run, Sequence),
        bytes: &[u8],
    ) -> Sighting {
        if recovery.repeated.is_empty() {
            return Sighting::First;
        }
        let (run, sequence) = identity;
        let thread = (run, sequence.number());
        let repeated = recovery.repeated.get(&thread);
        if !repeated.is_some_and(|counts| counts.contains(sequence.count())) {
            return Sighting::First;
        }
        let hash = self.hasher.hash_one(bytes);
        let given = self.given.entry(thread).or_default();
        let is_first = given.insert(sequence.count());
        if !self.remember(hash) {
            return Sighting::Same;
        }
        if is_first {
            Sighting::First
        } else {
            Sighting::Other
        }
    }

    /// Remembers a record's bytes; `false` if they are known.
    fn remember(&mut self, hash: u64) -> bool {
        if !self.hashes.insert(hash) {
            return false;
        }
        if self.order.len() >= REMEMBERED
            && let Some(oldest) = self.order.pop_front()
        {
            self.hashes.remove(&oldest);
        }
        self.order.push_back(hash);
        true
    }
}
