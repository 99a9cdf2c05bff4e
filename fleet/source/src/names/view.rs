//! The view of a place that logs: its records, with a column for each value under the name that the
//! program gives it.
//!
//! A value without a name is `a0`, `a1`, … by its place; a name that stands there already gets `_2`
//! and so on after it. Where calls of the line differ, a column has the values of those that have
//! the name, as numbers or texts that hold both.

use crate::functions::Render;
use crate::knowledge::Site;
use crate::schema;
use crate::tables::Tables;
use datafusion::arrow::datatypes::DataType;
use datafusion::catalog::TableProvider;
use datafusion::datasource::{ViewTable, provider_as_source};
use datafusion::error::Result;
use datafusion::logical_expr::{Expr, LogicalPlanBuilder, ScalarUDF, cast, col, ident, lit, when};
use datafusion::scalar::ScalarValue;
use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;

/// Columns that every view has, before those of the values.
const ALL: [&str; 7] = ["time", "level", "run", "thread", "seq", "site", "mark"];
/// Columns that every view has, after the others.
const BEHIND: [&str; 2] = ["backtrace", "context"];

/// A column of a view: its name, and the sites that have it, each in a slot.
struct Named {
    name: String,
    parts: Vec<(u64, String)>,
}

/// The view of some sites.
pub(super) fn of(tables: &Arc<Tables>, sites: &[&Site]) -> Result<Arc<dyn TableProvider>> {
    let mut ids: Vec<u64> = sites.iter().map(|site| site.id).collect();
    ids.sort_unstable();
    let ids = ids.into_iter().map(lit).collect();
    let mut columns: Vec<Expr> = ALL.iter().map(|name| col(*name)).collect();
    for named in named(sites) {
        columns.push(value(&named, sites)?.alias(named.name));
    }
    columns.push(message(tables, sites)?.alias("message"));
    columns.extend(BEHIND.iter().map(|name| col(*name)));
    let plan = LogicalPlanBuilder::scan("records", provider_as_source(tables.raw()?), None)?
        .filter(col("site").in_list(ids, false))?
        .project(columns)?
        .build()?;
    Ok(Arc::new(ViewTable::new(plan, None)))
}

/// The columns of the values of some sites, in the order in which they come first.
fn named(sites: &[&Site]) -> Vec<Named> {
    let mut all: Vec<Named> = Vec::new();
    for site in sites {
        let mut taken: HashSet<String> = ALL.iter().chain(&BEHIND).map(|it| (*it).into()).collect();
        taken.insert("message".into());
        for (index, slot) in site.slots.iter().enumerate() {
            let name = site.names.get(index).cloned().flatten();
            let name = free(name.unwrap_or_else(|| format!("a{index}")), &mut taken);
            let Some(slot) = slot else {
                continue;
            };
            let part = (site.id, slot.clone());
            match all.iter_mut().find(|it| it.name == name) {
                Some(named) => named.parts.push(part),
                None => all.push(Named {
                    name,
                    parts: vec![part],
                }),
            }
        }
    }
    all
}

/// A name that is not taken.
fn free(name: String, taken: &mut HashSet<String>) -> String {
    let mut free = name.clone();
    let mut number = 1;
    while !taken.insert(free.clone()) {
        number += 1;
        free = format!("{name}_{number}");
    }
    free
}

/// The values of a column.
fn value(named: &Named, sites: &[&Site]) -> Result<Expr> {
    let slots: BTreeSet<_> = named.parts.iter().map(|(_, slot)| slot.as_str()).collect();
    let is_other = |site: &&&Site| named.parts.iter().all(|(id, _)| *id != site.id);
    let mut others = sites.iter().filter(is_other);
    if slots.len() == 1
        && let Some(slot) = slots.first()
        && !others.any(|site| site.slots.iter().flatten().any(|own| own == slot))
    {
        // Plain, so that conditions on it reach the files.
        return Ok(column(slot));
    }
    let types: HashSet<_> = slots.iter().map(|slot| data_type(slot)).collect();
    // A slot of a site that has no such name may hold another value.
    let common = match types.len() {
        1 => None,
        _ if types.iter().all(DataType::is_numeric) => Some(DataType::Float64),
        _ => Some(DataType::Utf8View),
    };
    let held = |slot: &str| match &common {
        Some(common) => cast(column(slot), common.clone()),
        None => column(slot),
    };
    let mut slots = slots.into_iter();
    let first = slots.next().unwrap_or_default();
    let of_slot = |slot: &str| {
        let sites = named.parts.iter().filter(|(_, own)| own == slot);
        let sites = sites.map(|(site, _)| lit(*site)).collect();
        col("site").in_list(sites, false)
    };
    let mut cases = when(of_slot(first), held(first));
    for slot in slots {
        cases = cases.when(of_slot(slot), held(slot));
    }
    cases.end()
}

/// The text of the records: columns that no site has a value in are not read.
fn message(tables: &Arc<Tables>, sites: &[&Site]) -> Result<Expr> {
    let used: HashSet<_> = sites
        .iter()
        .flat_map(|site| site.slots.iter().flatten())
        .collect();
    let records = schema::records();
    let mut args = vec![col("site"), col("body")];
    for slot in schema::slots() {
        args.push(if used.iter().any(|it| *it == slot) {
            column(slot)
        } else {
            let data_type = records.field_with_name(slot)?.data_type();
            lit(ScalarValue::try_from(data_type)?)
        });
    }
    Ok(ScalarUDF::from(Render::of(tables)).call(args))
}

fn column(slot: &str) -> Expr {
    ident(slot)
}

fn data_type(slot: &str) -> DataType {
    let records = schema::records();
    let field = records.field_with_name(slot);
    field.map_or(DataType::Null, |field| field.data_type().clone())
}
