//! Data records (127): one for each log call.

use super::glance::Front;
use super::{Fields, Tag};
use crate::msgpack::{Array, DecodeError, Decoder, Encoder, Map, OutOfRoom, Value};
use crate::{Level, Magic, Run, Sequence, Svma};
use core::ops::{Deref, DerefMut};

/// The field tags of a data record, by name.
pub mod field {
    /// See [`Glance::magic`](super::Glance::magic).
    pub const MAGIC: u8 = 0;
    /// See [`Glance::file`](super::Glance::file).
    pub const FILE: u8 = 1;
    /// See [`Glance::line`](super::Glance::line).
    pub const LINE: u8 = 2;
    /// See [`Glance::level`](super::Glance::level).
    pub const LEVEL: u8 = 3;
    /// See [`Glance::format`](super::Glance::format).
    pub const FORMAT: u8 = 4;
    /// See [`Glance::run`](super::Glance::run).
    pub const RUN: u8 = 5;
    /// See [`Glance::thread`](super::Glance::thread).
    pub const THREAD: u8 = 6;
    /// See [`Glance::sequence`](super::Glance::sequence).
    pub const SEQUENCE: u8 = 7;
    /// See [`Glance::time`](super::Glance::time).
    pub const TIME: u8 = 8;
    /// See [`Data::args`](super::Data::args).
    pub const ARGS: u8 = 9;
    /// See [`Data::backtrace`](super::Data::backtrace).
    pub const BACKTRACE: u8 = 10;
    /// See [`Data::format_text`](super::Data::format_text).
    pub const FORMAT_TEXT: u8 = 11;
    /// See [`Data::file_text`](super::Data::file_text).
    pub const FILE_TEXT: u8 = 12;
    /// See [`Data::dropped`](super::Data::dropped).
    pub const DROPPED: u8 = 13;
    /// See [`Data::kind`](super::Data::kind).
    pub const KIND: u8 = 14;
    /// See [`Data::keys`](super::Data::keys).
    pub const KEYS: u8 = 15;
    /// See [`Data::context`](super::Data::context).
    pub const CONTEXT: u8 = 16;

    /// How many fields exist.
    pub const ALL: u8 = CONTEXT + 1;
    /// The most fields that one record has: it has the address of a format or its
    /// text, the address of a file name or its text.
    pub const MOST: u8 = ALL - 2;
    // More do not fit into a byte of a map's head, nor do their numbers into one of a tag.
    const _: () = assert!(ALL <= 0x80, "numbers of fields are positive fixnums");
}

/// The front of a data record: the integers that our writers put first, in this order.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Glance {
    /// Field 0: the image of the call site.
    pub magic: Option<Magic>,
    /// Field 1: link-time address of `__FILE__`.
    pub file: Option<Svma>,
    /// Field 2: the line in that file.
    pub line: Option<u64>,
    /// Field 3: the severity.
    pub level: Option<Level>,
    /// Field 4: link-time address of the format string.
    pub format: Option<Svma>,
    /// Field 5: the run.
    pub run: Option<Run>,
    /// Field 6: `pthread_self()`.
    pub thread: Option<u64>,
    /// Field 7: the thread's number and the count of its calls.
    pub sequence: Option<Sequence>,
    /// Field 8: nanoseconds since the Unix epoch.
    pub time: Option<u64>,
}

/// A log call. Constant parts come first, so that a call site's can be encoded
/// once.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Data<'a> {
    /// Fields 0 to 8. `data.time` stands for `data.front.time`.
    pub front: Glance,
    /// Field 9: the printf arguments in order.
    pub args: Option<Array<'a>>,
    /// Field 10: return addresses, innermost first.
    pub backtrace: Option<Array<'a>>,
    /// Field 11: the format string itself, where it has no image address.
    pub format_text: Option<&'a [u8]>,
    /// Field 12: the file name itself, where it has no image address.
    pub file_text: Option<&'a [u8]>,
    /// Field 13: records of this thread that could not be written just before
    /// this one.
    pub dropped: Option<u64>,
    /// Field 14: what the record stands for; absent for a message.
    pub kind: Option<Kind>,
    /// Field 15: structured key-value pairs.
    pub keys: Option<Map<'a>>,
    /// Field 16: the context that the call was made in.
    pub context: Option<u64>,
}

impl Deref for Data<'_> {
    type Target = Glance;

    #[inline]
    fn deref(&self) -> &Glance {
        &self.front
    }
}

impl DerefMut for Data<'_> {
    #[inline]
    fn deref_mut(&mut self) -> &mut Glance {
        &mut self.front
    }
}

/// What a data record stands for. An open set.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct Kind(pub u64);

impl Kind {
    /// A message, as if the field were absent.
    pub const MESSAGE: Kind = Kind(0);
    /// A span of time begins on this thread.
    pub const BEGIN: Kind = Kind(1);
    /// The innermost open span of this thread ends.
    pub const END: Kind = Kind(2);
    /// The arguments are values of counters.
    pub const COUNTER: Kind = Kind(3);
}

