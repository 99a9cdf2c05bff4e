//! Values for which the old msgpack has no type: an array of the kind of argument,
//! as call sites number it, and its parts. Arguments and key-values may be such.

use crate::msgpack::{Array, Encoder, OutOfRoom, Value};
use crate::site::ArgKind;

/// A value that is an array on the wire.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum Typed<'a> {
    /// A signed integer that 64 bits do not hold.
    Int128(i128),
    /// An unsigned integer that 64 bits do not hold.
    Uint128(u128),
    /// Bytes that are no text.
    Bytes(&'a [u8]),
    /// Text that the program made of a value: width and precision of its placeholder
    /// are applied already.
    Printed(&'a [u8]),
}

impl<'a> Typed<'a> {
    /// Reads an array; `None` if it is no such value, or one of a later version.
    pub fn of(array: Array<'a>) -> Option<Typed<'a>> {
        let mut parts = array.iter();
        let kind = ArgKind(parts.next()?.as_uint()?.try_into().ok()?);
        let typed = match (kind, parts.next()?, parts.next()) {
            (ArgKind::INT128, high, Some(Value::Uint(low))) => {
                Typed::Int128((high.as_int()? as i128) << 64 | low as i128)
            }
            (ArgKind::UINT128, Value::Uint(high), Some(Value::Uint(low))) => {
                Typed::Uint128((high as u128) << 64 | low as u128)
            }
            (ArgKind::BLOB, Value::Raw(bytes), None) => Typed::Bytes(bytes),
            (ArgKind::PRINTED, Value::Raw(text), None) => Typed::Printed(text),
            _ => return None,
        };
        parts.next().is_none().then_some(typed)
    }

    /// Writes it; an integer that 64 bits hold as a plain one.
    pub fn encode(&self, encoder: &mut Encoder<'_>) -> Result<(), OutOfRoom> {
        let head = |encoder: &mut Encoder<'_>, len, kind: ArgKind| {
            encoder.array(len)?;
            encoder.uint(kind.0 as u64)
        };
        match *self {
            Typed::Int128(value) => match (i64::try_from(value), u64::try_from(value)) {
                (Ok(small), _) => encoder.int(small),
                (_, Ok(large)) => encoder.uint(large),
                _ => {
                    head(encoder, 3, ArgKind::INT128)?;
                    encoder.int((value >> 64) as i64)?;
                    encoder.uint(value as u64)
                }
            },
            Typed::Uint128(value) => match u64::try_from(value) {
                Ok(small) => encoder.uint(small),
                Err(_) => {
                    head(encoder, 3, ArgKind::UINT128)?;
                    encoder.uint((value >> 64) as u64)?;
                    encoder.uint(value as u64)
                }
            },
            Typed::Bytes(bytes) => {
                head(encoder, 2, ArgKind::BLOB)?;
                encoder.raw(bytes)
            }
            Typed::Printed(text) => {
                head(encoder, 2, ArgKind::PRINTED)?;
                encoder.raw(text)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::msgpack::Decoder;

    fn assert_bytes(typed: Typed<'_>, bytes: &[u8]) -> Value<'static> {
        let mut buffer = [0; 32];
        let mut encoder = Encoder::new(&mut buffer);
        typed.encode(&mut encoder).unwrap();
        assert_eq!(encoder.written(), bytes);
        let value = Decoder::new(bytes).value().unwrap();
        if let Value::Array(array) = value {
            assert_eq!(Typed::of(array), Some(typed));
            return Value::Nil;
        }
        match value {
            Value::Uint(number) => Value::Uint(number),
            Value::Int(number) => Value::Int(number),
            _ => panic!("{value:?}"),
        }
    }

    #[test]
    fn typed_values_are_these_bytes() {
        assert_bytes(
            Typed::Int128(-1 << 64),
            &[0x93, 0x0b, 0xff, 0x00], // kind 11: high -1, low 0
        );
        assert_bytes(
            Typed::Uint128(u128::MAX),
            &[
                0x93, 0x0c, // kind 12
                0xcf, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, // high
                0xcf, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, // low
            ],
        );
        assert_bytes(Typed::Bytes(&[0, 0xff]), &[0x92, 0x0d, 0xa2, 0x00, 0xff]);
        assert_bytes(
            Typed::Printed(b" 7s"),
            &[0x92, 0x0e, 0xa3, b' ', b'7', b's'],
        );
    }

    #[test]
    fn what_64_bits_hold_is_a_plain_integer() {
        assert_eq!(assert_bytes(Typed::Uint128(5), &[5]), Value::Uint(5));
        assert_eq!(assert_bytes(Typed::Int128(-2), &[0xfe]), Value::Int(-2));
        let most = u64::MAX;
        let bytes = [0xcf, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff];
        assert_eq!(
            assert_bytes(Typed::Int128(most as i128), &bytes),
            Value::Uint(most)
        );
    }

    #[test]
    fn the_edges_of_128_bits_come_back() {
        for value in [
            i128::MIN,
            i64::MIN as i128 - 1,
            u64::MAX as i128 + 1,
            i128::MAX,
        ] {
            let mut buffer = [0; 32];
            let mut encoder = Encoder::new(&mut buffer);
            Typed::Int128(value).encode(&mut encoder).unwrap();
            let read = Decoder::new(encoder.written()).value().unwrap().as_array();
            assert_eq!(Typed::of(read.unwrap()), Some(Typed::Int128(value)));
        }
    }

    #[test]
    fn other_arrays_are_no_typed_values() {
        let others: [&[u8]; 8] = [
            &[0x90],
            &[0x91, 0x0d],
            &[0x92, 0x0d, 0x05],
            &[0x93, 0x0d, 0xa0, 0xa0],
            &[0x92, 0x0b, 0x05],
            &[0x93, 0x0c, 0xff, 0x00],
            &[0x94, 0x0b, 0x00, 0x00, 0x00],
            &[0x92, 0xcd, 0x01, 0x0d, 0xa0],
        ];
        for bytes in others {
            let array = Decoder::new(bytes).value().unwrap().as_array().unwrap();
            assert_eq!(Typed::of(array), None, "{bytes:02x?}");
        }
    }
}
