//! Records: the two objects in a frame's body, a tag and a payload. One file
//! for each kind, its fields, encoding, decoding and vectors side by side;
//! this one chooses between them. Nothing here knows how records relate to each
//! other.

mod backtrace_logdef;
mod context_logdef;
mod data;
mod durable;
mod fronts;
mod glance;
pub mod masked;
mod module;
mod note;
mod preamble;
mod string_logdef;
mod text_logdef;
mod thread_logdef;

pub use backtrace_logdef::BacktraceLogdef;
pub use context_logdef::ContextLogdef;
pub use data::{Data, Glance, Kind, field};
pub use durable::Durable;
pub use fronts::{Again, Expected, Fronts};
pub use glance::{Peek, Rest};
pub use masked::Masked;
pub use module::Module;
pub use note::{Note, NoteKind};
pub use preamble::Preamble;
pub use string_logdef::StringLogdef;
pub use text_logdef::TextLogdef;
pub use thread_logdef::ThreadLogdef;

use crate::msgpack::{DecodeError, Decoder, Encoder, OutOfRoom, Value};

/// What kind of record a body holds. An open set: readers skip tags they do
/// not know, tools that copy keep them.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct Tag(pub u8);

impl Tag {
    /// [`Preamble`].
    pub const PREAMBLE: Tag = Tag(0);
    /// [`StringLogdef`].
    pub const STRING_LOGDEF: Tag = Tag(1);
    /// [`BacktraceLogdef`].
    pub const BACKTRACE_LOGDEF: Tag = Tag(2);
    /// [`ThreadLogdef`].
    pub const THREAD_LOGDEF: Tag = Tag(3);
    /// [`Module`].
    pub const MODULE: Tag = Tag(4);
    /// [`Durable`].
    pub const DURABLE: Tag = Tag(5);
    /// [`Note`].
    pub const NOTE: Tag = Tag(6);
    /// [`TextLogdef`].
    pub const TEXT_LOGDEF: Tag = Tag(7);
    /// [`ContextLogdef`].
    pub const CONTEXT_LOGDEF: Tag = Tag(8);
    /// [`Masked`].
    pub const MASKED: Tag = Tag(crate::pattern::MASKED);
    /// [`Data`].
    pub const DATA: Tag = Tag(127);

    /// The name of a known tag.
    pub const fn name(self) -> Option<&'static str> {
        Some(match self {
            Tag::PREAMBLE => "preamble",
            Tag::STRING_LOGDEF => "string logdef",
            Tag::BACKTRACE_LOGDEF => "backtrace logdef",
            Tag::THREAD_LOGDEF => "thread logdef",
            Tag::MODULE => "module",
            Tag::DURABLE => "durable",
            Tag::NOTE => "note",
            Tag::TEXT_LOGDEF => "text logdef",
            Tag::CONTEXT_LOGDEF => "context logdef",
            Tag::MASKED => "masked",
            Tag::DATA => "data",
            _ => return None,
        })
    }
}

