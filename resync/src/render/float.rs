//! Floating point: `%f %F %e %E %g %G %a %A` of a `double` or a `long double`. The
//! digits are exact, however many are asked for, halves go to the even digit, and
//! exponents and special values are spelled as in glibc.

use std::io::Write;

use logdef_wire::printf::Flags;

use super::decimal::{Word, floor_of_log10_of_power_of_2, push_decimal, push_decimal_of};
use super::hexadecimal::Hexadecimal;
use super::integer::LOWER;
use super::long_double::{Finite, LongDouble};
use super::padding::{Layout, insert};

/// A number to print, without its sign.
#[derive(Clone, Copy, Debug)]
pub(super) enum Magnitude {
    Infinite,
    Nan,
    Double(f64),
    Long(Finite),
}

impl Magnitude {
    /// The sign and the magnitude of a double.
    pub fn of(value: f64) -> (bool, Self) {
        let magnitude = match value.abs() {
            v if v.is_nan() => Self::Nan,
            v if v.is_infinite() => Self::Infinite,
            v => Self::Double(v),
        };
        (value.is_sign_negative(), magnitude)
    }

    /// The sign and the magnitude of a `long double` by its bytes; `None` if they are
    /// not 10 or 16.
    pub fn of_long_double(bytes: &[u8]) -> Option<(bool, Self)> {
        let (negative, number) = LongDouble::decode(bytes)?;
        let magnitude = match number {
            LongDouble::Infinite => Self::Infinite,
            LongDouble::Nan => Self::Nan,
            LongDouble::Finite(number) => Self::Long(number),
        };
        Some((negative, magnitude))
    }

    /// Appends the number with `precision` digits after the point.
    fn push_fixed(&self, out: &mut Vec<u8>, precision: usize) {
        match self {
            Self::Double(value) => push_double_fixed(out, *value, precision),
            Self::Long(value) => value.push_fixed(out, precision),
            Self::Infinite | Self::Nan => {}
        }
    }

    /// Appends the first `count` digits of the number, at least one, and returns
    /// the power of ten that the first one counts.
    fn push_significant(&self, out: &mut Vec<u8>, count: usize) -> i32 {
        match self {
            Self::Double(value) => push_double_significant(out, *value, count),
            Self::Long(value) => value.push_significant(out, count),
            Self::Infinite | Self::Nan => 0,
        }
    }

    /// Whether the number is less than 10^`power`.
    fn is_below_power_of_10(&self, power: usize) -> bool {
        match self {
            // A double that rounds up to a power of ten has a digit after the
            // point, so it is below 2^53, and powers of ten up to there are exact.
            Self::Double(value) => *value < 10f64.powi(power as i32),
            Self::Long(value) => value.is_below_power_of_10(power),
            Self::Infinite | Self::Nan => false,
        }
    }

    fn hexadecimal(&self) -> Hexadecimal {
        match self {
            Self::Double(value) => Hexadecimal::of_double(*value),
            Self::Long(value) => value.hexadecimal(),
            Self::Infinite | Self::Nan => Hexadecimal::default(),
        }
    }
}

/// Appends a floating point conversion; `letter` is the directive's.
pub(super) fn push_float(
    out: &mut Vec<u8>,
    layout: &Layout,
    (negative, magnitude): (bool, Magnitude),
    letter: u8,
) {
    let start = out.len();
    layout.push_sign(out, negative);
    let body = out.len();
    let alternative = layout.has(Flags::ALTERNATIVE);
    let precision = layout.precision.unwrap_or(6);
    let mut digits = body;
    match (magnitude, letter.to_ascii_lowercase()) {
        (Magnitude::Infinite, _) => out.extend_from_slice(b"inf"),
        (Magnitude::Nan, _) => out.extend_from_slice(b"nan"),
        (_, b'f') => {
            magnitude.push_fixed(out, precision);
            if alternative && precision == 0 {
                out.push(b'.');
            }
        }
        (_, b'e') => push_exponential(out, magnitude, precision, alternative),
        (_, b'g') => push_general(out, magnitude, precision.max(1), alternative),
        _ => {
            digits += 2;
            push_hexadecimal(out, magnitude.hexadecimal(), layout.precision, alternative);
        }
    }
    if letter.is_ascii_uppercase() {
        out[body..].make_ascii_uppercase();
    }
    match magnitude {
        Magnitude::Infinite | Magnitude::Nan => layout.pad(out, start),
        _ => layout.pad_number(out, start, digits),
    }
}