impl<'a> Data<'a> {
    /// Decodes a body that stands as most do: the fields of a [`Glance`], arguments,
    /// a backtrace, a context. `None` where it is anything else.
    ///
    /// [`Glance`]: super::Glance
    #[inline(always)]
    pub(super) fn of_fields_in_order(body: &'a [u8]) -> Option<Self> {
        let front = Front::of(body)?;
        let mut decoder = Decoder::new(body.get(front.at..)?);
        let (mut args, mut backtrace, mut context) = (None, None, None);
        for index in 0..front.fields {
            match decoder.tag().ok()? {
                field::ARGS if index == 0 => args = Some(decoder.array()?),
                field::BACKTRACE if backtrace.is_none() => backtrace = Some(decoder.array()?),
                field::CONTEXT if context.is_none() => {
                    context = Some(decoder.value().ok()?.as_uint()?);
                }
                _ => return None,
            }
        }
        decoder.finish().ok()?;
        Some(Data {
            front: front.glance,
            args,
            backtrace,
            context,
            ..Data::default()
        })
    }

    #[inline]
    pub(super) fn decode(fields: &mut Fields<'a>) -> Result<Self, DecodeError> {
        let mut data = Data::default();
        while let Some((tag, value)) = fields.next_field()? {
            match tag {
                field::MAGIC => data.magic = value.as_uint().map(Magic),
                field::FILE => data.file = value.as_uint().map(Svma),
                field::LINE => data.line = value.as_uint(),
                field::LEVEL => {
                    data.level = value.as_uint().and_then(|n| n.try_into().ok()).map(Level)
                }
                field::FORMAT => data.format = value.as_uint().map(Svma),
                field::RUN => data.run = value.as_uint().map(Run),
                field::THREAD => data.thread = value.as_uint(),
                field::SEQUENCE => data.sequence = value.as_uint().map(Sequence),
                field::TIME => data.time = value.as_uint(),
                field::ARGS => data.args = value.as_array(),
                field::BACKTRACE => data.backtrace = value.as_array(),
                field::FORMAT_TEXT => data.format_text = value.as_raw(),
                field::FILE_TEXT => data.file_text = value.as_raw(),
                field::DROPPED => data.dropped = value.as_uint(),
                field::KIND => data.kind = value.as_uint().map(Kind),
                field::KEYS => data.keys = value.as_map(),
                field::CONTEXT => data.context = value.as_uint(),
                _ => {}
            }
        }
        Ok(data)
    }

    /// Whether the stack was deeper than its backtrace: a nil stands at its end.
    pub fn is_backtrace_cut(&self) -> bool {
        let last = self.backtrace.and_then(|backtrace| backtrace.iter().last());
        last == Some(Value::Nil)
    }

    /// Whether it has fields that a [`Peek`](super::Peek) does not name.
    pub(super) fn has_more_than_a_peek(&self) -> bool {
        self.format_text.is_some()
            || self.file_text.is_some()
            || self.kind.is_some()
            || self.keys.is_some()
            || self.context.is_some()
    }

