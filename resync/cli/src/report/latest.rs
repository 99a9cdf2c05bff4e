//! The records that came last, of all and of each thread, as they stand in their frames.

use logdef_resync::Place;
use logdef_wire::record::Data;
use logdef_wire::{Run, ThreadNumber};
use std::collections::{BTreeMap, VecDeque};

/// Records that are kept of a thread.
const OF_A_THREAD: usize = 4;
/// Threads of which records are kept.
const THREADS: usize = 1 << 12;
/// A record of more bytes is left out.
const LONGEST: usize = 64 << 10;

/// A record that was kept.
pub struct Kept {
    pub place: Place,
    pub body: Vec<u8>,
}

/// The last of the records that were added, `most` of them.
pub struct Ring {
    most: usize,
    kept: VecDeque<Kept>,
}

/// Of all, and of each thread.
pub struct Latest {
    pub of_all: Ring,
    pub of_threads: BTreeMap<(Option<Run>, Option<ThreadNumber>), Ring>,
}

impl Ring {
    fn new(most: usize) -> Ring {
        Ring {
            most,
            kept: VecDeque::new(),
        }
    }

    fn add(&mut self, place: Place, body: &[u8]) {
        if body.len() > LONGEST || self.most == 0 {
            return;
        }
        // The memory of the earliest is that of the new one.
        let earliest = (self.kept.len() >= self.most).then(|| self.kept.pop_front());
        let mut bytes = earliest.flatten().map_or(Vec::new(), |kept| kept.body);
        bytes.clear();
        bytes.extend_from_slice(body);
        self.kept.push_back(Kept { place, body: bytes });
    }

    /// The records, the earliest first.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &Kept> {
        self.kept.iter()
    }

    pub fn len(&self) -> usize {
        self.kept.len()
    }
}

impl Latest {
    pub fn new(most: usize) -> Latest {
        Latest {
            of_all: Ring::new(most),
            of_threads: BTreeMap::new(),
        }
    }

    pub fn add(&mut self, data: &Data<'_>, body: &[u8], place: Place) {
        self.of_all.add(place, body);
        let key = (data.run, data.sequence.map(|sequence| sequence.number()));
        if self.of_threads.len() >= THREADS && !self.of_threads.contains_key(&key) {
            return;
        }
        let ring = self.of_threads.entry(key);
        ring.or_insert_with(|| Ring::new(OF_A_THREAD))
            .add(place, body);
    }
}
