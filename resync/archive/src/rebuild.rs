//! Records of a row group, put together from its columns in the order of the log. Knows how
//! `rows` has taken them apart.

use crate::bodies::{Body, Identity, standing};
use crate::grouped::{Grouped, Groups};
use crate::guard::wrong;
use crate::order;
use crate::schema::{Slot, Unit, slots};
use crate::site::Type;
use crate::stored::{Stored, StoredSite};
use arrow_array::cast::AsArray;
use arrow_array::types::{
    Float64Type, Int32Type, Int64Type, TimestampMicrosecondType, TimestampNanosecondType,
    UInt32Type, UInt64Type,
};
use arrow_array::{
    Array, BinaryViewArray, BooleanArray, ListArray, PrimitiveArray, RecordBatch, StringViewArray,
};
use arrow_buffer::ScalarBuffer;
use logdef_wire::msgpack::{Encoder, OutOfRoom};
use logdef_wire::record::field;
use logdef_wire::{Sequence, Tag, ThreadNumber, frame};
use std::io;

/// The first byte of an integer of eight others in msgpack.
const UINT_64: u8 = 0xcf;

/// The values of a slot.
enum Values {
    Text(StringViewArray),
    Int(PrimitiveArray<Int64Type>),
    Uint(PrimitiveArray<UInt64Type>),
    Float(PrimitiveArray<Float64Type>),
    Bool(BooleanArray),
    Bytes(BinaryViewArray),
}

/// Columns that few records have something in. What is absent has nothing for any.
#[derive(Default)]
struct Rare {
    backtrace: Option<ListArray>,
    context: Option<PrimitiveArray<UInt64Type>>,
    dropped: Option<PrimitiveArray<UInt64Type>>,
    mark: Option<StringViewArray>,
    body: Option<BinaryViewArray>,
}

/// A row group in memory.
pub(crate) struct RowGroup {
    times: ScalarBuffer<i64>,
    groups: Groups,
    counts: Option<PrimitiveArray<Int64Type>>,
    /// By slot and number.
    values: Vec<Option<Values>>,
    rare: Rare,
    unit: u64,
    /// Rows in the order of the log.
    order: Vec<u32>,
    given: usize,
}

/// Where the values of a slot are in a list of all.
pub(crate) fn index_of(slot: (Slot, usize)) -> usize {
    let before = Slot::ALL.iter().take(slot.0 as usize);
    before.map(|slot| slot.columns().1).sum::<usize>() + slot.1
}

impl RowGroup {
    pub(crate) fn new(batch: RecordBatch, stored: &Stored) -> io::Result<RowGroup> {
        let column = |name: &str| batch.column_by_name(name).cloned();
        let of_slot = |(slot, number): (Slot, usize)| {
            let values = column(&crate::schema::slot_name(slot, number))?;
            Some(match slot {
                Slot::Text => Values::Text(values.as_string_view().clone()),
                Slot::Int => Values::Int(values.as_primitive().clone()),
                Slot::Uint => Values::Uint(values.as_primitive().clone()),
                Slot::Float => Values::Float(values.as_primitive().clone()),
                Slot::Bool => Values::Bool(values.as_boolean().clone()),
                Slot::Bytes => Values::Bytes(values.as_binary_view().clone()),
            })
        };
        let times = match (column("time"), stored.unit) {
            (None, _) => vec![0; batch.num_rows()].into(),
            (Some(times), Unit::Nanoseconds) => {
                let times = times.as_primitive::<TimestampNanosecondType>();
                times.values().clone()
            }
            (Some(times), Unit::Microseconds) => {
                let times = times.as_primitive::<TimestampMicrosecondType>();
                times.values().clone()
            }
        };
        let sites = column("site").map(|it| it.as_primitive::<UInt64Type>().clone());
        let runs = column("run").map(|it| it.as_primitive::<UInt64Type>().clone());
        let threads = column("thread").map(|it| it.as_primitive::<UInt32Type>().clone());
        let keys = (0..batch.num_rows()).map(|row| {
            let thread = value(threads.as_ref(), row);
            (
                value(sites.as_ref(), row),
                value(runs.as_ref(), row),
                thread,
            )
        });
        let mut rows = RowGroup {
            times,
            groups: Groups::of(keys, stored),
            counts: column("seq").map(|it| it.as_primitive().clone()),
            values: slots().map(of_slot).collect(),
            rare: Rare {
                backtrace: column("backtrace").map(|it| it.as_list().clone()),
                context: column("context").map(|it| it.as_primitive().clone()),
                dropped: column("dropped").map(|it| it.as_primitive().clone()),
                mark: column("mark").map(|it| it.as_string_view().clone()),
                body: column("body").map(|it| it.as_binary_view().clone()),
            },
            unit: stored.unit.nanoseconds(),
            order: Vec::new(),
            given: 0,
        };
        let places = column("place").map(|it| it.as_primitive::<Int32Type>().clone());
        let identity = |row: u32| {
            let (row, group) = (row as usize, rows.groups.of_row(row as usize));
            (group.run, group.thread, value(rows.counts.as_ref(), row))
        };
        rows.order = order::in_order(&rows.times, places.as_ref(), identity)?;
        Ok(rows)
    }

