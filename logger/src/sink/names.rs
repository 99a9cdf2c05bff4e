//! What the files of a mapped log are called.
//!
//! A log that is not rotated is one file under the path it was opened with.
//! Rotated files are `path.000001`, `path.000002`, …, each under that name from
//! its creation to its end, and `path` is a symbolic link to the newest. No
//! step ever takes the only name of a file that holds records: an earlier
//! run's file is renamed aside, never overwritten.
//!
//! Files are removed only by the numbers that this process gave them, or one of its family that was
//! killed then ([`unfinished`]), or that its directory showed when the log was opened to be of logs
//! whose processes have ended ([`owner`]), or to hold nothing. What else has a name of this form
//! stays, and so does what is not ours under the path itself.
//!
//! All but [`Names::set`] works without allocation, since a rotation may
//! happen in a signal handler.

mod create;
mod left;
mod link;
mod number;
mod opened;
mod path;
mod places;
mod prune;
mod unfinished;

use super::kept_path::KeptPath;
use super::owner;
use super::rotation::{Rotation, SharedAccess};
use crate::state::{self, Existing, RawState};
use crate::sys::{self, Errno};
use core::ffi::CStr;
use core::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use number::{beside, numbers_in_use};
use path::PathBuffer;
use places::Places;
use std::os::unix::ffi::OsStrExt;
use unfinished::Unfinished;

pub(crate) use number::{UNNUMBERED, is_numbered};
pub(crate) use opened::Opened;
pub(crate) use places::MOST_KEPT;

/// The paths of the files of one log.
pub(crate) struct Names {
    /// The path of the log.
    pub(super) base: KeptPath,
    /// The highest number given out.
    number: AtomicU32,
    /// The number that a file got which had the log's name; 0 if none had it.
    displaced: AtomicU32,
    /// What became of what had the log's name ([`Existing`]).
    existing: AtomicU32,
    keep: AtomicU32,
    /// Bytes of all logs in the directory; 0 for any number.
    folder_bytes: AtomicU64,
    /// Whether a file is cleared as it is removed: then processes that have it open hold no space of it.
    clears: AtomicBool,
    /// New files are mapped.
    maps: AtomicBool,
    /// Who may read and write new files.
    access: SharedAccess,
    /// The files that are or were the log's.
    places: Places,
    /// Those that become so, or that are about to go.
    unfinished: Unfinished,
}

/// Numbers at most that are looked at for the highest of a log: a directory may hold
/// any number of other files of this form.
const LOOKED_AT: usize = 4096;

impl Names {
    #[cfg(test)]
    pub const fn new() -> Names {
        Names {
            base: KeptPath::new(),
            number: AtomicU32::new(0),
            displaced: AtomicU32::new(UNNUMBERED),
            existing: AtomicU32::new(0),
            keep: AtomicU32::new(0),
            folder_bytes: AtomicU64::new(0),
            clears: AtomicBool::new(false),
            maps: AtomicBool::new(false),
            access: SharedAccess::new(),
            places: Places::new(),
            unfinished: Unfinished::new(),
        }
    }

    /// Names files after `path`, after those that are there already. The next file
    /// will be the log's as the `turn`th.
    pub fn set(&self, path: &[u8], keep: Option<u32>, turn: u64) -> Result<(), Errno> {
        let mut absolute = PathBuffer::new()?;
        let full = std::path::absolute(std::ffi::OsStr::from_bytes(path))
            .map_err(|error| Errno(error.raw_os_error().unwrap_or(libc::EINVAL)))?;
        absolute.push(full.as_os_str().as_bytes())?;
        self.base.set(absolute.as_c_str())?;
        self.displaced.store(UNNUMBERED, Ordering::Relaxed);
        self.set_existing(Existing::Nothing);
        let beside = beside(&full);
        left::remove_links(&full, &beside);
        let mut numbers = numbers_in_use(&beside, self.name());
        let is_log = |number: &&u32| self.with(**number, owner::is_log) == Ok(true);
        let last = numbers.iter().rev().take(LOOKED_AT).find(is_log);
        self.number
            .store(last.copied().unwrap_or(0), Ordering::Relaxed);
        let keep = keep.map_or(0, |keep| keep.min(MOST_KEPT));
        self.keep.store(keep, Ordering::Relaxed);
        let is_left = |path: &CStr| left::file_at(path).is_some();
        match keep {
            0 => numbers.clear(),
            _ => numbers.retain(|number| self.with(*number, is_left) == Ok(true)),
        }
        let excess = numbers.len().saturating_sub(MOST_KEPT as usize);
        for number in numbers.drain(..excess) {
            let remove = |path: &CStr| left::file_at(path).map(|_left| sys::unlink(path));
            let _ = self.with(number, remove);
        }
        self.places.start(&numbers, turn);
        Ok(())
    }

