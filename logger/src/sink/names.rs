//! What the files of a mapped log are called.
//!
//! A log that is not rotated is one file under the path it was opened with.
//! Rotated files are `path.000001`, `path.000002`, …, each under that name from
//! its creation to its end, and `path` is a symbolic link to the newest. No
//! step ever takes the only name of a file that holds records: an earlier
//! run's file is renamed aside, never overwritten.
//!
//! All but [`Names::set`] works without allocation, since a rotation may
//! happen in a signal handler.

use crate::sys::{self, Errno, Temporary};
use core::ffi::{CStr, c_int};
use core::num::NonZeroUsize;
use core::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// A path that ends in a NUL.
type PathBytes = [u8; libc::PATH_MAX as usize];

/// See the module.
pub(crate) struct Names {
    /// In memory that is never given back.
    base: AtomicPtr<PathBytes>,
    /// The highest number given out.
    number: AtomicU32,
    /// Numbers up to this were removed.
    pruned: AtomicU32,
    keep: AtomicU32,
    /// The numbers of the files that are or were the log's, each at its place modulo
    /// the length. Between two of them there are numbers of files that threads made in
    /// vain, since another was quicker.
    places: [AtomicU32; PLACES],
    /// What is added to a file's turn for its place: files of earlier runs have places
    /// too.
    before: AtomicU64,
}

/// More files than half of these are not kept, if any are to be removed at all.
const PLACES: usize = 2048;

/// The number of the file that stands under the path itself.
pub(crate) const UNNUMBERED: u32 = 0;

impl Names {
    pub const fn new() -> Names {
        Names {
            base: AtomicPtr::new(core::ptr::null_mut()),
            number: AtomicU32::new(0),
            pruned: AtomicU32::new(0),
            keep: AtomicU32::new(0),
            places: [const { AtomicU32::new(0) }; PLACES],
            before: AtomicU64::new(0),
        }
    }

    /// Names files after `path`, behind those that are there already. The next file
    /// will be the log's as the `turn`th.
    pub fn set(&self, path: &[u8], keep: Option<u32>, turn: u64) -> Result<(), Errno> {
        let mut absolute = PathBuffer::new()?;
        let full = std::path::absolute(std::ffi::OsStr::from_bytes(path))
            .map_err(|error| Errno(error.raw_os_error().unwrap_or(libc::EINVAL)))?;
        absolute.push(full.as_os_str().as_bytes())?;
        let numbers = numbers_in_use(&full);
        let (first, last) = (numbers.first(), numbers.last());
        self.number
            .store(last.copied().unwrap_or(0), Ordering::Relaxed);
        self.pruned.store(
            first.map_or(0, |first| first.saturating_sub(1)),
            Ordering::Relaxed,
        );
        self.start_places(&numbers, turn);
        let most = PLACES as u32 / 2;
        self.keep
            .store(keep.map_or(0, |keep| keep.min(most)), Ordering::Relaxed);
        self.set_base(&absolute)
    }

    fn start_places(&self, earlier: &[u32], turn: u64) {
        for (place, number) in self.places.iter().cycle().zip(earlier) {
            place.store(*number, Ordering::Relaxed);
        }
        let before = (earlier.len() as u64).wrapping_sub(turn);
        self.before.store(before, Ordering::Relaxed);
    }

    fn set_base(&self, path: &PathBuffer) -> Result<(), Errno> {
        let len = const { NonZeroUsize::new(size_of::<PathBytes>()).unwrap() };
        let memory = sys::allocate(len)?.cast::<PathBytes>();
        // SAFETY: fresh memory of this size; nobody else knows of it yet.
        unsafe {
            memory
                .as_ptr()
                .cast::<u8>()
                .copy_from(path.memory.as_slice().as_ptr(), len.get())
        };
        self.base.store(memory.as_ptr(), Ordering::Release);
        Ok(())
    }

