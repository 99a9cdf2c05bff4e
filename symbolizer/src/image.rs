//! One executable image: its call sites, the strings in it, and the names of its code.

pub(crate) mod call_site;
pub(crate) mod contain;
pub(crate) mod debug_files;
pub(crate) mod elf;
pub(crate) mod mini_debug_info;
pub(crate) mod placement;
pub(crate) mod pointers;

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use logdef_wire::{Avma, Svma};

use crate::error::Shown;
use crate::fingerprint::Fingerprint;
use crate::image::call_site::{CallSite, CallSites};
use crate::image::debug_files::DebugFiles;
use crate::image::elf::{Elf, Segment};
use crate::image::pointers::Pointers;
use crate::names::address::AddressKind;
use crate::names::demangle::demangle;
use crate::names::dwarf::{Complaints, Dwarf, Wanted};
use crate::names::{Names, Symbolized};
use crate::text::maps::MappedCode;
use placement::LogCall;

/// What loaders map files by.
const PAGE: u64 = 4096;

/// An executable, a shared library or the debug file of one, in memory. Can be shared by threads.
pub struct Image {
    elf: Arc<Elf>,
    path: PathBuf,
    proof: Proof,
    debug_files: Arc<dyn DebugFiles>,
    names: Mutex<Option<Names>>,
    pointers: OnceLock<Pointers>,
    call_sites: OnceLock<CallSites>,
}

/// How well a file that was accepted for an image was verified.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Proof {
    /// It is the file that logged, byte for byte.
    Digest,
    /// It comes from the same link: addresses are the same, but it may have been stripped or
    /// patched since. Strings are very likely the same.
    BuildId,
    /// The user named it; nothing was compared.
    Named,
}

impl Image {
    pub(crate) fn new(
        elf: Elf,
        path: PathBuf,
        proof: Proof,
        debug_files: Arc<dyn DebugFiles>,
    ) -> Image {
        Image {
            elf: Arc::new(elf),
            path,
            proof,
            debug_files,
            names: Mutex::new(None),
            pointers: OnceLock::new(),
            call_sites: OnceLock::new(),
        }
    }

    pub(crate) fn elf(&self) -> &Elf {
        &self.elf
    }

    /// The file that was read.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// How sure it is that this is the image that logged.
    pub fn proof(&self) -> Proof {
        self.proof
    }

    /// The GNU build ID.
    pub fn build_id(&self) -> Option<&[u8]> {
        self.elf.build_id.as_deref()
    }

    /// What the loader maps.
    pub fn segments(&self) -> &[Segment] {
        &self.elf.segments
    }

    /// The string at `address`, without its NUL. `None` if `address` is not in the part of the file
    /// that is loaded where the program cannot write, or if there is no NUL within `longest` bytes
    /// of it and the segment's end.
    pub fn string_at(&self, address: Svma, longest: usize) -> Option<&[u8]> {
        self.elf.string_at(address, longest)
    }

    /// The log calls in the image, also those that were never reached. Empty if there are none, and
    /// for a debug file, from which they were taken out.
    pub fn call_sites(&self) -> &CallSites {
        self.call_sites
            .get_or_init(|| CallSites::read(&self.elf, self.pointers()))
    }

    /// Runtime address minus link-time address of the image in one process, worked out from records
    /// that the process logged from it and whose backtraces are known. Zero if the image cannot be
    /// moved. `None` if the calls do not agree, and on machines other than x86_64 and aarch64.
    pub fn load_bias_of(&self, calls: &[LogCall]) -> Option<u64> {
        placement::load_bias(&self.elf, self.call_sites(), calls)
    }

    /// Size, digest and build ID of the file.
    pub fn fingerprint(&self) -> Fingerprint {
        self.elf.fingerprint()
    }

    /// The function that a call site is in: as its record has it, else by the name that the symbol
    /// table has for the record. The latter is Rust's way, and lost by `strip`.
    pub fn function_of(&self, site: &CallSite) -> Option<String> {
        if let Some(function) = &site.function {
            return Some(String::from_utf8_lossy(function).into_owned());
        }
        let (name, _) = self.variable_at(site.address)?;
        let function = name.strip_suffix("::SITE")?;
        Some(function.to_owned())
    }

    /// Whether the file holds debug information only, without code and strings.
    pub fn is_debug_file(&self) -> bool {
        self.elf.only_debug
    }

    /// Where the pointer stored at `address` points once the image is loaded, as an SVMA. For tables
    /// of pointers to strings: [`string_at`](Image::string_at) then has the string. `None` for null,
    /// for pointers into other images and where the file has no bytes.
    pub fn pointer_at(&self, address: Svma) -> Option<Svma> {
        self.pointers().at(&self.elf, address)
    }

    fn pointers(&self) -> &Pointers {
        self.pointers.get_or_init(|| Pointers::load(&self.elf))
    }

