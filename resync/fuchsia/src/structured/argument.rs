//! One argument: a name and a typed value, its decoding from and encoding to words.

use std::borrow::Cow;

use super::error::{DecodeError, EncodeError, Field, Rule};
use super::words::{WORD, padded, reference_to, referenced_length, word_at};
use super::{MAX_ARGUMENTS, MAX_NAME_BYTES, Profile};

const NULL: u8 = 0;
const SIGNED_INT: u8 = 3;
const UNSIGNED_INT: u8 = 4;
const FLOATING: u8 = 5;
const TEXT: u8 = 6;
const BOOLEAN: u8 = 9;

/// A named value of a record.
#[derive(Clone, Debug, PartialEq)]
pub struct Argument<'a> {
    /// The name. Never empty and at most 256 bytes in a strict record; not unique.
    pub name: &'a str,
    /// Its value, with its type.
    pub value: Value<'a>,
}

/// The value of an argument.
#[derive(Clone, Debug, PartialEq)]
pub enum Value<'a> {
    /// A signed integer.
    SignedInt(i64),
    /// An unsigned integer.
    UnsignedInt(u64),
    /// A double; its bit pattern travels unchanged.
    Floating(f64),
    /// Text, borrowed from the record unless damaged text had to be repaired.
    Text(Cow<'a, str>),
    /// True or false.
    Boolean(bool),
}

impl<'a> Argument<'a> {
    /// Bytes that an argument of this name and value takes, or why no record can hold it.
    pub(super) fn encoded_length(name: &str, value: &Value<'_>) -> Result<usize, EncodeError> {
        match name.len() {
            0 => return Err(EncodeError::EmptyName),
            1..=MAX_NAME_BYTES => {}
            length => return Err(EncodeError::NameTooLong(length)),
        }
        let value_length = match value {
            Value::SignedInt(_) | Value::UnsignedInt(_) | Value::Floating(_) => WORD,
            Value::Boolean(_) => 0,
            Value::Text(text) if reference_to(text.len()).is_none() => {
                return Err(EncodeError::TextTooLong(text.len()));
            }
            Value::Text(text) => padded(text.len()),
        };
        Ok(WORD + padded(name.len()) + value_length)
    }

    /// Writes the argument over all of `out`, which has its [`encoded_length`](Self::encoded_length).
    pub(super) fn encode(name: &str, value: &Value<'_>, out: &mut [u8]) {
        let (kind, bits) = match value {
            Value::SignedInt(_) => (SIGNED_INT, 0),
            Value::UnsignedInt(_) => (UNSIGNED_INT, 0),
            Value::Floating(_) => (FLOATING, 0),
            Value::Text(text) => (TEXT, reference_to(text.len()).unwrap_or(0)),
            Value::Boolean(value) => (BOOLEAN, u16::from(*value)),
        };
        let header = u64::from(kind)
            | ((out.len() / WORD) as u64) << 4
            | u64::from(reference_to(name.len()).unwrap_or(0)) << 16
            | u64::from(bits) << 32;

        let (head, rest) = out.split_at_mut(WORD);
        let (name_out, value_out) = rest.split_at_mut(padded(name.len()));
        head.copy_from_slice(&header.to_le_bytes());
        copy_padded(name.as_bytes(), name_out);
        match value {
            Value::SignedInt(value) => value_out.copy_from_slice(&value.to_le_bytes()),
            Value::UnsignedInt(value) => value_out.copy_from_slice(&value.to_le_bytes()),
            Value::Floating(value) => value_out.copy_from_slice(&value.to_bits().to_le_bytes()),
            Value::Text(text) => copy_padded(text.as_bytes(), value_out),
            Value::Boolean(_) => {}
        }
    }
}

/// Copies `bytes` to the start of `out` and zeroes the rest: a reused buffer must not leak.
fn copy_padded(bytes: &[u8], out: &mut [u8]) {
    let (text, padding) = out.split_at_mut(bytes.len());
    text.copy_from_slice(bytes);
    padding.fill(0);
}

macro_rules! value_from {
    ($($from:ty => $variant:ident as $to:ty),* $(,)?) => {
        $(impl From<$from> for Value<'_> {
            fn from(value: $from) -> Self {
                Self::$variant(<$to>::from(value))
            }
        })*
    };
}

value_from! {
    i8 => SignedInt as i64,
    i16 => SignedInt as i64,
    i32 => SignedInt as i64,
    i64 => SignedInt as i64,
    u8 => UnsignedInt as u64,
    u16 => UnsignedInt as u64,
    u32 => UnsignedInt as u64,
    u64 => UnsignedInt as u64,
    f32 => Floating as f64,
    f64 => Floating as f64,
    bool => Boolean as bool,
}

impl<'a> From<&'a str> for Value<'a> {
    fn from(text: &'a str) -> Self {
        Self::Text(Cow::Borrowed(text))
    }
}

impl From<String> for Value<'_> {
    fn from(text: String) -> Self {
        Self::Text(Cow::Owned(text))
    }
}

/// The arguments of a record, in the order they were written.
#[derive(Clone, Debug)]
pub struct Arguments<'a> {
    walk: Walk<'a>,
}

impl<'a> Arguments<'a> {
    /// The arguments of `record`, all of which the caller has seen [`Walk`] accept.
    pub(super) fn of_valid(record: &'a [u8], start: usize, profile: Profile) -> Self {
        Self {
            walk: Walk::new(record, start, profile),
        }
    }
}

