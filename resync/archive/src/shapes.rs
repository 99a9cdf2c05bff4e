//! The sites of logs without a look at each record: from one record of each shape, which a recovery has found. Knows
//! neither merges nor records in columns.

use crate::columns::{Columns, values_of};
use crate::part::failed;
use crate::table::Sink;
use crate::tables::Table;
use arrow_array::RecordBatch;
use logdef_resync::{Error, Images, Input, Item, Items, Place, Recovery, Resolver, decode};
use logdef_wire::record::Data;
use logdef_wire::{Record, Value};
use parquet::errors::Result;

/// The table of the sites of some logs: the rows that [`Batches`](crate::Batches) give, perhaps in another order. `None`
/// if the recovery does not say the [shapes](Recovery::shapes) of records, or if a record is of another site where
/// others come before it, as one is whose values are absent.
///
/// # Errors
///
/// If a log cannot be read any more.
pub fn sites(
    inputs: &[Input],
    recovery: &Recovery,
    images: impl Images,
) -> std::result::Result<Option<Vec<RecordBatch>>, Error> {
    let Some(places) = recovery.shapes() else {
        return Ok(None);
    };
    let mut resolver = Resolver::new(recovery.tables(), images);
    let mut columns = Columns::new(None);
    let mut out = Listed::default();
    each(inputs, places, |data, values, place| {
        let site = columns.site(data, place, values, &mut resolver, &mut out);
        site.map(drop).map_err(failed)
    })?;
    let mut is_clear = true;
    each(inputs, places, |data, values, place| {
        is_clear &= columns.is_of_own_site(data, place, values, &mut resolver);
        Ok(())
    })?;
    columns.give_sites(&mut out).map_err(failed)?;
    Ok(is_clear.then_some(out.sites))
}

/// Calls `visit` with the records at some places, and their values.
fn each(
    inputs: &[Input],
    places: &[Place],
    mut visit: impl FnMut(&Data<'_>, &[Value<'_>], Place) -> std::result::Result<(), Error>,
) -> std::result::Result<(), Error> {
    let mut scratch = Vec::new();
    for place in places {
        let input = &inputs[place.input as usize];
        let mut items = Items::range(input, place.offset..place.offset + 1);
        if let Some(Item::Frame(frame)) = items.next()?
            && let Ok(Record::Data(data)) = decode(frame.body, &mut scratch)
        {
            visit(&data, &values_of(&data), *place)?;
        }
    }
    Ok(())
}

/// The batches of sites.
#[derive(Default)]
struct Listed {
    sites: Vec<RecordBatch>,
}

impl Sink for Listed {
    fn write(&mut self, table: Table, batch: RecordBatch) -> Result<()> {
        if table == Table::Sites {
            self.sites.push(batch);
        }
        Ok(())
    }
}