    /// The functions at `address`, and the lines they were in. Never fails: what cannot be found is
    /// absent from the answer. The first call looks for debug files and reads them.
    pub fn symbolize(&self, address: Svma, kind: AddressKind) -> Symbolized {
        self.with_names(|names| {
            names.at(kind.probe(address), &|wanted: Wanted<'_>| {
                let (comp_dir, path) = (wanted.comp_dir, wanted.path);
                let paths = self.debug_files.split_units(&self.path, comp_dir, path);
                let files = paths.into_iter();
                Box::new(files.filter_map(|path| self.debug_files.read(&path).ok()))
            })
        })
    }

    /// The name of the variable at `address`, demangled, and how far into it the address is.
    pub fn variable_at(&self, address: Svma) -> Option<(String, u64)> {
        let found = self.with_names(|names| names.variable_at(address))?;
        let name = String::from_utf8_lossy(&found.name).into_owned();
        Some((demangle(&name).into_owned(), address.0 - found.address.0))
    }

    /// Where a function begins, by the name that linkers know it by.
    pub fn symbol(&self, name: &str) -> Option<Svma> {
        self.with_names(|names| names.address_of(name))
    }

    /// Whether the loader may choose where the image goes. If not, its load bias is zero.
    pub fn is_movable(&self) -> bool {
        self.elf.is_movable
    }

    /// The load bias if the image's first page was mapped at `start`, as debuggers and `/proc/PID/maps`
    /// have it.
    pub fn load_bias_from(&self, start: Avma) -> u64 {
        let first = self
            .elf
            .segments
            .iter()
            .map(|segment| segment.address.0)
            .min();
        start.0.wrapping_sub(first.unwrap_or(0) & !(PAGE - 1))
    }

    /// The load bias if this was mapped of the image. `None` if no code stands there in the file.
    pub fn load_bias_mapped(&self, mapped: &MappedCode) -> Option<u64> {
        let segment = self.elf.segments.iter().find(|segment| {
            let first = segment.file.start as u64 & !(PAGE - 1);
            segment.executable && (first..segment.file.end as u64).contains(&mapped.file_offset)
        })?;
        let into = mapped.file_offset.wrapping_sub(segment.file.start as u64);
        let svma = segment.address.0.wrapping_add(into);
        Some(mapped.start.0.wrapping_sub(svma))
    }

    /// Whether `address` is in a segment of code.
    pub fn is_code(&self, address: Svma) -> bool {
        let mut segments = self.elf.segments.iter();
        segments.any(|segment| segment.executable && segment.offset_of(address).is_some())
    }

    fn with_names<T>(&self, ask: impl FnOnce(&mut Names) -> T) -> T {
        // A decoder that panicked leaves the lock poisoned but the tables whole.
        let mut names = self.names.lock().unwrap_or_else(PoisonError::into_inner);
        ask(names.get_or_insert_with(|| self.load_names()))
    }

    /// What went wrong with the debug files of this image, a line each: files of the right name
    /// that do not match, debug information that cannot be read. Empty before the first call of
    /// [`symbolize`](Image::symbolize).
    pub fn complaints(&self) -> Vec<String> {
        let names = self.names.lock().unwrap_or_else(PoisonError::into_inner);
        let complaints = names.iter().flat_map(|names| &names.complaints.0);
        let path = Shown(&self.path);
        complaints.map(|what| format!("{path}: {what}")).collect()
    }

    fn load_names(&self) -> Names {
        let limits = self.debug_files.limits();
        let files = self.debug_files.find(&self.elf, &self.path);
        let mut complaints = Complaints::default();
        for (path, refusal) in &files.refused {
            complaints.add(format!("{} {refusal}", Shown(path)));
        }
        for path in &files.missing {
            complaints.add(format!("its debug file {} was not found", Shown(path)));
        }
        let mut dwarf = None;
        if files.main.has_section(".debug_info") {
            let (supplementary, package) = (files.supplementary.as_ref(), files.package.as_ref());
            match Dwarf::load(&files.main, supplementary, package, limits) {
                Ok(loaded) => dwarf = Some(loaded),
                Err(why) => complaints.add(why),
            }
        }
        let mut symbol_files = vec![files.main];
        if !Arc::ptr_eq(&symbol_files[0], &self.elf) {
            symbol_files.push(self.elf.clone());
        }
        symbol_files.extend(mini_debug_info::unpack(&self.elf, limits).map(Arc::new));
        Names::new(dwarf, symbol_files, complaints)
    }
}

impl fmt::Debug for Image {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Image")
            .field("path", &self.path)
            .field("proof", &self.proof)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn images_and_locators_can_be_shared_by_threads() {
        fn assert_shareable<T: Send + Sync>() {}
        assert_shareable::<Image>();
        assert_shareable::<crate::Locator>();
        assert_shareable::<Symbolized>();
    }
}
