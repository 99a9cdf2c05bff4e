//! The records that set up what later records refer to: initialization (type 1, how
//! long a tick lasts), string (type 2) and thread (type 3).

use crate::fxt::bits::{Bits, bits};
use crate::fxt::buffer::{Buffer, Words};
use crate::fxt::cursor::Cursor;
use crate::fxt::error::{Malformed, WriteError};
use crate::fxt::header::{RecordHeader, RecordType};
use crate::fxt::layer::{Layer, Raw};
use crate::fxt::string::StringIndex;
use crate::fxt::thread::{Koid, Thread, ThreadIndex};

const STRING_INDEX: Bits = bits(16, 30);
const STRING_LEN: Bits = bits(32, 46);
const THREAD_INDEX: Bits = bits(16, 23);

/// How long a tick of the current provider lasts from here on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Initialization {
    /// Ticks per second. Zero is not a rate, but a file may say so; readers then
    /// keep the rate they had.
    pub ticks_per_second: u64,
}

impl Initialization {
    pub(crate) fn decode(cursor: &mut Cursor<'_>) -> Result<Self, Malformed> {
        Ok(Initialization {
            ticks_per_second: cursor.word("tick rate")?,
        })
    }

    pub(crate) fn write(
        &self,
        words: &mut Words<'_, impl Buffer>,
    ) -> Result<RecordHeader, WriteError> {
        words.word(self.ticks_per_second)?;
        Ok(RecordHeader::new(RecordType::INITIALIZATION))
    }
}

/// An entry of the current provider's string table, replacing an earlier one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StringRecord<L: Layer> {
    /// The index. None stands for index zero, which readers ignore.
    pub index: Option<StringIndex>,
    /// The string that records name by this index from now on.
    pub text: L::Spelled,
}

impl<'a> StringRecord<Raw<'a>> {
    pub(crate) fn decode(header: RecordHeader, cursor: &mut Cursor<'a>) -> Result<Self, Malformed> {
        Ok(StringRecord {
            index: StringIndex::new(header.field(STRING_INDEX) as u16),
            text: cursor.stream(header.field(STRING_LEN), "string")?,
        })
    }

    pub(crate) fn write(
        &self,
        words: &mut Words<'_, impl Buffer>,
    ) -> Result<RecordHeader, WriteError> {
        let len = WriteError::check("string length", self.text.len(), STRING_LEN.max())?;
        words.stream(self.text)?;
        Ok(RecordHeader::new(RecordType::STRING)
            .with(
                STRING_INDEX,
                u64::from(self.index.map_or(0, StringIndex::get)),
            )
            .with(STRING_LEN, len))
    }
}

/// An entry of the current provider's thread table, replacing an earlier one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ThreadRecord {
    /// The index. None stands for index zero, which readers ignore.
    pub index: Option<ThreadIndex>,
    /// The thread that records name by this index from now on.
    pub thread: Thread,
}

impl ThreadRecord {
    pub(crate) fn decode(header: RecordHeader, cursor: &mut Cursor<'_>) -> Result<Self, Malformed> {
        Ok(ThreadRecord {
            index: ThreadIndex::new(header.field(THREAD_INDEX) as u8),
            thread: Thread {
                process: Koid(cursor.word("process id")?),
                thread: Koid(cursor.word("thread id")?),
            },
        })
    }

    pub(crate) fn write(
        &self,
        words: &mut Words<'_, impl Buffer>,
    ) -> Result<RecordHeader, WriteError> {
        words.word(self.thread.process.0)?;
        words.word(self.thread.thread.0)?;
        Ok(RecordHeader::new(RecordType::THREAD).with(
            THREAD_INDEX,
            u64::from(self.index.map_or(0, ThreadIndex::get)),
        ))
    }
}
