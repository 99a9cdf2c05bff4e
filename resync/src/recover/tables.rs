//! What the records of a log refer to: strings, backtrace addresses, threads,
//! images, modules, runs. Filled from logdefs wherever they stand, asked by key.
//! A logdef is never applied to a run that it contradicts; memory has a bound.

use logdef_symbolizer::LogCall;
use logdef_wire::record::{BacktraceLogdef, Glance, Module, Preamble, StringLogdef, ThreadLogdef};
use logdef_wire::{Array, Avma, Description, Magic, Record, Run, Svma, ThreadNumber, Value};
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// Bytes of memory that tables take at most, unless told otherwise.
pub const DEFAULT_MEMORY: usize = 256 << 20;
/// What an entry takes beside its bytes, roughly.
const ENTRY: usize = 160;
/// Runs remembered for each variant of a string that runs disagree on.
const RUNS: usize = 64;
/// Strings remembered for one address, and modules for one run: more is a
/// hostile file, and would make look-ups slow.
const VARIANTS: usize = 16;
const MODULES: usize = 1 << 14;
/// Images of one run, and callers of one image, that are remembered: more would
/// tell no more.
const IMAGES: usize = 256;
const CALLERS: usize = 64;
/// Addresses of a backtrace among which the one in the code that logged is.
const INNERMOST: usize = 3;
/// Entries of one key that one which comes late may have to be put before.
const BACK: usize = 1 << 12;

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
pub enum Provenance {
    /// It stands in the log.
    Logged,
    /// It was read from the image that the log names.
    Reconstructed,
    /// It is known nowhere.
    Missing,
}

/// An image that logged, or whose addresses stand in backtraces.
#[derive(Clone, Debug, Default, Eq, Hash, PartialEq)]
pub struct Image {
    /// Its logdef table.
    pub magic: Option<Magic>,
    /// Path it had.
    pub path: Vec<u8>,
    /// Bytes of the file.
    pub size: Option<u64>,
    /// SHA-1 (or MD5) of the file.
    pub digest: Option<Vec<u8>>,
    /// GNU build ID.
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
    /// Process id.
    pub pid: Option<u64>,
    /// Nanoseconds since the Unix epoch when it opened its log.
    pub realtime: Option<u64>,
    /// `CLOCK_MONOTONIC` nanoseconds at the same instant.
    pub monotonic: Option<u64>,
    /// `x86_64`, `aarch64`, ….
    pub machine: Option<Vec<u8>>,
    /// Host name.
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
pub struct Thread {
    /// Kernel id.
    pub tid: Option<u64>,
    /// `pthread_self()`.
    pub thread: Option<u64>,
    /// Its name.
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
pub struct ModuleEntry {
    /// First address.
    pub start: Avma,
    /// Bytes.
    pub size: u64,
    /// Runtime address minus link-time address.
    pub load_bias: Option<u64>,
    /// What was loaded or unloaded.
    pub image: Image,
    /// Nanoseconds since the Unix epoch.
    pub time: u64,
    /// Whether it went.
    pub unloaded: bool,
}

/// A string in a table: an index that stays.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct StringId(u32);

/// What a look-up of a string found.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum StringLookup {
    /// This string.
    Found(StringId),
    /// Several strings claim the address, and none is this run's.
    Conflict,
    /// No logdef has the address.
    Missing,
}

/// Two logdefs of one key that disagree.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Conflict {
    /// The table.
    pub magic: Magic,
    /// The address.
    pub address: Svma,
    /// The string that came first.
    pub first: Arc<[u8]>,
    /// The other.
    pub second: Arc<[u8]>,
    /// Where the other stands.
    pub place: Place,
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
    backtraces: HashMap<(Run, Avma), Vec<(Place, BacktraceEntry)>>,
    threads: HashMap<(Run, ThreadNumber), Vec<(Place, Thread)>>,
    images: HashMap<Magic, Image>,
    biases: HashMap<(Run, Magic), u64>,
    runs: HashMap<Run, RunInfo>,
    callers: HashMap<Run, Vec<(Magic, Vec<LogCall>)>>,
    /// By start, time, and whether it went: chunks repeat them.
    modules: HashMap<Run, BTreeMap<(Avma, u64, bool), ModuleEntry>>,
    conflicts: Vec<Conflict>,
    memory: usize,
    used: usize,
    refused: u64,
}

/// A string of a logdef.
#[derive(Clone, Debug, Eq, PartialEq)]
struct Interned {
    bytes: Arc<[u8]>,
    /// Grammar and names, if it is a format that has any.
    description: Arc<[u8]>,
}

