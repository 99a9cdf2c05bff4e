//! Records as logfmt and as CSV: the same columns in two dresses, times in UTC.

use crate::show::clock;
use crate::show::escape;
use crate::show::json;
use logdef_resync::Resolved;
use logdef_wire::Value;
use std::io::Write;

/// What the columns are called, in order.
const COLUMNS: [&str; 15] = [
    "time", "level", "run", "pid", "tid", "thread", "sequence", "image", "file", "line", "message",
    "keys", "standing", "module", "target",
];

/// Writes records, and keeps the room that each of them needs.
#[derive(Default)]
pub struct Writer {
    cell: Vec<u8>,
    escaped: Vec<u8>,
}

impl Writer {
    /// Appends the line that names the columns of CSV.
    pub fn csv_head(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(COLUMNS.join(",").as_bytes());
        out.extend_from_slice(b"\r\n");
    }

    /// Appends a record as CSV, as RFC 4180 has it.
    pub fn csv(&mut self, record: &Resolved<'_>, out: &mut Vec<u8>) {
        for column in 0..COLUMNS.len() {
            if column > 0 {
                out.push(b',');
            }
            self.fill(column, record);
            self.escaped.clear();
            escape::push(&self.cell, &mut self.escaped);
            if may_be_formula(&self.escaped) {
                self.escaped.insert(0, b'\'');
            }
            let is_plain = |byte: &u8| !matches!(byte, b',' | b'"' | b'\r' | b'\n');
            if self.escaped.iter().all(is_plain) {
                out.extend_from_slice(&self.escaped);
                continue;
            }
            out.push(b'"');
            for byte in &self.escaped {
                if *byte == b'"' {
                    out.push(b'"');
                }
                out.push(*byte);
            }
            out.push(b'"');
        }
        out.extend_from_slice(b"\r\n");
    }

    /// Appends a record as `key=value` pairs; what is not known is left out.
    pub fn logfmt(&mut self, record: &Resolved<'_>, out: &mut Vec<u8>) {
        let start = out.len();
        for (column, name) in COLUMNS.iter().enumerate() {
            self.fill(column, record);
            if self.cell.is_empty() && *name != "message" {
                continue;
            }
            if out.len() > start {
                out.push(b' ');
            }
            if *name == "keys" {
                out.extend_from_slice(&self.cell);
                continue;
            }
            out.extend_from_slice(name.as_bytes());
            out.push(b'=');
            push_value(&self.cell, out);
        }
        out.push(b'\n');
    }

    /// Puts what stands in a column into `self.cell`, as the program logged it.
    fn fill(&mut self, column: usize, record: &Resolved<'_>) {
        let data = record.data;
        let thread = record.thread;
        let cell = &mut self.cell;
        cell.clear();
        let text = match COLUMNS[column] {
            "image" => record.image.map(|image| &image.path[..]),
            "file" => record.file.bytes,
            "module" => record.module(),
            "target" => record.target(),
            "thread" => match thread.and_then(|thread| thread.name.as_deref()) {
                Some(name) if !name.is_empty() => Some(name),
                _ => {
                    if let Some(sequence) = data.sequence {
                        let _ = write!(cell, "{}", sequence.number().0);
                    }
                    None
                }
            },
            _ => None,
        };
        let number = match COLUMNS[column] {
            "pid" => record.run.and_then(|run| run.pid),
            "tid" => thread.and_then(|thread| thread.tid),
            "sequence" => data.sequence.map(|sequence| sequence.count()),
            "line" => record.source_line(),
            _ => None,
        };
        match COLUMNS[column] {
            "time" => {
                if let Some(time) = data.time {
                    clock::push_rfc3339(time, cell);
                }
            }
            "level" => {
                if let Some(level) = data.level {
                    let _ = write!(cell, "{level}");
                }
            }
            "run" => {
                if let Some(run) = data.run {
                    let _ = write!(cell, "{run:016x}");
                }
            }
            "message" => record.message(cell),
            "standing" => push_words(record.marks(), cell),
            "keys" => {
                self.escaped.clear();
                push_keys(record, &mut self.escaped, cell);
            }
            _ => {}
        }
        if let Some(number) = number {
            let _ = write!(cell, "{number}");
        }
        if let Some(text) = text {
            cell.extend_from_slice(text);
        }
    }
}

/// Appends words with a space between them.
fn push_words<'w>(words: impl Iterator<Item = &'w str>, out: &mut Vec<u8>) {
    for word in words {
        if !out.is_empty() {
            out.push(b' ');
        }
        out.extend_from_slice(word.as_bytes());
    }
}

/// Whether a spreadsheet would run a cell instead of showing it.
fn may_be_formula(cell: &[u8]) -> bool {
    let is_number = || str::from_utf8(cell).is_ok_and(|text| text.parse::<f64>().is_ok());
    matches!(cell, [b'=' | b'+' | b'-' | b'@', ..]) && !is_number()
}

/// The structured keys of a record and of its context, as logfmt. Those that are called as a column is have
/// `keys.` before them: parsers take the last of two equal keys.
fn push_keys(record: &Resolved<'_>, cell: &mut Vec<u8>, out: &mut Vec<u8>) {
    let own = record.data.keys.into_iter().flat_map(|keys| keys.iter());
    let of_context = record.context.iter();
    let of_context = of_context.map(|(key, value)| (Value::Raw(key), value));
    for (index, (key, value)) in own.chain(of_context).enumerate() {
        if index > 0 {
            out.push(b' ');
        }
        for (value, is_key) in [(key, true), (value, false)] {
            cell.clear();
            crate::show::text::push_bare(value, cell);
            if is_key {
                let mut escaped = Vec::new();
                escape::push(cell, &mut escaped);
                // A key holds nothing that ends one.
                escaped.retain(|byte| !matches!(byte, b' ' | b'=' | b'"'));
                if COLUMNS.iter().any(|name| name.as_bytes() == escaped) {
                    out.extend_from_slice(b"keys.");
                }
                out.extend_from_slice(&escaped);
                out.push(b'=');
            } else {
                push_value(cell, out);
            }
        }
    }
}

/// Appends a value of logfmt: bare, or as a string of JSON. Parsers take a backslash within quotes for an escape:
/// were it not one, a text that ends in it would leave its quotes open.
fn push_value(value: &[u8], out: &mut Vec<u8>) {
    let may_be_bare = |c| !matches!(c, ' ' | '=' | '"' | '\\') && escape::is_harmless(c);
    match str::from_utf8(value) {
        Ok(text) if !text.is_empty() && text.chars().all(may_be_bare) => {
            out.extend_from_slice(value);
        }
        _ => json::push_string(value, out),
    }
}
