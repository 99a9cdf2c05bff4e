//! What is kept in memory: bounded for each component and in all, oldest out first, counted.

use std::collections::{BTreeMap, VecDeque};

use super::component::Component;
use super::storage::Format;

/// What an entry costs beside its bytes.
const OVERHEAD: usize = 160;
/// Components without records are forgotten when there are more than this.
const MAX_COMPONENTS: usize = 4096;

/// Which component of the ring; never given twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct ComponentId(u64);

/// A record in memory.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) component: ComponentId,
    /// The how manyth record of its component, from 0.
    pub(super) index: u64,
    pub(super) format: Format,
    pub(super) dropped: u64,
    pub(super) record: Box<[u8]>,
}

/// Counts of one component.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Counts {
    pub(super) stored: u64,
    pub(super) stored_bytes: u64,
    pub(super) rolled_out: u64,
    pub(super) dropped: u64,
    pub(super) invalid: u64,
}

#[derive(Debug)]
pub(super) struct Kept {
    pub(super) component: Component,
    pub(super) counts: Counts,
    /// The numbers of its entries.
    entries: VecDeque<u64>,
    bytes: usize,
}

/// The records in memory, numbered in the order of their arrival.
#[derive(Debug)]
pub(super) struct Ring {
    entries: BTreeMap<u64, Entry>,
    next: u64,
    kept: BTreeMap<ComponentId, Kept>,
    ids: BTreeMap<Component, ComponentId>,
    next_id: u64,
    bytes: usize,
    component_limit: usize,
    total_limit: usize,
    /// Counts of components that were forgotten.
    forgotten: Counts,
}

impl Ring {
    pub(super) fn new(component_limit: usize, total_limit: usize) -> Self {
        Self {
            entries: BTreeMap::new(),
            next: 0,
            kept: BTreeMap::new(),
            ids: BTreeMap::new(),
            next_id: 0,
            bytes: 0,
            component_limit,
            total_limit,
            forgotten: Counts::default(),
        }
    }

    /// The number of a component, new or known.
    pub(super) fn component(&mut self, component: &Component) -> ComponentId {
        if let Some(id) = self.ids.get(component) {
            return *id;
        }
        let id = ComponentId(self.next_id);
        self.next_id += 1;
        self.ids.insert(component.clone(), id);
        let kept = Kept {
            component: component.clone(),
            counts: Counts::default(),
            entries: VecDeque::new(),
            bytes: 0,
        };
        self.kept.insert(id, kept);
        if self.kept.len() > MAX_COMPONENTS {
            self.forget_one(id);
        }
        id
    }

    /// Forgets the oldest component that has no records, or else the records of the oldest.
    fn forget_one(&mut self, except: ComponentId) {
        let ids = || self.kept.iter().filter(|(id, _)| **id != except);
        let empty = ids().find(|(_, kept)| kept.entries.is_empty());
        let Some((&id, _)) = empty.or_else(|| ids().next()) else {
            return;
        };
        while self.roll_out(id) {}
        if let Some(kept) = self.kept.remove(&id) {
            self.ids.remove(&kept.component);
            self.forgotten.add(&kept.counts);
        }
    }

    pub(super) fn kept(&self, id: ComponentId) -> Option<&Kept> {
        self.kept.get(&id)
    }

    pub(super) fn components(&self) -> impl Iterator<Item = &Kept> {
        self.kept.values()
    }

    /// Counts of all components, those that were forgotten too.
    pub(super) fn totals(&self) -> Counts {
        let mut totals = self.forgotten;
        self.kept.values().for_each(|kept| totals.add(&kept.counts));
        totals
    }

    /// The counts of a component, to be changed.
    pub(super) fn counts(&mut self, id: ComponentId) -> &mut Counts {
        match self.kept.get_mut(&id) {
            Some(kept) => &mut kept.counts,
            None => &mut self.forgotten,
        }
    }