impl Interned {
    fn is(&self, (bytes, description): (&[u8], &[u8])) -> bool {
        *self.bytes == *bytes && *self.description == *description
    }
}

/// What a logdef says of a string: its bytes, and its description.
fn described<'a>(logdef: &StringLogdef<'a>) -> Option<(&'a [u8], &'a [u8])> {
    let bytes = logdef.template.or(logdef.string)?;
    Some((bytes, logdef.description.unwrap_or_default()))
}

/// One of the strings that logdefs give an address.
#[derive(Clone, Debug)]
struct Variant {
    id: StringId,
    runs: Vec<Run>,
}

impl Tables {
    /// Empty tables that take about `memory` bytes at most.
    pub fn new(memory: usize) -> Tables {
        Tables {
            memory,
            ..Tables::default()
        }
    }

    /// Takes in what a record defines; data and notes define nothing.
    pub fn add(&mut self, record: &Record<'_>, place: Place) {
        match record {
            Record::Preamble(preamble) => self.add_preamble(preamble),
            Record::StringLogdef(logdef) => self.add_string(logdef, place),
            Record::BacktraceLogdef(logdef) => self.add_backtrace(logdef, place),
            Record::ThreadLogdef(logdef) => self.add_thread(logdef, place),
            Record::Module(module) => self.add_module(module),
            _ => {}
        }
    }

    /// The string at an address of an image, as it is for a run.
    #[inline]
    pub fn string(&self, magic: Magic, address: Svma, run: Option<Run>) -> StringLookup {
        match self
            .strings
            .get(&(magic, address))
            .map(|variants| &variants[..])
        {
            None => StringLookup::Missing,
            Some([only]) => StringLookup::Found(only.id),
            Some(variants) => {
                // Runs that contradict themselves have no string here.
                let mut own = variants
                    .iter()
                    .filter(|variant| run.is_some_and(|run| variant.runs.contains(&run)));
                match (own.next(), own.next()) {
                    (Some(variant), None) => StringLookup::Found(variant.id),
                    _ => StringLookup::Conflict,
                }
            }
        }
    }

    /// The bytes of a string.
    #[inline]
    pub fn text(&self, id: StringId) -> &[u8] {
        &self.texts[id.0 as usize].bytes
    }

