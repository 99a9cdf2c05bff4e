//! Log data of Fuchsia's diagnostics services, in JSON arrays one after the other
//! or an object a line, and the same data in structured records. What other tools
//! call tags and keys, a log has as keys.
//!
//! | of the data | in the log |
//! |---|---|
//! | `moniker`, or else the first tag | the image |
//! | `timestamp`, `severity`, `pid`, `tid`, `file`, `line` | the same; the severity as its number |
//! | message | the message |
//! | other tags | keys `tag` |
//! | keys, with their types | keys |
//! | `component_url`; errors but `dropped_logs` | keys `component_url`, `rolled_out`, `error` |
//! | the error `dropped_logs` | records of the thread that were lost before |
//!
//! Times are those of the data: of a clock that starts at boot, unless a log was
//! exported.

use super::fxt::Imported;
use super::log_writer::{Entry, LogWriter, Origin};
use crate::read::input::{Error, Input};
use logdef_fuchsia::diagnostics::{LogError, LogsData, Property};
use logdef_fuchsia::structured::{Header, MAX_RECORD_BYTES, Profile, Record};
use logdef_wire::{Level, Value};
use serde::de::value::MapAccessDeserializer;
use serde::de::{
    Deserialize, DeserializeSeed, Deserializer, Error as _, MapAccess, SeqAccess, Visitor,
};
use serde_json::value::RawValue;
use std::fmt;
use std::io::{BufRead, BufReader, Write};

/// Bytes that tell one source from another.
const HEAD: usize = 64 << 10;

/// Makes a log of JSON. Objects that are no log data are left out; what follows a
/// mistake in the JSON cannot be read.
pub fn import_json(json: &Input, out: impl Write) -> Result<Imported, Error> {
    let mut imported = Imported::default();
    let mut log = LogWriter::new(out, origin(json)?);
    let mut failure = None;
    let reader = BufReader::with_capacity(1 << 16, json.reader());
    let mut deserializer = serde_json::Deserializer::from_reader(reader);
    // Nothing but white space is the end.
    while deserializer.end().is_err() {
        let each = Each(|data: Option<LogsData>| {
            match data {
                Some(data) => failure = write(&mut log, &data).err(),
                None => imported.left_out += 1,
            }
            failure.is_none()
        });
        let read = each.deserialize(&mut deserializer);
        if let Some(error) = failure {
            return Err(error);
        }
        if let Err(error) = read {
            if error.is_io() {
                return Err(Error::new(json.name(), error.into()));
            }
            imported.gaps = 1;
            imported.gap_bytes = json.len().saturating_sub(position(json, &error)?);
            break;
        }
    }
    imported.written = log.finish()?.1;
    Ok(imported)
}

/// Where in the source a mistake is, to the line: what is told of it is the line.
fn position(json: &Input, error: &serde_json::Error) -> Result<u64, Error> {
    let mut lines = BufReader::new(json.reader());
    let mut position = 0;
    for _ in 1..error.line() {
        let skipped = lines.skip_until(b'\n');
        position += skipped.map_err(|cause| Error::new(json.name(), cause))? as u64;
    }
    Ok(position + error.column() as u64)
}

/// Makes a log of structured records, one behind the other. One that cannot be
/// read is passed over if its length can be; where not, the rest cannot be read: a
/// record has no beginning that could be searched for.
pub fn import_records(records: &Input, out: impl Write) -> Result<Imported, Error> {
    let mut imported = Imported::default();
    let mut log = LogWriter::new(out, origin(records)?);
    let mut buffer = vec![0; MAX_RECORD_BYTES];
    let mut at = 0;
    while at < records.len() {
        let got = read(records, &mut buffer, at)?;
        let bytes = &buffer[..got];
        let stated = Header::parse(bytes).map_or(usize::MAX, |header| header.words * 8);
        let passed = match Record::parse(bytes, Profile::Lenient) {
            Ok((record, _)) => {
                write(
                    &mut log,
                    &LogsData::from_record(&record, &Default::default()),
                )?;
                record.as_bytes().len() as u64
            }
            Err(_) => {
                let passed = match stated <= got {
                    true => stated as u64,
                    false => records.len() - at,
                };
                imported.gaps += 1;
                imported.gap_bytes += passed;
                passed
            }
        };
        at += passed;
    }
    imported.written = log.finish()?.1;
    Ok(imported)
}

