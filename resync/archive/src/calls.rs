//! Which call a record is of, by the table of sites, and where in the record each column's value stands:
//! for those who read logs as tables, record by record in any order. Knows neither files nor batches
//! of records.

use crate::guard::wrong;
use crate::schema::{Slot, slot_name};
use crate::site::{Call, Recent, Site, Sites, Type, Values};
use arrow_array::cast::AsArray;
use arrow_array::types::UInt64Type;
use arrow_array::{Array, ArrayRef, RecordBatch};
use logdef_wire::Value;
use logdef_wire::record::Data;
use std::io;

/// The calls that a table of sites lists.
#[derive(Debug, Default)]
pub struct Calls {
    sites: Sites,
    /// For each site, the column of each value.
    columns: Vec<Option<Vec<Option<String>>>>,
}

impl Calls {
    /// The calls in batches of [`Table::Sites`](crate::Table::Sites).
    ///
    /// # Errors
    ///
    /// If they are not as an archive has them.
    pub fn of(batches: &[RecordBatch]) -> io::Result<Calls> {
        let mut calls = Calls::default();
        for (id, call, values) in batches.iter().flat_map(listed) {
            let values = values.ok_or_else(|| wrong("a site whose values are not as it says"))?;
            let site = calls.sites.insert(id, call, values);
            let slots = site.slots.as_ref();
            let name = |slot: &Option<(Slot, usize)>| slot.map(|(slot, it)| slot_name(slot, it));
            calls
                .columns
                .push(slots.map(|slots| slots.iter().map(name).collect()));
        }
        Ok(calls)
    }

    /// The index of the call that a record with these values, arguments first, is of. What the answer
    /// is does not depend on other records; it is found sooner with what `recent` knows of those before.
    #[inline]
    pub fn find(
        &self,
        data: &Data<'_>,
        values: &[Value<'_>],
        recent: &mut Recent,
    ) -> Option<usize> {
        self.sites.find(data, values, recent)
    }

    /// The indices of the calls that a record may be of, whatever its values are.
    #[inline]
    pub fn candidates(&self, data: &Data<'_>, recent: &mut Recent) -> &[u32] {
        self.sites.of_call(data, recent)
    }

    /// How many calls there are.
    pub fn len(&self) -> usize {
        self.sites.all.len()
    }

    /// Whether there is no call.
    pub fn is_empty(&self) -> bool {
        self.sites.all.is_empty()
    }

    /// The number that archives give to a call.
    #[inline]
    pub fn site(&self, call: usize) -> u64 {
        self.site_at(call).id
    }

    /// The name of the column that each value of a call is in; `None` for one that has no column, and of
    /// a call with more values than there are columns.
    pub fn columns(&self, call: usize) -> Option<&[Option<String>]> {
        self.columns[call].as_deref()
    }

    /// What a value of a call is in its column, if that is no number: the text in a text that the program
    /// printed, and msgpack for what is no text.
    pub fn is_printed(&self, call: usize, value: usize) -> bool {
        self.site_at(call).values.types.get(value) == Some(&Type::Printed)
    }

    fn site_at(&self, call: usize) -> &Site {
        &self.sites.all[call]
    }
}

/// Whether columns can hold all fields of a record: it has none twice, none of a later version, and
/// those that each has.
#[inline]
pub fn has_columns_only(data: &Data<'_>, body: &[u8]) -> bool {
    crate::columns::has_columns_only(data, body)
}

/// Appends a value as an archive keeps it in a column of bytes.
pub fn push_msgpack(value: Value<'_>, out: &mut Vec<u8>) {
    crate::group::push_object(value, out);
}

/// The sites in a batch: the number, the call, and its values, if they are as many as their names.
fn listed(batch: &RecordBatch) -> impl Iterator<Item = (u64, Call, Option<Values>)> {
    (0..batch.num_rows()).map(|row| {
        let number = |name: &str| {
            let column = batch.column_by_name(name)?;
            let column = column.as_primitive_opt::<UInt64Type>()?;
            column.is_valid(row).then(|| column.value(row))
        };
        let spelled = |name: &str| bytes(batch.column_by_name(name)?, row);
        let texts = [spelled("format_text"), spelled("file_text")];
        let call = Call {
            magic: number("magic"),
            file: number("file_address"),
            line: number("line"),
            level: number("level").and_then(|level| u8::try_from(level).ok()),
            format: number("format_address"),
            kind: number("kind"),
            run: number("run"),
            texts: (texts != [None, None]).then(|| Box::new(texts)),
        };
        let (args, keys) = (number("args"), number("keys"));
        let values = values(
            words(batch, "types", row),
            words(batch, "names", row),
            args,
            keys,
        );
        (number("site").unwrap_or_default(), call, values)
    })
}

fn values(
    types: Vec<Vec<u8>>,
    names: Vec<Vec<u8>>,
    args: Option<u64>,
    keys: Option<u64>,
) -> Option<Values> {
    let types: Option<Vec<_>> = types
        .iter()
        .map(|name| Type::of_name(std::str::from_utf8(name).ok()?))
        .collect();
    let types = types?;
    let len = args.unwrap_or(0).checked_add(keys.unwrap_or(0))?;
    if len != types.len() as u64 || names.len() != types.len() {
        return None;
    }
    let behind = args.unwrap_or(0) as usize;
    Some(Values {
        types,
        args: args.map(|args| args as u32),
        keys: keys.map(|_| names[behind..].to_vec()),
    })
}

/// A list of texts, where one that is not there is empty.
fn words(batch: &RecordBatch, name: &str, row: usize) -> Vec<Vec<u8>> {
    let column = batch.column_by_name(name);
    let list = column.and_then(|it| it.as_list_opt::<i32>());
    let list = list.filter(|list| list.is_valid(row));
    let list = list.map(|list| list.value(row));
    let list = list.iter().flat_map(|list| {
        let rows = 0..list.len();
        rows.map(|row| bytes(list, row).unwrap_or_default())
    });
    list.collect()
}

/// The bytes of a text in a row, in whatever form it is held.
fn bytes(column: &ArrayRef, row: usize) -> Option<Vec<u8>> {
    if column.is_null(row) {
        return None;
    }
    let own = if let Some(texts) = column.as_string_opt::<i32>() {
        texts.value(row).as_bytes()
    } else if let Some(texts) = column.as_string_view_opt() {
        texts.value(row).as_bytes()
    } else if let Some(bytes) = column.as_binary_opt::<i32>() {
        bytes.value(row)
    } else {
        column.as_binary_view_opt()?.value(row)
    };
    Some(own.to_vec())
}
