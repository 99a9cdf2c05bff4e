//! Integers: `%d %i %u %x %X %o %b %B` and pointers. A value comes with its true
//! sign and is first converted to the type that the directive names.

use logdef_wire::printf::{Flags, Length};

use super::decimal::push_decimal;
use super::padding::{Layout, insert};

/// How many bits of an argument a directive prints.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Bits {
    /// 8, 16 or 64, as the length modifier says.
    Exactly(u32),
    /// An `int`. C passes no more; a value from elsewhere that does not fit is
    /// printed in full.
    Int,
}

impl Bits {
    pub fn of(length: Length) -> Self {
        match length {
            Length::None => Self::Int,
            Length::Char | Length::W8 | Length::Wf8 => Self::Exactly(8),
            Length::Short | Length::W16 => Self::Exactly(16),
            Length::W32 => Self::Exactly(32),
            _ => Self::Exactly(64),
        }
    }

    /// The value that `%d` prints: its sign, and how far from 0 it is.
    pub fn signed(self, value: i128) -> (bool, u64) {
        let value = match self {
            Self::Exactly(bits) => sign_extended(value as i64, bits) as i128,
            Self::Int if fits_int(value) => value as i32 as i128,
            Self::Int => value,
        };
        (value < 0, value.unsigned_abs() as u64)
    }

    /// The value that `%u` prints.
    pub fn unsigned(self, value: i128) -> u64 {
        match self {
            Self::Exactly(64) => value as u64,
            Self::Exactly(bits) => value as u64 & ((1 << bits) - 1),
            Self::Int if fits_int(value) => value as u32 as u64,
            Self::Int => value as u64,
        }
    }
}

/// Whether an `int` or an `unsigned int` has this value.
fn fits_int(value: i128) -> bool {
    (i32::MIN as i128..=u32::MAX as i128).contains(&value)
}

fn sign_extended(value: i64, bits: u32) -> i64 {
    value << (64 - bits) >> (64 - bits)
}

/// What an unsigned number is written in.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Base {
    Binary,
    Octal,
    Decimal,
    Hexadecimal,
}

impl Base {
    /// The base of a conversion letter; decimal for those that name none.
    pub fn of(letter: u8) -> Self {
        match letter {
            b'b' | b'B' => Self::Binary,
            b'o' => Self::Octal,
            b'x' | b'X' | b'p' => Self::Hexadecimal,
            _ => Self::Decimal,
        }
    }
}

/// `%d` of a sign and a magnitude.
pub(super) fn push_signed(out: &mut Vec<u8>, layout: &Layout, (negative, magnitude): (bool, u64)) {
    let start = out.len();
    layout.push_sign(out, negative);
    push_digits(out, layout, start, magnitude, Base::Decimal, b'd');
}

/// `%u`, `%x` and their like. The letter tells the digits' case.
pub(super) fn push_unsigned(out: &mut Vec<u8>, layout: &Layout, value: u64, letter: u8) {
    let start = out.len();
    let base = Base::of(letter);
    push_prefix(out, layout, value, base, letter);
    push_digits(out, layout, start, value, base, letter);
}

/// `%p` of a pointer that is not null: glibc has it as `%#lx`, but with a sign.
pub(super) fn push_pointer(out: &mut Vec<u8>, layout: &Layout, value: u64) {
    let start = out.len();
    layout.push_sign(out, false);
    out.extend_from_slice(b"0x");
    push_digits(out, layout, start, value, Base::Hexadecimal, b'x');
}

fn push_prefix(out: &mut Vec<u8>, layout: &Layout, value: u64, base: Base, letter: u8) {
    if value != 0
        && layout.has(Flags::ALTERNATIVE)
        && matches!(base, Base::Binary | Base::Hexadecimal)
    {
        out.extend_from_slice(&[b'0', letter]);
    }
}

/// Writes the digits of a number whose sign and prefix stand from `start`, then
/// pads it.
fn push_digits(
    out: &mut Vec<u8>,
    layout: &Layout,
    start: usize,
    value: u64,
    base: Base,
    letter: u8,
) {
    let digits = out.len();
    if value != 0 || layout.precision != Some(0) {
        match base {
            Base::Decimal => push_decimal(out, value),
            Base::Hexadecimal if letter == b'X' => push_binary(out, value, 4, UPPER),
            Base::Hexadecimal => push_binary(out, value, 4, LOWER),
            Base::Octal => push_binary(out, value, 3, LOWER),
            Base::Binary => push_binary(out, value, 1, LOWER),
        }
    }
    let written = out.len() - digits;
    let precision = layout.precision.unwrap_or(0);
    if written < precision {
        insert(out, digits, precision - written, b'0');
    } else if base == Base::Octal && layout.has(Flags::ALTERNATIVE) && (value != 0 || written == 0)
    {
        insert(out, digits, 1, b'0');
    }
    if layout.precision.is_some() {
        layout.pad(out, start);
    } else {
        layout.pad_number(out, start, digits);
    }
}

/// Writes `value` in a base of `bits` bits per digit.
fn push_binary(out: &mut Vec<u8>, mut value: u64, bits: u32, digits: &[u8; 16]) {
    let mut buffer = [0; 64];
    let mut at = buffer.len();
    loop {
        at -= 1;
        buffer[at] = digits[(value & ((1 << bits) - 1)) as usize];
        value >>= bits;
        if value == 0 {
            break;
        }
    }
    out.extend_from_slice(&buffer[at..]);
}

pub(super) const LOWER: &[u8; 16] = b"0123456789abcdef";
pub(super) const UPPER: &[u8; 16] = b"0123456789ABCDEF";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_converted_to_the_type_of_the_directive() {
        assert_eq!(Bits::of(Length::Char).signed(300), (false, 44));
        assert_eq!(Bits::of(Length::Char).signed(200), (true, 56));
        assert_eq!(Bits::of(Length::Char).unsigned(-1), 255);
        assert_eq!(Bits::of(Length::Short).signed(70_000), (false, 4464));
        assert_eq!(Bits::of(Length::None).signed(0xffff_ffff), (true, 1));
        assert_eq!(Bits::of(Length::None).unsigned(-1), 0xffff_ffff);
        assert_eq!(Bits::of(Length::Long).unsigned(-1), u64::MAX);
        assert_eq!(Bits::of(Length::Long).signed(u64::MAX as i128), (true, 1));
        assert_eq!(
            Bits::of(Length::Long).signed(i64::MIN as i128),
            (true, 1 << 63)
        );
    }

    #[test]
    fn what_no_int_holds_is_printed_in_full() {
        assert_eq!(Bits::Int.signed(1 << 32), (false, 1 << 32));
        assert_eq!(Bits::Int.signed(u64::MAX as i128), (false, u64::MAX));
        assert_eq!(
            Bits::Int.signed(i32::MIN as i128 - 1),
            (true, (1 << 31) + 1)
        );
        assert_eq!(Bits::Int.unsigned(1 << 32), 1 << 32);
        assert_eq!(
            Bits::Int.unsigned(i32::MIN as i128 - 1),
            0xffff_ffff_7fff_ffff
        );
    }
}