fn origin(input: &Input) -> Result<Origin, Error> {
    let mut head = vec![0; HEAD];
    let got = read(input, &mut head, 0)?;
    Ok(Origin::of(&head[..got]))
}

fn read(input: &Input, buffer: &mut [u8], at: u64) -> Result<usize, Error> {
    let got = input.read_at(buffer, at);
    got.map_err(|cause| Error::new(input.name(), cause))
}

fn write<W: Write>(log: &mut LogWriter<W>, data: &LogsData) -> Result<(), Error> {
    let metadata = &data.metadata;
    let mut tags = &metadata.tags[..];
    let image = match (data.moniker.as_str(), tags) {
        ("", [first, rest @ ..]) => {
            tags = rest;
            first
        }
        (moniker, [first, rest @ ..]) if moniker == first => {
            tags = rest;
            moniker
        }
        (moniker, _) => moniker,
    };
    let mut keys: Vec<(&[u8], Value<'_>)> = Vec::new();
    keys.extend(
        tags.iter()
            .map(|tag| (&b"tag"[..], Value::Raw(tag.as_bytes()))),
    );
    if let Some(url) = &metadata.component_url {
        keys.push((b"component_url", Value::Raw(url.as_bytes())));
    }
    let mut dropped = 0;
    for error in &metadata.errors {
        match error {
            LogError::DroppedLogs { count } => dropped = *count,
            LogError::RolledOutLogs { count } => keys.push((b"rolled_out", Value::Uint(*count))),
            LogError::ParseRecord(text) | LogError::Other { message: text } => {
                keys.push((b"error", Value::Raw(text.as_bytes())));
            }
        }
    }
    let payload = data.payload.as_ref();
    let properties = payload.map_or(&[][..], |payload| &payload.keys);
    let texts: Vec<_> = properties.iter().map(|(_, of)| of.to_string()).collect();
    for ((name, property), text) in properties.iter().zip(&texts) {
        keys.push((name.as_bytes(), value(property, text)));
    }
    let message = payload.and_then(|payload| payload.message.as_deref());
    log.write(&Entry {
        image: image.as_bytes(),
        pid: metadata.pid,
        tid: metadata.tid,
        time: u64::try_from(metadata.timestamp).ok(),
        level: Some(Level(metadata.recorded_severity().0)),
        file: metadata.file.as_deref().map(str::as_bytes),
        line: metadata.line,
        format: b"%s",
        args: &[Value::Raw(message.unwrap_or("").as_bytes())],
        keys: &keys,
        dropped,
        ..Entry::default()
    })
}

fn value<'a>(property: &'a Property, text: &'a str) -> Value<'a> {
    match property {
        Property::SignedInt(value) => match u64::try_from(*value) {
            Ok(value) => Value::Uint(value),
            Err(_) => Value::Int(*value),
        },
        Property::UnsignedInt(value) => Value::Uint(*value),
        Property::Double(value) => Value::Float(*value),
        Property::Boolean(value) => Value::Bool(*value),
        Property::Bytes(bytes) => Value::Raw(bytes),
        Property::Text(_) | Property::Array(_) => Value::Raw(text.as_bytes()),
    }
}

/// Gives the log data of an array, or of a single object, to a function until that
/// says no: an array is never in memory as a whole. What is none gives nothing.
struct Each<F>(F);

impl<'de, F: FnMut(Option<LogsData>) -> bool> DeserializeSeed<'de> for Each<F> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de, F: FnMut(Option<LogsData>) -> bool> Visitor<'de> for Each<F> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("log data, or an array of them")
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut array: A) -> Result<(), A::Error> {
        // As text first: an object that is something else must not end it all.
        while let Some(item) = array.next_element::<Box<RawValue>>()? {
            if !(self.0)(serde_json::from_str(item.get()).ok()) {
                return Err(A::Error::custom("stopped"));
            }
        }
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(mut self, object: A) -> Result<(), A::Error> {
        let item = serde_json::Value::deserialize(MapAccessDeserializer::new(object))?;
        match (self.0)(LogsData::deserialize(item).ok()) {
            true => Ok(()),
            false => Err(A::Error::custom("stopped")),
        }
    }
}