impl<'a> Iterator for Arguments<'a> {
    type Item = Argument<'a>;

    fn next(&mut self) -> Option<Argument<'a>> {
        let argument = self.walk.next()?;
        debug_assert!(argument.is_ok(), "the record was accepted before");
        argument.ok()
    }
}

/// Decodes arguments until the end of the record or the first broken rule.
///
/// It walks by the lengths it decoded, as readers in the field do; the strict profile also holds those
/// against the sizes that the arguments state.
#[derive(Clone, Debug)]
pub(super) struct Walk<'a> {
    record: &'a [u8],
    offset: usize,
    profile: Profile,
    count: usize,
    /// The first argument named `message` was met: only that one may be damaged text.
    message_seen: bool,
}

impl<'a> Walk<'a> {
    pub(super) fn new(record: &'a [u8], start: usize, profile: Profile) -> Self {
        Self {
            record,
            offset: start,
            profile,
            count: 0,
            message_seen: false,
        }
    }

    fn strict(&self) -> bool {
        self.profile == Profile::Strict
    }

    fn argument(&mut self) -> Result<Argument<'a>, DecodeError> {
        let start = self.offset;
        let at_header = |rule| fail(Field::ArgumentHeader, start, rule);
        if self.strict() && self.count == MAX_ARGUMENTS {
            return at_header(Rule::TooManyArguments);
        }
        self.count += 1;
        let header = self.word(Field::ArgumentHeader)?;
        let kind = (header & 0xf) as u8;
        if kind > BOOLEAN {
            return at_header(Rule::InvalidType(kind));
        }
        let name = self.name(start, (header >> 16) as u16)?;
        let lossy = name == "message" && !self.message_seen && !self.strict();
        self.message_seen |= name == "message";

        let bits = header >> 32;
        let (value, used_bits) = match kind {
            NULL if !self.strict() => (Value::UnsignedInt(1), 0),
            SIGNED_INT => (Value::SignedInt(self.word(Field::Value)? as i64), 0),
            UNSIGNED_INT => (Value::UnsignedInt(self.word(Field::Value)?), 0),
            FLOATING => (Value::Floating(f64::from_bits(self.word(Field::Value)?)), 0),
            TEXT => (
                Value::Text(self.value_text(start, bits as u16, lossy)?),
                0xffff,
            ),
            BOOLEAN => (Value::Boolean(bits & 1 == 1), 1),
            _ => return at_header(Rule::UnsupportedType(kind)),
        };
        if self.strict() {
            let reserved = bits & !used_bits;
            if reserved != 0 {
                return at_header(Rule::ReservedBits(reserved << 32));
            }
            let stated = (header >> 4 & 0xfff) as usize;
            let actual = (self.offset - start) / WORD;
            if stated != actual {
                return at_header(Rule::WrongArgumentSize { stated, actual });
            }
        }
        Ok(Argument { name, value })
    }

    fn word(&mut self, field: Field) -> Result<u64, DecodeError> {
        let Some(word) = word_at(self.record, self.offset) else {
            return fail(
                field,
                self.offset,
                Rule::Truncated(self.record.len() - self.offset),
            );
        };
        self.offset += WORD;
        Ok(word)
    }

    fn name(&mut self, header: usize, reference: u16) -> Result<&'a str, DecodeError> {
        let length = referenced_length(reference, self.profile)
            .or_else(|rule| fail(Field::ArgumentHeader, header, rule))?;
        if self.strict() && !(1..=MAX_NAME_BYTES).contains(&length) {
            let rule = match length {
                0 => Rule::EmptyName,
                _ => Rule::NameTooLong(length),
            };
            return fail(Field::Name, self.offset, rule);
        }
        let offset = self.offset;
        let bytes = self.text(Field::Name, length)?;
        str::from_utf8(bytes).or_else(|_| fail(Field::Name, offset, Rule::NotUtf8))
    }

    fn value_text(
        &mut self,
        header: usize,
        reference: u16,
        lossy: bool,
    ) -> Result<Cow<'a, str>, DecodeError> {
        let length = referenced_length(reference, self.profile)
            .or_else(|rule| fail(Field::ArgumentHeader, header, rule))?;
        let offset = self.offset;
        let bytes = self.text(Field::Value, length)?;
        if lossy {
            return Ok(String::from_utf8_lossy(bytes));
        }
        match str::from_utf8(bytes) {
            Ok(text) => Ok(Cow::Borrowed(text)),
            Err(_) => fail(Field::Value, offset, Rule::NotUtf8),
        }
    }

    /// Takes `length` bytes and the padding after them.
    fn text(&mut self, field: Field, length: usize) -> Result<&'a [u8], DecodeError> {
        let start = self.offset;
        let end = start + padded(length);
        let Some(padded) = self.record.get(start..end) else {
            return fail(field, start, Rule::TextBeyondRecord(length));
        };
        let (text, padding) = padded.split_at(length);
        if self.strict() && padding.iter().any(|byte| *byte != 0) {
            return fail(field, start, Rule::Padding);
        }
        self.offset = end;
        Ok(text)
    }
}

impl<'a> Iterator for Walk<'a> {
    type Item = Result<Argument<'a>, DecodeError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.offset >= self.record.len() {
            return None;
        }
        let argument = self.argument();
        if argument.is_err() {
            self.offset = self.record.len();
        }
        Some(argument)
    }
}

fn fail<T>(field: Field, offset: usize, rule: Rule) -> Result<T, DecodeError> {
    Err(DecodeError {
        field,
        offset,
        rule,
    })
}
