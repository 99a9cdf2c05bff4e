//! An archive as a folder of parts: which logs are in it already, and adding others so that a part
//! is there whole or not at all. Knows what parts are called, and not what stands in them.

use crate::columns::Written;
use crate::guard::{self, wrong};
use crate::part::{self, RECORDS};
use crate::read::read_all;
use crate::rows;
use crate::schema::Unit;
use crate::side::{FILES, THREADS_COLUMNS};
use crate::stored::{self, Kept};
use foldhash::fast::RandomState;
use logdef_resync::{Error, Images, Input, Recovery, Resolver};
use rustix::fs::{FlockOperation, flock};
use std::collections::HashMap;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// A part that is being written.
const NEW: &str = "new.tmp";

/// The parts of an archive, in the order in which they were made; none if the folder is no archive. One
/// that lost its files or cannot be examined is a part too: opening it says what is wrong with it.
pub fn parts(folder: &Path) -> Vec<PathBuf> {
    list(folder).unwrap_or_default()
}

fn list(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut parts = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if number(&path).is_some() {
            parts.push(path);
        }
    }
    // Logs may have such names, in a folder that is no archive.
    if !parts.iter().any(|path| is_part(path)) {
        parts.clear();
    }
    parts.sort_by_key(|path| number(path));
    Ok(parts)
}

/// Whether a path leads to a part of an archive, or has the name that [`Archive::add`] gives one and
/// leads to no plain file: then it is one that lost its files, or that cannot be examined.
pub fn is_part(path: &Path) -> bool {
    let is_there = || path.symlink_metadata().is_ok();
    let is_plain = || path.metadata().is_ok_and(|about| !about.is_dir());
    path.join(RECORDS).is_file() || has_full_name(path) && is_there() && !is_plain()
}

/// Whether a name is `part-` and as many digits as we write, or more.
fn has_full_name(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default();
    number(path).is_some() && name.len() >= "part-000001".len()
}

/// The number in a part's name.
fn number(path: &Path) -> Option<u64> {
    let digits = path.file_name()?.to_str()?.strip_prefix("part-")?;
    digits.parse().ok()
}

/// What a file was when it was archived; if all of it is the same, so is the file.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub struct Identity {
    pub(crate) device: u64,
    pub(crate) inode: u64,
    pub(crate) bytes: u64,
    /// Nanoseconds since the epoch.
    pub(crate) modified: i64,
}

impl Identity {
    /// That of the file at a path; `None` of what is no file, and may be something else next time.
    pub fn of(path: &Path) -> Option<Identity> {
        let about = fs::metadata(path).ok().filter(fs::Metadata::is_file)?;
        let seconds = about.mtime().checked_mul(1_000_000_000)?;
        Some(Identity {
            device: about.dev(),
            inode: about.ino(),
            bytes: about.len(),
            modified: seconds.checked_add(about.mtime_nsec())?,
        })
    }

    /// Whether it is that of the file that was opened, not of another that had its name before.
    pub fn is_of(&self, input: &Input) -> bool {
        input.device_and_inode() == Some(self.file())
    }

    fn file(&self) -> (u64, u64) {
        (self.device, self.inode)
    }
}

/// Counts of records that an archive holds, by run and thread: the first and the last of each stretch.
pub(crate) type Known = HashMap<(u64, u64), Vec<(u64, u64)>, RandomState>;

/// An archive that logs are added to. No other process adds to it meanwhile.
#[derive(Debug)]
pub struct Archive {
    folder: PathBuf,
    unit: Unit,
    row_group: usize,
    last: u64,
    known: Known,
    /// Files that are in it, as they were last, with what they had lost.
    files: HashMap<(u64, u64), Kept, RandomState>,
    /// Held as long as this is.
    _lock: File,
}

