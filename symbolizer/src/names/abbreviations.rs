//! Abbreviation tables, before a decoder relies on them: checked, so that no table makes the bytes
//! of the entries dear. What the entries say is not looked at here.

use std::collections::BTreeSet;

use gimli::{DW_FORM_implicit_const, EndianSlice, LittleEndian, Reader as _, Section};

use crate::names::dwarf::sections::View;
use crate::names::meter::explain;

/// The most attributes that an entry may have. Some attributes take no byte in an entry: a million
/// of them in an abbreviation would make each byte of `.debug_info` cost a million steps, and no
/// reader would notice.
const ATTRIBUTES: usize = 256;

/// Fails if the tables at `offsets`, which units refer to, overlap, or an entry has attributes without end.
pub(crate) fn vet(view: &View<'_>, offsets: &BTreeSet<usize>) -> Result<(), String> {
    let section = view.debug_abbrev.reader().bytes();
    let mut end_of_last = 0;
    for &offset in offsets {
        if offset < end_of_last {
            return Err(format!(
                "abbreviation table at {offset:#x} begins inside another"
            ));
        }
        let mut rest = EndianSlice::new(section.get(offset..).unwrap_or(&[]), LittleEndian);
        // A table that ends with its section needs no terminator.
        while !rest.is_empty() && rest.read_uleb128().map_err(explain)? != 0 {
            let attributes = entry(&mut rest).map_err(explain)?;
            if attributes > ATTRIBUTES {
                return Err(format!(
                    "abbreviation table at {offset:#x} has an entry of {attributes} attributes"
                ));
            }
        }
        end_of_last = section.len() - rest.len();
    }
    Ok(())
}

/// Reads what follows an entry's code (DWARF 5, section 7.5.3), and returns how many attributes it has.
fn entry(rest: &mut EndianSlice<'_, LittleEndian>) -> gimli::Result<usize> {
    let _tag = rest.read_uleb128()?;
    let _children = rest.read_u8()?;
    let mut attributes = 0;
    loop {
        let name = rest.read_uleb128()?;
        let form = rest.read_uleb128()?;
        if form == u64::from(DW_FORM_implicit_const.0) {
            rest.read_sleb128()?;
        }
        if (name, form) == (0, 0) {
            return Ok(attributes);
        }
        attributes += 1;
    }
}
