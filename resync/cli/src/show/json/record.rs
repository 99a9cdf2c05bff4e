//! A record as an object on a line. JSON.md says what the keys mean; absent
//! means unknown.

use super::object::{Object, list, push_number, push_string, push_string_with, push_value};
use logdef_resync::render::CompiledFormat;
use logdef_resync::{Resolved, StackEntry, Thread};
use logdef_wire::record::Kind;
use logdef_wire::{Level, Magic, Run, Svma, ThreadNumber, Value};

/// Writes records, and keeps the room that each of them needs.
#[derive(Default)]
pub struct Writer {
    /// What records of one thread share, at the place that its number hashes to.
    threads: Vec<Option<(ThreadKey, Vec<u8>)>>,
    /// What records of one call site share, at the place that its key hashes to.
    sites: Vec<Option<(SiteKey, Vec<u8>)>>,
}

/// Call sites whose text is kept: a power of two.
const SITES: usize = 512;

/// Threads whose text is kept.
const THREADS: usize = 64;

/// All that is said of a thread.
#[derive(Clone, Debug)]
struct ThreadKey {
    run: Option<Run>,
    number: Option<ThreadNumber>,
    pid: Option<u64>,
    /// `pthread_self()`.
    handle: Option<u64>,
    thread: Option<Thread>,
}

/// Image, file, line and format in a run: their texts are always the same.
type SiteKey = (
    Option<Magic>,
    Option<Svma>,
    Option<u64>,
    Option<Svma>,
    Option<Run>,
);

impl Writer {
    /// Appends a record.
    pub fn record(&mut self, record: &Resolved<'_>, stack: &[StackEntry], out: &mut Vec<u8>) {
        let data = record.data;
        let mut object = Object::begin(out);
        object.number("time_ns", data.time);
        if let Some(level) = data.level {
            push_level(level, object.key("level"));
        }
        self.thread(record, &mut object);
        object.number("sequence", data.sequence.map(|s| s.count()));
        self.site(record, &mut object);
        if let Some(args) = data.args {
            let args = args.iter().enumerate();
            list(object.key("args"), args, |(number, arg), out| match arg {
                Value::Raw(bytes)
                    if matches!(bytes.len(), 10 | 16) && record.is_long_double(number) =>
                {
                    push_long_double(bytes, out);
                }
                arg => push_value(arg, out),
            });
        }
        // An argument hides a key of the context, as a key of the record does.
        let of_context = record.context.iter();
        let of_context = of_context.filter(|(key, _)| record.description.index_of(key).is_none());
        let mut named = record.named().chain(of_context).peekable();
        if named.peek().is_some() {
            let mut fields = Object::begin(object.key("fields"));
            for (name, value) in named {
                push_value(value, fields.any_key(name));
            }
            fields.end();
        }
        push_string_with(object.key("message"), |out| record.message(out));
        if let Some(standing) = record.standing.word() {
            object.string("standing", standing.as_bytes());
        }
        if record.is_late {
            object.bool("late", true);
        }
        if record.is_conflicting {
            object.bool("conflicting", true);
        }
        object.number("context", data.context);
        if let Some(kind) = data.kind {
            push_kind(kind, object.key("kind"));
        }
        if let Some(keys) = data.keys {
            let mut pairs = Object::begin(object.key("keys"));
            for (key, value) in keys.iter() {
                if let Value::Raw(key) = key {
                    push_value(value, pairs.any_key(key));
                }
            }
            pairs.end();
        }
        if !stack.is_empty() {
            list(object.key("backtrace"), stack.iter(), stack_entry);
        }
        if stack.last().is_some_and(|entry| entry.is_cut) {
            object.bool("backtrace_cut", true);
        }
        object.end();
        out.push(b'\n');
    }

    /// Adds run, process and thread.
    fn thread(&mut self, record: &Resolved<'_>, object: &mut Object<'_>) {
        let data = record.data;
        if self.threads.is_empty() {
            self.threads.resize(THREADS, None);
        }
        let number = data.sequence.map(|sequence| sequence.number());
        let slot = number.map_or(0, |number| number.0 as usize) % THREADS;
        let pid = record.run.and_then(|run| run.pid);
        let is_same = |(known, _): &&(ThreadKey, Vec<u8>)| {
            (known.run, known.number, known.pid) == (data.run, number, pid)
                && known.handle == data.thread
                && known.thread.as_ref() == record.thread
        };
        match self.threads[slot].as_ref().filter(is_same) {
            Some((_, text)) => object.members(text),
            None => {
                let key = ThreadKey {
                    run: data.run,
                    number,
                    pid,
                    handle: data.thread,
                    thread: record.thread.cloned(),
                };
                let mut text = Vec::new();
                push_thread(&key, &mut Object::members_of(&mut text));
                object.members(&text);
                self.threads[slot] = Some((key, text));
            }
        }
    }

