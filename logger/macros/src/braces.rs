//! Calls with the braces of Rust's `format!`.

use crate::call::{Argument, Laid};
use crate::literal::Text;
use crate::printf::description;
use crate::{Refusal, refused};
use logdef_wire::braces::{Argument as Value, Count, Piece, Pieces, Placeholder, Style};

/// What a placeholder takes: the letter that stands for it in `logdef::Argument`.
mod class {
    /// `{}`
    pub const DISPLAY: char = '{';
    /// `{:.3}`
    pub const DISPLAY_CUT: char = '.';
    /// `{:?}`
    pub const DEBUG: char = '?';
    /// `{:x?}`, which the reader does not print
    pub const DEBUG_HEX: char = 'h';
    /// `{:x}`, `{:o}`, `{:b}`
    pub const BITS: char = 'x';
    /// `{:e}`
    pub const EXPONENT: char = 'e';
    /// `{:p}`
    pub const POINTER: char = 'p';
    /// A width or a precision
    pub const COUNT: char = '$';
    /// Several of them
    pub const MIXED: char = 'M';
    /// No placeholder: `key = value`
    pub const KEY_VALUE: char = '=';
}

/// One use of an argument.
#[derive(Clone, PartialEq)]
struct Use {
    class: char,
    /// What stands after the colon; none if other arguments have a part in it.
    spec: Option<String>,
    /// It has a width or a precision.
    is_whole: bool,
}

/// Checks the arguments against the template and says how each is captured.
pub fn lay(format: &Text, mut arguments: Vec<Argument>) -> Result<Laid, Refusal> {
    let template = &format.value;
    let passed = arguments.len();
    let mut uses: Vec<Vec<Use>> = vec![Vec::new(); passed];
    for piece in Pieces::new(template.as_bytes()) {
        match piece {
            Piece::Text(from, to) => no_lone_brace(format, from, to)?,
            Piece::Placeholder(found) => {
                for (value, used) in used(template, &found) {
                    let index = index_of(template, value, format, &mut arguments)?;
                    uses.resize(arguments.len(), Vec::new());
                    let exists = |argument: &Argument| index < passed || argument.name.is_some();
                    if !arguments.get(index).is_some_and(exists) {
                        let few = "logdef!: the format takes more arguments than are passed";
                        return Err(Refusal::new(few, format.span));
                    }
                    uses[index].push(used);
                }
            }
        }
    }
    let unused = arguments.iter().zip(&uses);
    let mut unused = unused.filter(|(argument, uses)| uses.is_empty() && argument.name.is_none());
    if let Some((argument, _)) = unused.next() {
        return Err(refused::extra(format, argument));
    }
    let names = arguments.iter().map(|argument| argument.name.as_deref());
    let text = format!("\0{}", description('b', names));
    let values = arguments.len();
    let arguments = arguments.into_iter().zip(uses);
    let arguments = arguments.map(|(argument, uses)| {
        let pass = capture(&uses);
        (argument, pass)
    });
    Ok(Laid {
        text,
        behind: format!("\0{template}\0"),
        captured: String::new(),
        values,
        arguments: arguments.collect(),
    })
}

fn no_lone_brace(format: &Text, from: usize, to: usize) -> Result<(), Refusal> {
    let text = format.value.as_bytes();
    let is_brace = |at: usize| matches!(text.get(at), Some(b'{' | b'}'));
    // A doubled brace is a text of its own, and its twin follows.
    let is_doubled = to == from + 1 && text.get(to) == text.get(from);
    if (from..to).any(is_brace) && !is_doubled {
        refused::expressions(format)?;
        let lone =
            "logdef!: in a format with `{}`, a brace that is text is written twice: `{{`, `}}`";
        return Err(Refusal::new(lone, format.span));
    }
    Ok(())
}

