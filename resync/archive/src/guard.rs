//! Parquet files that come from anybody: what they claim is checked before memory is taken for
//! it, and a panic of the library that reads them becomes an error. Knows no columns' meaning.

use crate::page::Page;
use crate::part::{RECORDS, VERSION, VERSION_KEY};
use crate::schema::{self, Unit};
use crate::sums::{self, Sums};
use crate::table::Of;
use arrow_array::RecordBatch;
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReader,
    ParquetRecordBatchReaderBuilder,
};
use parquet::file::metadata::{ColumnChunkMetaData, PageIndexPolicy};
use std::cell::Cell;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;

/// Bytes of a file's own description.
const FOOTER: u64 = 64 << 20;
/// Rows of a row group, values in its lists, and bytes of all of its pages.
const ROWS: i64 = 1 << 20;
const VALUES: u64 = 16 << 20;
const UNPACKED: u64 = 320 << 20;
/// The longest header of a page.
const HEADER: usize = 64 << 10;
/// Encodings that no value is longer in than it says: plain, run lengths, dictionaries, differences,
/// and bytes in streams. Texts as differences of the text before are none.
const ENCODINGS: [i64; 6] = [0, 2, 3, 5, 8, 9];

thread_local! {
    static CATCHES: Cell<bool> = const { Cell::new(false) };
}

/// Fails where the library for Parquet is of no use.
pub(crate) fn can_run() -> io::Result<()> {
    if cfg!(target_endian = "big") {
        let why = "archives are written and read on little-endian machines only";
        return Err(io::Error::new(io::ErrorKind::Unsupported, why));
    }
    Ok(())
}

/// Whether a panic of this thread is caught, and becomes an error of the file that is read.
pub fn catches_panics() -> bool {
    CATCHES.get()
}

/// Runs what reads a file. A panic means that the file is wrong.
pub(crate) fn caught<T>(read: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
    CATCHES.set(true);
    let result = catch_unwind(AssertUnwindSafe(read));
    CATCHES.set(false);
    result.unwrap_or_else(|_| Err(wrong("it cannot be read")))
}

/// An error about a file that is no part of an archive of ours.
pub(crate) fn wrong(why: &str) -> io::Error {
    let why = format!("not a logdef archive, or a damaged one: {why}");
    io::Error::new(io::ErrorKind::InvalidData, why)
}

pub(crate) fn unreadable(error: impl std::fmt::Display) -> io::Error {
    wrong(&error.to_string())
}

/// A file that was opened.
pub(crate) struct Opened {
    file: File,
    /// Its description.
    pub(crate) metadata: ArrowReaderMetadata,
    sums: Option<Sums>,
}

/// Opens a file and reads its description.
pub(crate) fn open(path: &Path) -> io::Result<Opened> {
    let named = |error: io::Error| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        io::Error::new(error.kind(), format!("{name}: {error}"))
    };
    let file = regular(path).map_err(named)?;
    let sums = Sums::of(path).map_err(named)?;
    let metadata = metadata(&file, sums.as_ref()).map_err(named)?;
    Ok(Opened {
        file,
        metadata,
        sums,
    })
}

/// Opens the table of records of a part that has all files that it was made with.
pub(crate) fn open_records(part: &Path) -> io::Result<Opened> {
    let opened = open(&part.join(RECORDS))?;
    sums::all_are_there(part)?;
    Ok(opened)
}

/// Opens a file; anything else, a pipe for instance, could be waited for without end.
pub(crate) fn regular(path: &Path) -> io::Result<File> {
    if !fs::metadata(path)?.is_file() {
        return Err(wrong("it is no file"));
    }
    File::open(path)
}

fn metadata(file: &File, sums: Option<&Sums>) -> io::Result<ArrowReaderMetadata> {
    let about = file.metadata()?;
    let mut end = [0; 8];
    if !about.is_file() || about.len() < 12 {
        return Err(wrong("it is too short"));
    }
    file.read_exact_at(&mut end, about.len() - 8)?;
    let [length @ .., _, _, _, _] = end;
    let length = u64::from(u32::from_le_bytes(length));
    if &end[4..] != b"PAR1" || length > about.len() - 8 || length > FOOTER {
        return Err(wrong("it does not end as a Parquet file"));
    }
    if let Some(sums) = sums {
        sums.check(file, about.len() - 8 - length..about.len())?;
    }
    let options = || {
        ArrowReaderOptions::new()
            .with_skip_arrow_metadata(true)
            .with_page_index_policy(PageIndexPolicy::Skip)
    };
    let read = ArrowReaderMetadata::load(file, options()).map_err(unreadable)?;
    // Texts stay where they are unpacked, however often they are named.
    let viewed = viewed(read.schema());
    let metadata = Arc::clone(read.metadata());
    ArrowReaderMetadata::try_new(metadata, options().with_schema(viewed)).map_err(unreadable)
}

