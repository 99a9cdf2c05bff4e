//! The Fuchsia trace format, for trace viewers. One provider for each run of each
//! image, processes and threads as kernel objects, ticks of a nanosecond since the
//! Unix epoch.
//!
//! | form | Fuchsia's tools | Perfetto | Chrome, through `trace2json` |
//! |---|---|---|---|
//! | log records | log records | nothing | global marks named `log` |
//! | instants | events | marks on the thread's track, arguments in the details | marks |
//! | Perfetto packets | bytes that it knows nothing of | the same as above, and rows of the log table with priority, place and call stack | nothing |
//!
//! A process or thread whose number is lost gets one that no kernel gives, from 2^30 on.
//! From the 1025th image of a run on, all share one provider: `other runs`.
//! A record without a time stands where the one before it does, with the argument
//! `time` = `unknown`. The values of a counter are in as many events as they take; one that was found
//! beside damage is a mark.
//!
//! A log that is not clean ends with a record that says what it lost.
//!
//! A log record has room for text only; an instant carries level, file, line, the
//! printf arguments with their types, the format where there is room, keys, and the backtrace. An
//! argument of the program that has a name of ours ends with `#`. Beside instants, blobs keep
//! what has no room there, so that the trace imported again is the same log. What is not kept:
//! who the run was beside its process id, numbers of runs and of records, digests, build IDs
//! and modules of images, where contexts begin, names of functions of call sites, notes, and of a record of more
//! than 30 KiB all but its text. Spans and counters are
//! durations, async events and counter events, whichever of the last two forms is
//! wanted, and log records besides.

pub(crate) mod details;
pub(crate) mod whole;

use super::lost::{self, Said};
use super::perfetto::Packets;
use super::series::Series;
use super::text::{boundary, cut, lossy};
use crate::recover::losses::Losses;
use crate::recover::standing::Standing;
use crate::resolve::images::Function;
use crate::resolve::resolved::Resolved;
use crate::resolve::spans::{OpenSpan, Spans, span_id};
use crate::resolve::stack::StackEntry;
use details::{Details, TEXT, typed};
use logdef_fuchsia::fxt::{
    Argument, BlobKind, Event, EventKind, KernelObject, MAX_ARGUMENTS, MAX_LOG_LEN, ObjectKind,
    Plain, ProviderId, Thread, TickRate, Writer,
};
use logdef_wire::record::{Kind, ThreadLogdef};
use logdef_wire::{Magic, Run, ThreadNumber};
use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::fmt::Write as _;
use std::io;

/// The longest name of an event; a longer message is cut there, and whole in an
/// argument.
const NAME: usize = 256;
/// The longest text of a backtrace.
const BACKTRACE: usize = 8 << 10;
/// Bytes of packets that are put into one blob record.
const BLOB: usize = 30 << 10;
/// Processes and threads whose numbers are lost are numbered from here on: no Linux kernel gives a number
/// above 2^22, and Perfetto cuts what does not fit 31 bits.
const INVENTED: u64 = 1 << 30;

/// Images of runs that are providers of their own; others share one.
const PROVIDERS: usize = 1024;
/// The name of that one.
const OTHERS: &str = "other runs";
/// Threads whose names are remembered as written; with more, all are written again.
const THREADS: usize = 1 << 16;

/// The argument `time` of an event whose own time is a guess.
pub(crate) const TIME_UNKNOWN: &str = "unknown";
/// The argument of a process or thread whose number is lost, and of a thread whose name is.
pub(crate) const MADE_UP: &str = "made_up";
pub(crate) const UNNAMED: &str = "unnamed";
/// Arguments with the format of a message, its grammar and the names of what it takes.
pub(crate) const FORMAT: &str = "format";
pub(crate) const GRAMMAR: &str = "grammar";
/// The argument that counts records of the thread that were dropped just before.
pub(crate) const DROPPED: &str = "dropped_logs";

/// What each record becomes: any of these. By default a log record and an instant,
/// which every reader has something to show of.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Forms {
    /// A log record: what consoles of Fuchsia show.
    pub log: bool,
    /// An instant event: a mark on the thread's row in a trace viewer.
    pub instant: bool,
    /// A Perfetto packet, in a blob record.
    pub perfetto: bool,
}

