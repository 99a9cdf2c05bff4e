//! Reading msgpack from untrusted bytes: total, without recursion, without
//! allocation, never trusting a count beyond the bytes that are there. Knows
//! neither records nor frames.

use super::{Array, Map};
use core::fmt;

/// One msgpack object. Arrays and maps are borrowed whole and were walked to
/// their end, so that looking into them needs no further check.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value<'a> {
    /// Nothing.
    Nil,
    /// A boolean.
    Bool(bool),
    /// An integer that is not negative.
    Uint(u64),
    /// A negative integer.
    Int(i64),
    /// A floating point number.
    Float(f64),
    /// Bytes: raw, str or bin.
    Raw(&'a [u8]),
    /// An array.
    Array(Array<'a>),
    /// A map.
    Map(Map<'a>),
    /// An extension: its type and bytes. We write none.
    Ext(i8, &'a [u8]),
}

impl<'a> Value<'a> {
    /// The number, if this is an integer that is not negative.
    pub fn as_uint(self) -> Option<u64> {
        match self {
            Value::Uint(value) => Some(value),
            _ => None,
        }
    }

    /// The number, if this is an integer that fits.
    pub fn as_int(self) -> Option<i64> {
        match self {
            Value::Uint(value) => i64::try_from(value).ok(),
            Value::Int(value) => Some(value),
            _ => None,
        }
    }

    /// The bytes, if this is a raw.
    pub fn as_raw(self) -> Option<&'a [u8]> {
        match self {
            Value::Raw(bytes) => Some(bytes),
            _ => None,
        }
    }

    /// The boolean, if this is one.
    pub fn as_bool(self) -> Option<bool> {
        match self {
            Value::Bool(value) => Some(value),
            _ => None,
        }
    }

    /// The array, if this is one.
    pub fn as_array(self) -> Option<Array<'a>> {
        match self {
            Value::Array(array) => Some(array),
            _ => None,
        }
    }

    /// The map, if this is one.
    pub fn as_map(self) -> Option<Map<'a>> {
        match self {
            Value::Map(map) => Some(map),
            _ => None,
        }
    }
}

/// What is wrong with the bytes at an offset.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct DecodeError {
    /// Offset from the first byte that the decoder was given.
    pub offset: usize,
    /// What is wrong there.
    pub reason: Reason,
}

/// Why bytes are not the objects they should be.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum Reason {
    /// The bytes end inside an object, or a count claims more objects than
    /// bytes are left.
    Truncated,
    /// `c1`, with which no object starts.
    NeverUsed,
    /// Bytes follow the last object.
    TrailingBytes,
    /// Not a positive fixnum where a tag must be.
    NotATag,
    /// Not a map where a payload must be.
    NotAMap,
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Reason::Truncated => "object runs past the end",
            Reason::NeverUsed => "no object starts with c1",
            Reason::TrailingBytes => "bytes after the last object",
            Reason::NotATag => "not a positive fixnum where a tag must be",
            Reason::NotAMap => "not a map where a payload must be",
        })
    }
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at byte {} of the record", self.reason, self.offset)
    }
}

impl core::error::Error for DecodeError {}

/// Takes objects off the front of bytes.
#[derive(Clone, Copy, Debug)]
pub struct Decoder<'a> {
    bytes: &'a [u8],
    at: usize,
}

/// The first byte of an object and the number in it, read but not entered.
enum Head {
    Value(Fixed),
    Raw(usize),
    Ext(usize),
    Array(u32),
    Map(u32),
}

enum Fixed {
    Nil,
    Bool(bool),
    Uint(u64),
    Int(i64),
    Float(f64),
}

impl<'a> Decoder<'a> {
    /// Starts at the first byte.
    pub fn new(bytes: &'a [u8]) -> Self {
        Decoder { bytes, at: 0 }
    }

    /// Offset of the next object.
    pub fn position(&self) -> usize {
        self.at
    }

    /// Whether no byte is left.
    pub fn is_empty(&self) -> bool {
        self.at == self.bytes.len()
    }

