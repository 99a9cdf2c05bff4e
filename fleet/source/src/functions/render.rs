//! `render(site, body, s0, …)`: the text of a record as `logdef view` writes it, from the columns that
//! hold its values. What is in the columns of a site's values, the table of sites says.

use crate::knowledge::{Knowledge, bytes};
use crate::schema;
use crate::tables::Tables;
use datafusion::arrow::array::{
    Array, ArrayRef, AsArray, BinaryViewArray, BooleanArray, Float64Array, Int64Array,
    StringViewArray, StringViewBuilder, UInt64Array,
};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, UInt64Type};
use datafusion::error::Result;
use datafusion::logical_expr::{
    ColumnarValue, ScalarFunctionArgs, ScalarUDFImpl, Signature, Volatility,
};
use logdef_resync::{Place, Resolver, render::CompiledFormat};
use logdef_wire::msgpack::{Decoder, Encoder};
use logdef_wire::record::Data;
use logdef_wire::{Array as Values, Record, Typed, Value};
use std::collections::HashMap;
use std::hash::{Hash, Hasher};
use std::sync::{Arc, OnceLock};

/// The text of records of some tables.
#[derive(Debug)]
pub(crate) struct Render {
    tables: Arc<Tables>,
    signature: Signature,
    /// What was made ready for each site.
    sites: OnceLock<Vec<OnceLock<Ready>>>,
}

impl PartialEq for Render {
    fn eq(&self, other: &Render) -> bool {
        Arc::ptr_eq(&self.tables, &other.tables)
    }
}

impl Eq for Render {}

impl Hash for Render {
    fn hash<H: Hasher>(&self, state: &mut H) {
        Arc::as_ptr(&self.tables).hash(state);
    }
}

impl Render {
    pub(crate) fn of(tables: &Arc<Tables>) -> Render {
        let records = schema::records();
        let data_type = |name| {
            records
                .field_with_name(name)
                .map(|it| it.data_type().clone())
        };
        let columns = ["site", "body"].into_iter().chain(schema::slots());
        let types: Vec<_> = columns.flat_map(data_type).collect();
        Render {
            tables: Arc::clone(tables),
            signature: Signature::exact(types, Volatility::Immutable),
            sites: OnceLock::new(),
        }
    }

    pub(crate) fn tables(&self) -> &Arc<Tables> {
        &self.tables
    }
}

impl ScalarUDFImpl for Render {
    fn name(&self) -> &str {
        "render"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Utf8View)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let knowledge = self.tables.knowledge()?;
        let ready = self.sites.get_or_init(|| {
            let sites = knowledge.sites.iter();
            sites.map(|_| OnceLock::new()).collect()
        });
        let mut columns = args.args.into_iter();
        let mut next = || -> Result<Option<ArrayRef>> {
            match columns.next() {
                Some(ColumnarValue::Scalar(value)) if value.is_null() => Ok(None),
                Some(value) => Ok(Some(value.into_array(args.number_rows)?)),
                None => Ok(None),
            }
        };
        let sites = next()?;
        let bodies = next()?;
        let mut slots = HashMap::new();
        for name in schema::slots() {
            let column = next()?.filter(|it| it.null_count() < it.len());
            if let Some(column) = column {
                slots.insert(name, Column::of(&column)?);
            }
        }
        let mut texts = Texts {
            knowledge: &knowledge,
            ready,
            slots,
            bound: HashMap::new(),
            room: Vec::new(),
            text: Vec::new(),
        };
        let mut out = StringViewBuilder::with_capacity(args.number_rows);
        for row in 0..args.number_rows {
            let body = bodies.as_ref().and_then(|bodies| bytes(bodies, row));
            let site = sites.as_ref().map(|it| it.as_primitive::<UInt64Type>());
            let site = site.filter(|it| it.is_valid(row)).map(|it| it.value(row));
            match texts.of(row, site, body) {
                Some(text) => out.append_value(String::from_utf8_lossy(text)),
                None => out.append_null(),
            }
        }
        Ok(ColumnarValue::Array(Arc::new(out.finish())))
    }
}

/// A site whose records are put into words.
#[derive(Debug)]
struct Ready {
    format: Option<CompiledFormat>,
    args: Vec<Argument>,
}

/// Where an argument stands, and how.
#[derive(Debug)]
struct Argument {
    slot: Option<String>,
    is_printed: bool,
    is_msgpack: bool,
}

impl Ready {
    fn of(knowledge: &Knowledge, site: usize) -> Ready {
        let row = &knowledge.sites[site];
        let values = row.slots.iter().zip(&row.types).take(row.args);
        Ready {
            format: knowledge.compiled(site),
            args: values
                .map(|(slot, data_type)| Argument {
                    slot: slot.clone(),
                    is_printed: data_type == "printed",
                    is_msgpack: data_type == "msgpack",
                })
                .collect(),
        }
    }
}

/// A column of values.
enum Column {
    Text(StringViewArray),
    Int(Int64Array),
    Uint(UInt64Array),
    Float(Float64Array),
    Bool(BooleanArray),
    Bytes(BinaryViewArray),
}

