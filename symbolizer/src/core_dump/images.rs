//! The images of a process that a core dump is of: found by the build IDs that stand in its memory, since
//! the first page of each image is dumped by default; placed by what was mapped of them.

use std::collections::HashMap;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;

use logdef_wire::Avma;
use object::Endianness;
use object::elf::{self, FileHeader64};
use object::read::elf::{FileHeader as _, NoteIterator, ProgramHeader as _};

use crate::core_dump::notes::{MappedFile, Thread};
use crate::core_dump::{CoreDump, ReadAt};
use crate::find::locator::Locator;
use crate::fingerprint::Fingerprint;
use crate::image::Image;
use crate::stack::{Memory, PlacedImage, StackAddress, walk};
use crate::text::maps::MappedCode;

/// Bytes at the front of an image that hold its program headers.
const HEAD: usize = 4096;
/// The longest notes of an image that are looked at.
const LONGEST: u64 = 64 << 10;
/// The longest image of the kernel that is read.
const VDSO: usize = 64 << 10;

/// Finds the images of one core dump, each once.
#[derive(Debug)]
pub struct CoreImages {
    locator: Locator,
    /// By path; `None` where none was found.
    found: HashMap<Vec<u8>, Option<Arc<Image>>>,
    vdso: Option<PlacedImage>,
    complaints: Vec<String>,
}

impl CoreImages {
    /// Looks where the locator does.
    pub fn new<R: ReadAt>(locator: Locator, core: &CoreDump<R>) -> CoreImages {
        let vdso = core.notes.vdso.and_then(|at| vdso(core, &locator, at));
        CoreImages {
            locator,
            found: HashMap::new(),
            vdso,
            complaints: Vec::new(),
        }
    }

    /// The image that has the code at an address.
    pub fn at<R: ReadAt>(&mut self, core: &CoreDump<R>, address: Avma) -> Option<PlacedImage> {
        let files = core.mapped_files();
        let behind = files.partition_point(|mapped| mapped.start <= address.0);
        let Some(mapped) = behind
            .checked_sub(1)
            .map(|index| &files[index])
            .filter(|it| address.0 < it.end)
        else {
            return self.vdso.clone().filter(|vdso| is_in(vdso, address));
        };
        let image = match self.found.get(&mapped.path) {
            Some(found) => found.clone()?,
            None => {
                let found = self.find(core, mapped);
                self.found.insert(mapped.path.clone(), found.clone());
                found?
            }
        };
        let load_bias = image.load_bias_mapped(&MappedCode {
            start: Avma(mapped.start),
            file_offset: mapped.file_offset,
            path: String::new(),
        })?;
        Some(PlacedImage { image, load_bias })
    }

    /// The stack of a thread, innermost first, at most `most` addresses of it; and whether it was deeper.
    pub fn stack<R: ReadAt>(
        &mut self,
        core: &CoreDump<R>,
        thread: &Thread,
        most: usize,
    ) -> (Vec<StackAddress>, bool) {
        let registers = thread.registers.clone();
        walk(registers, core, |address| self.at(core, address), most)
    }

    /// What went wrong, a line each: of images that were not found, and of those that were, with
    /// their debug files.
    pub fn complaints(&self) -> Vec<String> {
        let images = self.found.values().flatten();
        let of_images = images.flat_map(|image| image.complaints());
        self.complaints.iter().cloned().chain(of_images).collect()
    }

    fn find<R: ReadAt>(&mut self, core: &CoreDump<R>, mapped: &MappedFile) -> Option<Arc<Image>> {
        let path = mapped
            .path
            .strip_suffix(b" (deleted)")
            .unwrap_or(&mapped.path);
        let first = core
            .mapped_files()
            .iter()
            .find(|it| it.path == mapped.path)?;
        let wanted = Fingerprint {
            build_id: build_id(core, first.start),
            ..Fingerprint::default()
        };
        let found = match wanted.build_id {
            Some(_) => self.locator.image(path, &wanted),
            // Nothing can be compared: the file is taken for what its name says.
            None if self.locator.options().use_logged_paths => self
                .locator
                .open(Path::new(std::ffi::OsStr::from_bytes(path))),
            None => self.locator.image(path, &wanted),
        };
        match found {
            Ok(image) => Some(Arc::new(image)),
            Err(error) => {
                self.complaints.push(error.to_string());
                None
            }
        }
    }
}

fn is_in(placed: &PlacedImage, address: Avma) -> bool {
    let address = address.0.wrapping_sub(placed.load_bias);
    placed.image.is_code(logdef_wire::Svma(address))
}

/// The build ID of the image whose first page was mapped at an address.
fn build_id<R: ReadAt>(core: &CoreDump<R>, start: u64) -> Option<Vec<u8>> {
    let mut head = [0; HEAD];
    core.read(start, &mut head)?;
    let header = FileHeader64::<Endianness>::parse(&head[..]).ok()?;
    let endian = header.endian().ok()?;
    let headers = header.program_headers(endian, &head[..]).ok()?;
    let loads = headers
        .iter()
        .filter(|it| it.p_type(endian) == elf::PT_LOAD);
    let first = loads.map(|it| it.p_vaddr(endian)).min()?;
    let notes = headers
        .iter()
        .filter(|it| it.p_type(endian) == elf::PT_NOTE);
    notes.take(16).find_map(|segment| {
        let len = segment.p_memsz(endian).min(LONGEST) as usize;
        let mut bytes = vec![0; len];
        let at = start.checked_add(segment.p_vaddr(endian).checked_sub(first)?)?;
        core.read(at, &mut bytes)?;
        let mut all = notes_of(segment, endian, &bytes)?;
        while let Ok(Some(note)) = all.next() {
            let is_build_id = note.n_type(endian) == elf::NT_GNU_BUILD_ID;
            if is_build_id && note.name() == elf::ELF_NOTE_GNU {
                return Some(note.desc().to_vec());
            }
        }
        None
    })
}

/// The notes of a segment, whose bytes these are.
pub(super) fn notes_of<'a>(
    segment: &elf::ProgramHeader64<Endianness>,
    endian: Endianness,
    bytes: &'a [u8],
) -> Option<NoteIterator<'a, FileHeader64<Endianness>>> {
    NoteIterator::new(endian, segment.p_align(endian), bytes).ok()
}

/// The image of the kernel, which is in no file but in the memory of every process.
fn vdso<R: ReadAt>(core: &CoreDump<R>, locator: &Locator, at: Avma) -> Option<PlacedImage> {
    let dumped = core.containing(at.0)?;
    let mut bytes = vec![0; VDSO.min(dumped.len as usize)];
    core.read(at.0, &mut bytes)?;
    let image = locator.parse(Path::new("[vdso]"), bytes).ok()?;
    let load_bias = image.load_bias_from(at);
    Some(PlacedImage {
        image: Arc::new(image),
        load_bias,
    })
}
