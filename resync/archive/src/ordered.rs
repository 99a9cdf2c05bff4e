//! Parts of an archive whose logs lack nothing, as the frames of these logs in their order. The frames need not
//! become streams that are kept, looked through for what is missing, and put in order again: the tables of
//! the parts and the count of each record show that this would give the same. Where it might not, the parts
//! are read as logs are.

mod lane;

use crate::bodies::{Body, Identity, Others};
use crate::folder::Known;
use crate::guard::{self, wrong};
use crate::ordered::lane::{Lane, Waiting};
use crate::part::{HIDDEN_KEY, LOSSES_KEY};
use crate::read::read_all;
use crate::side::{LOSSES, THREADS_COLUMNS};
use crate::stored;
use arrow_array::Array;
use arrow_array::cast::AsArray;
use foldhash::fast::RandomState;
use logdef_resync::{Place, Standing, Tables};
use logdef_wire::Record;
use logdef_wire::record::Glance;
use parquet::arrow::arrow_reader::ArrowReaderMetadata;
use parquet::file::metadata::ColumnChunkMetaData;
use std::cmp::Reverse;
use std::collections::HashMap;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Columns that must have nothing in them: records that columns cannot hold, that are in doubt, after
/// dropped ones, or of a clock that was set back.
const EMPTY: [&str; 4] = ["body", "mark", "dropped", "place"];
/// Bytes that the logdefs of a part may take.
const TABLES: usize = 96 << 20;
/// Frames of one batch, and bytes, at most or nearly so.
const FRAMES: usize = 512;
const BYTES: usize = 128 << 10;
/// Bytes that parts take together, or little more, whose records are of the same time.
const HELD: u64 = 192 << 20;

/// The records of some parts, and the other frames between them.
pub struct Ordered {
    /// Parts that were not opened yet, that of the earliest record last.
    waiting: Vec<Waiting>,
    open: Vec<Lane>,
    tables: Arc<Tables>,
    /// The count that comes next of each thread of a run.
    next: HashMap<(u64, u32), i64, RandomState>,
    last: Option<Identity>,
}

impl fmt::Debug for Ordered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ordered").finish_non_exhaustive()
    }
}

