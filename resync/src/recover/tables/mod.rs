//! What the records of a log refer to: strings, backtrace addresses, threads,
//! images, modules, runs. Filled from logdefs wherever they stand, asked by key.
//! A logdef is never applied to a run that it contradicts; memory has a bound.

mod contexts;
mod entries;
mod modules;
mod runs;
mod strings;
mod texts;

use crate::recover::memory::Memory;
use logdef_symbolizer::LogCall;
use logdef_wire::{Avma, Magic, Record, Run, Svma, ThreadNumber};
use std::collections::{BTreeMap, HashMap};
use strings::{Interned, Variant};
use texts::Numbered;

pub use contexts::{ContextEntry, ContextKeys};
pub(crate) use entries::latest;
pub use strings::{Conflict, StringId, StringLookup};
pub use texts::Origin;

/// Bytes of memory that tables take at most, unless another bound is given.
pub const DEFAULT_MEMORY: usize = 96 << 20;
/// What the allocator adds to a block of memory, roughly.
const BLOCK: usize = 24;

/// What an entry of a map from a key to a list takes, roughly, with `blocks` of memory of
/// its own: a map is between half and all full, and has a byte for each place.
const fn map_entry<Key>(blocks: usize) -> usize {
    2 * (size_of::<Key>() + size_of::<Vec<u8>>() + 1) + blocks * BLOCK
}

/// Where a frame stands: which input, and the offset in it.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct Place {
    /// Index of the input.
    pub input: u32,
    /// Offset of the frame's first byte.
    pub offset: u64,
}

/// Where a text comes from.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[non_exhaustive]
pub enum Provenance {
    /// It stands in the log.
    Logged,
    /// It was read from the image that the log names.
    Rebuilt,
    /// It is known nowhere.
    Missing,
}

/// An image that logged, or whose addresses stand in backtraces.
#[derive(Clone, Debug, Default, Eq, Hash, PartialEq)]
#[non_exhaustive]
pub struct Image {
    /// The logdef table that its strings are in; `None` of a library that does not log.
    pub magic: Option<Magic>,
    /// The path that it was mapped from in the process.
    pub path: Vec<u8>,
    /// Bytes of the file.
    pub size: Option<u64>,
    /// SHA-1 (or MD5) of the file.
    pub digest: Option<Vec<u8>>,
    /// GNU build ID; `None` if the linker wrote none.
    pub build_id: Option<Vec<u8>>,
}

impl Image {
    /// An image of which nothing is known but its magic.
    pub fn of_magic(magic: Magic) -> Image {
        Image {
            magic: Some(magic),
            ..Image::default()
        }
    }
}

/// What preambles say about a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RunInfo {
    /// The process, as its own PID namespace numbers it.
    pub pid: Option<u64>,
    /// Nanoseconds since the Unix epoch when it opened its log.
    pub realtime: Option<u64>,
    /// `CLOCK_MONOTONIC` nanoseconds at the same instant.
    pub monotonic: Option<u64>,
    /// The kind of processor, as `uname -m` names it: `x86_64`, `aarch64`.
    pub machine: Option<Vec<u8>>,
    /// The name of the machine, as `uname -n` gives it.
    pub host: Option<Vec<u8>>,
    /// Identity of the boot.
    pub boot_id: Option<Vec<u8>>,
    /// What kind of file system the log was on.
    pub file_system: Option<Vec<u8>>,
    /// The magics of its images, in the order their preambles stand.
    pub images: Vec<Magic>,
}

/// A thread under one of its names.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub struct Thread {
    /// The kernel's number of it (`gettid`).
    pub tid: Option<u64>,
    /// The value of `pthread_self()` in it: an address that another thread may have later.
    pub thread: Option<u64>,
    /// Its name, at most 15 bytes; `None` if the log does not give it.
    pub name: Option<Vec<u8>>,
}

/// What was known in the process about an address.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct BacktraceEntry {
    /// Path of the module that holds it.
    pub fname: Option<Vec<u8>>,
    /// Where that module is mapped.
    pub fbase: Option<Avma>,
    /// The nearest exported symbol below.
    pub sname: Option<Vec<u8>>,
    /// Where that symbol is.
    pub saddr: Option<Avma>,
    /// GNU build ID of the module.
    pub build_id: Option<Vec<u8>>,
    /// Load bias of the module.
    pub load_bias: Option<u64>,
}

/// A module that was mapped for some time.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct ModuleEntry {
    /// Address of its first byte in the process.
    pub start: Avma,
    /// Bytes from there on.
    pub size: u64,
    /// Runtime address minus link-time address.
    pub load_bias: Option<u64>,
    /// What was loaded or unloaded.
    pub image: Image,
    /// Nanoseconds since the Unix epoch.
    pub time: u64,
    /// Whether it was unloaded at that time, and not loaded.
    pub unloaded: bool,
}

