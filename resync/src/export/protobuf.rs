//! Protobuf as it is written, as far as the exports need it, and read, as far as an answer has it. Knows no
//! message of anyone: the numbers of fields stand where the messages are made.

/// A protobuf message under construction.
pub(crate) struct Message<'b>(pub(crate) &'b mut Vec<u8>);

const VARINT: u32 = 0;
const FIXED64: u32 = 1;
const LEN: u32 = 2;
const FIXED32: u32 = 5;

impl Message<'_> {
    pub(crate) fn uint(&mut self, field: u32, value: u64) {
        self.varint(u64::from(field << 3 | VARINT));
        self.varint(value);
    }

    /// An `int32` or `int64`: ten bytes if negative.
    pub(crate) fn int(&mut self, field: u32, value: i64) {
        self.uint(field, value as u64);
    }

    pub(crate) fn double(&mut self, field: u32, value: f64) {
        self.fixed(field, value.to_bits());
    }

    pub(crate) fn fixed(&mut self, field: u32, value: u64) {
        self.varint(u64::from(field << 3 | FIXED64));
        self.0.extend_from_slice(&value.to_le_bytes());
    }

    pub(crate) fn bytes(&mut self, field: u32, bytes: &[u8]) {
        self.varint(u64::from(field << 3 | LEN));
        self.varint(bytes.len() as u64);
        self.0.extend_from_slice(bytes);
    }

    pub(crate) fn message(&mut self, field: u32, with: impl FnOnce(&mut Message<'_>)) {
        self.varint(u64::from(field << 3 | LEN));
        // Most are so short that their length is one byte; a longer one is put in later.
        let at = self.0.len();
        self.0.push(0);
        with(&mut Message(self.0));
        let len = self.0.len() - at - 1;
        if len < 0x80 {
            self.0[at] = len as u8;
            return;
        }
        let end = self.0.len();
        self.varint(len as u64);
        let mut prefix = [0; 10];
        let width = self.0.len() - end;
        prefix[..width].copy_from_slice(&self.0[end..]);
        self.0.copy_within(at + 1..end, at + width);
        self.0[at..at + width].copy_from_slice(&prefix[..width]);
        self.0.truncate(at + width + len);
    }

    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }
}

/// A field of a message that is read.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Value<'b> {
    Uint(u64),
    Bytes(&'b [u8]),
}

/// The fields of a message with their numbers, up to its end or to what is no field.
pub(crate) fn fields(mut bytes: &[u8]) -> impl Iterator<Item = (u64, Value<'_>)> {
    std::iter::from_fn(move || field(&mut bytes))
}

fn field<'b>(bytes: &mut &'b [u8]) -> Option<(u64, Value<'b>)> {
    let key = varint(bytes)?;
    let value = match (key & 7) as u32 {
        VARINT => Value::Uint(varint(bytes)?),
        FIXED64 => Value::Bytes(take(bytes, 8)?),
        FIXED32 => Value::Bytes(take(bytes, 4)?),
        LEN => {
            let len = varint(bytes)?;
            Value::Bytes(take(bytes, usize::try_from(len).ok()?)?)
        }
        _ => return None,
    };
    Some((key >> 3, value))
}

fn take<'b>(bytes: &mut &'b [u8], len: usize) -> Option<&'b [u8]> {
    let (taken, rest) = bytes.split_at_checked(len)?;
    *bytes = rest;
    Some(taken)
}

fn varint(bytes: &mut &[u8]) -> Option<u64> {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let byte = take(bytes, 1)?[0];
        value |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Some(value);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The examples of the protobuf documentation's page on encoding.
    #[test]
    fn messages_are_these_bytes() {
        let mut bytes = Vec::new();
        let mut message = Message(&mut bytes);
        message.uint(1, 150);
        message.bytes(2, b"testing");
        message.int(3, -2);
        message.double(4, 1.0);
        message.message(5, |inner| inner.uint(1, 150));
        let expected = [
            &[0x08, 0x96, 0x01][..],
            &[0x12, 0x07, b't', b'e', b's', b't', b'i', b'n', b'g'],
            &[
                0x18, 0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01,
            ],
            &[0x21, 0, 0, 0, 0, 0, 0, 0xf0, 0x3f],
            &[0x2a, 0x03, 0x08, 0x96, 0x01],
        ];
        assert_eq!(bytes, expected.concat());
        let read: Vec<_> = fields(&bytes).collect();
        assert_eq!(read[0], (1, Value::Uint(150)));
        assert_eq!(read[1], (2, Value::Bytes(b"testing")));
        assert_eq!(read[2], (3, Value::Uint(-2_i64 as u64)));
        assert_eq!(read[4], (5, Value::Bytes(&[0x08, 0x96, 0x01])));
    }

    #[test]
    fn a_length_takes_the_bytes_that_it_needs() {
        for len in [0, 1, 0x7d, 0x7e, 0x7f, 0x80, 0x3f00, 0x4000, 0x4001] {
            let content: Vec<_> = (0..len).map(|index| index as u8).collect();
            let mut bytes = b"before".to_vec();
            Message(&mut bytes).message(1, |outer| {
                outer.message(2, |inner| inner.bytes(3, &content));
            });
            let one = |bytes: &[u8], number| match fields(bytes).collect::<Vec<_>>()[..] {
                [(field, Value::Bytes(inner))] if field == number => inner.to_vec(),
                ref other => panic!("{len}: {other:?}"),
            };
            let outer = one(&bytes[6..], 1);
            assert_eq!(one(&one(&outer, 2), 3), content, "{len}");
        }
    }

    #[test]
    fn what_is_no_message_ends() {
        let senseless: [&[u8]; 5] = [b"", &[0x80], &[0xff; 20], &[0x12, 0x7f, 1], &[0x0b]];
        for bytes in senseless {
            assert_eq!(fields(bytes).count(), 0, "{bytes:?}");
        }
    }
}
