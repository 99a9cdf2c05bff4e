//! Contexts: key-values that were said once for many records. A context may add to
//! another, and may be given more keys later: the latest before a record holds for it.

use crate::recover::tables::entries::{before, insert};
use crate::recover::tables::{Place, Tables, latest, map_entry};
use logdef_wire::record::ContextLogdef;
use logdef_wire::{Map, Run, Value};

/// Ancestors of a context that are followed.
const MAX_DEPTH: usize = 64;
/// Keys that contexts say of a record, as far as they are shown.
const MAX_KEYS: usize = 128;

/// A context as its logdefs describe it.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub struct ContextEntry {
    /// The context that it adds to.
    pub parent: Option<u64>,
    /// The span that it is the context of.
    pub span: Option<u64>,
    /// Its key-value pairs as they stand in the log, and how many.
    objects: Box<[u8]>,
    count: u32,
}

impl ContextEntry {
    fn of(logdef: &ContextLogdef<'_>) -> ContextEntry {
        ContextEntry {
            parent: logdef.parent,
            span: logdef.span,
            objects: logdef.keys.map_or(&[][..], |keys| keys.objects()).into(),
            count: logdef.keys.map_or(0, |keys| keys.len()),
        }
    }

    /// Its own pairs, as they stand in the log: those of its parent are not among them.
    pub fn keys(&self) -> impl Iterator<Item = (Value<'_>, Value<'_>)> {
        let keys = Map::from_objects(self.count, &self.objects);
        keys.into_iter().flat_map(|keys| keys.iter())
    }
}

/// The key-values that the contexts of a record say of it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ContextKeys<'a> {
    keys: Vec<(&'a [u8], Value<'a>)>,
    lost: Option<u64>,
}

impl<'a> ContextKeys<'a> {
    /// The pairs, those of the innermost context first; no key comes twice.
    pub fn iter(&self) -> impl Iterator<Item = (&'a [u8], Value<'a>)> + use<'a, '_> {
        self.keys.iter().copied()
    }

    /// How many pairs they are.
    pub fn len(&self) -> usize {
        self.keys.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// The number of a context of which nothing is known, or that has too many keys to show
    /// all: the record's own, or one that it adds to.
    pub fn lost(&self) -> Option<u64> {
        self.lost
    }

    /// The value of a key.
    pub fn get(&self, wanted: &[u8]) -> Option<Value<'a>> {
        let found = self.keys.iter().find(|(key, _)| *key == wanted);
        found.map(|(_, value)| *value)
    }

    /// Takes in what a context says; `false` if that is too much.
    fn add(&mut self, hidden: impl Fn(&[u8]) -> bool, entry: &'a ContextEntry) -> bool {
        let known = self.keys.len();
        for (key, value) in entry.keys() {
            let Value::Raw(key) = key else { continue };
            // Equal keys may follow, but no context of ours has this many.
            if self.keys.len() >= MAX_KEYS {
                return false;
            }
            // Of one context the last of equal keys counts, as of any map.
            let is_inner = self.keys[..known].iter().any(|(other, _)| *other == key);
            if is_inner || hidden(key) {
                continue;
            }
            match self.keys[known..]
                .iter_mut()
                .find(|(other, _)| *other == key)
            {
                Some(same) => same.1 = value,
                None => self.keys.push((key, value)),
            }
        }
        true
    }
}

impl Tables {
    /// What was known of a context when the record at `place` was written.
    pub fn context(&self, run: Run, id: u64, place: Place) -> Option<&ContextEntry> {
        latest(self.contexts.get(&(run, id))?, place)
    }

