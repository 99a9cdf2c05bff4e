//! Records as lines for people.

use crate::show::clock::TimeForm;
use crate::show::clock::{self, Clock};
use crate::show::hyperlink::Link;
use crate::show::json::push_number;
use crate::show::{escape, words};
use anstyle::{AnsiColor, Style};
use clap::ValueEnum;
use jiff::tz::TimeZone;
use logdef_resync::{Function, Provenance, Resolved, Spans, StackEntry, Text};
use logdef_wire::record::{Data, Kind, Note};
use logdef_wire::{Level, Value};
use std::io::Write;

/// How backtraces look in text for people.
#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
pub enum Backtrace {
    /// With images, and with the functions that call main
    Full,
    /// Functions and lines up to main; not shown again if it equals the one before
    Short,
    /// None
    None,
}

/// What lies below these functions is how every program, or every thread of a
/// Rust program, begins.
const BOTTOMS: [&str; 3] = [
    "main",
    "std::sys::backtrace::__rust_begin_short_backtrace",
    "std::backtrace::__rust_begin_short_backtrace",
];

/// How records look.
#[derive(Clone, Debug)]
pub struct Look {
    pub color: bool,
    pub time: TimeForm,
    pub zone: TimeZone,
    pub backtrace: Backtrace,
    pub provenance: bool,
    pub with_context: bool,
    pub with_target: bool,
    pub links: Link,
}

/// Writes records, and remembers what the next is likely to share.
pub struct Writer {
    look: Look,
    clock: Clock,
    message: Vec<u8>,
    /// The stack that was written last, to say when it comes again.
    stack: Vec<u64>,
    spans: Spans,
}

impl Writer {
    pub fn new(look: Look) -> Writer {
        Writer {
            clock: Clock::new(look.time, look.zone.clone()),
            look,
            message: Vec::new(),
            stack: Vec::new(),
            spans: Spans::default(),
        }
    }

    /// `time LEVEL [thread] file:line: message`, and a line for each stack
    /// frame of its backtrace.
    pub fn record(&mut self, record: &Resolved<'_>, stack: &[StackEntry], out: &mut Vec<u8>) {
        let data = record.data;
        self.clock.push(data.time, record.run, out);
        out.push(b' ');
        self.level(data.level, out);
        out.extend_from_slice(b" [");
        match record.thread.and_then(|thread| thread.name.as_deref()) {
            Some(name) if !name.is_empty() => escape::push(name, out),
            _ => out.extend_from_slice(b"thread"),
        }
        if let Some(sequence) = data.sequence {
            out.push(b'/');
            push_number(sequence.number().0, out);
        }
        out.extend_from_slice(b"] ");
        if !record.is_without_place() {
            let file = record.file.bytes.unwrap_or_default();
            let links = &self.look.links;
            links.push(file, data.line, out, |out| place(record, out));
            out.extend_from_slice(b": ");
        }
        if self.look.with_target
            && let Some(target) = record.target().or(record.module())
        {
            escape::push(target, out);
            out.extend_from_slice(b": ");
        }
        self.rest(record, out);
        self.stack(stack, out);
    }

    /// Everything that is known, a line for each.
    pub fn full(&mut self, record: &Resolved<'_>, stack: &[StackEntry], out: &mut Vec<u8>) {
        let data = record.data;
        self.clock.push(data.time, record.run, out);
        out.push(b' ');
        self.level(data.level, out);
        out.push(b' ');
        self.rest(record, out);
        let mut line = |name: &str, value: &[u8]| {
            let _ = write!(out, "    {name:9} ");
            escape::push(value, out);
            out.push(b'\n');
        };
        let mut text = Vec::new();
        place(record, &mut text);
        line("at", &text);
        if let Some(time) = data.time {
            text.clear();
            clock::push_rfc3339(time, &mut text);
            line("time", &text);
        }
        if let Some(format) = record.format.bytes {
            line("format", format);
        }
        let origin = [
            ("module", record.module()),
            ("target", record.target()),
            ("function", record.function()),
        ];
        for (name, value) in origin {
            value.into_iter().for_each(|value| line(name, value));
        }
        if let Some(args) = data.args.filter(|args| !args.is_empty()) {
            text.clear();
            for (number, arg) in args.iter().enumerate() {
                if number > 0 {
                    text.extend_from_slice(b", ");
                }
                logdef_resync::push_value(arg, &mut text);
            }
            line("arguments", &text);
        }
        if data.context.is_some() {
            text.clear();
            push_context(record, &mut text);
            line("context", &text);
        }
        if let Some(sequence) = data.sequence {
            let mut about = format!("{}", sequence.number().0);
            if let Some(tid) = record.thread.and_then(|thread| thread.tid) {
                about += &format!(", tid {tid}");
            }
            about += &format!(", record {}", sequence.count());
            line("thread", about.as_bytes());
        }
        if let Some(run) = data.run {
            let pid = record.run.and_then(|run| run.pid);
            let pid = pid.map_or(String::new(), |pid| format!(", pid {pid}"));
            line("run", format!("{run:016x}{pid}").as_bytes());
        }
        if let Some(image) = record.image {
            line("image", &image.path);
        }
        let stands = format!(
            "input {}, byte {:#x}",
            record.place.input, record.place.offset
        );
        line("stands", stands.as_bytes());
        self.stack(stack, out);
    }

