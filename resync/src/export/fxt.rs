//! The Fuchsia trace format, for trace viewers. One provider for each run of each
//! image, processes and threads as kernel objects, ticks of a nanosecond since the
//! Unix epoch.
//!
//! | form | Fuchsia's tools | Perfetto | Chrome, through `trace2json` |
//! |---|---|---|---|
//! | [`Form::Log`] | log records | nothing | global marks named `log` |
//! | [`Form::Instant`] | events | marks on the thread's track, arguments in the details | marks |
//! | [`Form::Both`] | both | as for instants | each line twice |
//!
//! A log record has room for text only; an instant carries level, file, line,
//! the printf arguments with their types, and the backtrace.

use crate::images::Function;
use crate::resolve::{Resolved, StackEntry, push_value};
use logdef_fuchsia::fxt::{
    Argument, Event, EventKind, MAX_ARGUMENTS, MAX_LOG_LEN, ProviderId, Thread, TickRate, Value,
    Writer,
};
use logdef_wire::record::Kind;
use logdef_wire::{Level, Magic, Run, ThreadNumber, Value as Arg};
use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::fmt::Write as _;
use std::io;

/// The longest name of an event; a longer message is cut there, and whole in an
/// argument.
const NAME: usize = 256;
/// The longest texts of arguments: all of them fit one record together.
const MESSAGE: usize = 8 << 10;
const BACKTRACE: usize = 8 << 10;
const TEXT: usize = 900;
/// Put where text was cut.
pub(crate) const CUT: &str = "…";

/// What each record becomes.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Form {
    /// A log record.
    Log,
    /// An instant event; spans and counters as events of their own kind.
    Instant,
    /// Both: every line shows in every reader.
    #[default]
    Both,
}

/// How records are exported.
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct Options {
    /// What each record becomes.
    pub form: Form,
    /// Make times on one thread differ by at least a nanosecond: viewers nest
    /// marks of equal time, and drop them beyond some depth.
    pub break_ties: bool,
}

/// Writes a trace.
///
/// ```
/// use logdef_resync::export::fxt::{Exporter, Options};
/// use logdef_resync::{Place, Resolver, Tables};
/// use logdef_wire::record::Data;
///
/// let tables = Tables::new(1 << 20);
/// let mut resolver = Resolver::without_images(&tables);
/// let data = Data { format_text: Some(b"started"), time: Some(1_000), ..Data::default() };
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
    providers: HashMap<(Option<Run>, Option<Magic>), ProviderId>,
    processes: HashSet<u64>,
    threads: HashMap<(Option<Run>, ThreadNumber), KnownThread>,
    message: Vec<u8>,
    records: u64,
}

#[derive(Clone, Debug)]
struct KnownThread {
    thread: Thread,
    name: Vec<u8>,
    last_time: u64,
}

impl<W: io::Write> Exporter<W> {
    /// Begins a trace.
    pub fn new(out: W, options: Options) -> io::Result<Exporter<W>> {
        Ok(Exporter {
            writer: Writer::new(out)?,
            options,
            providers: HashMap::new(),
            processes: HashSet::new(),
            threads: HashMap::new(),
            message: Vec::new(),
            records: 0,
        })
    }

    /// Adds a record with the stack entries of its backtrace, if it has one.
    pub fn record(&mut self, record: &Resolved<'_>, stack: &[StackEntry]) -> io::Result<()> {
        self.records += 1;
        self.select_provider(record)?;
        let (thread, time) = self.thread(record)?;
        let mut message = std::mem::take(&mut self.message);
        message.clear();
        record.message(&mut message);
        let text = String::from_utf8_lossy(&message);
        if self.options.form != Form::Instant {
            self.log(time, thread, &text)?;
        }
        if self.options.form != Form::Log {
            self.event(record, stack, time, thread, &text)?;
        }
        drop(text);
        self.message = message;
        Ok(())
    }

    /// Records added so far.
    pub fn records(&self) -> u64 {
        self.records
    }

    /// Ends the trace and gives the output back.
    pub fn finish(self) -> io::Result<W> {
        Ok(self.writer.finish()?)
    }

    fn select_provider(&mut self, record: &Resolved<'_>) -> io::Result<()> {
        let key = (record.data.run, record.data.magic);
        if let Some(provider) = self.providers.get(&key) {
            return Ok(self.writer.select(*provider)?);
        }
        let number = self.providers.len() as u32 + 1;
        let provider = ProviderId(number);
        let name = cut(&image_name(record), 200).into_owned();
        self.writer
            .provider(provider, &name, TickRate::NANOSECONDS)?;
        self.providers.insert(key, provider);
        Ok(())
    }

    /// The record's thread and time, after the names that were not written yet.
    fn thread(&mut self, record: &Resolved<'_>) -> io::Result<(Thread, u64)> {
        let data = &record.data;
        let number = data
            .sequence
            .map_or(ThreadNumber(0), |sequence| sequence.number());
        let name = record.thread.and_then(|thread| thread.name.as_deref());
        let mut time = data.time.unwrap_or(0);
        if let Some(known) = self.threads.get_mut(&(data.run, number)) {
            if self.options.break_ties {
                time = time.max(known.last_time + 1);
            }
            known.last_time = time;
            if name.is_none_or(|name| name == known.name) {
                return Ok((known.thread, time));
            }
        }
        let run = data.run.map_or(0, |run| run.0 & 0x7fff_ffff);
        let pid = record.run.and_then(|run| run.pid).unwrap_or(run);
        let tid = record.thread.and_then(|thread| thread.tid);
        let thread = Thread::new(pid, tid.unwrap_or(pid + 1 + number.0));
        if self.processes.insert(pid) {
            let name = image_name(record);
            self.writer
                .process_name(thread.process, cut(&name, TEXT).as_ref())?;
        }
        let text = match name {
            Some(name) => String::from_utf8_lossy(name).into_owned(),
            None => format!("thread {}", number.0),
        };
        self.writer.thread_name(thread, cut(&text, TEXT).as_ref())?;
        let known = KnownThread {
            thread,
            name: name.unwrap_or_default().to_vec(),
            last_time: time,
        };
        self.threads.insert((data.run, number), known);
        Ok((thread, time))
    }

