//! A value of a record, in memory of its own.

use logdef_wire::{Typed, Value as Wire};
use std::fmt;

/// A value of a record, with its type.
///
/// It prints as it is, text without quotation marks.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Value {
    /// No value: `None` of Rust, a null pointer of C.
    None,
    /// A truth value.
    Bool(bool),
    /// An integer.
    Int(i128),
    /// An integer that [`Value::Int`] does not hold.
    Uint(u128),
    /// A floating point number.
    Float(f64),
    /// Text, what the program printed included. It may hold control characters.
    Text(String),
    /// Bytes that are no text.
    Bytes(Vec<u8>),
}

impl Value {
    pub(super) fn of(value: Wire<'_>) -> Value {
        match value {
            Wire::Bool(value) => Value::Bool(value),
            Wire::Uint(value) => Value::Int(value.into()),
            Wire::Int(value) => Value::Int(value.into()),
            Wire::Float(value) => Value::Float(value),
            Wire::Raw(bytes) => match std::str::from_utf8(bytes) {
                Ok(text) => Value::Text(text.to_owned()),
                Err(_) => Value::Bytes(bytes.to_owned()),
            },
            Wire::Array(array) => match Typed::of(array) {
                Some(Typed::Int128(value)) => Value::Int(value),
                Some(Typed::Uint128(value)) => {
                    i128::try_from(value).map_or(Value::Uint(value), Value::Int)
                }
                Some(Typed::Printed(text)) => Value::Text(lossy(text)),
                Some(Typed::Bytes(bytes)) => Value::Bytes(bytes.to_owned()),
                _ => Value::None,
            },
            _ => Value::None,
        }
    }

    /// The value as an integer, if it is one that fits.
    #[must_use]
    pub fn as_i64(&self) -> Option<i64> {
        match self {
            Value::Int(value) => i64::try_from(*value).ok(),
            _ => None,
        }
    }

    /// The value as a number, if it is one: an integer may be rounded.
    #[must_use]
    pub fn as_f64(&self) -> Option<f64> {
        match self {
            Value::Int(value) => Some(*value as f64),
            Value::Uint(value) => Some(*value as f64),
            Value::Float(value) => Some(*value),
            _ => None,
        }
    }

    /// The value as text, if it is text.
    #[must_use]
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::None => f.write_str("none"),
            Value::Bool(value) => value.fmt(f),
            Value::Int(value) => value.fmt(f),
            Value::Uint(value) => value.fmt(f),
            Value::Float(value) => value.fmt(f),
            Value::Text(value) => value.fmt(f),
            Value::Bytes(value) => write!(f, "{value:02x?}"),
        }
    }
}

pub(super) fn lossy(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