    /// How many records were given.
    pub(crate) fn given(&self) -> usize {
        self.given
    }

    /// Whether all were given.
    #[inline]
    pub(crate) fn is_at_end(&self) -> bool {
        self.given == self.order.len()
    }

    /// The next record, whose body is written to the front of a buffer, which grows to hold it.
    #[inline]
    pub(crate) fn next<'b>(&mut self, body: &'b mut Vec<u8>) -> io::Result<Body<'b>> {
        let row = self.order[self.given] as usize;
        self.given += 1;
        let mark = self.rare.mark.as_ref();
        let mark = mark.filter(|marks| marks.is_valid(row));
        let mark = standing(mark.map(|marks| marks.value(row)))?;
        let whole = self.rare.body.as_ref();
        if let Some(bodies) = whole.filter(|bodies| bodies.is_valid(row)) {
            body.clear();
            body.extend_from_slice(bodies.value(row));
            return Ok(Body {
                bytes: body,
                mark,
                record: None,
                has_backtrace: false,
            });
        }
        let group = self.groups.of_row(row);
        let site = group.site.as_deref();
        let site = site.ok_or_else(|| wrong("a record of a site that is not listed"))?;
        loop {
            let mut encoder = Encoder::new(body);
            if self.encode(row, group, site, &mut encoder).is_ok() {
                let len = encoder.position();
                return Ok(Body {
                    bytes: &body[..len],
                    mark,
                    record: self.identity(row),
                    has_backtrace: self.backtrace(row).is_some(),
                });
            }
            if body.len() > frame::MAX_BODY {
                return Err(wrong("a record that is too long"));
            }
            body.resize((body.len() * 2).max(1024), 0);
        }
    }

    /// What a record is put in order by, if it has all of that.
    #[inline]
    fn identity(&self, row: usize) -> Option<Identity> {
        let group = self.groups.of_row(row);
        Some(Identity {
            time: self.time(row),
            run: group.run?,
            thread: group.thread?,
            count: value(self.counts.as_ref(), row)?,
        })
    }

    /// The addresses of a record, in the lists of all.
    #[inline]
    fn backtrace(&self, row: usize) -> Option<&ListArray> {
        let lists = self.rare.backtrace.as_ref();
        lists.filter(|lists| lists.is_valid(row))
    }

    #[inline]
    fn time(&self, row: usize) -> u64 {
        (self.times[row] as u64).saturating_mul(self.unit)
    }

    /// Writes a record from its columns.
    #[inline]
    fn encode(
        &self,
        row: usize,
        group: &Grouped,
        site: &StoredSite,
        out: &mut Encoder<'_>,
    ) -> Result<(), OutOfRoom> {
        let count = value(self.counts.as_ref(), row);
        let sequence = group.thread.zip(count);
        let sequence = sequence
            .map(|(number, count)| Sequence::new(ThreadNumber(u64::from(number)), count as u64).0);
        let context = value(self.rare.context.as_ref(), row);
        let dropped = value(self.rare.dropped.as_ref(), row);
        let backtrace = self.backtrace(row);
        let optional = [
            sequence.is_some(),
            backtrace.is_some(),
            dropped.is_some(),
            context.is_some(),
        ];
        let optional = optional.into_iter().map(u32::from).sum::<u32>();
        out.uint(Tag::DATA.0.into())?;
        // The time is always there.
        out.map(group.fields + optional + 1)?;
        out.bytes(self.groups.front(group))?;
        wide(out, field::SEQUENCE, sequence)?;
        wide(out, field::TIME, Some(self.time(row)))?;
        if let Some((head, args)) = &site.args {
            out.bytes(head)?;
            for index in 0..*args {
                self.value(row, site, index, out)?;
            }
        }
        if let Some(lists) = backtrace {
            out.uint(field::BACKTRACE.into())?;
            let addresses = lists.value(row);
            let addresses = addresses.as_primitive::<UInt64Type>();
            out.array(addresses.len() as u32)?;
            for address in addresses {
                match address {
                    Some(address) => out.uint(address)?,
                    None => out.nil()?,
                }
            }
        }
        out.bytes(&site.texts.0)?;
        uint(out, field::DROPPED, dropped)?;
        uint(out, field::KIND, site.kind)?;
        if let Some(keys) = &site.keys {
            out.uint(field::KEYS.into())?;
            out.map(keys.len() as u32)?;
            for (index, key) in keys.iter().enumerate() {
                out.bytes(key)?;
                self.value(row, site, site.args() + index, out)?;
            }
        }
        uint(out, field::CONTEXT, context)
    }

    /// Writes a value of a record.
    #[inline]
    fn value(
        &self,
        row: usize,
        site: &StoredSite,
        index: usize,
        out: &mut Encoder<'_>,
    ) -> Result<(), OutOfRoom> {
        let slot = site.slots.get(index).copied().flatten();
        let values = slot.and_then(|slot| self.values[slot].as_ref());
        match values {
            Some(Values::Text(texts)) if texts.is_valid(row) => {
                let text = texts.value(row).as_bytes();
                if site.types[index] == Type::Printed {
                    return logdef_wire::Typed::Printed(text).encode(out);
                }
                out.raw(text)
            }
            Some(Values::Int(numbers)) if numbers.is_valid(row) => out.int(numbers.value(row)),
            Some(Values::Uint(numbers)) if numbers.is_valid(row) => out.uint(numbers.value(row)),
            Some(Values::Float(floats)) if floats.is_valid(row) => out.float(floats.value(row)),
            Some(Values::Bool(values)) if values.is_valid(row) => out.bool(values.value(row)),
            Some(Values::Bytes(objects)) if objects.is_valid(row) => out.bytes(objects.value(row)),
            _ => out.nil(),
        }
    }
}

/// What stands in a row of a column, if the column is there.
#[inline]
fn value<T: arrow_array::ArrowPrimitiveType>(
    column: Option<&PrimitiveArray<T>>,
    row: usize,
) -> Option<T::Native> {
    let column = column?;
    column.is_valid(row).then(|| column.value(row))
}

#[inline]
fn uint(out: &mut Encoder<'_>, tag: u8, value: Option<u64>) -> Result<(), OutOfRoom> {
    let Some(value) = value else { return Ok(()) };
    out.uint(tag.into())?;
    out.uint(value)
}

#[inline]
fn wide(out: &mut Encoder<'_>, tag: u8, value: Option<u64>) -> Result<(), OutOfRoom> {
    let Some(value) = value else { return Ok(()) };
    let mut field = [0; 10];
    field[..2].copy_from_slice(&[tag, UINT_64]);
    field[2..].copy_from_slice(&value.to_be_bytes());
    out.bytes(&field)
}
