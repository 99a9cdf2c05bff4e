//! DWARF: from a code address to functions, files and lines, innermost first. `gimli` knows the format; here a
//! [file](units::File) is indexed by its units, and of a unit only what an address asks for is read. What
//! is kept are offsets and addresses. All bytes are read through the [meter](crate::names::meter). Which
//! files those are is decided elsewhere.

mod code;
mod entries;
mod files;
mod functions;
mod info;
mod inlined;
mod line_program;
mod lines;
mod lookup;
mod origin;
mod root;
pub(crate) mod sections;
mod split;
mod units;

use std::sync::Arc;

use gimli::SectionId;

use crate::image::contain::contained;
use crate::image::elf::Elf;
use crate::limits::Limits;
use crate::names::dwarf::lines::Location;
use crate::names::dwarf::lookup::Lookup;
use crate::names::dwarf::sections::{Package, View};
use crate::names::dwarf::units::File;
use crate::names::meter::{Allowance, explain, metered};

/// The debug information of one image.
pub(crate) struct Dwarf {
    main: File,
    supplement: Option<File>,
    package: Option<Package>,
    allowance: Allowance,
    limits: Limits,
}

/// One function around an address, as DWARF has it.
#[derive(Debug)]
pub(crate) struct RawFrame {
    /// The linkage name if there is one, else the plain name.
    pub name: Option<Vec<u8>>,
    pub file: Option<Arc<str>>,
    pub line: Option<u32>,
    pub column: Option<u32>,
}

impl RawFrame {
    fn at(location: Location, name: Option<&[u8]>) -> RawFrame {
        let Location { file, line, column } = location;
        RawFrame {
            name: name.map(|it| it[..it.len().min(LONGEST_NAME)].to_vec()),
            file,
            line,
            column,
        }
    }
}

/// What went wrong, each thing once, the first few.
#[derive(Clone, Debug, Default)]
pub(crate) struct Complaints(pub Vec<String>);

impl Complaints {
    pub fn add(&mut self, complaint: String) {
        const MOST: usize = 64;
        if self.0.len() < MOST && !self.0.contains(&complaint) {
            self.0.push(complaint);
        }
    }

    /// What was read; the reason if it could not be.
    fn noted<T>(&mut self, read: gimli::Result<T>) -> Option<T> {
        read.map_err(|error| self.add(explain(error))).ok()
    }
}

/// What a skeleton unit says about the file that holds the rest of it.
pub(crate) struct Wanted<'a> {
    pub comp_dir: &'a [u8],
    pub path: &'a [u8],
}

/// Reads the files that may be the `.dwo` file wanted. Whether one is will be seen by its ID.
pub(crate) type FindDwo<'a> = &'a dyn Fn(Wanted<'_>) -> Box<dyn Iterator<Item = Elf> + 'a>;

/// Names beyond this are cut. The longest C++ names known have some ten thousand bytes.
const LONGEST_NAME: usize = 64 << 10;

/// Most units to ask for one address. More than one or two cover it only if units overlap.
const UNITS: usize = 32;

impl Dwarf {
    /// The debug information in `main`, whose units may refer to `supplementary` and may be
    /// completed from `package`.
    pub fn load(
        main: &Elf,
        supplementary: Option<&Elf>,
        package: Option<&Elf>,
        limits: &Limits,
    ) -> Result<Dwarf, String> {
        let mut allowance = Allowance::default();
        let name = |id: SectionId| Some(id.name());
        let main = sections::load(main, name, &mut allowance, limits)?;
        let supplement = supplementary
            .map(|elf| sections::load(elf, name, &mut allowance, limits))
            .transpose()?;
        let (main, supplement) = contained(|| {
            metered(&mut allowance, u64::MAX, || {
                let supplement = supplement.map(|it| File::load(it, false)).transpose()?;
                Ok((File::load(main, true)?, supplement))
            })
        })
        .unwrap_or_else(|| Err(PANICKED.to_owned()))?;
        // A package that cannot be read is as good as none: its units will be missed by name.
        let package = package.and_then(|it| Package::load(it, &mut allowance, limits).ok());
        Ok(Dwarf {
            main,
            supplement,
            package,
            allowance,
            limits: *limits,
        })
    }

    /// The functions around `probe`, innermost first; empty if there is no debug information for
    /// it.
    pub fn frames(
        &mut self,
        probe: u64,
        find_dwo: FindDwo<'_>,
        complaints: &mut Complaints,
    ) -> Vec<RawFrame> {
        let mut allowance = std::mem::take(&mut self.allowance);
        allowance.grow_for_an_address();
        let found = contained(|| self.lookup(probe, &mut allowance, find_dwo, complaints));
        self.allowance = allowance;
        found.unwrap_or_else(|| {
            complaints.add(PANICKED.to_owned());
            Vec::new()
        })
    }

    fn lookup(
        &self,
        probe: u64,
        allowance: &mut Allowance,
        find_dwo: FindDwo<'_>,
        complaints: &mut Complaints,
    ) -> Vec<RawFrame> {
        for unit in self.main.around(probe, UNITS) {
            let lookup = Lookup { dwarf: self, unit };
            lookup.complete(allowance, find_dwo, complaints);
            let frames = metered(allowance, self.limits.steps_per_address, || {
                lookup.frames(probe, complaints)
            });
            if !frames.is_empty() {
                return frames;
            }
        }
        Vec::new()
    }

    /// What a lookup sees of the file and its supplement.
    fn view(&self) -> View<'_> {
        let mut view = self.main.view();
        if let Some(supplement) = &self.supplement {
            view.set_sup(supplement.view());
        }
        view
    }
}

const PANICKED: &str = "the debug information made the decoder panic";
