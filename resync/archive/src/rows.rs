//! Columns of records in the making. In a row group records are sorted by site, run and thread,
//! which makes columns pack well; a batch for who reads a stream stays in the order of the log.
//! Knows the columns, and no files of an archive.
//!
//! Inside a row group the order of the log is that of time, run, thread and count. Records that
//! stand elsewhere in it, as they do after a clock that was set back, say at which place.

use crate::group::{Column, Group, OVERHEAD};
use crate::schema::{self, Slot, Unit};
use crate::site::Site;
use arrow_array::builder::{ListBuilder, UInt64Builder};
use arrow_array::types::{
    Float64Type, Int32Type, Int64Type, TimestampMicrosecondType, TimestampNanosecondType,
    UInt8Type, UInt32Type, UInt64Type,
};
use arrow_array::{
    Array, ArrayRef, ArrowPrimitiveType, BinaryArray, BooleanArray, PrimitiveArray, StringArray,
    UInt32Array, new_null_array,
};
use arrow_buffer::{
    BooleanBuffer, Buffer, NullBuffer, NullBufferBuilder, OffsetBuffer, ScalarBuffer,
};
use arrow_schema::DataType;
use arrow_select::take::take;
use foldhash::fast::RandomState;
use logdef_resync::Standing;
use logdef_wire::Value;
use logdef_wire::record::Data;
use parquet::errors::Result;
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

/// Most records of a row group.
pub(crate) const MOST: usize = 1 << 20;
/// Records of a row group, if nothing else is asked for. Of more, a request is in a larger part of the archive,
/// and who puts them in order again waits for memory; of fewer, texts are spelled more often.
pub(crate) const RECORDS: usize = 1 << 17;
/// Bytes that they take, as they are kept and as columns, before a row group ends.
const BYTES: usize = 96 << 20;

/// Bytes that a record takes in the columns that all have.
const WIDTH: usize = 64;

/// A record that is kept whole, with the numbers in it that columns can show.
#[derive(Default)]
pub(crate) struct Whole {
    pub(crate) time: Option<u64>,
    pub(crate) site: Option<u64>,
    pub(crate) level: Option<u8>,
    pub(crate) run: Option<u64>,
    pub(crate) sequence: Option<logdef_wire::Sequence>,
    pub(crate) mark: Standing,
    pub(crate) body: Vec<u8>,
}

/// Records that are not written yet.
pub(crate) struct Rows {
    unit: Unit,
    most: usize,
    most_bytes: usize,
    in_order: bool,
    groups: Vec<Group>,
    by_key: HashMap<(u32, u32, u64), u32, RandomState>,
    whole: Vec<(u32, Whole)>,
    len: usize,
    bytes: usize,
    used: BTreeSet<(Slot, usize)>,
    /// Bytes that a record takes in the columns that are used.
    width: usize,
    /// The highest time, run and sequence so far.
    highest: (u64, u64, u64),
}

impl Rows {
    /// Up to `most` records, of a row group.
    pub(crate) fn new(unit: Unit, most: usize) -> Rows {
        Rows {
            unit,
            most,
            most_bytes: BYTES,
            in_order: false,
            groups: Vec::new(),
            by_key: HashMap::default(),
            whole: Vec::new(),
            len: 0,
            bytes: 0,
            used: BTreeSet::new(),
            width: WIDTH,
            highest: (0, 0, 0),
        }
    }