    /// Adds image, file, line, format, and what is guessed from it.
    fn site(&mut self, record: &Resolved<'_>, object: &mut Object<'_>) {
        let data = record.data;
        if data.format_text.is_some() || data.file_text.is_some() {
            // Texts that the record brings along are its own.
            return push_site(record, object);
        }
        if self.sites.is_empty() {
            self.sites.resize(SITES, None);
        }
        let key = (data.magic, data.file, data.line, data.format, data.run);
        let spread = data.format.map_or(0, |format| format.0)
            ^ data.line.unwrap_or(0).rotate_left(32)
            ^ data.magic.map_or(0, |magic| magic.0)
            ^ data.run.map_or(0, |run| run.0);
        let slot = (spread.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40) as usize % SITES;
        match &self.sites[slot] {
            Some((known, text)) if *known == key => object.members(text),
            _ => {
                let mut text = Vec::new();
                push_site(record, &mut Object::members_of(&mut text));
                object.members(&text);
                self.sites[slot] = Some((key, text));
            }
        }
    }
}

fn push_thread(key: &ThreadKey, object: &mut Object<'_>) {
    if let Some(run) = key.run {
        object.string("run", format!("{run:016x}").as_bytes());
    }
    object.number("pid", key.pid);
    object.number("thread", key.handle);
    object.number("thread_number", key.number.map(|number| number.0));
    let name = key
        .thread
        .as_ref()
        .and_then(|thread| thread.name.as_deref());
    object.text("thread_name", name);
    object.number("tid", key.thread.as_ref().and_then(|thread| thread.tid));
}

fn push_site(record: &Resolved<'_>, object: &mut Object<'_>) {
    object.text("image", record.image.map(|image| &image.path[..]));
    object.text("file", record.source_file());
    object.number("line", record.source_line());
    object.text("format", record.format.bytes);
    object.text("module", record.module());
    object.text("target", record.target());
    object.text("function", record.function());
    let guesses = record.guesses();
    if !guesses.is_empty() {
        let mut places = Object::begin(object.key("guessed"));
        for (name, place) in guesses {
            push_number(place as u64, places.any_key(name));
        }
        places.end();
    }
}

fn push_kind(kind: Kind, out: &mut Vec<u8>) {
    match kind {
        Kind::MESSAGE => push_string(b"message", out),
        Kind::BEGIN => push_string(b"begin", out),
        Kind::END => push_string(b"end", out),
        Kind::COUNTER => push_string(b"counter", out),
        Kind(other) => push_number(other, out),
    }
}

/// All digits that a `long double` has; JSON has no infinities and no NaN.
fn push_long_double(bytes: &[u8], out: &mut Vec<u8>) {
    let mut text = Vec::new();
    CompiledFormat::new(b"%.21Lg").render(&[Value::Raw(bytes)], &mut text);
    if text.iter().any(u8::is_ascii_digit) {
        out.extend_from_slice(&text);
    } else {
        push_string(&text, out);
    }
}

fn push_level(level: Level, out: &mut Vec<u8>) {
    match level.name() {
        Some(name) => {
            out.push(b'"');
            out.extend_from_slice(name.as_bytes());
            out.push(b'"');
        }
        None => push_string(level.to_string().as_bytes(), out),
    }
}

/// An address of a stack.
pub fn stack_entry(entry: &StackEntry, out: &mut Vec<u8>) {
    let logged = entry.logged.as_ref();
    let mut object = Object::begin(out);
    push_number(entry.address.0, object.key("address"));
    let path = entry.image.as_ref().map(|(image, _)| &image.path[..]);
    object.text(
        "image",
        path.or(logged.and_then(|logged| logged.fname.as_deref())),
    );
    object.number("svma", entry.image.as_ref().map(|(_, address)| address.0));
    object.text("symbol", logged.and_then(|logged| logged.sname.as_deref()));
    if !entry.functions.is_empty() {
        list(
            object.key("functions"),
            entry.functions.iter(),
            |function, out| {
                let mut object = Object::begin(out);
                object.text("function", function.function.as_deref().map(str::as_bytes));
                object.text("file", function.file.as_deref().map(str::as_bytes));
                object.number("line", function.line.map(u64::from));
                object.end();
            },
        );
    }
    object.end();
}
