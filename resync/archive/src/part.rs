//! Writing one part of an archive: a folder of tables made from some logs. Knows what stands in
//! each table, and neither other parts nor what the folder is called in the end.

use crate::folder::{self, Identity, Known};
use crate::rows::{self, Rows, Whole};
use crate::schema::{self, Slot, Unit, slots};
use crate::side::{self, Frames, SiteNames, Threads};
use crate::site::{Call, Sites};
use arrow_schema::SchemaRef;
use logdef_resync::{Error, Input, MergedFrame, Recovery, Resolver, Standing, rewrite};
use logdef_wire::msgpack::Decoder;
use logdef_wire::record::Data;
use logdef_wire::{Record, Tag, Value};
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
/// Values that most records have on the stack.
const FEW: usize = 16;

/// What was written.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub struct Written {
    /// Records.
    pub records: u64,
    /// Those among them that columns cannot hold, and that are kept as they are.
    pub whole: u64,
    /// Frames that are no records.
    pub frames: u64,
    /// Records that were left out, since the archive has them.
    pub known: u64,
}

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
    let written = part.finish(folder).map_err(failed)?;
    side::write_losses(folder, recovery).map_err(failed)?;
    side::write_files(folder, recovery, job.files).map_err(failed)?;
    Ok(written)
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

