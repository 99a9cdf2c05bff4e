//! The shapes of data records: what all records of a call have in common, and of what kinds their values are. For who
//! makes tables of records and must know all calls before the first row. Of each shape, the earliest record is
//! remembered. Knows no texts of calls and no types of columns.

use crate::read::item::FrameItem;
use crate::recover::memory::{Memory, hashed};
use crate::recover::tables::Place;
use foldhash::fast::RandomState;
use logdef_wire::msgpack::Array;
use logdef_wire::record::{Data, Glance, Peek};
use logdef_wire::{Record, Run, Sequence, Svma, Typed, Value};
use std::collections::HashMap;

/// Values of most records, as kinds of four bits after a one. Records of more are spelled out each time.
const FEW: usize = 15;
/// Shapes that are found by a look, each at a place that its numbers choose: a power of two.
const REMEMBERED: usize = 1 << 10;
/// Shapes of some inputs.
const MOST: usize = 1 << 16;

/// The shapes of an input, or of all.
#[derive(Debug)]
pub(crate) struct Shapes {
    input: u32,
    memory: Memory,
    /// Bytes that were taken of it.
    taken: usize,
    firsts: Vec<First>,
    by_spelling: HashMap<Box<[u8]>, u32, RandomState>,
    recent: Vec<Recent>,
    /// Whether there are more than could be remembered.
    is_cut: bool,
    room: Vec<u8>,
}

/// The earliest record of a shape, by what records are merged by.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
struct First {
    time: u64,
    identity: Option<(Run, Sequence)>,
    place: Place,
}

impl First {
    fn of(glance: &Glance, place: Place) -> First {
        First {
            time: glance.time.unwrap_or(0),
            identity: glance.run.zip(glance.sequence),
            place,
        }
    }
}

/// A shape whose records have nothing that a peek does not show.
#[derive(Clone, Copy, Debug, Default)]
struct Recent {
    glance: Glance,
    /// 0 where no shape is remembered.
    kinds: u64,
    shape: u32,
}

impl Recent {
    #[inline]
    fn is_of(&self, glance: &Glance, kinds: u64) -> bool {
        let own = &self.glance;
        kinds != 0
            && self.kinds == kinds
            && own.format == glance.format
            && own.line == glance.line
            && own.file == glance.file
            && own.magic == glance.magic
            && own.level == glance.level
            && (own.run.is_none() || own.run == glance.run)
    }
}

impl Shapes {
    pub(crate) fn new(input: u32, memory: &Memory) -> Shapes {
        Shapes {
            input,
            memory: memory.clone(),
            taken: 0,
            firsts: Vec::new(),
            by_spelling: HashMap::default(),
            recent: vec![Recent::default(); REMEMBERED],
            is_cut: false,
            room: Vec::new(),
        }
    }

    /// Takes a data record in, of which a peek was taken.
    #[inline]
    pub(crate) fn see(&mut self, frame: &FrameItem<'_>, peek: &Peek<'_>) {
        let place = Place {
            input: self.input,
            offset: frame.offset,
        };
        let is_seen = !peek.has_more && self.see_again(&peek.glance, kinds(peek.args), place);
        if !is_seen && let Ok(Record::Data(data)) = Record::decode(frame.body) {
            self.add(&data, place);
        }
    }

    /// Takes a data record in.
    pub(crate) fn add(&mut self, data: &Data<'_>, place: Place) {
        let is_bare = data.format_text.is_none()
            && data.file_text.is_none()
            && data.kind.is_none()
            && data.keys.is_none();
        let kinds = if is_bare { kinds(data.args) } else { 0 };
        if self.see_again(&data.front, kinds, place) {
            return;
        }
        let mut spelling = std::mem::take(&mut self.room);
        spelling.clear();
        spell(data, &mut spelling);
        let shape = self.insert(&spelling, First::of(&data.front, place));
        self.room = spelling;
        // Where strings have numbers of a run, one without a run is spelled out each time.
        if let Some(shape) = shape
            && kinds != 0
            && (!is_of_run(&data.front) || data.run.is_some())
        {
            self.recent[spot(&data.front, kinds)] = Recent {
                glance: Glance {
                    run: data.run.filter(|_| is_of_run(&data.front)),
                    ..data.front
                },
                kinds,
                shape,
            };
        }
    }

