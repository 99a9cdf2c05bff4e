//! A record that was captured, and its values.

use crate::captured::split;
use core::fmt::{self, Write};
use core::ops::Index;
use logdef_wire::msgpack::Decoder;
use logdef_wire::record::Data;
use logdef_wire::{
    Description, Level, OwnedValue as Value, Record as WireRecord, Value as WireValue,
};
use std::time::{Duration, SystemTime};

/// A record that was captured.
///
/// It prints as a line: `WARN  src/login.rs:12: ada signed in after 3 attempts {user=ada, ms=2.5}`.
///
/// Signal safety: not async-signal-safe.
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

    /// The level at which it was logged.
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
    /// they are passed, then what braces capture, then key-values, then those of the contexts around the call, innermost first.
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

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// All values, with their names.
fn values(
    data: &Data<'_>,
    description: Description<'_>,
    context: &[u8],
) -> Vec<(Option<String>, Value)> {
    let named = |name: WireValue<'_>, value| (name.as_raw().map(text), Value::from(value));
    let mut names = description.names();
    let args = data.args.into_iter().flatten();
    let args = args.map(|value| (names.next().flatten().map(text), Value::from(value)));
    let mut values: Vec<_> = args.collect();
    let pairs = data.keys.into_iter().flat_map(|keys| keys.iter());
    values.extend(pairs.map(|(name, value)| named(name, value)));
    let mut context = Decoder::new(context);
    while let (Ok(name), Ok(value)) = (context.value(), context.value()) {
        values.push(named(name, value));
    }
    values
}