    /// Grammar and names of a string that is a format.
    #[inline]
    pub fn description(&self, id: StringId) -> Description<'_> {
        Description::of(&self.texts[id.0 as usize].description)
    }

    /// How many strings there are: their ids are below.
    pub fn string_count(&self) -> usize {
        self.texts.len()
    }

    /// A string's place in its table, for tables that run along.
    pub fn index(id: StringId) -> usize {
        id.0 as usize
    }

    /// What was known about an address of a run when the record at `place` was
    /// written: the latest before it, else the earliest after.
    pub fn backtrace(&self, run: Run, address: Avma, place: Place) -> Option<&BacktraceEntry> {
        latest(self.backtraces.get(&(run, address))?, place)
    }

    /// Who a thread was when the record at `place` was written.
    pub fn thread(&self, run: Run, number: ThreadNumber, place: Place) -> Option<&Thread> {
        latest(self.names_of(run, number), place)
    }

    /// All that a thread was, in the order of the logdefs.
    #[inline]
    pub(crate) fn names_of(&self, run: Run, number: ThreadNumber) -> &[(Place, Thread)] {
        self.threads.get(&(run, number)).map_or(&[], |names| names)
    }

    /// The image of a magic.
    pub fn image(&self, magic: Magic) -> Option<&Image> {
        self.images.get(&magic)
    }

    /// The same, or what a magic alone tells if no preamble is left.
    pub fn image_or_magic(&self, magic: Magic) -> Image {
        let known = self.image(magic).cloned();
        known.unwrap_or_else(|| Image::of_magic(magic))
    }

    /// Runtime address minus link-time address of an image in a run.
    pub fn load_bias(&self, run: Run, magic: Magic) -> Option<u64> {
        self.biases.get(&(run, magic)).copied()
    }

    /// The images that are known to have logged in a run.
    pub fn images_of(&self, run: Run) -> Vec<Magic> {
        let mut images = self.run(run).map_or(Vec::new(), |run| run.images.clone());
        for (magic, _) in self.callers.get(&run).into_iter().flatten() {
            if !images.contains(magic) {
                images.push(*magic);
            }
        }
        images
    }

    /// Some records of an image in a run of which no preamble tells the load bias,
    /// and where they were logged from.
    pub fn callers(&self, run: Run, magic: Magic) -> &[LogCall] {
        let mut images = self.callers.get(&run).into_iter().flatten();
        let found = images.find(|(other, _)| *other == magic);
        found.map_or(&[], |(_, calls)| calls)
    }

    /// What is known about a run.
    pub fn run(&self, run: Run) -> Option<&RunInfo> {
        self.runs.get(&run)
    }

    /// All runs that have a preamble, in the order they were opened.
    pub fn runs(&self) -> Vec<(Run, &RunInfo)> {
        let mut runs: Vec<_> = self.runs.iter().map(|(run, info)| (*run, info)).collect();
        runs.sort_by_key(|(run, info)| (info.realtime, *run));
        runs
    }

    /// The module that held an address of a run at a time: the one that was
    /// noticed last before it; or first after, since the clocks of threads differ
    /// a little. Whatever is mapped over a module ends it.
    pub fn module(&self, run: Run, address: Avma, time: Option<u64>) -> Option<&ModuleEntry> {
        let time = time.unwrap_or(u64::MAX);
        let modules = self.modules.get(&run)?;
        let holding = || modules.values().filter(|module| module.holds(address));
        let before = holding().filter(|module| module.time <= time);
        let Some(module) = before.max_by_key(|module| (module.time, !module.unloaded)) else {
            let after = holding().filter(|module| !module.unloaded);
            return after.min_by_key(|module| module.time);
        };
        let replaced = modules
            .values()
            .any(|other| (module.time + 1..=time).contains(&other.time) && other.overlaps(module));
        (!module.unloaded && !replaced).then_some(module)
    }

    /// Whether any module of a run is known to have been at an address, at any time.
    pub fn has_module(&self, run: Run, address: Avma) -> bool {
        let modules = self.modules.get(&run);
        modules.is_some_and(|modules| modules.values().any(|module| module.holds(address)))
    }

    /// Logdefs that contradict an earlier one of the same key.
    pub fn conflicts(&self) -> &[Conflict] {
        &self.conflicts
    }

    /// Whether all logdefs were taken in and none contradicts another.
    pub fn is_whole(&self) -> bool {
        self.refused == 0 && self.conflicts.is_empty()
    }

    /// Whether a record defines nothing that is not known already.
    pub fn knows(&self, record: &Record<'_>, place: Place) -> bool {
        match record {
            Record::Preamble(preamble) => self.knows_preamble(preamble),
            Record::StringLogdef(logdef) => {
                let (Some(magic), Some(address), Some(string)) =
                    (logdef.magic, logdef.address, described(logdef))
                else {
                    return true;
                };
                let variants = self.strings.get(&(magic, address));
                variants.is_some_and(|variants| match &variants[..] {
                    [only] => self.texts[Tables::index(only.id)].is(string),
                    _ => false,
                })
            }
            Record::BacktraceLogdef(logdef) => {
                let (Some(run), Some(address)) = (logdef.run, logdef.address) else {
                    return true;
                };
                let known = self.backtraces.get(&(run, address));
                known.and_then(|known| before(known, place)) == Some(&BacktraceEntry::of(logdef))
            }
            Record::ThreadLogdef(logdef) => {
                let (Some(run), Some(number)) = (logdef.run, logdef.number) else {
                    return true;
                };
                before(self.names_of(run, number), place) == Some(&Thread::of(logdef))
            }
            Record::Module(module) => {
                let (Some(run), Some(start)) = (module.run, module.start) else {
                    return true;
                };
                let time = module.time.unwrap_or(0);
                let key = (start, time, module.unloaded.unwrap_or(false));
                let known = self.modules.get(&run);
                known.is_some_and(|known| known.contains_key(&key))
            }
            _ => true,
        }
    }

    /// Logdefs that were not taken in because the tables are full.
    pub fn refused(&self) -> u64 {
        self.refused
    }

    /// Takes in a string that no logdef gave, and returns it.
    pub(crate) fn add_text(&mut self, (bytes, description): (&[u8], &[u8])) -> StringId {
        let id = StringId(self.texts.len() as u32);
        self.texts.push(Interned {
            bytes: bytes.into(),
            description: description.into(),
        });
        id
    }

    /// A record of an image has a backtrace, of an image whose load bias may be needed
    /// if no preamble tells it.
    #[cold]
    pub(crate) fn add_callers(&mut self, data: &Glance, backtrace: Array<'_>) {
        let (Some(run), Some(magic)) = (data.run, data.magic) else {
            return;
        };
        let (Some(format), Some(file), Some(line)) = (data.format, data.file, data.line) else {
            return;
        };
        if self.biases.contains_key(&(run, magic)) {
            return;
        }
        // The innermost may be the logger's own.
        for returns_to in backtrace.iter().take(INNERMOST).filter_map(Value::as_uint) {
            let call = LogCall {
                format,
                file,
                line,
                returns_to: Avma(returns_to),
            };
            let images = self.callers.get(&run);
            let known = images.and_then(|images| images.iter().find(|(other, _)| *other == magic));
            let is_enough = match known {
                Some((_, calls)) => calls.len() >= CALLERS || calls.contains(&call),
                None => images.is_some_and(|images| images.len() >= IMAGES),
            };
            if is_enough || !self.room(0) {
                continue;
            }
            let images = self.callers.entry(run).or_default();
            match images.iter_mut().find(|(other, _)| *other == magic) {
                Some((_, calls)) => calls.push(call),
                None => images.push((magic, vec![call])),
            }
        }
    }

    /// Whether there is room for an entry of so many bytes; if so it is taken.
    fn room(&mut self, bytes: usize) -> bool {
        let fits = self.used + bytes + ENTRY <= self.memory;
        match fits {
            true => self.used += bytes + ENTRY,
            false => self.refused += 1,
        }
        fits
    }

    fn add_string(&mut self, logdef: &StringLogdef<'_>, place: Place) {
        let (Some(magic), Some(address), Some(string)) =
            (logdef.magic, logdef.address, described(logdef))
        else {
            return;
        };
        let variants = self.strings.get_mut(&(magic, address));
        let same = variants.and_then(|variants| {
            let texts = &self.texts;
            let same = |variant: &&mut Variant| texts[variant.id.0 as usize].is(string);
            variants.iter_mut().find(same)
        });
        if let Some(variant) = same {
            if let Some(run) = logdef.run
                && variant.runs.last() != Some(&run)
                && variant.runs.len() < RUNS
                && !variant.runs.contains(&run)
            {
                variant.runs.push(run);
            }
            return;
        }
        let variants = self.strings.get(&(magic, address));
        if variants.is_some_and(|variants| variants.len() >= VARIANTS) {
            self.refused += 1;
            return;
        }
        if !self.room(string.0.len() + string.1.len()) {
            return;
        }
        let id = self.add_text(string);
        let variants = self.strings.entry((magic, address)).or_default();
        if let Some(first) = variants.first() {
            self.conflicts.push(Conflict {
                magic,
                address,
                first: self.texts[first.id.0 as usize].bytes.clone(),
                second: self.texts[id.0 as usize].bytes.clone(),
                place,
            });
        }
        variants.push(Variant {
            id,
            runs: logdef.run.into_iter().collect(),
        });
    }

    fn add_backtrace(&mut self, logdef: &BacktraceLogdef<'_>, place: Place) {
        let (Some(run), Some(address)) = (logdef.run, logdef.address) else {
            return;
        };
        let bytes = logdef.fname.map_or(0, <[u8]>::len) + logdef.sname.map_or(0, <[u8]>::len);
        let entry = BacktraceEntry::of(logdef);
        let known = self.backtraces.get(&(run, address));
        if known.and_then(|known| before(known, place)) != Some(&entry) && self.room(bytes) {
            let known = self.backtraces.entry((run, address)).or_default();
            self.refused += u64::from(!insert(known, place, entry));
        }
    }

    fn add_thread(&mut self, logdef: &ThreadLogdef<'_>, place: Place) {
        let (Some(run), Some(number)) = (logdef.run, logdef.number) else {
            return;
        };
        let thread = Thread::of(logdef);
        if before(self.names_of(run, number), place) != Some(&thread)
            && self.room(logdef.name.map_or(0, <[u8]>::len))
        {
            let known = self.threads.entry((run, number)).or_default();
            self.refused += u64::from(!insert(known, place, thread));
        }
    }

    fn knows_preamble(&self, preamble: &Preamble<'_>) -> bool {
        let Some(run) = preamble.run.and_then(|run| self.runs.get(&run)) else {
            return false;
        };
        preamble.magic.is_none_or(|magic| {
            let bias = preamble.run.zip(preamble.load_bias);
            run.images.contains(&magic)
                && self.images.contains_key(&magic)
                && bias.is_none_or(|(run, _)| self.biases.contains_key(&(run, magic)))
        })
    }

    fn add_preamble(&mut self, preamble: &Preamble<'_>) {
        if let Some(magic) = preamble.magic {
            if !self.images.contains_key(&magic) {
                if !self.room(preamble.path.map_or(0, <[u8]>::len)) {
                    return;
                }
                self.images.insert(magic, Image::of_preamble(preamble));
            }
            if let (Some(run), Some(bias)) = (preamble.run, preamble.load_bias)
                && !self.biases.contains_key(&(run, magic))
                && self.room(0)
            {
                self.biases.insert((run, magic), bias);
            }
        }
        let Some(run) = preamble.run else {
            return;
        };
        if !self.runs.contains_key(&run) && !self.room(0) {
            return;
        }
        let info = self.runs.entry(run).or_default();
        info.pid = info.pid.or(preamble.pid);
        info.realtime = info.realtime.or(preamble.realtime);
        info.monotonic = info.monotonic.or(preamble.monotonic);
        let texts = [
            (&mut info.machine, preamble.machine),
            (&mut info.host, preamble.host),
            (&mut info.boot_id, preamble.boot_id),
            (&mut info.file_system, preamble.file_system),
        ];
        for (field, text) in texts {
            if field.is_none() {
                *field = owned(text);
            }
        }
        if let Some(magic) = preamble.magic
            && !info.images.contains(&magic)
            && info.images.len() < 4096
        {
            info.images.push(magic);
        }
    }

    fn add_module(&mut self, module: &Module<'_>) {
        let (Some(run), Some(start)) = (module.run, module.start) else {
            return;
        };
        let entry = ModuleEntry {
            start,
            size: module.size.unwrap_or(0),
            load_bias: module.load_bias,
            image: Image {
                magic: module.magic,
                path: module.path.unwrap_or_default().to_vec(),
                size: None,
                digest: None,
                build_id: owned(module.build_id),
            },
            time: module.time.unwrap_or(0),
            unloaded: module.unloaded.unwrap_or(false),
        };
        let key = (start, entry.time, entry.unloaded);
        let known = self.modules.get(&run);
        if known.is_some_and(|known| known.contains_key(&key)) {
            return;
        }
        let full = known.is_some_and(|known| known.len() >= MODULES);
        if full {
            self.refused += 1;
        } else if self.room(entry.image.path.len()) {
            self.modules.entry(run).or_default().insert(key, entry);
        }
    }
}

