//! A record that was captured, and its values.

use crate::captured::split;
use core::fmt::{self, Write};
use core::ops::Index;
use logdef_wire::msgpack::Decoder;
use logdef_wire::record::Data;
use logdef_wire::{Description, Level, Record as WireRecord, Typed, Value as WireValue};
use std::time::{Duration, SystemTime};

/// A record that was captured.
///
/// It prints as a line: `WARN  src/login.rs:12: ada signed in after 3 attempts {user=ada, ms=2.5}`.
#[derive(Clone, Debug)]
pub struct Record {
    level: Level,
    time: u64,
    message: String,
    file: String,
    line: u32,
    module: String,
    target: String,
    values: Vec<(Option<String>, Value)>,
}

impl Record {
    /// Reads what was copied; `None` if it is no record.
    pub(super) fn of(bytes: &[u8]) -> Option<Record> {
        let mut parts = split(bytes);
        let mut next = || parts.next();
        let (body, file, message) = (next()?, next()?, next()?);
        let (module, target, description) = (next()?, next()?, next()?);
        let context = next().unwrap_or_default();
        let Ok(WireRecord::Data(data)) = WireRecord::decode(body) else {
            return None;
        };
        let description = Description::of(description);
        Some(Record {
            level: data.level.unwrap_or(Level::INFO),
            time: data.time.unwrap_or(0),
            message: text(message),
            file: text(file),
            line: data.line.unwrap_or(0) as u32,
            module: text(description.module().unwrap_or(module)),
            target: text(description.target().unwrap_or(target)),
            values: values(&data, description, context),
        })
    }

    /// The severity.
    #[must_use]
    pub fn level(&self) -> Level {
        self.level
    }

    /// When it was logged.
    #[must_use]
    pub fn time(&self) -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_nanos(self.time)
    }

    /// The text, as the mirror has it: cut at 4 KiB.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.message
    }

    /// The path of the source file, as the compiler was given it.
    #[must_use]
    pub fn file(&self) -> &str {
        &self.file
    }

    /// The line in the source file, from 1; 0 if the call has none.
    #[must_use]
    pub fn line(&self) -> u32 {
        self.line
    }

    /// The module; empty if the call has none.
    #[must_use]
    pub fn module(&self) -> &str {
        &self.module
    }

    /// What filters know the call by: its target, if it names one, or else the module.
    #[must_use]
    pub fn target(&self) -> &str {
        match self.target.as_str() {
            "" => &self.module,
            target => target,
        }
    }

    /// All values with their names, where they have names: the arguments in the order in which
    /// they are passed, what braces capture behind them, then key-values, then those of the contexts around the call, innermost first.
    #[must_use]
    pub fn values(&self) -> &[(Option<String>, Value)] {
        &self.values
    }

    /// The first value that has this name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Value> {
        let mut values = self.values.iter();
        let found = values.find(|(other, _)| other.as_deref() == Some(name));
        found.map(|(_, value)| value)
    }

    pub(super) fn into_message(self) -> String {
        self.message
    }
}

impl Index<&str> for Record {
    type Output = Value;

    /// The first value that has this name.
    ///
    /// # Panics
    ///
    /// If none has: the message says which names there are.
    #[track_caller]
    fn index(&self, name: &str) -> &Value {
        self.get(name)
            .unwrap_or_else(|| panic!("no value is called `{name}` in: {self}"))
    }
}

impl fmt::Display for Record {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = Escaped(f);
        write!(
            out,
            "{:<5} {}:{}: {}",
            self.level, self.file, self.line, self.message
        )?;
        let mut before = " {";
        for (name, value) in &self.values {
            if let Some(name) = name {
                write!(out, "{before}{name}={value}")?;
                before = ", ";
            }
        }
        match before {
            ", " => out.write_str("}"),
            _ => Ok(()),
        }
    }
}

/// Text for a terminal: what could move its cursor is written as an escape.
struct Escaped<'w, W: Write>(&'w mut W);

impl<W: Write> Write for Escaped<'_, W> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for character in text.chars() {
            match character {
                '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{2028}' | '\u{2029}' => {
                    write!(self.0, "{}", character.escape_unicode())?;
                }
                c if c.is_control() => write!(self.0, "{}", c.escape_default())?,
                c => self.0.write_char(c)?,
            }
        }
        Ok(())
    }
}

