//! One ELF file in memory: its loaded segments, its build ID, its sections unpacked within limits.
//! `object` does the parsing; what is bounded here is how often and how much. Knows nothing of
//! where files are found or what DWARF means.

use std::ops::Range;
use std::sync::Arc;

use gimli::{EndianSlice, Reader as _};
use logdef_wire::Svma;
use object::elf::{self, FileHeader32, FileHeader64, Machine};
use object::read::elf::{ElfFile, FileHeader, ProgramHeader, SectionHeader};
use object::{CompressionFormat, Endianness, Object, ObjectSection, ObjectSegment, SectionFlags};

use crate::error::Refusal;
use crate::fingerprint::{Digest, Fingerprint};
use crate::open::{FileBytes, clip};

/// A part of an image that the loader maps: one `PT_LOAD` program header.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Segment {
    /// Where it begins in the image's address space.
    pub address: Svma,
    /// Bytes it takes in memory; what the file does not supply is zero.
    pub memory_size: u64,
    /// Where its bytes are in the file, clipped to the file.
    pub file: Range<usize>,
    /// Whether the program may write to it.
    pub writable: bool,
    /// Whether it holds code.
    pub executable: bool,
}

impl Segment {
    /// Where `address` lies in the segment, in bytes from its start.
    pub(crate) fn offset_of(&self, address: Svma) -> Option<u64> {
        address
            .0
            .checked_sub(self.address.0)
            .filter(|&offset| offset < self.memory_size)
    }
}

/// The bytes of an ELF file together with what most questions need of its headers.
pub(crate) struct Elf {
    bytes: FileBytes,
    pub segments: Vec<Segment>,
    pub build_id: Option<Vec<u8>>,
    pub endian: gimli::RunTimeEndian,
    pub is_64: bool,
    pub machine: Machine,
    /// The loader may choose where the image goes: its load bias need not be zero.
    pub is_movable: bool,
    /// The file holds debug information only: what it says of segments is true of another file.
    pub only_debug: bool,
}

/// A stretch of shared bytes: part of a file, or an unpacked section.
#[derive(Clone)]
pub(crate) struct Bytes {
    pub whole: FileBytes,
    pub range: Range<usize>,
}

impl Elf {
    pub fn parse(bytes: FileBytes) -> Result<Elf, Refusal> {
        let file =
            object::File::parse(&**bytes).map_err(|error| Refusal::NotElf(error.to_string()))?;
        let segments = file
            .segments()
            .map(|segment| {
                let (offset, size) = segment.file_range();
                let start = clip(offset, bytes.len());
                let end = clip(offset.saturating_add(size), bytes.len());
                let permissions = segment.permissions();
                Segment {
                    address: Svma(segment.address()),
                    memory_size: segment.size(),
                    file: start..end,
                    writable: permissions.writable(),
                    executable: permissions.executable(),
                }
            })
            .collect();
        let build_id = match &file {
            object::File::Elf32(file) => build_id::<FileHeader32<Endianness>>(file),
            object::File::Elf64(file) => build_id::<FileHeader64<Endianness>>(file),
            _ => None,
        };
        let endian = match file.endianness() {
            Endianness::Little => gimli::RunTimeEndian::Little,
            Endianness::Big => gimli::RunTimeEndian::Big,
        };
        let is_64 = file.is_64();
        let (kind, machine) = match &file {
            object::File::Elf32(file) => kind_and_machine(file),
            object::File::Elf64(file) => kind_and_machine(file),
            _ => (elf::ET_NONE, elf::EM_NONE),
        };
        let only_debug = file.sections().any(|section| {
            let SectionFlags::Elf { sh_type, sh_flags } = section.flags() else {
                return false;
            };
            sh_type == elf::SHT_NOBITS && sh_flags.contains(elf::SHF_EXECINSTR)
        });
        drop(file);
        Ok(Elf {
            bytes,
            segments,
            build_id,
            endian,
            is_64,
            machine,
            is_movable: kind != elf::ET_EXEC,
            only_debug,
        })
    }

