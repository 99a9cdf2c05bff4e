//! What an integer directive prints of a value: the one rule for the reader, the
//! mirror, the observer and every export.

use super::conversion::{Conversion, Length};
use crate::description::Grammar;
use crate::{Typed, Value};

/// An integer of any width that a record can hold.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Integer {
    /// Whether it is below 0.
    pub is_negative: bool,
    /// How far from 0 it is.
    pub magnitude: u128,
}

impl Integer {
    /// The integer on the wire; a truth value is 0 or 1.
    pub fn of(value: Value<'_>) -> Option<Integer> {
        match value {
            Value::Uint(value) => Some(Integer::unsigned(value as u128)),
            Value::Int(value) => Some(Integer::signed(value as i128)),
            Value::Bool(value) => Some(Integer::unsigned(value as u128)),
            Value::Array(array) => match Typed::of(array)? {
                Typed::Int128(value) => Some(Integer::signed(value)),
                Typed::Uint128(value) => Some(Integer::unsigned(value)),
                _ => None,
            },
            _ => None,
        }
    }

    /// One that is not negative.
    pub const fn unsigned(value: u128) -> Integer {
        Integer {
            is_negative: false,
            magnitude: value,
        }
    }

    /// One of either sign.
    pub const fn signed(value: i128) -> Integer {
        Integer {
            is_negative: value < 0,
            magnitude: value.unsigned_abs(),
        }
    }

    /// What a directive prints of it. By C's grammar it is first converted to the
    /// type that the length modifier names; where the value is the value, it is not.
    pub const fn printed(
        self,
        length: Length,
        conversion: Conversion,
        grammar: Grammar,
    ) -> Integer {
        let is_signed = matches!(conversion.0, b'd' | b'i');
        match grammar {
            Grammar::Printf if is_signed => self.converted(length),
            Grammar::Printf => self.converted_unsigned(length),
            _ if is_signed => self,
            _ => self.complement(),
        }
    }

    /// As the signed type of this length.
    const fn converted(self, length: Length) -> Integer {
        match bits_of(length) {
            None if self.fits_int() => Integer::signed(self.low_bits() as i32 as i128),
            None => Integer {
                magnitude: self.magnitude as u64 as u128,
                ..self
            },
            Some(bits) => {
                let unused = 64 - bits;
                Integer::signed(((self.low_bits() << unused) as i64 >> unused) as i128)
            }
        }
    }

    /// As the unsigned type of this length.
    const fn converted_unsigned(self, length: Length) -> Integer {
        let unused = match bits_of(length) {
            None if self.fits_int() => 32,
            None => 0,
            Some(bits) => 64 - bits,
        };
        Integer::unsigned((self.low_bits() << unused >> unused) as u128)
    }

    /// A negative one as the two's complement of 64 bits, of 128 if it needs them.
    const fn complement(self) -> Integer {
        if !self.is_negative {
            return self;
        }
        let bits = self.magnitude.wrapping_neg();
        if self.magnitude <= 1 << 63 {
            Integer::unsigned(bits as u64 as u128)
        } else {
            Integer::unsigned(bits)
        }
    }

    /// Its two's complement, cut to 64 bits.
    const fn low_bits(self) -> u64 {
        if self.is_negative {
            (self.magnitude as u64).wrapping_neg()
        } else {
            self.magnitude as u64
        }
    }

    /// Whether an `int` or an `unsigned int` has this value.
    const fn fits_int(self) -> bool {
        if self.is_negative {
            self.magnitude <= 1 << 31
        } else {
            self.magnitude <= u32::MAX as u128
        }
    }
}

/// How many bits C's directives print; none for an `int`: C passes no more, and a
/// value from elsewhere that does not fit is printed in full.
const fn bits_of(length: Length) -> Option<u32> {
    match length {
        Length::None => None,
        Length::Char | Length::W8 | Length::Wf8 => Some(8),
        Length::Short | Length::W16 => Some(16),
        Length::W32 => Some(32),
        _ => Some(64),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By sign and letter.
    fn printed(value: i128, length: Length, letter: u8, grammar: Grammar) -> (bool, u128) {
        let printed = Integer::signed(value).printed(length, Conversion(letter), grammar);
        (printed.is_negative, printed.magnitude)
    }

    #[test]
    fn values_of_c_are_converted_to_the_type_of_the_directive() {
        let signed = |length, value| printed(value, length, b'd', Grammar::Printf);
        let unsigned = |length, value| printed(value, length, b'u', Grammar::Printf).1;
        assert_eq!(signed(Length::Char, 300), (false, 44));
        assert_eq!(signed(Length::Char, 200), (true, 56));
        assert_eq!(unsigned(Length::Char, -1), 255);
        assert_eq!(signed(Length::Short, 70_000), (false, 4464));
        assert_eq!(signed(Length::None, 0xffff_ffff), (true, 1));
        assert_eq!(unsigned(Length::None, -1), 0xffff_ffff);
        assert_eq!(unsigned(Length::Long, -1), u64::MAX as u128);
        assert_eq!(signed(Length::Long, u64::MAX as i128), (true, 1));
        assert_eq!(signed(Length::Long, i64::MIN as i128), (true, 1 << 63));
    }

    #[test]
    fn what_no_int_holds_is_printed_in_full() {
        let signed = |value| printed(value, Length::None, b'd', Grammar::Printf);
        let unsigned = |value| printed(value, Length::None, b'u', Grammar::Printf).1;
        assert_eq!(signed(1 << 32), (false, 1 << 32));
        assert_eq!(signed(u64::MAX as i128), (false, u64::MAX as u128));
        assert_eq!(signed(i32::MIN as i128 - 1), (true, (1 << 31) + 1));
        assert_eq!(unsigned(1 << 32), 1 << 32);
        assert_eq!(unsigned(i32::MIN as i128 - 1), 0xffff_ffff_7fff_ffff);
    }

    #[test]
    fn the_value_is_the_value() {
        for length in [Length::None, Length::Char, Length::Short, Length::Long] {
            for value in [0, 3_000_000_000, -1, u64::MAX as i128, i128::MIN, i128::MAX] {
                let shown = printed(value, length, b'd', Grammar::PrintfOfValues);
                assert_eq!(shown, (value < 0, value.unsigned_abs()));
            }
            let hexadecimal = |value| printed(value, length, b'x', Grammar::PrintfOfValues);
            assert_eq!(hexadecimal(-1), (false, u64::MAX as u128));
            assert_eq!(hexadecimal(i64::MIN as i128), (false, 1 << 63));
            assert_eq!(
                hexadecimal(i64::MIN as i128 - 1),
                (false, (u128::MAX << 64) | ((1 << 63) - 1))
            );
            assert_eq!(hexadecimal(1 << 40), (false, 1 << 40));
        }
    }
}