    /// The log's path.
    pub fn path(&self) -> Option<&CStr> {
        self.base.get()
    }

    fn base(&self) -> &[u8] {
        self.path().map_or(b"", CStr::to_bytes)
    }

    /// Says who may read and write new files, and how many bytes all logs in their
    /// directory may have.
    pub fn set_bounds(&self, rotation: &Rotation) {
        self.access.set(rotation.access);
        let bytes = rotation.folder_bytes.unwrap_or(0);
        self.folder_bytes.store(bytes, Ordering::Relaxed);
    }

    /// Calls `with` with the name of file `number`.
    pub fn with<T>(&self, number: u32, with: impl FnOnce(&CStr) -> T) -> Result<T, Errno> {
        let mut path = PathBuffer::new()?;
        path.push(self.base())?;
        if number != UNNUMBERED {
            path.push(b".")?;
            path.push_number(number)?;
        }
        Ok(with(path.as_c_str()))
    }

    /// Fills in the path of file `number`, or of the newest, and what became of the file
    /// that had the log's name.
    pub fn describe(&self, number: u32, into: &mut RawState) {
        let _ = self.with(number, |path| state::copy(&mut into.path, path.to_bytes()));
        into.existing = self.existing.load(Ordering::Relaxed) as i32;
        let displaced = self.displaced.load(Ordering::Relaxed);
        if displaced != UNNUMBERED {
            let _ = self.with(displaced, |path| {
                state::copy(&mut into.previous, path.to_bytes());
            });
        }
    }

    /// Whether the run has one file so far.
    fn newest_is_first(&self) -> bool {
        self.places.number_at(self.places.first()) == self.number.load(Ordering::Relaxed)
    }

    /// What became of what stood under the path.
    pub fn set_existing(&self, existing: Existing) {
        self.existing.store(existing.code(), Ordering::Relaxed);
    }

    /// Calls `with` with the directory of the files.
    pub fn with_directory<T>(&self, with: impl FnOnce(&CStr) -> T) -> Result<T, Errno> {
        let base = self.base();
        let len = base.iter().rposition(|byte| *byte == b'/');
        let mut path = PathBuffer::new()?;
        path.push(match len {
            Some(0) => b"/",
            Some(len) => &base[..len],
            None => b".",
        })?;
        Ok(with(path.as_c_str()))
    }

