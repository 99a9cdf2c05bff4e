//! One line for one record or gap: text for people, JSON for programs.

use crate::json::harmless_json;
use core::fmt::{self, Write as _};
use std::borrow::Cow;
use std::io;

use serde::ser::{Serialize, SerializeMap as _, SerializeSeq as _, Serializer};

use super::argument::{Argument, Value};
use super::fields::{Field, FieldSink, argument_field, argument_type, kind, list};
use super::gap::Gap;
use super::layer::Resolved;
use super::record::{Record, stack_frames};
use super::tables::Provider;
use super::warning::Warning;

/// The form of an output.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Format {
    /// One line of text for people.
    #[default]
    Text,
    /// One JSON object on each line.
    Json,
}

/// A resolved record with all that a line says about it.
#[derive(Clone, Copy, Debug)]
pub struct Line<'l, 'r> {
    /// Where the record begins in the input, in bytes.
    pub offset: u64,
    /// The size of the record in bytes.
    pub size: usize,
    /// The provider that wrote the record.
    pub provider: &'l Provider,
    /// The record, with strings and threads in place of indices.
    pub record: &'l Record<Resolved<'r>>,
    /// Words that its type does not explain.
    pub extra: &'l [u8],
    /// What is odd about it.
    pub warnings: &'l [Warning],
}

/// Bytes shown of a blob in text.
const SHOWN: usize = 32;

impl Line<'_, '_> {
    /// Writes one line, with the newline that ends it.
    pub fn write(&self, out: &mut impl io::Write, format: Format) -> io::Result<()> {
        match format {
            Format::Text => writeln!(out, "{self}"),
            Format::Json => write_json(out, self),
        }
    }
}

/// Writes the line of a gap.
pub fn write_gap(out: &mut impl io::Write, format: Format, gap: &Gap) -> io::Result<()> {
    match format {
        Format::Text => writeln!(
            out,
            "{:>10}  gap of {} bytes: {}",
            gap.offset, gap.len, gap.reason
        ),
        Format::Json => write_json(out, &GapLine(gap)),
    }
}

pub(crate) fn write_json(out: &mut impl io::Write, line: &impl Serialize) -> io::Result<()> {
    let json = harmless_json(serde_json::to_string(line)?);
    out.write_all(json.as_bytes())?;
    out.write_all(b"\n")
}

impl fmt::Display for Line<'_, '_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{:>10}  {}  {}",
            self.offset,
            self.provider.id(),
            kind(self.record)
        )?;
        let mut text = TextFields { f, result: Ok(()) };
        list(self.record, self.provider, &mut text);
        text.result?;
        if !self.extra.is_empty() {
            write!(f, " extra={}", Bytes(self.extra))?;
        }
        for warning in self.warnings {
            write!(f, "  # {}", warning.kind)?;
        }
        Ok(())
    }
}

struct TextFields<'t, 'f> {
    f: &'t mut fmt::Formatter<'f>,
    result: fmt::Result,
}

impl FieldSink for TextFields<'_, '_> {
    fn field(&mut self, name: &'static str, value: Field<'_>) {
        self.result = self.result.and_then(|()| match value {
            Field::Args(args) => {
                self.f.write_str(" {")?;
                for (n, arg) in args.iter().enumerate() {
                    let comma = if n == 0 { "" } else { ", " };
                    let value = argument_field(&arg.value);
                    write!(self.f, "{comma}{:?}: {}", arg.name, TextValue(value))?;
                }
                self.f.write_char('}')
            }
            value => write!(self.f, " {name}={}", TextValue(value)),
        });
    }
}

struct TextValue<'f>(Field<'f>);

impl fmt::Display for TextValue<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Field::Null => f.write_str("null"),
            Field::Unsigned(value) => value.fmt(f),
            Field::Signed(value) => value.fmt(f),
            Field::Float(value) => write!(f, "{value:?}"),
            Field::Bool(value) => value.fmt(f),
            Field::Address(value) => write!(f, "{value:#x}"),
            // Quoted, and with control characters escaped: a trace must not be able
            // to write to a user's terminal.
            Field::Text(value) => write!(f, "{value:?}"),
            Field::Time(value) => value.fmt(f),
            Field::Bytes(value) => Bytes(value).fmt(f),
            Field::Addresses(value) => {
                f.write_char('[')?;
                for (n, address) in stack_frames(value).enumerate() {
                    let space = if n == 0 { "" } else { " " };
                    write!(f, "{space}{address:#x}")?;
                }
                f.write_char(']')
            }
            Field::Args(_) => Ok(()),
        }
    }
}

