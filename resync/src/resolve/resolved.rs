//! A record with what its numbers stand for, and its message. Knows neither tables nor images: a
//! resolver looked everything up.

use crate::recover::standing::Standing;
use crate::recover::tables::{ContextKeys, Image, Origin, Place, Provenance, RunInfo, Thread};
use crate::render::CompiledFormat;
use logdef_wire::record::Data;
use logdef_wire::{Description, Typed, Value};
use std::io::Write;

/// A text and where it comes from.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Text<'a> {
    /// Its bytes, unchanged: the caller escapes control characters when it prints them.
    pub bytes: Option<&'a [u8]>,
    /// Where they come from.
    pub provenance: Provenance,
}

/// A data record with what its numbers stand for.
#[derive(Debug)]
#[non_exhaustive]
pub struct Resolved<'a> {
    /// Where the record stands.
    pub place: Place,
    /// The record as it stands in its frame.
    pub data: &'a Data<'a>,
    /// How far it can be trusted.
    pub standing: Standing,
    /// Whether a later record of its thread came first: only where a log is followed.
    pub is_late: bool,
    /// Whether a record of the same run and sequence, but other bytes, came before: only where the resolver
    /// [saw](super::resolver::Resolver::see) the frame.
    pub is_conflicting: bool,
    /// The format, and where it was found.
    pub format: Text<'a>,
    /// The source file, and where its name was found.
    pub file: Text<'a>,
    /// Module, target and function of a call site that stands in no image.
    pub(super) origin: Option<&'a Origin>,
    /// The image that logged.
    pub image: Option<&'a Image>,
    /// The run of the process.
    pub run: Option<&'a RunInfo>,
    /// The thread under the name that it had then; `None` if its logdef is lost.
    pub thread: Option<&'a Thread>,
    /// Grammar of the format, names of the arguments, and module.
    pub description: Description<'a>,
    /// What its context says of it, but for the keys that it has itself.
    pub context: ContextKeys<'a>,
    pub(super) compiled: Option<&'a CompiledFormat>,
}

impl<'a> Resolved<'a> {
    /// Whether the log itself contains all that the record refers to, except for its
    /// backtrace.
    #[inline]
    pub fn is_complete(&self) -> bool {
        let is_told = |text: &Text<'_>| text.provenance == Provenance::Logged;
        let data = self.data;
        (data.format.is_none() || is_told(&self.format))
            && (data.file.is_none() || is_told(&self.file))
            && (data.magic.is_none() || self.image.is_some())
            && (data.sequence.is_none() || self.thread.is_some())
            && self.context.lost().is_none()
    }

