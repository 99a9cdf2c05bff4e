//! A second reader, written from FORMAT.md alone: slow and plain. It tries
//! every byte for a frame, sums with a table of its own, and leaves msgpack to
//! `rmp-serde`. What it says of a log, the tests believe.

use serde::Deserialize;
use serde::de::{self, Deserializer, MapAccess, SeqAccess, Visitor};
use std::collections::BTreeMap;
use std::fmt;
use std::io::Cursor;
use std::ops::Range;

/// Any msgpack object but an extension.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// Nothing.
    Nil,
    /// A boolean.
    Bool(bool),
    /// An integer.
    Int(i128),
    /// A floating point number.
    Float(f64),
    /// Bytes.
    Raw(Vec<u8>),
    /// An array.
    Array(Vec<Value>),
    /// A map, in the order it stands.
    Map(Vec<(Value, Value)>),
}

impl Value {
    /// The number, if it is an integer.
    pub fn int(&self) -> Option<i128> {
        match self {
            Value::Int(value) => Some(*value),
            _ => None,
        }
    }

    /// The bytes, if it is a raw.
    pub fn raw(&self) -> Option<&[u8]> {
        match self {
            Value::Raw(bytes) => Some(bytes),
            _ => None,
        }
    }

    /// The objects, if it is an array.
    pub fn array(&self) -> Option<&[Value]> {
        match self {
            Value::Array(values) => Some(values),
            _ => None,
        }
    }
}

/// A valid frame with a well-formed record, unmasked.
#[derive(Clone, Debug, PartialEq)]
pub struct Frame {
    /// Where it stands in the file.
    pub range: Range<usize>,
    /// The record's tag.
    pub tag: u8,
    /// The record's fields.
    pub fields: BTreeMap<u8, Value>,
}

impl Frame {
    /// An integer field.
    pub fn int(&self, field: u8) -> Option<i128> {
        self.fields.get(&field)?.int()
    }

    /// A raw field.
    pub fn raw(&self, field: u8) -> Option<&[u8]> {
        self.fields.get(&field)?.raw()
    }

    /// Whether it is a data record.
    pub fn is_data(&self) -> bool {
        self.tag == 127
    }
}

/// All valid frames with well-formed records, first to last.
pub fn scan(bytes: &[u8]) -> Vec<Frame> {
    let mut frames = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        match frame_at(bytes, at) {
            Some(frame) => {
                at = frame.range.end;
                frames.push(frame);
            }
            None => at += 1,
        }
    }
    frames
}

fn frame_at(bytes: &[u8], at: usize) -> Option<Frame> {
    let [0xc1, 0xce, c0, c1, c2, c3, 0xc1, head, ..] = bytes[at..] else {
        return None;
    };
    let number = |range: Range<usize>| {
        let bytes = bytes.get(range)?;
        Some(bytes.iter().fold(0, |n, byte| n << 8 | usize::from(*byte)))
    };
    let (start, len) = match head {
        0xa0..=0xbf => (at + 8, usize::from(head - 0xa0)),
        0xda => (at + 10, number(at + 8..at + 10)?),
        0xdb => (at + 12, number(at + 8..at + 12)?),
        _ => return None,
    };
    let body = bytes.get(start..start.checked_add(len)?)?;
    if !(2..=16 << 20).contains(&len) || crc32(body) != u32::from_be_bytes([c0, c1, c2, c3]) {
        return None;
    }
    let (mut tag, mut fields) = record(body)?;
    if tag == 126 {
        let mask = u64::try_from(fields.get(&0)?.int()?).ok()?.to_be_bytes();
        let hidden = fields.get(&1)?.raw()?;
        let plain: Vec<u8> = (hidden.iter().zip(mask.iter().cycle()))
            .map(|(byte, mask)| byte ^ mask)
            .collect();
        (tag, fields) = record(&plain)?;
    }
    Some(Frame {
        range: at..start + len,
        tag,
        fields,
    })
}

