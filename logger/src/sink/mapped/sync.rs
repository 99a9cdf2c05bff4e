//! What was written is on the disk, or it is said that it is not: each file of the log is synced, by its file
//! system if it was let go of; old ones are closed then, and one whose sync failed is given up. Knows nothing of records.

use super::Log;
use crate::shared::Shared;
use crate::sink::file::Reached;
use crate::sys::{self, Errno};
use core::sync::atomic::Ordering;

impl Log<'_> {
    /// See [`Mapped::sync`].
    pub(super) fn sync(&self, shared: &Shared) -> Result<(), Errno> {
        let mut result = Ok(());
        for (index, reached, file_use) in self.files_of_log() {
            let file = reached.file;
            // A thread that logs little may have its chunk in a file that is long
            // full. Asked first: who leaves later is synced now. (A call that was
            // interrupted and has moved on meanwhile writes at most the one record
            // that it reserved.) What may be removed is held until it is: its blocks
            // are to be given back.
            let may_go =
                self.family.keep.load(Ordering::Relaxed) > 0 || self.family.names.bounds_folder();
            let wanted = may_go || self.family.has_window(file.turn());
            let synced = self.sync_file(&reached);
            let is_old = file.turn() < self.family.turn();
            if file.in_use() != Some(file_use) {
                // Synced and left by another thread meanwhile.
                continue;
            }
            match synced {
                Ok(()) if is_old && !wanted => self.leave(index, file_use),
                // The file or its directory could not be opened, which speaks of no write:
                // another sync may find a descriptor.
                Err(errno) if errno.lacks_descriptors() && !file.is_given_up() => {
                    result = result.and(Err(errno));
                }
                Err(errno) if !file.is_given_up() => {
                    // The kernel reports a failed write once, and forgets it: a
                    // later sync of this file would promise what is not true.
                    self.give_up(shared, file, Some(errno));
                    result = result.and(Err(errno));
                    if is_old {
                        self.leave(index, file_use);
                    }
                }
                // Reported before, and reported until a record has found another file.
                outcome if file.is_given_up() && !is_old => {
                    let why = outcome.err().or_else(|| shared.reports.why_suspect());
                    result = result.and(Err(why.unwrap_or(Errno(libc::ESTALE))));
                }
                _ => {}
            }
        }
        result.and(self.family.unsynced.sync(|| {
            let current = self.file_of(self.family.current.load(Ordering::Acquire));
            let opened = current.opened(|| self.reopen(current.file));
            opened.map(|(fd, _)| fd).ok_or(Errno(libc::ESTALE))
        }))
    }

    pub(super) fn sync_file(&self, reached: &Reached) -> Result<(), Errno> {
        // A daemon may have closed the descriptor; its number may be that of another
        // file now.
        match reached.opened(|| self.reopen(reached.file)) {
            Some((fd, _)) => sys::sync_data(fd)?,
            None => return Err(Errno(libc::ESTALE)),
        }
        if reached.file.is_new() {
            match self.family.names.with_directory(sys::sync_directory)? {
                // Out of reach since the program confined itself: then the file
                // system's word for the file has to do.
                Ok(()) | Err(Errno(libc::EACCES | libc::EPERM | libc::ENOENT)) => {
                    reached.file.settle();
                }
                Err(errno) => return Err(errno),
            }
        }
        Ok(())
    }
}
