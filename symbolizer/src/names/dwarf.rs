//! DWARF: from a code address to functions, files and lines, innermost first. `addr2line` and
//! `gimli` know the format; here they get their sections, split units and supplementary file, all
//! through the [meter](crate::names::meter). Which files those are is decided elsewhere.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;

use addr2line::{Context, Location, LookupContinuation, LookupResult, SplitDwarfLoad};
use gimli::{DwarfPackage, DwarfPackageSections, RunTimeEndian, SectionId};

use crate::error::Shown;
use crate::image::contain::contained;
use crate::image::elf::{Bytes, Elf};
use crate::limits::Limits;
use crate::names::abbreviations;
use crate::names::meter::{Account, Allowance, Reader, explain, metered};

/// The debug information of one image.
pub(crate) struct Dwarf {
    context: Context<Reader>,
    package: Option<DwarfPackage<Reader>>,
    allowance: Allowance,
    limits: Limits,
}

/// One function around an address, as DWARF has it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct RawFrame {
    /// The linkage name if there is one, else the plain name.
    pub name: Option<Vec<u8>>,
    pub file: Option<String>,
    pub line: Option<u32>,
    pub column: Option<u32>,
}

impl RawFrame {
    fn at(location: Option<Location<'_>>) -> RawFrame {
        let location = location.as_ref();
        let file = location.and_then(|it| it.file);
        RawFrame {
            name: None,
            file: file.map(|it| String::from_utf8_lossy(cut(it.as_bytes())).into_owned()),
            line: location.and_then(|it| it.line),
            column: location
                .and_then(|it| it.column)
                .filter(|&column| column != 0),
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
}

/// What a skeleton unit says about the file that holds the rest of it.
pub(crate) struct Wanted<'a> {
    pub comp_dir: &'a [u8],
    pub path: &'a [u8],
}

/// Reads the files that may be the `.dwo` file wanted. Whether one is will be seen by its ID.
pub(crate) type FindDwo<'a> = &'a dyn Fn(Wanted<'_>) -> Box<dyn Iterator<Item = Elf> + 'a>;

/// Names and paths beyond this are cut. The longest C++ names known have some ten thousand bytes.
const LONGEST_NAME: usize = 64 << 10;

/// Chains of inlined functions beyond this are cut.
const DEEPEST: usize = 1024;

/// Most split units to open for one address. More than one or two cover it only if units overlap.
const SPLIT_UNITS: usize = 32;

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
        let mut dwarf = sections(main, name, &mut allowance, limits)?;
        let mut shared = supplementary
            .map(|elf| sections(elf, name, &mut allowance, limits))
            .transpose()?;
        let context = contained(|| {
            metered(&mut allowance, u64::MAX, || {
                abbreviations::prepare(&mut dwarf)?;
                if let Some(mut shared) = shared.take() {
                    abbreviations::prepare(&mut shared)?;
                    dwarf.set_sup(shared);
                }
                Context::from_dwarf(dwarf).map_err(explain)
            })
        })
        .unwrap_or_else(panicked)?;
        // A package that cannot be read is as good as none: its units will be missed by name.
        let package = package.and_then(|it| load_package(it, &mut allowance, limits).ok());
        Ok(Dwarf {
            context,
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
        // The last address of all cannot be looked up: its end would be zero.
        if probe == u64::MAX {
            return Vec::new();
        }
        let mut allowance = std::mem::take(&mut self.allowance);
        let frames = contained(|| self.lookup(probe, &mut allowance, find_dwo, complaints))
            .unwrap_or_else(panicked);
        self.allowance = allowance;
        match frames {
            Ok(frames) => frames,
            Err(why) => {
                complaints.add(why);
                Vec::new()
            }
        }
    }

    fn lookup(
        &self,
        probe: u64,
        allowance: &mut Allowance,
        find_dwo: FindDwo<'_>,
        complaints: &mut Complaints,
    ) -> Result<Vec<RawFrame>, String> {
        let mut result = metered(allowance, self.limits.steps_per_address, || {
            self.context.find_frames(probe)
        });
        let mut loads = 0;
        let mut found = loop {
            match result {
                LookupResult::Output(Ok(frames)) => break frames,
                LookupResult::Output(Err(error)) => {
                    complaints.add(explain(error));
                    return Ok(self.line_only(probe, allowance));
                }
                LookupResult::Load { load, continuation } => {
                    loads += 1;
                    let dwo = if loads <= SPLIT_UNITS {
                        self.load_dwo(&load, allowance, find_dwo)
                    } else {
                        None
                    };
                    if dwo.is_none() {
                        let path = load.path.as_ref().map_or(&[][..], Reader::bytes);
                        let path = Path::new(OsStr::from_bytes(path));
                        complaints.add(format!("split unit {} is missing", Shown(path)));
                    }
                    result = metered(allowance, self.limits.steps_per_address, || {
                        continuation.resume(dwo)
                    });
                }
            }
        };
        metered(allowance, self.limits.steps_per_address, || {
            let mut frames = Vec::new();
            while frames.len() < DEEPEST {
                let Some(frame) = found.next().map_err(explain)? else {
                    break;
                };
                let function = frame.function;
                frames.push(RawFrame {
                    name: function.map(|function| cut(function.name.bytes()).to_vec()),
                    ..RawFrame::at(frame.location)
                });
            }
            Ok(frames)
        })
    }

    /// The line alone, where functions are beyond understanding: line tables are simpler.
    fn line_only(&self, probe: u64, allowance: &mut Allowance) -> Vec<RawFrame> {
        let found = metered(allowance, self.limits.steps_per_address, || {
            let location = self.context.find_location(probe).ok()?;
            location.is_some().then(|| RawFrame::at(location))
        });
        found.into_iter().collect()
    }

    /// The rest of a split unit: from the package if it is there, else from the first `.dwo` file
    /// that carries the right ID.
    fn load_dwo(
        &self,
        load: &SplitDwarfLoad<Reader>,
        allowance: &mut Allowance,
        find_dwo: FindDwo<'_>,
    ) -> Option<Arc<gimli::Dwarf<Reader>>> {
        let packaged = self.package.as_ref().and_then(|package| {
            metered(allowance, self.limits.steps_per_address, || {
                let mut unit = package.find_cu(load.dwo_id, &load.parent).ok()??;
                abbreviations::prepare(&mut unit).ok()?;
                Some(unit)
            })
        });
        if let Some(unit) = packaged {
            return Some(Arc::new(unit));
        }
        let wanted = Wanted {
            comp_dir: load.comp_dir.as_ref().map_or(&[], Reader::bytes),
            path: load.path.as_ref()?.bytes(),
        };
        find_dwo(wanted).find_map(|elf| {
            let mut dwarf = sections(&elf, |id| id.dwo_name(), allowance, &self.limits).ok()?;
            metered(allowance, self.limits.steps_per_address, || {
                abbreviations::prepare(&mut dwarf).ok()?;
                let header = dwarf.units().next().ok()??;
                let unit = dwarf.unit(header).ok()?;
                (unit.dwo_id == Some(load.dwo_id)).then_some(())
            })?;
            dwarf.make_dwo(&load.parent);
            Some(Arc::new(dwarf))
        })
    }
}

/// The sections that lookups need; the others (types of variables, macros, indexes) stay empty.
fn sections(
    elf: &Elf,
    name: fn(SectionId) -> Option<&'static str>,
    allowance: &mut Allowance,
    limits: &Limits,
) -> Result<gimli::Dwarf<Reader>, String> {
    let mut budget = limits.unpacked_size;
    gimli::Dwarf::load(|id| {
        let bytes = match name(id) {
            Some(name) if is_needed(id) => elf.section(name, &mut budget)?,
            _ => None,
        };
        Ok(reader(bytes.as_ref(), id, elf.endian, allowance))
    })
}

fn load_package(
    elf: &Elf,
    allowance: &mut Allowance,
    limits: &Limits,
) -> Result<DwarfPackage<Reader>, String> {
    let mut budget = limits.unpacked_size;
    // All sections: a unit's share of each is cut out, needed or not.
    let sections = DwarfPackageSections::load(|id| {
        let bytes = match id.dwo_name() {
            Some(name) => elf.section(name, &mut budget).map_err(Unloadable)?,
            None => None,
        };
        Ok(reader(bytes.as_ref(), id, elf.endian, allowance))
    })
    .map_err(|Unloadable(why)| why)?;
    let empty = Reader::new(None, elf.endian, Account::Other);
    contained(|| {
        metered(allowance, limits.steps_per_address, || {
            sections.borrow(Reader::clone, empty).map_err(explain)
        })
    })
    .unwrap_or_else(panicked)
}

/// Why a package does not load. `gimli` asks for a type that its own errors convert to.
struct Unloadable(String);

impl From<gimli::Error> for Unloadable {
    fn from(error: gimli::Error) -> Unloadable {
        Unloadable(error.to_string())
    }
}

fn is_needed(id: SectionId) -> bool {
    !matches!(
        id,
        SectionId::DebugLoc
            | SectionId::DebugLocLists
            | SectionId::DebugMacinfo
            | SectionId::DebugMacro
            | SectionId::DebugNames
            | SectionId::DebugTypes
    )
}

fn reader(
    bytes: Option<&Bytes>,
    id: SectionId,
    endian: RunTimeEndian,
    allowance: &mut Allowance,
) -> Reader {
    let account = match id {
        SectionId::DebugAbbrev => Account::Abbreviations,
        SectionId::DebugInfo => Account::Entries,
        SectionId::DebugLine => Account::Lines,
        SectionId::DebugRanges | SectionId::DebugRngLists => Account::Ranges,
        _ => Account::Other,
    };
    if let Some(bytes) = bytes {
        allowance.grow(account, bytes.range.len());
    }
    Reader::new(bytes, endian, account)
}

fn panicked<T>() -> Result<T, String> {
    Err("the debug information made the decoder panic".to_owned())
}

fn cut(text: &[u8]) -> &[u8] {
    &text[..text.len().min(LONGEST_NAME)]
}
