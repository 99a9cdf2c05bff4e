//! `dump`: frames and fields as they stand, for debugging a log or a writer.

use crate::args::Source;
use crate::failure::Failure;
use crate::log::{self, Log};
use crate::output::Output;
use crate::show::escape;
use logdef_resync::{Item, Items};
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
        for input in &inputs.opened {
            let _ = writeln!(output.buffer, "{}:", input.name());
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
                        body(frame.body, &mut output.buffer);
                    }
                    Item::Gap(gap) => {
                        let _ = writeln!(
                            output.buffer,
                            "{:#010x} {:6} {}",
                            gap.offset, gap.len, gap.kind
                        );
                    }
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

/// Appends a record: its tag and each field by number.
fn body(bytes: &[u8], out: &mut Vec<u8>) {
    let tag = Tag(bytes[0]);
    let _ = match tag.name() {
        Some(name) => write!(out, "{name}"),
        None => write!(out, "record {}", tag.0),
    };
    if let Ok(Record::Masked(masked)) = Record::decode(bytes) {
        let mut inner = vec![0; masked.body.map_or(0, <[u8]>::len)];
        if let Some(inner) = masked.unmask(&mut inner).filter(|inner| !inner.is_empty()) {
            out.extend_from_slice(b" of ");
            return body(inner, out);
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
        value(found, out);
    }
    fields.finish()
}

fn value(found: Value<'_>, out: &mut Vec<u8>) {
    match found {
        Value::Uint(number) if number > 0xffff => drop(write!(out, "{number:#x}")),
        Value::Raw(bytes) => {
            out.push(b'"');
            escape::push(bytes, out);
            out.push(b'"');
        }
        Value::Array(array) => {
            out.push(b'[');
            for (index, item) in array.iter().enumerate() {
                if index > 0 {
                    out.push(b' ');
                }
                value(item, out);
            }
            out.push(b']');
        }
        Value::Map(map) => {
            out.push(b'{');
            for (key, item) in map.iter() {
                value(key, out);
                out.push(b'=');
                value(item, out);
                out.push(b' ');
            }
            out.push(b'}');
        }
        other => logdef_resync::push_value(other, out),
    }
}
