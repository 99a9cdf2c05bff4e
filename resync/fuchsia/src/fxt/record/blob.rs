//! Blob records (type 5): a piece of a named stream of bytes. Pieces of one name
//! belong together, in the order of the trace.

use crate::fxt::bits::{Bits, bits};
use crate::fxt::buffer::{Buffer, Words};
use crate::fxt::cursor::Cursor;
use crate::fxt::error::{Malformed, WriteError};
use crate::fxt::header::{RecordHeader, RecordType};
use crate::fxt::layer::{Layer, Raw};
use crate::fxt::string::StringRef;

const NAME: Bits = bits(16, 31);
const SIZE: Bits = bits(32, 46);
const KIND: Bits = bits(48, 55);

/// What a blob holds: an open set of 256 numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BlobKind(pub u8);

impl BlobKind {
    /// Bytes without a type of their own.
    pub const DATA: BlobKind = BlobKind(1);
    /// Last branch records of an Intel performance monitor.
    pub const LAST_BRANCH: BlobKind = BlobKind(2);
    /// Packets in Perfetto's protobuf encoding.
    pub const PERFETTO: BlobKind = BlobKind(3);

    /// The name of the kind, if it has a meaning.
    pub const fn name(self) -> Option<&'static str> {
        Some(match self {
            BlobKind::DATA => "data",
            BlobKind::LAST_BRANCH => "last branch",
            BlobKind::PERFETTO => "perfetto",
            _ => return None,
        })
    }
}

/// A piece of a named stream of bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Blob<L: Layer> {
    /// The name of the stream.
    pub name: L::Text,
    /// What the bytes are; of numbers without a meaning too.
    pub kind: BlobKind,
    /// The bytes: 32,767 at most, less a spelled-out name.
    pub data: L::Bytes,
}

impl<'a> Blob<Raw<'a>> {
    pub(crate) fn decode(header: RecordHeader, cursor: &mut Cursor<'a>) -> Result<Self, Malformed> {
        Ok(Blob {
            name: StringRef::read(header.field(NAME), cursor, "blob name")?,
            kind: BlobKind(header.field(KIND) as u8),
            data: cursor.stream(header.field(SIZE), "blob")?,
        })
    }

    pub(crate) fn write(
        &self,
        words: &mut Words<'_, impl Buffer>,
    ) -> Result<RecordHeader, WriteError> {
        let size = WriteError::check("blob size", self.data.len(), SIZE.max())?;
        let name = self.name.bits("blob name length")?;
        self.name.write(words)?;
        words.stream(self.data)?;
        Ok(RecordHeader::new(RecordType::BLOB)
            .with(NAME, name)
            .with(SIZE, size)
            .with(KIND, u64::from(self.kind.0)))
    }
}
