//! The arguments of an event: what a record says beside its time and its thread.

use super::{DROPPED, FORMAT, GRAMMAR, TIME_UNKNOWN};
use crate::export::text::{cut, lossy, whole};
use crate::resolve::resolved::{Resolved, push_value};
use logdef_fuchsia::fxt::{Argument, MAX_ARGUMENTS, Value};
use logdef_wire::{Level, Value as Arg};
use std::borrow::Cow;
use std::fmt::Write as _;

/// The longest texts of arguments: all of them fit one record together.
const MESSAGE: usize = 8 << 10;
pub(super) const TEXT: usize = 900;
/// The longest name of an argument.
pub(super) const KEY: usize = 64;

/// What the arguments of an event are made of.
pub(super) struct Details<'r> {
    pub(super) record: &'r Resolved<'r>,
    pub(super) more: Option<&'r str>,
    /// What the record is, where its event does not show it.
    pub(super) kind: Option<&'static str>,
    pub(super) stack: String,
    description: Cow<'r, [u8]>,
}

impl<'r> Details<'r> {
    pub(super) fn new(record: &'r Resolved<'r>, more: Option<&'r str>) -> Details<'r> {
        Details {
            record,
            more,
            kind: None,
            stack: String::new(),
            description: description(record),
        }
    }

    /// Gives `then` the arguments: level and place, what the call passed, and the format; and
    /// all but the format. What finds no place of its own shares the last one.
    pub(super) fn with<T>(&self, then: impl FnOnce(Args<'_, '_>, Args<'_, '_>) -> T) -> T {
        let data = &self.record.data;
        let level = data.level.map(level_name);
        let file = self.record.source_file().map(lossy);
        let file = file.as_deref().map(|file| cut(file, TEXT));
        let more = self.more.map(|more| cut(more, MESSAGE));
        let mut args = Few::default();
        if let Some(standing) = self.record.standing.word() {
            args.push("standing", Value::Text(standing));
        }
        if let Some(level) = &level {
            args.push("severity", Value::Text(level));
        }
        if let Some(file) = &file {
            args.push("file", Value::Text(file));
        }
        if let Some(line) = self.record.source_line() {
            args.push("line", line.into());
        }
        if let Some(more) = &more {
            args.push("message", Value::Text(more));
        }
        if let Some(kind) = self.kind {
            args.push("kind", Value::Text(kind));
        }
        if let Some(dropped) = data.dropped {
            args.push(DROPPED, dropped.into());
        }
        if data.time.is_none() {
            args.push("time", Value::Text(TIME_UNKNOWN));
        }
        if !self.stack.is_empty() {
            args.push("backtrace", Value::Text(&self.stack));
        }
        let passed = data.args.map_or(0, |args| args.len() as usize);
        let keys = data.keys.map_or(0, |keys| keys.len() as usize) + self.record.context.len();
        let room = MAX_ARGUMENTS - args.len;
        if keys == 0 && passed <= room {
            return self.with_few(args, then);
        }
        if passed + keys <= room {
            self.with_all(args, passed, then)
        } else {
            self.with_some(args, room - 1, then)
        }
    }

    /// Adds arguments alone: nearly all records pass a few of them and nothing else.
    fn with_few<T>(&self, args: Few<'_>, then: impl FnOnce(Args<'_, '_>, Args<'_, '_>) -> T) -> T {
        let mut args = args;
        let mut values = [Arg::Nil; MAX_ARGUMENTS];
        let passed = self
            .record
            .data
            .args
            .map_or(0, |args| args.read_into(&mut values));
        let texts = values.map(arg_text);
        let mut names = self.names();
        for (name, value) in names.iter_mut().zip(values).take(passed) {
            self.keep_apart(name, value);
        }
        for ((name, value), text) in names.iter().zip(values).zip(&texts).take(passed) {
            args.push(name, typed(value, text));
        }
        self.with_format(args, passed, then)
    }

    /// Adds arguments and key-values, each with a place of its own.
    fn with_all<T>(
        &self,
        args: Few<'_>,
        passed: usize,
        then: impl FnOnce(Args<'_, '_>, Args<'_, '_>) -> T,
    ) -> T {
        let mut entries = Entries::default();
        for (name, value) in self.passed() {
            entries.push(self, name, value);
        }
        let mut args = args;
        entries.append_to(&mut args);
        self.with_format(args, passed, then)
    }

    /// Adds the first `single` arguments and key-values, and the rest as one text.
    fn with_some<T>(
        &self,
        args: Few<'_>,
        single: usize,
        then: impl FnOnce(Args<'_, '_>, Args<'_, '_>) -> T,
    ) -> T {
        let mut entries = Entries::default();
        let mut passed = self.passed();
        for (name, value) in passed.by_ref().take(single) {
            entries.push(self, name, value);
        }
        let mut args = args;
        entries.append_to(&mut args);
        let rest = text_of(passed);
        let rest = cut(&rest, TEXT);
        args.push("more", Value::Text(&rest));
        then(args.as_slice(), args.as_slice())
    }

    /// Gives `then` the arguments with the format that they were passed to, if there is room, so that
    /// an importer can put them in again.
    fn with_format<'a, T>(
        &'a self,
        mut args: Few<'a>,
        passed: usize,
        then: impl FnOnce(Args<'_, '_>, Args<'_, '_>) -> T,
    ) -> T {
        let plain = args.len;
        let fitting = |bytes: &'r [u8]| match str::from_utf8(bytes) {
            Ok(text) if text.len() <= TEXT => Some(text),
            _ => None,
        };
        let format = self.record.format.bytes.and_then(fitting);
        let grammar = str::from_utf8(&self.description).ok();
        let grammar = grammar.filter(|grammar| grammar.len() <= TEXT);
        let says_more = passed > 0 || !self.description.is_empty();
        if let (Some(format), Some(grammar), true) = (format, grammar, says_more)
            && plain + 1 + usize::from(!grammar.is_empty()) <= MAX_ARGUMENTS
        {
            args.push(FORMAT, Value::Text(format));
            if !grammar.is_empty() {
                args.push(GRAMMAR, Value::Text(grammar));
            }
        }
        then(args.as_slice(), &args.as_slice()[..plain])
    }

    /// Changes the name of an argument of the program that an importer would take for one of ours.
    fn keep_apart(&self, name: &mut Cow<'_, str>, value: Arg<'_>) {
        let Some(own) = own_name(name) else { return };
        let record = self.record;
        let is_text = matches!(value, Arg::Raw(_));
        let is_taken = match own {
            "severity" => is_text && record.data.level.is_none(),
            "file" => is_text && record.source_file().is_none(),
            "line" => !is_text && record.source_line().is_none(),
            DROPPED => !is_text && record.data.dropped.is_none(),
            _ => is_text,
        };
        if is_taken || name.len() > own.len() {
            name.to_mut().push('#');
        }
    }

    /// The names of the first arguments: those given to them, or their positions.
    fn names(&self) -> [Cow<'r, str>; MAX_ARGUMENTS] {
        let mut names = POSITIONS.map(Cow::Borrowed);
        for (name, given) in names.iter_mut().zip(self.record.description.names()) {
            if let Some(given) = given {
                *name = whole(lossy(given), KEY);
            }
        }
        names
    }

    /// The arguments, by their names or positions, the keys, and those of the context.
    fn passed(&self) -> impl Iterator<Item = (Cow<'r, str>, Arg<'r>)> {
        let position = |index: usize| match POSITIONS.get(index) {
            Some(name) => Cow::Borrowed(*name),
            None => Cow::Owned((index + 1).to_string()),
        };
        let data = &self.record.data;
        let args = data.args.into_iter().flatten().enumerate();
        let args = args.zip(self.record.argument_names());
        let args = args.map(move |((index, arg), given)| match given {
            Some(given) => (whole(lossy(given), KEY), arg),
            None => (position(index), arg),
        });
        let keys = data.keys.into_iter().flat_map(|keys| keys.iter());
        let keys = keys.map(|(key, value)| {
            let name = match key {
                Arg::Raw(key) => whole(lossy(key), KEY),
                key => {
                    let mut text = Vec::new();
                    push_value(key, &mut text);
                    Cow::Owned(cut(&String::from_utf8_lossy(&text), KEY).into_owned())
                }
            };
            (name, value)
        });
        let of_context = self.record.context.iter();
        let of_context = of_context.map(|(key, value)| (whole(lossy(key), KEY), value));
        args.chain(keys).chain(of_context)
    }
}

