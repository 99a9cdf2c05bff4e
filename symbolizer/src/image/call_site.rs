//! The call sites of an image: one static record for each log call, in a section of their own that
//! survives `strip`. The record's layout is [`logdef_wire::site`]'s. Its pointers are read as the
//! loader would leave them, so a position-independent image answers like any other.

use std::collections::HashMap;
use std::sync::Arc;

use logdef_wire::printf::{Class, caller_arg, caller_args};
use logdef_wire::site::{self as layout, ArgKind};
use logdef_wire::{Description, Level, Svma};

use crate::image::elf::Elf;
use crate::image::pointers::Pointers;

/// A log call as the compiler wrote it down. Text is as the file has it, not made safe for a
/// terminal.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CallSite {
    /// Where the record stands. A compiler that copies code may copy the record with it; this is
    /// the first of them.
    pub address: Svma,
    /// Where the site's mutable state is: no two sites share it.
    pub state: Svma,
    /// The format string, or the template of a site whose format is not printf's.
    pub format: Literal,
    /// Grammar and names of the format, as [`logdef_wire::Description`] reads them; empty if the
    /// image has none.
    pub description: Arc<[u8]>,
    /// The source file, as the compiler was given it.
    pub file: Literal,
    /// The line, from 1.
    pub line: u32,
    /// The level at which the call logs.
    pub level: Level,
    /// The function, where the compiler knows its name: in C and C++.
    pub function: Option<Arc<[u8]>>,
    /// The module that filters know the site by, if it has one of its own.
    pub module: Option<Arc<[u8]>>,
    /// What the caller passes, one for each argument.
    pub kinds: Vec<ArgKind>,
    /// See [`logdef_wire::site::flags`].
    pub flags: u8,
}

/// A string that stands in the image.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Literal {
    /// The link-time address of the string.
    pub address: Svma,
    /// Its bytes, without its NUL.
    pub bytes: Arc<[u8]>,
}

/// The call sites of one image.
#[derive(Clone, Debug, Default)]
pub struct CallSites {
    sites: Vec<CallSite>,
    records: usize,
    unread: usize,
    /// Every string that a site may log by its address, with its description.
    literals: HashMap<Svma, Described>,
    /// Where the records are, copies included, by format, file and line.
    places: HashMap<(Svma, Svma, u64), Vec<Svma>>,
}

/// A string and its description.
type Described = (Arc<[u8]>, Arc<[u8]>);

/// Records beyond these are not looked at: no program has a million log calls.
const MOST: usize = 1 << 20;
/// Longest string to read. Compilers promise 64 KiB at most.
const LONGEST: usize = 64 << 10;

impl CallSites {
    /// The sites, by file, line and format.
    pub fn iter(&self) -> std::slice::Iter<'_, CallSite> {
        self.sites.iter()
    }

    /// Whether the image has no call sites.
    pub fn is_empty(&self) -> bool {
        self.sites.is_empty()
    }

    /// How many records there are, copies included.
    pub fn records(&self) -> usize {
        self.records
    }

    /// How many records could not be understood: of another version, or with pointers that lead
    /// nowhere.
    pub fn unread(&self) -> usize {
        self.unread
    }

    /// The format or file name at an address that some site has it at.
    pub fn literal_at(&self, address: Svma) -> Option<&[u8]> {
        self.literals.get(&address).map(|(bytes, _)| &**bytes)
    }

    /// What describes the format at an address; empty if nothing does.
    pub fn description_at(&self, address: Svma) -> &[u8] {
        let known = self.literals.get(&address);
        known.map_or(&[], |(_, description)| description)
    }

    /// Where the records of a site are that logs these: several if the compiler made copies, or
    /// if one line has several calls.
    pub(crate) fn records_of(&self, format: Svma, file: Svma, line: u64) -> &[Svma] {
        let known = self.places.get(&(format, file, line));
        known.map_or(&[], |places| places)
    }

    /// What the section of `elf` holds.
    pub(crate) fn read(elf: &Elf, pointers: &Pointers) -> CallSites {
        let mut sites = CallSites::default();
        let Some((start, size)) = elf.loaded_section(layout::SECTION) else {
            return sites;
        };
        let whole = size / layout::SIZE as u64;
        let count = usize::try_from(whole).unwrap_or(usize::MAX);
        let mut strings = Strings {
            elf,
            known: HashMap::new(),
            // Strings may share their ends, and no honest ones share more than this.
            left: elf.size().saturating_add(1 << 20),
        };
        let mut by_state = HashMap::new();
        for index in 0..count.min(MOST) {
            let address = Svma(start.0.wrapping_add((index * layout::SIZE) as u64));
            let Some(record) = elf.bytes_at(address, layout::SIZE) else {
                // The section is longer than the file, or has no bytes in it.
                sites.unread += count - index;
                break;
            };
            sites.records += 1;
            match site(elf, pointers, &mut strings, address, record) {
                Some(site) => {
                    let key = (site.format.address, site.file.address, site.line.into());
                    sites.places.entry(key).or_default().push(address);
                    by_state.entry(site.state).or_insert(site);
                }
                None => sites.unread += 1,
            }
        }
        sites.sites = by_state.into_values().collect();
        sites.sites.sort_by(|a, b| {
            let key = |it: &CallSite| (it.file.bytes.clone(), it.line, it.format.bytes.clone());
            key(a).cmp(&key(b)).then(a.address.cmp(&b.address))
        });
        for site in &sites.sites {
            let file = (site.file.bytes.clone(), Arc::from([]));
            sites.literals.insert(site.file.address, file);
            let format = (site.format.bytes.clone(), site.description.clone());
            sites.literals.insert(site.format.address, format);
        }
        sites
    }
}