    /// Takes in what walkers found elsewhere.
    pub(crate) fn add_all(&mut self, others: &Shapes) {
        self.is_cut |= others.is_cut;
        for (spelling, shape) in &others.by_spelling {
            self.insert(spelling, others.firsts[*shape as usize]);
        }
    }

    /// A record of each shape, in the order of their times; `None` if there are too many.
    pub(crate) fn finish(mut self) -> Option<Vec<Place>> {
        self.firsts.sort_unstable();
        let places = self.firsts.iter().map(|first| first.place);
        (!self.is_cut).then(|| places.collect())
    }

    /// Takes a record in, if its shape is remembered.
    #[inline]
    fn see_again(&mut self, glance: &Glance, kinds: u64, place: Place) -> bool {
        let recent = &self.recent[spot(glance, kinds)];
        if !recent.is_of(glance, kinds) {
            return false;
        }
        let first = &mut self.firsts[recent.shape as usize];
        if glance.time.unwrap_or(0) <= first.time {
            *first = First::of(glance, place).min(*first);
        }
        true
    }

    fn insert(&mut self, spelling: &[u8], first: First) -> Option<u32> {
        if let Some(shape) = self.by_spelling.get(spelling) {
            let own = &mut self.firsts[*shape as usize];
            *own = first.min(*own);
            return Some(*shape);
        }
        let bytes = size_of::<First>() + hashed::<(Box<[u8]>, u32)>() + spelling.len();
        if self.firsts.len() >= MOST || !self.memory.take(bytes) {
            self.is_cut = true;
            return None;
        }
        self.taken += bytes;
        let shape = self.firsts.len() as u32;
        self.firsts.push(first);
        self.by_spelling.insert(spelling.into(), shape);
        Some(shape)
    }
}

impl Drop for Shapes {
    fn drop(&mut self) {
        self.memory.give(self.taken);
    }
}

