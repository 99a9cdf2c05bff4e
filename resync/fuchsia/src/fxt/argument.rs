//! Arguments: named, typed values attached to a record, 15 at most. Each carries
//! its own size, so unknown types can be skipped and kept.

use core::fmt;

use super::bits::{Bits, bits};
use super::buffer::{Buffer, Words};
use super::cursor::{Cursor, WORD};
use super::error::{Malformed, Problem, WriteError};
use super::string::{StringRef, inline_words};
use super::thread::Koid;

/// The most arguments that a record can carry.
pub const MAX_ARGUMENTS: usize = 15;

const TYPE: Bits = bits(0, 3);
const SIZE: Bits = bits(4, 15);
const NAME: Bits = bits(16, 31);
const VALUE_32: Bits = bits(32, 63);
const VALUE_TEXT: Bits = bits(32, 47);
const VALUE_BOOL: Bits = bits(32, 32);

/// An argument as it stands in the bytes of a record.
pub type RawArgument<'a> = Argument<'a, StringRef<'a>>;

/// A named value, with strings in the form `T`: `&str` for writing, [`StringRef`] as
/// they stand in the bytes, `Cow<str>` when looked up.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Argument<'a, T> {
    /// The name, an index or spelled out as the layer has it.
    pub name: T,
    /// The value, with its type.
    pub value: Value<'a, T>,
    /// Whole words after the value that its type does not explain. Kept, and written
    /// back by the raw layer.
    pub extra: &'a [u8],
}

/// The value of an argument.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value<'a, T> {
    /// No value, the name says it all. Type 0.
    Null,
    /// A signed integer of 32 bits. Type 1.
    I32(i32),
    /// An unsigned integer of 32 bits. Type 2.
    U32(u32),
    /// A signed integer of 64 bits. Type 3.
    I64(i64),
    /// An unsigned integer of 64 bits. Type 4.
    U64(u64),
    /// A double. Type 5.
    F64(f64),
    /// A string. Type 6.
    Text(T),
    /// An address, which a userspace object record may explain. Type 7.
    Pointer(u64),
    /// A kernel object, which a kernel object record may explain. Type 8.
    Koid(Koid),
    /// True or false. Type 9.
    Bool(bool),
    /// Bytes of any meaning. Type 10.
    Blob(&'a [u8]),
    /// A type without a meaning yet.
    Unknown {
        /// The type, 11 to 15.
        kind: u8,
        /// The 32 bits of the argument's header that are the type's own.
        data: u32,
        /// The words after the name.
        body: &'a [u8],
    },
}

impl<'a, T> Argument<'a, T> {
    /// An argument of this name and value.
    pub fn new(name: impl Into<T>, value: impl Into<Value<'a, T>>) -> Argument<'a, T> {
        Argument {
            name: name.into(),
            value: value.into(),
            extra: &[],
        }
    }
}

impl<'a, T> Argument<'a, T> {
    /// The same with each string, the name first, as `text` turns it.
    pub(crate) fn map<U, E>(
        self,
        mut text: impl FnMut(T) -> Result<U, E>,
    ) -> Result<Argument<'a, U>, E> {
        Ok(Argument {
            name: text(self.name)?,
            value: self.value.map(text)?,
            extra: self.extra,
        })
    }
}

impl<'a, T> Value<'a, T> {
    fn map<U, E>(self, text: impl FnOnce(T) -> Result<U, E>) -> Result<Value<'a, U>, E> {
        Ok(match self {
            Value::Text(value) => Value::Text(text(value)?),
            Value::Null => Value::Null,
            Value::I32(value) => Value::I32(value),
            Value::U32(value) => Value::U32(value),
            Value::I64(value) => Value::I64(value),
            Value::U64(value) => Value::U64(value),
            Value::F64(value) => Value::F64(value),
            Value::Pointer(value) => Value::Pointer(value),
            Value::Koid(value) => Value::Koid(value),
            Value::Bool(value) => Value::Bool(value),
            Value::Blob(value) => Value::Blob(value),
            Value::Unknown { kind, data, body } => Value::Unknown { kind, data, body },
        })
    }

    /// The number of the type, 0 to 15.
    pub fn kind(&self) -> u8 {
        match self {
            Value::Null => 0,
            Value::I32(_) => 1,
            Value::U32(_) => 2,
            Value::I64(_) => 3,
            Value::U64(_) => 4,
            Value::F64(_) => 5,
            Value::Text(_) => 6,
            Value::Pointer(_) => 7,
            Value::Koid(_) => 8,
            Value::Bool(_) => 9,
            Value::Blob(_) => 10,
            Value::Unknown { kind, .. } => *kind,
        }
    }
}

