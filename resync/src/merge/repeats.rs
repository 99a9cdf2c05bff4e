//! Which of the records that the inputs hold more than once were given already, and
//! with which bytes.

use crate::recover::lane::ThreadKey;
use crate::recover::recovery::Recovery;
use crate::recover::sequences::Intervals;
use logdef_wire::{Run, Sequence};
use std::collections::{HashMap, VecDeque};
use std::hash::{DefaultHasher, Hash, Hasher};

/// Repeated records whose bytes are remembered.
const REMEMBERED: usize = 1 << 20;
/// Records of one identity whose bytes are remembered.
const VARIANTS: usize = 16;

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
    given: HashMap<ThreadKey, Intervals>,
    hashes: HashMap<(Run, Sequence), Vec<u64>>,
    order: VecDeque<(Run, Sequence)>,
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
        let mut hasher = DefaultHasher::new();
        bytes.hash(&mut hasher);
        let hash = hasher.finish();
        let given = self.given.entry(thread).or_default();
        let is_first = given.insert(sequence.count());
        if !self.remember(identity, hash) {
            return Sighting::Same;
        }
        if is_first {
            Sighting::First
        } else {
            Sighting::Other
        }
    }

    /// Remembers a record's bytes; `false` if they are known.
    fn remember(&mut self, identity: (Run, Sequence), hash: u64) -> bool {
        let hashes = self.hashes.entry(identity).or_default();
        if hashes.contains(&hash) {
            return false;
        }
        if hashes.is_empty() {
            self.order.push_back(identity);
        }
        if hashes.len() < VARIANTS {
            hashes.push(hash);
        }
        if self.order.len() > REMEMBERED
            && let Some(oldest) = self.order.pop_front()
        {
            self.hashes.remove(&oldest);
        }
        true
    }
}
