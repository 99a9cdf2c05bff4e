//! The strings that were made at run time, by the run and their number.

use crate::recover::tables::{StringId, Tables, map_entry, owned};
use logdef_wire::record::TextLogdef;
use logdef_wire::{Run, Svma};

/// What a log says of a call site that stands in no image.
#[derive(Clone, Debug, Default, Eq, Hash, PartialEq)]
#[non_exhaustive]
pub struct Origin {
    /// The module it belongs to.
    pub module: Option<Vec<u8>>,
    /// What its records are about, if that is not the module.
    pub target: Option<Vec<u8>>,
    /// The function it stands in.
    pub function: Option<Vec<u8>>,
}

impl Origin {
    fn of(logdef: &TextLogdef<'_>) -> Origin {
        Origin {
            module: owned(logdef.module),
            target: owned(logdef.target),
            function: owned(logdef.function),
        }
    }

    fn len(&self) -> usize {
        let names = [&self.module, &self.target, &self.function];
        names.into_iter().flatten().map(Vec::len).sum()
    }
}

/// The string of a number.
#[derive(Debug)]
pub(super) struct Numbered {
    string: StringId,
    origin: Origin,
}

/// What a logdef says of a string: its bytes, and its description.
fn described<'a>(logdef: &TextLogdef<'a>) -> Option<(&'a [u8], &'a [u8])> {
    let bytes = logdef.template.or(logdef.string)?;
    Some((bytes, logdef.description.unwrap_or_default()))
}

impl Tables {
    /// The string of a number in a run, and the call site with this format.
    #[inline]
    pub fn numbered(&self, run: Run, number: Svma) -> Option<(StringId, &Origin)> {
        let found = self.numbered.get(&(run, number))?;
        Some((found.string, &found.origin))
    }

    pub(super) fn knows_text(&self, logdef: &TextLogdef<'_>) -> bool {
        let (Some(run), Some(number), Some(string)) =
            (logdef.run, logdef.number, described(logdef))
        else {
            return true;
        };
        self.numbered(run, number).is_some_and(|(id, origin)| {
            (self.text(id), self.description(id).as_bytes()) == string
                && *origin == Origin::of(logdef)
        })
    }

    /// A number is given once in a run: of several texts for it, the first counts.
    pub(super) fn add_text_logdef(&mut self, logdef: &TextLogdef<'_>) {
        let (Some(run), Some(number), Some(string)) =
            (logdef.run, logdef.number, described(logdef))
        else {
            return;
        };
        if self.numbered.contains_key(&(run, number)) {
            return;
        }
        let origin = Origin::of(logdef);
        let cost = size_of::<Numbered>() + string.0.len() + string.1.len() + origin.len();
        if !self.try_reserve(cost + map_entry::<(Run, Svma)>(6)) {
            return;
        }
        let string = self.add_text(string);
        let numbered = Numbered { string, origin };
        self.numbered.insert((run, number), numbered);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recover::tables::Place;
    use logdef_wire::Record;

    fn text(run: u64, template: &'static [u8]) -> TextLogdef<'static> {
        TextLogdef {
            run: Some(Run(run)),
            number: Some(Svma::text(7)),
            template: Some(template),
            description: Some(b"b:n"),
            target: Some(b"db"),
            ..TextLogdef::default()
        }
    }

    #[test]
    fn a_number_is_one_string_in_its_run_and_none_in_others() {
        let place = Place {
            input: 0,
            offset: 0,
        };
        let mut tables = Tables::new(1 << 20);
        let first = Record::TextLogdef(text(1, b"{n}"));
        assert!(!tables.knows(&first, place));
        tables.add(&first, place);
        assert!(tables.knows(&first, place));
        let other = Record::TextLogdef(text(1, b"{n}!"));
        tables.add(&other, place);
        assert!(!tables.knows(&other, place));
        let (id, origin) = tables.numbered(Run(1), Svma::text(7)).unwrap();
        assert_eq!(tables.text(id), b"{n}");
        assert_eq!(tables.description(id).as_bytes(), b"b:n");
        assert_eq!(origin.target.as_deref(), Some(&b"db"[..]));
        assert!(tables.numbered(Run(2), Svma::text(7)).is_none());
    }

    #[test]
    fn texts_take_no_more_memory_than_tables_may() {
        let mut tables = Tables::new(1 << 10);
        for number in 0..1000 {
            let logdef = TextLogdef {
                number: Some(Svma::text(number)),
                ..text(1, b"some text")
            };
            tables.add_text_logdef(&logdef);
        }
        assert!(tables.refused() > 900 && tables.string_count() < 100);
    }
}