impl Column {
    fn of(column: &ArrayRef) -> Result<Column> {
        Ok(match column.data_type() {
            DataType::Int64 => Column::Int(column.as_primitive().clone()),
            DataType::UInt64 => Column::Uint(column.as_primitive().clone()),
            DataType::Float64 => Column::Float(column.as_primitive().clone()),
            DataType::Boolean => Column::Bool(column.as_boolean().clone()),
            DataType::BinaryView => Column::Bytes(column.as_binary_view().clone()),
            _ => Column::Text(cast(column, &DataType::Utf8View)?.as_string_view().clone()),
        })
    }

    #[inline]
    fn value(&self, row: usize) -> Value<'_> {
        match self {
            Column::Text(it) if it.is_valid(row) => Value::Raw(it.value(row).as_bytes()),
            Column::Int(it) if it.is_valid(row) => match u64::try_from(it.value(row)) {
                Ok(value) => Value::Uint(value),
                Err(_) => Value::Int(it.value(row)),
            },
            Column::Uint(it) if it.is_valid(row) => Value::Uint(it.value(row)),
            Column::Float(it) if it.is_valid(row) => Value::Float(it.value(row)),
            Column::Bool(it) if it.is_valid(row) => Value::Bool(it.value(row)),
            Column::Bytes(it) if it.is_valid(row) => {
                Decoder::new(it.value(row)).value().unwrap_or(Value::Nil)
            }
            _ => Value::Nil,
        }
    }
}

/// The texts of the rows of a batch.
struct Texts<'k> {
    knowledge: &'k Knowledge,
    ready: &'k [OnceLock<Ready>],
    slots: HashMap<&'static str, Column>,
    /// The number of each site that was met.
    bound: HashMap<u64, Option<usize>>,
    /// Where texts that the program printed are put as it wrote them.
    room: Vec<u8>,
    text: Vec<u8>,
}

impl Texts<'_> {
    fn of(&mut self, row: usize, site: Option<u64>, body: Option<&[u8]>) -> Option<&[u8]> {
        self.text.clear();
        if let Some(body) = body {
            let Ok(Record::Data(data)) = Record::decode(body) else {
                return None;
            };
            self.resolve(&data);
            return Some(&self.text);
        }
        let id = site?;
        let knowledge = self.knowledge;
        let index = *self.bound.entry(id).or_insert_with(|| knowledge.site(id));
        let index = index?;
        let ready = self.ready[index].get_or_init(|| Ready::of(knowledge, index));
        self.print(ready);
        let slots = &self.slots;
        let mut room = &mut self.room[..];
        let mut few = [Value::Nil; 16];
        let mut many = Vec::new();
        let values = if ready.args.len() <= few.len() {
            &mut few[..ready.args.len()]
        } else {
            many.resize(ready.args.len(), Value::Nil);
            &mut many[..]
        };
        for (value, arg) in values.iter_mut().zip(&ready.args) {
            let column = arg.slot.as_deref().and_then(|slot| slots.get(slot));
            *value = column.map_or(Value::Nil, |column| column.value(row));
            if let (true, Value::Raw(text)) = (arg.is_printed, *value) {
                let len = text.len() + 16;
                if room.len() < len {
                    continue;
                }
                let (own, rest) = room.split_at_mut(len);
                room = rest;
                *value = printed(text, own);
            }
        }
        match &ready.format {
            Some(format) => format.render(values, &mut self.text),
            None => bare(knowledge, index, values, &mut self.text),
        }
        Some(&self.text)
    }

    /// Makes room for texts that the program printed.
    fn print(&mut self, ready: &Ready) {
        let printed = ready.args.iter().filter(|arg| arg.is_printed).count();
        if printed > 0 && self.room.is_empty() {
            self.room = vec![0; 1 << 20];
        }
        debug_assert!(
            ready
                .args
                .iter()
                .all(|arg| !(arg.is_printed && arg.is_msgpack))
        );
    }

    /// The text of a record that columns cannot hold.
    fn resolve(&mut self, data: &Data<'_>) {
        let mut resolver = Resolver::without_images(self.knowledge.logdefs());
        let place = Place {
            input: 0,
            offset: 0,
        };
        resolver.resolve(data, place).message(&mut self.text);
    }
}

/// A text as a value that a program printed.
fn printed<'r>(text: &[u8], room: &'r mut [u8]) -> Value<'r> {
    let mut encoder = Encoder::new(room);
    if Typed::Printed(text).encode(&mut encoder).is_err() {
        return Value::Nil;
    }
    let len = encoder.position();
    Decoder::new(&room[..len]).value().unwrap_or(Value::Nil)
}

/// Values whose format is lost.
fn bare(knowledge: &Knowledge, site: usize, values: &[Value<'_>], out: &mut Vec<u8>) {
    let mut room = vec![0; 1 << 16];
    let mut encoder = Encoder::new(&mut room);
    let written = values.iter().try_for_each(|value| match value {
        Value::Uint(value) => encoder.uint(*value),
        Value::Int(value) => encoder.int(*value),
        Value::Float(value) => encoder.float(*value),
        Value::Bool(value) => encoder.bool(*value),
        Value::Raw(bytes) => encoder.raw(bytes),
        _ => encoder.nil(),
    });
    let len = if written.is_ok() {
        encoder.position()
    } else {
        0
    };
    let count = if written.is_ok() {
        values.len() as u32
    } else {
        0
    };
    let mut data = knowledge.data(site);
    data.args = Values::from_objects(count, &room[..len]).ok();
    let mut resolver = Resolver::without_images(knowledge.logdefs());
    let place = Place {
        input: 0,
        offset: 0,
    };
    resolver.resolve(&data, place).message(out);
}
