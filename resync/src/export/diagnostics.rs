//! Diagnostics data of Fuchsia: what a record says in the terms that log stores
//! share. Here records lose their printf shape: a message, and typed keys.
//!
//! | of the record | in the data |
//! |---|---|
//! | time, nanoseconds since the Unix epoch | `timestamp` |
//! | level, with its number | `severity`, `raw_severity` |
//! | file name of the image | `moniker`, and the first tag |
//! | name of the thread | the second tag |
//! | process and kernel's thread id, file, line | `pid`, `tid`, `file`, `line` |
//! | the text that printf would have made | the message |
//! | printf arguments, counted from 0 | keys `0`, `1`, … with their types |
//! | key-value pairs | keys under their names; `tag` is a tag |
//! | backtrace | the key `backtrace`, a line for each function |
//! | records that were lost just before | the error `dropped_logs` |

use super::fxt::{describe, image_name};
use crate::resolve::resolver::{Resolved, StackEntry, push_value};
use logdef_fuchsia::diagnostics::{
    Batches, LogError, LogsData, LogsPayload, MAX_ARRAY_BYTES, Property,
};
use logdef_fuchsia::structured::Severity;
use logdef_wire::record::Kind;
use logdef_wire::{Level, Value};
use std::io;

/// A record as log data.
///
/// ```
/// use logdef_resync::export::diagnostics::logs_data;
/// use logdef_resync::{Place, Resolver, Tables};
/// use logdef_wire::{Level, record::Data};
///
/// let tables = Tables::new(1 << 20);
/// let mut resolver = Resolver::without_images(&tables);
/// let data = Data {
///     format_text: Some(b"started"),
///     level: Some(Level::WARN),
///     time: Some(1_000),
///     ..Data::default()
/// };
/// let data = logs_data(&resolver.resolve(&data, Place { input: 0, offset: 0 }), &[]);
/// assert_eq!(data.metadata.severity.name(), "WARN");
/// assert_eq!(data.payload.unwrap().message.as_deref(), Some("started"));
/// ```
pub fn logs_data(record: &Resolved<'_>, stack: &[StackEntry]) -> LogsData {
    let data = &record.data;
    let level = data.level.unwrap_or(Level::INFO);
    let time = i64::try_from(data.time.unwrap_or(0)).unwrap_or(i64::MAX);
    let image = image_name(record);
    let mut logs = LogsData::new(&*image, time, Severity(level.0));
    let metadata = &mut logs.metadata;
    metadata.tags.push(image.into_owned());
    if let Some(name) = record.thread.and_then(|thread| thread.name.as_deref()) {
        let name = String::from_utf8_lossy(name);
        if metadata.tags[0] != name {
            metadata.tags.push(name.into_owned());
        }
    }
    metadata.pid = record.run.and_then(|run| run.pid);
    metadata.tid = record.thread.and_then(|thread| thread.tid);
    metadata.file = record.file.bytes.map(text);
    metadata.line = data.line;
    let count = data.dropped.unwrap_or(0);
    metadata.set_error(LogError::DroppedLogs { count });
    let mut message = Vec::new();
    record.message(&mut message);
    let (tags, keys) = keys(record, stack)
        .into_iter()
        .partition::<Vec<_>, _>(|(name, _)| name == "tag");
    let tags = tags.into_iter().map(|(_, tag)| tag.to_string());
    metadata.tags.extend(tags);
    logs.payload = Some(LogsPayload {
        message: Some(text(&message)),
        keys,
    });
    logs
}

/// The severity as it was recorded, for stores that have numbers of their own.
pub(super) fn recorded(data: &LogsData) -> Severity {
    data.metadata.recorded_severity().bucket()
}

fn keys(record: &Resolved<'_>, stack: &[StackEntry]) -> Vec<(String, Property)> {
    let data = &record.data;
    // The message alone is no key beside itself.
    let args = data.args.filter(|_| record.format.bytes != Some(b"%s"));
    let arguments = args.into_iter().flatten().enumerate();
    let mut keys: Vec<_> = arguments
        .map(|(index, value)| (index.to_string(), property(value)))
        .collect();
    if let Some(pairs) = data.keys {
        keys.extend(pairs.iter().map(|(key, value)| {
            let mut name = Vec::new();
            match key {
                Value::Raw(bytes) => name.extend_from_slice(bytes),
                other => push_value(other, &mut name),
            }
            (text(&name), property(value))
        }));
    }
    let kind = match data.kind {
        Some(Kind::BEGIN) => Some("begin"),
        Some(Kind::END) => Some("end"),
        Some(Kind::COUNTER) => Some("counter"),
        _ => None,
    };
    if let Some(kind) = kind {
        keys.push(("kind".into(), Property::Text(kind.into())));
    }
    if !stack.is_empty() {
        keys.push(("backtrace".into(), Property::Text(describe(stack))));
    }
    keys
}

fn property(value: Value<'_>) -> Property {
    match value {
        Value::Uint(value) => match i64::try_from(value) {
            // The wire has one form for both signs of what is not negative.
            Ok(value) => Property::SignedInt(value),
            Err(_) => Property::UnsignedInt(value),
        },
        Value::Int(value) => Property::SignedInt(value),
        Value::Float(value) => Property::Double(value),
        Value::Bool(value) => Property::Boolean(value),
        Value::Raw(bytes) => Property::Text(text(bytes)),
        other => {
            let mut out = Vec::new();
            push_value(other, &mut out);
            Property::Text(text(&out))
        }
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Writes JSON arrays of log data, one after the other, none larger than a
/// service's answer.
#[derive(Debug)]
pub struct Exporter<W> {
    out: W,
    items: Vec<String>,
    bytes: usize,
}

impl<W: io::Write> Exporter<W> {
    /// Begins with nothing.
    pub fn new(out: W) -> Self {
        Exporter {
            out,
            items: Vec::new(),
            bytes: 0,
        }
    }

    /// Adds a record.
    pub fn write(&mut self, data: &LogsData) -> io::Result<()> {
        let item = serde_json::to_string(data)?;
        self.bytes += item.len();
        self.items.push(item);
        match self.bytes < MAX_ARRAY_BYTES {
            true => Ok(()),
            false => self.flush(),
        }
    }

    /// Writes what is left.
    pub fn finish(mut self) -> io::Result<W> {
        self.flush()?;
        Ok(self.out)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.bytes = 0;
        for array in Batches::new(std::mem::take(&mut self.items), MAX_ARRAY_BYTES) {
            self.out.write_all(array.as_bytes())?;
            self.out.write_all(b"\n")?;
        }
        Ok(())
    }
}