impl Default for Forms {
    fn default() -> Forms {
        Forms {
            log: true,
            instant: true,
            perfetto: false,
        }
    }
}

/// How records are exported.
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct Options {
    /// What each record becomes.
    pub forms: Forms,
    /// Make times on one thread differ by at least a nanosecond: viewers nest
    /// marks of equal time, and drop them beyond some depth. Always done for
    /// Perfetto's packets: of rows of its log table that are deeper than 512, none is
    /// shown.
    pub break_ties: bool,
}

/// Writes a trace.
///
/// ```
/// use logdef_resync::export::fxt::{Exporter, Options};
/// use logdef_resync::{Place, Resolver, Tables};
/// use logdef_wire::record::{Data, Glance};
///
/// let tables = Tables::new(1 << 20);
/// let mut resolver = Resolver::without_images(&tables);
/// let front = Glance { time: Some(1_000), ..Glance::default() };
/// let data = Data { front, format_text: Some(b"started"), ..Data::default() };
/// let mut exporter = Exporter::new(Vec::new(), Options::default())?;
/// let place = Place { input: 0, offset: 0 };
/// exporter.record(&resolver.resolve(&data, place), &[])?;
/// let trace = exporter.finish()?;
/// assert_eq!(trace[..8], [0x10, 0x00, 0x04, 0x46, 0x78, 0x54, 0x16, 0x00]);
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug)]
pub struct Exporter<W: io::Write> {
    writer: Writer<W>,
    options: Options,
    providers: HashMap<ImageOfRun, usize>,
    /// Their names, in order of their ids, which count from 1.
    names: Vec<String>,
    /// The last one, and the last thread: mostly the next record has them too.
    provider: Option<(ImageOfRun, usize)>,
    thread: Option<(ThreadOfRun, usize)>,
    processes: HashSet<u64>,
    threads: HashMap<ThreadOfRun, usize>,
    known: Vec<KnownThread>,
    /// Numbers in place of those that are lost.
    invented: HashMap<Process, u64>,
    next_invented: u64,
    /// The time of the last record.
    last_time: Option<u64>,
    spans: Spans,
    packets: Packets,
    message: Vec<u8>,
    /// The body of a blob, and keys in it.
    body: Vec<u8>,
    keys: Vec<u8>,
    records: u64,
    said: Said,
}

type ImageOfRun = (Option<Run>, Option<Magic>);
/// A run; or, of records that name none, an image.
type Process = (Option<Run>, Option<Magic>);
type ThreadOfRun = (Process, ThreadNumber);

#[derive(Clone, Debug)]
struct KnownThread {
    thread: Thread,
    name: Vec<u8>,
    last_time: u64,
}

impl<W: io::Write> Exporter<W> {
    /// Writes the records with which a trace begins.
    pub fn new(out: W, options: Options) -> io::Result<Exporter<W>> {
        Ok(Exporter {
            writer: Writer::new(out)?,
            options,
            providers: HashMap::new(),
            names: Vec::new(),
            provider: None,
            thread: None,
            processes: HashSet::new(),
            threads: HashMap::new(),
            known: Vec::new(),
            invented: HashMap::new(),
            next_invented: INVENTED,
            last_time: None,
            spans: Spans::default(),
            packets: Packets::default(),
            message: Vec::new(),
            body: Vec::new(),
            keys: Vec::new(),
            records: 0,
            said: Said::default(),
        })
    }

    /// Adds a record with the stack entries of its backtrace, if it has one.
    pub fn record(&mut self, record: &Resolved<'_>, stack: &[StackEntry]) -> io::Result<()> {
        self.records += 1;
        let provider = self.select_provider(record)?;
        let (thread, time) = self.thread(record)?;
        let mut message = std::mem::take(&mut self.message);
        message.clear();
        record.marked_message(&mut message);
        let text = lossy(&message);
        let Forms {
            log,
            instant,
            perfetto,
        } = self.options.forms;
        let is_kept = instant && whole::is_needed(record) && self.keep(record, stack)?;
        if log {
            self.log(time, thread, &text)?;
        }
        if instant || perfetto {
            let ended = self.spans.follow(record.data, &message);
            let at = At {
                time,
                thread,
                provider,
                is_kept,
            };
            self.event(record, stack, at, &text, ended)?;
        }
        drop(text);
        self.message = message;
        Ok(())
    }

