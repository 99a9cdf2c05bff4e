//! Log data of Fuchsia's diagnostics services, in JSON arrays one after the other
//! or an object a line, and the same data in structured records. What other tools
//! call tags and keys, a log has as keys.
//!
//! | of the data | in the log |
//! |---|---|
//! | `moniker`; of structured records, which have none, the first tag | the image |
//! | `timestamp`, `severity`, `pid`, `tid`, `file`, `line` | the same; the severity as its number, and 0 as none |
//! | message | the message |
//! | tags | keys `tag` |
//! | keys, with their types | keys |
//! | the error `dropped_logs` | records of the thread that were lost before |
//! | `component_url`, other errors, times before 1970, no message, no payload | keys `diagnostics.…` |
//!
//! Exported again, the data are what they were. Times are those of the data: of the
//! monotonic clock, which starts at boot, unless a log was exported with Unix times.

use super::entry::Entry;
use super::fxt::Imported;
use super::log_writer::{LogWriter, Origin};
use crate::export::imported::Part;
use crate::export::lost;
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

/// Bytes at the start of a source by which it is identified.
const HEAD: usize = 64 << 10;

/// Makes a log of JSON. Objects that are no log data are left out; what follows a
/// mistake in the JSON cannot be read.
pub fn import_json(json: &Input, out: impl Write) -> Result<Imported, Error> {
    let mut imported = Imported::default();
    let mut log = LogWriter::new(out, origin(json)?).monotonic();
    let mut failure = None;
    let reader = BufReader::with_capacity(1 << 16, json.reader());
    let mut deserializer = serde_json::Deserializer::from_reader(reader);
    // Nothing but white space is the end.
    while deserializer.end().is_err() {
        let each = Each(|data: Option<LogsData>| {
            match data {
                Some(data) => {
                    imported.untimed += u64::from(data.metadata.timestamp < 0);
                    failure = write(&mut log, &data, &data.moniker).err();
                }
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
    imported.write_to(&mut log, json);
    imported.written = log.finish()?.1;
    Ok(imported)
}

/// The offset of the line with a mistake, which is what the message names.
fn position(json: &Input, error: &serde_json::Error) -> Result<u64, Error> {
    let mut lines = BufReader::new(json.reader());
    let mut position = 0;
    for _ in 1..error.line() {
        let skipped = lines.skip_until(b'\n');
        position += skipped.map_err(|cause| Error::new(json.name(), cause))? as u64;
    }
    Ok(position + error.column() as u64)
}

/// Makes a log of structured records, one after the other. One that cannot be
/// read is passed over if its length can be; where not, the rest cannot be read: a
/// record has no beginning that could be searched for.
pub fn import_records(records: &Input, out: impl Write) -> Result<Imported, Error> {
    let mut imported = Imported::default();
    let mut log = LogWriter::new(out, origin(records)?).monotonic();
    let mut buffer = vec![0; MAX_RECORD_BYTES];
    let mut at = 0;
    while at < records.len() {
        let got = read(records, &mut buffer, at)?;
        let bytes = &buffer[..got];
        let stated = Header::parse(bytes).map_or(usize::MAX, |header| header.words * 8);
        let passed = match Record::parse(bytes, Profile::Lenient) {
            Ok((record, _)) => {
                let data = LogsData::from_record(&record, &Default::default());
                imported.untimed += u64::from(data.metadata.timestamp < 0);
                let image = data.metadata.tags.first().map_or("", String::as_str);
                write(&mut log, &data, image)?;
                record.as_bytes().len() as u64
            }
            Err(_) => {
                let passed = if stated <= got {
                    stated as u64
                } else {
                    records.len() - at
                };
                imported.gaps += 1;
                imported.gap_bytes += passed;
                passed
            }
        };
        at += passed;
    }
    imported.write_to(&mut log, records);
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

fn write<W: Write>(log: &mut LogWriter<W>, data: &LogsData, image: &str) -> Result<(), Error> {
    let metadata = &data.metadata;
    let mut keys: Vec<(&[u8], Value<'_>)> = Vec::new();
    let tags = metadata.tags.iter();
    keys.extend(tags.map(|tag| (&b"tag"[..], Value::Raw(tag.as_bytes()))));
    let mut keep = |part: Part, value| keys.push((part.name().as_bytes(), value));
    if let Some(url) = &metadata.component_url {
        keep(Part::ComponentUrl, Value::Raw(url.as_bytes()));
    }
    if metadata.timestamp < 0 {
        keep(Part::Timestamp, Value::Int(metadata.timestamp));
    }
    let mut dropped = 0;
    for error in &metadata.errors {
        match error {
            LogError::DroppedLogs { count } => dropped = *count,
            LogError::RolledOutLogs { count } => keep(Part::RolledOut, Value::Uint(*count)),
            LogError::ParseRecord(why) => keep(Part::ParseRecord, Value::Raw(why.as_bytes())),
            LogError::Other { message } => keep(Part::Other, Value::Raw(message.as_bytes())),
        }
    }
    match &data.payload {
        None => keep(Part::NoPayload, Value::Bool(true)),
        Some(payload) if payload.message.is_none() => keep(Part::NoMessage, Value::Bool(true)),
        Some(_) => {}
    }
    let payload = data.payload.as_ref();
    let properties = payload.map_or(&[][..], |payload| &payload.keys);
    let texts: Vec<_> = properties.iter().map(|(_, of)| of.to_string()).collect();
    for ((name, property), text) in properties.iter().zip(&texts) {
        keys.push((name.as_bytes(), value(property, text)));
    }
    let message = payload.and_then(|payload| payload.message.as_deref());
    if let Some(losses) = lost::parse(image.as_bytes(), message.unwrap_or("").as_bytes()) {
        log.lose(&losses);
        return Ok(());
    }
    log.write(&Entry {
        image: image.as_bytes(),
        pid: metadata.pid,
        tid: metadata.tid,
        time: u64::try_from(metadata.timestamp).ok(),
        level: match metadata.recorded_severity().0 {
            0 => None,
            severity => Some(Level(severity)),
        },
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
        Property::Text(_) | Property::Bytes(_) | Property::Array(_) => Value::Raw(text.as_bytes()),
    }
}

/// Gives the log data of an array, or of a single object, to a function until that returns
/// `false`: an array is never in memory as a whole. Other values are skipped.
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
        if (self.0)(LogsData::deserialize(item).ok()) {
            Ok(())
        } else {
            Err(A::Error::custom("stopped"))
        }
    }
}
