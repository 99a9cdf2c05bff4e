//! Objects and values as JSON.
//!
//! Numbers stand as numbers, 64-bit integers in full. JSON has no infinities
//! and no NaN: those stand as the strings `"inf"`, `"-inf"` and `"nan"`. Text that is not
//! UTF-8 has U+FFFD in place of invalid bytes.

use crate::show::escape;
use logdef_wire::{Typed, Value};
use std::io::Write;

/// Arrays in arrays that are shown. One that is deeper stands as a string: no logger of
/// ours nests any, and each level costs another look at all below it.
pub const DEPTH: usize = 16;

/// An object under construction.
pub struct Object<'o> {
    out: &'o mut Vec<u8>,
    is_first: bool,
}

impl<'o> Object<'o> {
    pub fn begin(out: &'o mut Vec<u8>) -> Self {
        out.push(b'{');
        Object {
            out,
            is_first: true,
        }
    }

    /// Members alone, to be put into an object later.
    pub fn members_of(out: &'o mut Vec<u8>) -> Self {
        Object {
            out,
            is_first: true,
        }
    }

    /// Adds members that were made before.
    pub fn members(&mut self, members: &[u8]) {
        if members.is_empty() {
            return;
        }
        if !std::mem::take(&mut self.is_first) {
            self.out.push(b',');
        }
        self.out.extend_from_slice(members);
    }

    #[inline]
    pub fn key(&mut self, key: &str) -> &mut Vec<u8> {
        self.out.reserve(key.len() + 4);
        if !std::mem::take(&mut self.is_first) {
            self.out.push(b',');
        }
        self.out.push(b'"');
        self.out.extend_from_slice(key.as_bytes());
        self.out.extend_from_slice(b"\":");
        self.out
    }

    /// A key that can hold anything.
    pub fn any_key(&mut self, key: &[u8]) -> &mut Vec<u8> {
        if !std::mem::take(&mut self.is_first) {
            self.out.push(b',');
        }
        push_string(key, self.out);
        self.out.push(b':');
        self.out
    }

    #[inline]
    pub fn number(&mut self, key: &str, value: Option<u64>) {
        if let Some(value) = value {
            push_number(value, self.key(key));
        }
    }

    pub fn bool(&mut self, key: &str, value: bool) {
        let _ = write!(self.key(key), "{value}");
    }

    #[inline]
    pub fn string(&mut self, key: &str, value: &[u8]) {
        push_string(value, self.key(key));
    }

    pub fn text(&mut self, key: &str, value: Option<&[u8]>) {
        if let Some(value) = value {
            self.string(key, value);
        }
    }

    pub fn end(self) {
        self.out.push(b'}');
    }
}

#[inline]
pub fn list<T>(out: &mut Vec<u8>, items: impl Iterator<Item = T>, push: impl Fn(T, &mut Vec<u8>)) {
    out.push(b'[');
    for (index, item) in items.enumerate() {
        if index > 0 {
            out.push(b',');
        }
        push(item, out);
    }
    out.push(b']');
}

pub fn push_value(value: Value<'_>, out: &mut Vec<u8>) {
    push_value_in(value, 0, out);
}

/// Appends a value that is nested `depth` deep.
fn push_value_in(value: Value<'_>, depth: usize, out: &mut Vec<u8>) {
    if let Some(typed) = value.as_array().and_then(Typed::of) {
        return push_typed(typed, out);
    }
    let _ = match value {
        Value::Nil => write!(out, "null"),
        Value::Bool(value) => write!(out, "{value}"),
        Value::Uint(value) => {
            push_number(value, out);
            Ok(())
        }
        Value::Int(value) => {
            push_number(value, out);
            Ok(())
        }
        // What has an exponent keeps the form of Rust.
        Value::Float(value) if (1e-5..1e16).contains(&value.abs()) => {
            out.extend_from_slice(zmij::Buffer::new().format_finite(value).as_bytes());
            Ok(())
        }
        Value::Float(value) if value.is_finite() => write!(out, "{value:?}"),
        Value::Float(value) if value.is_nan() => write!(out, "\"nan\""),
        Value::Float(value) => write!(out, "\"{value}\""),
        Value::Raw(bytes) => {
            push_string(bytes, out);
            Ok(())
        }
        Value::Array(array) if depth == DEPTH => write!(out, "\"[{} values]\"", array.len()),
        Value::Array(array) => {
            let push = |value, out: &mut Vec<u8>| push_value_in(value, depth + 1, out);
            list(out, array.iter(), push);
            Ok(())
        }
        Value::Map(_) | Value::Ext(..) => write!(out, "null"),
    };
}

/// Appends a value that stands in a list with its type.
fn push_typed(typed: Typed<'_>, out: &mut Vec<u8>) {
    match typed {
        Typed::Int128(value) => push_number(value, out),
        Typed::Uint128(value) => push_number(value, out),
        Typed::Printed(text) => push_string(text, out),
        Typed::Bytes(bytes) => {
            out.push(b'"');
            for byte in bytes {
                let _ = write!(out, "{byte:02x}");
            }
            out.push(b'"');
        }
        // Of a later version.
        _ => out.extend_from_slice(b"null"),
    }
}

