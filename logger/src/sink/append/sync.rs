//! What was written is on the disk, or it is said that it is not: each file that is open is synced, those
//! that were let go of by their file system, and the names of new ones. One whose sync failed is given up: another
//! follows. Knows nothing of records.

use super::Append;
use super::outlets::OUTLETS;
use crate::shared::Shared;
use crate::sink::outlet::Taken;
use crate::sink::stream::Kind;
use crate::sys::{self, Errno};
use core::sync::atomic::Ordering;

impl Append {
    /// Waits until what was written is on stable storage.
    pub fn sync(&self, shared: &Shared) -> Result<(), Errno> {
        let settled = (0..OUTLETS).map(|place| self.settle(shared, place));
        let settled = settled.fold(Ok(()), Result::and);
        let settled = settled.and(self.settle_name());
        // Not closed meanwhile.
        let held = self.take(None);
        settled.and(self.unsynced.sync(|| {
            let (_, outlet) = held.as_ref().ok_or(Errno(libc::EBADF))?;
            self.opened(outlet).map(|(fd, _)| fd)
        }))
    }

    /// Waits until the names of files that were begun since the last `sync` are on stable storage.
    fn settle_name(&self) -> Result<(), Errno> {
        if !self.has_new_name.swap(false, Ordering::AcqRel) {
            return Ok(());
        }
        let rotated = self.rotated.borrow();
        let Some(log) = rotated.or_else(|| self.one_file.borrow()) else {
            // A stream.
            return Ok(());
        };
        let synced = log.names.with_directory(sys::sync_directory);
        match synced.and_then(|synced| synced) {
            // The program has confined itself, or the file system knows no such thing.
            Err(Errno(libc::EACCES | libc::EPERM | libc::ENOENT | libc::EINVAL)) => Ok(()),
            synced => synced.inspect_err(|_| self.has_new_name.store(true, Ordering::Release)),
        }
    }

    /// Waits until what was written to one file is on stable storage, and closes the file if it is
    /// written to no more.
    fn settle(&self, shared: &Shared, place: usize) -> Result<(), Errno> {
        let outlet = &self.outlets[place];
        let is_open = |taken: &Taken<'_>| taken.kind() == Kind::File && !taken.is_free();
        // What is being closed was synced, or let go of.
        let Some(taken) = outlet.take().filter(is_open) else {
            return Ok(());
        };
        let fd = match taken.own() {
            Some(fd) => fd,
            None if self.is_current(place) => self.opened(&taken)?.0,
            // The program closed it.
            None => {
                drop(taken);
                self.leave(place);
                return Ok(());
            }
        };
        // Else more may have been written by the time that another file follows it.
        let is_left = !self.is_current(place);
        let is_reported = outlet.is_given_up();
        let synced = outlet.sync(fd);
        if synced.is_err() && outlet.give_up() {
            shared.suspect_file(synced.err());
        }
        drop(taken);
        outlet.close_unless(|| !is_left || self.is_current(place));
        // Reported before, and until a record has found another file.
        if is_left && is_reported {
            Ok(())
        } else {
            synced
        }
    }
}