    /// What the log says about itself.
    pub fn note(&mut self, note: &Note<'_>, stack: &[StackEntry], out: &mut Vec<u8>) {
        self.clock.push(note.time, None, out);
        out.extend_from_slice(b" -- ");
        escape::push(&words::note(note), out);
        out.push(b'\n');
        self.stack(stack, out);
    }

    /// `more` records came from the call site of the one before, the last of them
    /// at this time.
    pub fn folded(&mut self, more: u64, last: Option<u64>, out: &mut Vec<u8>) {
        let _ = write!(out, "    … {more} more from there, the last ");
        match last {
            Some(time) => self.clock.push_point(time, out),
            None => out.extend_from_slice(b"without a time"),
        }
        out.push(b'\n');
    }

    /// Message, keys, and where the strings come from.
    fn rest(&mut self, record: &Resolved<'_>, out: &mut Vec<u8>) {
        let data = record.data;
        if let Some(dropped) = data.dropped {
            let _ = write!(out, "({dropped} dropped before) ");
        }
        match data.kind {
            None => escape::push_with(out, |out| record.marked_message(out)),
            Some(_) => {
                self.message.clear();
                record.marked_message(&mut self.message);
                self.span(data, out);
                escape::push(&self.message, out);
            }
        }
        // Most records of C have neither.
        if data.keys.is_some() || !record.description.as_bytes().is_empty() {
            self.pairs(record, out);
        }
        if self.look.with_context {
            self.context(record, out);
        }
        if self.look.provenance {
            push_provenance("format", &record.format, out);
            push_provenance("file", &record.file, out);
        }
        out.push(b'\n');
    }

    /// What stands after a message: the named arguments that it does not print, and the keys.
    fn pairs(&mut self, record: &Resolved<'_>, out: &mut Vec<u8>) {
        let attached = record.attached();
        let attached = attached.map(|(name, value)| (Value::Raw(name), value));
        let keys = record.data.keys.into_iter().flat_map(|keys| keys.iter());
        for (key, value) in attached.chain(keys) {
            out.push(b' ');
            self.message.clear();
            push_bare(key, &mut self.message);
            self.message.push(b'=');
            push_bare(value, &mut self.message);
            escape::push(&self.message, out);
        }
    }

    /// What the context of a record says of it, in braces.
    fn context(&mut self, record: &Resolved<'_>, out: &mut Vec<u8>) {
        if record.data.context.is_none() {
            return;
        }
        self.message.clear();
        push_context(record, &mut self.message);
        out.extend_from_slice(b" {");
        escape::push(&self.message, out);
        out.push(b'}');
    }

    /// What stands before the message of a record where a span begins or ends.
    fn span(&mut self, data: &Data<'_>, out: &mut Vec<u8>) {
        let ended = self.spans.follow(data, &self.message);
        match data.kind {
            Some(Kind::BEGIN) => out.extend_from_slice(b"begin: "),
            Some(Kind::END) => {
                out.extend_from_slice(b"end");
                if let Some(span) = ended {
                    out.extend_from_slice(b" of ");
                    escape::push(&span.message, out);
                    if let Some(nanos) = span.lasted(data) {
                        out.extend_from_slice(b" after ");
                        clock::push_duration(nanos, out);
                    }
                }
                if !self.message.is_empty() {
                    out.extend_from_slice(b": ");
                }
            }
            _ => {}
        }
    }

    fn level(&self, level: Option<Level>, out: &mut Vec<u8>) {
        let style = match level {
            _ if !self.look.color => Style::new(),
            Some(level) if level >= Level::ERROR => AnsiColor::Red.on_default().bold(),
            Some(level) if level >= Level::WARN => AnsiColor::Yellow.on_default(),
            Some(level) if level >= Level::INFO => AnsiColor::Green.on_default(),
            _ => Style::new().dimmed(),
        };
        if style != Style::new() {
            let _ = write!(out, "{style}");
        }
        match level.map(|level| (level, level.name())) {
            Some((_, Some(name))) => {
                out.extend_from_slice(name.as_bytes());
                out.extend_from_slice(&b"     "[name.len().min(5)..]);
            }
            Some((level, None)) => {
                let _ = write!(out, "{level}");
            }
            None => out.extend_from_slice(b"-----"),
        }
        if style != Style::new() {
            let _ = write!(out, "{style:#}");
        }
    }

