//! Integers: `%d %i %u %x %X %o %b %B` and pointers. What a directive prints of a
//! value is the wire format's rule; here it gets digits.

use logdef_wire::printf::{Flags, Integer};

use super::decimal::push_wide;
use super::padding::{Layout, insert};

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

/// `%d`.
pub(super) fn push_signed(out: &mut Vec<u8>, layout: &Layout, value: Integer) {
    let start = out.len();
    layout.push_sign(out, value.is_negative);
    push_digits(out, layout, start, value.magnitude, Base::Decimal, b'd');
}

/// `%u`, `%x` and their like. The letter gives the digits' case.
pub(super) fn push_unsigned(out: &mut Vec<u8>, layout: &Layout, value: u128, letter: u8) {
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
    push_digits(out, layout, start, value as u128, Base::Hexadecimal, b'x');
}

fn push_prefix(out: &mut Vec<u8>, layout: &Layout, value: u128, base: Base, letter: u8) {
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
    value: u128,
    base: Base,
    letter: u8,
) {
    let digits = out.len();
    if value != 0 || layout.precision != Some(0) {
        match base {
            Base::Decimal => push_wide(out, value),
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
fn push_binary(out: &mut Vec<u8>, mut value: u128, bits: u32, digits: &[u8; 16]) {
    let mut buffer = [0; 128];
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
