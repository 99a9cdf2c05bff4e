//! One executable image: the strings in it and the names of its code.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use crate::address::{AddressKind, Svma};
use crate::dwarf::{Dwarf, Wanted};
use crate::elf::{Elf, Segment};
use crate::locator::Locator;
use crate::names::{Names, Symbolized};
use crate::symbols::{Symbols, Table};

/// An executable, a shared library or the debug file of one, in memory. Can be shared by threads.
pub struct Image {
    elf: Arc<Elf>,
    path: PathBuf,
    proof: Proof,
    locator: Locator,
    names: Mutex<Option<Names>>,
}

/// What is known about a file that was accepted for an image.
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
    pub(crate) fn new(elf: Elf, path: PathBuf, proof: Proof, locator: Locator) -> Image {
        Image {
            elf: Arc::new(elf),
            path,
            proof,
            locator,
            names: Mutex::new(None),
        }
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
        let bytes = self.elf.constants_from(address)?;
        let window = &bytes[..bytes.len().min(longest.saturating_add(1))];
        let end = window.iter().position(|&byte| byte == 0)?;
        Some(&window[..end])
    }

    /// The functions at `address`, and the lines they were in. Never fails: what cannot be found is
    /// absent from the answer. The first call looks for debug files and reads them.
    pub fn symbolize(&self, address: Svma, kind: AddressKind) -> Symbolized {
        // A decoder that panicked leaves the lock poisoned but the tables whole.
        let mut names = self.names.lock().unwrap_or_else(PoisonError::into_inner);
        let names = names.get_or_insert_with(|| self.load_names());
        let limits = &self.locator.options().limits;
        names.at(kind.probe(address), limits, &|wanted: Wanted<'_>| {
            self.locator
                .split_units(&self.path, wanted.comp_dir, wanted.path)
        })
    }

    fn load_names(&self) -> Names {
        let limits = &self.locator.options().limits;
        let dwarf = if self.elf.has_section(".debug_info") {
            Dwarf::load(&self.elf, None, None, limits).ok()
        } else {
            None
        };
        let mut symbols = Vec::new();
        for table in [Table::Full, Table::Dynamic] {
            let loaded = Symbols::load(&self.elf, table);
            if !loaded.is_empty() {
                symbols.push((self.elf.clone(), loaded));
            }
        }
        Names::new(dwarf, symbols)
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