/// The description of a record's format, with the module and target of a call site that was made at run time.
pub(super) fn description<'r>(record: &Resolved<'r>) -> Cow<'r, [u8]> {
    let own = record.description;
    if own.module() == record.module() && own.target() == record.target() {
        return Cow::Borrowed(own.as_bytes());
    }
    let named = own.as_bytes().split(|byte| *byte == b'\t').next();
    let named = named.filter(|named| !named.is_empty()).unwrap_or(b"c");
    let parts = [record.module(), record.target()].map(Option::unwrap_or_default);
    Cow::Owned([named, parts[0], parts[1]].join(&b'\t'))
}

/// Arguments and key-values that have places of their own.
struct Entries<'r> {
    names: [Cow<'r, str>; MAX_ARGUMENTS],
    texts: [Cow<'r, str>; MAX_ARGUMENTS],
    values: [Arg<'r>; MAX_ARGUMENTS],
    len: usize,
}

impl Default for Entries<'_> {
    fn default() -> Self {
        Entries {
            names: [const { Cow::Borrowed("") }; MAX_ARGUMENTS],
            texts: [const { Cow::Borrowed("") }; MAX_ARGUMENTS],
            values: [Arg::Nil; MAX_ARGUMENTS],
            len: 0,
        }
    }
}

impl<'r> Entries<'r> {
    fn push(&mut self, details: &Details<'r>, name: Cow<'r, str>, value: Arg<'r>) {
        let at = self.len;
        self.texts[at] = arg_text(value);
        (self.names[at], self.values[at]) = (name, value);
        details.keep_apart(&mut self.names[at], value);
        self.len += 1;
    }

    fn append_to<'a>(&'a self, args: &mut Few<'a>) {
        let entries = self.names.iter().zip(&self.values).zip(&self.texts);
        for ((name, value), text) in entries.take(self.len) {
            args.push(name, typed(*value, text));
        }
    }
}