    /// The last part of the path.
    fn name(&self) -> &[u8] {
        let base = self.base();
        base.rsplit(|byte| *byte == b'/').next().unwrap_or(base)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use logdef_wire::record::Preamble;
    use std::ffi::CString;
    use std::path::Path;

    pub(super) fn names(keep: Option<u32>) -> (tempfile::TempDir, Names) {
        let directory = tempfile::tempdir().unwrap();
        let names = Names::new();
        let path = directory.path().join("log");
        names.set(path.as_os_str().as_bytes(), keep, 1).unwrap();
        (directory, names)
    }

    pub(super) fn list(directory: &tempfile::TempDir) -> Vec<String> {
        let entries = std::fs::read_dir(directory.path()).unwrap();
        let mut names: Vec<_> = entries
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    /// Makes a file, and closes it: its number.
    pub(super) fn create(names: &Names) -> u32 {
        let (made, number) = names.create_numbered().unwrap();
        made.close();
        number
    }

    /// Waits until no process has a file. Those that other tests start have its descriptor for a moment.
    pub(super) fn until_left(path: &Path) {
        let path = CString::new(path.as_os_str().as_bytes()).unwrap();
        while owner::Left::at(&path).is_err() {
            std::thread::yield_now();
        }
    }

    /// The front of a log by a process.
    pub(super) fn log_by(pid: u64) -> Vec<u8> {
        let mut bytes = vec![0; 256];
        let preamble = Preamble {
            pid: Some(pid),
            ..Preamble::default()
        };
        let len = frame_of(&mut bytes, &preamble);
        bytes.truncate(len);
        bytes
    }

    fn frame_of(bytes: &mut [u8], preamble: &Preamble<'_>) -> usize {
        logdef_wire::frame::encode(bytes, |encoder| preamble.encode(encoder)).unwrap()
    }

    /// A pid that no process has.
    pub(super) const ENDED: u64 = 0x7fff_fff0;

    #[test]
    fn the_path_leads_to_the_newest_and_old_ones_go() {
        let (directory, names) = names(Some(2));
        for round in 1..=4 {
            let (made, number) = names.create_numbered().unwrap();
            sys::write(made.fd, &[round]).unwrap();
            made.close();
            names.enter(round as u64, number, made.file.file.1);
            names.point_to(number).unwrap();
            names.prune(round as u64);
            let newest = std::fs::read(directory.path().join("log")).unwrap();
            assert_eq!(newest, [round]);
        }
        assert_eq!(list(&directory), ["log", "log.000003", "log.000004"]);
    }

    #[test]
    fn strangers_files_stay_and_their_numbers_cost_nothing() {
        let directory = tempfile::tempdir().unwrap();
        let strangers = [
            "log.1",
            "log.1000000",
            "log.1700000000",
            "log.20261119",
            "log.20261120",
            "log.20261121",
            "log.000002",
            "log.000002.gz",
            "log.4294967296",
            "log.+00003",
        ];
        for name in strangers {
            std::fs::write(directory.path().join(name), "a text log\n").unwrap();
        }
        std::fs::write(directory.path().join("log.000001"), log_by(ENDED)).unwrap();
        let names = Names::new();
        let path = directory.path().join("log");
        names.set(path.as_os_str().as_bytes(), Some(2), 1).unwrap();
        for turn in 1..=4 {
            let (made, number) = names.create_numbered().unwrap();
            made.close();
            names.enter(turn, number, made.file.file.1);
            names.point_to(number).unwrap();
            names.prune(turn);
        }
        let mut expected: Vec<_> = strangers.map(str::to_owned).into();
        expected.extend(["log", "log.000005", "log.000006"].map(str::to_owned));
        expected.sort();
        assert_eq!(list(&directory), expected);
    }

    #[test]
    fn files_of_a_process_that_lives_stay() {
        let directory = tempfile::tempdir().unwrap();
        let mut sleeper = std::process::Command::new("sleep")
            .arg("60")
            .spawn()
            .unwrap();
        let by_sleeper = log_by(sleeper.id().into());
        std::fs::write(directory.path().join("log.000001"), &by_sleeper).unwrap();
        std::fs::write(directory.path().join("log.000002"), log_by(ENDED)).unwrap();
        std::fs::write(directory.path().join("log.000003"), log_by(ENDED)).unwrap();
        // In use, whatever its process is called where it runs.
        let locked = std::fs::File::open(directory.path().join("log.000003")).unwrap();
        sys::mark_in_use(std::os::fd::AsRawFd::as_raw_fd(&locked));
        let path = directory.path().join("log");
        let turn = |names: &Names, turn| {
            let (made, number) = names.create_numbered().unwrap();
            sys::write(made.fd, &log_by(ENDED)).unwrap();
            made.close();
            names.enter(turn, number, made.file.file.1);
            names.prune(turn);
        };
        let names = Names::new();
        names.set(path.as_os_str().as_bytes(), Some(1), 1).unwrap();
        turn(&names, 1);
        assert_eq!(list(&directory), ["log.000001", "log.000003", "log.000004"]);
        sleeper.kill().unwrap();
        sleeper.wait().unwrap();
        drop(locked);
        until_left(&directory.path().join("log.000003"));
        let names = Names::new();
        names.set(path.as_os_str().as_bytes(), Some(1), 1).unwrap();
        turn(&names, 1);
        assert_eq!(list(&directory), ["log.000005"]);
    }

    /// A process that was killed between making a file and writing to it left one that no later
    /// process removed.
    #[test]
    fn files_that_hold_nothing_go_as_those_of_ended_processes() {
        let directory = tempfile::tempdir().unwrap();
        let put = |number: u32, bytes: &[u8]| {
            let name = directory.path().join(format!("log.{number:06}"));
            std::fs::write(name, bytes).unwrap();
        };
        put(1, b"");
        put(2, &[0; 100_000]);
        put(3, b"something of the program's");
        put(4, &[&[0; 100_000][..], b"!"].concat());
        put(5, b"");
        let marked = std::fs::File::open(directory.path().join("log.000005")).unwrap();
        sys::mark_in_use(std::os::fd::AsRawFd::as_raw_fd(&marked));
        let path = directory.path().join("log");
        let names = Names::new();
        names.set(path.as_os_str().as_bytes(), Some(1), 1).unwrap();
        // By its process, which has come to write to it.
        put(2, &log_by(u64::from(std::os::unix::process::parent_id())));
        let (made, number) = names.create_numbered().unwrap();
        made.close();
        names.enter(1, number, made.file.file.1);
        names.prune(1);
        let stay = [2, 3, 4, 5, 6].map(|number| format!("log.{number:06}"));
        assert_eq!(list(&directory), stay);
    }

    #[test]
    fn a_path_too_long_is_refused() {
        let names = Names::new();
        let path = [b"/".as_slice(), &[b'x'; 5000]].concat();
        assert_eq!(names.set(&path, None, 1), Err(Errno(libc::ENAMETOOLONG)));
    }
}
