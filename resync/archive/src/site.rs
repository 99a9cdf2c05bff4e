//! Call sites as an archive numbers them: what all records of a call have in common, and which
//! column each of its values stands in. Knows no files and no tables of a log.
//!
//! The number of a site is a digest of all that, so that it is the same in each archive which
//! holds records of the same call of the same program.

use crate::schema::Slot;
use foldhash::fast::RandomState;
use logdef_wire::record::Data;
use logdef_wire::{Typed, Value};
use sha2::{Digest, Sha256};
use std::collections::{HashMap, HashSet};

/// Sites of one part of an archive; records of more are kept whole.
const MOST: usize = 1 << 16;
/// Calls that are remembered, each at a place that its numbers choose: a power of two.
const REMEMBERED: usize = 1 << 10;

/// What the type of a value is, as the sites' table says it.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub(crate) enum Type {
    Nil,
    Bool,
    Int,
    Uint,
    Float,
    Text,
    /// Text that the program made of a value by the whole placeholder.
    Printed,
    /// Anything else, as msgpack.
    Other,
}

impl Type {
    const ALL: [Type; 8] = [
        Type::Nil,
        Type::Bool,
        Type::Int,
        Type::Uint,
        Type::Float,
        Type::Text,
        Type::Printed,
        Type::Other,
    ];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Type::Nil => "nil",
            Type::Bool => "bool",
            Type::Int => "int",
            Type::Uint => "uint",
            Type::Float => "float",
            Type::Text => "text",
            Type::Printed => "printed",
            Type::Other => "msgpack",
        }
    }

    pub(crate) fn of_name(name: &str) -> Option<Type> {
        Type::ALL.into_iter().find(|it| it.name() == name)
    }

    pub(crate) fn slot(self) -> Option<Slot> {
        Some(match self {
            Type::Nil => return None,
            Type::Bool => Slot::Bool,
            Type::Int => Slot::Int,
            Type::Uint => Slot::Uint,
            Type::Float => Slot::Float,
            Type::Text | Type::Printed => Slot::Text,
            Type::Other => Slot::Bytes,
        })
    }

    /// The type of a value that was not seen at its place before.
    fn of(value: Value<'_>, is_unsigned: bool) -> Type {
        match value {
            Value::Nil => Type::Nil,
            Value::Bool(_) => Type::Bool,
            Value::Uint(value) if is_unsigned || i64::try_from(value).is_err() => Type::Uint,
            Value::Uint(_) | Value::Int(_) => Type::Int,
            Value::Float(_) => Type::Float,
            Value::Raw(bytes) if is_text(bytes) => Type::Text,
            Value::Array(array) => match Typed::of(array) {
                Some(Typed::Printed(text)) if std::str::from_utf8(text).is_ok() => Type::Printed,
                _ => Type::Other,
            },
            Value::Raw(_) | Value::Map(_) | Value::Ext(..) => Type::Other,
        }
    }

    /// Whether a value can stand in a column of this type; where there is none, nothing does.
    #[inline]
    fn holds(self, value: Value<'_>) -> bool {
        match (self, value) {
            (_, Value::Nil)
            | (Type::Bool, Value::Bool(_))
            | (Type::Int, Value::Int(_))
            | (Type::Uint, Value::Uint(_))
            | (Type::Float, Value::Float(_)) => true,
            (Type::Int, Value::Uint(value)) => i64::try_from(value).is_ok(),
            (Type::Text, Value::Raw(bytes)) => is_text(bytes),
            (Type::Printed | Type::Other, _) => Type::of(value, false) == self,
            _ => false,
        }
    }
}

/// Whether bytes are UTF-8. Most texts are short and of ASCII, which is seen sooner.
#[inline]
fn is_text(bytes: &[u8]) -> bool {
    bytes.is_ascii() || std::str::from_utf8(bytes).is_ok()
}

/// What the records of a call have in common, in their own numbers.
#[derive(Clone, Debug, Default, Eq, Hash, PartialEq)]
pub(crate) struct Call {
    pub(crate) magic: Option<u64>,
    pub(crate) file: Option<u64>,
    pub(crate) line: Option<u64>,
    pub(crate) level: Option<u8>,
    pub(crate) format: Option<u64>,
    pub(crate) kind: Option<u64>,
    /// The run, where the numbers of strings mean something in it alone.
    pub(crate) run: Option<u64>,
    /// The texts of format and file, where records spell them out.
    pub(crate) texts: Option<Box<[Option<Vec<u8>>; 2]>>,
}

