//! The records that came last, of all and of each thread, as they stand in their frames.

use logdef_resync::Place;
use logdef_wire::record::Data;
use logdef_wire::{Run, ThreadNumber};
use std::collections::{BTreeMap, VecDeque};

/// Records that are kept of a thread.
const OF_A_THREAD: usize = 4;
/// Threads of which records are kept.
const THREADS: usize = 1 << 12;
/// Bytes of records that are kept of all, and of a thread.
const BYTES: usize = 16 << 20;
const BYTES_OF_A_THREAD: usize = 16 << 10;

/// A record that was kept.
pub struct Kept {
    pub place: Place,
    pub body: Vec<u8>,
}

/// The last of the records that were added, `most` of them, or as many as `most_bytes` hold.
pub struct Ring {
    most: usize,
    most_bytes: usize,
    bytes: usize,
    kept: VecDeque<Kept>,
}

/// Of all, and of each thread.
pub struct Latest {
    pub of_all: Ring,
    pub of_threads: BTreeMap<(Option<Run>, Option<ThreadNumber>), Ring>,
}

impl Ring {
    fn new(most: usize, most_bytes: usize) -> Ring {
        Ring {
            most,
            most_bytes,
            bytes: 0,
            kept: VecDeque::new(),
        }
    }

    fn add(&mut self, place: Place, body: &[u8]) {
        if body.len() > self.most_bytes || self.most == 0 {
            return;
        }
        // The memory of the earliest is that of the new one.
        let mut bytes = Vec::new();
        while self.kept.len() >= self.most || self.bytes + body.len() > self.most_bytes {
            let earliest = self.kept.pop_front();
            bytes = earliest.map_or(Vec::new(), |kept| kept.body);
            self.bytes -= bytes.len();
        }
        bytes.clear();
        bytes.extend_from_slice(body);
        self.bytes += body.len();
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
            of_all: Ring::new(most, BYTES),
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
        ring.or_insert_with(|| Ring::new(OF_A_THREAD, BYTES_OF_A_THREAD))
            .add(place, body);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_ones_stay_as_many_as_fit() {
        let mut ring = Ring::new(3, 100);
        for number in 0..10_u8 {
            let (input, offset) = (0, number.into());
            ring.add(Place { input, offset }, &[number; 30]);
        }
        let first = |ring: &Ring| ring.iter().map(|kept| kept.body[0]).collect::<Vec<_>>();
        assert_eq!(first(&ring), [7, 8, 9]);
        let place = Place {
            input: 0,
            offset: 0,
        };
        ring.add(place, &[10; 80]);
        assert_eq!(first(&ring), [10]);
        ring.add(place, &[11; 101]);
        assert_eq!((first(&ring), ring.bytes), (vec![10], 80));
    }
}
