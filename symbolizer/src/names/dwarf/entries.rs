//! Going through the entries of a unit. Most are passed over, so steps are not paid for one by one but by bytes.

use gimli::{EndianSlice, EntriesRaw, Reader as _, RunTimeEndian, UnitOffset, UnitRef};

use crate::names::meter::Reader;

/// Entries from one on. Reading them costs nothing: who goes through them pays for it.
pub(crate) type Entries<'l, 'a> = EntriesRaw<'l, EndianSlice<'a, RunTimeEndian>>;

/// The entries of `unit` from the one at `first` on, and the bytes they have.
pub(crate) fn from<'l, 'a>(
    unit: UnitRef<'l, Reader<'a>>,
    first: UnitOffset,
) -> gimli::Result<(Entries<'l, 'a>, Reader<'a>)> {
    let bytes = unit.unit.header.range_from(first..)?;
    let slice = EndianSlice::new(bytes.bytes(), bytes.endian());
    let abbreviations = &unit.unit.abbreviations;
    let entries = EntriesRaw::new(slice, unit.unit.encoding(), abbreviations, first);
    Ok((entries, bytes))
}