impl Call {
    #[inline]
    pub(crate) fn of(data: &Data<'_>) -> Call {
        let is_text = |address: Option<logdef_wire::Svma>| {
            address.is_some_and(|address| address.text_number().is_some())
        };
        let is_of_run = is_text(data.file) || is_text(data.format);
        let texts = [data.format_text, data.file_text];
        Call {
            magic: data.magic.map(|it| it.0),
            file: data.file.map(|it| it.0),
            line: data.line,
            level: data.level.map(|it| it.0),
            format: data.format.map(|it| it.0),
            kind: data.kind.map(|it| it.0),
            run: data.run.filter(|_| is_of_run).map(|it| it.0),
            texts: (texts != [None; 2]).then(|| Box::new(texts.map(|it| it.map(<[u8]>::to_vec)))),
        }
    }

    /// Whether a record is of this call, which spells out no texts and is of any run.
    #[inline]
    fn is_of(&self, data: &Data<'_>) -> bool {
        self.format == data.format.map(|it| it.0)
            && self.file == data.file.map(|it| it.0)
            && self.magic == data.magic.map(|it| it.0)
            && self.line == data.line
            && self.level == data.level.map(|it| it.0)
            && self.kind == data.kind.map(|it| it.0)
            && self.run.is_none()
            && self.texts.is_none()
            && data.format_text.is_none()
            && data.file_text.is_none()
    }
}

/// The place of a record's call among those that are remembered.
#[inline]
fn place(data: &Data<'_>) -> usize {
    let format = data.format.map_or(0, |it| it.0);
    let spread = format ^ data.line.unwrap_or(0).rotate_left(32);
    (spread.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as usize % REMEMBERED
}

/// The values of a call: how many are arguments, and the names of those that are keys.
#[derive(Clone, Debug, Default, Eq, Hash, PartialEq)]
pub(crate) struct Values {
    pub(crate) types: Vec<Type>,
    /// `None` where the records have no such field at all.
    pub(crate) args: Option<u32>,
    pub(crate) keys: Option<Vec<Vec<u8>>>,
}

/// A call with values of certain types.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Site {
    pub(crate) id: u64,
    pub(crate) call: Call,
    pub(crate) values: Values,
    /// The column of each value; `None` if there are not enough columns, and records are
    /// kept whole.
    pub(crate) slots: Option<Vec<Option<(Slot, usize)>>>,
}

impl Site {
    fn new(id: u64, call: Call, values: Values) -> Site {
        let slots = slots(&values.types);
        Site {
            id,
            call,
            values,
            slots,
        }
    }

    /// Which of its values that have a column is in a certain one.
    pub(crate) fn value_in(&self, column: (Slot, usize)) -> Option<usize> {
        let mut slots = self.slots.iter().flatten().flatten();
        slots.position(|slot| *slot == column)
    }

    /// Whether records with these values are of this site.
    #[inline]
    fn takes(&self, data: &Data<'_>, values: &[Value<'_>]) -> bool {
        let own = &self.values;
        if own.types.len() != values.len()
            || own.args != data.args.map(|args| args.len())
            || own.keys.is_some() != data.keys.is_some()
        {
            return false;
        }
        let is_of_types = own
            .types
            .iter()
            .zip(values)
            .all(|(it, value)| it.holds(*value));
        is_of_types && own.keys.as_ref().is_none_or(|keys| has_keys(data, keys))
    }
}

fn has_keys(data: &Data<'_>, keys: &[Vec<u8>]) -> bool {
    let pairs = data.keys.into_iter().flat_map(|map| map.iter());
    pairs
        .map(|(key, _)| key)
        .eq(keys.iter().map(|key| Value::Raw(key)))
}

