//! How a new file gets its name, which no other file has, and what becomes of the one that has the log's.

use super::link::{Link, take_name};
use super::number::ATTEMPTS;
use super::unfinished::{Begun, Work};
use super::{Names, Opened, UNNUMBERED};
use crate::sink::owner::Left;
use crate::state::Existing;
use crate::sys::{self, Errno};
use core::ffi::CStr;
use core::sync::atomic::Ordering;

impl Names {
    /// Makes file `number`. It is [unfinished](super::unfinished) until it is entered or discarded.
    fn create(&self, number: u32, path: &CStr) -> Result<Opened, Errno> {
        let note = self.unfinished.begin(Begun {
            work: Work::Making,
            number,
            detail: 0,
        });
        let made = self.open_new(path);
        match (note, &made) {
            (Some(note), Ok(made)) => note.set_inode(made.file.file.1),
            (Some(note), Err(_)) => note.end(),
            (None, _) => {}
        }
        made
    }

    fn open_new(&self, path: &CStr) -> Result<Opened, Errno> {
        let flags = libc::O_RDWR | libc::O_CREAT | libc::O_EXCL | libc::O_NOFOLLOW;
        let fd = self.access.create(|mode| sys::open(path, flags, mode))?;
        sys::mark_in_use(fd);
        if self.maps.load(Ordering::Relaxed) {
            sys::mark_mapped(fd);
        }
        // A process that opened this log found it empty before it was marked, and removed it.
        Opened::at(path, fd).map_err(|errno| match errno {
            Errno(libc::ENOENT) => Errno(libc::EEXIST),
            errno => errno,
        })
    }

    /// From now on, new files are marked as mapped before another process finds them.
    pub fn mark_as_mapped(&self) {
        self.maps.store(true, Ordering::Relaxed);
    }

    /// Creates the file that a run begins with, under the path itself. What
    /// stands there gets the number that the new file had first.
    pub fn create_unnumbered(&self) -> Result<Opened, Errno> {
        // It is marked as in use before it has the log's name, where another process may
        // find it empty.
        let (made, number) = self.create_numbered()?;
        let taken = self.with(number, |new| {
            self.with(UNNUMBERED, |path| take_name(new, path))
        })?;
        match taken.and_then(|taken| taken) {
            Ok(displaced) => {
                if displaced {
                    self.keep_if_needed(number);
                } else {
                    self.unfinished.end_making(number);
                    self.give_back(number);
                }
                Ok(made)
            }
            Err(errno) => {
                made.close();
                self.discard(number);
                Err(errno)
            }
        }
    }

    /// Keeps what had the log's name under a number, but for a link to a file of the log, which has
    /// a name of its own, and for an empty file, as others make one when they rotate logs. It is looked at
    /// where no other process puts a file: the log's name may be another's by the next look.
    fn keep_if_needed(&self, number: u32) {
        let is_link = self.with(number, |path| self.link_at(path)) == Ok(Link::Ours);
        let left = self.with(number, Left::at).and_then(|left| left);
        let existing = match &left {
            _ if is_link => Existing::Relinked,
            Ok(left) if left.is_empty() => Existing::Removed,
            _ => Existing::Renamed,
        };
        if existing == Existing::Renamed {
            self.displaced.store(number, Ordering::Relaxed);
            self.unfinished.end_making(number);
        } else {
            self.discard(number);
        }
        self.set_existing(existing);
    }

    /// The number that is `step` after the last one given out; after the highest comes the lowest.
    pub(super) fn next_number(&self, step: u32) -> u32 {
        let order = Ordering::Relaxed;
        let next = |number: u32| number.checked_add(step).unwrap_or(1);
        let before = self
            .number
            .fetch_update(order, order, |number| Some(next(number)));
        next(before.unwrap_or_default())
    }

    /// Gives a file a number that no other has, by `make`, which is handed its name and says if that
    /// is taken. Where many are, by files that are no logs or that this user may not read, ever more of
    /// them are passed over.
    pub(super) fn number_file<T>(
        &self,
        mut make: impl FnMut(u32, &CStr) -> Result<T, Errno>,
    ) -> Result<(T, u32), Errno> {
        for attempt in 0..ATTEMPTS {
            let number = self.next_number(1 << (attempt / 256));
            match self.with(number, |path| make(number, path))? {
                Err(Errno(libc::EEXIST)) => {}
                made => return made.map(|made| (made, number)),
            }
        }
        Err(Errno(libc::EEXIST))
    }

