//! Which parts of a debug file name code. The rest, half of a large one (where variables are,
//! macros, indexes), is neither read nor in memory.

use std::ops::Range;
use std::ptr;

use object::Endianness;
use object::elf::{FileHeader32, FileHeader64, SHF_COMPRESSED, SHT_NOBITS, SHT_NOTE};
use object::pod;
use object::read::elf::{FileHeader, SectionHeader};

use crate::find::build_ids::HEAD;
use crate::open::{Parts, Regular};

/// Sections that are read, those of split units without their `.dwo`.
const NEEDED: [&[u8]; 21] = [
    b".debug_abbrev",
    b".debug_addr",
    b".debug_cu_index",
    b".debug_info",
    b".debug_line",
    b".debug_line_str",
    b".debug_ranges",
    b".debug_rnglists",
    b".debug_str",
    b".debug_str_offsets",
    b".debug_sup",
    b".debug_tu_index",
    b".dynstr",
    b".dynsym",
    b".gnu_debugaltlink",
    b".gnu_debugdata",
    b".gnu_debuglink",
    b".shstrtab",
    b".strtab",
    b".symtab",
    b".symtab_shndx",
];

/// The section with the units, by far the largest; a name takes one of them.
const UNITS: &[u8] = b".debug_info\0";

/// From how many bytes on it is left in the file, and its units are read one by one.
const LARGE: u64 = 64 << 20;

/// Bytes that the table of sections or their names may have. Honest debug files have forty sections.
const TABLE: usize = 1 << 20;

/// The parts of the file in order, without overlaps. `None` if it has to be read whole: what is
/// no ELF file is refused by what parses it.
pub(crate) fn needed(file: &mut Regular) -> Option<Parts> {
    let head = file.head(HEAD).ok()?;
    match head.get(..5)? {
        b"\x7fELF\x01" => of_elf::<FileHeader32<Endianness>>(file, &head),
        b"\x7fELF\x02" => of_elf::<FileHeader64<Endianness>>(file, &head),
        _ => None,
    }
}

fn of_elf<H: FileHeader<Endian = Endianness>>(file: &Regular, head: &[u8]) -> Option<Parts> {
    let header = H::parse(head).ok()?;
    let endian = header.endian().ok()?;
    let count = usize::from(header.e_shnum(endian));
    let table = range(
        header.e_shoff(endian).into(),
        (count * size_of::<H::SectionHeader>()) as u64,
    );
    let bytes = at(file, &table)?;
    let (sections, _) = pod::slice_from_bytes::<H::SectionHeader>(&bytes, count).ok()?;
    let place = |section: &H::SectionHeader| {
        range(
            section.sh_offset(endian).into(),
            section.sh_size(endian).into(),
        )
    };
    let names = sections.get(usize::from(header.e_shstrndx(endian).0))?;
    let names = at(file, &place(names))?;
    let is_needed = |section: &&H::SectionHeader| {
        let kind = section.sh_type(endian);
        let name = names.get(section.sh_name(endian) as usize..);
        let name = name.and_then(|it| it.split(|byte| *byte == 0).next());
        let name = name.map(|it| it.strip_suffix(b".dwo").unwrap_or(it));
        // Compressed in the old way.
        let is_packed = |it: &[u8]| it.starts_with(b".zdebug_");
        kind == SHT_NOTE
            || kind != SHT_NOBITS && name.is_some_and(|it| NEEDED.contains(&it) || is_packed(it))
    };
    let is_later = |section: &&H::SectionHeader| {
        let name = names.get(section.sh_name(endian) as usize..);
        let size: u64 = section.sh_size(endian).into();
        let is_packed = section.sh_flags(endian).contains(SHF_COMPRESSED);
        size >= LARGE && !is_packed && name.is_some_and(|it| it.starts_with(UNITS))
    };
    let later = sections.iter().find(is_later);
    let is_now = |it: &&H::SectionHeader| later.is_none_or(|later| !ptr::eq(*it, later));
    let needed = sections.iter().filter(is_needed).filter(is_now);
    let mut needed: Vec<Range<u64>> = needed.map(place).collect();
    needed.extend([0..head.len() as u64, table]);
    Some(Parts {
        needed: merged(needed),
        later: later.map(place),
    })
}

fn range(start: u64, length: u64) -> Range<u64> {
    start..start.saturating_add(length)
}

fn at(file: &Regular, place: &Range<u64>) -> Option<Vec<u8>> {
    let length = usize::try_from(place.end - place.start).ok()?;
    file.at(place.start, Some(length).filter(|it| *it <= TABLE)?)
}

fn merged(mut parts: Vec<Range<u64>>) -> Vec<Range<u64>> {
    parts.sort_unstable_by_key(|it| it.start);
    let mut merged: Vec<Range<u64>> = Vec::new();
    for part in parts {
        match merged.last_mut() {
            Some(last) if part.start <= last.end => last.end = last.end.max(part.end),
            _ => merged.push(part),
        }
    }
    merged
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_that_overlap_are_read_once() {
        assert_eq!(merged(vec![8..9, 0..4, 2..3, 4..6]), [0..6, 8..9]);
    }
}
