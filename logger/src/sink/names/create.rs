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
                    self.give_back(number);
                }
                self.unfinished.end_making(number);
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
        if self.with(number, sys::unlink) == Ok(Ok(())) {
            self.give_back(number);
        }
        self.unfinished.end_making(number);
    }

    /// The number has no file, and is to be the next one's. It stays without one if a
    /// higher one was given out meanwhile.
    fn give_back(&self, number: u32) {
        let (before, order) = (number - 1, Ordering::Relaxed);
        let _ = self.number.compare_exchange(number, before, order, order);
    }
}
