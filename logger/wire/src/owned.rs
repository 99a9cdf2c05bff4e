//! A value of a record in memory of its own, for those who read records. The only file of
//! this crate that allocates: nothing on the way of a log call knows it.

use crate::{Typed, Value};
use alloc::borrow::ToOwned;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

/// A value of a record, with its type. It can be compared with what was logged:
/// `record["port"] == 8080`.
///
/// It prints as it is, text without quotation marks.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum OwnedValue {
    /// No value: `None` of Rust, a null pointer of C.
    None,
    /// A truth value.
    Bool(bool),
    /// An integer.
    Int(i128),
    /// An integer that [`OwnedValue::Int`] does not hold.
    Uint(u128),
    /// A floating point number.
    Float(f64),
    /// Text, what the program printed by `Display` or `Debug` included. It may hold control
    /// characters.
    Text(String),
    /// Bytes that are no text.
    Bytes(Vec<u8>),
}

impl From<Value<'_>> for OwnedValue {
    fn from(value: Value<'_>) -> OwnedValue {
        match value {
            Value::Bool(value) => OwnedValue::Bool(value),
            Value::Uint(value) => OwnedValue::Int(value.into()),
            Value::Int(value) => OwnedValue::Int(value.into()),
            Value::Float(value) => OwnedValue::Float(value),
            Value::Raw(bytes) => match core::str::from_utf8(bytes) {
                Ok(text) => OwnedValue::Text(text.to_owned()),
                Err(_) => OwnedValue::Bytes(bytes.to_owned()),
            },
            Value::Array(array) => Typed::of(array).map_or(OwnedValue::None, OwnedValue::of_typed),
            _ => OwnedValue::None,
        }
    }
}

impl OwnedValue {
    fn of_typed(value: Typed<'_>) -> OwnedValue {
        match value {
            Typed::Int128(value) => OwnedValue::Int(value),
            Typed::Uint128(value) => {
                i128::try_from(value).map_or(OwnedValue::Uint(value), OwnedValue::Int)
            }
            Typed::Printed(text) => OwnedValue::Text(String::from_utf8_lossy(text).into_owned()),
            Typed::Bytes(bytes) => OwnedValue::Bytes(bytes.to_owned()),
        }
    }

    /// The value as an integer, if it is one that fits.
    #[must_use]
    pub fn as_i64(&self) -> Option<i64> {
        match self {
            OwnedValue::Int(value) => i64::try_from(*value).ok(),
            _ => None,
        }
    }

    /// The value as a number, if it is one: an integer may be rounded.
    #[must_use]
    pub fn as_f64(&self) -> Option<f64> {
        match self {
            OwnedValue::Int(value) => Some(*value as f64),
            OwnedValue::Uint(value) => Some(*value as f64),
            OwnedValue::Float(value) => Some(*value),
            _ => None,
        }
    }

    /// The value as text, if it is text.
    #[must_use]
    pub fn as_str(&self) -> Option<&str> {
        match self {
            OwnedValue::Text(text) => Some(text),
            _ => None,
        }
    }
}

impl fmt::Display for OwnedValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            OwnedValue::None => f.write_str("none"),
            OwnedValue::Bool(value) => value.fmt(f),
            OwnedValue::Int(value) => value.fmt(f),
            OwnedValue::Uint(value) => value.fmt(f),
            OwnedValue::Float(value) => value.fmt(f),
            OwnedValue::Text(value) => value.fmt(f),
            OwnedValue::Bytes(value) => write!(f, "{value:02x?}"),
        }
    }
}

macro_rules! equal_integers {
    ($($type:ty),*) => {
        $(impl PartialEq<$type> for OwnedValue {
            fn eq(&self, other: &$type) -> bool {
                match self {
                    OwnedValue::Int(value) => <$type>::try_from(*value).is_ok_and(|value| value == *other),
                    OwnedValue::Uint(value) => <$type>::try_from(*value).is_ok_and(|value| value == *other),
                    _ => false,
                }
            }
        })*
    };
}
equal_integers!(
    i8, i16, i32, i64, i128, isize, u8, u16, u32, u64, u128, usize
);

impl PartialEq<bool> for OwnedValue {
    fn eq(&self, other: &bool) -> bool {
        matches!(self, OwnedValue::Bool(value) if value == other)
    }
}

impl PartialEq<f64> for OwnedValue {
    fn eq(&self, other: &f64) -> bool {
        matches!(self, OwnedValue::Float(value) if value == other)
    }
}

impl PartialEq<str> for OwnedValue {
    fn eq(&self, other: &str) -> bool {
        matches!(self, OwnedValue::Text(value) if value == other)
    }
}

impl PartialEq<&str> for OwnedValue {
    fn eq(&self, other: &&str) -> bool {
        *self == **other
    }
}

impl PartialEq<String> for OwnedValue {
    fn eq(&self, other: &String) -> bool {
        *self == **other
    }
}

impl PartialEq<char> for OwnedValue {
    fn eq(&self, other: &char) -> bool {
        *self == *other.encode_utf8(&mut [0; 4])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::msgpack::{Decoder, Encoder};
    use std::string::ToString;

    fn owned(value: Typed<'_>) -> OwnedValue {
        let mut buffer = [0; 64];
        let mut encoder = Encoder::new(&mut buffer);
        value.encode(&mut encoder).unwrap();
        OwnedValue::from(Decoder::new(encoder.written()).value().unwrap())
    }

    #[test]
    fn integers_of_every_width_are_equal_to_what_was_logged() {
        assert_eq!(OwnedValue::from(Value::Uint(u64::MAX)), u64::MAX);
        assert_eq!(OwnedValue::from(Value::Int(-7)), -7i8);
        assert_eq!(owned(Typed::Int128(i128::MIN)), i128::MIN);
        assert_eq!(owned(Typed::Uint128(7)), 7u8);
        assert_eq!(owned(Typed::Uint128(u128::MAX)), u128::MAX);
        assert_ne!(OwnedValue::from(Value::Uint(256)), 0u8);
        assert_ne!(owned(Typed::Uint128(u128::MAX)), -1i128);
        assert_eq!(
            OwnedValue::from(Value::Int(i64::MIN)).as_i64(),
            Some(i64::MIN)
        );
        assert_eq!(owned(Typed::Int128(i128::MIN)).as_i64(), None);
        assert_eq!(
            owned(Typed::Uint128(u128::MAX)).as_f64(),
            Some(u128::MAX as f64)
        );
    }

    #[test]
    fn text_and_bytes_are_different_values() {
        assert_eq!(OwnedValue::from(Value::Raw(b"ada")), "ada");
        assert_eq!(
            OwnedValue::from(Value::Raw(b"\xff")),
            OwnedValue::Bytes([0xff].into())
        );
        assert_eq!(
            owned(Typed::Bytes(b"ada")),
            OwnedValue::Bytes(b"ada".into())
        );
        assert_eq!(owned(Typed::Printed(b"a\xff")), "a\u{fffd}");
        assert_eq!(owned(Typed::Bytes(b"\x01\x02")).to_string(), "[01, 02]");
        assert_eq!(OwnedValue::from(Value::Nil), OwnedValue::None);
    }
}
