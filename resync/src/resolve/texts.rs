//! Texts of records, at hand and compiled: those of the tables, those that records bring
//! along, and those read from images.

use crate::recover::tables::{Provenance, StringId, Tables};
use crate::render::CompiledFormat;
use crate::resolve::REMEMBERED;
use crate::resolve::resolved::Text;
use logdef_wire::{Description, Magic, Svma};
use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

/// Bytes that texts take as they are at hand, compiled. When there are more, all are forgotten.
const TEXTS: usize = 24 << 20;
/// A longer text that a record brings along is not remembered.
const LONG: usize = 1 << 20;

/// A text, compiled when it is first used as a format.
#[derive(Debug)]
pub(super) struct Known {
    bytes: Arc<[u8]>,
    description: Arc<[u8]>,
    provenance: Provenance,
    compiled: OnceLock<Option<CompiledFormat>>,
}

impl Known {
    pub(super) fn new(
        bytes: Arc<[u8]>,
        description: Arc<[u8]>,
        provenance: Provenance,
    ) -> Arc<Known> {
        Arc::new(Known {
            bytes,
            description,
            provenance,
            compiled: OnceLock::new(),
        })
    }

    /// Bytes that it takes, roughly, once it is compiled.
    fn memory(&self) -> usize {
        let is_directive = |byte: &&u8| matches!(byte, b'%' | b'{');
        let directives = self.bytes.iter().filter(is_directive).count();
        512 + 2 * self.bytes.len() + CompiledFormat::DIRECTIVE * directives
    }

    /// None for a template in a grammar that is not known here.
    pub(super) fn compiled(&self) -> Option<&CompiledFormat> {
        let compile = || CompiledFormat::described(&self.bytes, self.description());
        self.compiled.get_or_init(compile).as_ref()
    }

    pub(super) fn description(&self) -> Description<'_> {
        Description::of_format(&self.description, &self.bytes)
    }

    pub(super) fn text(&self) -> Text<'_> {
        Text {
            bytes: (self.provenance != Provenance::Missing).then_some(&*self.bytes),
            provenance: self.provenance,
        }
    }
}

/// The texts that are at hand.
#[derive(Debug, Default)]
pub(super) struct Texts {
    /// Those of the tables, by their index.
    logged: Vec<Option<Arc<Known>>>,
    /// Those in images; `None` where there is no string.
    rebuilt: HashMap<(Magic, Svma), Option<Arc<Known>>>,
    /// Those that records brought along.
    given: HashMap<Arc<[u8]>, Arc<Known>>,
    /// Bytes that these take, roughly.
    taken: usize,
}

impl Texts {
    pub(super) fn of(tables: &Tables) -> Texts {
        Texts {
            logged: vec![None; tables.string_count()],
            ..Texts::default()
        }
    }

    /// A string of the tables.
    pub(super) fn logged(&mut self, tables: &Tables, id: StringId) -> Arc<Known> {
        if let Some(known) = &self.logged[Tables::index(id)] {
            return known.clone();
        }
        let (bytes, description) = tables.shared_text(id);
        let known = Known::new(bytes, description, Provenance::Logged);
        self.make_room_for(&known);
        self.logged[Tables::index(id)] = Some(known.clone());
        known
    }

    /// A text that a record brings along.
    pub(super) fn given(&mut self, given: &[u8]) -> Arc<Known> {
        if let Some(known) = self.given.get(given) {
            return known.clone();
        }
        let bytes: Arc<[u8]> = given.into();
        let known = Known::new(bytes.clone(), Arc::default(), Provenance::Logged);
        if given.len() <= LONG {
            self.make_room_for(&known);
            self.given.insert(bytes, known.clone());
        }
        known
    }

    /// A string in an image, which `read` reads with its description.
    pub(super) fn rebuilt(
        &mut self,
        key: (Magic, Svma),
        read: impl FnOnce() -> Option<(Vec<u8>, Vec<u8>)>,
    ) -> Option<Arc<Known>> {
        if let Some(found) = self.rebuilt.get(&key) {
            return found.clone();
        }
        if self.rebuilt.len() >= REMEMBERED {
            self.rebuilt.clear();
        }
        let known = read().map(|(string, description)| {
            Known::new(string.into(), description.into(), Provenance::Rebuilt)
        });
        if let Some(known) = &known {
            self.make_room_for(known);
        }
        self.rebuilt.insert(key, known.clone());
        known
    }

    /// Forgets all texts if another would be too much.
    fn make_room_for(&mut self, known: &Known) {
        let memory = known.memory();
        if self.taken + memory > TEXTS {
            self.logged.fill(None);
            self.given.clear();
            self.rebuilt.clear();
            self.taken = 0;
        }
        self.taken += memory;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_that_records_bring_along_are_forgotten_when_they_are_many() {
        let (mut texts, mut most) = (Texts::default(), 0);
        for number in 0..1000 {
            let text = format!("{number:60000}");
            let known = texts.given(text.as_bytes());
            assert_eq!(known.text().bytes, Some(text.as_bytes()));
            let held: usize = texts.given.keys().map(|text| text.len()).sum();
            most = most.max(held);
        }
        assert!(most <= TEXTS, "{most}");
    }
}
