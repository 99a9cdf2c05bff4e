//! The text of a record whose format has the braces of Rust's `format!`, as that would
//! print it; `std_format` has what C++'s prints otherwise. The reader's renderer is the model; this one allocates nothing.

use super::line::Line;
use crate::fixed_text::FixedText;
use core::fmt::Write;
use logdef_wire::braces::{Argument, Count, Piece, Pieces, Placeholder, Style};
use logdef_wire::printf::{Conversion, Integer, Length};
use logdef_wire::{Array, Description, Grammar, Typed, Value};

/// Wider fields and more precise numbers are not printed.
const MOST: usize = 128;

/// The digits of a number.
pub(super) type Digits = FixedText<512>;

/// Writes the text of a record to the line; one newline at its end is the line's.
pub(super) fn write(
    line: &mut Line,
    template: &[u8],
    description: Description<'_>,
    args: Array<'_>,
) {
    let template = template.strip_suffix(b"\n").unwrap_or(template);
    let values = Values {
        template,
        description,
        args,
    };
    for piece in Pieces::of(template, description.grammar()) {
        match piece {
            Piece::Text(from, to) => line.text(&template[from..to]),
            Piece::Placeholder(found) => values.print(line, &found),
        }
    }
}

/// What the placeholders of a template print.
struct Values<'a> {
    template: &'a [u8],
    description: Description<'a>,
    args: Array<'a>,
}

impl<'a> Values<'a> {
    fn get(&self, argument: Argument) -> Option<Value<'a>> {
        let index = match argument {
            Argument::Index(index) => index as usize,
            Argument::Name(from, to) => self.description.index_of(&self.template[from..to])?,
        };
        self.args.iter().nth(index)
    }

    fn count(&self, count: Count) -> Option<usize> {
        let count = match count {
            Count::None => return None,
            Count::Fixed(n) => n as usize,
            Count::Argument(argument) => self.get(argument)?.as_uint()?.try_into().ok()?,
        };
        Some(count.min(MOST))
    }

    fn print(&self, line: &mut Line, found: &Placeholder) {
        let Some(value) = self.get(found.argument) else {
            return line.bytes(b"?");
        };
        let (from, to) = found.fill;
        let field = Field {
            placeholder: found,
            fill: &self.template[from..to],
            width: self.count(found.width).unwrap_or(0),
            precision: self.count(found.precision),
        };
        match self.description.grammar() {
            Grammar::StdFormat => field.print_std(line, value),
            _ => field.print(line, value),
        }
    }
}

/// A placeholder whose width and precision are known.
pub(super) struct Field<'t> {
    pub placeholder: &'t Placeholder,
    fill: &'t [u8],
    pub width: usize,
    pub precision: Option<usize>,
}

