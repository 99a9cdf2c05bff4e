//! An independent decoder: frames by their header and checksum, bodies by
//! rmp-serde.

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use std::collections::HashMap;
use std::fmt;
use std::path::Path;

/// A msgpack object.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    Nil,
    Bool(bool),
    Int(i128),
    Float(f64),
    Raw(Vec<u8>),
    Array(Vec<Value>),
    Map(Vec<(Value, Value)>),
}

impl Value {
    pub fn text(text: &str) -> Value {
        Value::Raw(text.as_bytes().to_vec())
    }

    pub fn int(&self) -> i128 {
        let Value::Int(int) = self else {
            panic!("{self:?} is no integer");
        };
        *int
    }

    pub fn raw(&self) -> &[u8] {
        let Value::Raw(raw) = self else {
            panic!("{self:?} is no raw");
        };
        raw
    }
}

impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Any;
        impl<'de> Visitor<'de> for Any {
            type Value = Value;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }
            fn visit_unit<E>(self) -> Result<Value, E> {
                Ok(Value::Nil)
            }
            fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
                Ok(Value::Bool(value))
            }
            fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
                Ok(Value::Int(value.into()))
            }
            fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
                Ok(Value::Int(value.into()))
            }
            fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
                Ok(Value::Float(value))
            }
            fn visit_str<E>(self, value: &str) -> Result<Value, E> {
                Ok(Value::text(value))
            }
            fn visit_bytes<E>(self, value: &[u8]) -> Result<Value, E> {
                Ok(Value::Raw(value.to_vec()))
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Value, A::Error> {
                let mut array = Vec::new();
                while let Some(value) = seq.next_element()? {
                    array.push(value);
                }
                Ok(Value::Array(array))
            }
            fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
                let mut map = Vec::new();
                while let Some(entry) = entries.next_entry()? {
                    map.push(entry);
                }
                Ok(Value::Map(map))
            }
        }
        deserializer.deserialize_any(Any)
    }
}

/// A record: tag and fields.
#[derive(Clone, Debug)]
pub struct Record {
    pub tag: i128,
    fields: HashMap<i128, Value>,
}

impl Record {
    pub fn field(&self, field: i128) -> Option<&Value> {
        self.fields.get(&field)
    }
}

pub const PREAMBLE: i128 = 0;
pub const STRING_LOGDEF: i128 = 1;
pub const CONTEXT_LOGDEF: i128 = 8;
pub const DATA: i128 = 127;
const MASKED: i128 = 126;

/// The records of a log that has nothing but whole frames, and padding of zeros
/// behind them in a mapped log's chunks.
pub fn records(log: &Path) -> Vec<Record> {
    records_of(&std::fs::read(log).unwrap())
}

/// The same of a log's bytes.
pub fn records_of(log: &[u8]) -> Vec<Record> {
    let mut rest = log;
    let mut records = Vec::new();
    loop {
        let padding = rest.iter().take_while(|byte| **byte == 0).count();
        rest = &rest[padding..];
        if rest.is_empty() {
            return records;
        }
        let (record, len) = frame(rest);
        records.push(record);
        rest = &rest[len..];
    }
}

/// A log without what is in no whole frame, and in how many places it had such bytes.
pub fn without_torn_frames(log: &[u8]) -> (Vec<u8>, usize) {
    let (mut whole, mut places) = (Vec::new(), 0);
    let mut rest = log;
    let mut is_torn = false;
    while !rest.is_empty() {
        let len = whole_frame(rest);
        places += usize::from(len.is_none() && !is_torn);
        is_torn = len.is_none();
        whole.extend(&rest[..len.unwrap_or(0)]);
        rest = &rest[len.unwrap_or(1)..];
    }
    (whole, places)
}