/// A part that is being written.
struct Part {
    schema: SchemaRef,
    writer: SerializedFileWriter<BufWriter<File>>,
    columns: ArrowRowGroupWriterFactory,
    row_groups: usize,
    rows: Rows,
    sites: Sites,
    names: Vec<SiteNames>,
    threads: Threads,
    frames: Frames,
    written: Written,
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
        let properties = Arc::new(properties(notes.collect())?);
        let writer = SerializedFileWriter::new(file, descriptor.root_schema_ptr(), properties)?;
        Ok(Part {
            columns: ArrowRowGroupWriterFactory::new(&writer, Arc::clone(&schema)),
            schema,
            writer,
            row_groups: 0,
            rows: Rows::new(unit, row_group),
            sites: Sites::default(),
            names: Vec::new(),
            threads: Threads::default(),
            frames: Frames::create(folder)?,
            written: Written::default(),
        })
    }

    fn add(
        &mut self,
        frame: &MergedFrame<'_>,
        mark: Standing,
        resolver: &mut Resolver<'_>,
        known: &Known,
    ) -> Result<(), ParquetError> {
        let data = match frame.tag() {
            Tag::DATA => match frame.record() {
                Some(Record::Data(data)) => Some(data),
                _ => None,
            },
            _ => None,
        };
        let Some(data) = data else {
            self.written.frames += 1;
            let before = self.written.records;
            return self.frames.add(before, frame, mark, &mut self.threads);
        };
        if let (Some(run), Some(it)) = (data.run, data.sequence)
            && folder::holds(known, run.0, it.number().0, it.count())
        {
            self.written.known += 1;
            return Ok(());
        }
        let (args, keys) = (data.args, data.keys);
        let len = args.map_or(0, |it| it.len()) as usize + keys.map_or(0, |it| it.len()) as usize;
        if len <= FEW && keys.is_none() {
            let mut few = [Value::Nil; FEW];
            let len = args.map_or(0, |args| args.read_into(&mut few[..len]));
            self.record(&data, frame, &few[..len], mark, resolver);
        } else {
            let keys = keys.into_iter().flat_map(|map| map.iter());
            let values = args
                .into_iter()
                .flatten()
                .chain(keys.map(|(_, value)| value));
            self.record(&data, frame, &values.collect::<Vec<_>>(), mark, resolver);
        }
        self.written.records += 1;
        if self.rows.is_full() {
            self.write_row_group()?;
        }
        Ok(())
    }

    fn record(
        &mut self,
        data: &Data<'_>,
        frame: &MergedFrame<'_>,
        values: &[Value<'_>],
        mark: Standing,
        resolver: &mut Resolver<'_>,
    ) {
        let site = self.site(data, frame, values, resolver);
        let is_of_thread = match (data.run, data.sequence) {
            (Some(run), Some(sequence)) => {
                let time = data.time.unwrap_or(0);
                self.threads.add(run, sequence, time, data.thread)
            }
            _ => false,
        };
        if let Some(index) = site
            && is_of_thread
            && !frame.conflict
            && self.sites.all[index].slots.is_some()
            && has_columns_only(data, frame.body)
        {
            let site = &self.sites.all[index];
            self.rows.push(index, site, data, values, mark);
            return;
        }
        self.written.whole += 1;
        self.rows.push_whole(Whole {
            time: data.time,
            site: site.map(|index| self.sites.all[index].id),
            level: data.level.map(|level| level.0),
            run: data.run.map(|run| run.0),
            sequence: data.sequence,
            mark,
            body: frame.body.to_vec(),
        });
    }

    /// The site of a record.
    fn site(
        &mut self,
        data: &Data<'_>,
        frame: &MergedFrame<'_>,
        values: &[Value<'_>],
        resolver: &mut Resolver<'_>,
    ) -> Option<usize> {
        let call = Call::of(data);
        if let Some(site) = self.sites.find(&call, data, values) {
            return Some(site);
        }
        let resolved = resolver.resolve(data, frame.place);
        let is_unsigned = |index| resolved.prints_unsigned(index);
        let site = self.sites.add(call, data, values, is_unsigned)?;
        self.names
            .push(SiteNames::of(&resolved, &self.sites.all[site]));
        Some(site)
    }

    fn write_row_group(&mut self) -> Result<(), ParquetError> {
        let columns = self.columns.create_column_writers(self.row_groups)?;
        let mut columns = columns.into_iter();
        let mut row_group = self.writer.next_row_group()?;
        let schema = &self.schema;
        self.rows.take(&self.sites.all, |index, array| {
            for leaf in compute_leaves(schema.field(index), &array)? {
                let mut column = columns
                    .next()
                    .ok_or_else(|| ParquetError::General("a column too many".into()))?;
                column.write(&leaf)?;
                column.close()?.append_to_row_group(&mut row_group)?;
            }
            Ok::<_, ParquetError>(())
        })?;
        row_group.close()?;
        self.row_groups += 1;
        Ok(())
    }

    fn finish(mut self, folder: &Path) -> Result<Written, ParquetError> {
        if self.rows.len() > 0 {
            self.write_row_group()?;
        }
        self.writer.finish()?;
        self.writer.inner().get_ref().sync_all()?;
        self.frames.finish()?;
        self.threads.write(folder)?;
        side::write_sites(folder, &self.sites.all, &self.names)?;
        Ok(self.written)
    }
}

/// Whether the fields of a record are such that columns hold all of them: it is whole, has no
/// field that is not known, and none twice.
#[inline]
fn has_columns_only(data: &Data<'_>, body: &[u8]) -> bool {
    let is_time = data.time.is_some_and(|time| i64::try_from(time).is_ok());
    let fields = [
        data.magic.is_some(),
        data.file.is_some(),
        data.line.is_some(),
        data.level.is_some(),
        data.format.is_some(),
        data.run.is_some(),
        data.thread.is_some(),
        data.sequence.is_some(),
        data.time.is_some(),
        data.args.is_some(),
        data.backtrace.is_some(),
        data.format_text.is_some(),
        data.file_text.is_some(),
        data.dropped.is_some(),
        data.kind.is_some(),
        data.keys.is_some(),
        data.context.is_some(),
    ];
    let known = fields.iter().filter(|is_there| **is_there).count();
    let stand = body.get(1..).map(Decoder::new);
    let stand = stand.and_then(|mut decoder| decoder.map_head().ok());
    let is_plain = |address: Value<'_>| matches!(address, Value::Uint(_) | Value::Nil);
    is_time
        && stand == Some(known as u32)
        && data
            .backtrace
            .is_none_or(|backtrace| backtrace.iter().all(is_plain))
}

/// How the records are packed.
fn properties(notes: Vec<KeyValue>) -> Result<WriterProperties, ParquetError> {
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
            .set_column_bloom_filter_max_ndv(path, rows::RECORDS as u64);
    }
    Ok(properties.build())
}
