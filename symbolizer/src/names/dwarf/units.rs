//! The units of one file: where each begins, and which has the code at an address. What was read of a unit is
//! kept with it.

use std::borrow::Cow;
use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use gimli::{
    Abbreviations, AbbreviationsCache, DebugAbbrevOffset, DwarfSections, UnitHeader, UnitOffset,
    UnitType,
};

use crate::names::abbreviations;
use crate::names::dwarf::functions::Functions;
use crate::names::dwarf::info;
use crate::names::dwarf::lines::Lines;
use crate::names::dwarf::root::Root;
use crate::names::dwarf::sections::{Section, View};
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
    /// In the section.
    place: Range<usize>,
    has_code: bool,
    /// If it was read from its file.
    bytes: OnceCell<Vec<u8>>,
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
        let section = info::section(&sections);
        let (mut units, mut tables) = (Vec::new(), BTreeMap::new());
        info::units(section, |place, header| {
            *tables.entry(header.debug_abbrev_offset().0).or_insert(0) += 1;
            units.push(Unit::new(place, header));
        })
        .map_err(explain)?;
        let view = sections.borrow(Section::reader);
        abbreviations::vet(&view, &tables.keys().copied().collect())?;
        let tables = shared(&view, &tables);
        let mut spans = Vec::new();
        for (number, unit) in units.iter().enumerate() {
            if searched && unit.has_code {
                note_code(&view, &tables, unit, section, |range| {
                    spans.push(Span::new(range, number));
                })
                .map_err(explain)?;
            }
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
        &'a self,
        offset: usize,
        view: &View<'a>,
    ) -> gimli::Result<(Root<'a>, UnitOffset)> {
        let after = self.units.partition_point(|it| it.place.start < offset);
        let absent = gimli::Error::NoEntryAtGivenOffset(offset as u64);
        let unit = after.checked_sub(1).ok_or(absent)?;
        let unit = &self.units[unit];
        Ok((
            self.open(unit, view)?,
            UnitOffset(offset - unit.place.start),
        ))
    }

    pub fn open<'a>(&'a self, unit: &'a Unit, view: &View<'a>) -> gimli::Result<Root<'a>> {
        let header = self.header(unit)?;
        let abbreviations = match unit.abbreviations.get() {
            Some(known) => known.clone(),
            None => {
                let read = table(&self.tables, view, &header)?;
                unit.abbreviations.get_or_init(|| read).clone()
            }
        };
        Root::read(view, header, abbreviations)
    }

    fn header<'a>(&'a self, unit: &'a Unit) -> gimli::Result<UnitHeader<Reader<'a>>> {
        let section = info::section(&self.sections);
        let read = || section.bytes(unit.place.clone(), usize::MAX);
        let bytes = match unit.bytes.get() {
            Some(bytes) => Cow::Borrowed(&bytes[..]),
            None => read().ok_or(gimli::Error::Io)?,
        };
        match bytes {
            Cow::Borrowed(bytes) => info::header(bytes, section),
            Cow::Owned(bytes) => info::header(unit.bytes.get_or_init(|| bytes), section),
        }
    }
}

impl Unit {
    fn new(place: Range<usize>, header: &UnitHeader<Reader<'_>>) -> Unit {
        // Types have no code, and partial units are there to be referred to.
        let has_code = !matches!(
            header.type_(),
            UnitType::Type { .. } | UnitType::SplitType { .. } | UnitType::Partial
        );
        Unit {
            place,
            has_code,
            bytes: OnceCell::new(),
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

/// The tables that several units refer to. `tables` has how many refer to each.
fn shared(view: &View<'_>, tables: &BTreeMap<usize, usize>) -> AbbreviationsCache {
    let mut shared = AbbreviationsCache::new();
    for (&offset, _) in tables.iter().filter(|(_, units)| **units > 1) {
        let offset = DebugAbbrevOffset(offset);
        if let Ok(table) = view.debug_abbrev.abbreviations(offset) {
            shared.set::<Reader<'_>>(offset, Arc::new(table));
        }
    }
    shared
}

/// Gives the addresses of a unit's code to `found`: as its first entry has them, else as its line table does.
/// A unit that cannot be read has none.
fn note_code(
    view: &View<'_>,
    tables: &AbbreviationsCache,
    unit: &Unit,
    section: &Section,
    mut found: impl FnMut(gimli::Range),
) -> gimli::Result<()> {
    let ranges = info::read_unit(section, &unit.place, |header| {
        let abbreviations = table(tables, view, &header)?;
        let root = Root::read(view, header, abbreviations)?;
        let mut ranges = Vec::new();
        root.code
            .ranges(root.unit_ref(view), |it| ranges.push(it))?;
        if ranges.is_empty() {
            let lines = unit.lines.get_or_init(|| Lines::read(view, &root));
            if let Ok(Some(lines)) = lines {
                lines.ranges(view, |it| ranges.push(it))?;
            }
        }
        Ok(ranges)
    });
    ranges.unwrap_or_default().into_iter().for_each(&mut found);
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
