//! Records as JSON, an object a line. Keys and their meaning are fixed by
//! version 1 of the keys; absent means unknown.
//!
//! Numbers stand as numbers, 64-bit integers in full. JSON has no infinities
//! and no NaN: those stand as the strings `"inf"`, `"-inf"` and `"nan"`. Text
//! that is not UTF-8 has U+FFFD where its bytes are none.

use logdef_resync::{Resolved, StackEntry};
use logdef_wire::Value;
use std::io::Write;

/// Appends a record.
pub fn record(record: &Resolved<'_>, stack: &[StackEntry], out: &mut Vec<u8>) {
    let data = &record.data;
    let mut object = Object::begin(out);
    object.number("time_ns", data.time);
    if let Some(level) = data.level {
        object.string("level", level.to_string().as_bytes());
    }
    if let Some(run) = data.run {
        object.string("run", format!("{run:016x}").as_bytes());
    }
    object.number("pid", record.run.and_then(|run| run.pid));
    object.number("thread", data.thread);
    object.number("thread_number", data.sequence.map(|s| s.number().0));
    let thread = record.thread;
    object.text(
        "thread_name",
        thread.and_then(|thread| thread.name.as_deref()),
    );
    object.number("tid", thread.and_then(|thread| thread.tid));
    object.number("sequence", data.sequence.map(|s| s.count()));
    object.text("image", record.image.map(|image| &image.path[..]));
    object.text("file", record.file.bytes);
    object.number("line", data.line);
    object.text("format", record.format.bytes);
    if let Some(args) = data.args {
        let out = object.key("args");
        list(out, args.iter(), |arg, out| push_value(arg, out));
    }
    let mut message = Vec::new();
    record.message(&mut message);
    object.text("message", Some(&message));
    if !stack.is_empty() {
        let out = object.key("backtrace");
        list(out, stack.iter(), stack_entry);
    }
    object.end();
    out.push(b'\n');
}

fn stack_entry(entry: &StackEntry, out: &mut Vec<u8>) {
    let logged = entry.logged.as_ref();
    let mut object = Object::begin(out);
    object.number("address", Some(entry.address.0));
    let path = entry.image.as_ref().map(|(image, _)| &image.path[..]);
    object.text(
        "image",
        path.or(logged.and_then(|logged| logged.fname.as_deref())),
    );
    object.number("svma", entry.image.as_ref().map(|(_, address)| address.0));
    object.text("symbol", logged.and_then(|logged| logged.sname.as_deref()));
    if !entry.functions.is_empty() {
        let out = object.key("functions");
        list(out, entry.functions.iter(), |function, out| {
            let mut object = Object::begin(out);
            object.text("function", function.function.as_deref().map(str::as_bytes));
            object.text("file", function.file.as_deref().map(str::as_bytes));
            object.number("line", function.line.map(u64::from));
            object.end();
        });
    }
    object.end();
}

/// An object under construction.
struct Object<'o> {
    out: &'o mut Vec<u8>,
    is_first: bool,
}

impl<'o> Object<'o> {
    fn begin(out: &'o mut Vec<u8>) -> Self {
        out.push(b'{');
        Object {
            out,
            is_first: true,
        }
    }

    fn key(&mut self, key: &str) -> &mut Vec<u8> {
        if !std::mem::take(&mut self.is_first) {
            self.out.push(b',');
        }
        self.out.push(b'"');
        self.out.extend_from_slice(key.as_bytes());
        self.out.extend_from_slice(b"\":");
        self.out
    }

    fn number(&mut self, key: &str, value: Option<u64>) {
        if let Some(value) = value {
            let _ = write!(self.key(key), "{value}");
        }
    }

    fn string(&mut self, key: &str, value: &[u8]) {
        push_string(value, self.key(key));
    }

    fn text(&mut self, key: &str, value: Option<&[u8]>) {
        if let Some(value) = value {
            self.string(key, value);
        }
    }

    fn end(self) {
        self.out.push(b'}');
    }
}

fn list<T>(out: &mut Vec<u8>, items: impl Iterator<Item = T>, push: impl Fn(T, &mut Vec<u8>)) {
    out.push(b'[');
    for (index, item) in items.enumerate() {
        if index > 0 {
            out.push(b',');
        }
        push(item, out);
    }
    out.push(b']');
}

fn push_value(value: Value<'_>, out: &mut Vec<u8>) {
    let _ = match value {
        Value::Nil => write!(out, "null"),
        Value::Bool(value) => write!(out, "{value}"),
        Value::Uint(value) => write!(out, "{value}"),
        Value::Int(value) => write!(out, "{value}"),
        Value::Float(value) if value.is_finite() => write!(out, "{value:?}"),
        Value::Float(value) if value.is_nan() => write!(out, "\"nan\""),
        Value::Float(value) => write!(out, "\"{value}\""),
        Value::Raw(bytes) => {
            push_string(bytes, out);
            Ok(())
        }
        Value::Array(array) => {
            list(out, array.iter(), push_value);
            Ok(())
        }
        Value::Map(_) | Value::Ext(..) => write!(out, "null"),
    };
}

fn push_string(bytes: &[u8], out: &mut Vec<u8>) {
    out.push(b'"');
    for chunk in bytes.utf8_chunks() {
        for c in chunk.valid().chars() {
            let _ = match c {
                '"' => write!(out, "\\\""),
                '\\' => write!(out, "\\\\"),
                '\n' => write!(out, "\\n"),
                '\t' => write!(out, "\\t"),
                // C1 and DEL are legal in JSON, and still drive terminals.
                c if c.is_control() => write!(out, "\\u{:04x}", c as u32),
                c => write!(out, "{c}"),
            };
        }
        if !chunk.invalid().is_empty() {
            out.extend_from_slice("\u{fffd}".as_bytes());
        }
    }
    out.push(b'"');
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(value: Value<'_>) -> String {
        let mut out = Vec::new();
        push_value(value, &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn values_keep_their_types() {
        assert_eq!(value(Value::Uint(u64::MAX)), "18446744073709551615");
        assert_eq!(value(Value::Float(1.0)), "1.0");
        assert_eq!(value(Value::Float(f64::NEG_INFINITY)), "\"-inf\"");
        assert_eq!(value(Value::Float(f64::NAN)), "\"nan\"");
        assert_eq!(
            value(Value::Raw(b"a\"\x1b\\\xff")),
            "\"a\\\"\\u001b\\\\\u{fffd}\""
        );
    }
}