    /// Adds what the log lost, if it is not clean: after all records.
    pub fn lost(&mut self, losses: &Losses) -> io::Result<()> {
        lost::record(losses, self.said, |lost| self.record(lost, &[])).unwrap_or(Ok(()))
    }

    /// Records added so far.
    pub fn records(&self) -> u64 {
        self.records
    }

    /// Ends the trace and gives the output back.
    pub fn finish(mut self) -> io::Result<W> {
        self.write_packets(0)?;
        Ok(self.writer.finish()?)
    }

    /// Switches to the provider of a record, and returns the index of its name.
    fn select_provider(&mut self, record: &Resolved<'_>) -> io::Result<usize> {
        let key = (record.data.run, record.data.magic);
        if let Some((last, provider)) = self.provider
            && last == key
        {
            return Ok(provider);
        }
        let provider = match self.providers.get(&key) {
            Some(provider) => {
                self.writer.select(id(*provider))?;
                *provider
            }
            None if self.names.len() > PROVIDERS => {
                self.writer.select(id(PROVIDERS))?;
                PROVIDERS
            }
            None => {
                let provider = self.names.len();
                let name = if provider == PROVIDERS {
                    Cow::Borrowed(OTHERS)
                } else {
                    image_name(record)
                };
                let rate = TickRate::NANOSECONDS;
                self.writer.provider(id(provider), &cut(&name, 200), rate)?;
                if provider < PROVIDERS {
                    self.image(record, &name)?;
                }
                self.names.push(cut(&name, NAME).into_owned());
                self.providers.insert(key, provider);
                provider
            }
        };
        self.provider = Some((key, provider));
        Ok(provider)
    }

    /// The record's thread and time, after the names that were not written yet.
    fn thread(&mut self, record: &Resolved<'_>) -> io::Result<(Thread, u64)> {
        let data = &record.data;
        let number = data
            .sequence
            .map_or(ThreadNumber(0), |sequence| sequence.number());
        let process = (data.run, data.magic.filter(|_| data.run.is_none()));
        let key = (process, number);
        let name = record.thread.and_then(|thread| thread.name.as_deref());
        let mut time = self.time(record);
        let index = match self.thread {
            Some((last, index)) if last == key => Some(index),
            _ => self.threads.get(&key).copied(),
        };
        if let Some(index) = index {
            self.thread = Some((key, index));
            let breaks_ties = self.options.break_ties || self.options.forms.perfetto;
            let known = &mut self.known[index];
            if breaks_ties {
                time = time.max(known.last_time.saturating_add(1));
            }
            known.last_time = time;
            if name.is_none_or(|name| name == known.name) {
                return Ok((known.thread, time));
            }
        }
        let thread = match index {
            Some(index) => self.known[index].thread,
            None => {
                self.bound_threads();
                self.number(process, record)
            }
        };
        self.name(thread, number, record)?;
        let known = KnownThread {
            thread,
            name: name.unwrap_or_default().to_vec(),
            last_time: time,
        };
        match index {
            Some(index) => self.known[index] = known,
            None => {
                self.threads.insert(key, self.known.len());
                self.known.push(known);
            }
        }
        Ok((thread, time))
    }

    /// Forgets all threads when there are too many to remember.
    fn bound_threads(&mut self) {
        if self.known.len() >= THREADS {
            self.thread = None;
            self.threads.clear();
            self.known.clear();
            self.processes.clear();
            self.invented.clear();
            self.packets.forget_threads();
        }
    }

    /// When a record was: where that is not known, as late as the one before it. The format has no event
    /// without a time.
    fn time(&mut self, record: &Resolved<'_>) -> u64 {
        let known = record.data.time.or(self.last_time);
        let begun = || record.run.and_then(|run| run.realtime);
        let time = known.or_else(begun).unwrap_or(0);
        self.last_time = Some(time);
        time
    }