    /// Creates a file under the next number.
    pub fn create_numbered(&self) -> Result<(Opened, u32), Errno> {
        self.number_file(|number, path| self.create(number, path))
    }

    /// Removes a file that was never written to.
    pub fn discard(&self, number: u32) {
        let removed = self.with(number, sys::unlink);
        // First: the next file to have the number has a note of its own.
        self.unfinished.end_making(number);
        if removed == Ok(Ok(())) {
            self.give_back(number);
        }
    }

    /// The number has no file, and is to be the next one's. It stays without one if a
    /// higher one was given out meanwhile.
    fn give_back(&self, number: u32) {
        let (before, order) = (number - 1, Ordering::Relaxed);
        let _ = self.number.compare_exchange(number, before, order, order);
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{ENDED, create, list, log_by, names};
    use super::*;
    use std::os::unix::ffi::OsStrExt;

    #[test]
    fn an_earlier_runs_file_is_moved_aside() {
        let (directory, names) = names(None);
        let path = directory.path().join("log");
        std::fs::write(&path, "old").unwrap();
        std::fs::write(directory.path().join("log.000007"), log_by(ENDED)).unwrap();
        names.set(path.as_os_str().as_bytes(), None, 1).unwrap();
        names.create_unnumbered().unwrap().close();
        assert_eq!(list(&directory), ["log", "log.000007", "log.000008"]);
        let aside = std::fs::read(directory.path().join("log.000008")).unwrap();
        assert_eq!(aside, b"old");
    }

    #[test]
    fn files_made_in_vain_leave_no_gap_and_are_not_counted() {
        let (directory, names) = names(Some(3));
        let path = directory.path().join("log");
        for earlier in ["log.000003", "log.000005", "log.000006"] {
            std::fs::write(directory.path().join(earlier), log_by(ENDED)).unwrap();
        }
        names.set(path.as_os_str().as_bytes(), Some(3), 41).unwrap();
        let rotate = |turn| {
            for _ in 0..5 {
                let (made, in_vain) = names.create_numbered().unwrap();
                made.close();
                names.discard(in_vain);
            }
            let (made, number) = names.create_numbered().unwrap();
            made.close();
            names.enter(turn, number, made.file.file.1);
            names.prune(turn);
        };
        rotate(41);
        assert_eq!(list(&directory), ["log.000005", "log.000006", "log.000007"]);
        rotate(42);
        assert_eq!(list(&directory), ["log.000006", "log.000007", "log.000008"]);
        for turn in 43..3000 {
            rotate(turn);
        }
        assert_eq!(list(&directory).len(), 3);
    }

    /// The addition overflowed, in a call.
    #[test]
    fn after_the_highest_number_comes_the_lowest() {
        let names = Names::new();
        names.number.store(u32::MAX - 1, Ordering::Relaxed);
        let numbers = [(); 3].map(|()| names.next_number(1));
        assert_eq!(numbers, [u32::MAX, 1, 2]);
    }

    #[test]
    fn numbers_that_are_taken_by_what_is_no_log_are_passed_over() {
        let (directory, names) = names(None);
        for number in 1..=ATTEMPTS + 100 {
            let name = directory.path().join(format!("log.{number:06}"));
            std::os::unix::fs::symlink("nowhere", name).unwrap();
        }
        let number = create(&names);
        assert!(number > ATTEMPTS);
    }

    #[test]
    fn many_that_start_at_once_all_get_a_file() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("log");
        let start = std::sync::Barrier::new(200);
        // Each holds on to its file, as a process does that has not logged yet.
        let files: Vec<_> = std::thread::scope(|scope| {
            let start_one = |_| {
                scope.spawn(|| {
                    let names = Names::new();
                    names.set(path.as_os_str().as_bytes(), None, 1).unwrap();
                    start.wait();
                    names.create_unnumbered().unwrap()
                })
            };
            let starting: Vec<_> = (0..200).map(start_one).collect();
            let started = starting.into_iter();
            started.map(|thread| thread.join().unwrap()).collect()
        });
        assert_eq!(list(&directory).len(), 200);
        files.iter().for_each(Opened::close);
    }
}
