//! A core dump: the memory of a process as it was at one moment, with the registers of its threads and
//! the files it had mapped, in an ELF file (core(5)). Only headers and notes are read at first, and of the
//! memory what is asked for: most of a core may be a hole. Nothing here knows of logs.

pub(crate) mod images;
pub(crate) mod notes;

use std::fmt;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use object::Endianness;
use object::elf::{self, FileHeader64, ProgramHeader64, SectionHeader64};
use object::pod;
use object::read::elf::{FileHeader as _, ProgramHeader as _, SectionHeader as _};

use crate::core_dump::notes::{MappedFile, Notes, Process, Thread};
use crate::stack::{Architecture, Memory};

/// Most segments of a core: a process has 65,530 mappings unless its machine was set up for more.
const SEGMENTS: u64 = 1 << 20;
/// Most bytes of notes: a thread has 3 to 12 KiB of them.
const NOTES: u64 = 128 << 20;

/// Where the bytes of a core dump are.
pub trait ReadAt {
    /// Reads some bytes from `offset` on, none only at the end.
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize>;
}

impl ReadAt for File {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        FileExt::read_at(self, buffer, offset)
    }
}

/// Why a file is not read as a core dump.
#[derive(Debug)]
#[non_exhaustive]
pub enum NotACore {
    /// It is not an ELF file, or its headers make no sense.
    NotElf(String),
    /// It is an ELF file of another kind: a program, a library.
    AnotherKind,
    /// It is of a machine whose registers are not known.
    Machine,
    /// It has no thread.
    NoThread,
    /// It could not be read.
    Io(io::Error),
}

impl fmt::Display for NotACore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NotACore::NotElf(why) => write!(f, "is not a core dump: {why}"),
            NotACore::AnotherKind => f.write_str("is a program or library, not a core dump"),
            NotACore::Machine => f.write_str("is not a core dump of x86_64 or aarch64"),
            NotACore::NoThread => f.write_str("is a core dump without a thread: it was cut short"),
            NotACore::Io(error) => write!(f, "cannot be read: {error}"),
        }
    }
}

impl std::error::Error for NotACore {}

impl From<io::Error> for NotACore {
    fn from(error: io::Error) -> Self {
        NotACore::Io(error)
    }
}

/// A stretch of memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Dumped {
    /// Its first address in the process.
    address: u64,
    /// Where its bytes are in the core.
    offset: u64,
    /// How many of them are there; the rest was not dumped.
    len: u64,
}

impl Dumped {
    /// Whether it has bytes, and no address or offset of it is past the last that can be.
    fn is_possible(&self) -> bool {
        let fits = |start: u64| start.checked_add(self.len).is_some();
        self.len > 0 && fits(self.address) && fits(self.offset)
    }
}

/// A core dump: the memory, threads and mapped files of a process when it was written.
pub struct CoreDump<R> {
    file: R,
    architecture: Architecture,
    /// By address.
    dumped: Vec<Dumped>,
    notes: Notes,
}

impl<R: ReadAt> CoreDump<R> {
    /// Reads the headers and notes of a core dump. One that was cut short in its memory will do.
    pub fn read(file: R) -> Result<CoreDump<R>, NotACore> {
        let bytes = exactly(&file, 0, size_of::<FileHeader64<Endianness>>())?;
        let not_elf = |()| NotACore::NotElf("it has no ELF header".into());
        let (header, _) = pod::from_bytes::<FileHeader64<Endianness>>(&bytes).map_err(not_elf)?;
        if !header.is_supported() || header.e_ident.magic != elf::ELFMAG {
            return Err(not_elf(()));
        }
        let endian = header.endian().map_err(|_| NotACore::Machine)?;
        if header.e_type(endian) != elf::ET_CORE {
            return Err(NotACore::AnotherKind);
        }
        let architecture = match header.e_machine(endian) {
            elf::EM_X86_64 => Architecture::X86_64,
            elf::EM_AARCH64 if header.is_little_endian() => Architecture::Aarch64,
            _ => return Err(NotACore::Machine),
        };
        let headers = program_headers(&file, header, endian)?;
        let notes = notes(&file, &headers, endian, architecture)?;
        if notes.threads.is_empty() {
            return Err(NotACore::NoThread);
        }
        let loads = headers
            .iter()
            .filter(|header| header.p_type(endian) == elf::PT_LOAD);
        let mut dumped: Vec<Dumped> = loads
            .map(|header| Dumped {
                address: header.p_vaddr(endian),
                offset: header.p_offset(endian),
                len: header.p_filesz(endian).min(header.p_memsz(endian)),
            })
            .filter(Dumped::is_possible)
            .collect();
        dumped.sort_by_key(|dumped| dumped.address);
        Ok(CoreDump {
            file,
            architecture,
            dumped,
            notes,
        })
    }

    /// What processor it ran on.
    pub fn architecture(&self) -> Architecture {
        self.architecture
    }

    /// Which process it was.
    pub fn process(&self) -> &Process {
        &self.notes.process
    }

