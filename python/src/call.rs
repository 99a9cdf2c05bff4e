//! The records of one call: a typed column for each of its arguments and keys. Knows neither logs
//! nor Python.

use crate::names::Calls;
use crate::records::{Origin, column};
use crate::text::{self, lossy};
use crate::walk::{Rows, Site};
use arrow_array::builder::{
    BooleanBuilder, Float64Builder, Int64Builder, StringBuilder, UInt64Builder,
};
use arrow_array::cast::AsArray;
use arrow_array::types::UInt64Type;
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_schema::{ArrowError, DataType, Schema, SchemaRef};
use logdef_resync::{Resolved, StackEntry};
use logdef_wire::Value;
use std::collections::HashMap;
use std::sync::Arc;

/// Columns of one call, or of calls in one place.
const COLUMNS: usize = 1 << 10;

/// The columns of calls at a place.
#[derive(Clone, Debug, Default)]
pub struct Columns {
    all: Vec<(String, Option<DataType>)>,
    by_name: HashMap<String, usize>,
    /// Whether there is such a call at all.
    pub has_calls: bool,
    /// Whether there are more columns than are kept.
    pub is_cut: bool,
}

impl Columns {
    /// Takes in the calls of a table of sites that are at a place.
    pub fn add(&mut self, sites: &RecordBatch, place: &Site) {
        let text = |name: &str| Some(sites.column_by_name(name)?.as_string_opt::<i32>()?.clone());
        let number = |name: &str| {
            let column = sites.column_by_name(name)?;
            Some(column.as_primitive_opt::<UInt64Type>()?.clone())
        };
        let texts = |name: &str, row| {
            let lists = sites.column_by_name(name)?.as_list_opt::<i32>()?;
            let list = lists.value(row);
            let list = list.as_string_opt::<i32>()?;
            Some(
                list.iter()
                    .map(|it| it.map(str::to_owned))
                    .collect::<Vec<_>>(),
            )
        };
        let (Some(files), Some(lines), Some(args)) = (text("file"), number("line"), number("args"))
        else {
            return;
        };
        for row in 0..sites.num_rows() {
            let line = lines.is_valid(row).then(|| lines.value(row));
            if !files.is_valid(row) || !place.is_at(files.value(row).as_bytes(), line) {
                continue;
            }
            self.has_calls = true;
            let args = if args.is_valid(row) {
                args.value(row)
            } else {
                0
            } as usize;
            let [names, guessed, types] =
                ["names", "guessed", "types"].map(|name| texts(name, row).unwrap_or_default());
            for (index, kind) in types.into_iter().enumerate() {
                let given = names.get(index).cloned().flatten();
                let name = given.or_else(|| guessed.get(index).cloned().flatten());
                if index < args || name.is_some() {
                    self.add_value(name_of(name.as_deref(), index), kind.as_deref());
                }
            }
        }
    }

    fn add_value(&mut self, name: String, kind: Option<&str>) {
        let data_type = match kind {
            Some("nil") => None,
            Some("bool") => Some(DataType::Boolean),
            Some("int") => Some(DataType::Int64),
            Some("uint") => Some(DataType::UInt64),
            Some("float") => Some(DataType::Float64),
            _ => Some(DataType::Utf8),
        };
        match self.by_name.get(&name) {
            Some(index) => {
                let own = &mut self.all[*index].1;
                *own = match (own.take(), data_type) {
                    (Some(one), Some(other)) if one != other => Some(DataType::Utf8),
                    (one, other) => one.or(other),
                };
            }
            None if self.all.len() >= COLUMNS => self.is_cut = true,
            None => {
                self.by_name.insert(name.clone(), self.all.len());
                self.all.push((name, data_type));
            }
        }
    }

    /// The schema: what every record has, and the values. One that is called as what every record
    /// has stands with an underscore after its name.
    pub fn schema(&self, with_message: bool) -> SchemaRef {
        let mut columns = Origin::columns();
        if with_message {
            columns.push(column("message", DataType::Utf8));
        }
        let mut taken: Vec<_> = columns.iter().map(|it| it.name().clone()).collect();
        for (name, data_type) in &self.all {
            let mut name = name.clone();
            while taken.contains(&name) {
                name.push('_');
            }
            taken.push(name.clone());
            columns.push(column(&name, data_type.clone().unwrap_or(DataType::Utf8)));
        }
        Arc::new(Schema::new(columns))
    }
}