/// All tables of a set of inputs.
///
/// ```
/// use logdef_resync::{Place, StringLookup, Tables};
/// use logdef_wire::{Magic, Record, Run, Svma, record::StringLogdef};
///
/// let mut tables = Tables::new(1 << 20);
/// let logdef = StringLogdef {
///     magic: Some(Magic(7)),
///     address: Some(Svma(0x2000)),
///     string: Some(b"hello %s"),
///     run: Some(Run(1)),
///     ..StringLogdef::default()
/// };
/// tables.add(&Record::StringLogdef(logdef), Place { input: 0, offset: 0 });
/// // Every run of an image shares its strings.
/// let StringLookup::Found(id) = tables.string(Magic(7), Svma(0x2000), Some(Run(2))) else {
///     panic!();
/// };
/// assert_eq!(tables.text(id), b"hello %s");
/// ```
#[derive(Debug, Default)]
pub struct Tables {
    texts: Vec<Interned>,
    strings: HashMap<(Magic, Svma), Vec<Variant>>,
    numbered: HashMap<(Run, Svma), Numbered>,
    backtraces: HashMap<(Run, Avma), Vec<(Place, BacktraceEntry)>>,
    threads: HashMap<(Run, ThreadNumber), Vec<(Place, Thread)>>,
    contexts: HashMap<(Run, u64), Vec<(Place, ContextEntry)>>,
    images: HashMap<Magic, Image>,
    biases: HashMap<(Run, Magic), u64>,
    runs: HashMap<Run, RunInfo>,
    callers: HashMap<Run, Vec<(Magic, Vec<LogCall>)>>,
    /// By start, time, and whether it went: chunks repeat them.
    modules: HashMap<Run, BTreeMap<(Avma, u64, bool), ModuleEntry>>,
    conflicts: Vec<Conflict>,
    memory: usize,
    /// Of which others take too.
    shared: Memory,
    used: usize,
    refused: u64,
}

impl Tables {
    /// Empty tables that take about `memory` bytes at most.
    pub fn new(memory: usize) -> Tables {
        Tables::sharing(memory, &Memory::new(memory))
    }

    /// Empty tables that take some of what there is, and no more than `memory` bytes.
    pub(crate) fn sharing(memory: usize, shared: &Memory) -> Tables {
        Tables {
            memory,
            shared: shared.clone(),
            ..Tables::default()
        }
    }

    /// Takes in what a record defines; data and notes define nothing.
    pub fn add(&mut self, record: &Record<'_>, place: Place) {
        match record {
            Record::Preamble(preamble) => self.add_preamble(preamble),
            Record::StringLogdef(logdef) => self.add_string(logdef, place),
            Record::TextLogdef(logdef) => self.add_text_logdef(logdef),
            Record::BacktraceLogdef(logdef) => self.add_backtrace(logdef, place),
            Record::ThreadLogdef(logdef) => self.add_thread(logdef, place),
            Record::ContextLogdef(logdef) => self.add_context(logdef, place),
            Record::Module(module) => self.add_module(module),
            _ => {}
        }
    }

    /// Whether all logdefs were taken in and none contradicts another.
    pub fn is_whole(&self) -> bool {
        self.refused == 0 && self.conflicts.is_empty()
    }

    /// Whether a record defines nothing that is not known already.
    pub fn knows(&self, record: &Record<'_>, place: Place) -> bool {
        match record {
            Record::Preamble(preamble) => self.knows_preamble(preamble),
            Record::StringLogdef(logdef) => self.knows_string(logdef),
            Record::TextLogdef(logdef) => self.knows_text(logdef),
            Record::BacktraceLogdef(logdef) => self.knows_backtrace(logdef, place),
            Record::ThreadLogdef(logdef) => self.knows_thread(logdef, place),
            Record::ContextLogdef(logdef) => self.knows_context(logdef, place),
            Record::Module(module) => self.knows_module(module),
            _ => true,
        }
    }

    /// Logdefs that were not taken in because the tables are full.
    pub fn refused(&self) -> u64 {
        self.refused
    }

    /// Reserves bytes of memory for an entry; where there are too few left, counts the
    /// entry as refused and returns `false`.
    fn try_reserve(&mut self, bytes: usize) -> bool {
        let fits = self.used + bytes <= self.memory && self.shared.take(bytes);
        if fits {
            self.used += bytes;
        } else {
            self.refused += 1;
        }
        fits
    }
}

fn owned(bytes: Option<&[u8]>) -> Option<Vec<u8>> {
    bytes.map(<[u8]>::to_vec)
}

#[cfg(test)]
mod tests {
    use super::*;
    use logdef_wire::record::{BacktraceLogdef, Module, StringLogdef};

    fn at(offset: u64) -> Place {
        Place { input: 0, offset }
    }

