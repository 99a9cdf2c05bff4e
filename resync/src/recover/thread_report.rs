//! What became of the records of a thread.

use logdef_wire::{Run, ThreadNumber};

/// Records that are missing where no byte is: they were deleted, or never were
/// in this input.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct HoleReport {
    /// The run that the thread belongs to.
    pub run: Run,
    /// The thread's number in it.
    pub number: ThreadNumber,
    /// The first count that is missing.
    pub from: u64,
    /// How many counts are missing from there on.
    pub lost: u64,
}

/// A thread's records over all inputs.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct ThreadReport {
    /// The run that the thread belongs to.
    pub run: Run,
    /// The thread's number in it.
    pub number: ThreadNumber,
    /// Its records, repeated ones included.
    pub records: u64,
    /// The lowest count of a record that is here.
    pub first: u64,
    /// The highest count of a record that is here.
    pub last: u64,
    /// Records that came before the first: lost, or in a file that is not here.
    pub before_first: u64,
    /// Those, and others that the writer gave up to make room.
    pub pruned: u64,
    /// Records between the first and the last that are not here.
    pub lost: u64,
    /// Records that the writer had to drop, and said so.
    pub dropped: u64,
    /// Records that are here more than once.
    pub repeated: u64,
    /// Time of the earliest.
    pub first_time: u64,
    /// Time of the latest.
    pub last_time: u64,
}