fn name_of(name: Option<&str>, index: usize) -> String {
    name.map_or_else(|| format!("arg{index}"), str::to_owned)
}

#[derive(Debug)]
enum Builder {
    Bool(BooleanBuilder),
    Int(Int64Builder),
    Uint(UInt64Builder),
    Float(Float64Builder),
    Text(StringBuilder),
}

impl Builder {
    fn new(data_type: Option<&DataType>) -> Builder {
        match data_type {
            Some(DataType::Boolean) => Builder::Bool(BooleanBuilder::new()),
            Some(DataType::Int64) => Builder::Int(Int64Builder::new()),
            Some(DataType::UInt64) => Builder::Uint(UInt64Builder::new()),
            Some(DataType::Float64) => Builder::Float(Float64Builder::new()),
            _ => Builder::Text(StringBuilder::new()),
        }
    }

    /// Appends a value, and returns the bytes of its text.
    fn push(&mut self, value: Value<'_>) -> usize {
        match self {
            Builder::Bool(to) => to.append_option(match value {
                Value::Bool(value) => Some(value),
                _ => None,
            }),
            Builder::Int(to) => to.append_option(match value {
                Value::Int(value) => Some(value),
                Value::Uint(value) => i64::try_from(value).ok(),
                _ => None,
            }),
            Builder::Uint(to) => to.append_option(value.as_uint()),
            Builder::Float(to) => to.append_option(match value {
                Value::Float(value) => Some(value),
                _ => None,
            }),
            Builder::Text(to) => {
                let text = text::of(value);
                to.append_option(text.as_deref());
                return text.map_or(0, |text| text.len());
            }
        }
        8
    }

    fn finish(&mut self) -> ArrayRef {
        match self {
            Builder::Bool(it) => Arc::new(it.finish()),
            Builder::Int(it) => Arc::new(it.finish()),
            Builder::Uint(it) => Arc::new(it.finish()),
            Builder::Float(it) => Arc::new(it.finish()),
            Builder::Text(it) => Arc::new(it.finish()),
        }
    }
}

/// Records of a call as rows.
#[derive(Debug)]
pub struct Call {
    schema: SchemaRef,
    columns: Columns,
    builders: Vec<Builder>,
    calls: Calls,
    origin: Origin,
    message: Option<StringBuilder>,
    text: Vec<u8>,
    bytes: usize,
}

impl Call {
    pub fn new(columns: Columns, with_message: bool) -> Call {
        let types = columns.all.iter().map(|(_, data_type)| data_type.as_ref());
        Call {
            schema: columns.schema(with_message),
            builders: types.map(Builder::new).collect(),
            columns,
            calls: Calls::default(),
            origin: Origin::default(),
            message: with_message.then(StringBuilder::new),
            text: Vec::new(),
            bytes: 0,
        }
    }
}

impl Rows for Call {
    fn push(&mut self, record: &Resolved<'_>, _: &[StackEntry]) {
        let names = self.calls.names(record);
        self.origin.push(record);
        if let Some(message) = &mut self.message {
            self.text.clear();
            record.message(&mut self.text);
            self.bytes += self.text.len();
            message.append_value(lossy(&self.text));
        }
        let mut values = vec![Value::Nil; self.builders.len()];
        let mut put = |name: &str, value| {
            if let Some(index) = self.columns.by_name.get(name)
                && values[*index] == Value::Nil
            {
                values[*index] = value;
            }
        };
        for (index, value) in record.data.args.into_iter().flatten().enumerate() {
            let name = names.arguments.get(index).and_then(Option::as_deref);
            put(&name_of(name, index), value);
        }
        for (key, value) in record.data.keys.into_iter().flat_map(|keys| keys.iter()) {
            if let Some(key) = key.as_raw() {
                put(&lossy(key), value);
            }
        }
        for (builder, value) in self.builders.iter_mut().zip(values) {
            self.bytes += builder.push(value);
        }
    }

    fn size(&self) -> (usize, usize) {
        (self.origin.len(), self.bytes)
    }

    fn take(&mut self) -> Result<RecordBatch, ArrowError> {
        self.bytes = 0;
        let mut columns = self.origin.take();
        if let Some(message) = &mut self.message {
            columns.push(Arc::new(message.finish()));
        }
        columns.extend(self.builders.iter_mut().map(Builder::finish));
        RecordBatch::try_new(Arc::clone(&self.schema), columns)
    }
}