impl<'a> RawArgument<'a> {
    /// Passes over one argument, failing as [`Argument::decode`] does.
    #[inline]
    fn pass(cursor: &mut Cursor<'a>) -> Result<(), Malformed> {
        let mut ahead = *cursor;
        let header = ahead.word("argument")?;
        let words = match TYPE.of(header) {
            3 | 4 | 5 | 7 | 8 => 1,
            6 => inline_words(VALUE_TEXT.of(header)),
            10 => VALUE_32.of(header).div_ceil(WORD as u64),
            _ => 0,
        };
        if 1 + words + inline_words(NAME.of(header)) <= SIZE.of(header)
            && ahead.skip((SIZE.of(header) as usize - 1) * WORD)
        {
            *cursor = ahead;
            return Ok(());
        }
        // Something is wrong: that will be found out and named.
        Argument::decode(cursor).map(|_| ())
    }

    /// Reads one argument. The cursor may hold more than it.
    #[inline]
    pub(crate) fn decode(cursor: &mut Cursor<'a>) -> Result<RawArgument<'a>, Malformed> {
        let start = cursor.at();
        let header = cursor.word("argument")?;
        let wrong_size = Malformed {
            at: start,
            problem: Problem::ArgumentSize(SIZE.of(header) as u16),
        };
        let Some(rest) = (SIZE.of(header) as usize * WORD).checked_sub(WORD) else {
            return Err(wrong_size);
        };
        let mut body = cursor.sub(rest).ok_or(wrong_size)?;
        let name = StringRef::read(NAME.of(header), &mut body, "argument name")?;
        let value = match TYPE.of(header) {
            0 => Value::Null,
            1 => Value::I32(VALUE_32.of(header) as i32),
            2 => Value::U32(VALUE_32.of(header) as u32),
            3 => Value::I64(body.word("argument value")? as i64),
            4 => Value::U64(body.word("argument value")?),
            5 => Value::F64(f64::from_bits(body.word("argument value")?)),
            6 => Value::Text(StringRef::read(
                VALUE_TEXT.of(header),
                &mut body,
                "argument value",
            )?),
            7 => Value::Pointer(body.word("argument value")?),
            8 => Value::Koid(Koid(body.word("argument value")?)),
            9 => Value::Bool(VALUE_BOOL.of(header) != 0),
            10 => Value::Blob(body.stream(VALUE_32.of(header), "argument value")?),
            kind => {
                return Ok(Argument {
                    name,
                    value: Value::Unknown {
                        kind: kind as u8,
                        data: VALUE_32.of(header) as u32,
                        body: body.rest(),
                    },
                    extra: &[],
                });
            }
        };
        Ok(Argument {
            name,
            value,
            extra: body.rest(),
        })
    }

    /// Adds this argument to a record.
    pub(crate) fn write(&self, words: &mut Words<'_, impl Buffer>) -> Result<(), WriteError> {
        let start = words.len();
        let name = NAME.with(self.name.bits("argument name length")?);
        words.word(0)?;
        self.name.write(words)?;
        let mut header = name | TYPE.with(u64::from(self.value.kind() & 15));
        match &self.value {
            Value::Null => {}
            Value::I32(value) => header |= VALUE_32.with(u64::from(*value as u32)),
            Value::U32(value) => header |= VALUE_32.with(u64::from(*value)),
            Value::I64(value) => words.word(*value as u64)?,
            Value::U64(value) | Value::Pointer(value) | Value::Koid(Koid(value)) => {
                words.word(*value)?;
            }
            Value::F64(value) => words.word(value.to_bits())?,
            Value::Text(value) => {
                header |= VALUE_TEXT.with(value.bits("argument text length")?);
                value.write(words)?;
            }
            Value::Bool(value) => header |= VALUE_BOOL.with(u64::from(*value)),
            Value::Blob(value) => {
                let len = WriteError::check("argument blob size", value.len(), VALUE_32.max())?;
                header |= VALUE_32.with(len);
                words.stream(value)?;
            }
            Value::Unknown { data, body, .. } => {
                header |= VALUE_32.with(u64::from(*data));
                words.raw(body)?;
            }
        }
        words.raw(self.extra)?;
        let size = (words.len() - start) / WORD;
        let size = WriteError::check("argument size in words", size, SIZE.max())?;
        words.patch(start, header | SIZE.with(size));
        Ok(())
    }
}

/// The arguments of a raw record: checked when the record was decoded, or given by
/// the code that builds one.
#[derive(Clone, Copy)]
pub struct Arguments<'a>(Source<'a>);