    /// Writes the record's body.
    pub fn encode(&self, encoder: &mut Encoder<'_>) -> Result<(), OutOfRoom> {
        encoder.uint(Tag::DATA.0 as u64)?;
        let mut fields = encoder.fields()?;
        fields.uint64(field::MAGIC, self.magic.map(|n| n.0))?;
        fields.uint(field::FILE, self.file.map(|n| n.0))?;
        fields.uint(field::LINE, self.line)?;
        fields.uint(field::LEVEL, self.level.map(|level| level.0 as u64))?;
        fields.uint(field::FORMAT, self.format.map(|n| n.0))?;
        fields.uint64(field::RUN, self.run.map(|n| n.0))?;
        fields.uint(field::THREAD, self.thread)?;
        fields.uint64(field::SEQUENCE, self.sequence.map(|n| n.0))?;
        fields.uint64(field::TIME, self.time)?;
        fields.array(field::ARGS, self.args)?;
        fields.array(field::BACKTRACE, self.backtrace)?;
        fields.raw(field::FORMAT_TEXT, self.format_text)?;
        fields.raw(field::FILE_TEXT, self.file_text)?;
        fields.uint(field::DROPPED, self.dropped)?;
        fields.uint(field::KIND, self.kind.map(|kind| kind.0))?;
        fields.map(field::KEYS, self.keys)?;
        fields.uint(field::CONTEXT, self.context)?;
        fields.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{Record, assert_vector};

    #[test]
    fn a_data_record_is_these_bytes() {
        let bytes = [
            0x7f, // tag
            0x8a, // ten fields
            0x00, 0xcf, 0xa9, 0x99, 0x3e, 0x36, 0x47, 0x06, 0x81, 0x69, // 0: magic
            0x01, 0xcd, 0x20, 0x00, // 1: file
            0x02, 0x2a, // 2: line 42
            0x03, 0x30, // 3: INFO
            0x04, 0xcd, 0x20, 0x08, // 4: format
            0x05, 0xcf, 0, 0, 0, 0, 0, 0, 0, 0x0b, // 5: run
            0x06, 0xcf, 0, 0, 0x7f, 0xff, 0xf7, 0xd8, 0x07, 0x40, // 6: thread
            0x07, 0xcf, 0, 0, 0x01, 0, 0, 0, 0, 0x05, // 7: thread 1, call 5
            0x08, 0xcf, 0x18, 0x79, 0x9f, 0x3c, 0, 0, 0, 0, // 8: time
            0x09, 0x93, 0x07, 0xff, 0xa2, b'h', b'i', // 9: 7, -1, "hi"
        ];
        let data = Data {
            front: Glance {
                magic: Some(Magic(0xa999_3e36_4706_8169)),
                file: Some(Svma(0x2000)),
                line: Some(42),
                level: Some(Level::INFO),
                format: Some(Svma(0x2008)),
                run: Some(Run(11)),
                thread: Some(0x7fff_f7d8_0740),
                sequence: Some(Sequence::new(crate::ThreadNumber(1), 5)),
                time: Some(0x1879_9f3c_0000_0000),
            },
            args: Array::from_objects(3, &bytes[bytes.len() - 5..]).ok(),
            ..Data::default()
        };
        assert_vector(&bytes, Record::Data(data));
        let mut args = data.args.unwrap().iter();
        assert_eq!(args.next(), Some(Value::Uint(7)));
        assert_eq!(args.next(), Some(Value::Int(-1)));
        assert_eq!(args.next(), Some(Value::Raw(b"hi")));
        assert_eq!(args.next(), None);
    }

    #[test]
    fn the_rarer_fields_are_these_bytes() {
        let bytes = [
            0x7f, // tag
            0x87, // seven fields
            0x0a, 0x91, 0xcd, 0x11, 0x39, // 10: one return address
            0x0b, 0xa2, b'%', b'd', // 11: format text
            0x0c, 0xa3, b'a', b'.', b'c', // 12: file text
            0x0d, 0xcd, 0x01, 0x9c, // 13: 412 dropped
            0x0e, 0x03, // 14: a counter
            0x0f, 0x81, 0xa1, b'k', 0xc3, // 15: k = true
            0x10, 0x11, // 16: in context 17
        ];
        let data = Data {
            backtrace: Array::from_objects(1, &bytes[4..7]).ok(),
            format_text: Some(b"%d"),
            file_text: Some(b"a.c"),
            dropped: Some(412),
            kind: Some(Kind::COUNTER),
            keys: Decoder::new(&bytes[23..]).value().unwrap().as_map(),
            context: Some(17),
            ..Data::default()
        };
        assert_vector(&bytes, Record::Data(data));
    }

    #[test]
    fn a_level_beyond_a_byte_is_missing() {
        let Ok(Record::Data(data)) = Record::decode(&[0x7f, 0x81, 0x03, 0xcd, 1, 0]) else {
            panic!();
        };
        assert_eq!(data.level, None);
    }

    /// How a data record with a number of fields begins.
    fn head(fields: u8) -> std::vec::Vec<u8> {
        match fields {
            0..=15 => std::vec![0x7f, 0x80 | fields],
            _ => std::vec![0x7f, 0xde, 0, fields],
        }
    }

    /// The fields that cannot stand together are a text beside an address.
    #[test]
    fn the_fullest_record_is_these_bytes() {
        let mut bytes = head(field::MOST);
        for tag in (0..field::ALL).filter(|tag| ![field::FILE, field::FORMAT].contains(tag)) {
            bytes.push(tag);
            match tag {
                field::ARGS | field::BACKTRACE => bytes.push(0x90),
                field::FORMAT_TEXT | field::FILE_TEXT => bytes.push(0xa0),
                field::KEYS => bytes.push(0x80),
                field::MAGIC | field::RUN | field::SEQUENCE | field::TIME => {
                    bytes.extend([0xcf, 0, 0, 0, 0, 0, 0, 0, tag]);
                }
                _ => bytes.push(tag),
            }
        }
        let Ok(Record::Data(data)) = Record::decode(&bytes) else {
            panic!("not a data record");
        };
        assert_vector(&bytes, Record::Data(data));
        assert_eq!(Fields::new(&bytes).unwrap().left, field::MOST as u32);
    }

    /// A writer that puts both an address and its text needs a longer head, and is read.
    #[test]
    fn more_fields_than_a_fixmap_holds_are_read() {
        let mut bytes = head(field::ALL);
        for tag in 0..field::ALL {
            bytes.extend([tag, tag]);
        }
        let Ok(Record::Data(data)) = Record::decode(&bytes) else {
            panic!("not a data record");
        };
        assert_eq!((data.magic, data.context), (Some(Magic(0)), Some(16)));
    }

    #[test]
    fn a_backtrace_that_was_cut_says_so() {
        for (bytes, is_cut) in [(&[0xcd, 0x11, 0x39][..], false), (&[7, 0xc0], true)] {
            let data = Data {
                backtrace: Array::from_objects(1 + is_cut as u32, bytes).ok(),
                ..Data::default()
            };
            assert_eq!(data.is_backtrace_cut(), is_cut);
        }
        assert!(!Data::default().is_backtrace_cut());
    }
}
