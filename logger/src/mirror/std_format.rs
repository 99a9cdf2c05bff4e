//! A value by a placeholder of C++'s `std::format`. The reader's renderer is the model; this one
//! allocates nothing, and leaves the columns of wide characters out.

use super::braces::{Digits, Field};
use super::line::Line;
use super::number::{Form, Number};
use core::fmt::Write;
use logdef_wire::braces::Style;
use logdef_wire::printf::{Conversion, Flags, Integer};
use logdef_wire::{Typed, Value};

/// The letter by which the writer marks a `float` that is printed by its shortest digits.
const SHORT_FLOAT: u8 = b'h';

impl Field<'_> {
    pub fn print_std(&self, line: &mut Line, value: Value<'_>) {
        let by_digits = matches!(self.letter(), b'b' | b'B' | b'd' | b'o' | b'x' | b'X');
        match value {
            Value::Raw([byte]) if by_digits => self.std_integer(line, false, u128::from(*byte)),
            Value::Raw(text) => self.text(line, text),
            Value::Bool(value) if by_digits => self.std_integer(line, false, u128::from(value)),
            Value::Bool(true) => self.text(line, b"true"),
            Value::Bool(false) => self.text(line, b"false"),
            Value::Nil => self.text(line, b"(null)"),
            Value::Float(value) => self.std_float(line, value),
            _ => match (Integer::of(value), value.as_array().and_then(Typed::of)) {
                (Some(value), _) => self.std_integer(line, value.is_negative, value.magnitude),
                (None, Some(Typed::Printed(text) | Typed::Bytes(text))) => line.text(text),
                _ => line.bytes(b"?"),
            },
        }
    }

    /// The type of the placeholder; 0 if it names none.
    fn letter(&self) -> u8 {
        match self.placeholder.style {
            Style::Letter(letter) => letter,
            Style::Display | Style::Debug => 0,
        }
    }

    fn std_integer(&self, line: &mut Line, is_negative: bool, of: u128) {
        let character = u32::try_from(of).ok().and_then(char::from_u32);
        if let (b'c', Some(c)) = (self.letter(), character) {
            return self.text(line, c.encode_utf8(&mut [0; 4]).as_bytes());
        }
        let mut digits = Digits::new();
        let (prefix, printed) = match self.letter() {
            b'b' => ("0b", write!(digits, "{of:b}")),
            b'B' => ("0B", write!(digits, "{of:b}")),
            b'o' => (if of == 0 { "" } else { "0" }, write!(digits, "{of:o}")),
            b'x' | b'p' => ("0x", write!(digits, "{of:x}")),
            b'X' => ("0X", write!(digits, "{of:X}")),
            _ => ("", write!(digits, "{of}")),
        };
        // They fit.
        let _ = printed;
        let has_prefix = self.placeholder.alternate || self.letter() == b'p';
        let prefix = if has_prefix { prefix } else { "" };
        self.std_number(
            line,
            self.placeholder.sign(is_negative),
            prefix,
            digits.bytes(),
            true,
        );
    }

    fn std_float(&self, line: &mut Line, value: f64) {
        let sign = self.placeholder.sign(value.is_sign_negative());
        let is_short = matches!(self.letter(), 0 | SHORT_FLOAT) && self.precision.is_none();
        if is_short && value.is_finite() {
            let digits = shortest(value.abs(), self.letter() == SHORT_FLOAT);
            return self.std_number(line, sign, "", digits.bytes(), true);
        }
        let letter = match self.letter() {
            letter @ (b'a' | b'A' | b'e' | b'E' | b'f' | b'F' | b'G') => letter,
            _ => b'g',
        };
        let form = Form {
            flags: if self.placeholder.alternate {
                Flags::ALTERNATIVE
            } else {
                Flags::default()
            },
            left: false,
            width: 0,
            precision: self.precision,
            conversion: Conversion(letter),
        };
        let mut room = [0; Form::ROOM];
        let digits = form.print(Number::Float(value.abs()), &mut room);
        // `std::format` has no prefix there.
        let is_hexadecimal = letter.eq_ignore_ascii_case(&b'a') && value.is_finite();
        let digits = &digits[if is_hexadecimal { 2 } else { 0 }.min(digits.len())..];
        self.std_number(line, sign, "", digits, value.is_finite());
    }

    fn std_number(
        &self,
        line: &mut Line,
        sign: &str,
        prefix: &str,
        digits: &[u8],
        takes_zeros: bool,
    ) {
        let length = sign.len() + prefix.len() + digits.len();
        let fills = takes_zeros && self.placeholder.zero && self.placeholder.align == 0;
        let zeros = if fills {
            self.width.saturating_sub(length)
        } else {
            0
        };
        self.padded(line, length + zeros, b'>', |line| {
            line.print(format_args!("{sign}{prefix}{:0<zeros$}", ""));
            line.bytes(digits);
        });
    }
}

/// The fewest digits that give the number back, with or without an exponent, whichever is
/// shorter.
fn shortest(value: f64, is_float: bool) -> Digits {
    let (mut fixed, mut scientific) = (Digits::new(), Digits::new());
    let mut mantissa = Mantissa::new();
    // What does not fit is left out.
    let _ = if is_float {
        write!(mantissa, "{:e}", value as f32)
    } else {
        write!(mantissa, "{value:e}")
    };
    let text = core::str::from_utf8(mantissa.bytes()).unwrap_or_default();
    let (mantissa, exponent) = text.split_once('e').unwrap_or((text, "0"));
    let tens: i32 = exponent.parse().unwrap_or(0);
    let sign = if tens < 0 { '-' } else { '+' };
    let _ = write!(scientific, "{mantissa}e{sign}{:02}", tens.unsigned_abs());
    let _ = if tens >= mantissa.len().saturating_sub(2) as i32 {
        write!(fixed, "{value:.0}")
    } else if is_float {
        write!(fixed, "{}", value as f32)
    } else {
        write!(fixed, "{value}")
    };
    if fixed.bytes().len() <= scientific.bytes().len() {
        fixed
    } else {
        scientific
    }
}

/// Digits and exponent of a double.
type Mantissa = crate::fixed_text::FixedText<32>;