/// The place of a shape among those that are remembered.
#[inline]
fn spot(glance: &Glance, kinds: u64) -> usize {
    let format = glance.format.map_or(0, |it| it.0);
    let spread = format ^ glance.line.unwrap_or(0).rotate_left(32) ^ kinds.rotate_left(16);
    (spread.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as usize % REMEMBERED
}

/// Whether strings of a call have numbers that mean something in one run alone.
fn is_of_run(glance: &Glance) -> bool {
    let is_text = |address: Option<Svma>| address.is_some_and(|it| it.text_number().is_some());
    is_text(glance.file) || is_text(glance.format)
}

/// The kinds of few values as one number, 0 if they are more.
#[inline]
fn kinds(args: Option<Array<'_>>) -> u64 {
    let Some(args) = args else {
        return u64::MAX;
    };
    let mut few = [Value::Nil; FEW];
    if args.len() as usize > FEW {
        return 0;
    }
    let len = args.read_into(&mut few);
    let few = few[..len].iter();
    few.fold(1, |kinds, value| kinds << 4 | u64::from(kind(*value)))
}

/// What kind a value is of, as far as it decides on the type of a column.
#[inline]
fn kind(value: Value<'_>) -> u8 {
    match value {
        Value::Nil => 1,
        Value::Bool(_) => 2,
        Value::Uint(value) if i64::try_from(value).is_ok() => 3,
        Value::Uint(_) => 4,
        Value::Int(_) => 5,
        Value::Float(_) => 6,
        // Most texts are short and of ASCII, which is seen sooner.
        Value::Raw(bytes) if bytes.is_ascii() || std::str::from_utf8(bytes).is_ok() => 7,
        Value::Array(array) => match Typed::of(array) {
            Some(Typed::Printed(text)) if std::str::from_utf8(text).is_ok() => 8,
            _ => 9,
        },
        Value::Raw(_) | Value::Map(_) | Value::Ext(..) => 9,
    }
}

/// Spells a record's shape out: two are of one shape if their spellings are equal.
fn spell(data: &Data<'_>, out: &mut Vec<u8>) {
    let number = |number: Option<u64>, out: &mut Vec<u8>| {
        out.push(u8::from(number.is_some()));
        out.extend(number.map(u64::to_be_bytes).into_iter().flatten());
    };
    let text = |text: Option<&[u8]>, out: &mut Vec<u8>| {
        number(text.map(|text| text.len() as u64), out);
        out.extend(text.unwrap_or_default());
    };
    let run = data.run.filter(|_| is_of_run(&data.front));
    let numbers = [
        data.magic.map(|it| it.0),
        data.file.map(|it| it.0),
        data.line,
        data.level.map(|it| it.0.into()),
        data.format.map(|it| it.0),
        data.kind.map(|it| it.0),
        run.map(|it| it.0),
        data.args.map(|args| args.len().into()),
        data.keys.map(|keys| keys.len().into()),
    ];
    numbers.into_iter().for_each(|it| number(it, out));
    text(data.format_text, out);
    text(data.file_text, out);
    out.extend(data.args.into_iter().flatten().map(kind));
    for (key, value) in data.keys.into_iter().flat_map(|keys| keys.iter()) {
        text(key.as_raw(), out);
        out.push(kind(value));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use logdef_wire::record::Kind;
    use logdef_wire::{Level, Magic};

    /// Records that differ in one thing each, in the order of their times.
    fn records() -> Vec<Data<'static>> {
        let plain = Data {
            front: Glance {
                format: Some(Svma(0x2008)),
                run: Some(Run(1)),
                ..Glance::default()
            },
            ..Data::default()
        };
        let mut all = vec![plain; 7];
        all[1].front.file = Some(Svma(0x2000));
        all[2].front.magic = Some(Magic(1));
        all[3].kind = Some(Kind(1));
        all[4].front.level = Some(Level(0x30));
        all[5].format_text = Some(b"text");
        all[6].file_text = Some(b"text");
        for args in [
            &[][..],
            &[0xc0],
            &[0xc2],
            &[7],
            &[0xcf, 0xff, 0, 0, 0, 0, 0, 0, 0],
            &[0xff],
            &[0xcb, 0, 0, 0, 0, 0, 0, 0, 0],
            &[0xa1, b'x'],
            &[0xa1, 0xff],
        ] {
            let args = Array::from_objects(u32::from(!args.is_empty()), args).ok();
            all.push(Data { args, ..plain });
        }
        all.extend([1, 2].map(|run| {
            let mut data = plain;
            data.front.format = Some(Svma::text(7));
            data.front.run = Some(Run(run));
            data
        }));
        let timed = all.into_iter().zip(1..);
        let timed = timed.map(|(mut data, time)| {
            data.front.time = Some(time);
            data
        });
        timed.collect()
    }

    #[test]
    fn of_each_shape_the_earliest_record_is_kept_whatever_came_before() {
        let all = records();
        let expected: Vec<u64> = (0..all.len() as u64).collect();
        for turn in 0..all.len() {
            let memory = Memory::new(1 << 20);
            let mut shapes = Shapes::new(0, &memory);
            let mut rest = Shapes::new(0, &memory);
            for index in (turn..all.len()).chain(0..turn).chain(0..all.len()) {
                // A later one of the same shape, and of another run.
                let mut later = all[index];
                later.front.time = Some(100);
                if !is_of_run(&later.front) {
                    later.front.run = Some(Run(9));
                }
                let place = |offset| Place { input: 0, offset };
                shapes.add(&later, place(1000));
                let shapes = if index % 3 == 0 {
                    &mut rest
                } else {
                    &mut shapes
                };
                shapes.add(&all[index], place(index as u64));
            }
            shapes.add_all(&rest);
            drop(rest);
            let places = shapes.finish().unwrap();
            let offsets: Vec<_> = places.iter().map(|place| place.offset).collect();
            assert_eq!(offsets, expected);
            assert_eq!(memory.left(), 1 << 20);
        }
    }

    #[test]
    fn too_many_shapes_are_none() {
        let mut shapes = Shapes::new(0, &Memory::new(1000));
        for data in records() {
            shapes.add(
                &data,
                Place {
                    input: 0,
                    offset: 0,
                },
            );
        }
        assert_eq!(shapes.finish(), None);
    }
}