/// A decoded record, borrowed from its body. A field that is missing, or whose
/// value is of another type than FORMAT.md gives it, is `None`.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Record<'a> {
    /// Tag 0.
    Preamble(Preamble<'a>),
    /// Tag 1.
    StringLogdef(StringLogdef<'a>),
    /// Tag 2.
    BacktraceLogdef(BacktraceLogdef<'a>),
    /// Tag 3.
    ThreadLogdef(ThreadLogdef<'a>),
    /// Tag 4.
    Module(Module<'a>),
    /// Tag 5.
    Durable(Durable<'a>),
    /// Tag 6.
    Note(Note<'a>),
    /// Tag 7.
    TextLogdef(TextLogdef<'a>),
    /// Tag 8.
    ContextLogdef(ContextLogdef<'a>),
    /// Tag 126. What it holds is another body: unmask and decode that.
    Masked(Masked<'a>),
    /// Tag 127.
    Data(Data<'a>),
    /// A tag of a later version.
    Unknown(Tag),
}

impl<'a> Record<'a> {
    /// Decodes a frame's body. An error means that the body, whose checksum
    /// was right, breaks the grammar: the record is malformed.
    pub fn decode(body: &'a [u8]) -> Result<Self, DecodeError> {
        // Nearly all records are data as our writers put it.
        match Data::of_fields_in_order(body) {
            Some(data) => Ok(Record::Data(data)),
            None => Record::decode_any(body),
        }
    }

    #[inline(never)]
    pub(super) fn decode_any(body: &'a [u8]) -> Result<Self, DecodeError> {
        let mut fields = Fields::new(body)?;
        let record = match fields.tag {
            Tag::PREAMBLE => Record::Preamble(Preamble::decode(&mut fields)?),
            Tag::STRING_LOGDEF => Record::StringLogdef(StringLogdef::decode(&mut fields)?),
            Tag::BACKTRACE_LOGDEF => Record::BacktraceLogdef(BacktraceLogdef::decode(&mut fields)?),
            Tag::THREAD_LOGDEF => Record::ThreadLogdef(ThreadLogdef::decode(&mut fields)?),
            Tag::MODULE => Record::Module(Module::decode(&mut fields)?),
            Tag::DURABLE => Record::Durable(Durable::decode(&mut fields)?),
            Tag::NOTE => Record::Note(Note::decode(&mut fields)?),
            Tag::TEXT_LOGDEF => Record::TextLogdef(TextLogdef::decode(&mut fields)?),
            Tag::CONTEXT_LOGDEF => Record::ContextLogdef(ContextLogdef::decode(&mut fields)?),
            Tag::MASKED => Record::Masked(Masked::decode(&mut fields)?),
            Tag::DATA => Record::Data(Data::decode(&mut fields)?),
            tag => {
                while fields.next_field()?.is_some() {}
                Record::Unknown(tag)
            }
        };
        fields.finish()?;
        Ok(record)
    }

    /// The tag with which its body begins.
    pub fn tag(&self) -> Tag {
        match self {
            Record::Preamble(_) => Tag::PREAMBLE,
            Record::StringLogdef(_) => Tag::STRING_LOGDEF,
            Record::BacktraceLogdef(_) => Tag::BACKTRACE_LOGDEF,
            Record::ThreadLogdef(_) => Tag::THREAD_LOGDEF,
            Record::Module(_) => Tag::MODULE,
            Record::Durable(_) => Tag::DURABLE,
            Record::Note(_) => Tag::NOTE,
            Record::TextLogdef(_) => Tag::TEXT_LOGDEF,
            Record::ContextLogdef(_) => Tag::CONTEXT_LOGDEF,
            Record::Masked(_) => Tag::MASKED,
            Record::Data(_) => Tag::DATA,
            Record::Unknown(tag) => *tag,
        }
    }

    /// Writes the record's body; for an unknown record an empty payload.
    pub fn encode(&self, encoder: &mut Encoder<'_>) -> Result<(), OutOfRoom> {
        match self {
            Record::Preamble(record) => record.encode(encoder),
            Record::StringLogdef(record) => record.encode(encoder),
            Record::BacktraceLogdef(record) => record.encode(encoder),
            Record::ThreadLogdef(record) => record.encode(encoder),
            Record::Module(record) => record.encode(encoder),
            Record::Durable(record) => record.encode(encoder),
            Record::Note(record) => record.encode(encoder),
            Record::TextLogdef(record) => record.encode(encoder),
            Record::ContextLogdef(record) => record.encode(encoder),
            Record::Masked(record) => record.encode(encoder),
            Record::Data(record) => record.encode(encoder),
            Record::Unknown(tag) => {
                encoder.uint(tag.0 as u64)?;
                encoder.map(0)
            }
        }
    }
}

/// The fields of a payload, in the order they stand, for callers that want them as
/// they are.
#[derive(Clone, Copy, Debug)]
pub struct Fields<'a> {
    /// The tag with which the body begins.
    pub tag: Tag,
    decoder: Decoder<'a>,
    left: u32,
}

impl<'a> Fields<'a> {
    /// The tag and the payload's head of a body.
    #[inline]
    pub fn new(body: &'a [u8]) -> Result<Self, DecodeError> {
        let mut decoder = Decoder::new(body);
        let tag = Tag(decoder.tag()?);
        let left = decoder.map_head()?;
        Ok(Fields { tag, decoder, left })
    }

    /// The next field that has a field tag for its key; other keys are
    /// skipped with their values.
    #[inline]
    pub fn next_field(&mut self) -> Result<Option<(u8, Value<'a>)>, DecodeError> {
        while self.left > 0 {
            self.left -= 1;
            let key = self.decoder.value()?;
            let value = self.decoder.value()?;
            if let Value::Uint(tag @ 0..=0x7f) = key {
                return Ok(Some((tag as u8, value)));
            }
        }
        Ok(None)
    }

    /// Fails unless the payload was the last object of the body.
    #[inline]
    pub fn finish(self) -> Result<(), DecodeError> {
        self.decoder.finish()
    }
}

/// Vectors are checked in both directions: the bytes decode to the record, and
/// the record encodes to the bytes.
#[cfg(test)]
fn assert_vector(bytes: &[u8], record: Record<'_>) {
    assert_eq!(Record::decode(bytes), Ok(record));
    let mut buffer = [0; 512];
    let mut encoder = Encoder::new(&mut buffer);
    record.encode(&mut encoder).unwrap();
    assert_eq!(encoder.written(), bytes);
    for len in 0..bytes.len() {
        assert!(Record::decode(&bytes[..len]).is_err(), "cut at {len}");
        let mut short = Encoder::new(&mut buffer[..len]);
        assert_eq!(record.encode(&mut short), Err(OutOfRoom));
    }
    let mut longer = bytes.to_vec();
    longer.push(0xc0);
    assert!(Record::decode(&longer).is_err(), "trailing byte");
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::msgpack::Reason;

    #[test]
    fn unknown_tags_and_fields_are_skipped() {
        // Tag 99 with a field of any type.
        assert_eq!(
            Record::decode(&[99, 0x81, 0x00, 0x91, 0xc3]),
            Ok(Record::Unknown(Tag(99)))
        );
        // A preamble with field 77 and a field whose key is a string.
        let bytes = [0x00, 0x83, 77, 0xc0, 0xa1, b'k', 0x01, 0x04, 0x01];
        let Ok(Record::Preamble(preamble)) = Record::decode(&bytes) else {
            panic!();
        };
        assert_eq!(preamble.version, Some(1));
    }

    #[test]
    fn a_field_of_another_type_is_missing() {
        // The path as an integer.
        let Ok(Record::Preamble(preamble)) = Record::decode(&[0x00, 0x81, 0x01, 0x07]) else {
            panic!();
        };
        assert_eq!(preamble.path, None);
    }

    #[test]
    fn malformed_bodies_are_refused_each_with_its_error() {
        let reason = |body: &[u8]| Record::decode(body).unwrap_err().reason;
        assert_eq!(reason(&[]), Reason::Truncated);
        assert_eq!(reason(&[0x80, 0x80]), Reason::NotATag);
        assert_eq!(reason(&[0x00, 0x90]), Reason::NotAMap);
        assert_eq!(reason(&[0x00, 0x81, 0x00]), Reason::Truncated);
        assert_eq!(reason(&[0x00, 0x80, 0x00]), Reason::TrailingBytes);
        assert_eq!(reason(&[0x00, 0x81, 0x00, 0xc1]), Reason::NeverUsed);
    }
}