#[derive(Clone, Copy)]
enum Source<'a> {
    /// `count` arguments that are known to decode.
    Bytes {
        bytes: &'a [u8],
        count: u8,
    },
    /// Encoded arguments in the form that the writer gives them.
    Encoded {
        bytes: &'a [u8],
        count: u8,
    },
    Slice(&'a [RawArgument<'a>]),
}

impl<'a> Arguments<'a> {
    /// Walks over `count` arguments, so that iterating them later cannot fail.
    #[inline]
    pub(crate) fn read(count: u64, cursor: &mut Cursor<'a>) -> Result<Arguments<'a>, Malformed> {
        let start = cursor.at();
        for _ in 0..count {
            Argument::pass(cursor)?;
        }
        Ok(Arguments(Source::Bytes {
            bytes: cursor.since(start),
            count: count as u8,
        }))
    }

    /// `count` arguments that [`Argument::write`] put into `bytes`.
    pub(crate) fn encoded(bytes: &'a [u8], count: u8) -> Arguments<'a> {
        Arguments(Source::Encoded { bytes, count })
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        match self.0 {
            Source::Bytes { count, .. } | Source::Encoded { count, .. } => usize::from(count),
            Source::Slice(slice) => slice.len(),
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The arguments in order.
    pub fn iter(&self) -> ArgumentIter<'a> {
        ArgumentIter(match self.0 {
            Source::Bytes { bytes, count } | Source::Encoded { bytes, count } => Left::Bytes {
                cursor: Cursor::new(bytes, 0),
                count,
            },
            Source::Slice(slice) => Left::Slice(slice.iter()),
        })
    }

    /// How many there are, if a record can have that many.
    pub(crate) fn count(&self) -> Result<u64, WriteError> {
        WriteError::check("number of arguments", self.len(), MAX_ARGUMENTS as u64)
    }

    /// Adds the arguments to a record.
    pub(crate) fn write(&self, words: &mut Words<'_, impl Buffer>) -> Result<(), WriteError> {
        match self.0 {
            Source::Encoded { bytes, .. } => words.raw(bytes),
            _ => self.iter().try_for_each(|argument| argument.write(words)),
        }
    }
}

impl Default for Arguments<'_> {
    fn default() -> Self {
        Arguments(Source::Slice(&[]))
    }
}

impl<'a> From<&'a [RawArgument<'a>]> for Arguments<'a> {
    fn from(slice: &'a [RawArgument<'a>]) -> Arguments<'a> {
        Arguments(Source::Slice(slice))
    }
}

impl PartialEq for Arguments<'_> {
    fn eq(&self, other: &Arguments<'_>) -> bool {
        self.len() == other.len() && self.iter().eq(other.iter())
    }
}

impl fmt::Debug for Arguments<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

impl<'a> IntoIterator for Arguments<'a> {
    type Item = RawArgument<'a>;
    type IntoIter = ArgumentIter<'a>;

    fn into_iter(self) -> ArgumentIter<'a> {
        self.iter()
    }
}

/// The arguments of a raw record, one after the other.
#[derive(Clone, Debug)]
pub struct ArgumentIter<'a>(Left<'a>);

#[derive(Clone, Debug)]
enum Left<'a> {
    Bytes { cursor: Cursor<'a>, count: u8 },
    Slice(core::slice::Iter<'a, RawArgument<'a>>),
}

impl<'a> Iterator for ArgumentIter<'a> {
    type Item = RawArgument<'a>;

    #[inline]
    fn next(&mut self) -> Option<RawArgument<'a>> {
        match &mut self.0 {
            Left::Bytes { cursor, count } => {
                *count = count.checked_sub(1)?;
                Argument::decode(cursor).ok()
            }
            Left::Slice(slice) => slice.next().copied(),
        }
    }
}

macro_rules! value_from {
    ($($from:ty => $to:expr;)*) => {$(
        impl<'a> From<$from> for Value<'a, &'a str> {
            fn from(value: $from) -> Value<'a, &'a str> {
                $to(value)
            }
        }
    )*};
}

value_from! {
    i32 => Value::I32;
    u32 => Value::U32;
    f64 => Value::F64;
    bool => Value::Bool;
    Koid => Value::Koid;
    &'a str => Value::Text;
    &'a [u8] => Value::Blob;
}

impl From<i64> for Value<'_, &str> {
    /// The 32-bit type where the value fits it, as the format asks of writers.
    fn from(value: i64) -> Self {
        i32::try_from(value).map_or(Value::I64(value), Value::I32)
    }
}

impl From<u64> for Value<'_, &str> {
    /// The 32-bit type where the value fits it, as the format asks of writers.
    fn from(value: u64) -> Self {
        u32::try_from(value).map_or(Value::U64(value), Value::U32)
    }
}