/// A schema with views in place of texts and bytes.
fn viewed(schema: &SchemaRef) -> SchemaRef {
    let fields = schema.fields().iter().map(|field| view(field));
    Arc::new(Schema::new(fields.collect::<Vec<_>>()))
}

fn view(field: &Field) -> Field {
    let data_type = match field.data_type() {
        DataType::Utf8 => DataType::Utf8View,
        DataType::Binary => DataType::BinaryView,
        DataType::List(element) => DataType::List(Arc::new(view(element))),
        other => other.clone(),
    };
    field.clone().with_data_type(data_type)
}

/// The note of a key in a file's description.
pub(crate) fn note(metadata: &ArrowReaderMetadata, key: &str) -> Option<String> {
    let notes = metadata.metadata().file_metadata().key_value_metadata()?;
    let note = notes.iter().find(|note| note.key == key)?;
    note.value.clone()
}

/// The unit of the times in a table of records.
pub(crate) fn unit_of_records(metadata: &ArrowReaderMetadata) -> io::Result<Unit> {
    if let Some(version) = note(metadata, VERSION_KEY).filter(|version| version != VERSION) {
        let why =
            format!("this is version {version} of archives, and this program reads {VERSION}");
        return Err(io::Error::new(io::ErrorKind::Unsupported, why));
    }
    let units = [Unit::Nanoseconds, Unit::Microseconds];
    let unit = units
        .into_iter()
        .find(|unit| is_like(metadata.schema(), &viewed(&schema::records(*unit))));
    unit.ok_or_else(|| wrong("records.parquet has other columns"))
}

/// Whether the columns of one schema are those of another, by name and type.
fn is_like(one: &Schema, other: &Schema) -> bool {
    let columns = |schema: &Schema| -> Vec<(String, DataType)> {
        let fields = schema.fields().iter();
        fields
            .map(|field| (field.name().clone(), anonymous(field.data_type())))
            .collect()
    };
    columns(one) == columns(other)
}

/// A type without the name of what is in its lists.
fn anonymous(data_type: &DataType) -> DataType {
    match data_type {
        DataType::List(element) => {
            let inner = element.data_type().clone();
            DataType::List(Arc::new(schema::column("element", inner)))
        }
        other => other.clone(),
    }
}

/// Fails if a side table has other columns.
pub(crate) fn has_columns(
    metadata: &ArrowReaderMetadata,
    columns: &[(&str, Of)],
    name: &str,
) -> io::Result<()> {
    let fields = columns
        .iter()
        .map(|(name, of)| schema::column(name, of.data_type()));
    let expected = viewed(&Arc::new(Schema::new(fields.collect::<Vec<_>>())));
    if is_like(metadata.schema(), &expected) {
        return Ok(());
    }
    Err(wrong(&format!("{name} has other columns")))
}

/// Looks through the pages of a row group, in the columns that are wanted, and returns what they
/// unpack to.
pub(crate) fn check_row_group(
    opened: &Opened,
    index: usize,
    is_wanted: impl Fn(&ColumnChunkMetaData) -> bool,
) -> io::Result<u64> {
    let Opened { file, sums, .. } = opened;
    let row_group = opened.metadata.metadata().row_group(index);
    let rows = row_group.num_rows();
    if !(0..=ROWS).contains(&rows) {
        return Err(wrong("a row group with too many rows"));
    }
    let size = file.metadata()?.len();
    let wanted = || row_group.columns().iter().filter(|it| is_wanted(it));
    if let Some(sums) = sums {
        let ranges = || wanted().map(ColumnChunkMetaData::byte_range);
        let start = ranges().map(|(start, _)| start).min().unwrap_or(0);
        let end = ranges().map(|(start, len)| start.saturating_add(len)).max();
        sums.check(file, start..end.unwrap_or(0))?;
    }
    let mut unpacked = 0;
    for column in wanted() {
        let is_list = column.column_descr().max_rep_level() > 0;
        let most = if is_list { VALUES } else { rows as u64 };
        unpacked += pages(file, size, column, most)?;
        if unpacked > UNPACKED {
            return Err(wrong("a row group that unpacks to too much"));
        }
    }
    Ok(unpacked)
}

