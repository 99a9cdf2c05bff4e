//! All records in one table, with message and places as text. Knows neither logs nor Python.

use crate::names::Calls;
use crate::text::{self, lossy};
use crate::walk::Rows;
use arrow_array::RecordBatch;
use arrow_array::builder::{
    ListBuilder, MapBuilder, StringBuilder, TimestampNanosecondBuilder, UInt64Builder,
};
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef, TimeUnit};
use logdef_resync::{Resolved, StackEntry};
use logdef_wire::Value;
use logdef_wire::record::Kind;
use std::borrow::Cow;
use std::collections::HashSet;
use std::sync::Arc;

/// The columns that say of a record when and where it was logged.
#[derive(Debug, Default)]
pub struct Origin {
    time: TimestampNanosecondBuilder,
    level: StringBuilder,
    run: UInt64Builder,
    pid: UInt64Builder,
    thread: UInt64Builder,
    tid: UInt64Builder,
    thread_name: StringBuilder,
    seq: UInt64Builder,
    kind: StringBuilder,
    mark: StringBuilder,
    len: usize,
}

pub fn time() -> DataType {
    DataType::Timestamp(TimeUnit::Nanosecond, Some("UTC".into()))
}

pub fn column(name: &str, data_type: DataType) -> Field {
    Field::new(name, data_type, true)
}

impl Origin {
    pub fn columns() -> Vec<Field> {
        let (number, text) = (DataType::UInt64, DataType::Utf8);
        vec![
            column("time", time()),
            column("level", text.clone()),
            column("run", number.clone()),
            column("pid", number.clone()),
            column("thread", number.clone()),
            column("tid", number.clone()),
            column("thread_name", text.clone()),
            column("seq", number),
            column("kind", text.clone()),
            column("mark", text),
        ]
    }

    pub fn push(&mut self, record: &Resolved<'_>) {
        let data = record.data;
        let time = data.time.and_then(|time| i64::try_from(time).ok());
        self.time.append_option(time);
        let level = data.level.map(|level| match level.name() {
            Some(name) => Cow::Borrowed(name),
            None => Cow::Owned(level.to_string()),
        });
        self.level.append_option(level);
        self.run.append_option(data.run.map(|run| run.0));
        self.pid.append_option(record.run.and_then(|run| run.pid));
        let number = data.sequence.map(|sequence| sequence.number().0);
        self.thread.append_option(number);
        self.tid
            .append_option(record.thread.and_then(|thread| thread.tid));
        let name = record.thread.and_then(|thread| thread.name.as_deref());
        self.thread_name.append_option(name.map(lossy));
        self.seq
            .append_option(data.sequence.map(|sequence| sequence.count()));
        let kind = data.kind.filter(|kind| *kind != Kind::MESSAGE);
        self.kind.append_option(kind.map(|kind| match kind {
            Kind::BEGIN => Cow::Borrowed("begin"),
            Kind::END => Cow::Borrowed("end"),
            Kind::COUNTER => Cow::Borrowed("counter"),
            Kind(other) => Cow::Owned(other.to_string()),
        }));
        self.mark.append_option(record.standing.word());
        self.len += 1;
    }

    pub fn len(&self) -> usize {
        self.len
    }

    pub fn take(&mut self) -> Vec<arrow_array::ArrayRef> {
        self.len = 0;
        vec![
            Arc::new(self.time.finish().with_timezone("UTC")),
            Arc::new(self.level.finish()),
            Arc::new(self.run.finish()),
            Arc::new(self.pid.finish()),
            Arc::new(self.thread.finish()),
            Arc::new(self.tid.finish()),
            Arc::new(self.thread_name.finish()),
            Arc::new(self.seq.finish()),
            Arc::new(self.kind.finish()),
            Arc::new(self.mark.finish()),
        ]
    }
}

/// Records as rows.
#[derive(Debug)]
pub struct Records {
    schema: SchemaRef,
    with_message: bool,
    calls: Calls,
    origin: Origin,
    message: StringBuilder,
    /// Site, file, function, module, target, format.
    places: [StringBuilder; 6],
    line: UInt64Builder,
    fields: MapBuilder<StringBuilder, StringBuilder>,
    backtrace: ListBuilder<StringBuilder>,
    text: Vec<u8>,
    bytes: usize,
}

