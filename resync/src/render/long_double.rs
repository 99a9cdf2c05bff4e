//! The two kinds of `long double` that a record may hold: 10 bytes of x87's
//! extended precision, 16 bytes of IEEE 754 binary128. Both little-endian, as they
//! stood in the memory of the machine that logged them.

use super::big::Big;
use super::decimal::floor_of_log10_of_power_of_2;
use super::hexadecimal::Hexadecimal;

/// A `long double` without its sign.
#[derive(Clone, Copy, Debug)]
pub(super) enum LongDouble {
    Infinite,
    Nan,
    Finite(Finite),
}

/// A finite number that is not negative: `mantissa` · 2^`exponent`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Finite {
    mantissa: u128,
    exponent: i32,
    /// Bits of the mantissa below the digit that `%a` puts before the point: 60 of
    /// x87's 64, since it has no hidden bit; 112 of binary128's 113.
    fraction_bits: u32,
}

const BIAS: i32 = 16383;
const SPECIAL: u16 = 0x7fff;

impl LongDouble {
    /// The sign and magnitude of a number by its bytes; `None` if they are not 10 or
    /// 16.
    pub fn decode(bytes: &[u8]) -> Option<(bool, LongDouble)> {
        if let Ok(bytes) = <[u8; 16]>::try_from(bytes) {
            return Some(Self::binary128(u128::from_le_bytes(bytes)));
        }
        let (mantissa, head) = bytes.split_first_chunk()?;
        let head = <[u8; 2]>::try_from(head).ok()?;
        Some(Self::x87(
            u64::from_le_bytes(*mantissa),
            u16::from_le_bytes(head),
        ))
    }

    /// Whether these bytes are a number beyond about 10^±600, where each digit has
    /// its price.
    pub fn is_far(bytes: &[u8]) -> bool {
        let is_far = |number| match number {
            Self::Finite(number) => number.mantissa != 0 && number.exponent.abs() > 2000,
            _ => false,
        };
        Self::decode(bytes).is_some_and(|(_, number)| is_far(number))
    }

    fn x87(mantissa: u64, head: u16) -> (bool, LongDouble) {
        let (negative, exponent) = (head >> 15 == 1, head & SPECIAL);
        let integer_bit = mantissa >> 63 == 1;
        let magnitude = match exponent {
            SPECIAL if mantissa == 1 << 63 => Self::Infinite,
            SPECIAL => Self::Nan,
            // An unnormal, which no x87 since the 80387 takes for a number.
            1.. if !integer_bit => Self::Nan,
            _ => Self::Finite(Finite {
                mantissa: mantissa as u128,
                exponent: exponent.max(1) as i32 - BIAS - 63,
                fraction_bits: 60,
            }),
        };
        (negative, magnitude)
    }

    fn binary128(bits: u128) -> (bool, LongDouble) {
        let (negative, exponent) = (bits >> 127 == 1, (bits >> 112) as u16 & SPECIAL);
        let fraction = bits & ((1 << 112) - 1);
        let magnitude = match exponent {
            SPECIAL if fraction == 0 => Self::Infinite,
            SPECIAL => Self::Nan,
            _ => Self::Finite(Finite {
                mantissa: fraction | ((exponent != 0) as u128) << 112,
                exponent: exponent.max(1) as i32 - BIAS - 112,
                fraction_bits: 112,
            }),
        };
        (negative, magnitude)
    }
}

impl Finite {
    /// Appends the number with `precision` digits after the point.
    pub fn push_fixed(&self, out: &mut Vec<u8>, precision: usize) {
        let start = out.len();
        Big::scaled(self.mantissa, self.exponent, precision as i32).push_decimal(out);
        let digits = out.len() - start;
        if digits <= precision {
            super::padding::insert(out, start, precision + 1 - digits, b'0');
        }
        if precision > 0 {
            super::padding::insert(out, out.len() - precision, 1, b'.');
        }
    }

    /// Appends the first `count` digits of the number, at least one, and returns
    /// the power of ten that the first one counts.
    pub fn push_significant(&self, out: &mut Vec<u8>, count: usize) -> i32 {
        let start = out.len();
        if self.mantissa == 0 {
            out.resize(start + count, b'0');
            return 0;
        }
        // Never more than the true power, or the rounding would be at the wrong
        // digit; when it is less, there is a digit too many.
        let twos = 127 - self.mantissa.leading_zeros() as i32 + self.exponent;
        let mut power = floor_of_log10_of_power_of_2(twos);
        loop {
            let tens = count as i32 - 1 - power;
            Big::scaled(self.mantissa, self.exponent, tens).push_decimal(out);
            if out.len() - start <= count {
                return power;
            }
            out.truncate(start);
            power += 1;
        }
    }

    /// Whether the number is less than 10^`power`.
    pub fn is_below_power_of_10(&self, power: usize) -> bool {
        let power = u32::try_from(power)
            .ok()
            .and_then(|n| 10u128.checked_pow(n));
        match (power, self.exponent) {
            // Only a number with digits after the point is asked about, and it is
            // less than 2^113, as its mantissa is.
            (Some(power), -127..0) => self.mantissa >> -self.exponent < power,
            _ => false,
        }
    }

    pub fn hexadecimal(&self) -> Hexadecimal {
        let exponent = match self.mantissa {
            0 => 0,
            _ => self.exponent + self.fraction_bits as i32,
        };
        Hexadecimal {
            leading: (self.mantissa >> self.fraction_bits) as u8,
            fraction: self.mantissa & ((1 << self.fraction_bits) - 1),
            digits: self.fraction_bits as usize / 4,
            exponent,
        }
    }
}