    /// What a context and those that it adds to say of the record at `place`, but for the
    /// keys that are `hidden`.
    pub(crate) fn context_keys<'a>(
        &'a self,
        run: Run,
        id: u64,
        place: Place,
        hidden: impl Fn(&[u8]) -> bool,
    ) -> ContextKeys<'a> {
        let mut keys = ContextKeys::default();
        let mut line = Vec::new();
        let mut next = Some(id);
        while let Some(id) = next.filter(|id| line.len() < MAX_DEPTH && !line.contains(id)) {
            let Some(entry) = self.context(run, id, place) else {
                keys.lost = Some(id);
                break;
            };
            if !keys.add(&hidden, entry) {
                keys.lost = Some(id);
                break;
            }
            line.push(id);
            next = entry.parent;
        }
        keys
    }

    pub(super) fn knows_context(&self, logdef: &ContextLogdef<'_>, place: Place) -> bool {
        let (Some(run), Some(id)) = (logdef.run, logdef.id) else {
            return true;
        };
        let known = self.contexts.get(&(run, id));
        known.and_then(|known| before(known, place)) == Some(&ContextEntry::of(logdef))
    }

    pub(super) fn add_context(&mut self, logdef: &ContextLogdef<'_>, place: Place) {
        let (Some(run), Some(id)) = (logdef.run, logdef.id) else {
            return;
        };
        if self.knows_context(logdef, place) {
            return;
        }
        let entry = ContextEntry::of(logdef);
        let cost = size_of::<(Place, ContextEntry)>() + entry.objects.len();
        if self.try_reserve(cost + map_entry::<(Run, u64)>(2)) {
            let known = self.contexts.entry((run, id)).or_default();
            self.refused += u64::from(!insert(known, place, entry));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use logdef_wire::Record;

    const RUN: Run = Run(7);

    fn at(offset: u64) -> Place {
        Place { input: 0, offset }
    }

    /// Objects of a map from letters to small numbers.
    fn objects(pairs: &[(u8, u8)]) -> Vec<u8> {
        let pair = |(key, value): &(u8, u8)| [0xa1, *key, *value];
        pairs.iter().flat_map(pair).collect()
    }

    type Spelled<'s> = (u64, Option<u64>, &'s [(u8, u8)]);

    fn tables(contexts: &[Spelled<'_>]) -> Tables {
        let mut tables = Tables::new(1 << 20);
        for (offset, (id, parent, pairs)) in contexts.iter().enumerate() {
            let objects = objects(pairs);
            let logdef = ContextLogdef {
                run: Some(RUN),
                id: Some(*id),
                parent: *parent,
                keys: Map::from_objects(pairs.len() as u32, &objects).ok(),
                span: None,
            };
            tables.add(&Record::ContextLogdef(logdef), at(10 * offset as u64));
        }
        tables
    }

    fn found(tables: &Tables, id: u64, place: Place) -> (Vec<(u8, u64)>, Option<u64>) {
        let keys = tables.context_keys(RUN, id, place, |key| key == b"h");
        let pairs = keys
            .iter()
            .map(|(key, value)| (key[0], value.as_uint().unwrap()));
        (pairs.collect(), keys.lost())
    }

    #[test]
    fn a_key_hides_the_same_key_of_those_further_out() {
        let tables = tables(&[
            (1, None, &[(b'a', 1), (b'b', 1), (b'h', 1)]),
            (2, Some(1), &[(b'a', 2), (b'h', 2), (b'c', 2), (b'c', 3)]),
        ]);
        let pairs = vec![(b'a', 2), (b'c', 3), (b'b', 1)];
        assert_eq!(found(&tables, 2, at(99)), (pairs, None));
        assert_eq!(found(&tables, 3, at(99)), (vec![], Some(3)));
    }

    #[test]
    fn a_context_of_very_many_keys_shows_some_and_is_named() {
        let mut objects = Vec::new();
        for key in 0..5000_u16 {
            let [high, low] = key.to_be_bytes();
            objects.extend([0xa2, high, low, 1]);
        }
        let mut tables = Tables::new(1 << 20);
        let logdef = ContextLogdef {
            run: Some(RUN),
            id: Some(4),
            keys: Map::from_objects(5000, &objects).ok(),
            ..ContextLogdef::default()
        };
        tables.add(&Record::ContextLogdef(logdef), at(0));
        let keys = tables.context_keys(RUN, 4, at(9), |_| false);
        assert_eq!((keys.len(), keys.lost()), (MAX_KEYS, Some(4)));
    }

    #[test]
    fn the_latest_before_a_record_holds_for_it() {
        let tables = tables(&[(1, None, &[(b'a', 1)]), (1, None, &[(b'a', 1), (b'b', 2)])]);
        assert_eq!(found(&tables, 1, at(5)).0, [(b'a', 1)]);
        assert_eq!(found(&tables, 1, at(15)).0, [(b'a', 1), (b'b', 2)]);
    }

    #[test]
    fn a_lost_parent_is_named_and_a_circle_ends() {
        let tables = tables(&[
            (1, Some(9), &[(b'a', 1)]),
            (2, Some(3), &[(b'b', 2)]),
            (3, Some(2), &[(b'c', 3)]),
        ]);
        assert_eq!(found(&tables, 1, at(99)), (vec![(b'a', 1)], Some(9)));
        assert_eq!(
            found(&tables, 2, at(99)),
            (vec![(b'b', 2), (b'c', 3)], None)
        );
    }

    #[test]
    fn what_contexts_take_is_bounded() {
        let mut tables = Tables::new(10_000);
        for id in 0..1_000 {
            let logdef = ContextLogdef {
                run: Some(RUN),
                id: Some(id),
                ..ContextLogdef::default()
            };
            tables.add(&Record::ContextLogdef(logdef), at(id));
        }
        assert!(tables.refused() > 0 && tables.contexts.len() < 200);
    }
}
