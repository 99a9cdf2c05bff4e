//! A format, taken apart once and rendered for each record of its call site.

use std::io::Write;
use std::ops::Range;

use logdef_wire::printf::{
    Class, Conversion, Count, Directive, Directives, Fault, Flags, Integer, Length, Order,
    wire_args,
};
use logdef_wire::{Array, Description, Grammar, Typed, Value};

use super::braces::Braces;
use super::decimal::push_decimal;
use super::errno::{errno_name, errno_text};
use super::float::{Magnitude, push_float};
use super::integer::{push_pointer, push_signed, push_unsigned};
use super::long_double::LongDouble;
use super::misplaced::push_any;
use super::padding::Layout;
use super::shortcut::{Step, push_steps};
use super::text::{push_bytes, push_char, push_null, push_utf8};
use super::{MAX_COUNT, MAX_TEXT, MAX_USES};

/// A format that is ready to be rendered.
///
/// ```
/// use logdef_resync::render::CompiledFormat;
/// use logdef_wire::Value;
///
/// let format = CompiledFormat::new(b"%s: %d of %#x, %.2f%%");
/// let args = [Value::Raw(b"disk"), Value::Int(-7), Value::Uint(255), Value::Float(2.675)];
/// let mut text = Vec::new();
/// format.render(&args, &mut text);
/// assert_eq!(text, b"disk: -7 of 0xff, 2.67%");
/// ```
#[derive(Clone, Debug)]
pub struct CompiledFormat {
    /// All the text between directives, end to end.
    pub(super) literals: Vec<u8>,
    pub(super) pieces: Vec<Piece>,
    /// The short way for each piece.
    steps: Vec<Step>,
    /// Where in `literals` the text after the last piece begins.
    pub(super) tail: usize,
    args: usize,
    /// The places of arguments that are `long double`s, in order.
    long_doubles: Vec<usize>,
    /// The whole format, if it is a template; then it has no pieces.
    pub(super) template: Option<Braces>,
}

impl CompiledFormat {
    /// Bytes that a directive takes, or a little more.
    pub(crate) const DIRECTIVE: usize = 2 * (size_of::<Piece>() + size_of::<Step>());

    /// Takes `format`, which has no NUL at its end, apart. Any bytes are a format.
    pub fn new(format: &[u8]) -> Self {
        Self::of_printf(format, Grammar::Printf)
    }

    /// Compiles a format in the grammar that its description names. `None` if this reader
    /// does not know that grammar.
    pub fn described(format: &[u8], description: Description<'_>) -> Option<Self> {
        match description.grammar() {
            Grammar::Braces | Grammar::StdFormat => Some(Self {
                template: Some(Braces::new(format, description)),
                args: usize::from(u16::MAX),
                ..Self::new(b"")
            }),
            grammar if grammar.is_template() => None,
            grammar => Some(Self::of_printf(format, grammar)),
        }
    }

    fn of_printf(format: &[u8], grammar: Grammar) -> Self {
        let mut compiler = Compiler::new(format, grammar);
        let mut from = 0;
        for directive in Directives::new(format) {
            compiler.text(&format[from..directive.start]);
            from = directive.end;
            if compiler.pieces.len() == MAX_DIRECTIVES {
                compiler.text(CUT);
                from = format.len();
                break;
            }
            compiler.directive(&directive, &format[directive.start..directive.end]);
        }
        compiler.text(&format[from..]);
        let is_one = |piece: &&Piece| piece.class == Some(Class::LongDouble);
        let long_doubles = compiler.pieces.iter().filter(is_one);
        let mut long_doubles: Vec<_> = long_doubles.map(|piece| piece.arg).collect();
        long_doubles.sort_unstable();
        Self {
            tail: compiler.text_start(),
            literals: compiler.literals,
            pieces: compiler.pieces,
            steps: compiler.steps,
            args: wire_args(format),
            long_doubles,
            template: None,
        }
    }

    /// How many arguments a record with this format has; of a template, how many it may
    /// have.
    pub fn args(&self) -> usize {
        self.args
    }

    /// Whether the text has a place for an argument.
    pub fn prints(&self, arg: usize) -> bool {
        match &self.template {
            Some(template) => template.prints(arg),
            None => arg < self.args,
        }
    }