/// Appends a number, without the machinery of formats.
#[inline]
pub fn push_number(value: impl itoa::Integer, out: &mut Vec<u8>) {
    out.extend_from_slice(itoa::Buffer::new().format(value).as_bytes());
}

/// Appends a string in quotes.
pub fn push_string(bytes: &[u8], out: &mut Vec<u8>) {
    out.push(b'"');
    if is_plain(bytes) {
        out.extend_from_slice(bytes)
    } else {
        push_escaped(bytes, out)
    }
    out.push(b'"');
}

/// Appends what `text` appends as a string in quotes. Most texts need no escape and
/// stay where they were put.
pub fn push_string_with(out: &mut Vec<u8>, text: impl FnOnce(&mut Vec<u8>)) {
    out.push(b'"');
    let start = out.len();
    text(out);
    if !is_plain(&out[start..]) {
        let odd = out.split_off(start);
        push_escaped(&odd, out);
    }
    out.push(b'"');
}

/// Whether bytes stand for themselves in a string.
fn is_plain(bytes: &[u8]) -> bool {
    let is_odd =
        |byte: &u8| (byte.wrapping_sub(b' ') > b'~' - b' ') | (*byte == b'"') | (*byte == b'\\');
    !bytes.iter().fold(false, |odd, byte| odd | is_odd(byte))
}

fn push_escaped(bytes: &[u8], out: &mut Vec<u8>) {
    let stays = |c| !matches!(c, '"' | '\\') && escape::is_harmless(c);
    for chunk in bytes.utf8_chunks() {
        escape::push_text(chunk.valid(), out, stays, |c, out| match c {
            '"' => out.extend_from_slice(b"\\\""),
            '\\' => out.extend_from_slice(b"\\\\"),
            '\n' => out.extend_from_slice(b"\\n"),
            '\t' => out.extend_from_slice(b"\\t"),
            c => push_control(c, out),
        });
        if !chunk.invalid().is_empty() {
            out.extend_from_slice("\u{fffd}".as_bytes());
        }
    }
}

/// Appends what stands in JSON for a control or for a mark of direction. C1, DEL and those marks are
/// legal there, and still drive terminals.
pub(super) fn push_control(c: char, out: &mut Vec<u8>) {
    escape::push_hex(b"\\u", c.into(), 4, out);
}

#[cfg(test)]
mod tests {
    use super::*;
    use logdef_wire::Array;

    fn value(value: Value<'_>) -> String {
        let mut out = Vec::new();
        push_value(value, &mut out);
        String::from_utf8(out).unwrap()
    }

    /// Bytes of a value inside `levels` arrays.
    fn nested(levels: usize) -> Vec<u8> {
        let mut bytes = vec![0x91; levels];
        bytes.push(1);
        bytes
    }

    fn decoded(bytes: &[u8]) -> Value<'_> {
        let array = Array::from_objects(1, bytes).unwrap();
        array.iter().next().unwrap()
    }

    #[test]
    fn bytes_that_are_no_text_are_whole() {
        let bytes = [0x92, 13, 0xa4, 0, 0xff, b'h', b'i'];
        assert_eq!(value(decoded(&bytes)), "\"00ff6869\"");
    }

    #[test]
    fn values_with_types_of_their_own_are_numbers_and_text() {
        for (typed, expected) in [
            (Typed::Uint128(u128::MAX), u128::MAX.to_string()),
            (Typed::Int128(i128::MIN), i128::MIN.to_string()),
            (Typed::Printed(b" 7\"s"), "\" 7\\\"s\"".to_owned()),
        ] {
            let mut buffer = [0; 64];
            let mut encoder = logdef_wire::msgpack::Encoder::new(&mut buffer);
            typed.encode(&mut encoder).unwrap();
            assert_eq!(value(decoded(encoder.written())), expected);
        }
    }

    #[test]
    fn arrays_in_arrays_are_cut_where_they_are_deep() {
        assert_eq!(value(decoded(&nested(3))), "[[[1]]]");
        let open = "[".repeat(DEPTH);
        let close = "]".repeat(DEPTH);
        let cut = format!("{open}\"[1 values]\"{close}");
        for levels in [DEPTH + 1, 100_000] {
            assert_eq!(value(decoded(&nested(levels))), cut);
        }
    }

    #[test]
    fn values_keep_their_types() {
        assert_eq!(value(Value::Uint(u64::MAX)), "18446744073709551615");
        assert_eq!(value(Value::Float(1.0)), "1.0");
        assert_eq!(value(Value::Float(-0.1)), "-0.1");
        assert_eq!(value(Value::Float(1e300)), "1e300");
        assert_eq!(value(Value::Float(f64::NEG_INFINITY)), "\"-inf\"");
        assert_eq!(value(Value::Float(f64::NAN)), "\"nan\"");
        assert_eq!(
            value(Value::Raw(b"a\"\x1b\\\xff")),
            "\"a\\\"\\u001b\\\\\u{fffd}\""
        );
    }
}
