//! Records on their way into a batch: the columns that a query wants, and no others.

use super::phase::Mark;
use super::reader::Row;
use crate::schema::{self, FRONT, RUN, SEQ, SITE, rare};
use datafusion::arrow::array::{
    ArrayRef, BinaryViewBuilder, BooleanBuilder, Float64Builder, Int64Builder, ListBuilder,
    RecordBatch, RecordBatchOptions, StringViewBuilder, TimestampNanosecondBuilder, UInt8Builder,
    UInt32Builder, UInt64Builder,
};
use datafusion::arrow::datatypes::{DataType, SchemaRef};
use datafusion::error::Result;
use logdef_archive::{Calls, push_msgpack};
use logdef_wire::{Typed, Value};
use std::sync::Arc;

/// Records of a batch, and bytes of texts in it.
const RECORDS: usize = 8192;
const BYTES: usize = 8 << 20;

/// A batch in the making.
pub(super) struct Columns {
    schema: SchemaRef,
    columns: Vec<(usize, Builder)>,
    /// For each call, the index of the value that is in each column.
    values: Vec<Vec<Option<u16>>>,
    rare: Rare,
    len: usize,
    bytes: usize,
    /// Room for msgpack.
    room: Vec<u8>,
}

/// The numbers of columns that few records have something in.
struct Rare {
    context: usize,
    dropped: usize,
    mark: usize,
    body: usize,
}

enum Builder {
    Time(TimestampNanosecondBuilder),
    Byte(UInt8Builder),
    Short(UInt32Builder),
    Uint(UInt64Builder),
    Int(Int64Builder),
    Float(Float64Builder),
    Bool(BooleanBuilder),
    Text(StringViewBuilder),
    Bytes(BinaryViewBuilder),
    List(ListBuilder<UInt64Builder>),
}

impl Columns {
    pub(super) fn new(schema: SchemaRef, projection: Vec<usize>, calls: &Calls) -> Columns {
        let records = schema::records();
        let fields = records.fields();
        let place = |call: usize, name: &str| {
            let slots = calls.columns(call)?.iter();
            let index = slots
                .map(Option::as_deref)
                .position(|slot| slot == Some(name))?;
            u16::try_from(index).ok()
        };
        let of_call = |call| {
            let fields = fields.iter();
            fields.map(|field| place(call, field.name())).collect()
        };
        let builder = |index: &usize| (*index, Builder::of(fields[*index].data_type()));
        Columns {
            columns: projection.iter().map(builder).collect(),
            schema,
            values: (0..calls.len()).map(of_call).collect(),
            rare: Rare {
                context: rare("context"),
                dropped: rare("dropped"),
                mark: rare("mark"),
                body: rare("body"),
            },
            len: 0,
            bytes: 0,
            room: Vec::new(),
        }
    }

    /// Whether records must be looked into for some columns.
    pub(super) fn wants_values(projection: &[usize]) -> bool {
        projection.iter().any(|index| {
            let is_behind = *index == SITE || *index >= FRONT;
            is_behind && *index != rare("mark")
        })
    }

    /// The value of a call that is in a column.
    #[inline]
    pub(super) fn value_of(&self, call: Option<usize>, column: usize) -> Option<usize> {
        self.values[call?][column].map(usize::from)
    }

    pub(super) fn is_full(&self) -> bool {
        self.len >= RECORDS || self.bytes >= BYTES
    }

    pub(super) fn is_empty(&self) -> bool {
        self.len == 0
    }

    #[inline]
    pub(super) fn push(&mut self, row: &Row<'_>) {
        self.len += 1;
        let of_call = row.call.map(|(call, _)| &self.values[call]);
        for (index, builder) in &mut self.columns {
            let value = of_call.and_then(|values| values[*index]);
            let value = value.and_then(|value| row.values.get(usize::from(value)));
            match value {
                Some(value) => self.bytes += builder.push_value(*value, &mut self.room),
                None => self.bytes += builder.push(*index, row, &self.rare),
            }
        }
    }

    /// The batch; then nothing is left.
    pub(super) fn take(&mut self) -> Result<RecordBatch> {
        let columns = self.columns.iter_mut();
        let columns = columns.map(|(_, builder)| builder.finish()).collect();
        let options = RecordBatchOptions::new().with_row_count(Some(self.len));
        (self.len, self.bytes) = (0, 0);
        let schema = Arc::clone(&self.schema);
        Ok(RecordBatch::try_new_with_options(
            schema, columns, &options,
        )?)
    }
}

