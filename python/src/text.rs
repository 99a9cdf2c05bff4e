//! Texts of logs as Python has them: what is not UTF-8 is replaced, and values are spelled out.
//! Knows no rows.

use logdef_resync::{Function, StackEntry};
use logdef_wire::{Typed, Value};
use std::borrow::Cow;
use std::fmt::Write;

/// Lists in lists that are spelled out.
const DEPTH: usize = 16;

pub fn lossy(bytes: &[u8]) -> Cow<'_, str> {
    String::from_utf8_lossy(bytes)
}

/// A value as text; `None` of what is no value.
pub fn of(value: Value<'_>) -> Option<String> {
    let mut out = String::new();
    push(value, 0, &mut out).then_some(out)
}

/// Appends the text of a value inside of `depth` lists; `false` if the value has no text. Writing to a
/// string cannot fail.
fn push(value: Value<'_>, depth: usize, out: &mut String) -> bool {
    if let Some(typed) = value.as_array().and_then(Typed::of) {
        return push_typed(typed, out);
    }
    let _ = match value {
        Value::Nil | Value::Map(_) | Value::Ext(..) => return false,
        Value::Bool(value) => write!(out, "{value}"),
        Value::Uint(value) => write!(out, "{value}"),
        Value::Int(value) => write!(out, "{value}"),
        Value::Float(value) if value.is_nan() => write!(out, "nan"),
        Value::Float(value) => write!(out, "{value:?}"),
        Value::Raw(bytes) => write!(out, "{}", lossy(bytes)),
        Value::Array(array) if depth == DEPTH => write!(out, "[{} values]", array.len()),
        Value::Array(array) => {
            out.push('[');
            for (index, value) in array.iter().enumerate() {
                out.push_str(if index == 0 { "" } else { ", " });
                if !push(value, depth + 1, out) {
                    out.push_str("null");
                }
            }
            out.push(']');
            Ok(())
        }
    };
    true
}

fn push_typed(typed: Typed<'_>, out: &mut String) -> bool {
    let _ = match typed {
        Typed::Int128(value) => write!(out, "{value}"),
        Typed::Uint128(value) => write!(out, "{value}"),
        Typed::Printed(text) => write!(out, "{}", lossy(text)),
        Typed::Bytes(bytes) => bytes.iter().try_for_each(|byte| write!(out, "{byte:02x}")),
        // Of a later version.
        _ => return false,
    };
    true
}

/// The functions of an entry of a stack, inlined ones first; its address where they are not known.
pub fn functions(entry: &StackEntry) -> Vec<String> {
    if !entry.functions.is_empty() {
        return entry.functions.iter().map(function).collect();
    }
    let symbol = entry.logged.as_ref().and_then(|it| it.sname.as_deref());
    if let Some(symbol) = symbol {
        return vec![lossy(symbol).into_owned()];
    }
    vec![match &entry.image {
        Some((image, svma)) => format!("{}+{:#x}", lossy(&image.path), svma.0),
        None => format!("{:#x}", entry.address.0),
    }]
}

fn function(function: &Function) -> String {
    let name = function.function.as_deref().unwrap_or("?");
    match (&function.file, function.line) {
        (Some(file), Some(line)) => format!("{name} at {file}:{line}"),
        (Some(file), None) => format!("{name} at {file}"),
        _ => name.to_owned(),
    }
}
