//! Diagnostics data of Fuchsia: what a record says in the terms that log stores
//! share. Here records lose their printf shape: a message, and typed keys.
//!
//! | of the record | in the data |
//! |---|---|
//! | time | `timestamp`: nanoseconds since the Unix epoch, or of the monotonic clock, which Fuchsia means by it ([`to_monotonic`]) |
//! | no time | that of the record before, and the key `time` = `unknown` |
//! | level, with its number | `severity`, `raw_severity`; `TRACE` and 0 where there is none |
//! | file name of the image | `moniker`, and the first tag; an imported name is the moniker alone |
//! | name of the thread | the second tag |
//! | process and kernel's thread id, file, line | `pid`, `tid`, `file`, `line` |
//! | the text that printf would have made | the message |
//! | arguments, by their names or counted from 0 | keys `host`, `0`, `1`, … with their types |
//! | key-value pairs | keys under their names; `tag` is a tag |
//! | module and target of the call site | the keys `module` and `target`, with `#` after them where the program has a key of that name |
//! | standing, where it is not sound, or that the record conflicts with one before it | the key `standing`: `recovered`, `suspect` or `conflicting` |
//! | backtrace | the key `backtrace`, a line for each function |
//! | records that were lost just before | the error `dropped_logs` |
//! | keys `diagnostics.…` that the importer wrote | what it made them of |

use super::fxt::{TIME_UNKNOWN, describe, image_name, kind_name};
use super::imported;
use crate::export::text::harmless_json;
use crate::recover::tables::RunInfo;
use crate::resolve::resolved::{Resolved, push_value};
use crate::resolve::stack::StackEntry;
use logdef_fuchsia::diagnostics::{
    Batches, LogError, LogsData, LogsPayload, MAX_ARRAY_BYTES, Property,
};
use logdef_fuchsia::structured::Severity;
use logdef_wire::Value;
use std::io;

/// A record as log data.
///
/// ```
/// use logdef_resync::export::diagnostics::logs_data;
/// use logdef_resync::{Place, Resolver, Tables};
/// use logdef_wire::{Level, record::{Data, Glance}};
///
/// let tables = Tables::new(1 << 20);
/// let mut resolver = Resolver::without_images(&tables);
/// let data = Data {
///     front: Glance { level: Some(Level::WARN), time: Some(1_000), ..Glance::default() },
///     format_text: Some(b"started"),
///     ..Data::default()
/// };
/// let data = logs_data(&resolver.resolve(&data, Place { input: 0, offset: 0 }), &[]);
/// assert_eq!(data.metadata.severity.name(), "WARN");
/// assert_eq!(data.payload.unwrap().message.as_deref(), Some("started"));
/// ```
pub fn logs_data(record: &Resolved<'_>, stack: &[StackEntry]) -> LogsData {
    Converter::default().logs_data(record, stack)
}

/// Makes log data of the records of a log, in order.
#[derive(Debug, Default)]
pub struct Converter {
    last_time: Option<i64>,
}

impl Converter {
    /// A record as log data. Where it has no time it gets that of the one before.
    pub fn logs_data(&mut self, record: &Resolved<'_>, stack: &[StackEntry]) -> LogsData {
        let data = &record.data;
        let known = data.time.and_then(|time| i64::try_from(time).ok());
        let run_began = || record.run.and_then(|run| run.realtime?.try_into().ok());
        let time = known.or(self.last_time).or_else(run_began);
        let image = image_name(record);
        let level = data.level.map_or(NO_LEVEL, |level| Severity(level.0));
        let mut logs = LogsData::new(&*image, time.unwrap_or(0), level);
        let metadata = &mut logs.metadata;
        // An import is of no file, and need not say of what.
        let is_restored = record
            .image
            .is_some_and(|image| !image.path.starts_with(b"/"));
        if !record.image.is_some_and(|image| is_imported(&image.path)) {
            metadata.tags.push(image.into_owned());
        }
        if let Some(name) = record.thread.and_then(|thread| thread.name.as_deref()) {
            let name = String::from_utf8_lossy(name);
            if metadata.tags.first().is_none_or(|tag| *tag != name) {
                metadata.tags.push(name.into_owned());
            }
        }
        metadata.pid = record.run.and_then(|run| run.pid);
        metadata.tid = record.thread.and_then(|thread| thread.tid);
        metadata.file = record.source_file().map(text);
        metadata.line = record.source_line();
        let mut message = Vec::new();
        record.message(&mut message);
        logs.payload = Some(LogsPayload {
            message: Some(text(&message)),
            keys: Vec::new(),
        });
        let mut is_timed = known.is_some();
        let mut keys = Vec::new();
        for (name, property) in all_keys(record, stack) {
            // A program may have keys of these names, and a record in doubt says what it is in its payload.
            let may_restore = |part: &imported::Part| {
                is_restored
                    && (*part != imported::Part::NoPayload || record.standing.word().is_none())
            };
            let part = imported::Part::of(&name).filter(may_restore);
            match (part, property) {
                (Some(part), property) => is_timed |= part.restore(property, &mut logs),
                (None, Property::Text(tag)) if name == "tag" => logs.metadata.tags.push(tag),
                (None, property) => keys.push((name, property)),
            }
        }
        let count = data.dropped.unwrap_or(0);
        logs.metadata.set_error(LogError::DroppedLogs { count });
        if !is_timed {
            keys.push((TIME.to_owned(), Property::Text(TIME_UNKNOWN.to_owned())));
        }
        self.last_time = Some(logs.metadata.timestamp);
        if let Some(payload) = &mut logs.payload {
            payload.keys = keys;
        }
        logs
    }
}

