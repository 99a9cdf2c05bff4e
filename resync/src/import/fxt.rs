//! The Fuchsia trace format: log records and events of any trace become records of
//! a log.
//!
//! | in the trace | in the log |
//! |---|---|
//! | log record | a message |
//! | instant | a message: its name; `severity`, `file` and `line` are the level and the place, other arguments keys |
//! | duration begin, end | the begin and the end of a span |
//! | duration complete | both |
//! | async begin, end | both, with a key `span` |
//! | async instant, flow | a message with a key `span` or `flow` |
//! | counter | a counter: its numbers are the arguments |
//! | "buffer full" | a warning |
//!
//! A log record and the instant after it that say the same, at one time on one
//! thread, are one message. What the trace calls a process is the log's process, a
//! provider its image, a category its source file where no argument tells one.
//! Everything else has no place in a log, and is counted.

use super::log_writer::{Entry, LogWriter, Origin, Written, literal};
use super::order::Order;
use crate::read::input::{Error, Input};
use logdef_fuchsia::fxt::{
    Argument, EventKind, Item, Koid, MAX_LOG_LEN, Metadata, ObjectKind, ProviderEvent, Reader,
    Record, Resolved, Thread, Time, Tracker, Value as Typed,
};
use logdef_wire::record::Kind;
use logdef_wire::{Level, Value};
use std::borrow::Cow;
use std::collections::HashMap;
use std::io::Write;

/// Names of processes and threads that are remembered.
const NAMES: usize = 1 << 20;
/// Bytes that tell one trace from another.
const HEAD: usize = 64 << 10;
/// The longest message that continued log records are joined to.
const LONGEST: usize = 1 << 20;

/// What became of a trace.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub struct Imported {
    /// What was written.
    pub written: Written,
    /// Records that have no place in a log: scheduling, blobs, memory maps, and
    /// those of unknown types.
    pub left_out: u64,
    /// Byte ranges of the trace that hold no record that can be read.
    pub gaps: u64,
    /// Bytes in them.
    pub gap_bytes: u64,
}

/// Makes a log of a trace.
pub fn import(trace: &Input, out: impl Write) -> Result<Imported, Error> {
    let mut head = vec![0; HEAD];
    let got = trace
        .read_at(&mut head, 0)
        .map_err(|cause| Error::new(trace.name(), cause))?;
    let mut importer = Importer {
        names: names(trace)?,
        log: LogWriter::new(out, Origin::of(&head[..got])),
        order: Order::new(),
        last: None,
    };
    let mut imported = Imported::default();
    each(trace, |item, tracker| {
        match item {
            Item::Gap(gap) => {
                imported.gaps += 1;
                imported.gap_bytes += gap.len;
            }
            Item::Record(found) => {
                tracker.track(&found);
                if !importer.record(&tracker.resolve(&found.record), tracker)? {
                    imported.left_out += 1;
                }
            }
        }
        Ok(())
    })?;
    importer.settle()?;
    while let Some(next) = importer.order.pop() {
        next.write(&mut importer.log)?;
    }
    imported.written = importer.log.finish()?.1;
    Ok(imported)
}

/// The names of processes and threads: they may come after the events.
fn names(trace: &Input) -> Result<HashMap<Koid, Box<[u8]>>, Error> {
    let mut names = HashMap::new();
    each(trace, |item, tracker| {
        if let Item::Record(found) = item {
            tracker.track(&found);
            if let Record::KernelObject(object) = &found.record
                && matches!(object.kind, ObjectKind::PROCESS | ObjectKind::THREAD)
                && names.len() < NAMES
                && let Record::KernelObject(object) = tracker.resolve(&found.record)
            {
                names.insert(object.koid, object.name.as_bytes().into());
            }
        }
        Ok(())
    })?;
    Ok(names)
}