    /// The numbers of a thread: the kernel's, or numbers of our own for those that are lost.
    fn number(&mut self, process: Process, record: &Resolved<'_>) -> Thread {
        let pid = record.run.and_then(|run| run.pid).unwrap_or_else(|| {
            *self.invented.entry(process).or_insert_with(|| {
                self.next_invented += 1;
                self.next_invented
            })
        });
        let tid = record.thread.and_then(|thread| thread.tid);
        let tid = tid.unwrap_or_else(|| {
            self.next_invented += 1;
            self.next_invented
        });
        Thread::new(pid, tid)
    }

    /// Writes the names of a thread and, the first time, of its process.
    fn name(
        &mut self,
        thread: Thread,
        number: ThreadNumber,
        record: &Resolved<'_>,
    ) -> io::Result<()> {
        if self.processes.insert(thread.process.0) {
            let is_known = record.run.is_some_and(|run| run.pid.is_some());
            let args = [Argument::new(MADE_UP, true)];
            let name = image_name(record);
            let name = cut(&name, TEXT);
            self.writer.register(&name)?;
            self.writer.write(KernelObject::<Plain<'_>> {
                kind: ObjectKind::PROCESS,
                koid: thread.process,
                name: &name,
                args: if is_known { &[] } else { &args },
            })?;
        }
        let of = record.thread;
        let name = of.and_then(|thread| thread.name.as_deref());
        let text = match name {
            Some(name) => lossy(name).into_owned(),
            None => format!("thread {}", number.0),
        };
        let mut args = vec![Argument::new("process", thread.process)];
        let is_known = of.is_some_and(|thread| thread.tid.is_some());
        for (name, is_known) in [(MADE_UP, is_known), (UNNAMED, name.is_some())] {
            if !is_known {
                args.push(Argument::new(name, true));
            }
        }
        let text = cut(&text, TEXT);
        self.writer.register(&text)?;
        self.writer.write(KernelObject::<Plain<'_>> {
            kind: ObjectKind::THREAD,
            koid: thread.thread,
            name: &text,
            args: &args,
        })?;
        if name.is_some_and(|name| whole::is_changed(name, TEXT)) {
            let logdef = ThreadLogdef {
                tid: Some(thread.thread.0),
                name,
                ..ThreadLogdef::default()
            };
            self.blob(|encoder| logdef.encode(encoder))?;
        }
        Ok(())
    }

    /// A text that is too long is continued in further records.
    fn log(&mut self, time: u64, thread: Thread, text: &str) -> io::Result<()> {
        let mut rest = text;
        loop {
            let (part, after) = rest.split_at(boundary(rest, MAX_LOG_LEN));
            self.writer.log(time, thread, part)?;
            rest = after;
            if rest.is_empty() {
                return Ok(());
            }
        }
    }

    fn event(
        &mut self,
        record: &Resolved<'_>,
        stack: &[StackEntry],
        at: At,
        text: &str,
        ended: Option<OpenSpan>,
    ) -> io::Result<()> {
        let data = &record.data;
        let is_value = data.time.is_some() && record.standing == Standing::Sound;
        if data.kind == Some(Kind::COUNTER) && is_value && self.counter(record, at)? {
            if at.is_kept {
                self.said.add(record);
            }
            return Ok(());
        }
        let id = span_id(data);
        let kind = match (data.kind, id, &ended) {
            (Some(Kind::BEGIN), None, _) => EventKind::DurationBegin,
            (Some(Kind::BEGIN), Some(id), _) => EventKind::AsyncBegin { id },
            (Some(Kind::END), None, Some(_)) => EventKind::DurationEnd,
            (Some(Kind::END), Some(id), Some(_)) => EventKind::AsyncEnd { id },
            // Viewers have no use for the end of what did not begin.
            _ => EventKind::Instant,
        };
        // An end goes by the name of its beginning: viewers match them so.
        let span = ended.map(|span| lossy(&span.message).into_owned());
        let name = cut(span.as_deref().unwrap_or(text), NAME);
        let is_own = span.is_none() && *name == *text;
        let more = (!is_own && !text.is_empty()).then_some(text);
        let is_packet = self.options.forms.perfetto && kind == EventKind::Instant;
        let mut line = Details::new(record, more);
        if kind == EventKind::Instant {
            line.kind = kind_name(data.kind);
        }
        if !is_packet || self.options.forms.instant {
            line.stack = describe(stack);
        }
        line.with(|args, plain| {
            let category = &*self.names[at.provider];
            if self.options.forms.instant || kind != EventKind::Instant {
                let event = Event::new(kind, at.time, at.thread, category, &name);
                self.writer.write(event.args(args))?;
                self.said.add(record);
            }
            if is_packet {
                let (time, thread) = (at.time, at.thread);
                let packet = self.packets.begin(time, thread, record.thread);
                packet.message(record, category, &name, text, plain, stack);
            }
            Ok::<(), io::Error>(())
        })?;
        self.write_packets(BLOB)
    }

    /// Whether the record has values that counter events can show; they were written
    /// then, fifteen in each.
    fn counter(&mut self, record: &Resolved<'_>, at: At) -> io::Result<bool> {
        let Some(series) = Series::of(record) else {
            return Ok(false);
        };
        let args: Vec<Argument<'_, &str>> = series
            .values
            .iter()
            .map(|(name, value)| Argument::new(&**name, typed(*value, "")))
            .collect();
        let (category, kind) = (&self.names[at.provider], EventKind::Counter { id: 0 });
        let event = Event::new(kind, at.time, at.thread, category, &series.name);
        for args in args.chunks(MAX_ARGUMENTS) {
            self.writer.write(event.args(args))?;
        }
        Ok(true)
    }

    /// Writes out packets if there are more than `most` bytes of them.
    fn write_packets(&mut self, most: usize) -> io::Result<()> {
        if self.packets.bytes().len() <= most {
            return Ok(());
        }
        for bytes in self.packets.bytes().chunks(BLOB) {
            self.writer.blob("perfetto", BlobKind::PERFETTO, bytes)?;
        }
        self.packets.clear();
        Ok(())
    }
}