impl Field<'_> {
    fn print(&self, line: &mut Line, value: Value<'_>) {
        match value {
            // What the program printed.
            Value::Raw(text) if self.placeholder.style == Style::Debug => line.text(text),
            Value::Raw(text) => self.text(line, text),
            Value::Bool(true) => self.text(line, b"true"),
            Value::Bool(false) => self.text(line, b"false"),
            Value::Nil => self.text(line, b"None"),
            Value::Float(value) => self.float(line, value),
            _ => match (Integer::of(value), value.as_array().and_then(Typed::of)) {
                (Some(value), _) => self.integer(line, value),
                (None, Some(Typed::Printed(text) | Typed::Bytes(text))) => line.text(text),
                _ => line.bytes(b"?"),
            },
        }
    }

    /// Text, cut at the precision and padded; both count characters.
    pub fn text(&self, line: &mut Line, text: &[u8]) {
        let is_start = |byte: &u8| byte & 0xc0 != 0x80;
        let starts = text.iter().enumerate().filter(|(_, byte)| is_start(byte));
        let end = self
            .precision
            .and_then(|most| starts.map(|(at, _)| at).nth(most));
        let text = &text[..end.unwrap_or(text.len())];
        let length = text.iter().filter(|byte| is_start(byte)).count();
        self.padded(line, length, b'<', |line| line.text(text));
    }

    fn integer(&self, line: &mut Line, value: Integer) {
        let style = self.placeholder.style;
        let bits = value.printed(Length::None, Conversion(b'x'), Grammar::Braces);
        let (of, bits) = (value.magnitude, bits.magnitude);
        let precision = self.precision;
        let mut digits = Digits::new();
        let (is_negative, prefix, printed) = match (style, precision) {
            (Style::Letter(b'x'), _) => (false, "0x", write!(digits, "{bits:x}")),
            (Style::Letter(b'X'), _) => (false, "0x", write!(digits, "{bits:X}")),
            (Style::Letter(b'o'), _) => (false, "0o", write!(digits, "{bits:o}")),
            (Style::Letter(b'b'), _) => (false, "0b", write!(digits, "{bits:b}")),
            (Style::Letter(b'p'), _) => return self.pointer(line, bits),
            (Style::Letter(b'e'), None) => (value.is_negative, "", write!(digits, "{of:e}")),
            (Style::Letter(b'e'), Some(p)) => (value.is_negative, "", write!(digits, "{of:.p$e}")),
            (Style::Letter(_), None) => (value.is_negative, "", write!(digits, "{of:E}")),
            (Style::Letter(_), Some(p)) => (value.is_negative, "", write!(digits, "{of:.p$E}")),
            _ => (value.is_negative, "", write!(digits, "{of}")),
        };
        // What does not fit is left out.
        let _ = printed;
        let prefix = if self.placeholder.alternate {
            prefix
        } else {
            ""
        };
        self.number(line, self.placeholder.sign(is_negative), prefix, &digits);
    }

    fn pointer(&self, line: &mut Line, at: u128) {
        let mut digits = Digits::new();
        let _ = if self.placeholder.alternate {
            write!(digits, "{at:016x}")
        } else {
            write!(digits, "{at:x}")
        };
        self.number(line, "", "0x", &digits);
    }

    fn float(&self, line: &mut Line, value: f64) {
        let of = value.abs();
        let mut digits = Digits::new();
        let printed = match (self.placeholder.style, self.precision) {
            (Style::Letter(b'e'), None) => write!(digits, "{of:e}"),
            (Style::Letter(b'e'), Some(p)) => write!(digits, "{of:.p$e}"),
            (Style::Letter(b'E'), None) => write!(digits, "{of:E}"),
            (Style::Letter(b'E'), Some(p)) => write!(digits, "{of:.p$E}"),
            (Style::Debug, None) => write!(digits, "{of:?}"),
            (_, None) => write!(digits, "{of}"),
            (_, Some(p)) => write!(digits, "{of:.p$}"),
        };
        let _ = printed;
        let sign = if value.is_nan() {
            ""
        } else {
            self.placeholder.sign(value.is_sign_negative())
        };
        self.number(line, sign, "", &digits);
    }

    fn number(&self, line: &mut Line, sign: &str, prefix: &str, digits: &Digits) {
        let length = sign.len() + prefix.len() + digits.bytes().len();
        let zeros = if self.placeholder.zero {
            self.width.saturating_sub(length)
        } else {
            0
        };
        self.padded(line, length + zeros, b'>', |line| {
            line.print(format_args!("{sign}{prefix}{:0<zeros$}", ""));
            line.bytes(digits.bytes());
        });
    }

    /// Pads what `body` writes, of `length` characters.
    pub fn padded(
        &self,
        line: &mut Line,
        length: usize,
        default: u8,
        body: impl FnOnce(&mut Line),
    ) {
        let padding = self.width.saturating_sub(length);
        let before = match self.placeholder.align {
            b'<' => 0,
            b'^' => padding / 2,
            b'>' => padding,
            _ if default == b'<' => 0,
            _ => padding,
        };
        let fill = match self.fill {
            [] => b" ",
            fill => fill,
        };
        (0..before).for_each(|_| line.text(fill));
        body(line);
        (before..padding).for_each(|_| line.text(fill));
    }
}
