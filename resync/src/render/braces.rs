//! Text as Rust's `format!` would have printed it, or, by `std_format`, C++'s: templates taken apart once per
//! call site, then rendered over the typed values of a record. The digits are the
//! standard library's; width, sign and zeros are put around them here, since there
//! they stand in the template alone.

use logdef_wire::braces::{Argument, Count, Piece, Pieces, Placeholder, Style};
use logdef_wire::printf::{Conversion, Integer, Length};
use logdef_wire::{Description, Grammar, Typed, Value};
use std::cell::LazyCell;
use std::collections::HashMap;

use super::misplaced::push_any;
use super::{MAX_COUNT, MAX_TEXT, MAX_USES};

/// A template that is ready to be rendered.
#[derive(Clone, Debug)]
pub(super) struct Braces {
    template: Vec<u8>,
    parts: Vec<Part>,
    /// The places of the values that are printed, or are a width or a precision, in order.
    used: Vec<usize>,
    is_std: bool,
}

#[derive(Clone, Debug)]
enum Part {
    Text(usize, usize),
    Value(Bound),
}

/// A part of a template of Rust's whose values all print as they are.
#[derive(Clone, Copy, Debug)]
pub(super) enum Plain<'t> {
    Text(&'t [u8]),
    Value(usize),
}

/// A placeholder, bound to the values that it prints by their places on the wire.
#[derive(Clone, Debug)]
struct Bound {
    placeholder: Placeholder,
    value: Option<usize>,
    width: Amount,
    precision: Amount,
}

#[derive(Clone, Copy, Debug)]
enum Amount {
    None,
    Fixed(u32),
    /// Of a value; nowhere if no value has the name.
    Value(Option<usize>),
}

impl Part {
    /// The places of the values that it prints, or that are its width or precision.
    fn used(&self) -> impl Iterator<Item = usize> + use<> {
        let used = match self {
            Part::Text(..) => [None; 3],
            Part::Value(place) => [place.value, place.width.value(), place.precision.value()],
        };
        used.into_iter().flatten()
    }
}

impl Amount {
    /// The place of the value that says it.
    fn value(self) -> Option<usize> {
        match self {
            Amount::Value(index) => index,
            Amount::None | Amount::Fixed(_) => None,
        }
    }
}

impl Bound {
    /// Whether it prints a value that is there and nothing around it.
    fn is_plain(&self) -> bool {
        let is_default = matches!(self.placeholder.style, Style::Display | Style::Debug);
        let counts = (self.width, self.precision);
        is_default && self.value.is_some() && matches!(counts, (Amount::None, Amount::None))
    }
}

/// How many placeholders of one template are rendered.
const MAX_PLACEHOLDERS: usize = 1 << 14;

impl Braces {
    pub fn new(template: &[u8], description: Description<'_>) -> Self {
        // Looked for one by one, many names would take long.
        let named = LazyCell::new(|| {
            let mut named = HashMap::new();
            for (index, name) in description.names().enumerate() {
                if let Some(name) = name {
                    named.entry(name).or_insert(index);
                }
            }
            named
        });
        let index = |argument: Argument| match argument {
            Argument::Index(index) => Some(index as usize),
            Argument::Name(from, to) => named.get(&template[from..to]).copied(),
        };
        let amount = |count: Count| match count {
            Count::None => Amount::None,
            Count::Fixed(n) => Amount::Fixed(n),
            Count::Argument(argument) => Amount::Value(index(argument)),
        };
        let parts: Vec<_> = Pieces::of(template, description.grammar())
            .take(MAX_PLACEHOLDERS)
            .map(|piece| match piece {
                Piece::Text(from, to) => Part::Text(from, to),
                Piece::Placeholder(placeholder) => Part::Value(Bound {
                    placeholder,
                    value: index(placeholder.argument),
                    width: amount(placeholder.width),
                    precision: amount(placeholder.precision),
                }),
            })
            .collect();
        let mut used: Vec<_> = parts.iter().flat_map(Part::used).collect();
        used.sort_unstable();
        used.dedup();
        Self {
            template: template.to_vec(),
            parts,
            used,
            is_std: description.grammar() == Grammar::StdFormat,
        }
    }

    /// Whether a placeholder prints an argument, or takes its width or precision from it.
    pub fn prints(&self, arg: usize) -> bool {
        self.used.binary_search(&arg).is_ok()
    }