impl<'a> IntoIterator for &'a CallSites {
    type Item = &'a CallSite;
    type IntoIter = std::slice::Iter<'a, CallSite>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

fn site(
    elf: &Elf,
    pointers: &Pointers,
    strings: &mut Strings<'_>,
    address: Svma,
    record: &[u8],
) -> Option<CallSite> {
    if record[layout::VERSION_AT] != layout::VERSION {
        return None;
    }
    let pointer = |offset: usize| pointers.at(elf, Svma(address.0.wrapping_add(offset as u64)));
    let mut literal = |offset| {
        let address = pointer(offset)?;
        let bytes = strings.at(address)?;
        Some(Literal { address, bytes })
    };
    let (mut format, file) = (literal(layout::FORMAT)?, literal(layout::FILE)?);
    let mut text = |offset| literal(offset).map(|literal| literal.bytes);
    let (function, module) = (text(layout::FUNCTION), text(layout::MODULE));
    let flags = record[layout::FLAGS];
    let description = described(strings, &mut format, flags);
    let args = usize::from(record[layout::ARGS]);
    let kinds = match pointer(layout::KINDS) {
        Some(kinds) => elf
            .bytes_at(kinds, args)?
            .iter()
            .copied()
            .map(ArgKind)
            .collect(),
        None => kinds_of(&format.bytes, args),
    };
    let line = elf.u32_at(Svma(address.0.wrapping_add(layout::LINE as u64)))?;
    Some(CallSite {
        address,
        state: pointer(layout::STATE)?,
        format,
        description: description.unwrap_or_default(),
        file,
        line,
        level: Level(record[layout::LEVEL]),
        function,
        module,
        kinds,
        flags,
    })
}

/// The description after a format, if the flags say that there is one. A format that is
/// empty since its text is not printf's gets that text.
fn described(strings: &mut Strings<'_>, format: &mut Literal, flags: u8) -> Option<Arc<[u8]>> {
    if flags & layout::flags::DESCRIBED == 0 {
        return None;
    }
    let behind = |at: Svma, bytes: &[u8]| Svma(at.0.wrapping_add(bytes.len() as u64 + 1));
    let mut at = behind(format.address, &format.bytes);
    if flags & layout::flags::ATTACHED != 0 {
        let captured = strings.at(at)?;
        at = behind(at, &captured);
    }
    let description = strings.at(at)?;
    if Description::of(&description).grammar().is_template() {
        format.bytes = strings.at(behind(at, &description))?;
    }
    Some(description)
}

/// The kinds of `args` arguments where no record has them: Rust's macros make them from the
/// arguments' types, which agree with the format.
fn kinds_of(format: &[u8], args: usize) -> Vec<ArgKind> {
    let known = caller_args(format).min(args);
    (0..known)
        .map_while(|index| caller_arg(format, index))
        .map(|arg| match arg.class {
            Class::Char | Class::WideChar => ArgKind::CHAR,
            Class::Float => ArgKind::DOUBLE,
            Class::LongDouble => ArgKind::LONG_DOUBLE,
            Class::Str => ArgKind::BYTES,
            Class::WideStr => ArgKind::WSTR,
            Class::Pointer | Class::Written => ArgKind::POINTER,
            Class::Star | Class::Int | Class::Errno if arg.c_type == arg.c_type.signed() => {
                ArgKind::INT
            }
            Class::Star | Class::Int | Class::Errno => ArgKind::UINT,
        })
        .collect()
}

/// Strings of the image, each read once, all together no longer than makes sense.
struct Strings<'a> {
    elf: &'a Elf,
    known: HashMap<Svma, Option<Arc<[u8]>>>,
    left: usize,
}

impl Strings<'_> {
    fn at(&mut self, address: Svma) -> Option<Arc<[u8]>> {
        if let Some(known) = self.known.get(&address) {
            return known.clone();
        }
        let longest = LONGEST.min(self.left);
        let found = self.elf.string_at(address, longest);
        // What was looked at and is no string costs as much.
        self.left -= found.map_or(longest, |bytes| bytes.len());
        let found: Option<Arc<[u8]>> = found.map(Arc::from);
        self.known.insert(address, found.clone());
        found
    }
}