    fn base(&self) -> &[u8] {
        // SAFETY: null, or set in `set_base` and never given back.
        match unsafe { self.base.load(Ordering::Acquire).as_ref() } {
            Some(bytes) => sys::until_nul(bytes),
            None => b"",
        }
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

    /// Creates the file that a run begins with, under the path itself. What
    /// stands there is moved aside.
    pub fn create_unnumbered(&self) -> Result<c_int, Errno> {
        for _ in 0..64 {
            match self.with(UNNUMBERED, create)? {
                Err(Errno(libc::EEXIST)) => self.move_aside()?,
                result => return result,
            }
        }
        Err(Errno(libc::EEXIST))
    }

    fn move_aside(&self) -> Result<(), Errno> {
        let is_link = self.with(UNNUMBERED, |path| sys::read_link(path, &mut [0; 1]).is_ok())?;
        if is_link {
            // What it leads to has a name of its own.
            return self.with(UNNUMBERED, sys::unlink)?;
        }
        let number = self.number.fetch_add(1, Ordering::Relaxed) + 1;
        let moved = self.with(UNNUMBERED, |from| {
            self.with(number, |to| sys::rename_without_replacing(from, to))
        })??;
        match moved {
            // Taken since we looked, or gone: try again.
            Err(Errno(libc::EEXIST | libc::ENOENT)) => Ok(()),
            result => result,
        }
    }

    /// Creates a file under the next number.
    pub fn create_numbered(&self) -> Result<(c_int, u32), Errno> {
        for _ in 0..1024 {
            let number = self.number.fetch_add(1, Ordering::Relaxed) + 1;
            match self.with(number, create)? {
                Err(Errno(libc::EEXIST)) => {}
                result => return result.map(|fd| (fd, number)),
            }
        }
        Err(Errno(libc::EEXIST))
    }

    /// Removes a file that nobody wrote to.
    pub fn discard(&self, number: u32) {
        let _ = self.with(number, sys::unlink);
    }

    /// File `number` is the log's as the `turn`th.
    pub fn enter(&self, turn: u64, number: u32) {
        let place = self.before.load(Ordering::Relaxed).wrapping_add(turn);
        self.places[place as usize % PLACES].store(number, Ordering::Relaxed);
    }

    /// Lets the path lead to file `number`. A plain file that stands under the path
    /// keeps a numbered name.
    pub fn point_to(&self, number: u32) -> Result<(), Errno> {
        let is_link = self.with(UNNUMBERED, |path| sys::read_link(path, &mut [0; 1]).is_ok())?;
        if !is_link {
            self.keep_plain_file()?;
        }
        let mut target = PathBuffer::new()?;
        let base = self.base();
        let name = base.rsplit(|byte| *byte == b'/').next().unwrap_or(base);
        target.push(name)?;
        target.push(b".")?;
        target.push_number(number)?;
        let mut link = PathBuffer::new()?;
        link.push(base)?;
        link.push(b".")?;
        link.push_number(number)?;
        link.push(b".link")?;
        let _ = sys::unlink(link.as_c_str());
        sys::symlink(target.as_c_str(), link.as_c_str())?;
        self.with(UNNUMBERED, |path| sys::rename(link.as_c_str(), path))?
    }

    /// Gives the plain file under the path a number too, the lowest that is
    /// free before those in use by this run.
    fn keep_plain_file(&self) -> Result<(), Errno> {
        let number = self.number.fetch_add(1, Ordering::Relaxed) + 1;
        let linked = self.with(UNNUMBERED, |from| {
            self.with(number, |to| sys::link(from, to))
        })??;
        match linked {
            Err(Errno(libc::ENOENT)) => Ok(()),
            result => result,
        }
    }

    /// The lowest number of a file that stays when the newest is the `turn`th.
    pub fn oldest_kept(&self, turn: u64) -> u32 {
        let keep = self.keep.load(Ordering::Relaxed) as u64;
        let files = self.before.load(Ordering::Relaxed).wrapping_add(turn) + 1;
        match files.checked_sub(keep) {
            Some(place) if keep > 0 => self.places[place as usize % PLACES].load(Ordering::Relaxed),
            _ => 0,
        }
    }

    /// Removes the files below number `oldest`.
    pub fn prune(&self, oldest: u32) {
        let upto = oldest.saturating_sub(1);
        let from = self.pruned.fetch_max(upto, Ordering::Relaxed);
        for number in from + 1..=upto {
            let _ = self.with(number, sys::unlink);
        }
    }

    /// The process is a forked child: its files carry its pid and something
    /// that no other process has.
    pub fn become_child(&self, turn: u64) -> Result<(), Errno> {
        let mut path = PathBuffer::new()?;
        path.push(self.base())?;
        path.push(b".")?;
        path.push_number(sys::process_id())?;
        path.push(b"-")?;
        path.push_number(sys::random() as u32)?;
        self.number.store(0, Ordering::Relaxed);
        self.pruned.store(0, Ordering::Relaxed);
        self.start_places(&[], turn);
        self.set_base(&path)
    }
}

fn create(path: &CStr) -> Result<c_int, Errno> {
    let flags = libc::O_RDWR | libc::O_CREAT | libc::O_EXCL | libc::O_NOFOLLOW;
    sys::open(path, flags, 0o600)
}

/// The numbers after `path` in its directory, in their order.
fn numbers_in_use(path: &Path) -> Vec<u32> {
    let (Some(directory), Some(name)) = (path.parent(), path.file_name()) else {
        return Vec::new();
    };
    let Ok(entries) = std::fs::read_dir(directory) else {
        return Vec::new();
    };
    let mut numbers: Vec<u32> = entries
        .flatten()
        .filter_map(|entry| {
            let entry = entry.file_name();
            let rest = entry.as_bytes().strip_prefix(name.as_bytes())?;
            std::str::from_utf8(rest.strip_prefix(b".")?)
                .ok()?
                .parse()
                .ok()
        })
        .collect();
    numbers.sort_unstable();
    numbers
}

/// A path under construction. In memory of its own: stacks of signal handlers are
/// small.
struct PathBuffer {
    memory: Temporary,
    len: usize,
}

impl PathBuffer {
    fn new() -> Result<PathBuffer, Errno> {
        let len = const { NonZeroUsize::new(size_of::<PathBytes>()).unwrap() };
        Ok(PathBuffer {
            memory: Temporary::new(len)?,
            len: 0,
        })
    }

