//! A record that waits to be written: put together from the records of a trace that belong to
//! it.

use super::says_the_same;
use super::whole::Whole;
use crate::export::fxt::details::own_name;
use crate::export::fxt::{DROPPED, FORMAT, GRAMMAR, TIME_UNKNOWN, kind_of};
use crate::export::lost;
use crate::export::text::boundary;
use crate::import::entry::{Entry, literal};
use crate::import::log_writer::LogWriter;
use crate::read::input::Error;
use crate::recover::standing::Standing;
use crate::render::CompiledFormat;
use logdef_fuchsia::fxt::{Argument, Koid, Thread, Value as Typed};
use logdef_wire::record::Kind;
use logdef_wire::{Description, Level, Value};
use std::borrow::Cow;
use std::collections::HashMap;
use std::io::Write;
use std::iter;

/// A value of an argument or key.
#[derive(Clone, Debug)]
pub(super) enum OwnedValue {
    Nil,
    Bool(bool),
    Uint(u64),
    Int(i64),
    Float(f64),
    Raw(Vec<u8>),
}

/// A format and its description.
#[derive(Clone, Debug, Default)]
pub(super) struct Template {
    format: String,
    grammar: String,
}

/// Formats that were taken apart before.
#[derive(Default)]
pub(super) struct Formats {
    known: HashMap<String, Option<CompiledFormat>>,
    key: String,
    text: Vec<u8>,
}

/// How many of them are remembered.
const FORMATS: usize = 1 << 14;

impl Formats {
    /// Whether a template makes this message of these values.
    fn makes(&mut self, template: &Template, args: &[Value<'_>], message: &[u8]) -> bool {
        self.key.clear();
        for part in [&template.grammar, "\0", &template.format] {
            self.key.push_str(part);
        }
        if !self.known.contains_key(&self.key) {
            if self.known.len() >= FORMATS {
                self.known.clear();
            }
            let description = Description::of(template.grammar.as_bytes());
            let format = CompiledFormat::described(template.format.as_bytes(), description);
            self.known.insert(self.key.clone(), format);
        }
        let Some(Some(format)) = self.known.get(&self.key) else {
            return false;
        };
        self.text.clear();
        format.render(args, &mut self.text);
        self.text == message
    }
}

/// The standing of this name.
fn standing_of(word: &str) -> Option<Standing> {
    let standings = [Standing::Recovered, Standing::Suspect];
    standings.into_iter().find(|of| of.word() == Some(word))
}

/// An [`Entry`] that waits.
#[derive(Clone, Debug, Default)]
pub(super) struct Owned {
    pub(super) image: Vec<u8>,
    pub(super) thread: Thread,
    pub(super) is_pid_made_up: bool,
    pub(super) is_tid_made_up: bool,
    pub(super) thread_name: Option<Box<[u8]>>,
    pub(super) time: Option<u64>,
    pub(super) level: Option<Level>,
    pub(super) file: Option<Vec<u8>>,
    pub(super) line: Option<u64>,
    pub(super) format: Vec<u8>,
    pub(super) description: Vec<u8>,
    /// The format that the first of the keys are put in, and its description.
    pub(super) template: Option<Template>,
    pub(super) args: Vec<OwnedValue>,
    pub(super) keys: Vec<(Vec<u8>, OwnedValue)>,
    pub(super) kind: Option<Kind>,
    /// What a log record says of the counter.
    pub(super) logged: Option<Vec<u8>>,
    pub(super) standing: Standing,
    pub(super) backtrace: Option<String>,
    /// Records that were lost just before.
    pub(super) dropped: Option<u64>,
    /// It has a time, which a log cannot hold.
    pub(super) is_untimed: bool,
    /// The record that this one stands for.
    pub(super) whole: Whole,
}

impl Owned {
    /// Stands for a record that blobs kept, if they did.
    pub(super) fn be(&mut self, whole: Whole) {
        self.is_untimed &= !whole.is_there();
        self.whole = whole;
    }