    /// Reads the next object, and moves after it.
    #[inline]
    pub fn value(&mut self) -> Result<Value<'a>, DecodeError> {
        match self.common_value() {
            Some(value) => Ok(value),
            None => self.any_value(),
        }
    }

    /// What most objects of a record are, if the next one is such and whole.
    #[inline]
    fn common_value(&mut self) -> Option<Value<'a>> {
        let mut value = Value::Nil;
        self.common_value_into(&mut value).then_some(value)
    }

    /// The same, written into its final place: moving a value just after it was written
    /// makes the CPU wait for the store.
    #[inline(always)]
    pub(super) fn common_value_into(&mut self, value: &mut Value<'a>) -> bool {
        match self.common_value_len(value) {
            Some(len) => {
                self.at += len;
                true
            }
            None => false,
        }
    }

    #[inline(always)]
    fn common_value_len(&self, value: &mut Value<'a>) -> Option<usize> {
        let rest = self.bytes.get(self.at..)?;
        let mut is = |this, len| {
            *value = this;
            Some(len)
        };
        match *rest.first()? {
            small @ 0x00..=0x7f => is(Value::Uint(small as u64), 1),
            raw @ 0xa0..=0xbf => {
                let end = 1 + (raw & 0x1f) as usize;
                is(Value::Raw(rest.get(1..end)?), end)
            }
            0xcb => is(Value::Float(f64::from_bits(number::<8>(rest)?)), 9),
            0xcc => is(Value::Uint(number::<1>(rest)?), 2),
            0xcd => is(Value::Uint(number::<2>(rest)?), 3),
            0xce => is(Value::Uint(number::<4>(rest)?), 5),
            0xcf => is(Value::Uint(number::<8>(rest)?), 9),
            _ => None,
        }
    }

    pub(super) fn any_value(&mut self) -> Result<Value<'a>, DecodeError> {
        Ok(match self.head()? {
            Head::Value(Fixed::Nil) => Value::Nil,
            Head::Value(Fixed::Bool(value)) => Value::Bool(value),
            Head::Value(Fixed::Uint(value)) => Value::Uint(value),
            Head::Value(Fixed::Int(value)) => Value::Int(value),
            Head::Value(Fixed::Float(value)) => Value::Float(value),
            Head::Raw(len) => Value::Raw(self.take(len)?),
            Head::Ext(len) => {
                let kind = self.take(1)?[0] as i8;
                Value::Ext(kind, self.take(len)?)
            }
            Head::Array(len) => Value::Array(Array {
                len,
                objects: self.objects(len as u64)?,
            }),
            Head::Map(len) => Value::Map(Map {
                len,
                objects: self.objects(len as u64 * 2)?,
            }),
        })
    }

    /// A map head, leaving the decoder before its first key.
    #[inline]
    pub fn map_head(&mut self) -> Result<u32, DecodeError> {
        let offset = self.at;
        match self.head() {
            Ok(Head::Map(len)) => Ok(len),
            Ok(_) => Err(DecodeError {
                offset,
                reason: Reason::NotAMap,
            }),
            Err(error) => Err(error),
        }
    }

    /// An array, if the next object is one that is whole, and short as most are.
    #[inline]
    pub(crate) fn array(&mut self) -> Option<Array<'a>> {
        let rest = self.bytes.get(self.at..)?;
        let (len, head) = match *rest.first()? {
            head @ 0x90..=0x9f => ((head & 0xf) as u64, 1),
            0xdc => (number::<2>(rest)?, 3),
            _ => return None,
        };
        let start = self.at + head;
        self.at = end_of_objects(self.bytes, start, len)?;
        Some(Array {
            len: len as u32,
            objects: &self.bytes[start..self.at],
        })
    }

    /// A positive fixnum.
    #[inline]
    pub fn tag(&mut self) -> Result<u8, DecodeError> {
        match self.bytes.get(self.at) {
            Some(&tag @ 0..=0x7f) => {
                self.at += 1;
                Ok(tag)
            }
            Some(_) => Err(self.error(Reason::NotATag)),
            None => Err(self.error(Reason::Truncated)),
        }
    }

    /// Fails unless every byte was taken.
    #[inline]
    pub fn finish(self) -> Result<(), DecodeError> {
        if self.is_empty() {
            Ok(())
        } else {
            Err(self.error(Reason::TrailingBytes))
        }
    }

    /// The bytes of the next `count` objects, whatever they are. A nested
    /// object adds to the count, so depth needs no stack; every object takes a
    /// byte, so the work is bounded by the bytes.
    #[inline]
    pub(super) fn objects(&mut self, count: u64) -> Result<&'a [u8], DecodeError> {
        let start = self.at;
        match end_of_objects(self.bytes, start, count) {
            Some(end) => {
                self.at = end;
                Ok(&self.bytes[start..end])
            }
            // Goes there again, and says what is wrong where.
            None => self.odd_objects(count),
        }
    }

    #[cold]
    fn odd_objects(&mut self, mut count: u64) -> Result<&'a [u8], DecodeError> {
        let start = self.at;
        while count > 0 {
            if count > (self.bytes.len() - self.at) as u64 {
                return Err(self.error(Reason::Truncated));
            }
            count -= 1;
            match self.head()? {
                Head::Value(_) => {}
                Head::Raw(len) => {
                    self.take(len)?;
                }
                Head::Ext(len) => {
                    self.take(1)?;
                    self.take(len)?;
                }
                Head::Array(len) => count += len as u64,
                Head::Map(len) => count += len as u64 * 2,
            }
        }
        Ok(&self.bytes[start..self.at])
    }

    #[inline]
    fn head(&mut self) -> Result<Head, DecodeError> {
        let Some(&first) = self.bytes.get(self.at) else {
            return Err(self.error(Reason::Truncated));
        };
        let start = self.at;
        self.at += 1;
        let head = self.head_after(first);
        if head.is_err() {
            // An error names the object, not the byte inside it that is missing.
            self.at = start;
            return Err(self.error(match first {
                super::NEVER => Reason::NeverUsed,
                _ => Reason::Truncated,
            }));
        }
        head.map_err(|()| self.error(Reason::Truncated))
    }

    #[inline]
    fn head_after(&mut self, first: u8) -> Result<Head, ()> {
        let value = |value| Ok(Head::Value(value));
        match first {
            0x00..=0x7f => value(Fixed::Uint(first as u64)),
            0x80..=0x8f => Ok(Head::Map((first & 0xf) as u32)),
            0x90..=0x9f => Ok(Head::Array((first & 0xf) as u32)),
            0xa0..=0xbf => Ok(Head::Raw((first & 0x1f) as usize)),
            0xc0 => value(Fixed::Nil),
            0xc1 => Err(()),
            0xc2 | 0xc3 => value(Fixed::Bool(first == 0xc3)),
            0xc4 | 0xd9 => Ok(Head::Raw(self.number::<1>()? as usize)),
            0xc5 | 0xda => Ok(Head::Raw(self.number::<2>()? as usize)),
            0xc6 | 0xdb => Ok(Head::Raw(self.number::<4>()? as usize)),
            0xc7 => Ok(Head::Ext(self.number::<1>()? as usize)),
            0xc8 => Ok(Head::Ext(self.number::<2>()? as usize)),
            0xc9 => Ok(Head::Ext(self.number::<4>()? as usize)),
            0xca => value(Fixed::Float(
                f32::from_bits(self.number::<4>()? as u32) as f64
            )),
            0xcb => value(Fixed::Float(f64::from_bits(self.number::<8>()?))),
            0xcc => value(Fixed::Uint(self.number::<1>()?)),
            0xcd => value(Fixed::Uint(self.number::<2>()?)),
            0xce => value(Fixed::Uint(self.number::<4>()?)),
            0xcf => value(Fixed::Uint(self.number::<8>()?)),
            0xd0 => value(signed(self.number::<1>()? as i8 as i64)),
            0xd1 => value(signed(self.number::<2>()? as i16 as i64)),
            0xd2 => value(signed(self.number::<4>()? as i32 as i64)),
            0xd3 => value(signed(self.number::<8>()? as i64)),
            0xd4..=0xd8 => Ok(Head::Ext(1 << (first - 0xd4))),
            0xdc => Ok(Head::Array(self.number::<2>()? as u32)),
            0xdd => Ok(Head::Array(self.number::<4>()? as u32)),
            0xde => Ok(Head::Map(self.number::<2>()? as u32)),
            0xdf => Ok(Head::Map(self.number::<4>()? as u32)),
            0xe0..=0xff => value(Fixed::Int(first as i8 as i64)),
        }
    }

    #[inline]
    fn number<const N: usize>(&mut self) -> Result<u64, ()> {
        let bytes = self
            .bytes
            .get(self.at..)
            .and_then(|rest| rest.first_chunk::<N>());
        let bytes = bytes.ok_or(())?;
        self.at += N;
        Ok(bytes.iter().fold(0, |sum, byte| sum << 8 | *byte as u64))
    }

    #[inline]
    fn take(&mut self, len: usize) -> Result<&'a [u8], DecodeError> {
        let end = self.at.checked_add(len);
        match end.and_then(|end| self.bytes.get(self.at..end)) {
            Some(bytes) => {
                self.at += len;
                Ok(bytes)
            }
            None => Err(self.error(Reason::Truncated)),
        }
    }

    fn error(&self, reason: Reason) -> DecodeError {
        DecodeError {
            offset: self.at,
            reason,
        }
    }
}

