//! Records of one call by one thread, column by column, until they are written. Knows no Parquet.

use crate::schema::Slot;
use crate::site::Type;
use logdef_resync::Standing;
use logdef_wire::msgpack::Encoder;
use logdef_wire::record::Data;
use logdef_wire::{Typed, Value};

/// What a group takes beside its records.
pub(crate) const OVERHEAD: usize = 512;

/// Records of one site by one thread of one run, in their order.
#[derive(Default)]
pub(crate) struct Group {
    pub(crate) site: usize,
    pub(crate) run: u64,
    pub(crate) thread: u32,
    pub(crate) times: Vec<u64>,
    pub(crate) counts: Vec<u64>,
    /// A column for each value that has one.
    pub(crate) values: Vec<Column>,
    /// What few records have, with the number of the record in the group.
    pub(crate) backtraces: Vec<(u32, Box<[Option<u64>]>)>,
    pub(crate) contexts: Vec<(u32, u64)>,
    pub(crate) drops: Vec<(u32, u64)>,
    pub(crate) marks: Vec<(u32, Standing)>,
    pub(crate) places: Vec<(u32, u32)>,
}

/// The values of one argument.
pub(crate) enum Column {
    /// Numbers, floats and truth values, as bits.
    Numbers { bits: Vec<u64>, nulls: Vec<u32> },
    /// Texts and other bytes, and where each ends.
    Bytes {
        bytes: Vec<u8>,
        ends: Vec<u32>,
        nulls: Vec<u32>,
    },
}

impl Column {
    pub(crate) fn new(slot: Slot) -> Column {
        match slot {
            Slot::Text | Slot::Bytes => Column::Bytes {
                bytes: Vec::new(),
                ends: Vec::new(),
                nulls: Vec::new(),
            },
            Slot::Int | Slot::Uint | Slot::Float | Slot::Bool => Column::Numbers {
                bits: Vec::new(),
                nulls: Vec::new(),
            },
        }
    }

    /// Appends a value of a type that this column holds.
    #[inline]
    fn push(&mut self, value: Value<'_>, of: Type) {
        match self {
            Column::Numbers { bits, nulls } => bits.push(match value {
                Value::Uint(value) => value,
                Value::Int(value) => value as u64,
                Value::Float(value) => value.to_bits(),
                Value::Bool(value) => value.into(),
                _ => {
                    nulls.push(bits.len() as u32);
                    0
                }
            }),
            Column::Bytes { bytes, ends, nulls } => {
                match value {
                    Value::Nil => nulls.push(ends.len() as u32),
                    Value::Raw(text) if of == Type::Text => bytes.extend_from_slice(text),
                    Value::Array(array) if of == Type::Printed => match Typed::of(array) {
                        Some(Typed::Printed(text)) => bytes.extend_from_slice(text),
                        _ => nulls.push(ends.len() as u32),
                    },
                    other => push_object(other, bytes),
                }
                ends.push(bytes.len() as u32);
            }
        }
    }
}

/// Appends a value as msgpack.
pub(crate) fn push_object(value: Value<'_>, out: &mut Vec<u8>) {
    let len = match value {
        Value::Raw(bytes) | Value::Ext(_, bytes) => bytes.len(),
        Value::Array(array) => array.objects().len(),
        Value::Map(map) => map.objects().len(),
        _ => 0,
    };
    let start = out.len();
    out.resize(start + len + 16, 0);
    let mut encoder = Encoder::new(&mut out[start..]);
    let written = match value {
        Value::Raw(bytes) => encoder.raw(bytes),
        Value::Array(array) => encoder
            .array(array.len())
            .and_then(|()| encoder.bytes(array.objects())),
        Value::Map(map) => encoder
            .map(map.len())
            .and_then(|()| encoder.bytes(map.objects())),
        Value::Ext(kind, bytes) => encoder
            .bytes(&[0xc9])
            .and_then(|()| encoder.bytes(&(bytes.len() as u32).to_be_bytes()))
            .and_then(|()| encoder.bytes(&kind.to_be_bytes()))
            .and_then(|()| encoder.bytes(bytes)),
        _ => encoder.nil(),
    };
    debug_assert!(written.is_ok());
    let end = start + encoder.position();
    out.truncate(end);
}

impl Group {
    pub(crate) fn len(&self) -> usize {
        self.times.len()
    }

    /// Appends a record, and returns how many bytes it takes.
    #[inline]
    pub(crate) fn push(&mut self, data: &Data<'_>, values: &[Value<'_>], types: &[Type]) -> usize {
        let row = self.len() as u32;
        let mut taken = 16;
        let with_columns = values
            .iter()
            .zip(types)
            .filter(|(_, it)| it.slot().is_some());
        for ((value, of), column) in with_columns.zip(&mut self.values) {
            taken += match value {
                Value::Raw(bytes) | Value::Ext(_, bytes) => bytes.len() + 4,
                Value::Array(array) => array.objects().len() + 8,
                Value::Map(map) => map.objects().len() + 8,
                _ => 8,
            };
            column.push(*value, *of);
        }
        if let Some(backtrace) = data.backtrace {
            let addresses: Box<[_]> = backtrace.iter().map(Value::as_uint).collect();
            taken += addresses.len() * 16 + 32;
            self.backtraces.push((row, addresses));
        }
        if let Some(context) = data.context {
            self.contexts.push((row, context));
            taken += 16;
        }
        if let Some(dropped) = data.dropped {
            self.drops.push((row, dropped));
            taken += 16;
        }
        taken
    }
}