impl ModuleEntry {
    fn holds(&self, address: Avma) -> bool {
        address.0.wrapping_sub(self.start.0) < self.size
    }

    fn overlaps(&self, other: &ModuleEntry) -> bool {
        self.holds(other.start) || other.holds(self.start)
    }
}

impl BacktraceEntry {
    fn of(logdef: &BacktraceLogdef<'_>) -> BacktraceEntry {
        BacktraceEntry {
            fname: owned(logdef.fname),
            fbase: logdef.fbase,
            sname: owned(logdef.sname),
            saddr: logdef.saddr,
            build_id: owned(logdef.build_id),
            load_bias: logdef.load_bias,
        }
    }
}

impl Thread {
    fn of(logdef: &ThreadLogdef<'_>) -> Thread {
        Thread {
            tid: logdef.tid,
            thread: logdef.thread,
            name: owned(logdef.name),
        }
    }
}

impl Image {
    fn of_preamble(preamble: &Preamble<'_>) -> Image {
        Image {
            magic: preamble.magic,
            path: preamble.path.unwrap_or_default().to_vec(),
            size: preamble.size,
            digest: owned(preamble.digest),
            build_id: owned(preamble.build_id),
        }
    }
}

fn owned(bytes: Option<&[u8]>) -> Option<Vec<u8>> {
    bytes.map(<[u8]>::to_vec)
}

/// The last entry before a place, in whichever input.
fn before<T>(entries: &[(Place, T)], place: Place) -> Option<&T> {
    let before = entries.partition_point(|(other, _)| *other < place);
    Some(&entries[before.checked_sub(1)?].1)
}

/// Puts an entry where its place belongs; `false` if that is too far back. Logdefs
/// come in the order they stand, or nearly so.
fn insert<T>(entries: &mut Vec<(Place, T)>, place: Place, value: T) -> bool {
    let at = entries.partition_point(|(other, _)| *other < place);
    let is_near = entries.len() - at <= BACK;
    if is_near {
        entries.insert(at, (place, value));
    }
    is_near
}

/// The latest entry before a place in the same input, else the first.
#[inline]
pub(crate) fn latest<T>(entries: &[(Place, T)], place: Place) -> Option<&T> {
    if let [(_, only)] = entries {
        return Some(only);
    }
    let before = entries.partition_point(|(other, _)| *other < place);
    let (other, value) = entries.get(before.saturating_sub(1))?;
    let found = (other.input == place.input || before == 0).then_some(value);
    found.or_else(|| entries.first().map(|(_, value)| value))
}

#[cfg(test)]
mod tests {
    use super::*;

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
        let mut tables = Tables::new(400);
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