/// Arguments and key-values as one text.
fn text_of<'r>(entries: impl Iterator<Item = (Cow<'r, str>, Arg<'r>)>) -> String {
    let mut text = String::new();
    for (name, value) in entries {
        let separator = if text.is_empty() { "" } else { ", " };
        let mut bytes = Vec::new();
        push_value(value, &mut bytes);
        let value = String::from_utf8_lossy(&bytes);
        let _ = match name.parse::<usize>() {
            Ok(_) => write!(text, "{separator}{value}"),
            Err(_) => write!(text, "{separator}{name}={value}"),
        };
    }
    text
}

type Args<'s, 'a> = &'s [Argument<'a, &'a str>];

/// Arguments that say what the record itself says.
const OWN: [&str; 11] = [
    "standing",
    "severity",
    "file",
    "line",
    "message",
    "kind",
    "time",
    "backtrace",
    DROPPED,
    FORMAT,
    GRAMMAR,
];

/// The argument of ours with this name, but for `#` after it.
pub(crate) fn own_name(name: &str) -> Option<&'static str> {
    let bare = name.trim_end_matches('#');
    OWN.into_iter().find(|own| *own == bare)
}

/// The arguments of one event.
struct Few<'a> {
    args: [Argument<'a, &'a str>; MAX_ARGUMENTS],
    len: usize,
}

impl Default for Few<'_> {
    fn default() -> Self {
        const NONE: Argument<'_, &str> = Argument {
            name: "",
            value: Value::Null,
            extra: &[],
        };
        Few {
            args: [NONE; MAX_ARGUMENTS],
            len: 0,
        }
    }
}

impl<'a> Few<'a> {
    fn push(&mut self, name: &'a str, value: Value<'a, &'a str>) {
        let (args, extra) = (&mut self.args, &[]);
        args[self.len] = Argument { name, value, extra };
        self.len += 1;
    }

    fn as_slice(&self) -> &[Argument<'a, &'a str>] {
        &self.args[..self.len]
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

/// The text of a value that the format has no number for.
fn arg_text(arg: Arg<'_>) -> Cow<'_, str> {
    match arg {
        Arg::Raw(bytes) => whole(lossy(bytes), TEXT),
        Arg::Nil | Arg::Uint(_) | Arg::Int(_) | Arg::Float(_) | Arg::Bool(_) => Cow::Borrowed(""),
        other => {
            let mut text = Vec::new();
            push_value(other, &mut text);
            Cow::Owned(String::from_utf8_lossy(&text).into_owned())
        }
    }
}

/// A value in the type that the format has for it.
pub(super) fn typed<'a>(arg: Arg<'_>, text: &'a str) -> Value<'a, &'a str> {
    match arg {
        Arg::Nil => Value::Null,
        Arg::Bool(value) => Value::Bool(value),
        // In 32 bits where they fit.
        Arg::Uint(value) => value.into(),
        Arg::Int(value) => value.into(),
        Arg::Float(value) => Value::F64(value),
        _ => Value::Text(text),
    }
}
