//! A part whose records are put in order with those of others: the next of them, with the frames that stand
//! before it. Knows nothing of the other parts.

use super::OrderedBatch;
use crate::bodies::{Bodies, Identity};
use crate::guard::{self, wrong};
use logdef_resync::Place;
use logdef_wire::Tag;
use parquet::file::metadata::{ColumnChunkMetaData, RowGroupMetaData};
use parquet::file::statistics::Statistics;
use std::io;
use std::path::{Path, PathBuf};

/// Bytes that a value takes in memory, beside those that its page unpacks to.
const VALUE: u64 = 17;

/// Bytes of frames that wait for the record after them; beyond, they come at once.
const HELD_BACK: usize = 1 << 20;

/// A part that was not opened yet.
pub(super) struct Waiting {
    part: PathBuf,
    pub(super) input: u32,
    /// No record is of before this time.
    pub(super) first_time: u64,
    /// Bytes of memory that its largest row group takes, roughly.
    pub(super) memory: u64,
}

impl Waiting {
    pub(super) fn of(part: &Path, input: u32) -> io::Result<Waiting> {
        let metadata = guard::open_records(part)?.metadata;
        let unit = guard::unit_of_records(&metadata)?.nanoseconds();
        let row_groups = metadata.metadata().row_groups();
        let first_time = row_groups.iter().map(first_time).min().unwrap_or(0);
        Ok(Waiting {
            part: part.to_owned(),
            input,
            first_time: first_time.saturating_mul(unit),
            memory: row_groups.iter().map(memory).max().unwrap_or(0),
        })
    }
}

/// The earliest time of a row group; 0 if it does not say.
fn first_time(row_group: &RowGroupMetaData) -> u64 {
    let times = row_group.columns().first().and_then(|it| it.statistics());
    let least = match times {
        Some(Statistics::Int64(times)) => times.min_opt(),
        _ => None,
    };
    least.map_or(0, |time| u64::try_from(*time).unwrap_or(0))
}

fn memory(row_group: &RowGroupMetaData) -> u64 {
    let rows = row_group.num_rows().unsigned_abs();
    let of_column = |column: &ColumnChunkMetaData| {
        let nulls = column.statistics().and_then(|it| it.null_count_opt());
        let values = if nulls == Some(rows) { 0 } else { rows };
        values * VALUE + column.uncompressed_size().unsigned_abs()
    };
    row_group.columns().iter().map(of_column).sum()
}

/// A part that is open.
pub(super) struct Lane {
    bodies: Bodies,
    input: u32,
    pub(super) memory: u64,
    /// How many frames came.
    given: u64,
    /// The record that comes next; `None` of frames after the last one.
    pub(super) record: Option<Identity>,
    pub(super) has_backtrace: bool,
    /// The frames that stand before it, and it.
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl Lane {
    pub(super) fn open(part: &Waiting) -> io::Result<Lane> {
        Ok(Lane {
            bodies: Bodies::open(&part.part)?,
            input: part.input,
            memory: part.memory,
            given: 0,
            record: None,
            has_backtrace: false,
            bytes: Vec::new(),
            ends: Vec::new(),
        })
    }

    /// Goes to the next record; `false` if the part has no frame left.
    pub(super) fn advance(&mut self) -> io::Result<bool> {
        self.given += self.ends.len() as u64;
        self.bytes.clear();
        self.ends.clear();
        self.record = None;
        self.has_backtrace = false;
        while let Some(body) = self.bodies.next()? {
            self.bytes.extend_from_slice(body.bytes);
            self.ends.push(self.bytes.len());
            if body.record.is_some() {
                self.record = body.record;
                self.has_backtrace = body.has_backtrace;
                break;
            }
            if body.bytes.first() == Some(&Tag::DATA.0) {
                return Err(wrong("records that are not complete"));
            }
            if self.bytes.len() > HELD_BACK {
                break;
            }
        }
        Ok(!self.ends.is_empty())
    }

    /// The body of the record that comes next.
    pub(super) fn last_body(&self) -> &[u8] {
        let start = self.ends.iter().rev().nth(1).copied().unwrap_or(0);
        &self.bytes[start..]
    }

    /// Appends the record that comes next, and what stands before it.
    #[inline]
    pub(super) fn give(&self, batch: &mut OrderedBatch) {
        let start = batch.bytes.len();
        batch.bytes.extend_from_slice(&self.bytes);
        for (offset, end) in (self.given..).zip(&self.ends) {
            let input = self.input;
            batch.ends.push((start + end, Place { input, offset }));
        }
    }
}