    /// Whether an argument is a `long double`: its bytes are a number and no string.
    pub fn is_long_double(&self, arg: usize) -> bool {
        self.long_doubles.binary_search(&arg).is_ok()
    }

    /// Appends the text of a record with these arguments to `out`.
    ///
    /// Arguments beyond those that the format takes are left out, as `printf` does.
    pub fn render(&self, args: &[Value<'_>], out: &mut Vec<u8>) {
        if let Some(template) = &self.template {
            return template.render(args, out);
        }
        let start = out.len();
        let mut done = push_steps(&self.steps, args, out);
        let mut charged = 0;
        while done < self.pieces.len() {
            let taken = push_steps(&self.steps[done..], args, out);
            done += taken;
            if taken == 0 {
                let piece = &self.pieces[done];
                out.extend_from_slice(&self.literals[piece.text.clone()]);
                piece.render(args, out);
                charged += piece.charge(args);
                done += 1;
            }
            let length = out.len() - start;
            if length + charged > MAX_TEXT && length + charged > self.most_text(args) {
                out.truncate(start + self.most_text(args).min(length));
                out.extend_from_slice(CUT);
                return;
            }
        }
        out.extend_from_slice(&self.literals[self.tail..]);
    }

    /// Appends the text of a record with the arguments of its field.
    pub fn render_array(&self, args: Array<'_>, out: &mut Vec<u8>) {
        const FEW: usize = 16;
        let mut few = [Value::Nil; FEW];
        if self.args <= FEW {
            let count = args.read_into(&mut few[..self.args]);
            self.render(&few[..count], out);
        } else {
            let args = args.iter().take(self.args);
            self.render(&args.collect::<Vec<_>>(), out);
        }
    }

    fn most_text(&self, args: &[Value<'_>]) -> usize {
        let strings = args.iter().filter_map(|arg| arg.as_raw());
        strings.fold(MAX_TEXT + self.literals.len(), |sum, bytes| {
            sum.saturating_add(bytes.len().saturating_mul(MAX_USES))
        })
    }
}

/// How many directives of one format are rendered.
const MAX_DIRECTIVES: usize = 1 << 14;

const CUT: &[u8] = b"%!(cut)";

/// A directive and the text before it.
#[derive(Clone, Debug)]
pub(super) struct Piece {
    /// Its text in `literals`.
    pub(super) text: Range<usize>,
    /// Which argument on the wire holds the value.
    pub(super) arg: usize,
    conversion: Conversion,
    /// None for an unknown conversion.
    pub(super) class: Option<Class>,
    length: Length,
    grammar: Grammar,
    flags: Flags,
    pub(super) width: Count,
    pub(super) precision: Count,
}

impl Piece {
    fn render(&self, args: &[Value<'_>], out: &mut Vec<u8>) {
        let mut marks = Vec::new();
        let layout = self.layout(args, &mut marks);
        match (self.class, args.get(self.arg)) {
            (None, _) => self.push_unknown(out, &layout),
            (Some(_), None) => {
                let _ = write!(out, "%!{}(missing)", char::from(self.conversion.0));
            }
            (Some(class), Some(arg)) => {
                // Width and precision were applied when it became text.
                if let Value::Array(array) = *arg
                    && let Some(Typed::Printed(text)) = Typed::of(array)
                {
                    return out.extend_from_slice(text);
                }
                if !self.push_value(out, &layout, class, arg) {
                    let _ = write!(out, "%!{}(", char::from(self.conversion.0));
                    push_any(out, arg);
                    out.push(b')');
                }
            }
        }
        out.extend_from_slice(&marks);
    }

    /// What printing it costs beyond the text, in bytes of text.
    fn charge(&self, args: &[Value<'_>]) -> usize {
        match (self.class, args.get(self.arg)) {
            (Some(Class::LongDouble), Some(Value::Raw(bytes))) if LongDouble::is_far(bytes) => {
                MAX_COUNT
            }
            _ => 0,
        }
    }

    /// The layout, its `*`s looked up and its excesses cut.
    fn layout(&self, args: &[Value<'_>], marks: &mut Vec<u8>) -> Layout {
        let mut layout = Layout {
            flags: self.flags,
            ..Layout::default()
        };
        let is_number = matches!(
            self.class,
            Some(Class::Int | Class::Float | Class::LongDouble | Class::Pointer | Class::Errno)
        );
        let cut = |name: &str, count: u64, is_cut: bool, marks: &mut Vec<u8>| {
            if is_cut && count > MAX_COUNT as u64 {
                let _ = write!(marks, "%!({name} {count})");
                return MAX_COUNT;
            }
            usize::try_from(count).unwrap_or(usize::MAX)
        };
        if let Some(width) = count(self.width, args, "width", marks) {
            if width < 0 {
                layout.flags.0 |= Flags::LEFT.0;
            }
            layout.width = cut("width", width.unsigned_abs(), self.class.is_some(), marks);
        }
        if let Some(precision) = count(self.precision, args, "precision", marks)
            && let Ok(precision) = u64::try_from(precision)
        {
            layout.precision = Some(cut("precision", precision, is_number, marks));
        }
        layout
    }

    /// Appends an argument; false if it is of another type than the directive takes.
    fn push_value(
        &self,
        out: &mut Vec<u8>,
        layout: &Layout,
        class: Class,
        arg: &Value<'_>,
    ) -> bool {
        let letter = self.conversion.0;
        match (class, *arg, Integer::of(*arg)) {
            (Class::Int, _, Some(value)) => {
                match value.printed(self.length, self.conversion, self.grammar) {
                    value if matches!(letter, b'd' | b'i') => push_signed(out, layout, value),
                    value => push_unsigned(out, layout, value.magnitude, letter),
                }
            }
            (Class::Char, _, Some(value)) => push_char(out, layout, &[low_bits(value) as u8]),
            (Class::WideChar, _, Some(value)) => {
                let code = u32::try_from(value.magnitude).ok();
                let code = code.filter(|_| !value.is_negative);
                let Some(character) = code.and_then(char::from_u32) else {
                    return false;
                };
                push_char(out, layout, character.encode_utf8(&mut [0; 4]).as_bytes());
            }
            (Class::Char | Class::WideChar, Value::Raw(bytes), _) => push_char(out, layout, bytes),
            (Class::Float | Class::LongDouble, Value::Float(value), _) => {
                push_float(out, layout, Magnitude::of(value), letter);
            }
            (Class::LongDouble, Value::Raw(bytes), _) => {
                let Some(value) = Magnitude::of_long_double(bytes) else {
                    return false;
                };
                push_float(out, layout, value, letter);
            }
            (Class::Str, Value::Raw(bytes), _) => push_bytes(out, layout, bytes),
            (Class::WideStr, Value::Raw(bytes), _) => push_utf8(out, layout, bytes),
            (Class::Str | Class::WideStr, Value::Nil, _) => push_null(out, layout),
            (Class::Pointer, Value::Nil | Value::Uint(0), _) => {
                let layout = Layout {
                    precision: None,
                    ..*layout
                };
                push_bytes(out, &layout, b"(nil)");
            }
            (Class::Pointer, _, Some(value)) => push_pointer(out, layout, low_bits(value)),
            (Class::Pointer, Value::Array(array), _) => match Typed::of(array) {
                Some(Typed::Bytes(bytes)) => push_dump(out, layout, bytes),
                _ => return false,
            },
            (Class::Written, _, _) => {}
            (Class::Errno, _, Some(value)) => push_errno(out, layout, low_bits(value) as i32),
            _ => return false,
        }
        true
    }

    /// Prints a directive that no C library knows the way glibc does: its parts,
    /// but not its length modifier, in an order of their own.
    fn push_unknown(&self, out: &mut Vec<u8>, layout: &Layout) {
        let plus = layout.has(Flags::PLUS);
        // A `-` in the format clears a `0`, that of a negative `*` does not.
        let zero = layout.has(Flags::ZERO) && !self.flags.has(Flags::LEFT);
        out.push(b'%');
        for (is_set, byte) in [
            (layout.has(Flags::ALTERNATIVE), b'#'),
            (layout.has(Flags::GROUP), b'\''),
            (plus, b'+'),
            (layout.has(Flags::SPACE) && !plus, b' '),
            (layout.has(Flags::LEFT), b'-'),
            (zero, b'0'),
            (layout.has(Flags::LOCALE_DIGITS), b'I'),
        ] {
            if is_set {
                out.push(byte);
            }
        }
        if layout.width != 0 {
            push_decimal(out, layout.width as u64);
        }
        if let Some(precision) = layout.precision {
            out.push(b'.');
            push_decimal(out, precision as u64);
        }
        out.push(self.conversion.0);
    }
}

/// The value of a width or precision; none, and a mark if that is a fault, where
/// there is no number.
fn count(count: Count, args: &[Value<'_>], name: &str, marks: &mut Vec<u8>) -> Option<i64> {
    let arg = match count {
        Count::None => return None,
        Count::Fixed(n) => return Some(n as i64),
        Count::Argument(n) => args.get(n as usize),
    };
    let number = arg.and_then(|arg| match *arg {
        Value::Bool(value) => Some(value as i64),
        arg => arg.as_int(),
    });
    if number.is_none() {
        let _ = write!(marks, "%!({name} ");
        match arg {
            Some(arg) => push_any(marks, arg),
            None => marks.extend_from_slice(b"missing"),
        }
        marks.push(b')');
    }
    number
}

/// The two's complement of an integer, cut to 64 bits.
fn low_bits(value: Integer) -> u64 {
    if value.is_negative {
        (value.magnitude as u64).wrapping_neg()
    } else {
        value.magnitude as u64
    }
}

/// `%p` of bytes: each in hexadecimal, and after them those that are printable ASCII.
fn push_dump(out: &mut Vec<u8>, layout: &Layout, bytes: &[u8]) {
    let layout = Layout {
        precision: None,
        ..*layout
    };
    let mut text = Vec::with_capacity(4 * bytes.len() + 2);
    for byte in bytes {
        let _ = write!(text, "{byte:02x} ");
    }
    text.push(b'|');
    text.extend(bytes.iter().map(|byte| match byte {
        b' '..=b'~' => *byte,
        _ => b'.',
    }));
    text.push(b'|');
    push_bytes(out, &layout, &text);
}

/// `%m`: the text of an errno; `%#m`: its name, or the number of a nameless one.
fn push_errno(out: &mut Vec<u8>, layout: &Layout, number: i32) {
    if layout.has(Flags::ALTERNATIVE) {
        return match errno_name(number.into()) {
            Some(name) => push_bytes(out, layout, name.as_bytes()),
            None => push_signed(out, layout, Integer::signed(number.into())),
        };
    }
    match errno_text(number.into()) {
        Some(text) => push_bytes(out, layout, text.as_bytes()),
        None => push_bytes(out, layout, format!("Unknown error {number}").as_bytes()),
    }
}

/// What is built while the directives of a format are gone through.
struct Compiler {
    literals: Vec<u8>,
    pieces: Vec<Piece>,
    steps: Vec<Step>,
    order: Order,
    grammar: Grammar,
}

impl Compiler {
    fn new(format: &[u8], grammar: Grammar) -> Self {
        Self {
            literals: Vec::with_capacity(format.len()),
            pieces: Vec::new(),
            steps: Vec::new(),
            order: Order::of(format),
            grammar,
        }
    }

    fn text(&mut self, text: &[u8]) {
        self.literals.extend_from_slice(text);
    }

    fn directive(&mut self, directive: &Directive, text: &[u8]) {
        if let Some(Fault::Truncated | Fault::TooManyArguments) = directive.fault {
            return self.text(text);
        }
        let placed = self.order.place(directive);
        if directive.fault.is_none() && directive.conversion == Conversion::PERCENT {
            return self.text(b"%");
        }
        let arg = placed.value.unwrap_or(0) as usize;
        let lead = &self.literals[self.text_start()..];
        self.steps
            .push(Step::of(directive, self.grammar, lead, arg));
        self.pieces.push(Piece {
            text: self.text_start()..self.literals.len(),
            arg,
            conversion: directive.conversion,
            class: directive.class(),
            length: directive.length,
            grammar: self.grammar,
            flags: directive.flags,
            width: placed.width,
            precision: placed.precision,
        });
    }

    fn text_start(&self) -> usize {
        self.pieces.last().map_or(0, |piece| piece.text.end)
    }
}
