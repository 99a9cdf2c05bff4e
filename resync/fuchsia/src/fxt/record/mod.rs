//! One record: the open set of its types, and how the bytes of one become a value and
//! back. Each type lives in a file of its own with both directions side by side.
//!
//! Decoding keeps everything but reserved bits and padding: what a type does not
//! explain stays as bytes ([`Decoded::extra`], [`Unknown`]). Encoding what was decoded
//! therefore gives the same bytes with reserved bits and padding zero, which is how
//! the strict check works.

mod blob;
mod event;
mod large_blob;
mod log;
mod map;
mod metadata;
mod object;
mod profiler;
mod scheduling;
mod tables;

pub use blob::{Blob, BlobKind};
pub use event::{Event, EventKind};
pub use large_blob::{BlobOrigin, LargeBlob};
pub use log::{Log, MAX_LOG_LEN};
pub use metadata::{BIG_ENDIAN_MAGIC_BYTES, MAGIC_BYTES, Metadata, ProviderEvent, ProviderId};
pub use object::{KernelObject, ObjectKind, UserspaceObject};
pub use profiler::{MAX_STACK_FRAMES, Profiler, ThreadWord, stack_frames};
pub use scheduling::{Scheduling, ThreadState};
pub use tables::{Initialization, StringRecord, ThreadRecord};

use super::buffer::{Buffer, Words};
use super::cursor::{Cursor, WORD, word_at};
use super::error::{Malformed, Problem, WriteError};
use super::header::{RecordHeader, RecordType};
use super::layer::{Layer, Plain, Raw};

/// A record of a trace.
#[derive(Clone, Debug, PartialEq)]
pub enum Record<L: Layer> {
    /// Type 0: of providers and of the trace itself.
    Metadata(Metadata<L>),
    /// Type 1: how many ticks a second has.
    Initialization(Initialization),
    /// Type 2: an entry of the string table.
    String(StringRecord<L>),
    /// Type 3: an entry of the thread table.
    Thread(ThreadRecord),
    /// Type 4: an event at a time on a thread.
    Event(Event<L>),
    /// Type 5: a piece of a named stream of bytes.
    Blob(Blob<L>),
    /// Type 6: what an address of a process stands for.
    UserspaceObject(UserspaceObject<L>),
    /// Type 7: what a koid stands for.
    KernelObject(KernelObject<L>),
    /// Type 8: a context switch or a wakeup.
    Scheduling(Scheduling<L>),
    /// Type 9: a log message, text alone.
    Log(Log<L>),
    /// Type 10: of a sampling profiler.
    Profiler(Profiler<L>),
    /// Type 15, large type 0.
    LargeBlob(LargeBlob<L>),
    /// A type or subtype without a meaning yet.
    Unknown(Unknown<L>),
}

/// A record whose type or subtype has no meaning yet.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Unknown<L: Layer> {
    /// The header, its size included.
    pub header: RecordHeader,
    /// The bytes after the header, without their meaning.
    pub body: L::Bytes,
}

/// A raw record and the words after it that its type does not explain.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Decoded<'a> {
    /// The record as its bytes have it, with indices in place of strings and threads.
    pub record: Record<Raw<'a>>,
    /// Whole words that the record's size includes but its type does not explain.
    /// The format grows by such words, so readers must put up with them.
    pub extra: &'a [u8],
}

impl<'a> Decoded<'a> {
    /// Decodes the one record that fills `bytes`.
    #[inline]
    pub fn decode(bytes: &'a [u8]) -> Result<Decoded<'a>, Malformed> {
        let header = word_at(bytes, 0).map(RecordHeader).ok_or(Malformed {
            at: 0,
            problem: Problem::EndsInside("header"),
        })?;
        if !bytes.len().is_multiple_of(WORD) || header.words() != (bytes.len() / WORD) as u64 {
            return Err(Malformed {
                at: 0,
                problem: Problem::Size {
                    claimed: header.words(),
                    given: bytes.len() / WORD,
                },
            });
        }
        let mut cursor = Cursor::new(bytes, WORD);
        let record = Record::decode(header, &mut cursor)?.unwrap_or_else(|| {
            cursor = Cursor::new(bytes, bytes.len());
            Record::Unknown(Unknown {
                header,
                body: &bytes[WORD..],
            })
        });
        let extra = cursor.rest();
        if !extra.is_empty() && matches!(record, Record::Metadata(Metadata::Magic)) {
            // The one record that must not grow: its eight bytes are the magic.
            return Err(Malformed {
                at: WORD,
                problem: Problem::NotMagic,
            });
        }
        Ok(Decoded { record, extra })
    }

    /// Appends the record and its extra words to `out`, reserved bits and padding
    /// zero. Returns the number of bytes; `out` is as before on an error.
    pub fn encode(&self, out: &mut impl Buffer) -> Result<usize, WriteError> {
        if !self.extra.len().is_multiple_of(WORD) {
            return Err(WriteError::Forbidden {
                what: "extra bytes that are not whole words",
            });
        }
        Words::record(out, |words| {
            let header = self.record.write(words)?;
            words.raw(self.extra)?;
            Ok(header)
        })
    }
}

impl<'a> Record<Raw<'a>> {
    /// Decodes what follows `header`. None if the type or subtype has no meaning yet.
    #[inline]
    fn decode(header: RecordHeader, c: &mut Cursor<'a>) -> Result<Option<Self>, Malformed> {
        Ok(Some(match header.kind() {
            RecordType::METADATA => return Ok(Metadata::decode(header, c)?.map(Record::Metadata)),
            RecordType::INITIALIZATION => Record::Initialization(Initialization::decode(c)?),
            RecordType::STRING => Record::String(StringRecord::decode(header, c)?),
            RecordType::THREAD => Record::Thread(ThreadRecord::decode(header, c)?),
            RecordType::EVENT => Record::Event(Event::decode(header, c)?),
            RecordType::BLOB => Record::Blob(Blob::decode(header, c)?),
            RecordType::USERSPACE_OBJECT => {
                Record::UserspaceObject(UserspaceObject::decode(header, c)?)
            }
            RecordType::KERNEL_OBJECT => Record::KernelObject(KernelObject::decode(header, c)?),
            RecordType::SCHEDULING => {
                return Ok(Scheduling::decode(header, c)?.map(Record::Scheduling));
            }
            RecordType::LOG => Record::Log(Log::decode(header, c)?),
            RecordType::PROFILER => return Ok(Profiler::decode(header, c)?.map(Record::Profiler)),
            RecordType::LARGE => return Ok(LargeBlob::decode(header, c)?.map(Record::LargeBlob)),
            _ => return Ok(None),
        }))
    }