    fn string(run: u64, text: &'static [u8]) -> Record<'static> {
        Record::StringLogdef(StringLogdef {
            magic: Some(Magic(1)),
            address: Some(Svma(0x2000)),
            string: Some(text),
            run: Some(Run(run)),
            ..StringLogdef::default()
        })
    }

    fn found(tables: &Tables, run: u64) -> Option<&[u8]> {
        match tables.string(Magic(1), Svma(0x2000), Some(Run(run))) {
            StringLookup::Found(id) => Some(tables.text(id)),
            _ => None,
        }
    }

    #[test]
    fn a_contradicted_string_is_applied_to_its_own_run_only() {
        let mut tables = Tables::new(DEFAULT_MEMORY);
        tables.add(&string(1, b"one"), at(0));
        assert_eq!(found(&tables, 9), Some(&b"one"[..]));
        tables.add(&string(2, b"two"), at(50));
        tables.add(&string(1, b"one"), at(90));
        assert_eq!(found(&tables, 1), Some(&b"one"[..]));
        assert_eq!(found(&tables, 2), Some(&b"two"[..]));
        assert_eq!(found(&tables, 9), None);
        assert_eq!(tables.conflicts().len(), 1);
        assert_eq!(&*tables.conflicts()[0].second, b"two");
        // A run that contradicts itself is not believed either.
        tables.add(&string(1, b"two"), at(120));
        assert_eq!(found(&tables, 1), None);
    }

    #[test]
    fn the_latest_backtrace_logdef_before_a_record_wins() {
        let mut tables = Tables::new(DEFAULT_MEMORY);
        for (offset, name) in [(10, &b"old.so"[..]), (20, b"old.so"), (30, b"new.so")] {
            let logdef = BacktraceLogdef {
                run: Some(Run(1)),
                address: Some(Avma(0x7000)),
                fname: Some(name),
                ..BacktraceLogdef::default()
            };
            tables.add(&Record::BacktraceLogdef(logdef), at(offset));
        }
        let name = |offset| {
            let entry = tables.backtrace(Run(1), Avma(0x7000), at(offset)).unwrap();
            entry.fname.clone().unwrap()
        };
        assert_eq!(name(5), b"old.so");
        assert_eq!(name(25), b"old.so");
        assert_eq!(name(35), b"new.so");
        assert!(tables.backtrace(Run(2), Avma(0x7000), at(35)).is_none());
    }

    #[test]
    fn full_tables_refuse_and_count() {
        let mut tables = Tables::new(600);
        tables.add(&string(1, &[b'x'; 200]), at(0));
        tables.add(&string(2, b"y"), at(9));
        assert_eq!(tables.refused(), 1);
        assert_eq!(found(&tables, 1), Some(&[b'x'; 200][..]));
    }

    fn module(start: u64, path: &'static [u8], time: u64, unloaded: bool) -> Record<'static> {
        Record::Module(Module {
            run: Some(Run(1)),
            start: Some(Avma(start)),
            size: Some(0x100),
            path: Some(path),
            time: Some(time),
            unloaded: unloaded.then_some(true),
            ..Module::default()
        })
    }

    #[test]
    fn an_unloaded_module_holds_no_address() {
        let mut tables = Tables::new(DEFAULT_MEMORY);
        tables.add(&module(0x1000, b"/a", 10, false), at(10));
        tables.add(&module(0x1000, b"/a", 20, true), at(20));
        let held = |time| tables.module(Run(1), Avma(0x1080), Some(time)).is_some();
        assert_eq!([held(15), held(25)], [true, false]);
    }

    #[test]
    fn a_module_lasts_until_another_is_mapped_over_it() {
        let mut tables = Tables::new(DEFAULT_MEMORY);
        tables.add(&module(0x1080, b"/b", 20, false), at(10));
        tables.add(&module(0x1000, b"/a", 20, true), at(20));
        tables.add(&module(0x1000, b"/a", 10, false), at(30));
        let path = |address, time| {
            let module = tables.module(Run(1), Avma(address), Some(time))?;
            Some(&module.image.path[..])
        };
        // Noticed by another thread a moment later than the record was made.
        assert_eq!(path(0x1001, 9), Some(&b"/a"[..]));
        assert_eq!(path(0x1090, 15), Some(&b"/a"[..]));
        assert_eq!(path(0x1090, 25), Some(&b"/b"[..]));
        assert_eq!(path(0x1001, 25), None);
        assert_eq!(path(0x1180, 9), None);

        // Without the word that it went, too.
        let mut tables = Tables::new(DEFAULT_MEMORY);
        tables.add(&module(0x1000, b"/a", 10, false), at(10));
        tables.add(&module(0x1080, b"/b", 20, false), at(20));
        assert!(tables.module(Run(1), Avma(0x1001), Some(15)).is_some());
        assert!(tables.module(Run(1), Avma(0x1001), Some(25)).is_none());
    }
}
