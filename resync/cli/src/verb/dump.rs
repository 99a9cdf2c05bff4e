//! `dump`: frames and fields as they stand, for debugging a log or a writer.

use crate::args::Source;
use crate::failure::Failure;
use crate::log::{self, Log};
use crate::output::Output;
use crate::show::escape;
use logdef_resync::{Item, Items, freeze};
use logdef_wire::record::Fields;
use logdef_wire::{Record, Tag, Value};
use std::io::Write;
use std::process::ExitCode;

/// `dump`: what to show.
#[derive(Debug, clap::Args)]
pub struct Dump {
    #[command(flatten)]
    pub source: Source,
}

impl Dump {
    pub fn run(&self) -> Result<ExitCode, Failure> {
        let mut output = Output::new();
        let inputs = log::inputs(&self.source)?;
        freeze(&inputs.opened);
        for input in &inputs.opened {
            escape::push(input.name().as_bytes(), &mut output.buffer);
            output.buffer.extend(b":\n");
            let mut items = Items::new(input);
            while let Some(item) = items.next()? {
                match item {
                    Item::Frame(frame) => {
                        let _ = write!(
                            output.buffer,
                            "{:#010x} {:6} ",
                            frame.offset,
                            frame.bytes.len()
                        );
                        body(frame.body, &mut output.buffer, true);
                    }
                    Item::Gap(gap) => {
                        let _ = writeln!(
                            output.buffer,
                            "{:#010x} {:6} {}",
                            gap.offset, gap.len, gap.kind
                        );
                    }
                    _ => continue,
                }
                output.line()?;
            }
        }
        output.flush()?;
        if !self.source.strict {
            return Ok(log::status(false, true, inputs.lacks_some));
        }
        // What is missing, frames alone do not say.
        Ok(Log::of(inputs)?.status(&self.source))
    }
}

/// Arrays and maps in others that are shown: each level costs another look at all below.
const DEPTH: usize = 16;

/// Appends a record: its tag and each field by number. One that is masked is shown as the
/// record in it, unless it stands in another.
fn body(bytes: &[u8], out: &mut Vec<u8>, unmasks: bool) {
    let tag = Tag(bytes[0]);
    let _ = match tag.name() {
        Some(name) => write!(out, "{name}"),
        None => write!(out, "record {}", tag.0),
    };
    if unmasks && let Ok(Record::Masked(masked)) = Record::decode(bytes) {
        let mut inner = vec![0; masked.body.map_or(0, <[u8]>::len)];
        if let Some(inner) = masked.unmask(&mut inner).filter(|inner| !inner.is_empty()) {
            out.extend_from_slice(b" of ");
            return body(inner, out, false);
        }
    }
    if let Err(error) = fields(bytes, out) {
        let _ = write!(out, " malformed: {error}");
    }
    out.push(b'\n');
}

fn fields(bytes: &[u8], out: &mut Vec<u8>) -> Result<(), logdef_wire::msgpack::DecodeError> {
    let mut fields = Fields::new(bytes)?;
    while let Some((tag, found)) = fields.next_field()? {
        let _ = write!(out, " {tag}=");
        value(found, 0, out);
    }
    fields.finish()
}

/// Appends a value that is nested `depth` deep.
fn value(found: Value<'_>, depth: usize, out: &mut Vec<u8>) {
    match found {
        Value::Uint(number) if number > 0xffff => {
            let _ = write!(out, "{number:#x}");
        }
        Value::Raw(bytes) => {
            out.push(b'"');
            escape::push(bytes, out);
            out.push(b'"');
        }
        Value::Array(array) if depth < DEPTH => {
            out.push(b'[');
            for (index, item) in array.iter().enumerate() {
                if index > 0 {
                    out.push(b' ');
                }
                value(item, depth + 1, out);
            }
            out.push(b']');
        }
        Value::Map(map) if depth < DEPTH => {
            out.push(b'{');
            for (key, item) in map.iter() {
                value(key, depth + 1, out);
                out.push(b'=');
                value(item, depth + 1, out);
                out.push(b' ');
            }
            out.push(b'}');
        }
        other => logdef_resync::push_value(other, out),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_shown_deeper_than_it_is_worth() {
        // An unknown field with a hundred thousand arrays in each other, then maps.
        for level in [&[0x91][..], &[0x81, 0x01]] {
            let mut bytes = vec![0x7f, 0x81, 0x50];
            bytes.extend(level.repeat(100_000));
            bytes.push(1);
            let mut out = Vec::new();
            body(&bytes, &mut out, true);
            let text = String::from_utf8(out).unwrap();
            assert!(text.len() < 200, "{text}");
            let inner = ["[1 values]", "{1 pairs}"];
            assert!(inner.iter().any(|inner| text.contains(inner)), "{text}");
        }
    }

    #[test]
    fn a_masked_record_in_a_masked_record_is_not_unmasked() {
        let mut bytes = vec![0x7f, 0x80];
        for _ in 0..100_000 {
            // With a mask of zeros.
            let mut outer = vec![0x7e, 0x82, 0x00, 0x00, 0x01, 0xdb];
            outer.extend((bytes.len() as u32).to_be_bytes());
            if outer.len() + bytes.len() > 4000 {
                break;
            }
            outer.append(&mut bytes);
            bytes = outer;
        }
        let mut out = Vec::new();
        body(&bytes, &mut out, true);
        let text = String::from_utf8(out).unwrap();
        assert_eq!(text.matches("masked").count(), 2, "{text}");
    }
}
