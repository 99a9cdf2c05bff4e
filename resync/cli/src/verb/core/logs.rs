//! The logs of a process that a core dump is of: those among the files that it had mapped, what of them is
//! in the core, and which files on disk they and their rotated parts are. Paths in a core are hints: only
//! plain files that begin as logs do are opened.

use crate::show::losses;
use logdef_resync::{Input, Source};
use logdef_symbolizer::{CoreDump, MappedFile, ReadAt};
use logdef_wire::frame;
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fmt;
use std::io;
use std::ops::Range;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Bytes of a mapped part that are looked at to see whether it is one of a log.
const HEAD: usize = 64 << 10;
/// How often a page of a log may be mapped and be looked at each time.
const LAYERS: usize = 64;
/// Where the last byte of a log may be: a core made by hand may name any place, and the way there takes time.
const FARTHEST: u64 = 1 << 38;
/// What the kernel adds to the name of a file that was removed.
const REMOVED: &[u8] = b" (deleted)";

/// The bytes of a core dump.
#[derive(Clone, Debug)]
pub struct Bytes(Arc<Input>);

impl Bytes {
    pub fn of(input: Input) -> Bytes {
        Bytes(Arc::new(input))
    }

    /// All of them, as an input of their own.
    pub fn as_input(&self) -> Input {
        let Bytes(input) = self;
        Input::from_source(input.name(), self.clone(), input.len())
    }
}

impl ReadAt for Bytes {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        self.0.read_at(buffer, offset)
    }
}

impl Source for Bytes {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        self.0.read_at(buffer, offset)
    }

    fn behind_hole(&self, offset: u64) -> u64 {
        self.0.behind_hole(offset)
    }
}

/// A log that a process had mapped.
pub struct OpenLog {
    pub path: Vec<u8>,
    pub whereabouts: Whereabouts,
    /// How much of it is in the core, if it is one of a core.
    pub in_core: Option<u64>,
}

/// Where a log is read from, besides the core.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Whereabouts {
    Disk,
    Process,
    Removed,
    Absent,
    NotLookedFor,
}

impl Whereabouts {
    /// The same as a word: see JSON.md.
    pub fn word(self) -> &'static str {
        match self {
            Whereabouts::Disk => "disk",
            Whereabouts::Process => "process",
            Whereabouts::Removed => "removed",
            Whereabouts::Absent => "absent",
            Whereabouts::NotLookedFor => "not looked for",
        }
    }
}

impl fmt::Display for OpenLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let where_it_is = match self.whereabouts {
            Whereabouts::Disk => "read from disk",
            Whereabouts::Process => "read through the process",
            Whereabouts::Removed => "was removed from disk",
            Whereabouts::Absent => "missing on disk",
            Whereabouts::NotLookedFor => "not looked for on disk",
        };
        let path = String::from_utf8_lossy(&self.path);
        write!(f, "log {path}: {where_it_is}")?;
        match self.in_core {
            None => Ok(()),
            Some(0) => f.write_str(
                "; not in the core, which has only what bit 3 of coredump_filter asks for",
            ),
            Some(bytes) => write!(f, "; {} of it in the core", losses::count(bytes, "byte")),
        }
    }
}

/// The logs of a process.
#[derive(Default)]
pub struct Found {
    /// What of them is in the core, or only the process still has.
    pub inputs: Vec<Input>,
    /// Where they are on disk.
    pub on_disk: Vec<PathBuf>,
    pub logs: Vec<OpenLog>,
}

impl Found {
    /// The logs that a process had mapped; on disk only if the core's paths are to be opened.
    pub fn in_core(core: &CoreDump<Bytes>, opens_paths: bool) -> Found {
        let mut by_path: BTreeMap<&[u8], Vec<&MappedFile>> = BTreeMap::new();
        for mapped in core.mapped_files() {
            by_path.entry(&mapped.path).or_default().push(mapped);
        }
        let mut found = Found::default();
        for (path, parts) in by_path {
            found.add(core, path, &parts, opens_paths);
        }
        found.finish()
    }

    fn add(
        &mut self,
        core: &CoreDump<Bytes>,
        path: &[u8],
        parts: &[&MappedFile],
        opens_paths: bool,
    ) {
        let mut layers = Parts::layers(core, parts);
        layers.retain(Parts::hold_frames);
        let path_of_file = Path::new(OsStr::from_bytes(path));
        let is_there = opens_paths && logdef_resync::begins_as_log(path_of_file);
        if !is_there && layers.is_empty() {
            return;
        }
        let name = path_of_file.display();
        self.logs.push(OpenLog {
            path: path.to_vec(),
            whereabouts: if is_there {
                Whereabouts::Disk
            } else if path.ends_with(REMOVED) {
                Whereabouts::Removed
            } else if opens_paths {
                Whereabouts::Absent
            } else {
                Whereabouts::NotLookedFor
            },
            in_core: Some(layers.iter().map(Parts::len).sum()),
        });
        if is_there {
            self.on_disk(path_of_file);
        }
        for layer in layers {
            let name = format!("{name} in the core");
            let end = layer.end();
            self.inputs.push(Input::from_source(name, layer, end));
        }
    }
}