    /// Keeps a record, and rolls out what then is too much. `lost` is what its writer says it lost before
    /// it; `dropped` of that is not in the record itself.
    pub(super) fn push(
        &mut self,
        id: ComponentId,
        format: Format,
        (lost, dropped): (u64, u64),
        record: &[u8],
    ) {
        let Some(kept) = self.kept.get_mut(&id) else {
            return;
        };
        let index = kept.counts.stored;
        kept.counts.stored += 1;
        kept.counts.stored_bytes += record.len() as u64;
        kept.counts.dropped += lost;
        let cost = OVERHEAD + record.len();
        kept.bytes += cost;
        kept.entries.push_back(self.next);
        self.bytes += cost;
        let entry = Entry {
            component: id,
            index,
            format,
            dropped,
            record: record.into(),
        };
        self.entries.insert(self.next, entry);
        self.next += 1;
        while self
            .kept
            .get(&id)
            .is_some_and(|kept| kept.bytes > self.component_limit)
        {
            self.roll_out(id);
        }
        while self.bytes > self.total_limit
            && let Some((_, oldest)) = self.entries.first_key_value()
        {
            self.roll_out(oldest.component);
        }
    }

    /// Removes the oldest record of a component; false if there is none.
    fn roll_out(&mut self, id: ComponentId) -> bool {
        let Some(kept) = self.kept.get_mut(&id) else {
            return false;
        };
        let Some(number) = kept.entries.pop_front() else {
            return false;
        };
        if let Some(entry) = self.entries.remove(&number) {
            let cost = OVERHEAD + entry.record.len();
            kept.bytes -= cost;
            self.bytes -= cost;
        }
        kept.counts.rolled_out += 1;
        true
    }

    /// The number of the next record to come.
    pub(super) fn next(&self) -> u64 {
        self.next
    }

    /// The records from `number` on that are still there.
    pub(super) fn from(&self, number: u64) -> impl Iterator<Item = (u64, &Entry)> {
        self.entries
            .range(number..)
            .map(|(number, entry)| (*number, entry))
    }
}

impl Counts {
    fn add(&mut self, other: &Self) {
        self.stored += other.stored;
        self.stored_bytes += other.stored_bytes;
        self.rolled_out += other.rolled_out;
        self.dropped += other.dropped;
        self.invalid += other.invalid;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn component(name: &str) -> Component {
        Component {
            moniker: name.to_owned(),
            url: None,
            pid: 1,
        }
    }

    fn push(ring: &mut Ring, id: ComponentId, record: u8) {
        ring.push(id, Format::Structured, (0, 0), &[record; 40]);
    }

    fn records(ring: &Ring) -> Vec<u8> {
        ring.from(0).map(|(_, entry)| entry.record[0]).collect()
    }

    #[test]
    fn a_noisy_component_rolls_out_only_its_own_records() {
        let mut ring = Ring::new(400, 10_000);
        let quiet = ring.component(&component("quiet"));
        let noisy = ring.component(&component("noisy"));
        push(&mut ring, quiet, 1);
        (10..20).for_each(|record| push(&mut ring, noisy, record));
        assert_eq!(records(&ring), [1, 18, 19]);
        assert_eq!(ring.kept(noisy).unwrap().counts.rolled_out, 8);
        assert_eq!(ring.kept(quiet).unwrap().counts.rolled_out, 0);
        let indexes: Vec<_> = ring.from(0).map(|(_, entry)| entry.index).collect();
        assert_eq!(indexes, [0, 8, 9]);
    }

    #[test]
    fn the_oldest_of_all_go_when_all_are_too_much() {
        let mut ring = Ring::new(10_000, 600);
        let ids = ["a", "b", "c"].map(|name| ring.component(&component(name)));
        for record in 0..6 {
            push(&mut ring, ids[usize::from(record) % 3], record);
        }
        assert_eq!(records(&ring), [3, 4, 5]);
        let totals = ring.totals();
        assert_eq!((totals.stored, totals.rolled_out), (6, 3));
    }

    #[test]
    fn any_number_of_components_takes_bounded_memory_and_loses_no_count() {
        let mut ring = Ring::new(1000, 1 << 30);
        for number in 0..2 * MAX_COMPONENTS {
            let id = ring.component(&component(&number.to_string()));
            push(&mut ring, id, 1);
        }
        assert!(ring.components().count() <= MAX_COMPONENTS);
        let totals = ring.totals();
        assert_eq!(totals.stored, 2 * MAX_COMPONENTS as u64);
        assert_eq!(totals.rolled_out, MAX_COMPONENTS as u64);
        assert_eq!(records(&ring).len(), MAX_COMPONENTS);
    }
}