impl Builder {
    fn of(data_type: &DataType) -> Builder {
        match data_type {
            DataType::Timestamp(..) => {
                Builder::Time(TimestampNanosecondBuilder::new().with_timezone("UTC"))
            }
            DataType::UInt8 => Builder::Byte(UInt8Builder::new()),
            DataType::UInt32 => Builder::Short(UInt32Builder::new()),
            DataType::Int64 => Builder::Int(Int64Builder::new()),
            DataType::Float64 => Builder::Float(Float64Builder::new()),
            DataType::Boolean => Builder::Bool(BooleanBuilder::new()),
            DataType::Utf8View => Builder::Text(StringViewBuilder::new()),
            DataType::BinaryView => Builder::Bytes(BinaryViewBuilder::new()),
            DataType::List(element) => {
                let list = ListBuilder::new(UInt64Builder::new());
                Builder::List(list.with_field(Arc::clone(element)))
            }
            _ => Builder::Uint(UInt64Builder::new()),
        }
    }

    /// Appends what is no value of the call.
    #[inline]
    fn push(&mut self, index: usize, row: &Row<'_>, rare: &Rare) -> usize {
        let data = row.data;
        // What is kept whole has its rarer fields in the body alone.
        let fits = row.body.is_none();
        match self {
            Builder::Time(to) => {
                to.append_option(data.time.and_then(|time| i64::try_from(time).ok()));
            }
            Builder::Byte(to) => to.append_option(data.level.map(|level| level.0)),
            Builder::Short(to) => {
                to.append_option(data.sequence.map(|it| it.number().0 as u32));
            }
            Builder::Uint(to) => to.append_option(match index {
                SITE => row.call.map(|(_, site)| site),
                RUN => data.run.map(|run| run.0),
                _ if index == rare.context => data.context.filter(|_| fits),
                _ if index == rare.dropped => data.dropped.filter(|_| fits),
                _ => None,
            }),
            Builder::Int(to) if index == SEQ => {
                to.append_option(data.sequence.map(|it| it.count() as i64));
            }
            Builder::Int(to) => to.append_null(),
            Builder::Float(to) => to.append_null(),
            Builder::Bool(to) => to.append_null(),
            Builder::Text(to) => {
                let mark = row.mark.filter(|_| index == rare.mark);
                to.append_option(mark.map(Mark::word));
            }
            Builder::Bytes(to) => {
                let body = row.body.filter(|_| index == rare.body);
                to.append_option(body);
                return body.map_or(0, <[u8]>::len);
            }
            Builder::List(to) => match data.backtrace.filter(|_| fits) {
                Some(backtrace) => {
                    let addresses = backtrace.iter().map(Value::as_uint);
                    addresses.for_each(|address| to.values().append_option(address));
                    to.append(true);
                    return 8 * backtrace.len() as usize;
                }
                None => to.append_null(),
            },
        }
        0
    }

    /// Appends a value of the call, in the column for its type.
    #[inline]
    fn push_value(&mut self, value: Value<'_>, room: &mut Vec<u8>) -> usize {
        match (self, value) {
            (Builder::Int(to), Value::Uint(value)) => to.append_option(i64::try_from(value).ok()),
            (Builder::Int(to), Value::Int(value)) => to.append_value(value),
            (Builder::Uint(to), Value::Uint(value)) => to.append_value(value),
            (Builder::Float(to), Value::Float(value)) => to.append_value(value),
            (Builder::Bool(to), Value::Bool(value)) => to.append_value(value),
            (Builder::Text(to), Value::Raw(bytes)) => {
                to.append_option(std::str::from_utf8(bytes).ok());
                return bytes.len();
            }
            (Builder::Text(to), Value::Array(array)) => match Typed::of(array) {
                Some(Typed::Printed(text)) => {
                    to.append_option(std::str::from_utf8(text).ok());
                    return text.len();
                }
                _ => to.append_null(),
            },
            (Builder::Bytes(to), Value::Nil) => to.append_null(),
            (Builder::Bytes(to), value) => {
                room.clear();
                push_msgpack(value, room);
                to.append_value(&room[..]);
                return room.len();
            }
            (Builder::Int(to), _) => to.append_null(),
            (Builder::Uint(to), _) => to.append_null(),
            (Builder::Float(to), _) => to.append_null(),
            (Builder::Bool(to), _) => to.append_null(),
            (Builder::Text(to), _) => to.append_null(),
            (Builder::Time(to), _) => to.append_null(),
            (Builder::Byte(to), _) => to.append_null(),
            (Builder::Short(to), _) => to.append_null(),
            (Builder::List(to), _) => to.append_null(),
        }
        0
    }

    fn finish(&mut self) -> ArrayRef {
        match self {
            Builder::Time(it) => Arc::new(it.finish()),
            Builder::Byte(it) => Arc::new(it.finish()),
            Builder::Short(it) => Arc::new(it.finish()),
            Builder::Uint(it) => Arc::new(it.finish()),
            Builder::Int(it) => Arc::new(it.finish()),
            Builder::Float(it) => Arc::new(it.finish()),
            Builder::Bool(it) => Arc::new(it.finish()),
            Builder::Text(it) => Arc::new(it.finish()),
            Builder::Bytes(it) => Arc::new(it.finish()),
            Builder::List(it) => Arc::new(it.finish()),
        }
    }
}