/// The number after the first of some bytes.
#[inline]
fn number<const N: usize>(bytes: &[u8]) -> Option<u64> {
    let digits: &[u8; N] = bytes.get(1..)?.first_chunk()?;
    Some(digits.iter().fold(0, |sum, byte| sum << 8 | *byte as u64))
}

/// Where `count` objects that start at `at` end, if they are whole and none is
/// rare. Needs no stack: what is in an object adds to what is left to skip. Each
/// object takes a byte, so the work is bounded by the bytes.
#[inline]
pub(crate) fn end_of_objects(bytes: &[u8], mut at: usize, count: u64) -> Option<usize> {
    let mut left = count;
    while left > 0 {
        left -= 1;
        let first = *bytes.get(at)?;
        at += match PLAIN[first as usize] {
            0 => {
                let (len, inner) = head_of_object(&bytes[at..])?;
                left += inner;
                len
            }
            len => len as usize,
        };
    }
    (at <= bytes.len()).then_some(at)
}

/// Bytes of an object whose first byte says how long it is, and that holds no
/// others; 0 for all other first bytes.
static PLAIN: [u8; 256] = {
    let mut table = [0; 256];
    let mut first = 0;
    while first < 256 {
        table[first] = match first as u8 {
            0x00..=0x7f | 0xe0..=0xff | 0xc0 | 0xc2 | 0xc3 => 1,
            raw @ 0xa0..=0xbf => 1 + (raw & 0x1f),
            0xcc | 0xd0 => 2,
            0xcd | 0xd1 => 3,
            0xca | 0xce | 0xd2 => 5,
            0xcb | 0xcf | 0xd3 => 9,
            _ => 0,
        };
        first += 1;
    }
    table
};

