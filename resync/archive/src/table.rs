//! A side table of an archive: rows of cells, given away as they become many. Knows neither
//! what the tables are about nor where they are written.

use crate::schema::{Unit, column, list_of};
use crate::tables::Table;
use arrow_array::builder::{
    BinaryBuilder, BooleanBuilder, Int64Builder, ListBuilder, StringBuilder,
    TimestampNanosecondBuilder, UInt64Builder,
};
use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::DataType;
use parquet::errors::Result;
use std::sync::Arc;

/// Rows that are kept before they are given away, and bytes in them.
const ROWS: usize = 1 << 14;
const BYTES: usize = 8 << 20;

/// Where the rows of tables go.
pub(crate) trait Sink {
    fn write(&mut self, table: Table, batch: RecordBatch) -> Result<()>;
}

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

/// Rows of a table that were not given away yet.
pub(crate) struct SideTable {
    table: Table,
    builders: Vec<Builder>,
    rows: usize,
    bytes: usize,
}

impl SideTable {
    pub(crate) fn new(table: Table) -> SideTable {
        let columns = table.columns().iter();
        SideTable {
            table,
            builders: columns.map(|(_, of)| Builder::new(*of)).collect(),
            rows: 0,
            bytes: 0,
        }
    }

    pub(crate) fn push(&mut self, row: &[Cell<'_>], out: &mut dyn Sink) -> Result<()> {
        debug_assert_eq!(row.len(), self.builders.len());
        let cells = self.builders.iter_mut().zip(row);
        self.bytes += cells
            .map(|(builder, cell)| builder.push(cell))
            .sum::<usize>();
        self.rows += 1;
        if self.rows >= ROWS || self.bytes >= BYTES {
            self.give(out)?;
        }
        Ok(())
    }

    /// Gives away the rows that it has.
    pub(crate) fn give(&mut self, out: &mut dyn Sink) -> Result<()> {
        if self.rows == 0 {
            return Ok(());
        }
        let columns = self.builders.iter_mut().map(Builder::finish).collect();
        (self.rows, self.bytes) = (0, 0);
        let batch = RecordBatch::try_new(self.table.schema(), columns)?;
        out.write(self.table, batch)
    }
}