/// `%f` of a double, the most frequent of all: no flags, 6 digits. None if it is
/// not between 2^-11 and 10^8.
///
/// The fraction, moved to the top of a word and multiplied by a million, leaves its
/// digits in the upper word of the product and what is rounded off in the lower.
#[inline(always)]
pub(super) fn short_double(value: f64) -> Option<Word> {
    let (mantissa, twos) = parts(value.abs());
    if !(-63..0).contains(&twos) {
        return None;
    }
    let whole = mantissa >> -twos;
    let product = ((mantissa << (64 + twos)) as u128) * 1_000_000;
    let (digits, rest) = ((product >> 64) as u32, product as u64);
    let is_up = rest > 1 << 63 || rest == 1 << 63 && digits & 1 == 1;
    let word = match digits + is_up as u32 {
        1_000_000 => Word::fixed(whole + 1, 0),
        millionths => Word::fixed(whole, millionths),
    };
    Some(word?.signed(value < 0.0))
}

fn push_exponential(out: &mut Vec<u8>, number: Magnitude, precision: usize, alternative: bool) {
    let start = out.len();
    let exponent = number.push_significant(out, precision + 1);
    if precision > 0 || alternative {
        insert(out, start + 1, 1, b'.');
    }
    push_exponent(out, exponent);
}

fn push_general(out: &mut Vec<u8>, number: Magnitude, precision: usize, alternative: bool) {
    let start = out.len();
    let exponent = number.push_significant(out, precision);
    let is_fixed = (-4..precision as i32).contains(&exponent);
    // Digits before the point; 0 puts the point before the first digit.
    let whole = match exponent {
        _ if !is_fixed => 1,
        0.. => exponent as usize + 1,
        _ => 0,
    };
    // Where only the rounding makes a number too large for plain digits (999999.5),
    // glibc forgets that `#` keeps the zeros.
    let forgets = exponent == precision as i32 && number.is_below_power_of_10(precision);
    if !alternative || forgets {
        let least = start + whole.max(1);
        while out.len() > least && out.last() == Some(&b'0') {
            out.pop();
        }
    }
    if whole == 0 {
        insert(out, start, exponent.unsigned_abs() as usize + 1, b'0');
        out[start + 1] = b'.';
    } else if out.len() - start > whole || alternative {
        insert(out, start + whole, 1, b'.');
    }
    if !is_fixed {
        push_exponent(out, exponent);
    }
}

/// Appends `e+00`: a sign and at least two digits.
fn push_exponent(out: &mut Vec<u8>, exponent: i32) {
    out.extend_from_slice(if exponent < 0 { b"e-" } else { b"e+" });
    if exponent.abs() < 10 {
        out.push(b'0');
    }
    push_decimal(out, exponent.unsigned_abs() as u64);
}

fn push_hexadecimal(
    out: &mut Vec<u8>,
    number: Hexadecimal,
    precision: Option<usize>,
    alternative: bool,
) {
    let number = number.rounded(precision.unwrap_or(usize::MAX));
    out.extend_from_slice(&[b'0', b'x', LOWER[number.leading as usize & 15]]);
    let point = out.len();
    for i in (0..number.digits).rev() {
        out.push(LOWER[(number.fraction >> (4 * i) & 15) as usize]);
    }
    match precision {
        Some(precision) => out.resize(point + precision, b'0'),
        None => {
            while out.len() > point && out.last() == Some(&b'0') {
                out.pop();
            }
        }
    }
    if out.len() > point || alternative {
        insert(out, point, 1, b'.');
    }
    out.extend_from_slice(if number.exponent < 0 { b"p-" } else { b"p+" });
    push_decimal(out, number.exponent.unsigned_abs() as u64);
}

