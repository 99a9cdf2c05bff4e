//! Puts records into the order of their times, within a window: many formats write
//! them only nearly so, and a log's threads are read in the order they stand.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

/// What waits at most: the number of records, and their bytes.
const RECORDS: usize = 1 << 16;
const BYTES: usize = 64 << 20;

/// Records that wait for earlier ones.
#[derive(Debug)]
pub(crate) struct Order<T> {
    waiting: BinaryHeap<Reverse<Waiting<T>>>,
    bytes: usize,
    arrived: u64,
    latest: u64,
}

#[derive(Debug)]
struct Waiting<T> {
    key: (u64, u64),
    bytes: usize,
    record: T,
}

impl<T> Order<T> {
    /// None waits.
    pub(crate) fn new() -> Order<T> {
        Order {
            waiting: BinaryHeap::new(),
            bytes: 0,
            arrived: 0,
            latest: 0,
        }
    }

    /// Lets a record wait that takes about `bytes` bytes. Those of equal time stay
    /// in order.
    pub(crate) fn push(&mut self, time: u64, bytes: usize, record: T) {
        self.bytes += bytes;
        self.latest = time;
        self.waiting.push(Reverse(Waiting {
            key: (time, self.arrived),
            bytes,
            record,
        }));
        self.arrived += 1;
    }

    /// The time of the record that came last.
    pub(crate) fn latest(&self) -> u64 {
        self.latest
    }

    /// The earliest record, if more wait than the window holds.
    pub(crate) fn overdue(&mut self) -> Option<T> {
        let is_full = self.waiting.len() > RECORDS || self.bytes > BYTES;
        is_full.then(|| self.pop()).flatten()
    }

    /// The earliest record.
    pub(crate) fn pop(&mut self) -> Option<T> {
        let Reverse(first) = self.waiting.pop()?;
        self.bytes -= first.bytes;
        Some(first.record)
    }
}

impl<T> PartialEq for Waiting<T> {
    fn eq(&self, other: &Self) -> bool {
        self.key == other.key
    }
}

impl<T> Eq for Waiting<T> {}

impl<T> PartialOrd for Waiting<T> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<T> Ord for Waiting<T> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.key.cmp(&other.key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_come_out_by_time_and_equal_ones_as_they_came() {
        let mut order = Order::new();
        for (time, name) in [(5, "b"), (3, "a"), (5, "c"), (9, "d")] {
            order.push(time, 1, name);
        }
        let all: Vec<_> = std::iter::from_fn(|| order.pop()).collect();
        assert_eq!(all, ["a", "b", "c", "d"]);
    }

    #[test]
    fn the_window_is_bounded_by_records_and_by_bytes() {
        let mut order = Order::new();
        for time in 0..RECORDS as u64 {
            order.push(time, 1, time);
            assert_eq!(order.overdue(), None);
        }
        order.push(0, 1, 77);
        assert_eq!(order.overdue(), Some(0));
        assert_eq!(order.overdue(), None);
        order.push(u64::MAX, BYTES, 78);
        let due: Vec<_> = std::iter::from_fn(|| order.overdue()).collect();
        assert_eq!(due.len(), RECORDS);
    }
}
