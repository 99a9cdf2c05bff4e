//! The strings of images, by the magic and the link-time address.

use crate::recover::tables::{Place, Tables, map_entry};
use logdef_wire::record::{Glance, StringLogdef};
use logdef_wire::{Description, Magic, Run, Svma};
use std::sync::Arc;

/// Runs remembered for each variant of a string that runs disagree on.
const RUNS: usize = 64;
/// Strings remembered for one address: more is a hostile file, and would make look-ups
/// slow.
const VARIANTS: usize = 16;

/// A string in a table: an index that stays.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct StringId(u32);

/// What a look-up of a string found.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum StringLookup {
    /// The string that the run, or else the only logdef, gives the address.
    Found(StringId),
    /// Several strings claim the address, and none is this run's.
    Conflict,
    /// No logdef has the address.
    Missing,
}

/// Two logdefs of one key that disagree.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Conflict {
    /// The logdef table that both are in.
    pub magic: Magic,
    /// The link-time address that both define.
    pub address: Svma,
    /// The string that came first.
    pub first: Arc<[u8]>,
    /// The string of a later logdef, which differs.
    pub second: Arc<[u8]>,
    /// Where the other stands.
    pub place: Place,
}

/// A string of a logdef.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Interned {
    bytes: Arc<[u8]>,
    /// Grammar and names, if it is a format that has any.
    description: Arc<[u8]>,
}

impl Interned {
    fn is(&self, (bytes, description): (&[u8], &[u8])) -> bool {
        *self.bytes == *bytes && *self.description == *description
    }
}

/// What a logdef says of a string: its bytes, and its description.
fn described<'a>(logdef: &StringLogdef<'a>) -> Option<(&'a [u8], &'a [u8])> {
    let bytes = logdef.template.or(logdef.string)?;
    Some((bytes, logdef.description.unwrap_or_default()))
}

/// One of the strings that logdefs give an address.
#[derive(Clone, Debug)]
pub(super) struct Variant {
    id: StringId,
    runs: Vec<Run>,
}

impl Tables {
    /// The string at an address of an image, as it is for a run.
    #[inline]
    pub fn string(&self, magic: Magic, address: Svma, run: Option<Run>) -> StringLookup {
        match self
            .strings
            .get(&(magic, address))
            .map(|variants| &variants[..])
        {
            None => StringLookup::Missing,
            Some([only]) => StringLookup::Found(only.id),
            Some(variants) => {
                // Runs that contradict themselves have no string here.
                let mut own = variants
                    .iter()
                    .filter(|variant| run.is_some_and(|run| variant.runs.contains(&run)));
                match (own.next(), own.next()) {
                    (Some(variant), None) => StringLookup::Found(variant.id),
                    _ => StringLookup::Conflict,
                }
            }
        }
    }

    /// The string that a record refers to by an address or a number, if the log says it.
    pub fn string_of(&self, front: &Glance, address: Svma) -> Option<StringId> {
        if address.text_number().is_some()
            && let Some((id, _)) = self.numbered(front.run?, address)
        {
            return Some(id);
        }
        match self.string(front.magic?, address, front.run) {
            StringLookup::Found(id) => Some(id),
            StringLookup::Missing | StringLookup::Conflict => None,
        }
    }

    /// The bytes of a string.
    #[inline]
    pub fn text(&self, id: StringId) -> &[u8] {
        &self.texts[id.0 as usize].bytes
    }

    /// The same, shared, with its grammar and names.
    pub(crate) fn shared_text(&self, id: StringId) -> (Arc<[u8]>, Arc<[u8]>) {
        let Interned { bytes, description } = &self.texts[id.0 as usize];
        (bytes.clone(), description.clone())
    }

    /// Grammar and names of a string that is a format.
    #[inline]
    pub fn description(&self, id: StringId) -> Description<'_> {
        Description::of(&self.texts[id.0 as usize].description)
    }

    /// How many strings there are: their ids are below.
    pub fn string_count(&self) -> usize {
        self.texts.len()
    }

    /// A string's place in its table, for tables that run along.
    pub fn index(id: StringId) -> usize {
        id.0 as usize
    }

    /// Logdefs that contradict an earlier one of the same key.
    pub fn conflicts(&self) -> &[Conflict] {
        &self.conflicts
    }

    /// Takes in a string that no logdef gave, and returns it.
    pub(crate) fn add_text(&mut self, (bytes, description): (&[u8], &[u8])) -> StringId {
        let id = StringId(self.texts.len() as u32);
        self.texts.push(Interned {
            bytes: bytes.into(),
            description: description.into(),
        });
        id
    }

    pub(super) fn knows_string(&self, logdef: &StringLogdef<'_>) -> bool {
        let (Some(magic), Some(address), Some(string)) =
            (logdef.magic, logdef.address, described(logdef))
        else {
            return true;
        };
        let variants = self.strings.get(&(magic, address));
        variants.is_some_and(|variants| match &variants[..] {
            [only] => self.texts[Tables::index(only.id)].is(string),
            _ => false,
        })
    }

    pub(super) fn add_string(&mut self, logdef: &StringLogdef<'_>, place: Place) {
        let (Some(magic), Some(address), Some(string)) =
            (logdef.magic, logdef.address, described(logdef))
        else {
            return;
        };
        let variants = self.strings.get_mut(&(magic, address));
        let same = variants.and_then(|variants| {
            let texts = &self.texts;
            let same = |variant: &&mut Variant| texts[variant.id.0 as usize].is(string);
            variants.iter_mut().find(same)
        });
        if let Some(variant) = same {
            if let Some(run) = logdef.run
                && variant.runs.last() != Some(&run)
                && variant.runs.len() < RUNS
                && !variant.runs.contains(&run)
            {
                variant.runs.push(run);
            }
            return;
        }
        let variants = self.strings.get(&(magic, address));
        if variants.is_some_and(|variants| variants.len() >= VARIANTS) {
            self.refused += 1;
            return;
        }
        let cost =
            size_of::<Variant>() + 2 * size_of::<Interned>() + string.0.len() + string.1.len();
        if !self.try_reserve(cost + map_entry::<(Magic, Svma)>(4)) {
            return;
        }
        let id = self.add_text(string);
        let variants = self.strings.entry((magic, address)).or_default();
        if let Some(first) = variants.first() {
            self.conflicts.push(Conflict {
                magic,
                address,
                first: self.texts[first.id.0 as usize].bytes.clone(),
                second: self.texts[id.0 as usize].bytes.clone(),
                place,
            });
        }
        variants.reserve_exact(1);
        variants.push(Variant {
            id,
            runs: logdef.run.into_iter().collect(),
        });
    }
}
