//! What can be wrong with a record: which field, at which byte, against which rule.

use std::fmt;

/// Why some bytes are not a record under the chosen [`Profile`](super::Profile).
///
/// An error anywhere fails the whole record; nothing of it is delivered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DecodeError {
    /// The field at fault.
    pub field: Field,
    /// Where that field starts, in bytes from the start of the record.
    pub offset: usize,
    /// The rule of the format that it breaks.
    pub rule: Rule,
}

/// A field of the encoding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Field {
    /// Word 0 of the record.
    RecordHeader,
    /// Word 1 of the record.
    Timestamp,
    /// Word 0 of an argument.
    ArgumentHeader,
    /// The name of an argument, its padding included.
    Name,
    /// The value of an argument, its padding included.
    Value,
}

/// A rule of the encoding that was broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Rule {
    /// The input ends inside the field: this many bytes are there.
    Truncated(usize),
    /// The record type is this, not 9.
    NotALogRecord(u8),
    /// `SizeWords` is this, less than the header and the timestamp.
    SizeTooSmall(usize),
    /// `SizeWords` is this, more than the input holds.
    SizeBeyondInput(usize),
    /// These bits of the header must be zero (strict).
    ReservedBits(u64),
    /// No format in this family has this argument type.
    InvalidType(u8),
    /// The trace format has this argument type, log records do not.
    UnsupportedType(u8),
    /// The argument says it has `stated` words and has `actual` (strict).
    WrongArgumentSize {
        /// `SizeWords` of the argument.
        stated: usize,
        /// The words its name and value take.
        actual: usize,
    },
    /// A string reference without the top bit would name a string table, which logs do not have.
    ReservedStringReference(u16),
    /// The empty string written as in-line text of no bytes (strict).
    InlineEmptyText,
    /// Text of this many bytes does not fit into the record.
    TextBeyondRecord(usize),
    /// The bytes of a text are not UTF-8.
    NotUtf8,
    /// The bytes up to the next word are not all zero (strict).
    Padding,
    /// An empty name (strict).
    EmptyName,
    /// A name of this many bytes, more than 256 (strict).
    NameTooLong(usize),
    /// A sixteenth argument (strict).
    TooManyArguments,
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            field,
            offset,
            rule,
        } = self;
        write!(f, "{field} at byte {offset}: {rule}")
    }
}

impl std::error::Error for DecodeError {}

impl fmt::Display for Field {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::RecordHeader => "record header",
            Self::Timestamp => "timestamp",
            Self::ArgumentHeader => "argument header",
            Self::Name => "argument name",
            Self::Value => "argument value",
        })
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Truncated(have) => write!(f, "ends after {have} bytes"),
            Self::NotALogRecord(kind) => write!(f, "record type {kind} is not 9"),
            Self::SizeTooSmall(words) => write!(f, "size of {words} words is less than 2"),
            Self::SizeBeyondInput(words) => write!(f, "size of {words} words passes the input"),
            Self::ReservedBits(bits) => write!(f, "reserved bits {bits:#x} are set"),
            Self::InvalidType(kind) => write!(f, "argument type {kind} does not exist"),
            Self::UnsupportedType(kind) => write!(f, "argument type {kind} is not one of logs"),
            Self::WrongArgumentSize { stated, actual } => {
                write!(f, "size of {stated} words stated, {actual} found")
            }
            Self::ReservedStringReference(reference) => {
                write!(f, "string reference {reference:#06x} is reserved")
            }
            Self::InlineEmptyText => f.write_str("empty text has a reference other than 0"),
            Self::TextBeyondRecord(length) => {
                write!(f, "text of {length} bytes passes the record")
            }
            Self::NotUtf8 => f.write_str("not utf-8"),
            Self::Padding => f.write_str("padding is not zero"),
            Self::EmptyName => f.write_str("empty"),
            Self::NameTooLong(length) => write!(f, "{length} bytes are more than 256"),
            Self::TooManyArguments => f.write_str("more than 15 arguments"),
        }
    }
}

/// Why a record cannot take what it was given. The record stays as it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum EncodeError {
    /// The buffer is too small: this many bytes are needed so far.
    BufferTooSmall(usize),
    /// The record would have this many words, more than 4095.
    RecordTooLong(usize),
    /// The record has 15 arguments already.
    TooManyArguments,
    /// An argument must have a name.
    EmptyName,
    /// A name of this many bytes, more than 256.
    NameTooLong(usize),
    /// A text of this many bytes, more than 32767.
    TextTooLong(usize),
}

impl fmt::Display for EncodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::BufferTooSmall(needed) => write!(f, "buffer is smaller than {needed} bytes"),
            Self::RecordTooLong(words) => write!(f, "record of {words} words is over 4095"),
            Self::TooManyArguments => f.write_str("more than 15 arguments"),
            Self::EmptyName => f.write_str("argument name is empty"),
            Self::NameTooLong(length) => write!(f, "argument name of {length} bytes is over 256"),
            Self::TextTooLong(length) => write!(f, "text of {length} bytes is over 32767"),
        }
    }
}

impl std::error::Error for EncodeError {}
