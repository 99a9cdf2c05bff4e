//! An argument that stands where a directive or a placeholder takes another type: its
//! type and value, for the mark that is printed instead of it.

use logdef_wire::{Typed, Value};
use std::io::Write;

/// Appends the type and value of an argument that stands in the wrong place.
pub(super) fn push_any(out: &mut Vec<u8>, arg: &Value<'_>) {
    let _ = match arg {
        Value::Nil => write!(out, "nil"),
        Value::Bool(value) => write!(out, "bool={value}"),
        Value::Uint(value) => write!(out, "int={value}"),
        Value::Int(value) => write!(out, "int={value}"),
        Value::Float(value) => write!(out, "float={value:?}"),
        Value::Raw(bytes) => write!(out, "raw=").and_then(|()| out.write_all(bytes)),
        Value::Array(array) => match Typed::of(*array) {
            Some(Typed::Int128(value)) => write!(out, "int={value}"),
            Some(Typed::Uint128(value)) => write!(out, "int={value}"),
            _ => write!(out, "array of {}", array.len()),
        },
        Value::Map(map) => write!(out, "map of {}", map.len()),
        Value::Ext(kind, bytes) => write!(out, "ext {kind} of {}", bytes.len()),
    };
}