    /// Takes place, level and keys from an event's arguments. Returns the message.
    pub(super) fn describe<'n>(
        &mut self,
        name: &'n str,
        args: &[Argument<'_, Cow<'_, str>>],
    ) -> Cow<'n, str> {
        let mut name = Cow::Borrowed(name);
        for arg in args {
            match (&*arg.name, &arg.value) {
                ("severity", Typed::Text(text)) if self.level.is_none() => {
                    match Level::parse(text) {
                        Some(level) => self.level = Some(level),
                        None => self.keep(arg),
                    }
                }
                ("file", Typed::Text(file)) if self.file.is_none() => {
                    self.file = Some(file.as_bytes().to_vec());
                }
                ("line", value) if self.line.is_none() && number(value).is_some() => {
                    self.line = number(value);
                }
                ("kind", Typed::Text(text)) if kind_of(text).is_some() => {
                    self.kind = kind_of(text);
                }
                (DROPPED, value) if self.dropped.is_none() && number(value).is_some() => {
                    self.dropped = number(value);
                }
                ("standing", Typed::Text(text)) if standing_of(text).is_some() => {
                    self.standing = standing_of(text).unwrap_or_default();
                }
                ("backtrace", Typed::Text(text)) if self.backtrace.is_none() => {
                    self.backtrace = Some(text.to_string());
                }
                (FORMAT, Typed::Text(text)) => {
                    self.template.get_or_insert_default().format = text.to_string();
                }
                (GRAMMAR, Typed::Text(text)) => {
                    self.template.get_or_insert_default().grammar = text.to_string();
                }
                ("time", Typed::Text(text)) if *text == TIME_UNKNOWN => self.time = None,
                ("message", Typed::Text(text))
                    if name.is_empty() || says_the_same(&name, text.as_bytes()) =>
                {
                    name = Cow::Owned(text.to_string());
                }
                _ => self.keep(arg),
            }
        }
        name
    }

    /// Has this message, without the word for its standing, which the log says elsewhere. Its own format
    /// makes it, if that makes this message of the first keys; without any, the message is the format.
    pub(super) fn add_message(&mut self, message: &[u8], formats: &mut Formats) {
        let mark = self.standing.word().map(|word| format!("[{word}] "));
        let bare = mark.and_then(|mark| message.strip_prefix(mark.as_bytes()));
        let message = bare.unwrap_or(message);
        match self.template.take() {
            Some(template) if self.fill_in(&template, message, formats) => {}
            Some(_) => self.say(message),
            None => self.format = literal(message).into_owned(),
        }
        if let Some(backtrace) = self.backtrace.take() {
            let text = OwnedValue::Raw(backtrace.into_bytes());
            self.keys.push((b"backtrace".to_vec(), text));
        }
    }

    fn fill_in(&mut self, template: &Template, message: &[u8], formats: &mut Formats) -> bool {
        let description = Description::of(template.grammar.as_bytes());
        let names = description.names().chain(iter::repeat(None));
        let keys = self.keys.iter().zip(names).zip(1..);
        let arguments = keys.take_while(|((key, name), place): &(_, u64)| match name {
            Some(given) => key.0 == *given,
            None => key.0 == place.to_string().as_bytes(),
        });
        let count = arguments.count();
        let args = self.keys[..count].iter().map(|(_, value)| value.borrow());
        let args: Vec<_> = args.collect();
        if !formats.makes(template, &args, message) {
            return false;
        }
        self.format = template.format.as_bytes().to_vec();
        self.description = template.grammar.as_bytes().to_vec();
        self.args = self.keys.drain(..count).map(|(_, value)| value).collect();
        true
    }

    pub(super) fn categorize(&mut self, category: Option<&str>) {
        if let Some(category) = category {
            let value = OwnedValue::Raw(category.as_bytes().to_vec());
            self.keys.push((b"category".to_vec(), value));
        }
    }

    /// Keeps an argument as a key.
    pub(super) fn keep(&mut self, arg: &Argument<'_, Cow<'_, str>>) {
        let name = &*arg.name;
        // What the exporter put after a name so that it is not taken for one of its own.
        let name = match name.strip_suffix('#') {
            Some(given) if own_name(given).is_some() => given,
            _ => name,
        };
        let key = name.as_bytes().to_vec();
        self.keys.push((key, (&arg.value).into()));
    }

    /// A key, unless the same is there.
    pub(super) fn key(&mut self, name: &str, value: u64) {
        let is_same = |(key, of): &(Vec<u8>, OwnedValue)| {
            key == name.as_bytes() && matches!(of, OwnedValue::Uint(other) if *other == value)
        };
        if !self.keys.iter().any(is_same) {
            let key = name.as_bytes().to_vec();
            self.keys.push((key, OwnedValue::Uint(value)));
        }
    }

    pub(super) fn say(&mut self, message: &[u8]) {
        self.format = b"%s".to_vec();
        self.args = vec![OwnedValue::Raw(message.to_vec())];
    }

    pub(super) fn say_nothing(&mut self) {
        self.format.clear();
        self.args.clear();
    }

    /// Makes arguments that are numbers the values of a counter.
    pub(super) fn count(&mut self, args: &[Argument<'_, Cow<'_, str>>]) {
        for arg in args {
            let value = OwnedValue::from(&arg.value);
            let conversion = match value {
                OwnedValue::Uint(_) => " %llu",
                OwnedValue::Int(_) => " %lld",
                OwnedValue::Float(_) => " %g",
                _ => {
                    self.keep(arg);
                    continue;
                }
            };
            let before: &[u8] = if self.args.is_empty() { b": " } else { b", " };
            self.format.extend_from_slice(before);
            self.format.extend_from_slice(&literal(arg.name.as_bytes()));
            self.format.extend_from_slice(conversion.as_bytes());
            self.args.push(value);
        }
    }

    /// Makes a counter that was logged print as it was: the values stand in the text.
    pub(super) fn print_as_logged(&mut self) {
        if let Some(message) = self.logged.take()
            && let Some(format) = format_of(&message, &self.args)
        {
            self.format = format;
        }
    }

    pub(super) fn size(&self) -> usize {
        let keys = self
            .keys
            .iter()
            .map(|(key, value)| key.len() + value.size());
        let args = self.args.iter().map(OwnedValue::size);
        size_of::<Owned>()
            + self.image.len()
            + self.format.len()
            + keys.chain(args).sum::<usize>()
            + self.whole.size()
    }

    pub(super) fn write(&self, log: &mut LogWriter<impl Write>) -> Result<(), Error> {
        let message = match &*self.args {
            [OwnedValue::Raw(message)] => message,
            _ => &self.format,
        };
        if let Some(losses) = lost::parse(&self.image, message) {
            log.lose(&losses);
            return Ok(());
        }
        let args: Vec<Value<'_>> = self.args.iter().map(OwnedValue::borrow).collect();
        let keys: Vec<_> = self
            .keys
            .iter()
            .map(|(key, value)| (&**key, value.borrow()))
            .collect();
        let seen = Entry {
            image: &self.image,
            pid: Some(self.thread.process.0),
            tid: Some(self.thread.thread.0),
            is_pid_made_up: self.is_pid_made_up,
            is_tid_made_up: self.is_tid_made_up,
            thread_name: self.thread_name.as_deref(),
            time: self.time,
            level: self.level,
            file: self.file.as_deref(),
            line: self.line,
            format: &self.format,
            description: &self.description,
            args: &args,
            keys: &keys,
            kind: self.kind,
            dropped: self.dropped.unwrap_or(0),
            standing: self.standing,
            ..Entry::default()
        };
        self.whole.with(seen, |entry| log.write(entry))
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

    pub(super) fn size(&self) -> usize {
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

/// A value as a whole number that is not negative.
fn number(value: &Typed<'_, Cow<'_, str>>) -> Option<u64> {
    match OwnedValue::from(value) {
        OwnedValue::Uint(value) => Some(value),
        OwnedValue::Int(value) => value.try_into().ok(),
        _ => None,
    }
}

/// How far apart the values of a counter may stand in its text, in bytes.
const NEAR: usize = 512;

/// A format that prints `values` so that `text` comes out; `None` if none of those tried does.
fn format_of(text: &[u8], values: &[OwnedValue]) -> Option<Vec<u8>> {
    let text = str::from_utf8(text).ok()?;
    let mut format = Vec::new();
    let mut rest = text;
    for value in values {
        let (at, len, conversion) = printed(&rest[..boundary(rest, NEAR)], value)?;
        format.extend_from_slice(&literal(&rest.as_bytes()[..at]));
        format.extend_from_slice(conversion.as_bytes());
        rest = &rest[at + len..];
    }
    format.extend_from_slice(&literal(rest.as_bytes()));
    Some(format)
}

/// Where in `text` a value first stands, how long it is there, and what prints it so.
fn printed(text: &str, value: &OwnedValue) -> Option<(usize, usize, String)> {
    let mut ways = match *value {
        OwnedValue::Uint(value) => vec![
            (value.to_string(), "%llu".to_owned()),
            (format!("{value:#x}"), "%#llx".to_owned()),
            (format!("{value:x}"), "%llx".to_owned()),
        ],
        OwnedValue::Int(value) => vec![(value.to_string(), "%lld".to_owned())],
        OwnedValue::Float(value) if value.is_finite() => (0..=9)
            .rev()
            .map(|digits| (format!("{value:.digits$}"), format!("%.{digits}f")))
            .chain(short(value).map(|text| (text, "%g".to_owned())))
            .collect(),
        _ => return None,
    };
    let part_of_number = |c: char| c.is_ascii_alphanumeric();
    ways.retain(|(way, _)| !way.is_empty());
    let found = ways.into_iter().filter_map(|(way, conversion)| {
        let at = text.match_indices(&way).find(|(at, _)| {
            let after = text[at + way.len()..].chars().next();
            !text[..*at].ends_with(part_of_number) && !after.is_some_and(|c| c.is_ascii_digit())
        });
        at.map(|(at, _)| (at, way.len(), conversion))
    });
    // The first place, and there the longest.
    found.min_by_key(|(at, len, _)| (*at, std::cmp::Reverse(*len)))
}

/// What `%g` prints, where that is plain digits and all of the value.
fn short(value: f64) -> Option<String> {
    let text = value.to_string();
    let digits = text.trim_start_matches(['-', '0', '.']).replace('.', "");
    let is_plain = value == 0.0 || (1e-4..1e6).contains(&value.abs());
    (is_plain && digits.len() <= 6).then_some(text)
}