    /// The size in bytes that the parts of the record at the start of `bytes` add up
    /// to, whatever its header says about its size: an independent check on the header.
    /// None if it is of unknown type. The bytes may end before the record does, but an
    /// error whose place is beyond them says that more bytes are needed to decide.
    pub(crate) fn measure(bytes: &'a [u8]) -> Result<Option<usize>, Malformed> {
        let mut cursor = Cursor::measuring(bytes, 0);
        let header = RecordHeader(cursor.word("header")?);
        let record = Record::decode(header, &mut cursor)?;
        Ok(record.map(|_| cursor.at()))
    }

    /// Appends the record to `out`. Returns the number of bytes; `out` is as before
    /// on an error.
    pub fn encode(&self, out: &mut impl Buffer) -> Result<usize, WriteError> {
        Words::record(out, |words| self.write(words))
    }

    fn write(&self, words: &mut Words<'_, impl Buffer>) -> Result<RecordHeader, WriteError> {
        match self {
            Record::Metadata(record) => record.write(words),
            Record::Initialization(record) => record.write(words),
            Record::String(record) => record.write(words),
            Record::Thread(record) => record.write(words),
            Record::Event(record) => record.write(words),
            Record::Blob(record) => record.write(words),
            Record::UserspaceObject(record) => record.write(words),
            Record::KernelObject(record) => record.write(words),
            Record::Scheduling(record) => record.write(words),
            Record::Log(record) => record.write(words),
            Record::Profiler(record) => record.write(words),
            Record::LargeBlob(record) => record.write(words),
            Record::Unknown(record) => {
                if !record.body.len().is_multiple_of(WORD) {
                    return Err(WriteError::Forbidden {
                        what: "a record body that is not whole words",
                    });
                }
                words.raw(record.body)?;
                Ok(record.header)
            }
        }
    }
}

impl<L: Layer> Record<L> {
    /// The type of the record.
    pub fn kind(&self) -> RecordType {
        match self {
            Record::Metadata(_) => RecordType::METADATA,
            Record::Initialization(_) => RecordType::INITIALIZATION,
            Record::String(_) => RecordType::STRING,
            Record::Thread(_) => RecordType::THREAD,
            Record::Event(_) => RecordType::EVENT,
            Record::Blob(_) => RecordType::BLOB,
            Record::UserspaceObject(_) => RecordType::USERSPACE_OBJECT,
            Record::KernelObject(_) => RecordType::KERNEL_OBJECT,
            Record::Scheduling(_) => RecordType::SCHEDULING,
            Record::Log(_) => RecordType::LOG,
            Record::Profiler(_) => RecordType::PROFILER,
            Record::LargeBlob(_) => RecordType::LARGE,
            Record::Unknown(record) => record.header.kind(),
        }
    }
}

impl Copy for Record<Raw<'_>> {}
impl Copy for Record<Plain<'_>> {}

macro_rules! record_from {
    ($($variant:ident($of:ty);)*) => {$(
        impl<L: Layer> From<$of> for Record<L> {
            fn from(record: $of) -> Record<L> {
                Record::$variant(record)
            }
        }
    )*};
}

record_from! {
    Metadata(Metadata<L>);
    Initialization(Initialization);
    String(StringRecord<L>);
    Thread(ThreadRecord);
    Event(Event<L>);
    Blob(Blob<L>);
    UserspaceObject(UserspaceObject<L>);
    KernelObject(KernelObject<L>);
    Scheduling(Scheduling<L>);
    Log(Log<L>);
    Profiler(Profiler<L>);
    LargeBlob(LargeBlob<L>);
    Unknown(Unknown<L>);
}
