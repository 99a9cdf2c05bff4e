//! The sections of one file, as they stay in memory. Decoders get a [`View`] that borrows them, all through the
//! [meter](crate::names::meter).

use std::borrow::Cow;
use std::ops::Range;

use gimli::{
    DwarfPackage, DwarfPackageSections, DwarfSections, RunTimeEndian, SectionId, UnitHeader,
};

use crate::image::elf::{Bytes, Elf};
use crate::limits::Limits;
use crate::names::meter::{Account, Allowance, Reader};

/// What one lookup sees of a file, and of the supplementary file that it may refer to.
pub(crate) type View<'a> = gimli::Dwarf<Reader<'a>>;

/// One section; without bytes if the file has none of that name.
pub(crate) struct Section {
    bytes: Option<Bytes>,
    endian: RunTimeEndian,
    account: Account,
}

impl Section {
    fn load(
        elf: &Elf,
        id: SectionId,
        name: Option<&'static str>,
        budget: &mut u64,
        allowance: &mut Allowance,
    ) -> Result<Section, String> {
        let bytes = match name {
            Some(name) => elf.section(name, budget)?,
            None => None,
        };
        let account = account(id);
        if let Some(bytes) = &bytes {
            allowance.grow(account, bytes.range.len());
        }
        Ok(Section {
            bytes,
            endian: elf.endian,
            account,
        })
    }

    /// All of it, if it is in memory.
    pub fn reader(&self) -> Reader<'_> {
        let bytes = self.bytes.as_ref().filter(|_| !self.is_in_file());
        self.reader_of(bytes.map_or(&[][..], Bytes::as_slice))
    }

    /// Some of its bytes.
    pub fn reader_of<'a>(&self, bytes: &'a [u8]) -> Reader<'a> {
        Reader::new(bytes, self.endian, self.account)
    }

    pub fn endian(&self) -> RunTimeEndian {
        self.endian
    }

    pub fn size(&self) -> usize {
        self.bytes.as_ref().map_or(0, |it| it.range.len())
    }

    /// Whether it was left in its file.
    pub fn is_in_file(&self) -> bool {
        let bytes = self.bytes.as_ref();
        bytes.is_some_and(|it| it.whole.leaves_out(&it.range))
    }

    /// Its bytes at `place`; no more than `most` of them if they are in the file still.
    pub fn bytes(&self, place: Range<usize>, most: usize) -> Option<Cow<'_, [u8]>> {
        let bytes = self.bytes.as_ref()?;
        if !self.is_in_file() {
            return bytes.as_slice().get(place).map(Cow::Borrowed);
        }
        let start = bytes.range.start + place.start;
        let read = bytes.whole.read_left_out(start, place.len().min(most));
        read.map(Cow::Owned)
    }
}

/// The sections that lookups need; the others (types of variables, macros, indexes) stay empty.
pub(crate) fn load(
    elf: &Elf,
    name: fn(SectionId) -> Option<&'static str>,
    allowance: &mut Allowance,
    limits: &Limits,
) -> Result<DwarfSections<Section>, String> {
    let mut budget = limits.unpacked_size;
    DwarfSections::load(|id| {
        let name = name(id).filter(|_| is_needed(id));
        Section::load(elf, id, name, &mut budget, allowance)
    })
}

/// A package of split units.
pub(crate) struct Package {
    sections: DwarfPackageSections<Section>,
    /// Stands for sections that a unit has no share of.
    empty: Section,
}

impl Package {
    pub fn load(elf: &Elf, allowance: &mut Allowance, limits: &Limits) -> Result<Package, String> {
        let mut budget = limits.unpacked_size;
        // All sections: a unit's share of each is cut out, needed or not.
        let sections = DwarfPackageSections::load(|id| {
            let section = Section::load(elf, id, id.dwo_name(), &mut budget, allowance);
            section.map_err(Unloadable)
        })
        .map_err(|Unloadable(why)| why)?;
        let empty = Section {
            bytes: None,
            endian: elf.endian,
            account: Account::Other,
        };
        Ok(Package { sections, empty })
    }

    pub fn view(&self) -> gimli::Result<DwarfPackage<Reader<'_>>> {
        self.sections.borrow(Section::reader, self.empty.reader())
    }
}

/// Why a package does not load. `gimli` asks for a type that its own errors convert to.
struct Unloadable(String);

impl From<gimli::Error> for Unloadable {
    fn from(error: gimli::Error) -> Unloadable {
        Unloadable(error.to_string())
    }
}

/// The unit whose header is at `offset`.
pub(crate) fn header_at<'a>(
    view: &View<'a>,
    offset: usize,
) -> gimli::Result<UnitHeader<Reader<'a>>> {
    view.unit_header(gimli::DebugInfoOffset(offset))
}

fn is_needed(id: SectionId) -> bool {
    !matches!(
        id,
        SectionId::DebugAranges
            | SectionId::DebugLoc
            | SectionId::DebugLocLists
            | SectionId::DebugMacinfo
            | SectionId::DebugMacro
            | SectionId::DebugNames
            | SectionId::DebugTypes
    )
}

fn account(id: SectionId) -> Account {
    match id {
        SectionId::DebugAbbrev => Account::Abbreviations,
        SectionId::DebugInfo => Account::Entries,
        SectionId::DebugLine => Account::Lines,
        SectionId::DebugRanges | SectionId::DebugRngLists => Account::Ranges,
        _ => Account::Other,
    }
}
