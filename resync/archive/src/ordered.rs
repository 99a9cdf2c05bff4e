//! A part of an archive whose logs lack nothing, as the frames of these logs in their order. Its frames need not
//! become a stream that is kept, looked through for what is missing, and put in order again: the tables of
//! the part and the count of each record show that this would give the same. Where it might not, the part is
//! read as a log is.

use crate::bodies::{Bodies, Body, Identity, Others};
use crate::guard::{self, wrong};
use crate::part::{HIDDEN_KEY, LOSSES_KEY};
use crate::read::read_all;
use crate::side::{LOSSES, THREADS_COLUMNS};
use crate::stored;
use arrow_array::Array;
use arrow_array::cast::AsArray;
use foldhash::fast::RandomState;
use logdef_resync::{Place, Standing, Tables};
use logdef_wire::record::Glance;
use logdef_wire::{Record, Tag};
use parquet::arrow::arrow_reader::ArrowReaderMetadata;
use parquet::file::metadata::ColumnChunkMetaData;
use std::collections::{HashMap, HashSet};
use std::fmt;
use std::io;
use std::path::Path;
use std::sync::Arc;

/// Columns that must have nothing in them: records that columns cannot hold, that are in doubt, behind
/// dropped ones, or of a clock that was set back.
const EMPTY: [&str; 4] = ["body", "mark", "dropped", "place"];
/// Bytes that the logdefs of a part may take.
const TABLES: usize = 96 << 20;
/// Frames of one batch, and bytes, at most or nearly so.
const FRAMES: usize = 512;
const BYTES: usize = 128 << 10;

/// The records of a part, and the frames between them that are none.
pub struct Ordered {
    bodies: Bodies,
    tables: Arc<Tables>,
    /// The count that comes next of each thread of a run.
    next: HashMap<(u64, u32), i64, RandomState>,
    last: Option<Identity>,
    /// How many frames were given.
    given: u64,
}

impl fmt::Debug for Ordered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ordered").finish_non_exhaustive()
    }
}

impl Ordered {
    /// Opens a part; `None` if it has to be read as a log.
    ///
    /// # Errors
    ///
    /// What is wrong with its files, if they are none of ours.
    pub fn open(part: &Path) -> io::Result<Option<Ordered>> {
        guard::can_run()?;
        guard::caught(|| {
            let bodies = Bodies::open(part)?;
            if !is_plain(&bodies.metadata) || !has_no_losses(part)? || !has_all_counts(part)? {
                return Ok(None);
            }
            Ok(tables(part)?.map(|tables| Ordered {
                bodies,
                tables: Arc::new(tables),
                next: HashMap::default(),
                last: None,
                given: 0,
            }))
        })
    }

    /// What the records refer to: all of it, so that it is the same for the first record as for the last.
    pub fn tables(&self) -> Arc<Tables> {
        Arc::clone(&self.tables)
    }

    /// Replaces what is in a batch by what comes next; `false` at the end.
    ///
    /// # Errors
    ///
    /// If the part is damaged, or is not what it says: it has to be read as a log then. What was given so far
    /// are the first records of that.
    pub fn fill(&mut self, batch: &mut OrderedBatch) -> io::Result<bool> {
        batch.bytes.clear();
        batch.ends.clear();
        batch.first = self.given;
        let goes_on = guard::caught(|| self.append_to(batch))?;
        self.given += batch.ends.len() as u64;
        Ok(goes_on)
    }

    fn append_to(&mut self, batch: &mut OrderedBatch) -> io::Result<bool> {
        while batch.ends.len() < FRAMES && batch.bytes.len() < BYTES {
            let Some(body) = self.bodies.next()? else {
                return Ok(false);
            };
            if let Some(record) = body.record {
                let next = self.next.entry((record.run, record.thread)).or_insert(0);
                if *next != record.count || self.last.replace(record) > Some(record) {
                    return Err(wrong(
                        "records that are not those of its threads, in their order",
                    ));
                }
                *next += 1;
            } else if body.bytes.first() == Some(&Tag::DATA.0) {
                return Err(wrong("records that are not complete"));
            }
            if body.has_backtrace && !has_load_bias(&self.tables, body.bytes) {
                return Err(wrong("backtraces of an image that has no preamble"));
            }
            batch.bytes.extend_from_slice(body.bytes);
            batch.ends.push(batch.bytes.len());
        }
        Ok(true)
    }
}

