//! The text of a record, as the C library's printf would have it: each directive is
//! found by the wire format's own parser and printed on its own. Templates are `braces`'.

use super::line::Line;
use super::number::{Form, Number};
use crate::call::site::Strings;
use logdef_wire::printf::{Class, Count, Directive, Directives, Fault, Flags, Integer, Order};
use logdef_wire::{Array, Grammar, Typed, Value};

/// Wider fields and more precise numbers are not printed.
const MOST: i64 = 128;

/// Writes the text of a record to the line; one newline at its end is the line's.
pub(super) fn write(line: &mut Line, strings: Strings<'_>, args: Array<'_>) {
    if let Some(template) = strings.template() {
        let description = strings.description();
        return match description.grammar() {
            Grammar::Braces | Grammar::StdFormat => {
                super::braces::write(line, template.to_bytes(), description, args)
            }
            _ => line.text(template.to_bytes()),
        };
    }
    let format = strings.format().to_bytes();
    write_printf(line, format, strings.description().grammar(), args);
}

fn write_printf(line: &mut Line, format: &[u8], grammar: Grammar, args: Array<'_>) {
    let format = format.strip_suffix(b"\n").unwrap_or(format);
    let mut values = Values {
        args,
        order: Order::of(format),
        grammar,
    };
    let mut from = 0;
    for directive in Directives::new(format) {
        line.text(&format[from..directive.start]);
        from = directive.end;
        conversion(line, format, &directive, &mut values);
    }
    line.text(&format[from..]);
}

/// The arguments of a record, in the order in which directives take them.
struct Values<'a> {
    args: Array<'a>,
    order: Order,
    grammar: Grammar,
}

impl<'a> Values<'a> {
    fn get(&self, index: u16) -> Option<Value<'a>> {
        self.args.iter().nth(index as usize)
    }

    /// A width or a precision.
    fn count(&self, count: Count) -> Option<i64> {
        match count {
            Count::None => None,
            Count::Fixed(n) => Some(n as i64),
            Count::Argument(at) => integer(self.get(at)?).map(|n| n as i32 as i64),
        }
    }
}

fn conversion(line: &mut Line, format: &[u8], directive: &Directive, values: &mut Values<'_>) {
    if matches!(
        directive.fault,
        Some(Fault::Truncated | Fault::TooManyArguments)
    ) {
        return line.text(&format[directive.start..directive.end]);
    }
    let placed = values.order.place(directive);
    let width = values.count(placed.width);
    let precision = values.count(placed.precision).filter(|n| *n >= 0);
    let Some(form) = directive.form() else {
        return match directive.conversion.0 {
            b'%' => line.bytes(b"%"),
            _ => line.text(&format[directive.start..directive.end]),
        };
    };
    let value = placed.value.and_then(|index| values.get(index));
    let left = directive.flags.has(Flags::LEFT) || width.is_some_and(|width| width < 0);
    let width = width.map_or(0, |width| width.abs().min(MOST) as usize);
    let number = |line: &mut Line, number: Number| {
        let form = Form {
            flags: directive.flags,
            left,
            width,
            precision: precision.map(|n| n.min(MOST) as usize),
            conversion: directive.conversion,
        };
        line.text(form.print(number, &mut [0; Form::ROOM]));
    };
    match (form.class, value) {
        (Class::Written, _) => {}
        (_, None) => line.bytes(b"?"),
        (Class::Errno, Some(value)) => match integer(value) {
            Some(errno) => line.print(format_args!("errno {errno}")),
            None => line.bytes(b"?"),
        },
        (Class::Str | Class::WideStr, Some(value)) => {
            let text = match value {
                Value::Raw(text) => text,
                _ => b"(null)",
            };
            padded(line, width, left, text);
        }
        (Class::Char | Class::WideChar, Some(value)) => {
            let mut room = [0; 4];
            match value {
                Value::Raw(text) => padded(line, width, left, text),
                value => match integer(value).map(|c| c as u32) {
                    Some(c) if form.class == Class::Char => padded(line, width, left, &[c as u8]),
                    c => {
                        let c = c
                            .and_then(char::from_u32)
                            .unwrap_or(char::REPLACEMENT_CHARACTER);
                        padded(line, width, left, c.encode_utf8(&mut room).as_bytes());
                    }
                },
            }
        }
        (Class::Pointer, Some(value)) => match integer(value) {
            Some(0) => padded(line, width, left, b"(nil)"),
            Some(at) => number(line, Number::Pointer(at as u64)),
            None => dump(line, value),
        },
        (Class::Float, Some(Value::Float(value))) => {
            number(line, Number::Float(value));
        }
        (Class::LongDouble, Some(Value::Raw(bytes))) => {
            let value = Number::Float(of_long_double(bytes));
            number(line, value);
        }
        (_, Some(value)) => match Integer::of(value) {
            Some(value) => {
                let (length, conversion) = (directive.length, directive.conversion);
                let value = value.printed(length, conversion, values.grammar);
                number(line, Number::Integer(value));
            }
            None => line.bytes(b"?"),
        },
    }
}