/// The types of values, where no record with such was seen before.
pub(crate) fn types(values: &[Value<'_>], is_unsigned: impl Fn(usize) -> bool) -> Vec<Type> {
    let values = values.iter().enumerate();
    values
        .map(|(index, value)| Type::of(*value, is_unsigned(index)))
        .collect()
}

/// The columns that values of these types stand in.
pub(crate) fn slots(types: &[Type]) -> Option<Vec<Option<(Slot, usize)>>> {
    let mut used = [0; Slot::ALL.len()];
    let place = |it: &Type| {
        let Some(slot) = it.slot() else {
            return Some(None);
        };
        let number = &mut used[slot as usize];
        *number += 1;
        (*number <= slot.columns().1).then_some(Some((slot, *number - 1)))
    };
    types.iter().map(place).collect()
}

/// Calls that records were of before, so that most of the next need no look into a table.
#[derive(Clone, Debug, Default)]
pub struct Recent {
    /// The list of a call, at a place that its numbers give.
    lists: Vec<u32>,
}

/// All sites of a part.
#[derive(Debug, Default)]
pub(crate) struct Sites {
    pub(crate) all: Vec<Site>,
    /// Where the sites of a call are listed.
    by_call: HashMap<Call, u32, RandomState>,
    lists: Vec<Vec<u32>>,
    ids: HashSet<u64>,
}

impl Sites {
    /// The site that a record is of; `None` if no record was of that site yet. `recent` holds the calls of earlier records.
    #[inline]
    pub(crate) fn find(
        &self,
        data: &Data<'_>,
        values: &[Value<'_>],
        recent: &mut Recent,
    ) -> Option<usize> {
        self.among(self.list(data, recent)?, data, values)
    }

    /// The sites of a record's call, whatever its values are: none, if no record was of that call yet.
    #[inline]
    pub(crate) fn of_call(&self, data: &Data<'_>, recent: &mut Recent) -> &[u32] {
        let list = self.list(data, recent);
        list.map_or(&[], |list| &self.lists[list as usize])
    }

    /// The list of the sites of a record's call.
    #[inline]
    fn list(&self, data: &Data<'_>, recent: &mut Recent) -> Option<u32> {
        let place = place(data);
        let is_of = |list: &u32| {
            let first = self.lists.get(*list as usize).map(|sites| sites[0]);
            first.is_some_and(|first| self.all[first as usize].call.is_of(data))
        };
        if let Some(list) = recent.lists.get(place).copied().filter(is_of) {
            return Some(list);
        }
        let list = *self.by_call.get(&Call::of(data))?;
        recent.lists.resize(REMEMBERED, list);
        recent.lists[place] = list;
        Some(list)
    }

    /// The first site of a list, none of which is empty, that a record is of.
    #[inline]
    fn among(&self, list: u32, data: &Data<'_>, values: &[Value<'_>]) -> Option<usize> {
        let sites = self.lists[list as usize].iter();
        sites
            .map(|site| *site as usize)
            .find(|site| self.all[*site].takes(data, values))
    }

    /// All sites that take a record.
    pub(crate) fn of(&self, data: &Data<'_>, values: &[Value<'_>]) -> impl Iterator<Item = &Site> {
        let list = self.by_call.get(&Call::of(data));
        let sites = list
            .into_iter()
            .flat_map(|list| &self.lists[*list as usize]);
        let sites = sites.map(|site| &self.all[*site as usize]);
        sites.filter(move |site| site.takes(data, values))
    }

    /// Adds the site that a record is of, unless it cannot be one or there are too many.
    pub(crate) fn add(
        &mut self,
        data: &Data<'_>,
        values: &[Value<'_>],
        is_unsigned: impl Fn(usize) -> bool,
    ) -> Option<usize> {
        if self.all.len() >= MOST {
            return None;
        }
        let keys = match data.keys {
            Some(map) => Some(
                map.iter()
                    .map(|(key, _)| {
                        let key = key.as_raw()?;
                        std::str::from_utf8(key).is_ok().then(|| key.to_vec())
                    })
                    .collect::<Option<Vec<_>>>()?,
            ),
            None => None,
        };
        let values = Values {
            types: types(values, is_unsigned),
            args: data.args.map(|args| args.len()),
            keys,
        };
        let call = Call::of(data);
        let id = (0u64..)
            .map(|attempt| id(&call, &values, attempt))
            .find(|id| self.ids.insert(*id))?;
        self.insert(id, call, values);
        Some(self.all.len() - 1)
    }

    /// Puts a site after the others.
    pub(crate) fn insert(&mut self, id: u64, call: Call, values: Values) -> &Site {
        let index = self.all.len();
        let lists = &mut self.lists;
        let list = *self.by_call.entry(call.clone()).or_insert_with(|| {
            lists.push(Vec::new());
            lists.len() as u32 - 1
        });
        lists[list as usize].push(index as u32);
        self.all.push(Site::new(id, call, values));
        &self.all[index]
    }
}

/// The number of a site; another one at each attempt, should two sites ever have the same.
fn id(call: &Call, values: &Values, attempt: u64) -> u64 {
    let mut digest = Sha256::new();
    let mut number = |number: Option<u64>| {
        digest.update([u8::from(number.is_some())]);
        digest.update(number.unwrap_or(0).to_be_bytes());
    };
    let numbers = [
        Some(attempt),
        call.magic,
        call.file,
        call.line,
        call.level.map(u64::from),
        call.format,
        call.kind,
        call.run,
        values.args.map(u64::from),
        values.keys.as_ref().map(|keys| keys.len() as u64),
    ];
    numbers.into_iter().for_each(&mut number);
    values.types.iter().for_each(|it| number(Some(*it as u64)));
    let texts = call.texts.iter().flat_map(|texts| texts.iter());
    let keys = values.keys.iter().flatten().map(Some);
    for text in texts.map(Option::as_ref).chain(keys) {
        digest.update([u8::from(text.is_some())]);
        let text = text.map_or(&[][..], Vec::as_slice);
        digest.update((text.len() as u64).to_be_bytes());
        digest.update(text);
    }
    let digest = digest.finalize();
    digest[..8]
        .iter()
        .fold(0, |id, byte| id << 8 | u64::from(*byte))
}

#[cfg(test)]
mod tests {
    use super::*;
    use logdef_wire::msgpack::Array;
    use logdef_wire::record::{Glance, Kind};
    use logdef_wire::{Level, Magic, Run, Svma};

    fn site(sites: &mut Sites, args: &[u8], len: u32) -> u64 {
        let data = Data {
            args: Array::from_objects(len, args).ok(),
            ..Data::default()
        };
        let values: Vec<_> = data.args.unwrap().iter().collect();
        let found = sites.find(&data, &values, &mut Recent::default());
        let site = found.or_else(|| sites.add(&data, &values, |_| false));
        sites.all[site.unwrap()].id
    }

    #[test]
    fn values_of_other_types_make_another_site() {
        let mut sites = Sites::default();
        let one = site(&mut sites, &[7, 0xa1, b'x'], 2);
        assert_eq!(site(&mut sites, &[0xff, 0xa1, b'y'], 2), one, "-1");
        assert_eq!(site(&mut sites, &[8, 0xc0], 2), one, "nil");
        let large = [0xcf, 0xff, 0, 0, 0, 0, 0, 0, 0, 0xa0];
        let others = [
            site(&mut sites, &large, 2),
            site(&mut sites, &[7, 8], 2),
            site(&mut sites, &[7], 1),
            site(&mut sites, &[7, 0xa1, 0xff], 2),
        ];
        let all: HashSet<_> = others.into_iter().chain([one]).collect();
        assert_eq!(all.len(), 5);
        // The same elsewhere.
        assert_eq!(site(&mut Sites::default(), &[9, 0xa0], 2), one);
    }

    #[test]
    fn a_record_is_of_its_own_call_whichever_came_before() {
        let record = |format, run| Data {
            front: Glance {
                format: Some(format),
                run: Some(Run(run)),
                ..Glance::default()
            },
            ..Data::default()
        };
        let mut all = vec![record(Svma(0x2008), 1); 6];
        all[1].front.file = Some(Svma(0x2000));
        all[2].front.magic = Some(Magic(1));
        all[3].kind = Some(Kind(1));
        all[4].front.level = Some(Level(0x30));
        all[5].format_text = Some(b"text");
        all.extend([1, 2].map(|run| record(Svma::text(7), run)));
        let (mut sites, mut recent) = (Sites::default(), Recent::default());
        for data in &all {
            assert_eq!(sites.find(data, &[], &mut recent), None);
            sites.add(data, &[], |_| false);
        }
        for first in 0..all.len() {
            for index in [first, 0, first, first, 5, 6, first] {
                assert_eq!(sites.find(&all[index], &[], &mut recent), Some(index));
            }
        }
    }

    #[test]
    fn a_call_with_too_many_values_of_a_type_has_no_columns() {
        assert!(slots(&[Type::Int; 8]).is_some());
        assert_eq!(slots(&[Type::Int; 9]), None);
        let mixed = slots(&[Type::Text, Type::Nil, Type::Int, Type::Printed]).unwrap();
        let expected = [
            Some((Slot::Text, 0)),
            None,
            Some((Slot::Int, 0)),
            Some((Slot::Text, 1)),
        ];
        assert_eq!(mixed, expected);
    }
}