/// The length of the frame that bytes begin with.
fn whole_frame(bytes: &[u8]) -> Option<usize> {
    let (start, len) = match *bytes.get(..10)? {
        [0xc1, 0xce, _, _, _, _, 0xc1, head @ 0xa0..=0xbf, ..] => (8, usize::from(head & 0x1f)),
        [0xc1, 0xce, _, _, _, _, 0xc1, 0xda, a, b] => (10, usize::from(u16::from_be_bytes([a, b]))),
        _ => return None,
    };
    let body = bytes.get(start..start + len)?;
    (crc32fast::hash(body).to_be_bytes() == bytes[2..6]).then_some(start + len)
}

fn frame(bytes: &[u8]) -> (Record, usize) {
    assert!(
        bytes[0] == 0xc1 && bytes[1] == 0xce && bytes[6] == 0xc1,
        "{:x?}",
        &bytes[..bytes.len().min(64)]
    );
    let checksum = u32::from_be_bytes(bytes[2..6].try_into().unwrap());
    let (start, len) = match bytes[7] {
        head @ 0xa0..=0xbf => (8, usize::from(head & 0x1f)),
        0xda => (10, usize::from(u16::from_be_bytes([bytes[8], bytes[9]]))),
        head => panic!("no raw: {head:x}"),
    };
    let body = &bytes[start..start + len];
    assert_eq!(crc32fast::hash(body), checksum);
    (record(body), start + len)
}

fn record(mut body: &[u8]) -> Record {
    let mut next = || Value::deserialize(&mut rmp_serde::Deserializer::new(&mut body)).unwrap();
    let tag = next().int();
    let Value::Map(fields) = next() else {
        panic!("the payload is no map");
    };
    assert!(body.is_empty());
    let fields = fields
        .into_iter()
        .map(|(field, value)| (field.int(), value));
    let record = Record {
        tag,
        fields: fields.collect(),
    };
    if tag == MASKED {
        let mask = (record.fields[&0].int() as u64).to_be_bytes();
        let raw = record.fields[&1].raw().iter().zip(mask.iter().cycle());
        let body: Vec<u8> = raw.map(|(byte, mask)| byte ^ mask).collect();
        return self::record(&body);
    }
    record
}

/// A data record whose strings were looked up.
#[derive(Clone, Debug)]
pub struct Message {
    pub magic: i128,
    pub file: String,
    pub line: i128,
    pub level: i128,
    pub format: String,
    pub args: Vec<Value>,
    /// Return addresses, innermost first.
    pub backtrace: Vec<i128>,
    pub dropped: i128,
    pub kind: i128,
    pub keys: Vec<(Value, Value)>,
}

/// The messages of a log; each string must have been defined before it is used.
pub fn messages(log: &Path) -> Vec<Message> {
    let mut strings = HashMap::new();
    let mut messages = Vec::new();
    for record in records(log) {
        let int = |field| record.field(field).unwrap().int();
        if record.tag == STRING_LOGDEF {
            strings.insert((int(0), int(1)), record.field(2).unwrap().raw().to_vec());
        }
        if record.tag != DATA {
            continue;
        }
        let string = |address, text| match record.field(text) {
            Some(text) => text.raw().to_vec(),
            None => strings[&(int(0), int(address))].clone(),
        };
        messages.push(Message {
            magic: int(0),
            file: String::from_utf8(string(1, 12)).unwrap(),
            line: int(2),
            level: int(3),
            format: String::from_utf8(string(4, 11)).unwrap(),
            args: match record.field(9) {
                Some(Value::Array(args)) => args.clone(),
                None => Vec::new(),
                Some(other) => panic!("the arguments are {other:?}"),
            },
            backtrace: match record.field(10) {
                Some(Value::Array(addresses)) => {
                    // Nil stands for what was cut off.
                    let known = addresses.iter().filter(|it| **it != Value::Nil);
                    known.map(Value::int).collect()
                }
                _ => Vec::new(),
            },
            kind: record.field(14).map_or(0, Value::int),
            dropped: record.field(13).map_or(0, Value::int),
            keys: match record.field(15) {
                Some(Value::Map(keys)) => keys.clone(),
                _ => Vec::new(),
            },
        });
    }
    messages
}
