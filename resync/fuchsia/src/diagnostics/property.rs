//! A leaf of a payload: numbers, text, bytes, and arrays of them.

use std::fmt;

use data_encoding::BASE64;
use serde::de::{self, SeqAccess, Visitor};
use serde::ser::SerializeSeq;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::structured::Value;

/// How bytes begin in JSON.
const BYTES_PREFIX: &str = "b64:";

/// A named value in a payload.
///
/// JSON does not distinguish signed from unsigned: a number that fits is read as
/// [`SignedInt`](Self::SignedInt).
#[derive(Clone, Debug, PartialEq)]
pub enum Property {
    /// A signed integer.
    SignedInt(i64),
    /// An unsigned integer.
    UnsignedInt(u64),
    /// A double; NaN and infinity are written as the largest finite doubles.
    Double(f64),
    /// True or false.
    Boolean(bool),
    /// Text.
    Text(String),
    /// Bytes, written as `"b64:…"`; only inspect data has them.
    Bytes(Vec<u8>),
    /// An array of numbers or texts; only inspect data has them.
    Array(Vec<Property>),
}

impl From<Value<'_>> for Property {
    fn from(value: Value<'_>) -> Self {
        match value {
            Value::SignedInt(value) => Self::SignedInt(value),
            Value::UnsignedInt(value) => Self::UnsignedInt(value),
            Value::Floating(value) => Self::Double(value),
            Value::Text(value) => Self::Text(value.into_owned()),
            Value::Boolean(value) => Self::Boolean(value),
        }
    }
}

/// Bytes and arrays, which records do not have, become text as in JSON.
impl<'p> From<&'p Property> for Value<'p> {
    fn from(property: &'p Property) -> Self {
        match property {
            Property::SignedInt(value) => (*value).into(),
            Property::UnsignedInt(value) => (*value).into(),
            Property::Double(value) => (*value).into(),
            Property::Boolean(value) => (*value).into(),
            Property::Text(value) => value.as_str().into(),
            Property::Bytes(_) | Property::Array(_) => property.to_string().into(),
        }
    }
}

/// What people see: text without quotes, bytes and arrays as in JSON.
impl fmt::Display for Property {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::SignedInt(value) => write!(f, "{value}"),
            Self::UnsignedInt(value) => write!(f, "{value}"),
            Self::Double(value) => write!(f, "{value}"),
            Self::Boolean(value) => write!(f, "{value}"),
            Self::Text(value) => f.write_str(value),
            Self::Bytes(value) => write!(f, "{BYTES_PREFIX}{}", BASE64.encode_display(value)),
            Self::Array(values) => f
                .debug_list()
                .entries(
                    values
                        .iter()
                        .map(|value| format_args!("{value}").to_string()),
                )
                .finish(),
        }
    }
}

impl Serialize for Property {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::SignedInt(value) => serializer.serialize_i64(*value),
            Self::UnsignedInt(value) => serializer.serialize_u64(*value),
            Self::Double(value) => serializer.serialize_f64(finite(*value)),
            Self::Boolean(value) => serializer.serialize_bool(*value),
            Self::Text(value) => serializer.serialize_str(value),
            Self::Bytes(_) => serializer.collect_str(self),
            Self::Array(values) => {
                let mut array = serializer.serialize_seq(Some(values.len()))?;
                for value in values {
                    array.serialize_element(value)?;
                }
                array.end()
            }
        }
    }
}

/// JSON has no NaN and no infinity: both become the largest finite double, keeping the sign of infinity.
fn finite(value: f64) -> f64 {
    if value.is_nan() {
        f64::MAX
    } else {
        value.clamp(f64::MIN, f64::MAX)
    }
}

impl<'de> Deserialize<'de> for Property {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(PropertyVisitor)
    }
}

/// Also the leaf half of the visitor of a node.
pub(super) struct PropertyVisitor;

impl<'de> Visitor<'de> for PropertyVisitor {
    type Value = Property;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a number, a boolean, a string or an array of them")
    }

    fn visit_bool<E: de::Error>(self, value: bool) -> Result<Property, E> {
        Ok(Property::Boolean(value))
    }

    fn visit_i64<E: de::Error>(self, value: i64) -> Result<Property, E> {
        Ok(Property::SignedInt(value))
    }

    fn visit_u64<E: de::Error>(self, value: u64) -> Result<Property, E> {
        Ok(i64::try_from(value).map_or(Property::UnsignedInt(value), Property::SignedInt))
    }

    fn visit_f64<E: de::Error>(self, value: f64) -> Result<Property, E> {
        Ok(Property::Double(value))
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Property, E> {
        let bytes = text
            .strip_prefix(BYTES_PREFIX)
            .and_then(|text| BASE64.decode(text.as_bytes()).ok());
        Ok(bytes.map_or_else(|| Property::Text(text.to_owned()), Property::Bytes))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut array: A) -> Result<Property, A::Error> {
        let mut values = Vec::new();
        while let Some(value) = array.next_element()? {
            values.push(value);
        }
        Ok(Property::Array(values))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn json(property: &Property) -> serde_json::Value {
        serde_json::to_value(property).unwrap()
    }

    #[test]
    fn numbers_that_json_lacks_become_the_largest_it_has() {
        for (value, expected) in [
            (f64::NAN, f64::MAX),
            (f64::INFINITY, f64::MAX),
            (f64::NEG_INFINITY, f64::MIN),
            (-0.0, -0.0),
            (2.5, 2.5),
        ] {
            let text = serde_json::to_string(&Property::Double(value)).unwrap();
            assert_eq!(text.parse(), Ok(expected), "{text}");
        }
    }

    #[test]
    fn integers_are_native_to_the_last_digit() {
        for property in [
            Property::UnsignedInt(u64::MAX),
            Property::SignedInt(i64::MIN),
            Property::SignedInt(i64::MAX),
        ] {
            let text = serde_json::to_string(&property).unwrap();
            assert_eq!(text, property.to_string());
            assert_eq!(serde_json::from_str::<Property>(&text).unwrap(), property);
        }
    }

    #[test]
    fn bytes_are_base64_behind_a_prefix() {
        let bytes = Property::Bytes(vec![1, 2, 3, 4]);
        assert_eq!(json(&bytes), "b64:AQIDBA==");
        assert_eq!(
            serde_json::from_value::<Property>(json(&bytes)).unwrap(),
            bytes
        );
        let text = Property::Text("b64:?".into());
        assert_eq!(
            serde_json::from_value::<Property>(json(&text)).unwrap(),
            text
        );
    }
}
