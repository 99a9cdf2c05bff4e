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
//! | async instant | a message with a key `span` |
//! | flow begin, step, end | a message with a key `flow_begin`, `flow_step` or `flow_end` |
//! | counter | a counter: its numbers are the arguments |
//! | "buffer full" | a warning |
//!
//! Blobs that our exporter writes keep a record as it was; what follows them, up to the first
//! event, is that record for viewers.
//!
//! A log record and the event after it that says the same, at one time on one
//! thread, are one record: our exporter writes both by default. What the trace calls a
//! process is the log's process, a provider its image, a category a key `category`
//! where it is not the name of the provider. Everything else has no place in a log,
//! and is counted; so are times beyond the 64 bits that a log has for them, which
//! become no time.

mod owned;
mod whole;

use super::entry::literal;
use super::log_writer::{LogWriter, Origin, Written};
use super::order::Order;
use crate::export::fxt::{MADE_UP, UNNAMED};
use crate::export::text::CUT;
use crate::read::input::{Error, Input, Reading};
use crate::recover::losses::Losses;
use logdef_fuchsia::fxt::{
    Argument, Blob, Event, EventKind, Item, KernelObject, Koid, Log, MAX_ARGUMENTS, MAX_LOG_LEN,
    Metadata, ObjectKind, ProviderEvent, ProviderId, Reader, Record, Resolved, Thread, Time,
    Tracker, Value as Typed,
};
use logdef_wire::Level;
use logdef_wire::record::{Kind, Record as Kept, ThreadLogdef};
use owned::{Formats, Owned, OwnedValue};
use std::borrow::Cow;
use std::collections::HashMap;
use std::io::Write;
use whole::Whole;

/// Names of processes and threads that are remembered.
const NAMES: usize = 1 << 20;
/// Bytes at the start of a trace by which it is identified.
const HEAD: usize = 64 << 10;
/// The longest message that continued log records are joined to.
const LONGEST: usize = 1 << 20;

/// What became of a trace.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub struct Imported {
    /// The log that was made of it.
    pub written: Written,
    /// Records that have no place in a log: scheduling, blobs, memory maps, and
    /// those of unknown types.
    pub left_out: u64,
    /// Byte ranges of the trace that hold no record that can be read.
    pub gaps: u64,
    /// Bytes of the trace that are in these gaps.
    pub gap_bytes: u64,
    /// Records whose time a log cannot hold: before 1970 or after 2554.
    pub untimed: u64,
}

impl Imported {
    /// Has a log say what of its source could not be read. One without any record is no log.
    pub(super) fn write_to(&self, log: &mut LogWriter<impl Write>, source: &Input) {
        if log.records() > 0 {
            log.lose(&Losses {
                damaged: self.gap_bytes,
                broken_off: u64::from(source.broken_off().is_some()),
                ..Losses::default()
            });
        }
    }
}

