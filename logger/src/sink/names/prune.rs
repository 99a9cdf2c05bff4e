//! Which of a log's files are removed: those that are not kept, and for the sake of the directory
//! any that no process has open.

use super::link::unless_gone;
use super::number::number_of;
use super::places::Name;
use super::{Names, UNNUMBERED};
use crate::sink::folder::{self, Found};
use crate::sink::owner::{self, Owner};
use crate::sys;
use core::ffi::c_int;
use core::sync::atomic::Ordering;

impl Names {
    /// Whether files may be removed for the sake of the directory.
    pub fn bounds_folder(&self) -> bool {
        self.folder_bytes.load(Ordering::Relaxed) > 0
    }

    /// File `number` is the log's as the `turn`th.
    pub fn enter(&self, turn: u64, number: u32, inode: u64) {
        let place = self.places.of_turn(turn);
        if !self.places.put(place, number, inode) {
            self.remove_at(place);
        }
    }

    /// From now on, files are cleared as they are removed.
    pub fn clear_what_is_removed(&self) {
        self.clears.store(true, Ordering::Relaxed);
    }

    /// Whether the log's `turn`th file has this number and this inode.
    pub fn is(&self, turn: u64, number: u32, inode: u64) -> bool {
        let place = self.places.of_turn(turn);
        self.places.holds(place, number, inode)
    }

    /// Removes what is not kept when the newest is the `turn`th.
    pub fn prune(&self, turn: u64) {
        let keep = self.keep.load(Ordering::Relaxed) as u64;
        let newest = self.places.of_turn(turn);
        if let Some(oldest) = (newest + 1).checked_sub(keep).filter(|_| keep > 0) {
            self.remove_below(oldest);
        }
        let bytes = self.folder_bytes.load(Ordering::Relaxed);
        if bytes > 0 {
            let _ = self.with_directory(|directory| {
                folder::keep_within(directory, bytes, |log| self.remove_log(log, newest));
            });
        }
    }

    /// Removes the log's files before the `turn`th.
    pub fn remove_before(&self, turn: u64) {
        self.remove_below(self.places.of_turn(turn));
    }

    /// Removes a log of the directory, and with one of this log's own files those before it.
    /// `false` if it stays.
    fn remove_log(&self, log: &Found<'_>, newest: u64) -> bool {
        let number = number_of(log.name.to_bytes(), self.name()).unwrap_or(UNNUMBERED);
        let own = (number != UNNUMBERED).then(|| self.places.find(number, newest));
        match own.flatten() {
            Some(place) if place < newest => {
                self.remove_below(place + 1);
                true
            }
            Some(_) => false,
            None => !log.is_in_use && log.remove(),
        }
    }

    fn remove_below(&self, oldest: u64) {
        for place in self.places.prune_below(oldest) {
            self.remove_at(place);
        }
        self.places.each_refused(|place| self.remove_at(place));
    }

    /// Files of earlier turns were removed.
    pub fn oldest_turn(&self) -> u64 {
        self.places.oldest_turn()
    }

    /// Whether nothing but this log leads to its `turn`th file, which is to be removed or was, when the
    /// newest is the `newest`th: then its space can be given back, though processes have it open. `false`
    /// for a file of a log that the process closed before.
    pub fn is_ours_alone(&self, turn: u64, newest: u64) -> bool {
        let newest = self.places.of_turn(newest);
        let Some(place) = self.places.of_own_turn(turn) else {
            return false;
        };
        match self.places.name_at(place, newest) {
            Name::None => true,
            Name::Unknown => false,
            Name::Number(number, inode) => {
                let found = self.with(number, sys::found_at).and_then(|found| found);
                found.is_ok_and(|found| found.file.1 == inode && found.names == 1)
            }
        }
    }

    fn remove_at(&self, place: u64) {
        let Some((number, inode)) = self.places.take(place) else {
            return;
        };
        let removed = self.with(number, |path| {
            // The directory may be another one by now, and the file another process's; one of an
            // earlier run that held nothing may be the beginning of a log.
            let found = sys::found_at(path).ok();
            let is_it = match inode {
                0 => owner::of(path) != Owner::Other,
                inode => found.is_some_and(|found| found.file.1 == inode),
            };
            if !is_it {
                return Ok(());
            }
            // Else a link of another program's leads to it still.
            let is_last = found.is_some_and(|found| found.names == 1);
            if is_last {
                self.places.mark_nameless(place, inode);
            }
            let clears = is_last && inode != 0 && self.clears.load(Ordering::Relaxed);
            let open = clears.then(|| sys::open(path, libc::O_WRONLY | libc::O_NOFOLLOW, 0));
            // The blocks behind its end come back when it is cut there. By its name: what a descriptor leads
            // to may be another file by then.
            if let Some(found) = found.filter(|_| clears) {
                let _ = sys::set_size(path, found.size);
            }
            let removed = sys::unlink(path).or_else(unless_gone);
            if let Some(Ok(fd)) = open {
                clear_if_nameless(fd, inode);
            }
            removed
        });
        if let Ok(Err(_)) = removed {
            self.places.refuse(place, number, inode);
        }
    }
}

/// No file system has larger blocks.
const BLOCK: u64 = 64 << 10;

/// Gives the space of a file back, if it is the one with this inode and has no name, and closes the
/// descriptor.
fn clear_if_nameless(fd: c_int, inode: u64) {
    if let Ok(found) = sys::identity(fd)
        && found.file.1 == inode
        && found.names == 0
    {
        // Only whole blocks are given back.
        let _ = sys::punch(fd, 0, found.size.next_multiple_of(BLOCK));
    }
    sys::close(fd);
}