fn each(
    trace: &Input,
    mut with: impl FnMut(Item<'_>, &mut Tracker) -> Result<(), Error>,
) -> Result<(), Error> {
    let mut reader = Reader::new(trace.reader());
    let mut tracker = Tracker::new();
    loop {
        match reader.next() {
            Ok(Some(item)) => with(item, &mut tracker)?,
            Ok(None) => return Ok(()),
            Err(cause) => return Err(Error::new(trace.name(), cause)),
        }
    }
}

struct Importer<W> {
    names: HashMap<Koid, Box<[u8]>>,
    log: LogWriter<W>,
    order: Order<Owned>,
    /// A log record, and the length of the last piece of its text: what follows may
    /// belong to it.
    last: Option<(Owned, usize)>,
}

/// A value of an argument or key.
#[derive(Clone, Debug)]
enum OwnedValue {
    Nil,
    Bool(bool),
    Uint(u64),
    Int(i64),
    Float(f64),
    Raw(Vec<u8>),
}

/// An [`Entry`] that waits.
#[derive(Clone, Debug, Default)]
struct Owned {
    image: Vec<u8>,
    thread: Thread,
    thread_name: Option<Box<[u8]>>,
    time: u64,
    level: Option<Level>,
    file: Option<Vec<u8>>,
    line: Option<u64>,
    format: Vec<u8>,
    args: Vec<OwnedValue>,
    keys: Vec<(Vec<u8>, OwnedValue)>,
    kind: Option<Kind>,
}

impl<W: Write> Importer<W> {
    /// Whether the record has a place in a log, or says something about those that
    /// have.
    fn record(&mut self, record: &Record<Resolved<'_>>, tracker: &Tracker) -> Result<bool, Error> {
        match record {
            Record::Log(log) => {
                let text = log.message.as_bytes();
                if let Some((last, piece)) = &mut self.last
                    && last.is_at(&log.time, log.thread)
                    && *piece > MAX_LOG_LEN - 4
                    && let Some(OwnedValue::Raw(message)) = last.args.first_mut()
                    && message.len() < LONGEST
                {
                    *piece = text.len();
                    message.extend_from_slice(text);
                    return Ok(true);
                }
                self.settle()?;
                let mut entry = self.entry(&log.time, log.thread, tracker);
                entry.format = b"%s".to_vec();
                entry.args = vec![OwnedValue::Raw(text.to_vec())];
                self.last = Some((entry, text.len()));
            }
            Record::Event(event) => {
                let mut entry = self.entry(&event.time, event.thread, tracker);
                let is_end = matches!(
                    event.kind,
                    EventKind::DurationEnd | EventKind::AsyncEnd { .. }
                );
                // The end of a span need not say again what it is.
                let name = if is_end { "" } else { &*event.name };
                entry.describe(&event.category, name, &event.args);
                let key = |entry: &mut Owned, key: &[u8], id| {
                    entry.keys.push((key.to_vec(), OwnedValue::Uint(id)));
                };
                match event.kind {
                    EventKind::Instant => {
                        if let Some((last, _)) = &self.last
                            && last.is_at(&event.time, event.thread)
                            && let Some(OwnedValue::Raw(message)) = last.args.first()
                            && says_the_same(&event.name, message)
                        {
                            entry.format = b"%s".to_vec();
                            entry.args = vec![OwnedValue::Raw(message.clone())];
                            self.last = None;
                        }
                    }
                    EventKind::DurationBegin => entry.kind = Some(Kind::BEGIN),
                    EventKind::DurationEnd => entry.kind = Some(Kind::END),
                    EventKind::DurationComplete { end } => {
                        let mut ended = entry.clone();
                        ended.keys.clear();
                        ended.format.clear();
                        ended.time = nanos(&end);
                        ended.kind = Some(Kind::END);
                        entry.kind = Some(Kind::BEGIN);
                        self.push(ended)?;
                    }
                    EventKind::AsyncBegin { id } => {
                        entry.kind = Some(Kind::BEGIN);
                        key(&mut entry, b"span", id);
                    }
                    EventKind::AsyncInstant { id } => key(&mut entry, b"span", id),
                    EventKind::AsyncEnd { id } => {
                        entry.kind = Some(Kind::END);
                        key(&mut entry, b"span", id);
                    }
                    EventKind::FlowBegin { id }
                    | EventKind::FlowStep { id }
                    | EventKind::FlowEnd { id } => key(&mut entry, b"flow", id),
                    EventKind::Counter { id } => {
                        entry.count();
                        if id != 0 {
                            key(&mut entry, b"id", id);
                        }
                    }
                    EventKind::Unknown(_) => return Ok(false),
                }
                self.settle()?;
                self.push(entry)?;
            }
            Record::Metadata(Metadata::ProviderEvent { event, .. })
                if *event == ProviderEvent::BUFFER_FULL =>
            {
                self.settle()?;
                let mut entry = self.entry(&Time::default(), Thread::default(), tracker);
                entry.level = Some(Level::WARN);
                entry.format = b"the provider's buffer was full: records may be missing".to_vec();
                self.push(entry)?;
            }
            Record::Metadata(_)
            | Record::Initialization(_)
            | Record::String(_)
            | Record::Thread(_)
            | Record::KernelObject(_) => {}
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// An entry of a thread that says nothing yet.
    fn entry(&self, time: &Time, thread: Thread, tracker: &Tracker) -> Owned {
        let provider = tracker.provider().name().map(str::as_bytes);
        let process = self.names.get(&thread.process).map(|name| &**name);
        let image = provider.filter(|name| !name.is_empty()).or(process);
        Owned {
            image: image.unwrap_or_default().to_vec(),
            thread,
            thread_name: self.names.get(&thread.thread).cloned(),
            time: nanos(time),
            ..Owned::default()
        }
    }

    /// Nothing more belongs to the last log record.
    fn settle(&mut self) -> Result<(), Error> {
        match self.last.take() {
            Some((last, _)) => self.push(last),
            None => Ok(()),
        }
    }

    fn push(&mut self, entry: Owned) -> Result<(), Error> {
        self.order.push(entry.time, entry.size(), entry);
        while let Some(next) = self.order.overdue() {
            next.write(&mut self.log)?;
        }
        Ok(())
    }
}

impl Owned {
    /// Takes place, level and keys from an event's arguments.
    fn describe(&mut self, category: &str, name: &str, args: &[Argument<'_, Cow<'_, str>>]) {
        let mut name = Cow::Borrowed(name);
        for arg in args {
            match (&*arg.name, &arg.value) {
                ("severity", Typed::Text(text)) if self.level.is_none() => {
                    self.level = Level::parse(text);
                }
                ("file", Typed::Text(file)) if self.file.is_none() => {
                    self.file = Some(file.as_bytes().to_vec());
                }
                ("line", value) if self.line.is_none() => self.line = number(value),
                ("message", Typed::Text(text))
                    if name.is_empty() || says_the_same(&name, text.as_bytes()) =>
                {
                    name = Cow::Owned(text.to_string());
                }
                (key, value) => self.keys.push((key.as_bytes().to_vec(), value.into())),
            }
        }
        if self.file.is_none() && !category.is_empty() {
            self.file = Some(category.as_bytes().to_vec());
        }
        self.format = literal(name.as_bytes()).into_owned();
    }

    /// Makes the keys that are numbers the values of a counter.
    fn count(&mut self) {
        self.kind = Some(Kind::COUNTER);
        let keys = std::mem::take(&mut self.keys);
        for (name, value) in keys {
            let conversion = match value {
                OwnedValue::Uint(_) => " %llu",
                OwnedValue::Int(_) => " %lld",
                OwnedValue::Float(_) => " %g",
                _ => {
                    self.keys.push((name, value));
                    continue;
                }
            };
            let before: &[u8] = if self.args.is_empty() { b": " } else { b", " };
            self.format.extend_from_slice(before);
            self.format.extend_from_slice(&literal(&name));
            self.format.extend_from_slice(conversion.as_bytes());
            self.args.push(value);
        }
    }

    fn is_at(&self, time: &Time, thread: Thread) -> bool {
        self.time == nanos(time) && self.thread == thread
    }

    fn size(&self) -> usize {
        let keys = self
            .keys
            .iter()
            .map(|(key, value)| key.len() + value.size());
        let args = self.args.iter().map(OwnedValue::size);
        size_of::<Owned>() + self.image.len() + self.format.len() + keys.chain(args).sum::<usize>()
    }

    fn write(&self, log: &mut LogWriter<impl Write>) -> Result<(), Error> {
        let args: Vec<Value<'_>> = self.args.iter().map(OwnedValue::borrow).collect();
        let keys: Vec<_> = self
            .keys
            .iter()
            .map(|(key, value)| (&**key, value.borrow()))
            .collect();
        log.write(&Entry {
            image: &self.image,
            pid: Some(self.thread.process.0),
            tid: Some(self.thread.thread.0),
            thread_name: self.thread_name.as_deref(),
            time: Some(self.time),
            level: self.level,
            file: self.file.as_deref(),
            line: self.line,
            format: &self.format,
            args: &args,
            keys: &keys,
            kind: self.kind,
            dropped: 0,
        })
    }
}

impl OwnedValue {
    fn borrow(&self) -> Value<'_> {
        match self {
            OwnedValue::Nil => Value::Nil,
            OwnedValue::Bool(value) => Value::Bool(*value),
            OwnedValue::Uint(value) => Value::Uint(*value),
            OwnedValue::Int(value) => Value::Int(*value),
            OwnedValue::Float(value) => Value::Float(*value),
            OwnedValue::Raw(bytes) => Value::Raw(bytes),
        }
    }

    fn size(&self) -> usize {
        let heap = match self {
            OwnedValue::Raw(bytes) => bytes.len(),
            _ => 0,
        };
        size_of::<OwnedValue>() + heap
    }
}

impl From<&Typed<'_, Cow<'_, str>>> for OwnedValue {
    fn from(value: &Typed<'_, Cow<'_, str>>) -> OwnedValue {
        match value {
            Typed::I32(value) => OwnedValue::Int((*value).into()),
            Typed::I64(value) => OwnedValue::Int(*value),
            Typed::U32(value) => OwnedValue::Uint((*value).into()),
            Typed::U64(value) | Typed::Pointer(value) | Typed::Koid(Koid(value)) => {
                OwnedValue::Uint(*value)
            }
            Typed::F64(value) => OwnedValue::Float(*value),
            Typed::Text(text) => OwnedValue::Raw(text.as_bytes().to_vec()),
            Typed::Bool(value) => OwnedValue::Bool(*value),
            Typed::Blob(bytes) => OwnedValue::Raw(bytes.to_vec()),
            Typed::Null | Typed::Unknown { .. } => OwnedValue::Nil,
        }
    }
}

fn number(value: &Typed<'_, Cow<'_, str>>) -> Option<u64> {
    match OwnedValue::from(value) {
        OwnedValue::Uint(value) => Some(value),
        OwnedValue::Int(value) => value.try_into().ok(),
        _ => None,
    }
}

/// Nanoseconds, as far as 64 bits hold them.
fn nanos(time: &Time) -> u64 {
    time.nanos.try_into().unwrap_or(u64::MAX)
}

/// Whether an event's name is a message, or its beginning where it was cut.
fn says_the_same(name: &str, message: &[u8]) -> bool {
    match name.strip_suffix(crate::export::text::CUT) {
        Some(start) if message.starts_with(start.as_bytes()) => true,
        _ => name.as_bytes() == message,
    }
}
