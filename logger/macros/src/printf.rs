//! Calls with printf's conversions.

use crate::Refusal;
use crate::call::{Argument, Laid};
use crate::literal::Text;
use logdef_wire::printf::{self, ArgPlan, Class};

/// Checks the arguments against the format and says how each is captured. Those after the
/// ones that the format prints have names, and are logged as they are.
pub fn lay(
    format: &Text,
    attached: Option<&Text>,
    arguments: Vec<Argument>,
) -> Result<Laid, Refusal> {
    let shown = &format.value;
    let captured = format!("{shown}{}", attached.map_or("", |text| &text.value));
    let bytes = captured.as_bytes();
    if let Err(error) = printf::check(bytes) {
        let message = format!("logdef!: {}", error.reason());
        return Err(Refusal::new(message, format.span));
    }
    let wanted = printf::caller_args(bytes);
    if arguments.len() < wanted {
        let few = "logdef!: the format takes more arguments than are passed";
        return Err(Refusal::new(few, format.span));
    }
    if let Some(extra) = arguments[wanted..].iter().find(|more| more.name.is_none()) {
        return Err(crate::refused::extra(format, extra));
    }
    let mut plan = vec![ArgPlan::UNNAMED; printf::wire_args(bytes)];
    let planned = printf::plan_into(bytes, &mut plan).is_ok();
    debug_assert!(planned, "as long as the format says");
    let name = |index: usize| arguments.get(index)?.name.as_deref();
    let printed = plan.iter().map(|plan| name(plan.caller_arg.into()));
    let names = printed.chain((wanted..arguments.len()).map(name));
    let mut text = format!("{shown}\0");
    if attached.is_some() {
        text.push_str(&captured);
        text.push('\0');
    }
    text.push_str(&description('r', names));
    let values = arguments.len() - wanted;
    let arguments = arguments.into_iter().enumerate();
    let arguments = arguments.map(|(index, argument)| {
        let pass = capture(bytes, index, wanted);
        (argument, pass)
    });
    Ok(Laid {
        text,
        behind: "\0".to_string(),
        values,
        arguments: arguments.collect(),
        captured,
    })
}

fn capture(format: &[u8], index: usize, wanted: usize) -> String {
    if index >= wanted {
        return crate::braces::key_value();
    }
    let class = match printf::caller_arg(format, index) {
        None => '*',
        Some(used) => match used.class {
            Class::Int if matches!(used.conversion.0, b'd' | b'i') => 'd',
            Class::Int => 'u',
            Class::Char | Class::WideChar => 'c',
            Class::Float | Class::LongDouble => 'f',
            Class::Str | Class::WideStr => 's',
            Class::Pointer => 'p',
            Class::Written => 'n',
            _ => '*',
        },
    };
    format!("<_ as @::Argument<{class:?}>>::capture(#)")
}

/// A grammar and the names of the values on the wire. A comma stands after each name if any
/// value has one, since the module follows.
pub fn description<'a>(grammar: char, names: impl Iterator<Item = Option<&'a str>>) -> String {
    let names: Vec<_> = names.map(|name| name.unwrap_or("")).collect();
    if names.iter().all(|name| name.is_empty()) {
        return grammar.to_string();
    }
    format!("{grammar}:{},", names.join(","))
}
