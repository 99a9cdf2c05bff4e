//! One number as printf prints it: integers here, since the C library has none of
//! 128 bits, the others by the C library. A room for unsafe: this is where a directive
//! is put together, so that it is always of the type that is passed.

use crate::fixed_text::FixedText;
use core::fmt::{self, Write};
use logdef_wire::printf::{Conversion, Flags, Integer};

/// A directive for the C library: `%`, six flags at most, two numbers of twenty digits, and
/// the rest.
type Directive = FixedText<56>;

/// How a number is printed.
#[derive(Clone, Copy)]
pub(super) struct Form {
    pub flags: Flags,
    pub left: bool,
    pub width: usize,
    pub precision: Option<usize>,
    pub conversion: Conversion,
}

/// What is printed.
#[derive(Clone, Copy)]
pub(super) enum Number {
    Integer(Integer),
    Float(f64),
    Pointer(u64),
}

impl Form {
    /// Room for the longest number.
    pub const ROOM: usize = 640;

    /// Prints a number. A conversion that is not for it is replaced.
    pub fn print(self, number: Number, into: &mut [u8; Form::ROOM]) -> &[u8] {
        if let Number::Integer(value) = number {
            return self.print_integer(value, into);
        }
        let mut spec = Directive::new();
        let _ = self.write(number, &mut spec);
        let spec = spec.as_c_str().as_ptr();
        let (at, room) = (into.as_mut_ptr().cast(), into.len());
        // SAFETY: the directive, by `write`, takes one `long long` or one `double`,
        // and no other; what is printed is cut to the room.
        let len = unsafe {
            match number {
                Number::Integer(_) => 0,
                Number::Pointer(value) => libc::snprintf(at, room, spec, value),
                Number::Float(value) => libc::snprintf(at, room, spec, value),
            }
        };
        let len = usize::try_from(len).unwrap_or(0);
        &into[..len.min(Form::ROOM - 1)]
    }

    /// An integer: blanks, sign or prefix, zeros, digits, blanks.
    fn print_integer(self, value: Integer, into: &mut [u8; Form::ROOM]) -> &[u8] {
        let letter = self.conversion.0;
        let mut digits = [0; 128];
        let digits = match (value.magnitude, self.precision) {
            (0, Some(0)) => &[][..],
            (magnitude, _) => digits_of(magnitude, letter, &mut digits),
        };
        let prefix: &[u8] = match letter {
            b'd' | b'i' if value.is_negative => b"-",
            b'd' | b'i' if self.flags.has(Flags::PLUS) => b"+",
            b'd' | b'i' if self.flags.has(Flags::SPACE) => b" ",
            b'x' | b'X' | b'b' | b'B'
                if self.flags.has(Flags::ALTERNATIVE) && value.magnitude > 0 =>
            {
                &[b'0', letter]
            }
            _ => b"",
        };
        let octal = letter == b'o' && self.flags.has(Flags::ALTERNATIVE);
        let mut zeros = self.precision.unwrap_or(0).saturating_sub(digits.len());
        if octal && zeros == 0 && digits.first() != Some(&b'0') {
            zeros = 1;
        }
        let mut blanks = self
            .width
            .saturating_sub(prefix.len() + zeros + digits.len());
        if self.flags.has(Flags::ZERO) && !self.left && self.precision.is_none() {
            zeros += core::mem::take(&mut blanks);
        }
        let (before, behind) = if self.left { (0, blanks) } else { (blanks, 0) };
        let mut len = 0;
        let mut push = |byte: u8, count: usize| {
            for place in into.iter_mut().skip(len).take(count) {
                *place = byte;
            }
            len = (len + count).min(Form::ROOM);
        };
        push(b' ', before);
        prefix.iter().for_each(|byte| push(*byte, 1));
        push(b'0', zeros);
        digits.iter().for_each(|byte| push(*byte, 1));
        push(b' ', behind);
        &into[..len]
    }

    fn write(self, number: Number, spec: &mut Directive) -> fmt::Result {
        spec.write_char('%')?;
        for (flag, letter) in [
            (Flags::PLUS, '+'),
            (Flags::SPACE, ' '),
            (Flags::ALTERNATIVE, '#'),
            (Flags::ZERO, '0'),
            (Flags::GROUP, '\''),
        ] {
            if self.flags.has(flag) {
                spec.write_char(letter)?;
            }
        }
        if self.left {
            spec.write_char('-')?;
        }
        if self.width > 0 {
            write!(spec, "{}", self.width)?;
        }
        if let Some(precision) = self.precision {
            write!(spec, ".{precision}")?;
        }
        let letter = self.conversion.0;
        match number {
            Number::Pointer(_) => spec.write_str("#llx"),
            Number::Integer(_) => Ok(()),
            Number::Float(_) => match letter {
                b'e' | b'E' | b'f' | b'F' | b'g' | b'G' | b'a' | b'A' => {
                    spec.write_char(char::from(letter))
                }
                _ => spec.write_char('g'),
            },
        }
    }
}

/// The digits of a number in the base of a conversion.
fn digits_of(mut value: u128, letter: u8, into: &mut [u8; 128]) -> &[u8] {
    let base = match letter {
        b'b' | b'B' => 2,
        b'o' => 8,
        b'x' | b'X' => 16,
        _ => 10,
    };
    let mut at = into.len();
    loop {
        at -= 1;
        into[at] = match (value % base) as u8 {
            digit @ 0..=9 => b'0' + digit,
            digit if letter == b'X' => b'A' + digit - 10,
            digit => b'a' + digit - 10,
        };
        value /= base;
        if value == 0 {
            return &into[at..];
        }
    }
}