/// Frames that follow each other.
#[derive(Debug, Default)]
pub struct OrderedBatch {
    /// How many frames come before.
    first: u64,
    bytes: Vec<u8>,
    /// Where each body ends.
    ends: Vec<usize>,
}

impl OrderedBatch {
    /// The place of each frame among those of the part, and its body.
    pub fn frames(&self) -> impl Iterator<Item = (Place, &[u8])> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        let ranges = starts.zip(&self.ends);
        (self.first..)
            .zip(ranges)
            .map(|(offset, (start, end))| (Place { input: 0, offset }, &self.bytes[start..*end]))
    }
}

/// Whether it is known where the image of a record was loaded. Where it is not, that is found out from the
/// backtraces of other records.
#[cold]
fn has_load_bias(tables: &Tables, body: &[u8]) -> bool {
    let glance = Glance::of(body).unwrap_or_default();
    let image = glance.run.zip(glance.magic);
    image.is_none_or(|(run, magic)| tables.load_bias(run, magic).is_some())
}

/// Whether the records say by themselves all that is to be known of each.
fn is_plain(metadata: &ArrowReaderMetadata) -> bool {
    let has_note = |key| guard::note(metadata, key).is_some();
    let mut row_groups = metadata.metadata().row_groups().iter();
    let is_empty = |column: &ColumnChunkMetaData| {
        let nulls = column.statistics().and_then(|it| it.null_count_opt());
        nulls == Some(column.num_values() as u64)
    };
    !has_note(LOSSES_KEY)
        && !has_note(HIDDEN_KEY)
        && row_groups.all(|row_group| {
            let mut columns = row_group.columns().iter();
            columns.all(|column| {
                let name = column.column_path().parts().first();
                !name.is_some_and(|name| EMPTY.contains(&name.as_str())) || is_empty(column)
            })
        })
}

/// Whether the table of losses has nothing but the verdict, and that says so too.
fn has_no_losses(part: &Path) -> io::Result<bool> {
    let losses = read_all(part, "losses.parquet", LOSSES)?;
    let [only] = &losses[..] else {
        return Ok(false);
    };
    let says = |name: &str, word: &str| {
        let text = only.column_by_name(name).map(|it| it.as_string_view());
        text.is_some_and(|text| text.is_valid(0) && text.value(0).starts_with(word))
    };
    Ok(only.num_rows() == 1 && says("what", "verdict") && says("why", "clean: "))
}

/// Whether each thread has all its records, from the first on.
fn has_all_counts(part: &Path) -> io::Result<bool> {
    let threads = read_all(part, "threads.parquet", THREADS_COLUMNS)?;
    let mut known = HashSet::<_, RandomState>::default();
    let mut has_all = true;
    stored::each_stretch(&threads, |thread, first, _| {
        has_all &= first == 0 && known.insert(thread);
    })?;
    Ok(has_all)
}

/// The tables that the frames fill which are no records; `None` if some of them is not as it should be.
fn tables(part: &Path) -> io::Result<Option<Tables>> {
    let mut others = Others::open(part)?;
    let mut tables = Tables::new(TABLES);
    for index in 0u64.. {
        let before = others.next_is_before()?;
        let Some(Body { bytes, mark, .. }) = others.next()? else {
            break;
        };
        let place = Place {
            input: 0,
            offset: before.saturating_add(index),
        };
        match Record::decode(bytes) {
            Ok(record) if mark == Standing::Sound => tables.add(&record, place),
            _ => return Ok(None),
        }
    }
    Ok(tables.is_whole().then_some(tables))
}
