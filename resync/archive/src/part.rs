//! Writing one part of an archive: a folder of tables made from some logs. Knows how records are
//! packed, and neither other parts nor what the folder is called in the end.

use crate::columns::{Columns, Written};
use crate::encoded;
use crate::folder::{Identity, Known};
use crate::packed::Packed;
use crate::rows::Rows;
use crate::schema::{self, Slot, Unit, slots};
use crate::side;
use crate::sums;
use arrow_schema::SchemaRef;
use logdef_resync::{Error, Input, MergedFrame, Recovery, Resolver, Standing, rewrite};
use parquet::arrow::ArrowSchemaConverter;
use parquet::arrow::arrow_writer::{ArrowRowGroupWriterFactory, compute_leaves};
use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::ColumnPath;
use std::fs::File;
use std::io::{self, BufWriter};
use std::path::Path;
use std::sync::Arc;
use std::thread;

/// The table of records in a part.
pub(crate) const RECORDS: &str = "records.parquet";
/// Under these keys the file says which version of the tables it is, and what the logs lost.
pub(crate) const VERSION_KEY: &str = "logdef.archive";
pub(crate) const VERSION: &str = "1";
pub(crate) const LOSSES_KEY: &str = "logdef.made_from";
/// This one stands where more may be missing than the records show.
pub(crate) const HIDDEN_KEY: &str = "logdef.at_least";
/// Strings and numbers of a column are spelled once, up to this many bytes.
const DICTIONARY: usize = 4 << 20;
/// Columns of texts that have a filter of the texts in each row group: a request's number is
/// among the first values of a call.
const SOUGHT: usize = 4;

/// What a part is made from.
pub(crate) struct Job<'j> {
    pub(crate) inputs: &'j [Input],
    /// What each input is a file of.
    pub(crate) files: &'j [Option<Identity>],
    pub(crate) recovery: &'j Recovery,
    pub(crate) unit: Unit,
    /// Records of a row group.
    pub(crate) row_group: usize,
    /// Records that are left out, since another part has them.
    pub(crate) known: &'j Known,
    /// What other parts say of losses of the same files.
    pub(crate) losses_before: Vec<String>,
}

/// Writes a part into an empty folder.
pub(crate) fn write(
    folder: &Path,
    job: &Job<'_>,
    resolver: &mut Resolver<'_>,
) -> Result<Written, Error> {
    let recovery = job.recovery;
    let losses = rewrite::made_from(recovery, &job.losses_before);
    let notes = [
        Some((VERSION_KEY, VERSION.to_owned())),
        losses.map(|losses| (LOSSES_KEY, losses)),
        recovery
            .losses()
            .at_least
            .then(|| (HIDDEN_KEY, "true".to_owned())),
    ];
    let mut part = Part::create(folder, job.unit, job.row_group, &notes).map_err(failed)?;
    rewrite::each_merged(job.inputs, recovery, |frame, mark| {
        part.add(frame, mark, resolver, job.known).map_err(failed)
    })?;
    part.finish(folder, job).map_err(failed)
}

/// A failure to write, with what the system said of it.
pub(crate) fn failed(error: ParquetError) -> Error {
    let cause = match error {
        ParquetError::External(inner) => match inner.downcast::<io::Error>() {
            Ok(error) => *error,
            Err(inner) => io::Error::other(inner.to_string()),
        },
        other => io::Error::other(other.to_string()),
    };
    Error::new("output", cause)
}

/// Cores that columns are packed on.
fn cores() -> usize {
    thread::available_parallelism().map_or(1, usize::from)
}

/// A part that is being written.
struct Part {
    schema: SchemaRef,
    writer: SerializedFileWriter<BufWriter<File>>,
    row_group: ArrowRowGroupWriterFactory,
    row_groups: usize,
    columns: Columns,
    packed: Packed,
}