    /// The name of the source file; `None` if it is lost, or the record names no place.
    pub fn source_file(&self) -> Option<&'a [u8]> {
        self.file.bytes.filter(|_| !self.is_without_place())
    }

    /// The line in the source file; `None` if the record names no place.
    pub fn source_line(&self) -> Option<u64> {
        self.data.line.filter(|_| !self.is_without_place())
    }

    /// The module of the call site, if the log says it: Rust's macros and the facades do.
    pub fn module(&self) -> Option<&'a [u8]> {
        let module = self.origin.and_then(|origin| origin.module.as_deref());
        module.or(self.description.module())
    }

    /// What the call site says that it is about, where that is not the module.
    pub fn target(&self) -> Option<&'a [u8]> {
        let target = self.origin.and_then(|origin| origin.target.as_deref());
        target.or(self.description.target())
    }

    /// The function of the call site, if the log says it.
    pub fn function(&self) -> Option<&'a [u8]> {
        self.origin?.function.as_deref()
    }

    /// Whether the writer knew no place: calls by bindings of other languages may have none.
    pub fn is_without_place(&self) -> bool {
        self.file.bytes == Some(b"") && self.data.line.unwrap_or(0) == 0
    }

    /// The format, taken apart.
    pub(super) fn printed(&self) -> Option<&'a CompiledFormat> {
        self.compiled
    }

    /// Whether the format takes an argument for a `long double`: its bytes are a number
    /// and no string.
    pub fn is_long_double(&self, arg: usize) -> bool {
        self.compiled
            .is_some_and(|format| format.is_long_double(arg))
    }

    /// Appends the message: the arguments in their format, else the arguments as
    /// they are after the address of the format that is missing, or after its text if
    /// that is in a grammar of a later version. A newline at its end is left out: programs that
    /// printed lines before have one in each format, and a record has an end of its own.
    #[inline]
    pub fn message(&self, out: &mut Vec<u8>) {
        let start = out.len();
        self.printed_message(out);
        if out[start..].ends_with(b"\n") {
            out.pop();
        }
    }

    #[inline]
    fn printed_message(&self, out: &mut Vec<u8>) {
        let Some(compiled) = self.compiled else {
            return self.bare_message(out);
        };
        compiled.render_array(self.data.args.unwrap_or_default(), out);
    }

    /// The word for a record that conflicts with another.
    pub(crate) fn conflict(&self) -> Option<&'static str> {
        self.is_conflicting.then_some("conflicting")
    }

    /// What marks the record, in words: its standing, whether it is late, and whether it conflicts with
    /// another.
    #[inline]
    pub fn marks(&self) -> impl Iterator<Item = &'static str> {
        let late = self.is_late.then_some("late");
        let marks = self.standing.word().into_iter();
        marks.chain(late).chain(self.conflict())
    }

    /// Appends the message, after its [marks](Resolved::marks) in brackets: for forms that have no
    /// other place for them.
    #[inline]
    pub fn marked_message(&self, out: &mut Vec<u8>) {
        for word in self.marks() {
            // Writing to a vector does not fail.
            let _ = write!(out, "[{word}] ");
        }
        self.message(out);
    }

    #[cold]
    fn bare_message(&self, out: &mut Vec<u8>) {
        // Writing to a vector does not fail.
        let _ = match (self.format.bytes, self.data.format) {
            (Some(template), _) => write!(out, "?\"{}\"", template.escape_ascii()),
            (None, Some(address)) => write!(out, "?{address:#x}"),
            (None, None) => write!(out, "?"),
        };
        for (index, arg) in self.data.args.into_iter().flatten().enumerate() {
            out.extend_from_slice(if index == 0 { b" " } else { b", " });
            push_value(arg, out);
        }
    }
}

/// The value of a structured key of a record.
pub fn key_of<'a>(data: &Data<'a>, wanted: &[u8]) -> Option<Value<'a>> {
    let mut pairs = data.keys?.iter();
    let is_wanted = |key: Value<'_>| key.as_raw() == Some(wanted);
    pairs.find_map(|(key, value)| is_wanted(key).then_some(value))
}

/// Appends a value as it is: numbers in decimal, strings quoted.
pub fn push_value(value: Value<'_>, out: &mut Vec<u8>) {
    let _ = match value {
        Value::Nil => write!(out, "nil"),
        Value::Bool(value) => write!(out, "{value}"),
        Value::Uint(value) => write!(out, "{value}"),
        Value::Int(value) => write!(out, "{value}"),
        Value::Float(value) => write!(out, "{value:?}"),
        Value::Raw(bytes) => write!(out, "\"{}\"", bytes.escape_ascii()),
        Value::Array(array) => match Typed::of(array) {
            Some(Typed::Int128(value)) => write!(out, "{value}"),
            Some(Typed::Uint128(value)) => write!(out, "{value}"),
            Some(Typed::Printed(text)) => write!(out, "\"{}\"", text.escape_ascii()),
            _ => write!(out, "[{} values]", array.len()),
        },
        Value::Map(map) => write!(out, "{{{} pairs}}", map.len()),
        Value::Ext(kind, bytes) => write!(out, "ext {kind} \"{}\"", bytes.escape_ascii()),
    };
}
