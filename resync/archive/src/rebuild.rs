//! Records of a row group, put together from its columns in the order of the log. Knows how
//! `rows` has taken them apart.

use crate::guard::wrong;
use crate::read::standing;
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
use logdef_resync::Standing;
use logdef_wire::msgpack::{Encoder, OutOfRoom};
use logdef_wire::record::field;
use logdef_wire::{Sequence, Tag, ThreadNumber, frame};
use std::io;

/// What comes next in a row group.
pub(crate) enum Rebuilt {
    /// A record, and how long its body is, which was written.
    Record(Standing, usize),
    End,
}

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
    times: Vec<i64>,
    sites: Option<PrimitiveArray<UInt64Type>>,
    runs: Option<PrimitiveArray<UInt64Type>>,
    threads: Option<PrimitiveArray<UInt32Type>>,
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
    pub(crate) fn new(batch: RecordBatch, unit: Unit) -> io::Result<RowGroup> {
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
        let times = match (column("time"), unit) {
            (None, _) => vec![0; batch.num_rows()],
            (Some(times), Unit::Nanoseconds) => {
                let times = times.as_primitive::<TimestampNanosecondType>();
                times.values().to_vec()
            }
            (Some(times), Unit::Microseconds) => {
                let times = times.as_primitive::<TimestampMicrosecondType>();
                times.values().to_vec()
            }
        };
        let mut rows = RowGroup {
            times,
            sites: column("site").map(|it| it.as_primitive().clone()),
            runs: column("run").map(|it| it.as_primitive().clone()),
            threads: column("thread").map(|it| it.as_primitive().clone()),
            counts: column("seq").map(|it| it.as_primitive().clone()),
            values: slots().map(of_slot).collect(),
            rare: Rare {
                backtrace: column("backtrace").map(|it| it.as_list().clone()),
                context: column("context").map(|it| it.as_primitive().clone()),
                dropped: column("dropped").map(|it| it.as_primitive().clone()),
                mark: column("mark").map(|it| it.as_string_view().clone()),
                body: column("body").map(|it| it.as_binary_view().clone()),
            },
            unit: unit.nanoseconds(),
            order: Vec::new(),
            given: 0,
        };
        let places = column("place").map(|it| it.as_primitive::<Int32Type>().clone());
        rows.order = rows.in_order(places.as_ref())?;
        Ok(rows)
    }

    /// How many records were given.
    pub(crate) fn given(&self) -> usize {
        self.given
    }

    /// The rows in the order of the log: by time, run, thread and count, but for those that say
    /// at which place they stand.
    fn in_order(&self, places: Option<&PrimitiveArray<Int32Type>>) -> io::Result<Vec<u32>> {
        let len = self.times.len();
        let has_place = |row: &u32| places.is_some_and(|places| places.is_valid(*row as usize));
        let mut order: Vec<u32> = (0..len as u32).filter(|row| !has_place(row)).collect();
        let identity = |row: u32| {
            let row = row as usize;
            let run = self.runs.as_ref().map(|runs| runs.value(row));
            let thread = self.threads.as_ref().map(|threads| threads.value(row));
            let count = self.counts.as_ref().map(|counts| counts.value(row));
            (run, thread, count)
        };
        // The rows of a thread at a site are in order, and this sort makes use of it.
        order.sort_by(|one, other| {
            let by_time = self.times[*one as usize].cmp(&self.times[*other as usize]);
            by_time.then_with(|| identity(*one).cmp(&identity(*other)))
        });
        let Some(places) = places else {
            return Ok(order);
        };
        let mut all = vec![u32::MAX; len];
        for row in (0..len as u32).filter(has_place) {
            let place = usize::try_from(places.value(row as usize)).ok();
            match place.and_then(|place| all.get_mut(place)) {
                Some(at) if *at == u32::MAX => *at = row,
                _ => return Err(wrong("two records at one place")),
            }
        }
        let mut others = order.into_iter();
        let free = all.iter_mut().filter(|at| **at == u32::MAX);
        free.zip(&mut others).for_each(|(at, row)| *at = row);
        Ok(all)
    }

    /// Writes the body of the next record to the front of a buffer, which grows to hold it.
    #[inline]
    pub(crate) fn next(&mut self, stored: &Stored, body: &mut Vec<u8>) -> io::Result<Rebuilt> {
        let Some(row) = self.order.get(self.given) else {
            return Ok(Rebuilt::End);
        };
        let row = *row as usize;
        self.given += 1;
        let mark = self.rare.mark.as_ref();
        let mark = mark.filter(|marks| marks.is_valid(row));
        let mark = standing(mark.map(|marks| marks.value(row)))?;
        let whole = self.rare.body.as_ref();
        if let Some(bodies) = whole.filter(|bodies| bodies.is_valid(row)) {
            let own = bodies.value(row);
            body.resize(body.len().max(own.len()), 0);
            body[..own.len()].copy_from_slice(own);
            return Ok(Rebuilt::Record(mark, own.len()));
        }
        let site = value(self.sites.as_ref(), row).and_then(|site| stored.sites.get(&site));
        let site = site.ok_or_else(|| wrong("a record of a site that is not listed"))?;
        loop {
            let mut encoder = Encoder::new(body);
            if self.encode(row, site, stored, &mut encoder).is_ok() {
                return Ok(Rebuilt::Record(mark, encoder.position()));
            }
            if body.len() > frame::MAX_BODY {
                return Err(wrong("a record that is too long"));
            }
            body.resize((body.len() * 2).max(1024), 0);
        }
    }

    /// Writes a record from its columns.
    fn encode(
        &self,
        row: usize,
        site: &StoredSite,
        stored: &Stored,
        out: &mut Encoder<'_>,
    ) -> Result<(), OutOfRoom> {
        let run = value(self.runs.as_ref(), row);
        let number = value(self.threads.as_ref(), row);
        let count = value(self.counts.as_ref(), row);
        let sequence = number.zip(count);
        let sequence = sequence
            .map(|(number, count)| Sequence::new(ThreadNumber(u64::from(number)), count as u64).0);
        let pthread = run.zip(number);
        let pthread = pthread.and_then(|thread| stored.threads.get(&thread).copied().flatten());
        let context = value(self.rare.context.as_ref(), row);
        let dropped = value(self.rare.dropped.as_ref(), row);
        let backtrace = self.rare.backtrace.as_ref();
        let backtrace = backtrace.filter(|lists| lists.is_valid(row));
        let optional = [
            run.is_some(),
            pthread.is_some(),
            sequence.is_some(),
            site.args.is_some(),
            site.keys.is_some(),
            site.kind.is_some(),
            backtrace.is_some(),
            dropped.is_some(),
            context.is_some(),
        ];
        let optional = optional.iter().filter(|is_there| **is_there).count() as u32;
        out.uint(Tag::DATA.0.into())?;
        // The time is always there.
        out.map(site.front.1 + site.texts.1 + optional + 1)?;
        out.bytes(&site.front.0)?;
        wide(out, field::RUN, run)?;
        uint(out, field::THREAD, pthread)?;
        wide(out, field::SEQUENCE, sequence)?;
        let time = (self.times[row] as u64).saturating_mul(self.unit);
        wide(out, field::TIME, Some(time))?;
        if let Some(args) = site.args {
            out.uint(field::ARGS.into())?;
            out.array(args as u32)?;
            for index in 0..args {
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
                self.value(row, site, site.args.unwrap_or(0) + index, out)?;
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
    out.uint(tag.into())?;
    out.uint64(value)
}