fn integer(value: Value<'_>) -> Option<i64> {
    match value {
        Value::Uint(value) => Some(value as i64),
        Value::Int(value) => Some(value),
        Value::Bool(value) => Some(value as i64),
        _ => None,
    }
}

/// What is printed of a `long double`: the nearest double, or less.
fn of_long_double(bytes: &[u8]) -> f64 {
    let (sign_and_exponent, fraction, scale) = match bytes {
        // x87: 64 bits with the one before the point.
        [fraction @ .., a, b] if fraction.len() == 8 => {
            let fraction = fraction.first_chunk().map_or(0, |f| u64::from_le_bytes(*f));
            (u16::from_le_bytes([*a, *b]), fraction, 63)
        }
        // binary128: the upper 63 of its 112 bits, and the one that is not stored.
        [_, _, _, _, _, _, fraction @ .., a, b] if fraction.len() == 8 => {
            let fraction = fraction.first_chunk().map_or(0, |f| u64::from_le_bytes(*f));
            (u16::from_le_bytes([*a, *b]), fraction >> 1 | 1 << 63, 63)
        }
        _ => return f64::NAN,
    };
    let exponent = (sign_and_exponent & 0x7fff) as i32;
    let magnitude = match (exponent, fraction << 1) {
        (0x7fff, 0) => f64::INFINITY,
        (0x7fff, _) => f64::NAN,
        (0, _) => 0.0,
        _ => {
            // In two steps, since 2 to the whole may be no double.
            let exponent = (exponent - 16383 - scale).clamp(-2200, 2200);
            let half = exponent / 2;
            fraction as f64 * 2f64.powi(half) * 2f64.powi(exponent - half)
        }
    };
    match sign_and_exponent & 0x8000 {
        0 => magnitude,
        _ => -magnitude,
    }
}

/// Bytes of any meaning, in hexadecimal.
fn dump(line: &mut Line, value: Value<'_>) {
    match value {
        Value::Array(array) => match Typed::of(array) {
            Some(Typed::Bytes(bytes)) => {
                for (index, byte) in bytes.iter().enumerate() {
                    let space = if index > 0 { " " } else { "" };
                    line.print(format_args!("{space}{byte:02x}"));
                }
            }
            _ => line.bytes(b"?"),
        },
        _ => line.bytes(b"?"),
    }
}