/// The values that a placeholder takes, and as what.
fn used(template: &str, found: &Placeholder) -> Vec<(Value, Use)> {
    let inside = &template[found.start + 1..found.end - 1];
    let spec = inside
        .split_once(':')
        .map_or("", |(_, spec)| spec.trim_end());
    let counts = [found.width, found.precision].into_iter();
    let counts: Vec<Value> = counts
        .filter_map(|count| match count {
            Count::Argument(value) => Some(value),
            _ => None,
        })
        .collect();
    let value = Use {
        class: class_of(found, spec),
        spec: counts.is_empty().then(|| spec.to_string()),
        is_whole: found.width != Count::None || found.precision != Count::None,
    };
    let count = |value| {
        let count = Use {
            class: class::COUNT,
            spec: None,
            is_whole: false,
        };
        (value, count)
    };
    let mut all: Vec<_> = counts.into_iter().map(count).collect();
    all.push((found.argument, value));
    all
}

fn class_of(found: &Placeholder, spec: &str) -> char {
    match found.style {
        Style::Display if found.precision == Count::None => class::DISPLAY,
        Style::Display => class::DISPLAY_CUT,
        Style::Debug if spec.ends_with("x?") || spec.ends_with("X?") => class::DEBUG_HEX,
        Style::Debug => class::DEBUG,
        Style::Letter(b'e' | b'E') => class::EXPONENT,
        Style::Letter(b'p') => class::POINTER,
        Style::Letter(_) => class::BITS,
    }
}

/// The place of a value among the arguments. One that is named and not passed is captured.
fn index_of(
    template: &str,
    value: Value,
    format: &Text,
    arguments: &mut Vec<Argument>,
) -> Result<usize, Refusal> {
    let (from, to) = match value {
        Value::Index(index) => return Ok(index.into()),
        Value::Name(from, to) => (from, to),
    };
    let name = &template[from..to];
    let known = arguments
        .iter()
        .position(|a| a.name.as_deref() == Some(name));
    if let Some(known) = known {
        return Ok(known);
    }
    let is_name = name != "_" && name.chars().all(|c| c == '_' || c.is_alphanumeric());
    if !is_name {
        let message = format!("logdef!: `{name}` is not a name");
        return Err(Refusal::new(message, format.span));
    }
    arguments.push(Argument::captured(name, format.span));
    Ok(arguments.len() - 1)
}

/// The expression that captures an argument.
fn capture(uses: &[Use]) -> String {
    let Some(first) = uses.first() else {
        return key_value();
    };
    let class = if uses.iter().all(|used| used.class == first.class) {
        first.class
    } else if uses.iter().all(is_display) {
        class::DISPLAY
    } else {
        class::MIXED
    };
    let same = uses.iter().all(|used| used == first);
    match (class, &first.spec) {
        (class::DISPLAY | class::DISPLAY_CUT, Some(spec)) if same => {
            let how = how("display", spec, first.is_whole);
            format!("(&&@::placeholders::Displayed::<{class:?}, _>(#)).__logdef_pass({how})")
        }
        (class::DEBUG, Some(spec)) if same => {
            let how = how("debug", spec, first.is_whole);
            format!("(&&@::placeholders::Debugged(#)).__logdef_pass({how})")
        }
        (class::DEBUG_HEX, Some(spec)) if same => {
            let how = how("debug", spec, first.is_whole);
            format!("@::placeholders::print_debug(#, {how})")
        }
        (class, _) => format!("<_ as @::Argument<{class:?}>>::capture(#)"),
    }
}

fn is_display(used: &Use) -> bool {
    matches!(used.class, class::DISPLAY | class::DISPLAY_CUT)
}

/// The expression that captures a value which no text prints.
pub fn key_value() -> String {
    let (class, how) = (class::KEY_VALUE, how("display", "", false));
    format!("(&&@::placeholders::Displayed::<{class:?}, _>(#)).__logdef_pass({how})")
}

/// How the program prints a value of a type that the log has not.
fn how(kind: &str, spec: &str, is_whole: bool) -> String {
    if matches!(spec, "" | "?") {
        return format!("@::placeholders::by_{kind}()");
    }
    let placeholder = format!("{{:{spec}}}");
    format!(
        "@::placeholders::by_{kind}_of(|value, to| \
         ::core::fmt::Write::write_fmt(to, ::core::format_args!({placeholder:?}, value)), {is_whole})"
    )
}