/// The columns. Without `with_message`, all but the message.
pub fn schema(with_message: bool) -> SchemaRef {
    let text = || DataType::Utf8;
    let mut columns = Origin::columns();
    if with_message {
        columns.push(column("message", text()));
    }
    for name in ["site", "file", "function", "module", "target", "format"] {
        columns.push(column(name, text()));
    }
    let pair = [
        Field::new("keys", text(), false),
        Field::new("values", text(), true),
    ];
    let pairs = Field::new(
        "entries",
        DataType::Struct(pair.into_iter().collect()),
        false,
    );
    let stack = DataType::List(Arc::new(column("item", text())));
    columns.extend([
        column("line", DataType::UInt64),
        column("fields", DataType::Map(Arc::new(pairs), false)),
        column("backtrace", stack),
    ]);
    Arc::new(Schema::new(columns))
}

impl Records {
    pub fn new(with_message: bool) -> Records {
        Records {
            schema: schema(with_message),
            with_message,
            calls: Calls::default(),
            origin: Origin::default(),
            message: StringBuilder::new(),
            places: Default::default(),
            line: UInt64Builder::new(),
            fields: MapBuilder::new(None, StringBuilder::new(), StringBuilder::new()),
            backtrace: ListBuilder::new(StringBuilder::new()),
            text: Vec::new(),
            bytes: 0,
        }
    }

    /// Arguments with names, keys, and keys of the context: of two with one name, the first.
    fn push_fields(&mut self, record: &Resolved<'_>, names: &[Option<String>]) {
        let data = record.data;
        let args = data.args.into_iter().flatten().zip(names);
        let args = args.filter_map(|(value, name)| Some((Cow::Borrowed(name.as_deref()?), value)));
        let keys = data.keys.into_iter().flat_map(|keys| keys.iter());
        let keys = keys.filter_map(|(key, value)| Some((lossy(key.as_raw()?), value)));
        let context = record
            .context
            .iter()
            .map(|(key, value)| (lossy(key), value));
        let mut seen: HashSet<Cow<'_, str>> = HashSet::new();
        for (name, value) in args.chain(keys).chain(context) {
            if seen.contains(&name) {
                continue;
            }
            let value: Option<String> = match value {
                Value::Nil => None,
                value => text::of(value),
            };
            self.bytes += name.len() + value.as_ref().map_or(0, String::len);
            self.fields.keys().append_value(&name);
            self.fields.values().append_option(value);
            seen.insert(name);
        }
        // The lengths of keys and values are the same.
        let _ = self.fields.append(true);
    }
}

impl Rows for Records {
    fn push(&mut self, record: &Resolved<'_>, stack: &[StackEntry]) {
        let names = self.calls.names(record);
        self.origin.push(record);
        if self.with_message {
            self.text.clear();
            record.message(&mut self.text);
            self.bytes += self.text.len();
            self.message.append_value(lossy(&self.text));
        }
        let places = [
            &names.site,
            &names.file,
            &names.function,
            &names.module,
            &names.target,
            &names.format,
        ];
        for (column, place) in self.places.iter_mut().zip(places) {
            self.bytes += place.as_ref().map_or(0, String::len);
            column.append_option(place.as_deref());
        }
        self.line.append_option(record.source_line());
        self.push_fields(record, &names.arguments);
        for function in stack.iter().flat_map(text::functions) {
            self.bytes += function.len();
            self.backtrace.values().append_value(function);
        }
        self.backtrace.append(!stack.is_empty());
    }

    fn size(&self) -> (usize, usize) {
        (self.origin.len(), self.bytes)
    }

    fn take(&mut self) -> Result<RecordBatch, ArrowError> {
        self.bytes = 0;
        let mut columns = self.origin.take();
        if self.with_message {
            columns.push(Arc::new(self.message.finish()));
        }
        for place in &mut self.places {
            columns.push(Arc::new(place.finish()));
        }
        columns.push(Arc::new(self.line.finish()));
        columns.push(Arc::new(self.fields.finish()));
        columns.push(Arc::new(self.backtrace.finish()));
        RecordBatch::try_new(Arc::clone(&self.schema), columns)
    }
}