/// A value of a record, with its type. It can be compared with what was logged:
/// `record["port"] == 8080`.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Value {
    /// No value: `None`, for instance.
    None,
    /// A truth value.
    Bool(bool),
    /// An integer.
    Int(i128),
    /// An integer that [`Value::Int`] does not hold.
    Uint(u128),
    /// A floating point number.
    Float(f64),
    /// Text, what the program printed by `Display` or `Debug` included.
    Text(String),
    /// Bytes that are no text.
    Bytes(Vec<u8>),
}

impl Value {
    fn of(value: WireValue<'_>) -> Value {
        match value {
            WireValue::Bool(value) => Value::Bool(value),
            WireValue::Uint(value) => Value::Int(value.into()),
            WireValue::Int(value) => Value::Int(value.into()),
            WireValue::Float(value) => Value::Float(value),
            WireValue::Raw(bytes) => match core::str::from_utf8(bytes) {
                Ok(text) => Value::Text(text.to_owned()),
                Err(_) => Value::Bytes(bytes.to_owned()),
            },
            WireValue::Array(array) => match Typed::of(array) {
                Some(Typed::Int128(value)) => Value::Int(value),
                Some(Typed::Uint128(value)) => {
                    i128::try_from(value).map_or(Value::Uint(value), Value::Int)
                }
                Some(Typed::Printed(printed)) => Value::Text(text(printed)),
                Some(Typed::Bytes(bytes)) => Value::Bytes(bytes.to_owned()),
                _ => Value::None,
            },
            _ => Value::None,
        }
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::None => f.write_str("none"),
            Value::Bool(value) => value.fmt(f),
            Value::Int(value) => value.fmt(f),
            Value::Uint(value) => value.fmt(f),
            Value::Float(value) => value.fmt(f),
            Value::Text(value) => value.fmt(f),
            Value::Bytes(value) => write!(f, "{value:02x?}"),
        }
    }
}

macro_rules! equal_integers {
    ($($type:ty),*) => {
        $(impl PartialEq<$type> for Value {
            fn eq(&self, other: &$type) -> bool {
                match self {
                    Value::Int(value) => <$type>::try_from(*value).is_ok_and(|value| value == *other),
                    Value::Uint(value) => <$type>::try_from(*value).is_ok_and(|value| value == *other),
                    _ => false,
                }
            }
        })*
    };
}
equal_integers!(
    i8, i16, i32, i64, i128, isize, u8, u16, u32, u64, u128, usize
);

impl PartialEq<bool> for Value {
    fn eq(&self, other: &bool) -> bool {
        matches!(self, Value::Bool(value) if value == other)
    }
}

impl PartialEq<f64> for Value {
    fn eq(&self, other: &f64) -> bool {
        matches!(self, Value::Float(value) if value == other)
    }
}

impl PartialEq<str> for Value {
    fn eq(&self, other: &str) -> bool {
        matches!(self, Value::Text(value) if value == other)
    }
}

impl PartialEq<&str> for Value {
    fn eq(&self, other: &&str) -> bool {
        *self == **other
    }
}

impl PartialEq<String> for Value {
    fn eq(&self, other: &String) -> bool {
        *self == **other
    }
}

impl PartialEq<char> for Value {
    fn eq(&self, other: &char) -> bool {
        *self == *other.encode_utf8(&mut [0; 4])
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// All values, with their names.
fn values(
    data: &Data<'_>,
    description: Description<'_>,
    context: &[u8],
) -> Vec<(Option<String>, Value)> {
    let named = |name: WireValue<'_>, value| (name.as_raw().map(text), Value::of(value));
    let mut names = description.names();
    let args = data.args.into_iter().flatten();
    let args = args.map(|value| (names.next().flatten().map(text), Value::of(value)));
    let mut values: Vec<_> = args.collect();
    let pairs = data.keys.into_iter().flat_map(|keys| keys.iter());
    values.extend(pairs.map(|(name, value)| named(name, value)));
    let mut context = Decoder::new(context);
    while let (Ok(name), Ok(value)) = (context.value(), context.value()) {
        values.push(named(name, value));
    }
    values
}
