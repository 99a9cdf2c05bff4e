//! The build ID of a file, from its first few pages: enough to decide whether a file is
//! worth reading, in a directory of thousands.

use std::path::Path;

use object::Endianness;
use object::elf::{ELF_NOTE_GNU, FileHeader32, FileHeader64, NT_GNU_BUILD_ID};
use object::read::elf::{FileHeader, ProgramHeader};

use crate::open::Regular;

/// Bytes to read of a file. Linkers put the notes behind the program headers.
pub(crate) const HEAD: u64 = 16 << 10;

/// Notes to look at in a file.
const NOTES: usize = 64;

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
