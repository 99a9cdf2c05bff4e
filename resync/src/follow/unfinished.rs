//! Compressed files that are still being written. They are read once, so the program that compresses a rotated
//! file has to be done with it. Knows lengths and times, and nothing of records.

use super::PATIENCE;
use super::family::is_compressed;
use crate::read::compression::HEAD;
use crate::read::input::Input;
use std::collections::HashMap;
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::Duration;

/// How long a file must have been as it is before it counts as one that was cut.
const QUIET: Duration = Duration::from_secs(2);

/// The files that break off, by device and inode.
#[derive(Debug, Default)]
pub(super) struct Unfinished(HashMap<(u64, u64), Seen>);

/// What a file was at the last look.
#[derive(Debug)]
struct Seen {
    stamp: Stamp,
    /// Looks since then, at which it was the same.
    looks: u32,
    is_met: bool,
}

/// Length, and when it was written last.
pub(super) type Stamp = (u64, i64, i64);

pub(super) fn stamp(about: &Metadata) -> Stamp {
    (about.len(), about.mtime(), about.mtime_nsec())
}

impl Unfinished {
    /// Whether there are any.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether a file should be opened at this look. One that broke off is unpacked again when it
    /// changes no more, since that takes long.
    pub(super) fn may_open(&mut self, identity: (u64, u64), about: &Metadata) -> bool {
        let Some(seen) = self.0.get_mut(&identity) else {
            return true;
        };
        seen.is_met = true;
        if seen.stamp != stamp(about) {
            (seen.stamp, seen.looks) = (stamp(about), 0);
            return false;
        }
        seen.looks = seen.looks.saturating_add(1);
        seen.looks == 1 || seen.is_settled(about)
    }

    /// Whether a file that was opened should be read later, when it is whole.
    pub(super) fn is_unfinished(&mut self, path: &Path, about: &Metadata, input: &Input) -> bool {
        let identity = (about.dev(), about.ino());
        let opened = input.file_identity();
        let is_plain = matches!(opened, Ok(Some((file, _))) if file == identity);
        // What is compressed cannot be seen yet: its first bytes are missing.
        let is_begun = is_plain && input.len() < HEAD as u64;
        let breaks_off = is_begun || input.broken_off().is_some();
        let is_cut = |seen: &Seen| !is_begun && seen.is_settled(about);
        if !is_compressed(path) || !breaks_off || self.0.get(&identity).is_some_and(is_cut) {
            self.0.remove(&identity);
            return false;
        }
        self.0.entry(identity).or_insert(Seen {
            stamp: stamp(about),
            looks: 0,
            is_met: true,
        });
        true
    }

    /// Forgets those that are gone.
    pub(super) fn end_of_look(&mut self) {
        self.0.retain(|_, seen| std::mem::take(&mut seen.is_met));
    }
}

impl Seen {
    /// Whether it will not change any more. The clock of a server may be ahead of ours: then it is enough
    /// that some looks found it the same.
    fn is_settled(&self, about: &Metadata) -> bool {
        let age = about.modified().ok().and_then(|time| time.elapsed().ok());
        self.looks >= PATIENCE && age.is_none_or(|age| age >= QUIET)
    }
}