impl Found {
    /// Takes in a log that is on disk, with the files that it was rotated to.
    pub fn on_disk(&mut self, path: &Path) {
        let family = logdef_resync::family(&base(path)).into_iter();
        self.on_disk.extend(family.filter(|path| path.is_file()));
        self.on_disk.push(path.to_owned());
    }

    /// Each file once, in the order of their names.
    pub fn finish(mut self) -> Found {
        self.on_disk.sort();
        self.on_disk.dedup();
        self
    }
}

/// The name that a log was opened with, as far as that of one of its files says: rotated files have
/// numbers after it.
fn base(path: &Path) -> PathBuf {
    let is_number = |end: &OsStr| {
        let mut bytes = end.as_bytes().iter();
        bytes.all(|byte| byte.is_ascii_digit() || *byte == b'-')
    };
    let mut base = path.to_owned();
    while base.extension().is_some_and(is_number) {
        base.set_extension("");
    }
    base
}

/// The parts of a file that are in a core, each where it is in the file; between them is nothing.
struct Parts {
    core: Bytes,
    /// By their place in the file, none twice: that, and where they begin in the core.
    parts: Vec<(Range<u64>, u64)>,
}

impl Parts {
    /// The dumped parts of a file, in as few layers as have none that overlap: threads share pages of a log,
    /// and of what was mapped twice, a core may hold zeros once.
    fn layers(core: &CoreDump<Bytes>, mapped: &[&MappedFile]) -> Vec<Parts> {
        let parts = mapped.iter().filter_map(|mapped| {
            let (offset, len) = core.dumped(mapped)?;
            let end = mapped.file_offset.checked_add(len)?;
            (end <= FARTHEST).then_some((mapped.file_offset..end, offset))
        });
        let mut parts: Vec<_> = parts.collect();
        parts.sort_by_key(|(range, _)| range.start);
        let mut layers: Vec<Parts> = Vec::new();
        for part in parts {
            let free = layers.iter().position(|it| it.end() <= part.0.start);
            match free {
                Some(layer) => layers[layer].parts.push(part),
                None if layers.len() < LAYERS => layers.push(Parts {
                    core: core.file().clone(),
                    parts: vec![part],
                }),
                None => {}
            }
        }
        layers
    }

    fn len(&self) -> u64 {
        let lens = self.parts.iter().map(|(range, _)| range.end - range.start);
        lens.sum()
    }

    fn end(&self) -> u64 {
        self.parts.last().map_or(0, |(range, _)| range.end)
    }

    /// The part that an offset is in or before.
    fn part(&self, offset: u64) -> Option<&(Range<u64>, u64)> {
        let over = self.parts.partition_point(|(range, _)| range.end <= offset);
        self.parts.get(over)
    }

    /// Whether the head of one has what looks like the beginning of a frame.
    fn hold_frames(&self) -> bool {
        let mut head = vec![0; HEAD];
        self.parts.iter().any(|(range, offset)| {
            let len = HEAD.min((range.end - range.start) as usize);
            let got = self.core.0.read_at(&mut head[..len], *offset).unwrap_or(0);
            let mut places = head[..got].windows(frame::PATTERN_LEN);
            !head.starts_with(b"\x7fELF") && places.any(frame::starts_with_pattern)
        })
    }
}

impl fmt::Debug for Parts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Parts")
            .field("parts", &self.parts)
            .finish_non_exhaustive()
    }
}

impl Source for Parts {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let next = self.part(offset);
        let Some((range, in_core)) = next else {
            return Ok(0);
        };
        if offset < range.start {
            let len = buffer
                .len()
                .min(usize::try_from(range.start - offset).unwrap_or(usize::MAX));
            buffer[..len].fill(0);
            return Ok(len);
        }
        let len = buffer
            .len()
            .min(usize::try_from(range.end - offset).unwrap_or(usize::MAX));
        let got = self
            .core
            .0
            .read_at(&mut buffer[..len], in_core + (offset - range.start))?;
        // A core that was cut short has nothing more, where other parts may still be.
        buffer[got..len].fill(0);
        Ok(len)
    }

    fn behind_hole(&self, offset: u64) -> u64 {
        let Some((range, in_core)) = self.part(offset) else {
            return offset;
        };
        let start = offset.max(range.start);
        let at = in_core + (start - range.start);
        let behind = self.core.0.behind_hole(at) - at;
        range.end.min(start.saturating_add(behind))
    }
}
