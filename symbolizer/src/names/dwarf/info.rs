//! The section with the units: in memory, or in its file still if it is large. Then the units are read one by one,
//! when something in them is asked for.

use std::borrow::Cow;
use std::ops::Range;

use gimli::{DebugInfo, DebugInfoOffset, DwarfSections, Endianity, Reader as _, UnitHeader};

use crate::names::dwarf::sections::Section;
use crate::names::meter::Reader;

/// How much of a unit in a file is read to see its header and its first entry.
const HEAD: usize = 1024;

/// The section itself. `gimli` lends it for nothing else than to read it.
pub(crate) fn section(sections: &DwarfSections<Section>) -> &Section {
    let mut section = None;
    sections.debug_info.borrow(|it| section.insert(it).reader());
    section.expect("it was lent")
}

/// Gives the place of each unit, with its header, to `found`.
pub(crate) fn units(
    section: &Section,
    mut found: impl FnMut(Range<usize>, &UnitHeader<Reader<'_>>),
) -> gimli::Result<()> {
    let mut start = 0;
    while start < section.size() {
        let head = section.bytes(start..section.size(), HEAD);
        let head = head.ok_or(gimli::Error::Io)?;
        let mut rest = section.reader_of(&head);
        let (length, format) = rest.read_initial_length()?;
        let end = start + usize::from(format.initial_length_size());
        let end = end.checked_add(length).filter(|it| *it <= section.size());
        let end = end.ok_or_else(|| gimli::Error::UnexpectedEof(rest.offset_id()))?;
        let head = shortened(head, end - start, section);
        found(start..end, &header(&head, section)?);
        start = end;
    }
    Ok(())
}

/// Reads of the unit at `place` as much as `read` needs.
pub(crate) fn read_unit<T>(
    section: &Section,
    place: &Range<usize>,
    read: impl Fn(UnitHeader<Reader<'_>>) -> gimli::Result<T>,
) -> gimli::Result<T> {
    let with = |most: usize| {
        let bytes = section.bytes(place.clone(), most);
        let bytes = shortened(bytes.ok_or(gimli::Error::Io)?, place.len(), section);
        read(header(&bytes, section)?)
    };
    match with(HEAD) {
        Err(gimli::Error::UnexpectedEof(_)) if section.is_in_file() => with(usize::MAX),
        other => other,
    }
}

/// The header of the unit that these bytes are.
pub(crate) fn header<'a>(
    unit: &'a [u8],
    section: &Section,
) -> gimli::Result<UnitHeader<Reader<'a>>> {
    DebugInfo::from(section.reader_of(unit)).header_from_offset(DebugInfoOffset(0))
}

/// The first bytes of a unit of `size` bytes, with a length in its header that is theirs: decoders refuse a unit
/// that is longer than the data.
fn shortened<'a>(mut head: Cow<'a, [u8]>, size: usize, section: &Section) -> Cow<'a, [u8]> {
    if head.len() >= size {
        return head;
    }
    let endian = section.endian();
    let bytes = head.to_mut();
    if bytes.starts_with(&[0xff; 4]) {
        let length = bytes.len() - 12;
        endian.write_u64(&mut bytes[4..12], length as u64);
    } else {
        let length = bytes.len() - 4;
        endian.write_u32(&mut bytes[..4], length as u32);
    }
    head
}