/// Bytes of a longer raw, or of the head of an array or a map and the objects in it.
fn head_of_object(bytes: &[u8]) -> Option<(usize, u64)> {
    let raw = |head: usize, len: u64| Some((head.checked_add(usize::try_from(len).ok()?)?, 0));
    match *bytes.first()? {
        map @ 0x80..=0x8f => Some((1, 2 * (map & 0xf) as u64)),
        array @ 0x90..=0x9f => Some((1, (array & 0xf) as u64)),
        0xd9 => raw(2, number::<1>(bytes)?),
        0xda => raw(3, number::<2>(bytes)?),
        0xdb => raw(5, number::<4>(bytes)?),
        0xdc => Some((3, number::<2>(bytes)?)),
        _ => None,
    }
}

fn signed(value: i64) -> Fixed {
    match value {
        0.. => Fixed::Uint(value as u64),
        _ => Fixed::Int(value),
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Encoder, OutOfRoom};
    use super::*;
    use std::vec::Vec;

    fn decode(bytes: &[u8]) -> Result<Value<'_>, DecodeError> {
        let mut decoder = Decoder::new(bytes);
        let value = decoder.value()?;
        decoder.finish()?;
        Ok(value)
    }

    #[test]
    fn each_kind_of_object_is_read() {
        let cases: [(&[u8], Value<'_>); 14] = [
            (&[0xc0], Value::Nil),
            (&[0xc2], Value::Bool(false)),
            (&[0xc3], Value::Bool(true)),
            (&[0xcc, 0x80], Value::Uint(128)),
            (&[0xd0, 0x05], Value::Uint(5)), // signed head, positive value
            (&[0xd0, 0xfb], Value::Int(-5)),
            (&[0xd3, 0x80, 0, 0, 0, 0, 0, 0, 0], Value::Int(i64::MIN)),
            (&[0xca, 0x3f, 0x80, 0, 0], Value::Float(1.0)),
            (&[0xcb, 0xbf, 0xf0, 0, 0, 0, 0, 0, 0], Value::Float(-1.0)),
            (&[0xa2, b'h', b'i'], Value::Raw(b"hi")),
            (&[0xd9, 2, b'h', b'i'], Value::Raw(b"hi")),
            (&[0xc5, 0, 2, b'h', b'i'], Value::Raw(b"hi")),
            (&[0xdb, 0, 0, 0, 1, b'h'], Value::Raw(b"h")),
            (&[0xd4, 0xff, 7], Value::Ext(-1, &[7])),
        ];
        for (bytes, value) in cases {
            assert_eq!(decode(bytes), Ok(value), "{bytes:02x?}");
        }
    }

    #[test]
    fn every_shorter_input_is_truncated() {
        let bytes = [
            0x82, 0x01, 0x92, 0xcd, 0x01, 0x00, 0xa1, b'x', 0x02, 0xc7, 0x01, 0x05, 0x09,
        ];
        assert!(decode(&bytes).is_ok());
        for len in 0..bytes.len() {
            assert_eq!(
                decode(&bytes[..len]).unwrap_err().reason,
                Reason::Truncated,
                "{len}"
            );
        }
    }

    #[test]
    fn a_count_beyond_the_bytes_costs_nothing() {
        // An array of 2^32-1 objects of which three are there.
        let error = decode(&[0xdd, 0xff, 0xff, 0xff, 0xff, 0, 0, 0]).unwrap_err();
        assert_eq!(error.reason, Reason::Truncated);
    }

    #[test]
    fn the_quick_way_over_objects_agrees_with_the_other() {
        let heads = [
            0x05, 0x82, 0x93, 0xa3, 0xc0, 0xc1, 0xc4, 0xc7, 0xca, 0xcb, 0xcd, 0xcf, 0xd0, 0xd3,
            0xd4, 0xd9, 0xda, 0xdb, 0xdc, 0xdd, 0xde, 0xdf, 0xff,
        ];
        let mut state = 1u64;
        let mut agreed = 0;
        for _ in 0..100_000 {
            let mut next = |bound: usize| {
                state = state.wrapping_mul(6364136223846793005).wrapping_add(1);
                (state >> 33) as usize % bound
            };
            let mut bytes = [0; 24];
            for byte in &mut bytes {
                *byte = match next(3) {
                    0 => 0,
                    1 => next(4) as u8,
                    _ => heads[next(heads.len())],
                };
            }
            let count = next(5) as u64;
            let mut slow = Decoder::new(&bytes);
            let walked = slow.odd_objects(count).map(<[u8]>::len).ok();
            if let Some(end) = end_of_objects(&bytes, 0, count) {
                assert_eq!(Some(end), walked, "{count} of {bytes:02x?}");
                agreed += 1;
            }
            let mut quick = Decoder::new(&bytes);
            if let Some(value) = quick.common_value() {
                let mut slow = Decoder::new(&bytes);
                let same = |value: Result<_, _>| std::format!("{value:?}");
                assert_eq!(same(slow.any_value()), same(Ok(value)));
                assert_eq!(slow.position(), quick.position());
            }
        }
        assert!(agreed > 10_000, "{agreed}");
    }

    #[test]
    fn a_million_nested_arrays_need_no_stack() {
        let mut bytes = std::vec![0x91; 1_000_000];
        bytes.push(0xc0);
        assert!(matches!(decode(&bytes), Ok(Value::Array(_))));
    }

    #[test]
    fn the_byte_that_starts_no_object_is_named_with_its_offset() {
        let error = decode(&[0x92, 0x00, 0xc1]).unwrap_err();
        assert_eq!(
            error,
            DecodeError {
                offset: 2,
                reason: Reason::NeverUsed
            }
        );
    }

    #[test]
    fn what_the_encoder_writes_is_read_back() {
        let write = |e: &mut Encoder<'_>| -> Result<(), OutOfRoom> {
            e.array(6)?;
            e.uint(1 << 40)?;
            e.int(-1 << 40)?;
            e.float(0.1)?;
            e.raw(&[7; 300])?;
            e.bool(true)?;
            e.nil()
        };
        let mut buffer = [0; 512];
        let mut encoder = Encoder::new(&mut buffer);
        write(&mut encoder).unwrap();
        let array = decode(encoder.written()).unwrap().as_array().unwrap();
        let values: Vec<_> = array.iter().collect();
        for room in 0..8 {
            let mut read = [Value::Nil; 8];
            let len = array.read_into(&mut read[..room]);
            assert_eq!(read[..len], values[..room.min(6)]);
        }
        assert_eq!(
            values,
            [
                Value::Uint(1 << 40),
                Value::Int(-1 << 40),
                Value::Float(0.1),
                Value::Raw(&[7; 300]),
                Value::Bool(true),
                Value::Nil
            ]
        );
    }
}