/// Makes a log of a trace. What the log lacks that the trace was exported from, and what of the
/// trace cannot be read, the log lacks too, and says so.
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
        whole: Whole::default(),
        images: HashMap::new(),
        formats: Formats::default(),
        untimed: 0,
    };
    let mut imported = Imported::default();
    each(trace, |item, tracker| {
        match item {
            Item::Gap(gap) => {
                imported.gaps += 1;
                imported.gap_bytes += gap.len;
                importer.settle()?;
                // What is lost may be the record that it belongs to.
                importer.whole = Whole::default();
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
    imported.untimed = importer.untimed;
    imported.write_to(&mut importer.log, trace);
    imported.written = importer.log.finish()?.1;
    Ok(imported)
}

/// The names of processes and threads: they may come after the events.
fn names(trace: &Input) -> Result<Names, Error> {
    let mut names = Names::new();
    each(trace, |item, tracker| {
        if let Item::Record(found) = item {
            tracker.track(&found);
            if let Record::Blob(_) = &found.record
                && let Record::Blob(blob) = tracker.resolve(&found.record)
                && let Some(Kept::ThreadLogdef(thread)) = whole::record(&blob)
            {
                name_whole(&mut names, &thread);
            }
            if let Record::KernelObject(object) = &found.record
                && matches!(object.kind, ObjectKind::PROCESS | ObjectKind::THREAD)
                && names.len() < NAMES
                && let Record::KernelObject(object) = tracker.resolve(&found.record)
            {
                // The first name counts until there is another.
                let key = (object.kind, object.koid);
                names.entry(key).or_insert_with(|| Known::of(&object));
            }
        }
        Ok(())
    })?;
    Ok(names)
}

/// A thread has a name that the record before could not hold.
fn name_whole(names: &mut Names, thread: &ThreadLogdef<'_>) {
    let key = thread.tid.map(|tid| (ObjectKind::THREAD, Koid(tid)));
    if let (Some(key), Some(name)) = (key, thread.name)
        && let Some(known) = names.get_mut(&key)
    {
        known.name = Some(name.into());
    }
}

fn each(
    trace: &Input,
    mut with: impl FnMut(Item<'_>, &mut Tracker) -> Result<(), Error>,
) -> Result<(), Error> {
    let mut reader = Reader::new(trace.reading()).over_holes(Reading::skip_hole);
    let mut tracker = Tracker::new();
    loop {
        match reader.next() {
            Ok(Some(item)) => with(item, &mut tracker)?,
            Ok(None) => return Ok(()),
            Err(cause) => return Err(Error::new(trace.name(), cause)),
        }
    }
}

/// What the trace says of its processes and threads: one of each may have the same number.
type Names = HashMap<(ObjectKind, Koid), Known>;

/// What it says of one.
#[derive(Clone, Debug, Default)]
struct Known {
    name: Option<Box<[u8]>>,
    is_made_up: bool,
}

impl Known {
    fn of(object: &KernelObject<Resolved<'_>>) -> Known {
        let is = |name| object.args.iter().any(|arg| arg.name == name);
        Known {
            name: (!is(UNNAMED)).then(|| object.name.as_bytes().into()),
            is_made_up: is(MADE_UP),
        }
    }
}

struct Importer<W> {
    names: Names,
    log: LogWriter<W>,
    order: Order<Owned>,
    /// The last record, as long as what follows may belong to it.
    last: Option<Last>,
    /// The record that the next events stand for, if blobs kept it.
    whole: Whole,
    /// Paths of the images that providers are named after.
    images: HashMap<ProviderId, Vec<u8>>,
    formats: Formats,
    untimed: u64,
}

/// A record to which the next one of the trace may belong.
struct Last {
    entry: Owned,
    time: Time,
    of: LastKind,
}

enum LastKind {
    /// A log record, and the length of the last piece of its text.
    Log { piece: usize },
    /// A counter event with as many values as fit one, by its name.
    Counter { name: String, id: u64 },
}

impl<W: Write> Importer<W> {
    /// Whether the record has a place in a log, or says something about those that
    /// have.
    fn record(&mut self, record: &Record<Resolved<'_>>, tracker: &Tracker) -> Result<bool, Error> {
        match record {
            Record::Log(log) => self.log(log, tracker)?,
            Record::Event(event) => return self.event(event, tracker),
            Record::Metadata(Metadata::ProviderEvent { event, .. })
                if *event == ProviderEvent::BUFFER_FULL =>
            {
                self.settle()?;
                let mut entry = self.entry(&Time::default(), Thread::default(), tracker);
                entry.time = None;
                entry.level = Some(Level::WARN);
                entry.format = b"the provider's buffer was full: records may be missing".to_vec();
                self.push(entry)?;
            }
            Record::KernelObject(object) => {
                if let Some(known) = self.names.get_mut(&(object.kind, object.koid)) {
                    *known = Known::of(object);
                }
            }
            Record::Blob(blob) => return self.blob(blob, tracker),
            Record::Metadata(Metadata::ProviderInfo { provider, .. }) => {
                self.images.remove(provider);
            }
            Record::Metadata(Metadata::Magic) => self.images.clear(),
            Record::Metadata(_)
            | Record::Initialization(_)
            | Record::String(_)
            | Record::Thread(_) => {}
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Whether a blob is one of ours.
    fn blob(&mut self, blob: &Blob<Resolved<'_>>, tracker: &Tracker) -> Result<bool, Error> {
        let Some(record) = whole::record(blob) else {
            return Ok(false);
        };
        match record {
            Kept::Preamble(preamble) => {
                if let Some(path) = preamble.path
                    && self.images.len() < NAMES
                {
                    self.images.insert(tracker.provider().id(), path.to_vec());
                }
            }
            Kept::ThreadLogdef(thread) => {
                name_whole(&mut self.names, &thread);
            }
            kept => {
                self.settle()?;
                return Ok(self.whole.add(&kept, blob.data));
            }
        }
        Ok(true)
    }

    fn log(&mut self, log: &Log<Resolved<'_>>, tracker: &Tracker) -> Result<(), Error> {
        let text = log.message.as_bytes();
        if let Some(last) = &mut self.last
            && last.is_at(log.time, log.thread)
            && let LastKind::Log { piece } = &mut last.of
            && *piece > MAX_LOG_LEN - 4
            && let Some(OwnedValue::Raw(message)) = last.entry.args.first_mut()
            && message.len() < LONGEST
        {
            *piece = text.len();
            message.extend_from_slice(text);
            return Ok(());
        }
        self.settle()?;
        let mut entry = self.entry(&log.time, log.thread, tracker);
        entry.say(text);
        let piece = text.len();
        self.last = Some(Last {
            entry,
            time: log.time,
            of: LastKind::Log { piece },
        });
        Ok(())
    }

    fn event(&mut self, event: &Event<Resolved<'_>>, tracker: &Tracker) -> Result<bool, Error> {
        if let EventKind::Counter { id } = event.kind {
            self.counter(event, id, tracker)?;
            return Ok(true);
        }
        if let EventKind::Unknown(_) = event.kind {
            return Ok(false);
        }
        let mut entry = self.entry(&event.time, event.thread, tracker);
        let is_end = matches!(
            event.kind,
            EventKind::DurationEnd | EventKind::AsyncEnd { .. }
        );
        // The end of a span need not say again what it is.
        let name = if is_end { "" } else { &*event.name };
        let category = category(event, tracker);
        let said = entry.describe(name, &event.args);
        let logged = self.logged(event, is_end);
        let message = logged.as_deref().unwrap_or(said.as_bytes());
        entry.add_message(message, &mut self.formats);
        if logged.is_some() {
            self.last = None;
        }
        entry.categorize(category);
        match event.kind {
            EventKind::DurationBegin => entry.kind = Some(Kind::BEGIN),
            EventKind::DurationEnd => entry.kind = Some(Kind::END),
            EventKind::DurationComplete { end } => {
                let mut ended = entry.clone();
                ended.keys.clear();
                ended.say_nothing();
                ended.time = nanos(&end);
                ended.kind = Some(Kind::END);
                entry.kind = Some(Kind::BEGIN);
                self.settle()?;
                self.push(ended)?;
            }
            EventKind::AsyncBegin { id } => {
                entry.kind = Some(Kind::BEGIN);
                entry.key("span", id);
            }
            EventKind::AsyncInstant { id } => entry.key("span", id),
            EventKind::AsyncEnd { id } => {
                entry.kind = Some(Kind::END);
                entry.key("span", id);
            }
            EventKind::FlowBegin { id } => entry.key("flow_begin", id),
            EventKind::FlowStep { id } => entry.key("flow_step", id),
            EventKind::FlowEnd { id } => entry.key("flow_end", id),
            EventKind::Instant | EventKind::Counter { .. } | EventKind::Unknown(_) => {}
        }
        self.settle()?;
        self.push(entry)?;
        Ok(true)
    }

    /// The text of the log record just before `event`, if the two are one record.
    fn logged(&self, event: &Event<Resolved<'_>>, is_end: bool) -> Option<Vec<u8>> {
        let last = self.last.as_ref()?;
        let LastKind::Log { .. } = last.of else {
            return None;
        };
        let Some(OwnedValue::Raw(message)) = last.entry.args.first() else {
            return None;
        };
        if !last.is_at(event.time, event.thread) {
            return None;
        }
        if self.whole.is_there() {
            return Some(message.clone());
        }
        let is_same = if is_end {
            // The end of a span has the name of its beginning; its message is an argument.
            match argument(&event.args, "message") {
                Some(said) => says_the_same(said, message),
                None => message.is_empty() || event.name.as_bytes() == message,
            }
        } else {
            says_the_same(&event.name, message)
        };
        is_same.then(|| message.clone())
    }

    /// A counter event: alone, with the log record before it, or with the event before
    /// it, whose values it continues.
    fn counter(
        &mut self,
        event: &Event<Resolved<'_>>,
        id: u64,
        tracker: &Tracker,
    ) -> Result<(), Error> {
        let is_full = event.args.len() == MAX_ARGUMENTS;
        let mut entry = match self.last.take() {
            Some(last)
                if last.is_at(event.time, event.thread)
                    && last.entry.format.len() + 32 * last.entry.args.len() < LONGEST
                    && matches!(&last.of, LastKind::Counter { name, id: other }
                        if *name == *event.name && *other == id) =>
            {
                last.entry
            }
            last => {
                self.last = last;
                self.begin_counter(event, id, tracker)?
            }
        };
        entry.count(&event.args);
        if is_full {
            let name = event.name.to_string();
            self.last = Some(Last {
                entry,
                time: event.time,
                of: LastKind::Counter { name, id },
            });
            return Ok(());
        }
        entry.print_as_logged();
        self.push(entry)
    }

    /// A counter without values yet.
    fn begin_counter(
        &mut self,
        event: &Event<Resolved<'_>>,
        id: u64,
        tracker: &Tracker,
    ) -> Result<Owned, Error> {
        let mut entry = self.entry(&event.time, event.thread, tracker);
        entry.categorize(category(event, tracker));
        entry.kind = Some(Kind::COUNTER);
        entry.format = literal(event.name.as_bytes()).into_owned();
        if id != 0 {
            entry.key("id", id);
        }
        if let Some(last) = &self.last
            && last.is_at(event.time, event.thread)
            && let LastKind::Log { .. } = last.of
            && let Some(OwnedValue::Raw(message)) = last.entry.args.first()
            && (self.whole.is_there() || contains(message, without_mark(&event.name).as_bytes()))
        {
            entry.logged = Some(message.clone());
            self.last = None;
        }
        self.settle()?;
        Ok(entry)
    }

    /// An entry of a thread that says nothing yet.
    fn entry(&self, time: &Time, thread: Thread, tracker: &Tracker) -> Owned {
        let provider = tracker.provider().name().map(str::as_bytes);
        let process = self.names.get(&(ObjectKind::PROCESS, thread.process));
        let of_thread = self.names.get(&(ObjectKind::THREAD, thread.thread));
        let name = process.and_then(|known| known.name.as_deref());
        let path = self.images.get(&tracker.provider().id());
        let provider = provider.filter(|name| !name.is_empty());
        let image = path.map(|path| &**path).or(provider).or(name);
        Owned {
            image: image.unwrap_or_default().to_vec(),
            thread,
            is_pid_made_up: process.is_some_and(|known| known.is_made_up),
            is_tid_made_up: of_thread.is_some_and(|known| known.is_made_up),
            thread_name: of_thread.and_then(|known| known.name.clone()),
            time: nanos(time),
            is_untimed: nanos(time).is_none(),
            ..Owned::default()
        }
    }

    /// Nothing more belongs to the last record.
    fn settle(&mut self) -> Result<(), Error> {
        match self.last.take() {
            Some(mut last) => {
                last.entry.print_as_logged();
                self.push(last.entry)
            }
            None => Ok(()),
        }
    }

    fn push(&mut self, mut entry: Owned) -> Result<(), Error> {
        entry.be(std::mem::take(&mut self.whole));
        // Without a time it stays where it is.
        let time = entry.time.unwrap_or(self.order.latest());
        self.untimed += u64::from(entry.is_untimed);
        self.order.push(time, entry.size(), entry);
        while let Some(next) = self.order.overdue() {
            next.write(&mut self.log)?;
        }
        Ok(())
    }
}

impl Last {
    fn is_at(&self, time: Time, thread: Thread) -> bool {
        self.time.nanos == time.nanos && self.entry.thread == thread
    }
}

/// The text of an argument.
fn argument<'a>(args: &'a [Argument<'_, Cow<'_, str>>], name: &str) -> Option<&'a str> {
    args.iter().find_map(|arg| match &arg.value {
        Typed::Text(text) if arg.name == name => Some(&**text),
        _ => None,
    })
}

/// The category of an event, if it is not just the name of its provider.
fn category<'e>(event: &'e Event<Resolved<'_>>, tracker: &Tracker) -> Option<&'e str> {
    let category = &*event.category;
    let is_news = tracker.provider().name() != Some(category) && !category.is_empty();
    is_news.then_some(category)
}

/// Nanoseconds, if 64 bits hold them.
fn nanos(time: &Time) -> Option<u64> {
    time.nanos.try_into().ok()
}

fn contains(text: &[u8], part: &[u8]) -> bool {
    memchr::memmem::find(text, part).is_some()
}

/// A name, or the beginning of it that was not cut off.
fn without_mark(name: &str) -> &str {
    name.strip_suffix(CUT).unwrap_or(name)
}

/// Whether an event's name is a message, or its beginning where it was cut.
fn says_the_same(name: &str, message: &[u8]) -> bool {
    match name.strip_suffix(CUT) {
        Some(start) if message.starts_with(start.as_bytes()) => true,
        _ => name.as_bytes() == message,
    }
}
