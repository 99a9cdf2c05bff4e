//! The build ID of a file, from its first few pages or its table of sections: enough to decide
//! whether a file is worth reading, in a directory of thousands.

use std::path::Path;

use object::Endianness;
use object::elf::{ELF_NOTE_GNU, FileHeader32, FileHeader64, NT_GNU_BUILD_ID, SHT_NOTE};
use object::pod;
use object::read::elf::{FileHeader, NoteIterator, ProgramHeader, SectionHeader};

use crate::open::Regular;

/// Bytes to read of a file. Linkers put the notes after the program headers.
pub(crate) const HEAD: u64 = 16 << 10;

/// Notes to look at in a file.
const NOTES: usize = 64;

/// Sections of notes to look at in a file, and bytes of each. A build ID has 36 with its head.
const SECTIONS: usize = 32;
const SECTION: usize = 64 << 10;

/// The build ID of the file at `path`, if its first pages have it.
pub(crate) fn of_file(path: &Path) -> Option<Vec<u8>> {
    of_head(&Regular::open(path).ok()?.head(HEAD).ok()?)
}

/// The build ID in the notes of an ELF file whose first bytes these are.
pub(crate) fn of_head(head: &[u8]) -> Option<Vec<u8>> {
    match head.get(..5)? {
        b"\x7fELF\x01" => of_elf::<FileHeader32<Endianness>>(head),
        b"\x7fELF\x02" => of_elf::<FileHeader64<Endianness>>(head),
        _ => None,
    }
}

fn of_elf<H: FileHeader<Endian = Endianness>>(head: &[u8]) -> Option<Vec<u8>> {
    let header = H::parse(head).ok()?;
    let endian = header.endian().ok()?;
    let segments = header.program_headers(endian, head).ok()?;
    segments
        .iter()
        .filter_map(|segment| segment.notes(endian, head).ok()?)
        .flat_map(|notes| notes.map_while(Result::ok).take(NOTES))
        .take(NOTES)
        .find(|note| note.name() == ELF_NOTE_GNU && note.n_type(endian) == NT_GNU_BUILD_ID)
        .map(|note| note.desc().to_vec())
}

/// The build ID in the sections of notes of a file whose first bytes are `head`: where no program
/// header has it, or where these are far behind.
pub(crate) fn of_sections(file: &Regular, head: &[u8]) -> Option<Vec<u8>> {
    match head.get(..5)? {
        b"\x7fELF\x01" => in_sections::<FileHeader32<Endianness>>(file, head),
        b"\x7fELF\x02" => in_sections::<FileHeader64<Endianness>>(file, head),
        _ => None,
    }
}

fn in_sections<H: FileHeader<Endian = Endianness>>(file: &Regular, head: &[u8]) -> Option<Vec<u8>> {
    let header = H::parse(head).ok()?;
    let endian = header.endian().ok()?;
    let count = usize::from(header.e_shnum(endian));
    let table = file.at(
        header.e_shoff(endian).into(),
        count * size_of::<H::SectionHeader>(),
    )?;
    let (sections, _) = pod::slice_from_bytes::<H::SectionHeader>(&table, count).ok()?;
    let of_notes = sections.iter().filter(|it| it.sh_type(endian) == SHT_NOTE);
    of_notes.take(SECTIONS).find_map(|section| {
        let length = usize::try_from(section.sh_size(endian).into()).ok()?;
        let bytes = file.at(section.sh_offset(endian).into(), length.min(SECTION))?;
        let notes = NoteIterator::<H>::new(endian, section.sh_addralign(endian), &bytes).ok()?;
        let mut notes = notes.map_while(Result::ok).take(NOTES);
        let note = notes
            .find(|note| note.name() == ELF_NOTE_GNU && note.n_type(endian) == NT_GNU_BUILD_ID)?;
        Some(note.desc().to_vec())
    })
}
