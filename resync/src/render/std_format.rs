//! A value as C++'s `std::format` would have printed it: what differs from Rust's braces. The
//! shortest digits of a number are those of `std::to_chars`, others those of `printf`.

use logdef_wire::braces::Style;
use logdef_wire::printf::{Flags, Integer};
use logdef_wire::{Typed, Value};

use super::braces::{Spec, hexadecimal, push_misplaced};
use super::float::{Magnitude, push_float};
use super::padding::Layout;

/// The letter by which the writer marks a `float` that is printed by its shortest digits.
const SHORT_FLOAT: u8 = b'h';

impl Spec<'_> {
    /// Appends a value by a placeholder of C++'s.
    pub fn push_std(&self, value: &Value<'_>, out: &mut Vec<u8>) {
        match *value {
            Value::Raw([byte]) if self.is_of_integers() => {
                self.push_std_integer(false, (*byte).into(), out)
            }
            Value::Raw(text) => self.push_std_text(text, out),
            Value::Bool(value) if self.is_of_integers() => {
                self.push_std_integer(false, value.into(), out)
            }
            Value::Bool(value) => self.push_std_text(value.to_string().as_bytes(), out),
            Value::Float(value) => self.push_std_float(value, out),
            Value::Nil => self.push_std_text(b"(null)", out),
            _ => match (Integer::of(*value), value.as_array().and_then(Typed::of)) {
                (Some(value), _) if self.letter() == b'c' => self.push_character(value, out),
                (Some(value), _) => self.push_std_integer(value.is_negative, value.magnitude, out),
                (None, Some(Typed::Printed(text))) => out.extend_from_slice(text),
                (None, Some(Typed::Bytes(bytes))) => {
                    self.push_std_text(hexadecimal(bytes).as_bytes(), out);
                }
                _ => push_misplaced(value, out),
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

    fn is_of_integers(&self) -> bool {
        matches!(self.letter(), b'b' | b'B' | b'd' | b'o' | b'x' | b'X')
    }

    /// Text, cut at the precision and padded; both count columns, of which some characters take two.
    fn push_std_text(&self, text: &[u8], out: &mut Vec<u8>) {
        let (mut columns, mut end) = (0, 0);
        for chunk in text.utf8_chunks() {
            let valid = chunk.valid().chars().map(|c| (c.len_utf8(), columns_of(c)));
            let invalid = chunk.invalid().iter().map(|_| (1, 1));
            for (len, wide) in valid.chain(invalid) {
                if self.precision.is_some_and(|most| columns + wide > most) {
                    return self.pad(columns, b'<', out, |out| {
                        out.extend_from_slice(&text[..end])
                    });
                }
                (columns, end) = (columns + wide, end + len);
            }
        }
        self.pad(columns, b'<', out, |out| out.extend_from_slice(text));
    }

    /// The character of an integer, by `{:c}`.
    fn push_character(&self, value: Integer, out: &mut Vec<u8>) {
        let c = u32::try_from(value.magnitude).ok().and_then(char::from_u32);
        match c.filter(|_| !value.is_negative) {
            Some(c) => self.push_std_text(c.encode_utf8(&mut [0; 4]).as_bytes(), out),
            None => self.push_std_integer(value.is_negative, value.magnitude, out),
        }
    }

    fn push_std_integer(&self, is_negative: bool, magnitude: u128, out: &mut Vec<u8>) {
        let (prefix, digits) = match self.letter() {
            b'b' => ("0b", format!("{magnitude:b}")),
            b'B' => ("0B", format!("{magnitude:b}")),
            b'o' => (
                if magnitude == 0 { "" } else { "0" },
                format!("{magnitude:o}"),
            ),
            b'x' => ("0x", format!("{magnitude:x}")),
            b'X' => ("0X", format!("{magnitude:X}")),
            b'p' => return self.push_std_number("0x", &format!("{magnitude:x}"), true, out),
            _ => ("", magnitude.to_string()),
        };
        let prefix = if self.placeholder.alternate {
            prefix
        } else {
            ""
        };
        let before = format!("{}{prefix}", self.placeholder.sign(is_negative));
        self.push_std_number(&before, &digits, true, out);
    }

    fn push_std_float(&self, value: f64, out: &mut Vec<u8>) {
        let sign = self.placeholder.sign(value.is_sign_negative());
        let letter = self.letter();
        let digits = match letter {
            0 | SHORT_FLOAT if self.precision.is_none() && value.is_finite() => {
                let digits = shortest(value.abs(), letter == SHORT_FLOAT);
                if self.placeholder.alternate {
                    with_point(digits)
                } else {
                    digits
                }
            }
            _ => self.as_by_printf(value, letter),
        };
        self.push_std_number(sign, &digits, value.is_finite(), out);
    }

    /// The digits as `printf` has them, in hexadecimal without the prefix.
    fn as_by_printf(&self, value: f64, letter: u8) -> String {
        let (_, magnitude) = Magnitude::of(value);
        let letter = match letter {
            b'a' | b'A' | b'e' | b'E' | b'f' | b'F' | b'G' => letter,
            _ => b'g',
        };
        let flags = if self.placeholder.alternate {
            Flags::ALTERNATIVE
        } else {
            Flags::default()
        };
        let layout = Layout {
            flags,
            width: 0,
            precision: self.precision,
        };
        let mut digits = Vec::new();
        push_float(&mut digits, &layout, (false, magnitude), letter);
        if letter.eq_ignore_ascii_case(&b'a') && value.is_finite() {
            digits.drain(..2);
        }
        String::from_utf8_lossy(&digits).into_owned()
    }

    /// A number after its sign and prefix, with zeros between them if the placeholder asks for
    /// them and names no alignment.
    fn push_std_number(&self, before: &str, digits: &str, takes_zeros: bool, out: &mut Vec<u8>) {
        let length = before.len() + digits.len();
        let fills = takes_zeros && self.placeholder.zero && self.placeholder.align == 0;
        let zeros = if fills {
            self.width.saturating_sub(length)
        } else {
            0
        };
        self.pad(length + zeros, b'>', out, |out| {
            out.extend_from_slice(before.as_bytes());
            out.resize(out.len() + zeros, b'0');
            out.extend_from_slice(digits.as_bytes());
        });
    }
}

/// The fewest digits that give the number back, as `std::to_chars` has them: with or without
/// an exponent, whichever is shorter.
fn shortest(value: f64, is_float: bool) -> String {
    let digits = if is_float {
        format!("{:e}", value as f32)
    } else {
        format!("{value:e}")
    };
    let (mantissa, exponent) = digits.split_once('e').unwrap_or((&digits, "0"));
    let tens: i32 = exponent.parse().unwrap_or(0);
    let sign = if tens < 0 { '-' } else { '+' };
    let scientific = format!("{mantissa}e{sign}{:02}", tens.unsigned_abs());
    let behind_point = mantissa.len().saturating_sub(2) as i32;
    let fixed = if tens >= behind_point {
        // All digits of a whole number, and not zeros after the shortest.
        format!("{value:.0}")
    } else if is_float {
        format!("{}", value as f32)
    } else {
        format!("{value}")
    };
    if fixed.len() <= scientific.len() {
        fixed
    } else {
        scientific
    }
}

/// `#`: a point even where no digit follows.
fn with_point(mut digits: String) -> String {
    if !digits.contains('.') {
        let at = digits.find('e').unwrap_or(digits.len());
        digits.insert(at, '.');
    }
    digits
}

/// How many columns of a terminal a character takes, as the standard estimates it.
fn columns_of(c: char) -> usize {
    const TWO: [(u32, u32); 13] = [
        (0x1100, 0x115f),
        (0x2329, 0x232a),
        (0x2e80, 0x303e),
        (0x3040, 0xa4cf),
        (0xac00, 0xd7a3),
        (0xf900, 0xfaff),
        (0xfe10, 0xfe19),
        (0xfe30, 0xfe6f),
        (0xff00, 0xff60),
        (0xffe0, 0xffe6),
        (0x1f300, 0x1f64f),
        (0x1f900, 0x1f9ff),
        (0x20000, 0x3fffd),
    ];
    let c = u32::from(c);
    let is_wide = c >= TWO[0].0 && TWO.iter().any(|(from, to)| (*from..=*to).contains(&c));
    if is_wide { 2 } else { 1 }
}

#[cfg(test)]
mod tests {
    use crate::render::CompiledFormat;
    use logdef_wire::{Description, Value};

    /// What libfmt 9 and `std::to_chars` of gcc 12 print; more of them by
    /// `samples/tests/std_format`.
    #[test]
    fn values_print_as_by_the_standard() {
        let text = Value::Raw("größe".as_bytes());
        let rows = [
            (
                "{:+}|{: }|{:05}|{:<05}|",
                Value::Int(7),
                "+7| 7|00007|7    |",
            ),
            (
                "{:x}|{:#x}|{:#010X}|{:#o}",
                Value::Int(-255),
                "-ff|-0xff|-0X00000FF|-0377",
            ),
            (
                "{:#o}|{:#b}|{:#B}|{:c}",
                Value::Uint(65),
                "0101|0b1000001|0B1000001|A",
            ),
            (
                "{}|{:d}|{:7}|{:>6}|{:#x}",
                Value::Bool(true),
                "true|1|true   |  true|0x1",
            ),
            (
                "{}|{:d}|{:#x}|{:4}|{:>4}",
                Value::Raw(b"c"),
                "c|99|0x63|c   |   c",
            ),
            ("{}|{:.3}|{:>7}|{:é^8}", text, "größe|grö|  größe|égrößeéé"),
            ("{:.3}|{:5}|", Value::Raw("世界".as_bytes()), "世|世界 |"),
            ("{:p}|{:>8p}", Value::Uint(0x7f), "0x7f|    0x7f"),
            (
                "{}|{:10}|{:<10}|",
                Value::Nil,
                "(null)|(null)    |(null)    |",
            ),
            (
                "{}|{:#}|{:#.0f}|{:+}|{:08}",
                Value::Float(1.0),
                "1|1.|1.|+1|00000001",
            ),
            (
                "{}|{:e}|{:g}|{:.3}",
                Value::Float(100_000.0),
                "1e+05|1.000000e+05|100000|1e+05",
            ),
            (
                "{}|{:.2f}|{:F}",
                Value::Float(123.456),
                "123.456|123.46|123.456000",
            ),
            (
                "{}|{:a}|{:A}|{:.1a}",
                Value::Float(0.1),
                "0.1|1.999999999999ap-4|1.999999999999AP-4|1.ap-4",
            ),
            (
                "{}|{:h}",
                Value::Float(0.1f32 as f64),
                "0.10000000149011612|0.1",
            ),
            (
                "{}",
                Value::Float(1.2345678901234568e20),
                "123456789012345683968",
            ),
            (
                "{}|{:E}|{:06}|{:<6}|",
                Value::Float(f64::NEG_INFINITY),
                "-inf|-INF|  -inf|-inf  |",
            ),
            ("{:+}|{:G}", Value::Float(f64::NAN), "+nan|NAN"),
        ];
        for (template, value, expected) in rows {
            let description = Description::of(b"f");
            let compiled = CompiledFormat::described(template.as_bytes(), description).unwrap();
            let mut out = Vec::new();
            compiled.render(&[value; 6], &mut out);
            assert_eq!(
                String::from_utf8(out).unwrap(),
                expected,
                "{template} of {value:?}"
            );
        }
    }

    #[test]
    fn counts_are_values_and_names_are_found() {
        let values = [
            Value::Float(2.5),
            Value::Uint(8),
            Value::Uint(1),
            Value::Raw(b"x"),
        ];
        let rendered = |template: &str| {
            let description = Description::of(b"f:ms,w,,name");
            let compiled = CompiledFormat::described(template.as_bytes(), description).unwrap();
            let mut out = Vec::new();
            compiled.render(&values, &mut out);
            String::from_utf8(out).unwrap()
        };
        assert_eq!(rendered("{:{}.{}f}|{{{}}}"), "     2.5|{x}");
        assert_eq!(rendered("{ms:>{w}} {name} {2}"), "     2.5 x 1");
        assert_eq!(rendered("{none} {9}"), "%!{none}(missing) %!{9}(missing)");
    }
}
