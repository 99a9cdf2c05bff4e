//! The first word of every record: its type and size, and bits that each type uses
//! in its own way. Large records (type 15) have a wider size field.

use core::fmt;

use super::bits::{Bits, bits};
use super::error::WriteError;

const TYPE: Bits = bits(0, 3);
const SIZE: Bits = bits(4, 15);
const LARGE_SIZE: Bits = bits(4, 35);

/// The largest record that is not a large record, in words.
pub const MAX_WORDS: u64 = SIZE.max();

/// The largest large record, in words.
pub const MAX_LARGE_WORDS: u64 = LARGE_SIZE.max();

/// The type of a record: 16 numbers, of which 11 to 14 have no meaning yet.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RecordType(u8);

impl RecordType {
    /// Provider and trace metadata.
    pub const METADATA: RecordType = RecordType(0);
    /// How many ticks a second has.
    pub const INITIALIZATION: RecordType = RecordType(1);
    /// An entry of the string table.
    pub const STRING: RecordType = RecordType(2);
    /// An entry of the thread table.
    pub const THREAD: RecordType = RecordType(3);
    /// An event at a time on a thread.
    pub const EVENT: RecordType = RecordType(4);
    /// A piece of a named stream of bytes.
    pub const BLOB: RecordType = RecordType(5);
    /// What a pointer stands for.
    pub const USERSPACE_OBJECT: RecordType = RecordType(6);
    /// What a koid stands for.
    pub const KERNEL_OBJECT: RecordType = RecordType(7);
    /// Context switches and wakeups.
    pub const SCHEDULING: RecordType = RecordType(8);
    /// A log message: text, a thread and a time.
    pub const LOG: RecordType = RecordType(9);
    /// Modules, mappings and backtraces of a sampling profiler.
    pub const PROFILER: RecordType = RecordType(10);
    /// A record with a 32-bit size.
    pub const LARGE: RecordType = RecordType(15);

    /// The type with this number, 0 to 15; higher bits are ignored.
    pub const fn new(number: u8) -> RecordType {
        RecordType(number & 15)
    }

    /// The number, 0 to 15.
    pub const fn number(self) -> u8 {
        self.0
    }

    /// The name of the type, if it has a meaning.
    pub const fn name(self) -> Option<&'static str> {
        Some(match self {
            RecordType::METADATA => "metadata",
            RecordType::INITIALIZATION => "initialization",
            RecordType::STRING => "string",
            RecordType::THREAD => "thread",
            RecordType::EVENT => "event",
            RecordType::BLOB => "blob",
            RecordType::USERSPACE_OBJECT => "userspace object",
            RecordType::KERNEL_OBJECT => "kernel object",
            RecordType::SCHEDULING => "scheduling",
            RecordType::LOG => "log",
            RecordType::PROFILER => "profiler",
            RecordType::LARGE => "large",
            _ => return None,
        })
    }
}

impl fmt::Debug for RecordType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for RecordType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => f.write_str(name),
            None => write!(f, "type {}", self.0),
        }
    }
}

/// The header word of a record.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct RecordHeader(pub u64);

impl RecordHeader {
    /// A header of this type, size not known yet.
    pub(crate) const fn new(kind: RecordType) -> RecordHeader {
        RecordHeader(TYPE.with(kind.0 as u64))
    }

    /// This header with `value` in a field. The value fits: callers check.
    pub(crate) const fn with(self, field: Bits, value: u64) -> RecordHeader {
        RecordHeader(self.0 | field.with(value))
    }

    /// The value of a field.
    pub(crate) const fn field(self, field: Bits) -> u64 {
        field.of(self.0)
    }

    /// The type of the record.
    pub const fn kind(self) -> RecordType {
        RecordType::new(TYPE.of(self.0) as u8)
    }

    /// The size of the record in words, this one included. Zero is not a size.
    pub const fn words(self) -> u64 {
        self.size_field().of(self.0)
    }

    /// This header with another size.
    pub(crate) fn with_words(self, words: usize) -> Result<RecordHeader, WriteError> {
        let field = self.size_field();
        let words = WriteError::check("record size in words", words, field.max())?;
        let cleared = self.0 & !field.with(field.max());
        Ok(RecordHeader(cleared | field.with(words)))
    }

    const fn size_field(self) -> Bits {
        match self.kind() {
            RecordType::LARGE => LARGE_SIZE,
            _ => SIZE,
        }
    }
}

impl fmt::Debug for RecordHeader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RecordHeader({:#018x})", self.0)
    }
}