    /// Its threads; the one that died first.
    pub fn threads(&self) -> &[Thread] {
        &self.notes.threads
    }

    /// The files that it had mapped, by address.
    pub fn mapped_files(&self) -> &[MappedFile] {
        &self.notes.mapped_files
    }

    /// How many of the bytes of the mapped file are in the core, and where in it.
    pub fn dumped(&self, mapped: &MappedFile) -> Option<(u64, u64)> {
        let found = self.containing(mapped.start)?;
        let into = mapped.start - found.address;
        let len = (found.len - into).min(mapped.end - mapped.start);
        Some((found.offset + into, len))
    }

    /// Where the bytes of the core are.
    pub fn file(&self) -> &R {
        &self.file
    }

    fn containing(&self, address: u64) -> Option<&Dumped> {
        let behind = self
            .dumped
            .partition_point(|dumped| dumped.address <= address);
        let dumped = &self.dumped[behind.checked_sub(1)?];
        (address - dumped.address < dumped.len).then_some(dumped)
    }
}

impl<R: ReadAt> Memory for CoreDump<R> {
    fn read(&self, address: u64, buffer: &mut [u8]) -> Option<()> {
        let dumped = self.containing(address)?;
        let into = address - dumped.address;
        if (dumped.len - into) < buffer.len() as u64 {
            return None;
        }
        let offset = dumped.offset.checked_add(into)?;
        fill(&self.file, offset, buffer)
            .ok()
            .filter(|got| *got == buffer.len())
            .map(|_| ())
    }
}

impl<R> fmt::Debug for CoreDump<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CoreDump")
            .field("process", &self.notes.process)
            .finish_non_exhaustive()
    }
}

fn program_headers<R: ReadAt>(
    file: &R,
    header: &FileHeader64<Endianness>,
    endian: Endianness,
) -> Result<Vec<ProgramHeader64<Endianness>>, NotACore> {
    let mut count = u64::from(header.e_phnum.get(endian));
    if count == u64::from(elf::PN_XNUM) {
        // Of more than fit into the header, the first section has the number.
        let bytes = exactly(
            file,
            header.e_shoff(endian),
            size_of::<SectionHeader64<Endianness>>(),
        )?;
        let section = pod::from_bytes::<SectionHeader64<Endianness>>(&bytes);
        count = section.map_or(0, |(section, _)| u64::from(section.sh_info(endian)));
    }
    if count > SEGMENTS {
        return Err(NotACore::NotElf(format!("it claims {count} segments")));
    }
    let len = count as usize * size_of::<ProgramHeader64<Endianness>>();
    let bytes = exactly(file, header.e_phoff(endian), len)?;
    let headers = pod::slice_from_bytes(&bytes, count as usize);
    let (headers, _) =
        headers.map_err(|()| NotACore::NotElf("its headers are not whole".into()))?;
    Ok(headers.to_vec())
}

fn notes<R: ReadAt>(
    file: &R,
    headers: &[ProgramHeader64<Endianness>],
    endian: Endianness,
    architecture: Architecture,
) -> Result<Notes, NotACore> {
    let mut notes = Notes::default();
    let mut rest = NOTES;
    let segments = headers
        .iter()
        .filter(|header| header.p_type(endian) == elf::PT_NOTE);
    for segment in segments {
        let len = segment.p_filesz(endian).min(rest);
        rest -= len;
        let bytes = up_to(file, segment.p_offset(endian), len)?;
        let Some(mut all) = images::notes_of(segment, endian, &bytes) else {
            continue;
        };
        while let Ok(Some(note)) = all.next() {
            notes.take(
                note.name(),
                note.n_type(endian).0,
                note.desc(),
                architecture,
            );
        }
    }
    notes.finish();
    Ok(notes)
}

/// Reads on until the buffer is full or the file ends.
fn fill(file: &impl ReadAt, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
    let mut got = 0;
    while got < buffer.len() {
        let Some(at) = offset.checked_add(got as u64) else {
            break;
        };
        match file.read_at(&mut buffer[got..], at) {
            Ok(0) => break,
            Ok(more) => got += more,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(got)
}

fn exactly(file: &impl ReadAt, offset: u64, len: usize) -> Result<Vec<u8>, NotACore> {
    let bytes = up_to(file, offset, len as u64)?;
    if bytes.len() < len {
        return Err(NotACore::NotElf("it is too short".into()));
    }
    Ok(bytes)
}

/// At most `len` bytes: memory is taken for those that are there, not for those that are claimed.
fn up_to(file: &impl ReadAt, offset: u64, len: u64) -> io::Result<Vec<u8>> {
    const STEP: u64 = 1 << 20;
    let mut bytes = Vec::new();
    while (bytes.len() as u64) < len {
        let start = bytes.len();
        let step = STEP.min(len - start as u64) as usize;
        bytes.resize(start + step, 0);
        let got = match offset.checked_add(start as u64) {
            Some(at) => fill(file, at, &mut bytes[start..])?,
            None => 0,
        };
        bytes.truncate(start + got);
        if got < step {
            break;
        }
    }
    Ok(bytes)
}
