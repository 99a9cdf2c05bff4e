//! Whether the process of a control page lives, and ringing its bell: by the lock that it
//! holds on the page, by the memory file that it and its children have open, and by what
//! `/proc` says of its number. What a page names is checked before anything is written to it.

use super::page::Page;
use logdef_wire::control::State;
use rustix::fs::{OFlags, SealFlags, fcntl_get_seals};
use rustix::process::{Flock, FlockType, fcntl_getlk};
use std::fs::{File, OpenOptions};
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};

/// The byte of a page that its process has locked while it lives.
const LIVES: u64 = 1 << 20;

/// Bytes of the memory file.
const BELL: u64 = 4096;

/// What is known of the process of a page.
pub struct Life {
    pub is_alive: bool,
    /// The number of the process, or of a child of it, as it is seen from here.
    pub pid: Option<u32>,
    bell: Option<File>,
}

impl Life {
    pub fn of(page: &Page, state: &State<'_>) -> Life {
        let mut lock = Flock::from(FlockType::WriteLock);
        (lock.start, lock.length) = (LIVES, 1);
        let held = fcntl_getlk(&page.file, &lock).ok().flatten();
        let holder = held.and_then(|held| held.pid);
        let holder = holder.and_then(|pid| u32::try_from(pid.as_raw_nonzero().get()).ok());
        let bell = bell(page.user, state, holder);
        let is_known = || is_same_process(state).then_some(state.pid);
        let pid = holder
            .or(bell.as_ref().map(|(pid, _)| *pid))
            .or_else(is_known);
        Life {
            is_alive: held.is_some() || pid.is_some(),
            pid,
            bell: bell.map(|(_, file)| file),
        }
    }

    /// Makes the next call of the process look at the page. `false` if the process's memory
    /// cannot be reached from here: then calls that are logged look, once a second.
    pub fn ring(&self) -> bool {
        let Some(bell) = &self.bell else {
            return false;
        };
        let mut gate = [0; 4];
        if bell.read_exact_at(&mut gate, 0).is_err() {
            return false;
        }
        let gate = u32::from_ne_bytes(gate);
        // As the process writes it: even, in the upper half of 31 bits.
        if !gate.is_multiple_of(2) || !(BASE..2 * BASE).contains(&gate) {
            return false;
        }
        let next = BASE | (gate & (BASE - 1)).wrapping_add(STEP) & (BASE - 1);
        bell.write_all_at(&next.to_ne_bytes(), 0).is_ok()
    }
}

/// Gates have this bit and are less than twice it.
const BASE: u32 = 1 << 30;

/// More than the process itself adds meanwhile.
const STEP: u32 = 4096;

/// The memory file that the page names, as a living process has it open.
fn bell(user: u32, state: &State<'_>, holder: Option<u32>) -> Option<(u32, File)> {
    if state.bell_descriptor == 0 {
        return None;
    }
    let likely = holder.into_iter().chain([state.pid]);
    let found = likely.into_iter().find_map(|pid| bell_of(pid, user, state));
    // Another namespace has other numbers, and a child has it too.
    found.or_else(|| processes().find_map(|pid| bell_of(pid, user, state)))
}

fn bell_of(pid: u32, user: u32, state: &State<'_>) -> Option<(u32, File)> {
    let path = format!("/proc/{pid}/fd/{}", state.bell_descriptor);
    let is_it = |found: &std::fs::Metadata| {
        (found.dev(), found.ino()) == state.bell
            && found.is_file()
            && found.uid() == user
            && found.len() == BELL
    };
    std::fs::metadata(&path).ok().filter(is_it)?;
    let mut options = OpenOptions::new();
    options.read(true).write(true);
    options.custom_flags((OFlags::NONBLOCK | OFlags::NOCTTY).bits().cast_signed());
    let file = options.open(&path).ok()?;
    file.metadata().ok().filter(is_it)?;
    // A file of the disk has no seals: nothing else than memory is written to.
    let seals = fcntl_get_seals(&file).ok()?;
    let sealed = SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL;
    seals.contains(sealed).then_some((pid, file))
}

/// The numbers of all processes that are seen from here.
fn processes() -> impl Iterator<Item = u32> {
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

/// Whether the process of that number is the one that wrote the page: of this boot, and
/// started at that time.
fn is_same_process(state: &State<'_>) -> bool {
    let boot = std::fs::read("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", state.pid)).unwrap_or_default();
    let fields = stat.rsplit(')').next().unwrap_or_default();
    let mut fields = fields.split_ascii_whitespace();
    let is_dead = fields
        .next()
        .is_none_or(|letter| matches!(letter, "Z" | "X"));
    let started = fields.nth(18).and_then(|field| field.parse().ok());
    let is_it = boot.trim_ascii_end() == state.boot && !is_dead && started == Some(state.started);
    is_it && !is_another_program(state)
}

/// Whether the process became another program (`exec`), which has the same number and time: the memory file is
/// not mapped any more. A process whose mappings may not be read counts as the same.
fn is_another_program(state: &State<'_>) -> bool {
    let (_, inode) = state.bell;
    let maps = std::fs::read_to_string(format!("/proc/{}/maps", state.pid)).unwrap_or_default();
    let inode_of = |line: &str| line.split_ascii_whitespace().nth(4)?.parse::<u64>().ok();
    state.bell_descriptor != 0
        && !maps.is_empty()
        && !maps.lines().any(|line| inode_of(line) == Some(inode))
}