    fn push(&mut self, bytes: &[u8]) -> Result<(), Errno> {
        let end = self.len + bytes.len();
        // One byte stays for the NUL.
        let memory = self.memory.bytes();
        if end >= memory.len() {
            return Err(Errno(libc::ENAMETOOLONG));
        }
        memory[self.len..end].copy_from_slice(bytes);
        self.len = end;
        Ok(())
    }

    /// A number of at least six digits, so that names sort.
    fn push_number(&mut self, number: u32) -> Result<(), Errno> {
        let mut digits = [b'0'; 10];
        let mut rest = number;
        for digit in digits.iter_mut().rev() {
            *digit = b'0' + (rest % 10) as u8;
            rest /= 10;
        }
        let first = digits.iter().position(|digit| *digit != b'0');
        self.push(&digits[first.unwrap_or(10).min(4)..])
    }

    fn as_c_str(&self) -> &CStr {
        CStr::from_bytes_until_nul(self.memory.as_slice()).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(keep: Option<u32>) -> (tempfile::TempDir, Names) {
        let directory = tempfile::tempdir().unwrap();
        let names = Names::new();
        let path = directory.path().join("log");
        names.set(path.as_os_str().as_bytes(), keep, 1).unwrap();
        (directory, names)
    }

    fn list(directory: &tempfile::TempDir) -> Vec<String> {
        let entries = std::fs::read_dir(directory.path()).unwrap();
        let mut names: Vec<_> = entries
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn an_earlier_runs_file_is_moved_aside() {
        let (directory, names) = names(None);
        let path = directory.path().join("log");
        std::fs::write(&path, "old").unwrap();
        std::fs::write(directory.path().join("log.000007"), "older").unwrap();
        names.set(path.as_os_str().as_bytes(), None, 1).unwrap();
        sys::close(names.create_unnumbered().unwrap());
        assert_eq!(list(&directory), ["log", "log.000007", "log.000008"]);
        let aside = std::fs::read(directory.path().join("log.000008")).unwrap();
        assert_eq!(aside, b"old");
    }

    #[test]
    fn the_path_leads_to_the_newest_and_old_ones_go() {
        let (directory, names) = names(Some(2));
        for round in 1..=4 {
            let (fd, number) = names.create_numbered().unwrap();
            sys::write(fd, &[round]).unwrap();
            sys::close(fd);
            names.enter(round as u64, number);
            names.point_to(number).unwrap();
            names.prune(names.oldest_kept(round as u64));
            let newest = std::fs::read(directory.path().join("log")).unwrap();
            assert_eq!(newest, [round]);
        }
        assert_eq!(list(&directory), ["log", "log.000004", "log.000005"]);
    }

    #[test]
    fn numbers_of_files_made_in_vain_are_not_counted() {
        let (directory, names) = names(Some(3));
        let path = directory.path().join("log");
        for earlier in ["log.000003", "log.000005", "log.000006"] {
            std::fs::write(directory.path().join(earlier), "").unwrap();
        }
        names.set(path.as_os_str().as_bytes(), Some(3), 41).unwrap();
        let rotate = |turn| {
            for _ in 0..5 {
                let (fd, in_vain) = names.create_numbered().unwrap();
                sys::close(fd);
                names.discard(in_vain);
            }
            let (fd, number) = names.create_numbered().unwrap();
            sys::close(fd);
            names.enter(turn, number);
            names.prune(names.oldest_kept(turn));
        };
        rotate(41);
        assert_eq!(list(&directory), ["log.000005", "log.000006", "log.000012"]);
        rotate(42);
        assert_eq!(list(&directory), ["log.000006", "log.000012", "log.000018"]);
        for turn in 43..3000 {
            rotate(turn);
        }
        assert_eq!(list(&directory).len(), 3);
    }

    #[test]
    fn a_plain_file_keeps_a_name_when_the_path_becomes_a_link() {
        let (directory, names) = names(None);
        let fd = names.create_unnumbered().unwrap();
        sys::write(fd, b"first").unwrap();
        sys::close(fd);
        let (fd, number) = names.create_numbered().unwrap();
        sys::close(fd);
        names.point_to(number).unwrap();
        let kept: Vec<_> = list(&directory)
            .into_iter()
            .filter(|name| std::fs::read(directory.path().join(name)).unwrap() == b"first")
            .collect();
        assert_eq!(kept.len(), 1, "{kept:?}");
    }

    #[test]
    fn a_child_has_names_of_its_own() {
        let (directory, names) = names(None);
        names.become_child(1).unwrap();
        sys::close(names.create_unnumbered().unwrap());
        let name = &list(&directory)[0];
        assert!(name.starts_with("log.") && name.contains('-'), "{name}");
    }

    #[test]
    fn a_path_too_long_is_refused() {
        let names = Names::new();
        let path = [b"/".as_slice(), &[b'x'; 5000]].concat();
        assert_eq!(names.set(&path, None, 1), Err(Errno(libc::ENAMETOOLONG)));
    }
}