    /// Fails unless the build ID is the one wanted.
    pub fn check_build_id(&self, wanted: &[u8]) -> Result<(), Refusal> {
        if self.build_id.as_deref() == Some(wanted) {
            Ok(())
        } else {
            Err(Refusal::BuildId {
                found: self.build_id.clone(),
                wanted: wanted.to_vec(),
            })
        }
    }

    /// The file as `object` sees it. Cheap: tables are located, not read.
    pub fn object(&self) -> object::Result<object::File<'_>> {
        object::File::parse(&**self.bytes)
    }

    /// The bytes from `address` to the end of its segment in the file, if that segment is one the
    /// program cannot write to.
    pub fn constants_from(&self, address: Svma) -> Option<&[u8]> {
        self.bytes_from(address, |segment| !segment.writable)
    }

    /// The address-sized number that the file holds at `address`, in any segment.
    pub fn word_at(&self, address: Svma) -> Option<u64> {
        let bytes = self.bytes_from(address, |_| true)?;
        let size = if self.is_64 { 8 } else { 4 };
        EndianSlice::new(bytes, self.endian).read_address(size).ok()
    }

    /// The string at `address`, without its NUL, if it is at most `longest` bytes and stands where
    /// the program cannot write.
    pub fn string_at(&self, address: Svma, longest: usize) -> Option<&[u8]> {
        let bytes = self.constants_from(address)?;
        let window = &bytes[..bytes.len().min(longest.saturating_add(1))];
        let end = window.iter().position(|&byte| byte == 0)?;
        Some(&window[..end])
    }

    /// The number of four bytes that the file holds at `address`, in any segment.
    pub fn u32_at(&self, address: Svma) -> Option<u32> {
        EndianSlice::new(self.bytes_at(address, 4)?, self.endian)
            .read_u32()
            .ok()
    }

    /// The bytes that the file holds from `address` on, `size` of them, in any segment.
    pub fn bytes_at(&self, address: Svma, size: usize) -> Option<&[u8]> {
        self.bytes_from(address, |_| true)?.get(..size)
    }

    /// Up to `most` bytes of code that end at `address`, and where they begin.
    pub fn code_before(&self, address: Svma, most: usize) -> Option<(Svma, &[u8])> {
        let before = Svma(address.0.checked_sub(1)?);
        let holds = |it: &&Segment| it.executable && it.offset_of(before).is_some();
        let segment = self.segments.iter().find(holds)?;
        let end = usize::try_from(segment.offset_of(before)?)
            .ok()?
            .checked_add(1)?;
        let code = self.bytes.get(segment.file.clone())?.get(..end)?;
        let code = &code[end.saturating_sub(most)..];
        Some((Svma(address.0 - code.len() as u64), code))
    }

    fn bytes_from(&self, address: Svma, accept: impl Fn(&Segment) -> bool) -> Option<&[u8]> {
        let (segment, offset) = self
            .segments
            .iter()
            .find_map(|segment| Some((segment, segment.offset_of(address)?)))?;
        if self.only_debug || !accept(segment) {
            return None;
        }
        let in_file = self.bytes.get(segment.file.clone())?;
        in_file.get(usize::try_from(offset).ok()?..)
    }

    /// Size, digest and build ID, by which the file is recognized.
    pub fn fingerprint(&self) -> Fingerprint {
        Fingerprint {
            size: Some(self.bytes.len() as u64),
            digest: Some(Digest::sha1(&self.bytes)),
            build_id: self.build_id.clone(),
        }
    }

    /// Bytes of the whole file.
    pub fn size(&self) -> usize {
        self.bytes.len()
    }

    /// The contents of section `name`, unpacked if need be. `budget` is what the compressed
    /// sections of this file may still unpack to. No such section, or none with bytes in this
    /// file: `None`.
    pub fn section(&self, name: &str, budget: &mut u64) -> Result<Option<Bytes>, String> {
        let file = self.object().map_err(|error| error.to_string())?;
        let Some(section) = file.section_by_name(name) else {
            return Ok(None);
        };
        let place = section
            .compressed_file_range()
            .map_err(|error| format!("{name}: {error}"))?;
        if place.compressed_size == 0 {
            return Ok(None);
        }
        let packed = place
            .data(&**self.bytes)
            .map_err(|error| format!("{name}: {error}"))?;
        if packed.format == CompressionFormat::None {
            let start = clip(place.offset, self.bytes.len());
            return Ok(Some(Bytes {
                whole: self.bytes.clone(),
                range: start..start + packed.data.len(),
            }));
        }
        let claimed = packed.uncompressed_size;
        // Deflate cannot do better than 1032:1, so a larger claim is a lie; it would cost its
        // memory before it is found out.
        let possible = (packed.data.len() as u64).saturating_mul(1032);
        if packed.format == CompressionFormat::Zlib && claimed > possible {
            return Err(format!("{name}: claims to unpack to {claimed} bytes"));
        }
        if claimed > *budget {
            return Err(format!("{name}: unpacks to {claimed} bytes, too many"));
        }
        *budget -= claimed;
        let unpacked = packed
            .decompress()
            .map_err(|error| format!("{name}: {error}"))?;
        Ok(Some(Bytes::from(unpacked.into_owned())))
    }

    /// Where section `name` is once the image is loaded, and its size in bytes.
    pub fn loaded_section(&self, name: &str) -> Option<(Svma, u64)> {
        let file = self.object().ok()?;
        let section = file.section_by_name(name)?;
        let SectionFlags::Elf { sh_flags, .. } = section.flags() else {
            return None;
        };
        let is_loaded = sh_flags.contains(elf::SHF_ALLOC);
        is_loaded.then(|| (Svma(section.address()), section.size()))
    }

    /// Whether section `name` exists and has bytes in this file.
    pub fn has_section(&self, name: &str) -> bool {
        self.object().is_ok_and(|file| {
            file.section_by_name(name).is_some_and(|section| {
                section
                    .compressed_file_range()
                    .is_ok_and(|place| place.compressed_size != 0)
            })
        })
    }
}

