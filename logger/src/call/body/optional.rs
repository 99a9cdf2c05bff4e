//! The fields that most records do not have, after those that all have.

use super::out::{HEAD, Out, SCALAR};
use super::tail::Tail;
use crate::call::site::{Strings, Template};
use logdef_wire::msgpack::OutOfRoom;
use logdef_wire::record::field;

/// The head of a fixmap of no fields, and the most that one holds.
const FIXMAP: u8 = 0x80;
pub(super) const MOST_IN_FIXMAP: u8 = 15;

/// The callers of a log call.
#[derive(Clone, Copy, Default)]
pub(crate) struct Backtrace<'c> {
    /// Return addresses, innermost first.
    pub addresses: &'c [usize],
    /// Whether the stack is deeper.
    pub is_cut: bool,
}

/// The fields that most records do not have. One that is added here gets its value in
/// [`OptionalFields::of`], and is written in [`optional_fields`].
#[derive(Clone, Copy)]
pub(crate) struct OptionalFields<'c> {
    pub dropped: u64,
    pub backtrace: Backtrace<'c>,
    pub format_text: Option<&'c [u8]>,
    pub file_text: Option<&'c [u8]>,
    pub tail: Tail<'c>,
}

impl<'c> OptionalFields<'c> {
    /// Those of a call, whether a log is open or not yet.
    pub fn of(
        template: &Template,
        strings: Strings<'c>,
        backtrace: Backtrace<'c>,
        tail: Tail<'c>,
    ) -> OptionalFields<'c> {
        let meta = template.meta;
        OptionalFields {
            dropped: 0,
            backtrace,
            format_text: meta.format_text.then(|| strings.format().to_bytes()),
            file_text: meta.file_text.then(|| strings.file().to_bytes()),
            tail,
        }
    }
}

/// Adds fields to a body of `len` bytes and returns its length.
#[cold]
#[inline(never)]
pub(crate) fn append_optional_fields(
    buffer: &mut [u8],
    len: usize,
    optional: &OptionalFields<'_>,
    bound: usize,
) -> Result<usize, OutOfRoom> {
    let (body, rest) = buffer.split_at_mut(len);
    let mut out = Out::new(rest);
    // The head of a fixmap, after the tag.
    let fields = body[1] - FIXMAP + optional_fields(&mut out, optional, bound)?;
    let len = len + out.len();
    if fields <= MOST_IN_FIXMAP {
        buffer[1] = FIXMAP | fields;
        return Ok(len);
    }
    // The head of a map16 is two bytes longer.
    if buffer.len() - len < 2 {
        return Err(OutOfRoom);
    }
    buffer.copy_within(2..len, 4);
    buffer[1..4].copy_from_slice(&[0xde, 0, fields]);
    Ok(len + 2)
}

/// Writes those of the fields that the record has and returns how many.
fn optional_fields(
    out: &mut Out<'_>,
    optional: &OptionalFields<'_>,
    bound: usize,
) -> Result<u8, OutOfRoom> {
    let mut fields = 0;
    let Backtrace { addresses, is_cut } = optional.backtrace;
    if !addresses.is_empty() {
        fields += 1;
        out.need(1 + HEAD + SCALAR * addresses.len() + 1)?;
        // SAFETY: `need` found the room just above.
        unsafe {
            out.bytes([field::BACKTRACE]);
            out.head(0x90, 0xf, 0xdc, addresses.len() + usize::from(is_cut));
            for address in addresses {
                out.uint(*address as u64);
            }
            if is_cut {
                out.bytes([0xc0]);
            }
        }
    }
    for (tag, text) in [
        (field::FORMAT_TEXT, optional.format_text),
        (field::FILE_TEXT, optional.file_text),
    ] {
        if let Some(text) = text {
            fields += 1;
            out.need(1)?;
            // SAFETY: `need` found the room just above.
            unsafe { out.bytes([tag]) };
            out.raw(text, bound, 0)?;
        }
    }
    if optional.dropped > 0 {
        fields += 1;
        out.need(1 + SCALAR)?;
        // SAFETY: `need` found the room just above.
        unsafe {
            out.bytes([field::DROPPED]);
            out.uint(optional.dropped);
        }
    }
    optional.tail.write(out, bound)?;
    Ok(fields + optional.tail.fields())
}

#[cfg(test)]
mod tests {
    use super::super::{InContext, pairs};
    use super::*;
    use logdef_wire::Record;
    use logdef_wire::record::Data;

    /// All optional fields, more than any call has.
    fn full() -> OptionalFields<'static> {
        OptionalFields {
            dropped: 412,
            backtrace: Backtrace {
                addresses: &[0x1000, 0x2000],
                is_cut: true,
            },
            format_text: Some(b"%d"),
            file_text: Some(b"a.c"),
            tail: Tail {
                kind: 3,
                key: Some(("skipped", 7)),
                pairs: pairs::Pairs::NONE,
                context: InContext::Named(17),
            },
        }
    }

    /// A body with as many fields, of numbers that are not ours, before the optional ones.
    fn body(fields: u8, buffer: &mut [u8]) -> Result<usize, OutOfRoom> {
        buffer[..2].copy_from_slice(&[0x7f, FIXMAP | fields]);
        for field in 0..fields {
            let at = 2 + 2 * usize::from(field);
            buffer[at..at + 2].copy_from_slice(&[100 + field, field]);
        }
        append_optional_fields(buffer, 2 + 2 * usize::from(fields), &full(), 100)
    }

    #[test]
    fn a_sixteenth_field_makes_the_head_longer() {
        let data = |fields| {
            let mut buffer = [0; 256];
            let len = body(fields, &mut buffer).unwrap();
            let Ok(Record::Data(Data { front, args, .. })) = Record::decode(&buffer[..len]) else {
                panic!("not a data record: {:02x?}", &buffer[..len]);
            };
            assert_eq!((front, args), Default::default());
            (buffer, len)
        };
        let optional = data(0).0[1] & 0xf;
        let before = MOST_IN_FIXMAP - optional;
        let (short, short_len) = data(before);
        assert_eq!(short[1], 0x8f);
        let (long, long_len) = data(before + 1);
        assert_eq!(long[1..4], [0xde, 0, 16]);
        // The optional fields are the same.
        let tail = short_len - (2 + 2 * usize::from(before));
        assert_eq!(
            short[short_len - tail..short_len],
            long[long_len - tail..long_len]
        );
        for fields in [&short[..short_len], &long[..long_len]] {
            let Ok(Record::Data(data)) = Record::decode(fields) else {
                unreachable!();
            };
            assert_eq!(data.dropped, Some(412));
            assert_eq!(data.context, Some(17));
            assert!(data.is_backtrace_cut());
        }
    }

    #[test]
    fn a_head_that_does_not_fit_any_more_is_no_record() {
        let mut buffer = [0; 256];
        let len = body(15, &mut buffer).unwrap();
        // More is asked for than is used.
        let enough = len + 2 * SCALAR;
        for room in 2 + 2 * 15..=enough {
            match body(15, &mut buffer[..room]) {
                Ok(again) => assert!(again == len && room >= len, "{room} of {len}"),
                Err(OutOfRoom) => assert!(room < enough, "{room} of {len}"),
            }
        }
    }
}
