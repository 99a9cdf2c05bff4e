//! Large blob records (type 15, large type 0): bytes beyond the 32 KB of other
//! records, with a time, a thread and arguments (format 0) or without (format 1).

use crate::fxt::argument::Arguments;
use crate::fxt::bits::{Bits, bits};
use crate::fxt::buffer::{Buffer, Words};
use crate::fxt::cursor::Cursor;
use crate::fxt::error::{Malformed, WriteError};
use crate::fxt::header::{RecordHeader, RecordType};
use crate::fxt::layer::{Layer, Plain, Raw};
use crate::fxt::string::StringRef;
use crate::fxt::thread::ThreadRef;
use crate::fxt::time::Ticks;

const LARGE_TYPE: Bits = bits(36, 39);
const FORMAT: Bits = bits(40, 43);

// The format header word.
const CATEGORY: Bits = bits(0, 15);
const NAME: Bits = bits(16, 31);
const ARGUMENTS: Bits = bits(32, 35);
const THREAD: Bits = bits(36, 43);

const BLOB: u64 = 0;
const WITH_METADATA: u64 = 0;
const WITHOUT_METADATA: u64 = 1;

/// Named bytes of any size.
#[derive(Clone, Debug, PartialEq)]
pub struct LargeBlob<L: Layer> {
    /// What family of blobs this belongs to.
    pub category: L::Text,
    /// What the bytes are.
    pub name: L::Text,
    /// When and where, in format 0; nothing in format 1.
    pub origin: Option<BlobOrigin<L>>,
    /// The bytes; `category` and `name` say what they mean.
    pub data: L::Bytes,
}

/// When and where a large blob comes from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BlobOrigin<L: Layer> {
    /// The time at which the blob was written.
    pub time: L::Time,
    /// The thread that made it.
    pub thread: L::Thread,
    /// Named values that belong to the blob.
    pub args: L::Args,
}

impl Copy for LargeBlob<Raw<'_>> {}
impl Copy for LargeBlob<Plain<'_>> {}

impl<'a> LargeBlob<Raw<'a>> {
    /// None if the large type or the format has no meaning yet.
    pub(crate) fn decode(
        header: RecordHeader,
        cursor: &mut Cursor<'a>,
    ) -> Result<Option<Self>, Malformed> {
        let format = header.field(FORMAT);
        if header.field(LARGE_TYPE) != BLOB || format > WITHOUT_METADATA {
            return Ok(None);
        }
        let word = cursor.word("format header")?;
        let category = StringRef::read(CATEGORY.of(word), cursor, "category")?;
        let name = StringRef::read(NAME.of(word), cursor, "blob name")?;
        let origin = if format == WITH_METADATA {
            Some(BlobOrigin {
                time: Ticks(cursor.word("timestamp")?),
                thread: ThreadRef::read(THREAD.of(word), cursor)?,
                args: Arguments::read(ARGUMENTS.of(word), cursor)?,
            })
        } else {
            None
        };
        let size = cursor.word("blob size")?;
        Ok(Some(LargeBlob {
            category,
            name,
            origin,
            data: cursor.stream(size, "blob")?,
        }))
    }

    pub(crate) fn write(
        &self,
        words: &mut Words<'_, impl Buffer>,
    ) -> Result<RecordHeader, WriteError> {
        let mut word = CATEGORY.with(self.category.bits("category length")?)
            | NAME.with(self.name.bits("blob name length")?);
        if let Some(origin) = &self.origin {
            word |= ARGUMENTS.with(origin.args.count()?) | THREAD.with(origin.thread.bits());
        }
        words.word(word)?;
        self.category.write(words)?;
        self.name.write(words)?;
        let mut format = WITHOUT_METADATA;
        if let Some(origin) = &self.origin {
            format = WITH_METADATA;
            words.word(origin.time.0)?;
            origin.thread.write(words)?;
            origin.args.write(words)?;
        }
        words.word(self.data.len() as u64)?;
        words.stream(self.data)?;
        Ok(RecordHeader::new(RecordType::LARGE)
            .with(LARGE_TYPE, BLOB)
            .with(FORMAT, format))
    }
}