    /// Up to `most` records in about so few bytes, which stay in the order of the log.
    pub(crate) fn in_order(most: usize, bytes: usize) -> Rows {
        Rows {
            most_bytes: bytes,
            in_order: true,
            ..Rows::new(Unit::Nanoseconds, most)
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    pub(crate) fn is_full(&self) -> bool {
        self.len >= self.most
            || self.bytes >= self.most_bytes
            || self.len * self.width >= 2 * self.most_bytes
    }

    /// Adds a record of a site, which has a column for each of its values.
    #[inline]
    pub(crate) fn push(
        &mut self,
        index: usize,
        site: &Site,
        data: &Data<'_>,
        values: &[Value<'_>],
        mark: Standing,
    ) {
        let sequence = data.sequence.unwrap_or_default();
        let run = data.run.unwrap_or_default().0;
        let thread = sequence.number().0 as u32;
        let key = (index as u32, thread, run);
        let (groups, used, bytes) = (&mut self.groups, &mut self.used, &mut self.bytes);
        let width = &mut self.width;
        let at = *self.by_key.entry(key).or_insert_with(|| {
            let slots = site.slots.iter().flatten().flatten();
            used.extend(slots.clone().copied());
            *width = WIDTH + used.iter().map(|(slot, _)| slot.width()).sum::<usize>();
            *bytes += OVERHEAD;
            groups.push(Group {
                site: index,
                run,
                thread,
                values: slots.map(|(slot, _)| Column::new(*slot)).collect(),
                ..Group::default()
            });
            groups.len() as u32 - 1
        });
        let group = &mut groups[at as usize];
        let time = data.time.unwrap_or_default() / self.unit.nanoseconds();
        let row = group.len() as u32;
        *bytes += group.push(data, values, &site.values.types);
        group.times.push(time);
        group.counts.push(sequence.count());
        if mark != Standing::Sound {
            group.marks.push((row, mark));
        }
        let order = (time, run, sequence.0);
        if self.in_order || order < self.highest {
            group.places.push((row, self.len as u32));
            *bytes += 8;
        } else {
            self.highest = order;
        }
        self.len += 1;
    }

    /// Adds a record that columns cannot hold.
    pub(crate) fn push_whole(&mut self, whole: Whole) {
        self.bytes += whole.body.len() + OVERHEAD / 4;
        self.whole.push((self.len as u32, whole));
        self.len += 1;
    }

    /// Makes the columns of what there is, in their order, and gives each away before the next
    /// is made; then nothing is left.
    pub(crate) fn take(
        &mut self,
        sites: &[Site],
        mut column: impl FnMut(usize, ArrayRef) -> Result<()>,
    ) -> Result<()> {
        let empty = Rows {
            most_bytes: self.most_bytes,
            in_order: self.in_order,
            ..Rows::new(self.unit, self.most)
        };
        let full = std::mem::replace(self, empty);
        let mut groups = full.groups;
        groups.sort_by_key(|group| (sites[group.site].id, group.run, group.thread));
        let mut sorted = Sorted {
            unit: full.unit,
            sites,
            groups,
            whole: full.whole,
            len: full.len,
            has_places: true,
        };
        let order = full.in_order.then(|| sorted.take_places());
        let in_log_order = |array| match &order {
            Some(order) => take(&array, order, None),
            None => Ok(array),
        };
        let schema = schema::records(full.unit);
        for (index, field) in schema.fields().iter().enumerate() {
            let array = match Slot::parse(field.name()) {
                Some(slot) if !full.used.contains(&slot) => {
                    column(index, new_null_array(field.data_type(), full.len))?;
                    continue;
                }
                Some(slot) => {
                    let values = sorted.values(slot);
                    sorted.forget(slot);
                    values
                }
                None => sorted.column(field.name(), field.data_type()),
            };
            column(index, in_log_order(array)?)?;
        }
        Ok(())
    }
}

/// Records of a row group in the order in which they are written.
struct Sorted<'s> {
    unit: Unit,
    sites: &'s [Site],
    groups: Vec<Group>,
    whole: Vec<(u32, Whole)>,
    len: usize,
    has_places: bool,
}

impl Sorted<'_> {
    /// A column that is no slot.
    fn column(&self, name: &str, data_type: &DataType) -> ArrayRef {
        let sites = self.sites;
        match name {
            "time" => match self.unit {
                Unit::Nanoseconds => {
                    let times = self.times::<TimestampNanosecondType>();
                    Arc::new(times.with_timezone("UTC"))
                }
                Unit::Microseconds => {
                    let times = self.times::<TimestampMicrosecondType>();
                    Arc::new(times.with_timezone("UTC"))
                }
            },
            "site" => self.same::<UInt64Type>(|it| Some(sites[it.site].id), |it| it.site),
            "level" => self.same::<UInt8Type>(|it| sites[it.site].call.level, |it| it.level),
            "run" => self.same::<UInt64Type>(|it| Some(it.run), |it| it.run),
            "thread" => {
                let number = |it: &Whole| Some(it.sequence?.number().0 as u32);
                self.same::<UInt32Type>(|it| Some(it.thread), number)
            }
            "seq" => {
                let count = |it: &Whole| Some(it.sequence?.count() as i64);
                let counts = |it: &Group, out: &mut Vec<i64>| {
                    out.extend(it.counts.iter().map(|count| *count as i64));
                };
                Arc::new(self.numbers::<Int64Type>(counts, count))
            }
            "context" => self.few::<UInt64Type>(|it| &it.contexts),
            "dropped" => self.few::<UInt64Type>(|it| &it.drops),
            "place" if self.has_places => {
                let mut places = vec![None; self.len];
                for (base, group) in self.based() {
                    for (row, place) in &group.places {
                        places[base + *row as usize] = Some(*place as i32);
                    }
                }
                let base = self.len - self.whole.len();
                for (row, (place, _)) in self.whole.iter().enumerate() {
                    places[base + row] = Some(*place as i32);
                }
                Arc::new(PrimitiveArray::<Int32Type>::from(places))
            }
            "mark" => {
                let mut marks = vec![None; self.len];
                for (base, group) in self.based() {
                    for (row, mark) in &group.marks {
                        marks[base + *row as usize] = mark.word();
                    }
                }
                let base = self.len - self.whole.len();
                for (row, (_, whole)) in self.whole.iter().enumerate() {
                    marks[base + row] = whole.mark.word();
                }
                Arc::new(StringArray::from(marks))
            }
            "body" if !self.whole.is_empty() => {
                let none = std::iter::repeat_n(None, self.len - self.whole.len());
                let bodies = self.whole.iter().map(|(_, whole)| Some(&whole.body));
                Arc::new(BinaryArray::from_iter(none.chain(bodies)))
            }
            "backtrace" => self.backtraces(data_type),
            _ => new_null_array(data_type, self.len),
        }
    }

    /// At each place of the log, which record in this order stands there. Who takes the places
    /// needs no column of them.
    fn take_places(&mut self) -> UInt32Array {
        let mut order = vec![0; self.len];
        let mut base = 0;
        for group in &mut self.groups {
            for (row, place) in group.places.drain(..) {
                order[place as usize] = base + row;
            }
            base += group.len() as u32;
        }
        for (row, (place, _)) in (base..).zip(&self.whole) {
            order[*place as usize] = row;
        }
        self.has_places = false;
        order.into()
    }

    /// The groups, and how many records stand before each.
    fn based(&self) -> impl Iterator<Item = (usize, &Group)> {
        self.groups.iter().scan(0, |base, group| {
            let own = *base;
            *base += group.len();
            Some((own, group))
        })
    }

    fn times<T: ArrowPrimitiveType<Native = i64>>(&self) -> PrimitiveArray<T> {
        let unit = self.unit.nanoseconds();
        let times = |it: &Group, out: &mut Vec<i64>| {
            out.extend(it.times.iter().map(|time| *time as i64));
        };
        self.numbers(times, |it| i64::try_from(it.time? / unit).ok())
    }

    /// A column with one value for all records of a group.
    fn same<T: ArrowPrimitiveType>(
        &self,
        of_group: impl Fn(&Group) -> Option<T::Native>,
        of_whole: impl Fn(&Whole) -> Option<T::Native>,
    ) -> ArrayRef {
        let mut values = Vec::with_capacity(self.len);
        let mut valid = NullBufferBuilder::new(self.len);
        for group in &self.groups {
            let value = of_group(group);
            values.resize(values.len() + group.len(), value.unwrap_or_default());
            match value {
                Some(_) => valid.append_n_non_nulls(group.len()),
                None => valid.append_n_nulls(group.len()),
            }
        }
        for (_, whole) in &self.whole {
            let value = of_whole(whole);
            values.push(value.unwrap_or_default());
            valid.append(value.is_some());
        }
        Arc::new(PrimitiveArray::<T>::new(values.into(), valid.finish()))
    }

    /// A column that all records of groups have.
    fn numbers<T: ArrowPrimitiveType>(
        &self,
        of_group: impl Fn(&Group, &mut Vec<T::Native>),
        of_whole: impl Fn(&Whole) -> Option<T::Native>,
    ) -> PrimitiveArray<T> {
        let mut values = Vec::with_capacity(self.len);
        let mut valid = NullBufferBuilder::new(self.len);
        for group in &self.groups {
            of_group(group, &mut values);
            valid.append_n_non_nulls(group.len());
        }
        for (_, whole) in &self.whole {
            let value = of_whole(whole);
            values.push(value.unwrap_or_default());
            valid.append(value.is_some());
        }
        PrimitiveArray::new(values.into(), valid.finish())
    }

    /// A column of which most records have nothing.
    fn few<T: ArrowPrimitiveType<Native = u64>>(
        &self,
        of_group: impl Fn(&Group) -> &Vec<(u32, u64)>,
    ) -> ArrayRef {
        let mut values = vec![None; self.len];
        for (base, group) in self.based() {
            for (row, value) in of_group(group) {
                values[base + *row as usize] = Some(*value);
            }
        }
        Arc::new(PrimitiveArray::<T>::from_iter(values))
    }

    fn backtraces(&self, data_type: &DataType) -> ArrayRef {
        if self.groups.iter().all(|group| group.backtraces.is_empty()) {
            return new_null_array(data_type, self.len);
        }
        let DataType::List(element) = data_type else {
            return new_null_array(data_type, self.len);
        };
        let mut lists = ListBuilder::new(UInt64Builder::new()).with_field(Arc::clone(element));
        for group in &self.groups {
            let mut next = 0;
            for (row, addresses) in &group.backtraces {
                (next..*row).for_each(|_| lists.append_null());
                addresses
                    .iter()
                    .for_each(|address| lists.values().append_option(*address));
                lists.append(true);
                next = row + 1;
            }
            (next..group.len() as u32).for_each(|_| lists.append_null());
        }
        self.whole.iter().for_each(|_| lists.append_null());
        Arc::new(lists.finish())
    }

    /// The values of a group in a column, if it has any.
    fn column_of<'g>(&self, group: &'g Group, wanted: (Slot, usize)) -> Option<&'g Column> {
        group.values.get(self.sites[group.site].value_in(wanted)?)
    }

    /// Gives back the memory of values of which a column was made.
    fn forget(&mut self, wanted: (Slot, usize)) {
        for group in &mut self.groups {
            let index = self.sites[group.site].value_in(wanted);
            if let Some(column) = index.and_then(|index| group.values.get_mut(index)) {
                *column = Column::new(wanted.0);
            }
        }
    }

    fn values(&self, slot: (Slot, usize)) -> ArrayRef {
        match slot.0 {
            Slot::Text => {
                let (ends, bytes, valid) = self.bytes(slot);
                // What stands in it was looked through when it came.
                match StringArray::try_new(ends, bytes, valid) {
                    Ok(array) => Arc::new(array),
                    Err(_) => new_null_array(&DataType::Utf8, self.len),
                }
            }
            Slot::Bytes => {
                let (ends, bytes, valid) = self.bytes(slot);
                Arc::new(BinaryArray::new(ends, bytes, valid))
            }
            Slot::Int => self.bits::<Int64Type>(slot, |bits| bits as i64),
            Slot::Uint => self.bits::<UInt64Type>(slot, |bits| bits),
            Slot::Float => self.bits::<Float64Type>(slot, f64::from_bits),
            Slot::Bool => {
                let bits = self.bits::<UInt64Type>(slot, |bits| bits);
                let bits = bits.as_any().downcast_ref::<PrimitiveArray<UInt64Type>>();
                let (values, nulls) = bits.map_or_else(Default::default, |bits| {
                    let values = BooleanBuffer::from_iter(bits.values().iter().map(|it| *it != 0));
                    (Some(values), bits.nulls().cloned())
                });
                let values = values.unwrap_or_else(|| BooleanBuffer::new_unset(self.len));
                Arc::new(BooleanArray::new(values, nulls))
            }
        }
    }

    fn bits<T: ArrowPrimitiveType>(
        &self,
        slot: (Slot, usize),
        of_bits: impl Fn(u64) -> T::Native,
    ) -> ArrayRef {
        let mut values: Vec<T::Native> = Vec::with_capacity(self.len);
        let mut valid = NullBufferBuilder::new(self.len);
        for group in &self.groups {
            match self.column_of(group, slot) {
                Some(Column::Numbers { bits, nulls }) => {
                    values.extend(bits.iter().map(|bits| of_bits(*bits)));
                    push_valid(&mut valid, group.len(), nulls);
                }
                _ => {
                    values.resize(values.len() + group.len(), T::Native::default());
                    valid.append_n_nulls(group.len());
                }
            }
        }
        values.resize(self.len, T::Native::default());
        valid.append_n_nulls(self.whole.len());
        Arc::new(PrimitiveArray::<T>::new(values.into(), valid.finish()))
    }

    fn bytes(&self, slot: (Slot, usize)) -> (OffsetBuffer<i32>, Buffer, Option<NullBuffer>) {
        let mut all: Vec<u8> = Vec::new();
        let mut offsets: Vec<i32> = Vec::with_capacity(self.len + 1);
        offsets.push(0);
        let mut valid = NullBufferBuilder::new(self.len);
        for group in &self.groups {
            let base = all.len() as i32;
            match self.column_of(group, slot) {
                Some(Column::Bytes { bytes, ends, nulls }) => {
                    all.extend_from_slice(bytes);
                    offsets.extend(ends.iter().map(|end| base + *end as i32));
                    push_valid(&mut valid, group.len(), nulls);
                }
                _ => {
                    offsets.resize(offsets.len() + group.len(), base);
                    valid.append_n_nulls(group.len());
                }
            }
        }
        offsets.resize(self.len + 1, all.len() as i32);
        valid.append_n_nulls(self.whole.len());
        let offsets = OffsetBuffer::new(ScalarBuffer::from(offsets));
        (offsets, Buffer::from_vec(all), valid.finish())
    }
}

fn push_valid(valid: &mut NullBufferBuilder, len: usize, nulls: &[u32]) {
    let mut next = 0;
    for null in nulls {
        let null = *null as usize;
        valid.append_n_non_nulls(null - next);
        valid.append_null();
        next = null + 1;
    }
    valid.append_n_non_nulls(len - next);
}