    /// The parts, if they are few and no value is padded, cut or printed in another base.
    pub fn plain_parts(&self) -> Option<impl Iterator<Item = Plain<'_>>> {
        const VALUES: usize = 16;
        let is_plain = |part: &Part| match part {
            Part::Text(..) => true,
            Part::Value(place) => place.is_plain(),
        };
        if self.is_std || self.parts.len() > VALUES || !self.parts.iter().all(is_plain) {
            return None;
        }
        Some(self.parts.iter().filter_map(|part| match part {
            Part::Text(from, to) => Some(Plain::Text(&self.template[*from..*to])),
            Part::Value(place) => place.value.map(Plain::Value),
        }))
    }

    /// Appends the text of a record with these values.
    pub fn render(&self, args: &[Value<'_>], out: &mut Vec<u8>) {
        let start = out.len();
        let strings = args.iter().filter_map(|arg| arg.as_raw()).map(<[u8]>::len);
        let most = strings.fold(MAX_TEXT + self.template.len(), |sum, len| {
            sum.saturating_add(len.saturating_mul(MAX_USES))
        });
        for part in &self.parts {
            match part {
                Part::Text(from, to) => out.extend_from_slice(&self.template[*from..*to]),
                Part::Value(place) => self.push(place, args, out),
            }
            if out.len() - start > most {
                out.truncate(start + most);
                return out.extend_from_slice(b"%!(cut)");
            }
        }
    }

    fn push(&self, place: &Bound, args: &[Value<'_>], out: &mut Vec<u8>) {
        let placeholder = &place.placeholder;
        let (from, to) = (placeholder.start, placeholder.end);
        let Some(value) = place.value.and_then(|index| args.get(index)) else {
            out.extend_from_slice(b"%!");
            out.extend_from_slice(&self.template[from..to]);
            return out.extend_from_slice(b"(missing)");
        };
        let amount = |amount| match amount {
            Amount::None => None,
            Amount::Fixed(n) => Some(n as usize),
            Amount::Value(index) => {
                let value = args.get(index?)?.as_uint()?;
                Some(usize::try_from(value).unwrap_or(usize::MAX))
            }
        };
        let (from, to) = placeholder.fill;
        let spec = Spec {
            placeholder,
            fill: &self.template[from..to],
            width: amount(place.width).unwrap_or(0).min(MAX_COUNT),
            precision: amount(place.precision).map(|n| n.min(MAX_COUNT)),
        };
        if self.is_std {
            spec.push_std(value, out);
        } else {
            spec.push(value, out);
        }
    }
}

/// A placeholder whose width and precision are known.
pub(super) struct Spec<'t> {
    pub placeholder: &'t Placeholder,
    fill: &'t [u8],
    pub width: usize,
    pub precision: Option<usize>,
}

