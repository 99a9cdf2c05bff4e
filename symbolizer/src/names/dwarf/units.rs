//! The units of one file: where each begins, and which has the code at an address. What was read of a unit is
//! kept with it.

use std::cell::OnceCell;
use std::sync::Arc;

use gimli::{
    Abbreviations, AbbreviationsCache, AbbreviationsCacheStrategy, DwarfSections, UnitHeader,
    UnitOffset, UnitType,
};

use crate::names::abbreviations;
use crate::names::dwarf::functions::Functions;
use crate::names::dwarf::lines::Lines;
use crate::names::dwarf::root::Root;
use crate::names::dwarf::sections::{Section, View, header_at};
use crate::names::dwarf::split::Split;
use crate::names::meter::{Reader, explain};

/// A file with debug information.
pub(crate) struct File {
    pub sections: DwarfSections<Section>,
    /// Those that several units share: `dwz` makes thousands of small ones with one large table.
    tables: AbbreviationsCache,
    /// In order of their place in the section.
    units: Box<[Unit]>,
    /// In order of their end.
    spans: Box<[Span]>,
}

/// One unit, and what was read of it.
pub(crate) struct Unit {
    /// Of its header, in the section.
    offset: usize,
    abbreviations: OnceCell<Arc<Abbreviations>>,
    pub lines: OnceCell<gimli::Result<Option<Lines>>>,
    pub functions: OnceCell<gimli::Result<Functions>>,
    /// Its other part; `None` if that was not found.
    pub split: OnceCell<Option<Split>>,
}

/// A stretch of a unit's code.
struct Span {
    begin: u64,
    end: u64,
    unit: usize,
    /// The first address of this one and all after it.
    least: u64,
}

impl File {
    /// Finds the units. What they say of their code is asked only in a file that is `searched` by address.
    pub fn load(sections: DwarfSections<Section>, searched: bool) -> Result<File, String> {
        let view = sections.borrow(Section::reader);
        abbreviations::vet(&view)?;
        let mut tables = AbbreviationsCache::new();
        let duplicates = AbbreviationsCacheStrategy::Duplicates;
        tables.populate(duplicates, &view.debug_abbrev, view.units());
        let (mut units, mut spans) = (Vec::new(), Vec::new());
        let mut headers = view.units();
        while let Some(header) = headers.next().map_err(explain)? {
            let unit = Unit::new(header.offset().0);
            // Types have no code, and partial units are there to be referred to.
            let has_code = !matches!(
                header.type_(),
                UnitType::Type { .. } | UnitType::SplitType { .. } | UnitType::Partial
            );
            if searched && has_code {
                let number = units.len();
                note_code(&view, &tables, &unit, header, |range| {
                    spans.push(Span::new(range, number));
                })
                .map_err(explain)?;
            }
            units.push(unit);
        }
        drop(view);
        Ok(File {
            sections,
            tables,
            units: units.into(),
            spans: sorted(spans),
        })
    }

    pub fn view(&self) -> View<'_> {
        self.sections.borrow(Section::reader)
    }

    /// The units that say they have code at `probe`, up to `most` of them.
    pub fn around(&self, probe: u64, most: usize) -> Vec<&Unit> {
        let after = self.spans.partition_point(|it| it.end <= probe);
        let reach = self.spans[after..].iter();
        let reach = reach.take_while(|it| it.least <= probe);
        let around = reach.filter(|it| it.begin <= probe);
        around.map(|it| &self.units[it.unit]).take(most).collect()
    }

    /// The unit that the byte at `offset` of the section is in, opened, and where in it that is.
    pub fn holding<'a>(
        &self,
        offset: usize,
        view: &View<'a>,
    ) -> gimli::Result<(Root<'a>, UnitOffset)> {
        let after = self.units.partition_point(|it| it.offset < offset);
        let absent = gimli::Error::NoEntryAtGivenOffset(offset as u64);
        let unit = after.checked_sub(1).ok_or(absent)?;
        let unit = &self.units[unit];
        Ok((self.open(unit, view)?, UnitOffset(offset - unit.offset)))
    }

    pub fn open<'a>(&self, unit: &Unit, view: &View<'a>) -> gimli::Result<Root<'a>> {
        let header = header_at(view, unit.offset)?;
        let abbreviations = match unit.abbreviations.get() {
            Some(known) => known.clone(),
            None => {
                let read = table(&self.tables, view, &header)?;
                unit.abbreviations.get_or_init(|| read).clone()
            }
        };
        Root::read(view, header, abbreviations)
    }
}

impl Unit {
    fn new(offset: usize) -> Unit {
        Unit {
            offset,
            abbreviations: OnceCell::new(),
            lines: OnceCell::new(),
            functions: OnceCell::new(),
            split: OnceCell::new(),
        }
    }
}

impl Span {
    fn new(gimli::Range { begin, end }: gimli::Range, unit: usize) -> Span {
        Span {
            begin,
            end,
            unit,
            least: begin,
        }
    }
}

fn table(
    tables: &AbbreviationsCache,
    view: &View<'_>,
    header: &UnitHeader<Reader<'_>>,
) -> gimli::Result<Arc<Abbreviations>> {
    tables.get(&view.debug_abbrev, header.debug_abbrev_offset())
}

/// Gives the addresses of a unit's code to `found`: as its first entry has them, else as its line table does.
/// A unit that cannot be read has none.
fn note_code<'a>(
    view: &View<'a>,
    tables: &AbbreviationsCache,
    unit: &Unit,
    header: UnitHeader<Reader<'a>>,
    mut found: impl FnMut(gimli::Range),
) -> gimli::Result<()> {
    let abbreviations = table(tables, view, &header);
    let root = abbreviations.and_then(|it| Root::read(view, header, it));
    let Ok(root) = root else {
        return Ok(());
    };
    let mut is_known = false;
    root.code.ranges(root.unit_ref(view), |range| {
        is_known = true;
        found(range);
    })?;
    if !is_known {
        let lines = unit.lines.get_or_init(|| Lines::read(view, &root));
        if let Ok(Some(lines)) = lines {
            lines.ranges(view, found)?;
        }
    }
    Ok(())
}

fn sorted(mut spans: Vec<Span>) -> Box<[Span]> {
    spans.sort_unstable_by_key(|it| (it.end, it.unit));
    let mut least = u64::MAX;
    for span in spans.iter_mut().rev() {
        least = least.min(span.begin);
        span.least = least;
    }
    spans.into()
}