    /// A text that is too long goes on in further records.
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
        time: u64,
        thread: Thread,
        text: &str,
    ) -> io::Result<()> {
        let data = &record.data;
        let level = data.level.map(level_name);
        let file = record.file.bytes.map(String::from_utf8_lossy);
        let image = image_name(record);
        let backtrace = describe(stack);
        let name = cut(text, NAME);
        let whole = cut(text, MESSAGE);
        let texts: Vec<Cow<'_, str>> = data.args.into_iter().flatten().map(arg_text).collect();

        let mut args: Vec<Argument<'_, &str>> = Vec::with_capacity(MAX_ARGUMENTS);
        if let Some(level) = &level {
            args.push(Argument::new("severity", &**level));
        }
        let file = file.as_deref().map(|file| cut(file, TEXT));
        if let Some(file) = &file {
            args.push(Argument::new("file", &**file));
        }
        if let Some(line) = data.line {
            args.push(Argument::new("line", Value::U64(line)));
        }
        if name.len() < text.len() {
            args.push(Argument::new("message", &*whole));
        }
        if !stack.is_empty() {
            args.push(Argument::new("backtrace", &*backtrace));
        }
        let room = MAX_ARGUMENTS - args.len();
        let count = texts.len();
        let single = if count <= room { count } else { room - 1 };
        let mut more = String::new();
        for (index, (arg, text)) in data.args.into_iter().flatten().zip(&texts).enumerate() {
            if index < single {
                args.push(Argument::new(POSITIONS[index], typed(arg, text)));
                continue;
            }
            let separator = if more.is_empty() { "" } else { ", " };
            let mut value = Vec::new();
            push_value(arg, &mut value);
            let _ = write!(more, "{separator}{}", String::from_utf8_lossy(&value));
        }
        let more = cut(&more, TEXT);
        if single < count {
            args.push(Argument::new("more", &*more));
        }
        let kind = match data.kind {
            Some(Kind::BEGIN) => EventKind::DurationBegin,
            Some(Kind::END) => EventKind::DurationEnd,
            Some(Kind::COUNTER) => EventKind::Counter { id: 0 },
            _ => EventKind::Instant,
        };
        let event = Event::new(kind, time, thread, &image, &name).args(&args);
        Ok(self.writer.write(event)?)
    }
}

/// Names of printf arguments.
const POSITIONS: [&str; MAX_ARGUMENTS] = [
    "1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11", "12", "13", "14", "15",
];

fn level_name(level: Level) -> Cow<'static, str> {
    level
        .name()
        .map_or_else(|| Cow::Owned(level.to_string()), Cow::Borrowed)
}

/// The file name of the image that logged.
fn image_name<'a>(record: &Resolved<'a>) -> Cow<'a, str> {
    let path = record.image.map_or(&b""[..], |image| &image.path);
    let name = path.rsplit(|byte| *byte == b'/').next().unwrap_or(path);
    match name {
        b"" => Cow::Borrowed("unknown"),
        name => String::from_utf8_lossy(name),
    }
}

fn arg_text(arg: Arg<'_>) -> Cow<'_, str> {
    match arg {
        Arg::Raw(bytes) => {
            let text = &bytes[..bytes.len().min(TEXT)];
            match String::from_utf8_lossy(text) {
                text if bytes.len() <= TEXT => text,
                text => Cow::Owned(text.into_owned() + CUT),
            }
        }
        Arg::Uint(_) | Arg::Int(_) | Arg::Float(_) | Arg::Bool(_) => Cow::Borrowed(""),
        other => {
            let mut text = Vec::new();
            push_value(other, &mut text);
            Cow::Owned(String::from_utf8_lossy(&text).into_owned())
        }
    }
}

fn typed<'a>(arg: Arg<'_>, text: &'a str) -> Value<'a, &'a str> {
    match arg {
        Arg::Nil => Value::Null,
        Arg::Bool(value) => Value::Bool(value),
        Arg::Uint(value) => Value::U64(value),
        Arg::Int(value) => Value::I64(value),
        Arg::Float(value) => Value::F64(value),
        _ => Value::Text(text),
    }
}

/// At most `most` bytes of a text, whole characters, with a mark if it was cut.
fn cut(text: &str, most: usize) -> Cow<'_, str> {
    if text.len() <= most {
        return Cow::Borrowed(text);
    }
    let end = boundary(text, most - CUT.len());
    Cow::Owned([&text[..end], CUT].concat())
}

/// The last place at or before `most` where a character starts.
fn boundary(text: &str, most: usize) -> usize {
    let most = most.min(text.len());
    let starts = (0..=most).rev().find(|at| text.is_char_boundary(*at));
    starts.unwrap_or(0)
}

/// A stack, a line for each function.
fn describe(stack: &[StackEntry]) -> String {
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