impl From<Vec<u8>> for Bytes {
    fn from(bytes: Vec<u8>) -> Bytes {
        let range = 0..bytes.len();
        let whole = Arc::new(bytes.into());
        Bytes { whole, range }
    }
}

impl Bytes {
    pub fn as_slice(&self) -> &[u8] {
        &self.whole[self.range.clone()]
    }
}

fn kind_and_machine<H: FileHeader<Endian = Endianness>>(
    file: &ElfFile<'_, H>,
) -> (elf::FileType, Machine) {
    let (header, endian) = (file.elf_header(), file.endian());
    (header.e_type(endian), header.e_machine(endian))
}

/// The GNU build ID, from the notes that are loaded with the program or else from the sections.
/// Honest files have a handful of notes; looking no further than that keeps a file of nothing but
/// overlapping notes from costing quadratic time.
fn build_id<H: FileHeader<Endian = Endianness>>(file: &ElfFile<'_, H>) -> Option<Vec<u8>> {
    const TABLES: usize = 32;
    const NOTES: usize = 64;
    let (endian, data) = (file.endian(), file.data());
    let in_segments = file
        .elf_program_headers()
        .iter()
        .filter_map(|header| header.notes(endian, data).ok()?);
    let in_sections = file
        .elf_section_table()
        .iter()
        .filter_map(|header| header.notes(endian, data).ok()?);
    in_segments
        .take(TABLES)
        .chain(in_sections.take(TABLES))
        .flat_map(|notes| notes.map_while(Result::ok).take(NOTES))
        .find(|note| {
            note.name() == elf::ELF_NOTE_GNU && note.n_type(endian) == elf::NT_GNU_BUILD_ID
        })
        .map(|note| note.desc().to_vec())
        .filter(|id| !id.is_empty() && id.len() <= 64)
}