fn padded(line: &mut Line, width: usize, left: bool, text: &[u8]) {
    let padding = width.saturating_sub(text.len());
    if !left {
        line.print(format_args!("{:padding$}", ""));
    }
    line.text(text);
    if left {
        line.print(format_args!("{:padding$}", ""));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use logdef_wire::msgpack::Encoder;

    fn text(format: &str, args: &[Value<'_>]) -> String {
        let mut bytes = [0; 512];
        let mut encoder = Encoder::new(&mut bytes);
        for arg in args {
            match arg {
                Value::Nil => encoder.nil(),
                Value::Uint(value) => encoder.uint(*value),
                Value::Int(value) => encoder.int(*value),
                Value::Float(value) => encoder.float(*value),
                Value::Raw(value) => encoder.raw(value),
                _ => unreachable!(),
            }
            .unwrap();
        }
        let len = encoder.position();
        let args = Array::from_objects(args.len() as u32, &bytes[..len]).unwrap();
        let mut line = Line::new(false);
        write_printf(&mut line, format.as_bytes(), Grammar::Printf, args);
        let text = String::from_utf8(line.finish().to_vec()).unwrap();
        text.trim_end_matches('\n').to_string()
    }

    #[test]
    fn numbers_are_printed_as_by_printf() {
        let minus = Value::Int(-7);
        assert_eq!(
            text("%d|%5d|%-5d|%05d", &[minus; 4]),
            "-7|   -7|-7   |-0007"
        );
        assert_eq!(
            text("%u %hhu %x %lx", &[minus; 4]),
            "4294967289 249 fffffff9 fffffffffffffff9"
        );
        let three = Value::Uint(3);
        assert_eq!(
            text(
                "%*d|%-*.*f|",
                &[
                    three,
                    minus,
                    Value::Uint(8),
                    Value::Uint(2),
                    Value::Float(2.675)
                ]
            ),
            " -7|2.67    |"
        );
        assert_eq!(
            text(
                "%#o %+d %.3e %g %a",
                &[
                    three,
                    three,
                    Value::Float(12345.678),
                    Value::Float(0.1),
                    Value::Float(1.0)
                ]
            ),
            "03 +3 1.235e+04 0.1 0x1p+0"
        );
        assert_eq!(
            text("%p %p", &[Value::Uint(0x1f), Value::Uint(0)]),
            "0x1f (nil)"
        );
    }

    #[test]
    fn texts_are_padded_and_made_harmless() {
        let args = [Value::Raw(b"ab"), Value::Raw(b"c\n"), Value::Nil];
        assert_eq!(text("%4s|%-4s|%s\n", &args), "  ab|c\\n  |(null)");
        assert_eq!(
            text("%c%c", &[Value::Uint(0x41), Value::Raw("é".as_bytes())]),
            "Aé"
        );
        assert_eq!(text("100%% %y", &[]), "100% %y");
    }

    #[test]
    fn positions_and_errno_find_their_values() {
        let args = [Value::Uint(1), Value::Raw(b"two"), Value::Uint(5)];
        assert_eq!(text("%2$s %1$d %2$s %m", &args), "two 1 two errno 5");
        assert_eq!(
            text("%m: %d", &[Value::Uint(2), Value::Uint(1)]),
            "errno 2: 1"
        );
        assert_eq!(text("%d %d", &args[..1]), "1 ?");
    }

    #[test]
    fn long_doubles_are_printed_as_doubles() {
        // 1.5, -0.1 and infinity of x87; 1.5 of binary128.
        let x87 = [
            [0, 0, 0, 0, 0, 0, 0, 0xc0, 0xff, 0x3f],
            [0xcd, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xfb, 0xbf],
            [0, 0, 0, 0, 0, 0, 0, 0x80, 0xff, 0x7f],
        ];
        let args = x87.each_ref().map(|bytes| Value::Raw(bytes));
        assert_eq!(text("%Lf %Lg %Lf", &args), "1.500000 -0.1 inf");
        let mut binary128 = [0; 16];
        binary128[13..].copy_from_slice(&[0x80, 0xff, 0x3f]);
        assert_eq!(text("%.1Lf", &[Value::Raw(&binary128)]), "1.5");
    }

    #[test]
    fn no_width_is_too_wide() {
        let wide = [Value::Uint(1 << 31), Value::Uint(1)];
        assert!(text("%*d", &wide).len() < 200);
        assert!(text("%999999999.999999999f", &[Value::Float(1e300)]).len() < 600);
    }
}
