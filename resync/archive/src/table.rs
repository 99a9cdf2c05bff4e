//! A side table of an archive: rows of cells, written as they come. Knows Parquet, and not what
//! the tables are about.

use crate::schema::{Unit, column, list_of};
use arrow_array::builder::{
    BinaryBuilder, BooleanBuilder, Int64Builder, ListBuilder, StringBuilder,
    TimestampNanosecondBuilder, UInt64Builder,
};
use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{DataType, Schema};
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::errors::{ParquetError, Result};
use parquet::file::properties::WriterProperties;
use std::fs::File;
use std::io::BufWriter;
use std::path::Path;
use std::sync::Arc;

/// Rows that are kept before they are written, and bytes in them.
const ROWS: usize = 1 << 14;
const BYTES: usize = 8 << 20;
/// Bytes of a row group before it is packed.
const ROW_GROUP: usize = 16 << 20;

/// What stands in a column.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Of {
    Uint,
    Int,
    Bool,
    Text,
    Bytes,
    Time,
    Texts,
}

impl Of {
    pub(crate) fn data_type(self) -> DataType {
        match self {
            Of::Uint => DataType::UInt64,
            Of::Int => DataType::Int64,
            Of::Bool => DataType::Boolean,
            Of::Text => DataType::Utf8,
            Of::Bytes => DataType::Binary,
            Of::Time => Unit::Nanoseconds.column(),
            Of::Texts => list_of(DataType::Utf8),
        }
    }
}

/// A value of a row.
pub(crate) enum Cell<'c> {
    Uint(Option<u64>),
    Int(Option<i64>),
    Bool(Option<bool>),
    /// Bytes that are no text become text as far as they can.
    Text(Option<&'c [u8]>),
    Bytes(Option<&'c [u8]>),
    /// Nanoseconds since the epoch.
    Time(Option<u64>),
    Texts(&'c [Option<String>]),
}

enum Builder {
    Uint(UInt64Builder),
    Int(Int64Builder),
    Bool(BooleanBuilder),
    Text(StringBuilder),
    Bytes(BinaryBuilder),
    Time(TimestampNanosecondBuilder),
    Texts(ListBuilder<StringBuilder>),
}

impl Builder {
    fn new(of: Of) -> Builder {
        match of {
            Of::Uint => Builder::Uint(UInt64Builder::new()),
            Of::Int => Builder::Int(Int64Builder::new()),
            Of::Bool => Builder::Bool(BooleanBuilder::new()),
            Of::Text => Builder::Text(StringBuilder::new()),
            Of::Bytes => Builder::Bytes(BinaryBuilder::new()),
            Of::Time => Builder::Time(TimestampNanosecondBuilder::new().with_timezone("UTC")),
            Of::Texts => {
                let element = column("element", DataType::Utf8);
                Builder::Texts(ListBuilder::new(StringBuilder::new()).with_field(element))
            }
        }
    }

    /// Appends a cell of the column's type and returns its size.
    fn push(&mut self, cell: &Cell<'_>) -> usize {
        match (self, cell) {
            (Builder::Uint(to), Cell::Uint(value)) => to.append_option(*value),
            (Builder::Int(to), Cell::Int(value)) => to.append_option(*value),
            (Builder::Bool(to), Cell::Bool(value)) => to.append_option(*value),
            (Builder::Text(to), Cell::Text(value)) => {
                to.append_option(value.map(String::from_utf8_lossy));
                return value.map_or(0, <[u8]>::len);
            }
            (Builder::Bytes(to), Cell::Bytes(value)) => {
                to.append_option(*value);
                return value.map_or(0, <[u8]>::len);
            }
            (Builder::Time(to), Cell::Time(value)) => {
                to.append_option(value.and_then(|time| i64::try_from(time).ok()));
            }
            (Builder::Texts(to), Cell::Texts(values)) => {
                values
                    .iter()
                    .for_each(|value| to.values().append_option(value.as_deref()));
                to.append(true);
            }
            _ => unreachable!("the cells of a row are of the types of the columns"),
        }
        8
    }

    fn finish(&mut self) -> ArrayRef {
        match self {
            Builder::Uint(it) => Arc::new(it.finish()),
            Builder::Int(it) => Arc::new(it.finish()),
            Builder::Bool(it) => Arc::new(it.finish()),
            Builder::Text(it) => Arc::new(it.finish()),
            Builder::Bytes(it) => Arc::new(it.finish()),
            Builder::Time(it) => Arc::new(it.finish()),
            Builder::Texts(it) => Arc::new(it.finish()),
        }
    }
}

/// A table that is being written.
pub(crate) struct Table {
    schema: Arc<Schema>,
    builders: Vec<Builder>,
    writer: ArrowWriter<BufWriter<File>>,
    rows: usize,
    bytes: usize,
}

/// How side tables are packed.
fn properties() -> Result<WriterProperties> {
    Ok(WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::try_new(3)?))
        .set_created_by("logdef".into())
        .build())
}

impl Table {
    /// Begins a table in a new file.
    pub(crate) fn create(folder: &Path, name: &str, columns: &[(&str, Of)]) -> Result<Table> {
        let fields = columns
            .iter()
            .map(|(name, of)| column(name, of.data_type()));
        let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
        let file = BufWriter::new(File::create_new(folder.join(name)).map_err(ParquetError::from)?);
        Ok(Table {
            writer: ArrowWriter::try_new(file, Arc::clone(&schema), Some(properties()?))?,
            builders: columns.iter().map(|(_, of)| Builder::new(*of)).collect(),
            schema,
            rows: 0,
            bytes: 0,
        })
    }

    pub(crate) fn push(&mut self, row: &[Cell<'_>]) -> Result<()> {
        debug_assert_eq!(row.len(), self.builders.len());
        let cells = self.builders.iter_mut().zip(row);
        self.bytes += cells
            .map(|(builder, cell)| builder.push(cell))
            .sum::<usize>();
        self.rows += 1;
        if self.rows >= ROWS || self.bytes >= BYTES {
            self.write()?;
        }
        Ok(())
    }

    fn write(&mut self) -> Result<()> {
        let columns = self.builders.iter_mut().map(Builder::finish).collect();
        let batch = RecordBatch::try_new(Arc::clone(&self.schema), columns)?;
        self.writer.write(&batch)?;
        (self.rows, self.bytes) = (0, 0);
        if self.writer.in_progress_size() >= ROW_GROUP {
            self.writer.flush()?;
        }
        Ok(())
    }

    /// Writes the rest, and sees to it that it survives the machine.
    pub(crate) fn finish(mut self) -> Result<()> {
        self.write()?;
        self.writer.finish()?;
        self.writer.inner().get_ref().sync_all()?;
        Ok(())
    }
}