/// Where an event stands.
#[derive(Clone, Copy)]
struct At {
    time: u64,
    thread: Thread,
    provider: usize,
    /// Blobs before the events say all that the record does.
    is_kept: bool,
}

fn id(provider: usize) -> ProviderId {
    ProviderId(provider as u32 + 1)
}

/// What a record is that is more than a message.
pub(crate) fn kind_name(kind: Option<Kind>) -> Option<&'static str> {
    match kind? {
        Kind::BEGIN => Some("begin"),
        Kind::END => Some("end"),
        Kind::COUNTER => Some("counter"),
        _ => None,
    }
}

/// The kind of this name.
pub(crate) fn kind_of(name: &str) -> Option<Kind> {
    let kinds = [Kind::BEGIN, Kind::END, Kind::COUNTER];
    kinds
        .into_iter()
        .find(|kind| kind_name(Some(*kind)) == Some(name))
}

/// The file name of the image that logged; all of what is no path of a file, as imported names are.
pub(super) fn image_name<'a>(record: &Resolved<'a>) -> Cow<'a, str> {
    let path = record.image.map_or(&b""[..], |image| &image.path);
    let name = if path.starts_with(b"/") {
        path.rsplit(|byte| *byte == b'/').next().unwrap_or(path)
    } else {
        path
    };
    match name {
        b"" => Cow::Borrowed("unknown"),
        name => String::from_utf8_lossy(name),
    }
}

/// A stack, a line for each function.
pub(super) fn describe(stack: &[StackEntry]) -> String {
    let mut text = String::new();
    for entry in stack {
        if entry.functions.is_empty() {
            let logged = entry
                .logged
                .as_ref()
                .and_then(|logged| logged.sname.as_deref());
            let name = logged.map_or(Cow::Borrowed("?"), String::from_utf8_lossy);
            let _ = writeln!(text, "{:#x} {name}", entry.address);
        }
        for function in entry.functions.iter() {
            describe_function(function, entry, &mut text);
        }
    }
    cut(&text, BACKTRACE).into_owned()
}

fn describe_function(function: &Function, entry: &StackEntry, text: &mut String) {
    let name = function.function.as_deref().unwrap_or("?");
    let _ = write!(text, "{:#x} {name}", entry.address);
    if let Some(file) = &function.file {
        let _ = write!(text, " {file}:{}", function.line.unwrap_or(0));
    }
    text.push('\n');
}