    /// A line for each function of a stack, in the form that was asked for.
    pub fn stack(&mut self, stack: &[StackEntry], out: &mut Vec<u8>) {
        if stack.is_empty() || self.look.backtrace == Backtrace::None {
            return;
        }
        if self.look.backtrace == Backtrace::Short {
            let addresses = stack.iter().map(|entry| entry.address.0);
            if addresses.clone().eq(self.stack.iter().copied()) {
                out.extend_from_slice(b"    (the same backtrace)\n");
                return;
            }
            self.stack.clear();
            self.stack.extend(addresses);
        }
        for (number, entry) in stack.iter().enumerate() {
            self.stack_entry(number, entry, out);
            if self.look.backtrace == Backtrace::Short && is_bottom(entry) {
                break;
            }
            if entry.is_cut {
                out.extend_from_slice(b"    (the stack is deeper; the backtrace was cut)\n");
            }
        }
    }

    fn push_function(&self, function: &Function, out: &mut Vec<u8>) {
        let name = function.function.as_deref().unwrap_or("?");
        escape::push(name.as_bytes(), out);
        let Some(file) = &function.file else { return };
        out.extend_from_slice(b" at ");
        let place = |out: &mut Vec<u8>| {
            escape::push(file.as_bytes(), out);
            if let Some(line) = function.line {
                let _ = write!(out, ":{line}");
            }
        };
        let line = function.line.map(u64::from);
        self.look.links.push(file.as_bytes(), line, out, place);
    }

    /// One address: a line for each function, inlined ones first.
    fn stack_entry(&self, number: usize, entry: &StackEntry, out: &mut Vec<u8>) {
        for function in &*entry.functions {
            let _ = write!(out, "    #{number:<2} ");
            self.push_function(function, out);
            if function.inlined {
                out.extend_from_slice(b" (inlined)");
            } else if self.look.backtrace == Backtrace::Full {
                push_image(entry, out);
            }
            out.push(b'\n');
        }
        if !entry.functions.is_empty() {
            return;
        }
        let _ = write!(out, "    #{number:<2} {:#x}", entry.address.0);
        let symbol = entry
            .logged
            .as_ref()
            .and_then(|logged| Some((logged.sname.as_deref()?, logged.saddr?)));
        if let Some((name, at)) = symbol {
            out.push(b' ');
            escape::push(name, out);
            let _ = write!(out, "+{:#x}", entry.address.0.wrapping_sub(at.0));
        }
        push_image(entry, out);
        out.push(b'\n');
    }
}

/// A backtrace as lines without colour, up to main.
pub fn backtrace(stack: &[StackEntry]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut writer = Writer::new(Look {
        color: false,
        time: TimeForm::Utc,
        zone: TimeZone::UTC,
        backtrace: Backtrace::Short,
        provenance: false,
        with_context: false,
        with_target: false,
        links: Link::None,
    });
    writer.stack(stack, &mut out);
    out
}

/// `file:line`, as far as they are known.
fn place(record: &Resolved<'_>, out: &mut Vec<u8>) {
    match (record.file.bytes, record.data.file) {
        (Some(file), _) => escape::push(file, out),
        (None, Some(address)) => {
            let _ = write!(out, "?{:#x}", address.0);
        }
        (None, None) => out.push(b'?'),
    }
    if let Some(line) = record.data.line {
        out.push(b':');
        push_number(line, out);
    }
}

fn push_context(record: &Resolved<'_>, out: &mut Vec<u8>) {
    let start = out.len();
    for (key, value) in record.context.iter() {
        if out.len() > start {
            out.push(b' ');
        }
        out.extend_from_slice(key);
        out.push(b'=');
        push_bare(value, out);
    }
    if let Some(lost) = record.context.lost() {
        let before = if out.len() > start { " " } else { "" };
        let _ = write!(out, "{before}context {lost} lost");
    }
}

fn push_provenance(what: &str, text: &Text<'_>, out: &mut Vec<u8>) {
    let from = match text.provenance {
        Provenance::Logged => return,
        Provenance::Rebuilt => "rebuilt",
        _ => "missing",
    };
    let _ = write!(out, " ({what} {from})");
}

fn is_bottom(entry: &StackEntry) -> bool {
    let name = entry.functions.last().and_then(|f| f.function.as_deref());
    name.is_some_and(|name| {
        BOTTOMS.iter().any(|bottom| {
            name.starts_with(bottom) && {
                let rest = &name[bottom.len()..];
                rest.is_empty()
                    || rest.starts_with("::h")
                    || rest.starts_with('(')
                    || rest.starts_with('<')
            }
        })
    })
}

fn push_image(entry: &StackEntry, out: &mut Vec<u8>) {
    let logged = entry
        .logged
        .as_ref()
        .and_then(|logged| logged.fname.as_deref());
    let path = entry
        .image
        .as_ref()
        .map(|(image, _)| &image.path[..])
        .or(logged);
    let Some(path) = path else { return };
    let name = path.rsplit(|byte| *byte == b'/').next().unwrap_or(path);
    out.extend_from_slice(b" in ");
    escape::push(name, out);
    if let Some((_, address)) = &entry.image {
        let _ = write!(out, "+{:#x}", address.0);
    }
}

/// A value without quotes.
pub fn push_bare(value: Value<'_>, out: &mut Vec<u8>) {
    match value {
        Value::Raw(bytes) => out.extend_from_slice(bytes),
        value => logdef_resync::push_value(value, out),
    }
}