fn record(body: &[u8]) -> Option<(u8, BTreeMap<u8, Value>)> {
    let mut decoder = rmp_serde::Deserializer::new(Cursor::new(body));
    let tag = u8::deserialize(&mut decoder).ok()?;
    let fields = BTreeMap::deserialize(&mut decoder).ok()?;
    (decoder.position() == body.len() as u64).then_some((tag, fields))
}

/// CRC-32/ISO-HDLC, a byte at a time.
pub fn crc32(bytes: &[u8]) -> u32 {
    const TABLE: [u32; 256] = {
        let mut table = [0; 256];
        let mut n = 0;
        while n < 256 {
            let mut sum = n as u32;
            let mut bit = 0;
            while bit < 8 {
                sum = (sum >> 1) ^ ((sum & 1) * 0xedb8_8320);
                bit += 1;
            }
            table[n] = sum;
            n += 1;
        }
        table
    };
    let step = |sum: u32, byte: &u8| (sum >> 8) ^ TABLE[usize::from(sum as u8 ^ byte)];
    !bytes.iter().fold(!0, step)
}

impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(AnyValue)
    }
}

struct AnyValue;

impl<'de> Visitor<'de> for AnyValue {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a msgpack object")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Nil)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(Value::Int(value.into()))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::Int(value.into()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(Value::Float(value))
    }

    fn visit_str<E: de::Error>(self, value: &str) -> Result<Value, E> {
        Ok(Value::Raw(value.as_bytes().to_vec()))
    }

    fn visit_bytes<E: de::Error>(self, value: &[u8]) -> Result<Value, E> {
        Ok(Value::Raw(value.to_vec()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Value, A::Error> {
        let mut values = Vec::new();
        while let Some(value) = seq.next_element()? {
            values.push(value);
        }
        Ok(Value::Array(values))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
        let mut pairs = Vec::new();
        while let Some(pair) = map.next_entry()? {
            pairs.push(pair);
        }
        Ok(Value::Map(pairs))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checksum_is_the_one_of_the_format() {
        assert_eq!(crc32(b"123456789"), 0xcbf4_3926);
    }

    #[test]
    fn a_frame_is_found_between_garbage_and_read() {
        let mut bytes = b"garbage\xc1\xce".to_vec();
        // A data record with line -1 of no meaning, bytes that are no UTF-8 and
        // an array.
        let body = b"\x7f\x83\x02\xff\x0b\xa2\xff\xfe\x09\x92\xc0\xcb\x3f\xf0\0\0\0\0\0\0";
        bytes.extend(b"\xc1\xce");
        bytes.extend(crc32(body).to_be_bytes());
        bytes.extend(b"\xc1\xda\0\x15");
        assert_eq!(body.len(), 0x15 - 1, "the length is wrong on purpose");
        let start = bytes.len() - 10;
        bytes.extend(body);
        bytes.extend(b"after");
        assert_eq!(scan(&bytes), []);

        bytes[start + 9] = 0x14;
        let fields = BTreeMap::from([
            (2, Value::Int(-1)),
            (9, Value::Array(vec![Value::Nil, Value::Float(1.0)])),
            (11, Value::Raw(b"\xff\xfe".to_vec())),
        ]);
        let frame = Frame {
            range: start..start + 30,
            tag: 127,
            fields,
        };
        assert_eq!(scan(&bytes), [frame]);
    }

    #[test]
    fn a_masked_record_is_unmasked() {
        let body = b"\x7e\x82\x00\xcf\x01\x02\x03\x04\x05\x06\x07\x08\x01\xa2\x7e\x82";
        let mut bytes = b"\xc1\xce".to_vec();
        bytes.extend(crc32(body).to_be_bytes());
        bytes.extend(b"\xc1\xb0");
        bytes.extend(body);
        let frames = scan(&bytes);
        assert_eq!((frames[0].tag, frames[0].fields.len()), (0x7f, 0));
    }
}