impl Ordered {
    /// Opens parts; `None` if they have to be read as logs.
    ///
    /// # Errors
    ///
    /// If a file of a part is damaged, or was not written by an archive.
    pub fn open(parts: &[PathBuf]) -> io::Result<Option<Ordered>> {
        guard::can_run()?;
        guard::caught(|| {
            let Some(tables) = promised(parts)? else {
                return Ok(None);
            };
            let parts = parts.iter().enumerate();
            let waiting = parts.map(|(input, part)| Waiting::of(part, input as u32));
            let mut waiting = waiting.collect::<io::Result<Vec<_>>>()?;
            waiting.sort_by_key(|part| Reverse((part.first_time, part.input)));
            Ok(Some(Ordered {
                waiting,
                open: Vec::new(),
                tables: Arc::new(tables),
                next: HashMap::default(),
                last: None,
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
    /// If a part is damaged, or is not what it says: all have to be read as logs then. What was given so far
    /// are the first records of these.
    pub fn fill(&mut self, batch: &mut OrderedBatch) -> io::Result<bool> {
        batch.bytes.clear();
        batch.ends.clear();
        guard::caught(|| self.append_to(batch))
    }

    fn append_to(&mut self, batch: &mut OrderedBatch) -> io::Result<bool> {
        while batch.ends.len() < FRAMES && batch.bytes.len() < BYTES {
            self.open_due()?;
            let first = (0..self.open.len()).min_by_key(|index| self.open[*index].record);
            let Some(index) = first else {
                return Ok(false);
            };
            self.check(index)?;
            let lane = &mut self.open[index];
            lane.give(batch);
            if !lane.advance()? {
                self.open.swap_remove(index);
            }
        }
        Ok(true)
    }

    /// Opens the parts that may have a record before the others.
    fn open_due(&mut self) -> io::Result<()> {
        while let Some(part) = self.waiting.last() {
            let mut heads = self.open.iter().filter_map(|lane| lane.record);
            if heads.any(|record| record.time < part.first_time) {
                break;
            }
            let held = self.open.iter().map(|lane| lane.memory).sum::<u64>();
            if held + part.memory > HELD && !self.open.is_empty() {
                return Err(wrong("too many parts of one time"));
            }
            let mut lane = Lane::open(part)?;
            self.waiting.pop();
            if lane.advance()? {
                self.open.push(lane);
            }
        }
        Ok(())
    }

    /// Checks that the next record of a lane is the next of its thread, and after all that were given.
    #[inline]
    fn check(&mut self, lane: usize) -> io::Result<()> {
        let lane = &self.open[lane];
        let Some(record) = lane.record else {
            return Ok(());
        };
        let next = self.next.entry((record.run, record.thread)).or_insert(0);
        if *next != record.count || self.last.replace(record) > Some(record) {
            return Err(wrong(
                "records that are not those of its threads, in their order",
            ));
        }
        *next += 1;
        if lane.has_backtrace && !has_load_bias(&self.tables, lane.last_body()) {
            return Err(wrong("backtraces of an image that has no preamble"));
        }
        Ok(())
    }
}

/// Frames that follow each other.
#[derive(Debug, Default)]
pub struct OrderedBatch {
    bytes: Vec<u8>,
    /// Where each body ends, and its place.
    ends: Vec<(usize, Place)>,
}

impl OrderedBatch {
    /// The place of each frame, which is the number of its part and its own among those of the part, and
    /// its body.
    pub fn frames(&self) -> impl Iterator<Item = (Place, &[u8])> {
        let starts = std::iter::once(0).chain(self.ends.iter().map(|(end, _)| *end));
        let ranges = starts.zip(&self.ends);
        ranges.map(|(start, (end, place))| (*place, &self.bytes[start..*end]))
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

/// What the records of parts refer to, if the parts say that together they lack nothing.
fn promised(parts: &[PathBuf]) -> io::Result<Option<Tables>> {
    let mut tables = Tables::new(TABLES);
    let mut stretches = Known::default();
    for (input, part) in parts.iter().enumerate() {
        let metadata = guard::open_records(part)?.metadata;
        if !is_plain(&metadata) || !has_no_losses(part)? {
            return Ok(None);
        }
        let threads = read_all(part, "threads.parquet", THREADS_COLUMNS)?;
        stored::each_stretch(&threads, |thread, first, last| {
            stretches.entry(thread).or_default().push((first, last));
        })?;
        if !fill(&mut tables, part, input as u32)? {
            return Ok(None);
        }
    }
    let is_whole = tables.is_whole() && stretches.into_values().all(has_all_counts);
    Ok(is_whole.then_some(tables))
}

/// Whether stretches of counts of a thread are all counts from the first on, each once.
fn has_all_counts(mut stretches: Vec<(u64, u64)>) -> bool {
    stretches.sort_unstable();
    let mut next = Some(0);
    stretches.into_iter().all(|(first, last)| {
        let continues = next == Some(first) && first <= last;
        next = last.checked_add(1);
        continues
    })
}

/// Fills tables from the frames that are no records; `false` if some of them is not as it should be.
fn fill(tables: &mut Tables, part: &Path, input: u32) -> io::Result<bool> {
    let mut others = Others::open(part)?;
    for index in 0u64.. {
        let before = others.next_is_before()?;
        let Some(Body { bytes, mark, .. }) = others.next()? else {
            break;
        };
        let offset = before.saturating_add(index);
        match Record::decode(bytes) {
            Ok(record) if mark == Standing::Sound => tables.add(&record, Place { input, offset }),
            _ => return Ok(false),
        }
    }
    Ok(true)
}