/// Bytes in hex, the first few of them.
struct Bytes<'b>(&'b [u8]);

impl fmt::Display for Bytes<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = &self.0[..self.0.len().min(SHOWN)];
        write!(f, "{}:{}", self.0.len(), Hex(shown))?;
        if shown.len() < self.0.len() {
            f.write_str("...")?;
        }
        Ok(())
    }
}

struct Hex<'b>(&'b [u8]);

impl fmt::Display for Hex<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

struct GapLine<'g>(&'g Gap);

impl Serialize for GapLine<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("offset", &self.0.offset)?;
        map.serialize_entry("size", &self.0.len)?;
        map.serialize_entry("type", "gap")?;
        map.serialize_entry("reason", &Shown(&self.0.reason))?;
        map.end()
    }
}

impl Serialize for Line<'_, '_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("offset", &self.offset)?;
        map.serialize_entry("size", &self.size)?;
        map.serialize_entry("type", kind(self.record))?;
        map.serialize_entry("provider", &self.provider.id().0)?;
        let mut fields = JsonFields {
            map: &mut map,
            result: Ok(()),
        };
        list(self.record, self.provider, &mut fields);
        fields.result?;
        if !self.extra.is_empty() {
            map.serialize_entry("extra", &Shown(&Hex(self.extra)))?;
        }
        if !self.warnings.is_empty() {
            let warnings = self.warnings.iter().map(|w| w.kind.to_string());
            map.serialize_entry("warnings", &warnings.collect::<Vec<_>>())?;
        }
        map.end()
    }
}

struct JsonFields<'m, M: serde::ser::SerializeMap> {
    map: &'m mut M,
    result: Result<(), M::Error>,
}

impl<M: serde::ser::SerializeMap> FieldSink for JsonFields<'_, M> {
    fn field(&mut self, name: &'static str, value: Field<'_>) {
        if self.result.is_err() {
            return;
        }
        self.result = match value {
            Field::Time(time) => {
                let names = match name {
                    "end" => ["end_ns", "end_ticks"],
                    _ => ["time_ns", "ticks"],
                };
                let nanos = self.map.serialize_entry(names[0], &time.nanos);
                nanos.and_then(|()| self.map.serialize_entry(names[1], &time.ticks.0))
            }
            value => self.map.serialize_entry(name, &JsonValue(value)),
        };
    }
}

struct JsonValue<'f>(Field<'f>);

impl Serialize for JsonValue<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Field::Null => serializer.serialize_unit(),
            Field::Unsigned(value) | Field::Address(value) => serializer.serialize_u64(value),
            Field::Signed(value) => serializer.serialize_i64(value),
            // JSON has no word for the others.
            Field::Float(value) if !value.is_finite() => serializer.collect_str(&value),
            Field::Float(value) => serializer.serialize_f64(value),
            Field::Bool(value) => serializer.serialize_bool(value),
            Field::Text(value) => serializer.serialize_str(value),
            Field::Time(value) => serializer.collect_str(&value),
            Field::Bytes(value) => serializer.collect_str(&Hex(value)),
            Field::Addresses(value) => serializer.collect_seq(stack_frames(value)),
            Field::Args(args) => {
                let mut seq = serializer.serialize_seq(Some(args.len()))?;
                for arg in args {
                    seq.serialize_element(&JsonArgument(arg))?;
                }
                seq.end()
            }
        }
    }
}

struct JsonArgument<'f>(&'f Argument<'f, Cow<'f, str>>);

impl Serialize for JsonArgument<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("name", &self.0.name)?;
        map.serialize_entry("type", argument_type(&self.0.value))?;
        if let Value::Unknown { kind, data, .. } = self.0.value {
            map.serialize_entry("argument_type", &kind)?;
            map.serialize_entry("header_data", &data)?;
        }
        map.serialize_entry("value", &JsonValue(argument_field(&self.0.value)))?;
        if !self.0.extra.is_empty() {
            map.serialize_entry("extra", &Shown(&Hex(self.0.extra)))?;
        }
        map.end()
    }
}

/// Serializes as a string what can be displayed.
struct Shown<'s, T>(&'s T);

impl<T: fmt::Display> Serialize for Shown<'_, T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self.0)
    }
}
