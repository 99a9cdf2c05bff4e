//! The binary form of a number as `%a` writes it, of whatever floating point type.

/// A binary number as `%a` writes it: `leading`.`fraction` · 2^`exponent`.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Hexadecimal {
    /// The digit before the point.
    pub leading: u8,
    /// The digits after the point, as one number.
    pub fraction: u128,
    /// How many digits `fraction` has.
    pub digits: usize,
    pub exponent: i32,
}

impl Hexadecimal {
    pub fn of_double(value: f64) -> Self {
        let fraction = value.to_bits() & ((1 << 52) - 1);
        let exponent = (value.to_bits() >> 52 & 0x7ff) as i32;
        Self {
            leading: (exponent != 0) as u8,
            fraction: fraction as u128,
            digits: 13,
            exponent: match (exponent, fraction) {
                (0, 0) => 0,
                (0, _) => -1022,
                _ => exponent - 1023,
            },
        }
    }

    /// Rounds to `precision` digits after the point, halves to the even one. The
    /// digit before the point may become more than it was, as in glibc.
    pub fn rounded(self, precision: usize) -> Self {
        if precision >= self.digits {
            return self;
        }
        let all = (self.leading as u128) << (4 * self.digits) | self.fraction;
        let dropped = 4 * (self.digits - precision);
        let (kept, rest, half) = (
            all >> dropped,
            all & ((1 << dropped) - 1),
            1 << (dropped - 1),
        );
        let up = rest > half || rest == half && kept & 1 == 1;
        let kept = kept + up as u128;
        let rounded = Self {
            leading: (kept >> (4 * precision)) as u8,
            fraction: kept & ((1 << (4 * precision)) - 1),
            digits: precision,
            exponent: self.exponent,
        };
        match rounded.leading {
            16 => Self {
                leading: 1,
                exponent: rounded.exponent + 4,
                ..rounded
            },
            _ => rounded,
        }
    }
}