impl Spec<'_> {
    fn push(&self, value: &Value<'_>, out: &mut Vec<u8>) {
        let style = self.placeholder.style;
        match *value {
            // What the program printed by `{:?}`, or by the whole placeholder.
            Value::Raw(text) if style == Style::Debug => out.extend_from_slice(text),
            Value::Raw(text) => self.push_text(text, out),
            Value::Bool(value) => self.push_text(value.to_string().as_bytes(), out),
            Value::Float(value) => self.push_float(value, out),
            Value::Nil => self.push_text(b"None", out),
            _ => match (Integer::of(*value), value.as_array().and_then(Typed::of)) {
                (Some(value), _) => self.push_integer(value, out),
                (None, Some(Typed::Printed(text))) => out.extend_from_slice(text),
                (None, Some(Typed::Bytes(bytes))) => {
                    self.push_text(hexadecimal(bytes).as_bytes(), out);
                }
                _ => push_misplaced(value, out),
            },
        }
    }

    /// Text, cut at the precision and padded; both count characters.
    fn push_text(&self, text: &[u8], out: &mut Vec<u8>) {
        let is_start = |byte: &u8| byte & 0xc0 != 0x80;
        let text = match self.precision {
            None => text,
            Some(precision) => {
                let starts = text.iter().enumerate().filter(|(_, byte)| is_start(byte));
                let end = starts.map(|(at, _)| at).nth(precision);
                &text[..end.unwrap_or(text.len())]
            }
        };
        let length = text.iter().filter(|byte| is_start(byte)).count();
        self.pad(length, b'<', out, |out| out.extend_from_slice(text));
    }

    fn push_integer(&self, value: Integer, out: &mut Vec<u8>) {
        let placeholder = self.placeholder;
        let (value, digits, prefix) = match placeholder.style {
            Style::Display | Style::Debug => (value, value.magnitude.to_string(), ""),
            Style::Letter(letter @ (b'e' | b'E')) => {
                let digits = match (letter, self.precision) {
                    (b'e', None) => format!("{:e}", value.magnitude),
                    (b'e', Some(precision)) => format!("{:.precision$e}", value.magnitude),
                    (_, None) => format!("{:E}", value.magnitude),
                    (_, Some(precision)) => format!("{:.precision$E}", value.magnitude),
                };
                (value, digits, "")
            }
            Style::Letter(letter) => {
                let value = value.printed(Length::None, Conversion(b'x'), Grammar::Braces);
                let number = value.magnitude;
                let (digits, prefix) = match letter {
                    b'o' => (format!("{number:o}"), "0o"),
                    b'b' => (format!("{number:b}"), "0b"),
                    b'X' => (format!("{number:X}"), "0x"),
                    b'p' if placeholder.alternate => (format!("{number:016x}"), "0x"),
                    b'p' => return self.push_number("", "0x", &format!("{number:x}"), out),
                    _ => (format!("{number:x}"), "0x"),
                };
                (value, digits, prefix)
            }
        };
        let prefix = if placeholder.alternate { prefix } else { "" };
        self.push_number(
            self.placeholder.sign(value.is_negative),
            prefix,
            &digits,
            out,
        );
    }

    fn push_float(&self, value: f64, out: &mut Vec<u8>) {
        let magnitude = value.abs();
        let digits = match (self.placeholder.style, self.precision) {
            (Style::Letter(b'e'), None) => format!("{magnitude:e}"),
            (Style::Letter(b'e'), Some(precision)) => format!("{magnitude:.precision$e}"),
            (Style::Letter(b'E'), None) => format!("{magnitude:E}"),
            (Style::Letter(b'E'), Some(precision)) => format!("{magnitude:.precision$E}"),
            (Style::Debug, None) => format!("{magnitude:?}"),
            (_, None) => format!("{magnitude}"),
            (_, Some(precision)) => format!("{magnitude:.precision$}"),
        };
        let sign = if value.is_nan() {
            ""
        } else {
            self.placeholder.sign(value.is_sign_negative())
        };
        self.push_number(sign, "", &digits, out);
    }

    fn push_number(&self, sign: &str, prefix: &str, digits: &str, out: &mut Vec<u8>) {
        let length = sign.len() + prefix.len() + digits.len();
        let zeros = if self.placeholder.zero {
            self.width.saturating_sub(length)
        } else {
            0
        };
        self.pad(length + zeros, b'>', out, |out| {
            out.extend_from_slice(sign.as_bytes());
            out.extend_from_slice(prefix.as_bytes());
            push_repeated(b"0", zeros, out);
            out.extend_from_slice(digits.as_bytes());
        });
    }

    /// Pads what `body` appends, of `length` characters.
    pub fn pad(
        &self,
        length: usize,
        default: u8,
        out: &mut Vec<u8>,
        body: impl FnOnce(&mut Vec<u8>),
    ) {
        let padding = self.width.saturating_sub(length);
        let align = match self.placeholder.align {
            0 => default,
            align => align,
        };
        let before = match align {
            b'<' => 0,
            b'^' => padding / 2,
            _ => padding,
        };
        let fill = if self.fill.is_empty() {
            b" "
        } else {
            self.fill
        };
        push_repeated(fill, before, out);
        body(out);
        push_repeated(fill, padding - before, out);
    }
}

/// Appends a fill character `times` times.
fn push_repeated(fill: &[u8], times: usize, out: &mut Vec<u8>) {
    match fill {
        [byte] => out.resize(out.len() + times, *byte),
        _ => (0..times).for_each(|_| out.extend_from_slice(fill)),
    }
}