/// A double that is not negative, with `precision` digits after the point.
#[inline]
fn push_double_fixed(out: &mut Vec<u8>, value: f64, precision: usize) {
    let (mantissa, twos) = parts(value);
    match scaled(mantissa, twos, precision as i32) {
        Some(rounded) if precision > 0 => {
            let unit = POWERS_OF_10[precision];
            push_decimal(out, rounded / unit);
            out.push(b'.');
            push_decimal_of(out, rounded % unit, precision);
        }
        Some(rounded) => push_decimal(out, rounded),
        // The standard library's digits are exact too, and as many as one likes.
        None => {
            let _ = write!(out, "{value:.precision$}");
        }
    }
}

fn push_double_significant(out: &mut Vec<u8>, value: f64, count: usize) -> i32 {
    match short_significant(value, count) {
        Some((digits, power)) => {
            push_decimal_of(out, digits, count);
            power
        }
        None => push_long_significant(out, value, count),
    }
}

/// The first `count` digits of a double as a number, and the power of ten that the
/// first one counts; none if that takes more than 128 bits.
fn short_significant(value: f64, count: usize) -> Option<(u64, i32)> {
    const MOST: usize = 18;
    if value == 0.0 && count <= MOST {
        return Some((0, 0));
    }
    if count > MOST || value < f64::MIN_POSITIVE {
        return None;
    }
    let (mantissa, twos) = parts(value);
    let mut power = floor_of_log10_of_power_of_2(52 + twos);
    loop {
        let digits = scaled(mantissa, twos, count as i32 - 1 - power)?;
        if digits < POWERS_OF_10[count] {
            return Some((digits, power));
        }
        power += 1;
    }
}

/// Only the exponent of the standard library is spelled another way.
fn push_long_significant(out: &mut Vec<u8>, value: f64, count: usize) -> i32 {
    let start = out.len();
    let _ = write!(out, "{value:.*e}", count - 1);
    let e = start + out[start..].iter().rposition(|b| *b == b'e').unwrap_or(0);
    let exponent = std::str::from_utf8(&out[e + 1..]);
    let exponent = exponent.ok().and_then(|e| e.parse().ok()).unwrap_or(0);
    out.truncate(e);
    if count > 1 {
        out.remove(start + 1);
    }
    exponent
}

/// A double that is not negative as mantissa · 2^exponent.
#[inline]
fn parts(value: f64) -> (u64, i32) {
    let exponent = (value.to_bits() >> 52) as i32;
    let fraction = value.to_bits() & ((1 << 52) - 1);
    (
        fraction | ((exponent != 0) as u64) << 52,
        exponent.max(1) - 1075,
    )
}

/// `mantissa` · 2^`twos` · 10^`tens`, rounded to a whole number, halves to the even
/// one; none if that takes more than 128 bits, or the result more than 64.
///
/// Does for most doubles what [`Big::scaled`](super::big::Big::scaled) does for any.
#[inline]
fn scaled(mantissa: u64, twos: i32, tens: i32) -> Option<u64> {
    let power = *POWERS_OF_10.get(tens.unsigned_abs() as usize)?;
    let (kept, is_up) = if tens >= 0 && twos < 0 {
        let product = mantissa as u128 * power as u128; // below 2^117
        let shift = twos.unsigned_abs();
        if shift > 118 {
            return Some(0);
        }
        let kept = product >> shift;
        let rest = product & ((1 << shift) - 1);
        let half = 1 << (shift - 1);
        (kept, rest > half || rest == half && kept & 1 == 1)
    } else if tens >= 0 {
        let product = mantissa as u128 * power as u128;
        (shifted(product, twos)?, false)
    } else {
        let numerator = shifted(mantissa as u128, twos.max(0))?;
        let denominator = shifted(power as u128, (-twos).max(0))?;
        let (kept, rest) = (numerator / denominator, numerator % denominator);
        let other = denominator - rest;
        (kept, rest > other || rest == other && kept & 1 == 1)
    };
    u64::try_from(kept + is_up as u128).ok()
}

fn shifted(value: u128, bits: i32) -> Option<u128> {
    let bits = bits.unsigned_abs();
    (bits <= value.leading_zeros() && bits < 128).then(|| value << bits)
}

/// 10^0 to 10^19, the last one below 2^64.
const POWERS_OF_10: [u64; 20] = {
    let mut powers = [1; 20];
    let mut i = 1;
    while i < 20 {
        powers[i] = powers[i - 1] * 10;
        i += 1;
    }
    powers
};