impl Part {
    fn create(
        folder: &Path,
        unit: Unit,
        row_group: usize,
        notes: &[Option<(&str, String)>],
    ) -> Result<Part, ParquetError> {
        let schema = schema::records(unit);
        let descriptor = ArrowSchemaConverter::new().convert(&schema)?;
        let file = BufWriter::with_capacity(1 << 20, File::create_new(folder.join(RECORDS))?);
        let notes = notes.iter().flatten();
        let notes = notes.map(|(key, text)| KeyValue::new((*key).into(), text.clone()));
        let properties = Arc::new(properties(row_group, notes.collect())?);
        let writer = SerializedFileWriter::new(file, descriptor.root_schema_ptr(), properties)?;
        Ok(Part {
            row_group: ArrowRowGroupWriterFactory::new(&writer, Arc::clone(&schema)),
            schema,
            writer,
            row_groups: 0,
            columns: Columns::new(Some(Rows::new(unit, row_group))),
            packed: Packed::create(folder)?,
        })
    }

    fn add(
        &mut self,
        frame: &MergedFrame<'_>,
        mark: Standing,
        resolver: &mut Resolver<'_>,
        known: &Known,
    ) -> Result<(), ParquetError> {
        let out = &mut self.packed;
        self.columns.add(frame, mark, resolver, known, out)?;
        if self.columns.is_full() {
            self.write_row_group()?;
        }
        Ok(())
    }

    fn write_row_group(&mut self) -> Result<(), ParquetError> {
        let writers = self.row_group.create_column_writers(self.row_groups)?;
        let (schema, columns) = (&self.schema, &mut self.columns);
        let chunks = encoded::encoded(writers, cores(), |encode| {
            columns.take(|index, array| {
                let leaves = compute_leaves(schema.field(index), &array)?;
                leaves.into_iter().try_for_each(&mut *encode)
            })
        })?;
        let mut row_group = self.writer.next_row_group()?;
        for chunk in chunks {
            chunk.append_to_row_group(&mut row_group)?;
        }
        row_group.close()?;
        self.row_groups += 1;
        Ok(())
    }

    fn finish(mut self, folder: &Path, job: &Job<'_>) -> Result<Written, ParquetError> {
        if self.columns.len() > 0 {
            self.write_row_group()?;
        }
        self.writer.finish()?;
        self.writer.inner().get_ref().sync_all()?;
        self.columns.give_rest(&mut self.packed)?;
        side::write_losses(job.recovery, &mut self.packed)?;
        side::write_files(job.recovery, job.files, &mut self.packed)?;
        self.packed.finish()?;
        sums::write(folder).map_err(ParquetError::from)?;
        Ok(self.columns.written)
    }
}

/// How the records are packed, for row groups of that many records.
fn properties(row_group: usize, notes: Vec<KeyValue>) -> Result<WriterProperties, ParquetError> {
    let mut properties = WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::try_new(3)?))
        .set_dictionary_page_size_limit(DICTIONARY)
        .set_statistics_enabled(EnabledStatistics::Chunk)
        .set_created_by("logdef".into())
        .set_max_row_group_row_count(None)
        .set_key_value_metadata(Some(notes));
    let delta = ["time", "seq", "place"];
    for name in delta {
        let path = ColumnPath::from(name);
        properties = properties
            .set_column_dictionary_enabled(path.clone(), false)
            .set_column_encoding(path, Encoding::DELTA_BINARY_PACKED);
    }
    for (slot, number) in slots().filter(|(slot, _)| *slot == Slot::Float) {
        let path = ColumnPath::from(schema::slot_name(slot, number));
        properties = properties
            .set_column_dictionary_enabled(path.clone(), false)
            .set_column_encoding(path, Encoding::BYTE_STREAM_SPLIT);
    }
    for (slot, number) in slots().filter(|(slot, number)| *slot == Slot::Text && *number < SOUGHT) {
        let path = ColumnPath::from(schema::slot_name(slot, number));
        properties = properties
            .set_column_bloom_filter_fpp(path.clone(), 0.01)
            .set_column_bloom_filter_max_ndv(path, row_group as u64);
    }
    Ok(properties.build())
}