/// Bytes that are no text.
pub(super) fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A value that no placeholder prints.
pub(super) fn push_misplaced(value: &Value<'_>, out: &mut Vec<u8>) {
    out.extend_from_slice(b"%!{}(");
    push_any(out, value);
    out.push(b')');
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(template: &str, description: &str, args: &[Value<'_>]) -> String {
        let description = Description::of(description.as_bytes());
        let mut out = Vec::new();
        Braces::new(template.as_bytes(), description).render(args, &mut out);
        String::from_utf8(out).unwrap()
    }

    /// Each placeholder over each value, beside `format!` of both.
    macro_rules! grid {
        ($value:expr => $wire:expr; $($spec:literal)*) => {$(
            let template = concat!("[{:", $spec, "}]");
            let expected = format!(concat!("[{:", $spec, "}]"), $value);
            assert_eq!(text(template, "b", &[$wire]), expected, "{template} of {:?}", $value);
        )*};
    }

    macro_rules! numbers {
        ($value:expr => $wire:expr) => {
            grid! { $value => $wire;
                "" "?" "5" "<5" "^7" ">9" "*^9" "é<12" "+" "+12" "012" "+012" "<012" "-^+9"
                "e" "E" "+012e" ".3e" "20.1E" "#" "#?" "1" "0" ".0" ".3" "12.3" "-<+20.2" "08.1"
            }
        };
    }

    #[test]
    fn integers_print_as_by_format() {
        macro_rules! of {
            ($($type:ty as $unsigned:ty => $kind:ident),*) => {$(
                for value in [<$type>::MIN, <$type>::MAX, 0, 1, 10, <$type>::MAX / 3] {
                    let wire = match u64::try_from(value) {
                        Ok(value) => Value::Uint(value),
                        Err(_) => Value::Int(value as i64),
                    };
                    numbers!(value => wire);
                    // Writers pass what these print.
                    let wire = Value::Uint(value as $unsigned as u64);
                    grid! { value => wire;
                        "x" "X" "o" "b" "#x" "#X" "#o" "#b" "20x" "<20x" "020x" "#020x" "#70b" "^+30o"
                    }
                }
            )*};
        }
        of!(i8 as u8 => Int, i32 as u32 => Int, i64 as u64 => Int);
        of!(u8 as u8 => Uint, u32 as u32 => Uint, u64 as u64 => Uint);
    }

    #[test]
    fn floats_print_as_by_format() {
        let floats = [
            0.0,
            -0.0,
            1.0,
            -1.5,
            0.1,
            2.675,
            1e21,
            1e-7,
            123456.789,
            f64::MAX,
            f64::MIN_POSITIVE,
            5e-324,
            f64::INFINITY,
            f64::NEG_INFINITY,
            f64::NAN,
        ];
        for value in floats {
            numbers!(value => Value::Float(value));
        }
    }

    #[test]
    fn texts_print_as_by_format() {
        for value in ["", "a", "größe", "long enough to be cut"] {
            grid! { value => Value::Raw(value.as_bytes());
                "" "5" "<7" "^8" ">9" "é^9" ".3" "8.3" "*>8.0" "012" "+8" "#8"
            }
        }
        for value in [true, false] {
            grid! { value => Value::Bool(value); "" "?" "8" ">8" "^9.3" }
        }
        for value in ['x', 'é'] {
            grid! { value => Value::Raw(value.to_string().as_bytes()); "" "4" ">4" "^5" }
        }
    }

    #[test]
    fn values_are_found_by_place_name_and_star() {
        let (host, port, ms) = ("example.org", 443, 2.5);
        let args = [
            Value::Raw(b"example.org"),
            Value::Uint(443),
            Value::Float(2.5),
        ];
        assert_eq!(
            text(
                "{host}:{port} in {ms:.3} ms, {host:>w$}|",
                "b:host,port,ms,w",
                &[args[0], args[1], args[2], Value::Uint(14),]
            ),
            format!("{host}:{port} in {ms:.3} ms, {host:>14}|"),
        );
        assert_eq!(
            text("{} {1} {} {0}", "b", &args),
            "example.org 443 443 example.org"
        );
        let star = [Value::Uint(2), Value::Float(2.5), Value::Uint(9)];
        assert_eq!(
            text("{:.*} {:02$.0$}|", "b", &star),
            format!("{:.*} {:09}|", 2, 2.5, 9)
        );
        assert_eq!(
            text("{{{}}} {x} {9}", "b", &args[1..2]),
            "{443} %!{x}(missing) %!{9}(missing)"
        );
    }

    #[test]
    fn what_the_program_printed_stands_as_it_is() {
        let mut bytes = [0; 16];
        let mut encoder = logdef_wire::msgpack::Encoder::new(&mut bytes);
        Typed::Printed(b" 7s").encode(&mut encoder).unwrap();
        let printed = logdef_wire::msgpack::Decoder::new(encoder.written())
            .value()
            .unwrap();
        assert_eq!(
            text("{:>9.1}|{:?}", "b", &[printed, Value::Raw(b"\"q\"")]),
            " 7s|\"q\""
        );
    }

    #[test]
    fn bytes_are_dumped_by_a_pointers_conversion() {
        let mut room = [0; 16];
        let mut encoder = logdef_wire::msgpack::Encoder::new(&mut room);
        Typed::Bytes(b"hi\0\x1b~").encode(&mut encoder).unwrap();
        let bytes = logdef_wire::msgpack::Decoder::new(encoder.written())
            .value()
            .unwrap();
        let mut out = Vec::new();
        let format = crate::render::CompiledFormat::new(b"%p;%24p;");
        format.render(&[bytes, bytes], &mut out);
        let dump = "68 69 00 1b 7e |hi..~|";
        assert_eq!(String::from_utf8(out).unwrap(), format!("{dump};  {dump};"));
    }

    #[test]
    fn no_template_makes_too_much_text() {
        let template = "{0:4000000000}".repeat(1000);
        assert!(text(&template, "b", &[Value::Uint(1)]).len() < 2 * MAX_TEXT);
    }
}
