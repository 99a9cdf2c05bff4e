//! What the events of a trace have no place for, kept for an importer: records as the log has them.
//!
//! Each stands in a blob of its own, untyped data named `logdef`, which viewers skip: the body of a record
//! of [FORMAT.md](https://docs.rs/logdef-wire), without a frame around it.
//!
//! | body | stands | for |
//! |---|---|---|
//! | preamble | after the provider | the folder of its image |
//! | thread logdef | after the thread's name | a name that is no UTF-8, or too long |
//! | data, with its texts and with keys of its contexts | before the record's events | level, place and keys of a counter; a backtrace; bytes that are no UTF-8; 128-bit integers; long texts; more arguments than an event takes |
//! | text logdef | before that | the description of its format |
//! | backtrace logdefs | before that | what the process knew of the addresses |

use super::Exporter;
use super::details::{KEY, TEXT, description};
use crate::read::framing;
use crate::resolve::resolved::Resolved;
use crate::resolve::stack::StackEntry;
use logdef_fuchsia::fxt::{BlobKind, MAX_ARGUMENTS};
use logdef_wire::msgpack::{Encoder, OutOfRoom};
use logdef_wire::record::{BacktraceLogdef, Data, Glance, Kind, Preamble, TextLogdef};
use logdef_wire::{Map, Value};
use std::io;

/// The name of the blobs.
pub(crate) const NAME: &str = "logdef";
/// The longest body; the record of a longer one has its events alone.
const ROOM: usize = 30 << 10;

/// Whether the events of a record leave out any of what it says.
pub(super) fn is_needed(record: &Resolved<'_>) -> bool {
    let data = &record.data;
    data.kind == Some(Kind::COUNTER)
        || data.backtrace.is_some()
        || [record.format.bytes, record.source_file()]
            .iter()
            .flatten()
            .any(|text| is_changed(text, TEXT))
        || data.args.is_some_and(|args| args.iter().any(has_no_type))
        || (data.keys.is_some() || !record.context.is_empty()) && has_odd_keys(record)
        || arguments(record) > MAX_ARGUMENTS
}

/// Whether an event has another text in place of this one.
pub(super) fn is_changed(text: &[u8], most: usize) -> bool {
    text.len() > most || str::from_utf8(text).is_err()
}

/// Whether an argument of an event cannot be this value.
fn has_no_type(value: Value<'_>) -> bool {
    match value {
        Value::Raw(text) => is_changed(text, TEXT),
        Value::Nil | Value::Bool(_) | Value::Uint(_) | Value::Int(_) | Value::Float(_) => false,
        _ => true,
    }
}

/// Keys that an importer would not know from arguments, or whose name or value has no place.
fn has_odd_keys(record: &Resolved<'_>) -> bool {
    let is_number = |key: &[u8]| key.first().is_some_and(u8::is_ascii_digit);
    let is_odd = |key: &[u8]| is_changed(key, KEY) || is_number(key);
    let own = record.data.keys.into_iter().flat_map(|keys| keys.iter());
    let own_is_odd = own.into_iter().any(|(key, value)| match key {
        Value::Raw(key) => is_odd(key) || has_no_type(value),
        _ => true,
    });
    let mut of_context = record.context.iter();
    own_is_odd || of_context.any(|(key, value)| is_odd(key) || has_no_type(value))
}

/// How many arguments an event of the record takes at most.
fn arguments(record: &Resolved<'_>) -> usize {
    // Standing, level, file, line, message, kind, drops, time, format and grammar.
    const OWN: usize = 10;
    let args = record.data.args.map_or(0, |args| args.len() as usize);
    let keys = record.data.keys.map_or(0, |keys| keys.len() as usize);
    OWN + args + keys + record.context.len()
}

/// What the process knew of an address of a backtrace, if it said anything.
fn address(entry: &StackEntry) -> Option<BacktraceLogdef<'_>> {
    let known = entry.logged.as_ref()?;
    Some(BacktraceLogdef {
        address: Some(entry.address),
        fname: known.fname.as_deref(),
        fbase: known.fbase,
        sname: known.sname.as_deref(),
        saddr: known.saddr,
        build_id: known.build_id.as_deref(),
        load_bias: known.load_bias,
        ..BacktraceLogdef::default()
    })
}

/// Writes the description of the record's format.
fn encode_description(record: &Resolved<'_>, encoder: &mut Encoder<'_>) -> Result<(), OutOfRoom> {
    let description = description(record);
    let text = TextLogdef {
        description: Some(&description),
        function: record.function(),
        ..TextLogdef::default()
    };
    text.encode(encoder)
}

/// Writes the record.
fn encode(
    record: &Resolved<'_>,
    keys: &mut [u8],
    encoder: &mut Encoder<'_>,
) -> Result<(), OutOfRoom> {
    let data = &record.data;
    let mut pairs = Encoder::new(keys);
    let own = data.keys.map_or(0, |keys| keys.len());
    pairs.bytes(data.keys.map_or(&[], |keys| keys.objects()))?;
    for (key, value) in record.context.iter() {
        pairs.raw(key)?;
        framing::value(&mut pairs, value)?;
    }
    let count = own + record.context.len() as u32;
    let of_events = Data {
        front: Glance {
            line: data.line,
            level: data.level,
            time: data.time,
            ..Glance::default()
        },
        args: data.args,
        backtrace: data.backtrace,
        format_text: record.format.bytes,
        file_text: record.file.bytes,
        dropped: data.dropped,
        kind: data.kind,
        keys: (count > 0)
            .then(|| Map::from_objects(count, pairs.written()).ok())
            .flatten(),
        ..Data::default()
    };
    of_events.encode(encoder)
}

impl<W: io::Write> Exporter<W> {
    /// Keeps the path of the image, of which `name` is the provider's name.
    pub(super) fn image(&mut self, record: &Resolved<'_>, name: &str) -> io::Result<()> {
        let path = record.image.map(|image| &*image.path);
        let preamble = Preamble {
            path: path.filter(|path| !path.is_empty() && *path != name.as_bytes()),
            ..Preamble::default()
        };
        if self.options.forms.instant && preamble.path.is_some() {
            self.blob(|encoder| preamble.encode(encoder))?;
        }
        Ok(())
    }

    /// Keeps the record as the log has it, if a blob has room for it.
    pub(super) fn keep(&mut self, record: &Resolved<'_>, stack: &[StackEntry]) -> io::Result<bool> {
        for entry in stack.iter().filter_map(address) {
            self.blob(|encoder| entry.encode(encoder))?;
        }
        if !description(record).is_empty() {
            self.blob(|encoder| encode_description(record, encoder))?;
        }
        let mut keys = std::mem::take(&mut self.keys);
        keys.resize(ROOM, 0);
        let is_kept = self.blob(|encoder| encode(record, &mut keys, encoder));
        self.keys = keys;
        is_kept
    }

    /// Writes the body of a record as a blob, if there is room for it.
    pub(super) fn blob(
        &mut self,
        encode: impl FnOnce(&mut Encoder<'_>) -> Result<(), OutOfRoom>,
    ) -> io::Result<bool> {
        self.body.resize(ROOM, 0);
        let mut encoder = Encoder::new(&mut self.body);
        let fits = encode(&mut encoder).is_ok();
        if fits {
            let body = encoder.written();
            self.writer.blob(NAME, BlobKind::DATA, body)?;
        }
        Ok(fits)
    }
}