impl Archive {
    /// Opens the archive in a folder, which is made if it is not there.
    ///
    /// # Errors
    ///
    /// If the folder holds other things, or another unit of time, if a part of it cannot be read, or if
    /// another process is adding to it.
    pub fn open(folder: &Path, unit: Option<Unit>) -> io::Result<Archive> {
        guard::can_run()?;
        match fs::create_dir(folder) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
            _ => {}
        }
        let lock = File::open(folder)?;
        flock(&lock, FlockOperation::NonBlockingLockExclusive).map_err(|error| {
            if error == rustix::io::Errno::WOULDBLOCK {
                io::Error::new(
                    io::ErrorKind::ResourceBusy,
                    "another process is adding to it",
                )
            } else {
                error.into()
            }
        })?;
        let left = folder.join(NEW);
        if left.exists() {
            fs::remove_dir_all(&left)?;
        }
        let parts = list(folder)?;
        if parts.is_empty() && fs::read_dir(folder)?.next().is_some() {
            let why = "it exists already, and is not an archive";
            return Err(io::Error::new(io::ErrorKind::AlreadyExists, why));
        }
        let mut archive = Archive {
            folder: folder.to_owned(),
            unit: unit.unwrap_or_default(),
            row_group: rows::RECORDS,
            last: parts.last().and_then(|part| number(part)).unwrap_or(0),
            known: Known::default(),
            files: HashMap::default(),
            _lock: lock,
        };
        for (index, part) in parts.iter().enumerate() {
            let named = |error: io::Error| {
                let name = part.file_name().unwrap_or_default().display();
                io::Error::new(error.kind(), format!("{name}: {error}"))
            };
            let own = guard::caught(|| archive.take_in(part)).map_err(named)?;
            if index == 0 && unit.is_none() {
                archive.unit = own;
            }
            if own != archive.unit {
                let why = "its times are kept in another unit: see --time";
                return Err(io::Error::new(io::ErrorKind::InvalidInput, why));
            }
        }
        Ok(archive)
    }

    /// Notes what a part holds, and returns the unit of its times.
    fn take_in(&mut self, part: &Path) -> io::Result<Unit> {
        let metadata = guard::open_records(part)?.metadata;
        let unit = guard::unit_of_records(&metadata)?;
        let threads = read_all(part, "threads.parquet", THREADS_COLUMNS)?;
        stored::each_stretch(&threads, |thread, first, last| {
            self.known.entry(thread).or_default().push((first, last));
        })?;
        self.known.values_mut().for_each(join);
        for kept in stored::kept_files(&read_all(part, "files.parquet", FILES)?)? {
            self.files.insert(kept.identity.file(), kept);
        }
        Ok(unit)
    }

    /// Makes row groups of that many records, up to 1,048,576, and not of 131,072: smaller ones take more
    /// room, and a question about a short time or a request reads less.
    pub fn with_row_groups_of(mut self, records: usize) -> Archive {
        self.row_group = records.clamp(1, rows::MOST);
        self
    }

    /// Whether a file is in it as it is now.
    pub fn has(&self, file: &Identity) -> bool {
        let kept = self.files.get(&file.file());
        kept.is_some_and(|kept| kept.identity == *file)
    }

    /// Adds what some logs hold that is not in it yet, as one part: it is there as soon as this
    /// returns, and nothing is before. `files` says what each input is a file of.
    pub fn add(
        &mut self,
        inputs: &[Input],
        files: &[Option<Identity>],
        recovery: &Recovery,
        images: impl Images,
    ) -> Result<Written, Error> {
        let own = |cause| Error::new("output", cause);
        let new = self.folder.join(NEW);
        fs::create_dir(&new).map_err(own)?;
        let before = files.iter().flatten();
        let before = before.filter_map(|file| self.files.get(&file.file())?.losses.clone());
        let job = part::Job {
            inputs,
            files,
            recovery,
            unit: self.unit,
            row_group: self.row_group,
            known: &self.known,
            losses_before: before.collect(),
        };
        let mut resolver = Resolver::new(recovery.tables(), images);
        let written = part::write(&new, &job, &mut resolver).and_then(|written| {
            let part = self.folder.join(format!("part-{:06}", self.last + 1));
            File::open(&new).and_then(|it| it.sync_all()).map_err(own)?;
            fs::rename(&new, &part).map_err(own)?;
            File::open(&self.folder)
                .and_then(|it| it.sync_all())
                .map_err(own)?;
            self.last += 1;
            guard::caught(|| self.take_in(&part)).map_err(own)?;
            Ok(written)
        });
        if written.is_err() {
            let _ = fs::remove_dir_all(&new);
        }
        written
    }

    /// Removes the folder if there is nothing in it.
    pub fn remove_if_empty(self) {
        let _ = fs::remove_dir(&self.folder);
    }
}

/// Whether a record is known.
pub(crate) fn holds(known: &Known, run: u64, thread: u64, count: u64) -> bool {
    let Some(stretches) = known.get(&(run, thread)) else {
        return false;
    };
    let behind = stretches.partition_point(|(first, _)| *first <= count);
    behind > 0 && stretches[behind - 1].1 >= count
}

/// Sorts stretches and joins those that touch.
fn join(stretches: &mut Vec<(u64, u64)>) {
    stretches.sort_unstable();
    let mut joined: Vec<(u64, u64)> = Vec::with_capacity(stretches.len());
    for (first, last) in stretches.drain(..) {
        match joined.last_mut() {
            Some((_, end)) if first <= end.saturating_add(1) => *end = last.max(*end),
            _ => joined.push((first, last)),
        }
    }
    *stretches = joined;
}

/// Reads a stretch as the table of threads has it.
pub(crate) fn stretch(text: &str) -> io::Result<(u64, u64)> {
    let numbers = text.split_once('-');
    let numbers = numbers.and_then(|(first, last)| first.parse().ok().zip(last.parse().ok()));
    numbers.ok_or_else(|| wrong("a range of records that cannot be read"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stretches_that_touch_are_one() {
        let mut stretches = vec![(7, 9), (0, 3), (4, 5), (20, 30), (22, 25)];
        join(&mut stretches);
        assert_eq!(stretches, [(0, 5), (7, 9), (20, 30)]);
        let known: Known = [((1, 2), stretches)].into_iter().collect();
        let held: Vec<u64> = (0..35)
            .filter(|count| holds(&known, 1, 2, *count))
            .collect();
        let expected: Vec<u64> = (0..6).chain(7..10).chain(20..31).collect();
        assert_eq!(held, expected);
        assert!(!holds(&known, 1, 3, 0));
        assert_eq!(stretch("7-9").unwrap(), (7, 9));
        assert!(stretch("7").is_err());
    }

    /// The link of a log led to one file when it was asked, and to another when it was opened: the other
    /// was then archived under the name of the first, which counted as archived.
    #[test]
    fn an_identity_is_of_the_file_that_was_opened() {
        let folder = tempfile::tempdir().unwrap();
        let [first, second, link] = ["1", "2", "link"].map(|name| folder.path().join(name));
        for file in [&first, &second] {
            fs::write(file, "the same").unwrap();
        }
        let opened_at = |file| {
            let _ = fs::remove_file(&link);
            std::os::unix::fs::symlink(file, &link).unwrap();
            (Identity::of(&link).unwrap(), Input::open(&link).unwrap())
        };
        let (identity, input) = opened_at(&first);
        let (other, newer) = opened_at(&second);
        assert!(identity.is_of(&input) && other.is_of(&newer));
        assert!(!identity.is_of(&newer) && !other.is_of(&input));
        assert!(!identity.is_of(&Input::from_bytes("memory", b"the same".to_vec())));
    }
}
