//! Abbreviation tables, before a decoder relies on them: checked, so that no table makes the bytes
//! of the entries dear, and without the line tables of partial units. What the entries say is not
//! looked at here.

use std::collections::BTreeSet;

use gimli::{
    AbbreviationsCacheStrategy, DW_AT_stmt_list, DW_FORM_implicit_const, DW_TAG_partial_unit,
    DebugAbbrev, Dwarf, EndianSlice, LittleEndian, Reader as _, Section,
};

use crate::image::elf::Bytes;
use crate::names::meter::{Account, Reader, explain};

/// The most attributes that an entry may have. Some attributes take no byte in an entry: a million
/// of them in an abbreviation would make each byte of `.debug_info` cost a million steps, and no
/// reader would notice.
const ATTRIBUTES: usize = 256;

/// An attribute that DWARF has reserved and no decoder knows.
const RESERVED: u8 = 0x04;

/// Checks the tables that units refer to, and decodes once those that several units share. `dwz`
/// makes thousands of small partial units with one large abbreviation table.
///
/// It also gives each of them the line table of a whole program, which is never looked up in: a
/// partial unit has names and types, the code is in the units that import it. A decoder would read
/// the list of files for each of them, thousands of times over, so the attribute is made one that
/// decoders skip.
pub(crate) fn prepare(dwarf: &mut Dwarf<Reader>) -> Result<(), String> {
    let mut offsets = BTreeSet::new();
    let mut units = dwarf.units();
    while let Some(unit) = units.next().map_err(explain)? {
        offsets.insert(unit.debug_abbrev_offset().0);
    }
    let section = dwarf.debug_abbrev.reader();
    let line_tables = vet(section.bytes(), &offsets)?;
    if !line_tables.is_empty() {
        let mut bytes = section.bytes().to_vec();
        for at in line_tables {
            bytes[at] = RESERVED;
        }
        let bytes = Bytes::from(bytes);
        let reader = Reader::new(Some(&bytes), section.endian(), Account::Abbreviations);
        dwarf.debug_abbrev = DebugAbbrev::from(reader);
    }
    dwarf.populate_abbreviations_cache(AbbreviationsCacheStrategy::Duplicates);
    Ok(())
}

/// Fails if tables overlap, or an entry has attributes without end. Returns where partial units
/// are given line tables.
fn vet(section: &[u8], offsets: &BTreeSet<usize>) -> Result<Vec<usize>, String> {
    let mut line_tables = Vec::new();
    let mut end_of_last = 0;
    for &offset in offsets {
        if offset < end_of_last {
            return Err(format!(
                "abbreviation table at {offset:#x} begins inside another"
            ));
        }
        let mut table = Table {
            rest: EndianSlice::new(section.get(offset..).unwrap_or(&[]), LittleEndian),
            section: section.len(),
        };
        // A table that ends with its section needs no terminator.
        while !table.rest.is_empty() && table.rest.read_uleb128().map_err(explain)? != 0 {
            let attributes = table.entry(&mut line_tables).map_err(explain)?;
            if attributes > ATTRIBUTES {
                return Err(format!(
                    "abbreviation table at {offset:#x} has an entry of {attributes} attributes"
                ));
            }
        }
        end_of_last = table.position();
    }
    Ok(line_tables)
}

/// An abbreviation table (DWARF 5, section 7.5.3).
struct Table<'a> {
    rest: EndianSlice<'a, LittleEndian>,
    /// Bytes in the section, to whose end `rest` goes.
    section: usize,
}

impl Table<'_> {
    /// How far into the section the rest begins.
    fn position(&self) -> usize {
        self.section - self.rest.len()
    }

    /// Reads what follows an entry's code, and returns how many attributes it has.
    fn entry(&mut self, line_tables: &mut Vec<usize>) -> gimli::Result<usize> {
        let tag = self.rest.read_uleb128()?;
        let _children = self.rest.read_u8()?;
        let mut attributes = 0;
        loop {
            let at = self.position();
            let name = self.rest.read_uleb128()?;
            let is_one_byte = self.position() == at + 1;
            let form = self.rest.read_uleb128()?;
            if form == u64::from(DW_FORM_implicit_const.0) {
                self.rest.read_sleb128()?;
            }
            if (name, form) == (0, 0) {
                return Ok(attributes);
            }
            attributes += 1;
            let is_line_table = name == u64::from(DW_AT_stmt_list.0);
            if tag == u64::from(DW_TAG_partial_unit.0) && is_line_table && is_one_byte {
                line_tables.push(at);
            }
        }
    }
}