/// The severity of a record without a level: no named one.
const NO_LEVEL: Severity = Severity(0);
/// The key of a record whose time is a guess.
const TIME: &str = "time";

/// Takes the timestamp from the Unix epoch to the monotonic clock of the machine that logged, as Fuchsia's
/// formats have it, by the two times at which the run began. False, and nothing done, if the log does not
/// have both.
pub fn to_monotonic(data: &mut LogsData, run: Option<&RunInfo>) -> bool {
    let Some((realtime, monotonic)) = run.and_then(|run| Some((run.realtime?, run.monotonic?)))
    else {
        return false;
    };
    let time = i128::from(data.metadata.timestamp) - i128::from(realtime) + i128::from(monotonic);
    let Ok(time) = time.try_into() else {
        return false;
    };
    data.metadata.timestamp = time;
    true
}

/// Whether the timestamp is that of the record.
pub(super) fn is_timed(data: &LogsData) -> bool {
    let keys = data
        .payload
        .as_ref()
        .map_or(&[][..], |payload| &payload.keys);
    !keys.iter().any(|(name, value)| {
        name == TIME && matches!(value, Property::Text(text) if text == TIME_UNKNOWN)
    })
}

/// An image that is no file: the name of a component that another log store gave.
fn is_imported(path: &[u8]) -> bool {
    !path.is_empty() && !path.starts_with(b"/")
}

/// The severity as it was recorded, for stores that have numbers of their own.
/// `None` if the record has none.
pub(super) fn recorded(data: &LogsData) -> Option<Severity> {
    let severity = data.metadata.recorded_severity();
    (severity != NO_LEVEL).then(|| severity.bucket())
}

fn all_keys(record: &Resolved<'_>, stack: &[StackEntry]) -> Vec<(String, Property)> {
    let data = &record.data;
    // The message alone is no key beside itself.
    let args = data.args.filter(|_| record.format.bytes != Some(b"%s"));
    let arguments = args.into_iter().flatten().enumerate();
    let standing = record.standing.word().or(record.conflict());
    let standing = standing.map(|word| ("standing".to_owned(), Property::Text(word.into())));
    let arguments = arguments.zip(record.argument_names());
    let arguments = arguments.map(|((index, value), name)| {
        let name = name.map_or_else(|| index.to_string(), text);
        (name, property(value))
    });
    // It comes first: what the program gave the same name is another.
    let mut keys: Vec<_> = standing.into_iter().chain(arguments).collect();
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
    let of_context = record.context.iter();
    keys.extend(of_context.map(|(key, value)| (text(key), property(value))));
    for (name, of_site) in [("module", record.module()), ("target", record.target())] {
        if let Some(of_site) = of_site {
            keys.push((unused(name, &keys), Property::Text(text(of_site))));
        }
    }
    let kind = kind_name(data.kind);
    if let Some(kind) = kind {
        keys.push(("kind".into(), Property::Text(kind.into())));
    }
    if !stack.is_empty() {
        keys.push(("backtrace".into(), Property::Text(describe(stack))));
    }
    keys
}

/// A name that none of the keys has.
fn unused(name: &str, keys: &[(String, Property)]) -> String {
    let mut name = name.to_owned();
    while keys.iter().any(|(other, _)| *other == name) {
        name.push('#');
    }
    name
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
    /// Writes nothing yet: an array begins with its first record.
    pub fn new(out: W) -> Self {
        Exporter {
            out,
            items: Vec::new(),
            bytes: 0,
        }
    }

    /// Keeps a record, and writes an array when its records have 1 MiB.
    pub fn write(&mut self, data: &LogsData) -> io::Result<()> {
        let item = harmless_json(serde_json::to_string(data)?);
        self.bytes += item.len();
        self.items.push(item);
        if self.bytes < MAX_ARRAY_BYTES {
            Ok(())
        } else {
            self.flush()
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