/// Looks through the pages of a column, and returns what they unpack to.
fn pages(file: &File, size: u64, column: &ColumnChunkMetaData, most: u64) -> io::Result<u64> {
    let (start, len) = column.byte_range();
    let end = start.checked_add(len).filter(|end| *end <= size);
    let end = end.ok_or_else(|| wrong("a column that ends behind the file"))?;
    let (mut at, mut unpacked, mut values) = (start, 0, 0);
    let mut buffer = vec![0; HEADER];
    while at < end {
        // Most headers are short.
        let mut page = Err(wrong("no page"));
        for room in [64, HEADER] {
            let room = room.min((end - at) as usize);
            file.read_exact_at(&mut buffer[..room], at)?;
            page = Page::of(&buffer[..room]);
            if page.is_ok() {
                break;
            }
        }
        let page = page?;
        at += page.header as u64 + page.packed;
        unpacked += page.unpacked;
        values += page.values;
        if !ENCODINGS.contains(&page.encoding) {
            return Err(wrong("an encoding that archives do not have"));
        }
        if at > end || unpacked > UNPACKED || values > most {
            return Err(wrong("a page that is larger than it may be"));
        }
    }
    Ok(unpacked)
}

/// All rows of a small table.
pub(crate) fn all_rows(opened: &Opened) -> io::Result<Vec<RecordBatch>> {
    let all = 0..opened.metadata.metadata().num_row_groups();
    let mut unpacked = 0;
    for index in all.clone() {
        unpacked += check_row_group(opened, index, |_| true)?;
        if unpacked > UNPACKED {
            return Err(wrong("a table that unpacks to too much"));
        }
    }
    let batches = batches(opened, all.collect(), 1 << 12)?;
    let mut rows = 0;
    let batch = |batch: Result<RecordBatch, _>| {
        let batch = batch.map_err(unreadable)?;
        rows += batch.num_rows();
        if rows as i64 > 2 * ROWS {
            return Err(wrong("a table with too many rows"));
        }
        Ok(batch)
    };
    batches.map(batch).collect()
}

/// Reads some row groups in batches.
pub(crate) fn batches(
    opened: &Opened,
    row_groups: Vec<usize>,
    rows: usize,
) -> io::Result<ParquetRecordBatchReader> {
    let file = opened.file.try_clone()?;
    ParquetRecordBatchReaderBuilder::new_with_metadata(file, opened.metadata.clone())
        .with_row_groups(row_groups)
        .with_batch_size(rows)
        .build()
        .map_err(unreadable)
}

/// Reads a row group as one batch, but for the columns that have nothing in it.
pub(crate) fn row_group(opened: &Opened, index: usize) -> io::Result<RecordBatch> {
    let metadata = &opened.metadata;
    let row_group = metadata.metadata().row_group(index);
    let has_values = |column: &ColumnChunkMetaData| {
        let nulls = column.statistics().and_then(|it| it.null_count_opt());
        nulls.is_none_or(|nulls| nulls != column.num_values() as u64)
    };
    check_row_group(opened, index, has_values)?;
    let leaves = row_group.columns().iter().enumerate();
    let leaves = leaves.filter(|(_, column)| has_values(column));
    let mask = ProjectionMask::leaves(metadata.parquet_schema(), leaves.map(|(leaf, _)| leaf));
    let rows = row_group.num_rows() as usize;
    let mut batches = ParquetRecordBatchReaderBuilder::new_with_metadata(
        opened.file.try_clone()?,
        metadata.clone(),
    )
    .with_row_groups(vec![index])
    .with_projection(mask)
    .with_batch_size(rows.max(1))
    .build()
    .map_err(unreadable)?;
    match batches.next().transpose().map_err(unreadable)? {
        Some(batch) if batch.num_rows() == rows => Ok(batch),
        None if rows == 0 => Ok(RecordBatch::new_empty(metadata.schema().clone())),
        _ => Err(wrong("a row group with fewer rows than it says")),
    }
}
