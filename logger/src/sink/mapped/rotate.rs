//! The next file of the log: a slot of the family for it, how it becomes the one that threads
//! claim chunks of, and what happens then to those before it.

use super::super::chunk::UNIT;
use super::super::family::SLOT_BITS;
use super::super::file::{LogFile, Use};
use super::super::file_system;
use super::super::names::{Opened, UNNUMBERED};
use super::{Log, Reached};
use crate::clock;
use crate::shared::Shared;
use crate::sys::{self, Errno, Limit};
use core::sync::atomic::Ordering;

/// How often a thread lets others run that are making the next file, before it makes one.
const YIELDS: u32 = 64;
/// More files than these are not held open for a later `sync`.
const UNSYNCED: u64 = 64;
/// But for this number of files to which processes write that can open no other.
const HOMES: u32 = 16;

/// A slot that was taken for a file which may become the log's as the `turn`th.
struct Slot {
    index: usize,
    file_use: Use,
    turn: u64,
}

impl Log<'_> {
    /// Begins a log with its first file, or again with another: its number. The path leads to it if it has none.
    pub(super) fn begin(&self, rotates: bool) -> Result<u32, Errno> {
        let full = self.family.current.load(Ordering::Acquire);
        let slot = self.take_slot(full).ok_or(Errno(libc::ENFILE))?;
        let names = &self.family.names;
        let created = self.with_a_descriptor(|| {
            if rotates {
                names.create_numbered()
            } else {
                names.create_unnumbered().map(|made| (made, UNNUMBERED))
            }
        });
        let (made, number) = created.inspect_err(|_| self.leave(slot.index, slot.file_use))?;
        self.confirm(full);
        match self.offer(full, &slot, &made, number) {
            Ok(true) => Ok(number),
            refused => {
                // Of no log: nothing would remove it.
                if rotates {
                    names.discard(number);
                }
                Err(refused.err().unwrap_or(Errno(libc::EBUSY)))
            }
        }
    }

    /// Starts another file after file `full`, unless another thread has. A
    /// thread that comes while another is at it lets others run, up to 64 times; then it creates
    /// a file too, and all but one throw theirs away.
    pub(super) fn rotate(&self, shared: &Shared, full: u64) -> Result<(), Errno> {
        if self.family.current.load(Ordering::Acquire) != full {
            return Ok(());
        }
        let another_is_at_it = self.family.rotating.swap(full + 1, Ordering::Relaxed) == full + 1;
        if another_is_at_it && self.await_rotation(full) {
            return Ok(());
        }
        let names = &self.family.names;
        let Some(slot) = self.take_slot(full) else {
            // As many threads are at it as there are slots. One of them is about to be
            // the one.
            sys::let_others_run();
            return Ok(());
        };
        let created = self.with_a_descriptor(|| names.create_numbered());
        let (made, number) = created.inspect_err(|_| self.leave(slot.index, slot.file_use))?;
        if self.confirm(full) {
            self.prune_for(shared, slot.turn);
        }
        match self.offer(full, &slot, &made, number) {
            Ok(true) => {
                shared.reports.left_file();
                self.leave_old_files(shared);
                self.welcome(shared, slot.turn);
                Ok(())
            }
            Ok(false) => {
                names.discard(number);
                Ok(())
            }
            Err(errno) => {
                names.discard(number);
                Err(errno)
            }
        }
    }

    /// File `full` has its place, if it is still the newest: who made it may have been killed before it said so.
    fn confirm(&self, full: u64) -> bool {
        let number = self.file_of(full).file.number();
        let is_newest = self.family.current.load(Ordering::Acquire) == full;
        if is_newest {
            self.family.names.confirm(full >> SLOT_BITS, number);
        }
        is_newest
    }

    /// Takes back the first file of a log that is not opened after all.
    pub(super) fn take_back(&self) {
        let index = self
            .family
            .slot(self.family.current.load(Ordering::Acquire));
        let reached = self.file_at(index);
        self.family.names.discard(reached.file.number());
        if let Some(file_use) = reached.file.in_use() {
            self.leave(index, file_use);
        }
    }

    /// Lets a thread that is at it make another file after file `full`, some times. Whether it did: it may
    /// be the one that a handler interrupted, or have died with its process.
    fn await_rotation(&self, full: u64) -> bool {
        let is_made = || self.family.current.load(Ordering::Acquire) != full;
        sys::let_others_run_until(YIELDS, is_made)
    }

    /// A free slot for the file that may come after file `full`.
    fn take_slot(&self, full: u64) -> Option<Slot> {
        let turn = (full >> SLOT_BITS) + 1;
        let find = || {
            let mut files = self.family.files.iter().enumerate();
            files.find_map(|(index, file)| {
                let file_use = file.take(turn)?;
                Some(Slot {
                    index,
                    file_use,
                    turn,
                })
            })
        };
        find().or_else(|| {
            self.family
                .files
                .iter()
                .for_each(LogFile::take_from_the_dead);
            find()
        })
    }

    /// Makes a new file the current one, if that is still `full`. Whatever
    /// happens, the descriptor and the slot are taken care of.
    fn offer(&self, full: u64, slot: &Slot, made: &Opened, number: u32) -> Result<bool, Errno> {
        let current = &self.family.current;
        if current.load(Ordering::Acquire) != full {
            made.close();
            self.leave(slot.index, slot.file_use);
            return Ok(false);
        }
        let units = self.family.file_units.load(Ordering::Relaxed);
        let reached = self.file_at(slot.index);
        let set = self
            .may_be_mapped_too(full, made)
            .and_then(|()| reached.set(slot.file_use, made, number, units));
        if let Err(errno) = set {
            made.close();
            self.leave(slot.index, slot.file_use);
            return Err(errno);
        }
        let inode = reached.file.inode();
        let next = slot.turn << SLOT_BITS | slot.index as u64;
        self.join_current();
        let offered = current.compare_exchange(full, next, Ordering::AcqRel, Ordering::Acquire);
        match offered {
            Ok(_) => {
                self.family
                    .begun
                    .store(clock::monotonic(), Ordering::Relaxed);
                self.family.names.enter(slot.turn, number, inode);
            }
            Err(_) => self.leave(slot.index, slot.file_use),
        }
        Ok(offered.is_ok())
    }

    /// EOPNOTSUPP if another file system was mounted where the log's path leads, and it does not keep
    /// what is reserved.
    fn may_be_mapped_too(&self, full: u64, made: &Opened) -> Result<(), Errno> {
        let before = self.file_of(full).file;
        if before.in_use().is_none() || before.device() == made.file.file.0 {
            return Ok(());
        }
        let is_known = file_system::may_be_mapped(sys::file_system(made.fd)?);
        let reserved = sys::reserve_behind(made.fd, 0, UNIT);
        if is_known && !file_system::is_never_reserved(reserved) {
            Ok(())
        } else {
            Err(Errno(libc::EOPNOTSUPP))
        }
    }

    /// Lets go of a slot, and of the process's way to its file.
    pub(super) fn leave(&self, index: usize, file_use: Use) {
        let reached = self.file_at(index);
        let _ = reached.descriptor.close_of(file_use);
        reached.file.leave(file_use);
    }

    /// Closes what leads to files that the family has left, and returns how many there were.
    pub(super) fn close_descriptors(&self) -> usize {
        let slots = self.family.files.iter().zip(&self.mapped.descriptors);
        let closed = slots.filter(|(file, descriptor)| descriptor.close_unless_of(file.in_use()));
        closed.count()
    }

    /// Does what needs a descriptor. Where the process may have no more, it closes those of older
    /// files: only a `sync` needs them, which opens such a file again.
    pub(super) fn with_a_descriptor<T>(
        &self,
        mut work: impl FnMut() -> Result<T, Errno>,
    ) -> Result<T, Errno> {
        loop {
            match work() {
                Err(errno)
                    if errno.lacks_descriptors()
                        && (self.close_descriptors() > 0 || self.close_unneeded()) => {}
                done => return done,
            }
        }
    }

    /// Closes the descriptor of a file that this process has open, but of the newest, of one in the making, of those
    /// that a process maps, and of those that grew: by its descriptor alone such a file gives its space back when it is
    /// removed, or a part of it is given up. The youngest file comes first, since the oldest is given up next. Returns
    /// `false` if it closes none: each has a number that the limit of descriptors denies to a new one.
    fn close_unneeded(&self) -> bool {
        let newest = self.family.turn();
        let limit = Limit::Descriptors.or_any();
        let size = self.family.file_units.load(Ordering::Relaxed);
        let is_needed = |file: &LogFile| {
            let turn = file.turn();
            turn >= newest || self.family.has_window(turn) || file.capacity() > size
        };
        let may_close = |file: &Reached| file.has_number_below(limit) && !is_needed(file.file);
        let open = self.files_in_use().filter(|(_, file, _)| may_close(file));
        let youngest = open.max_by_key(|(_, reached, _)| reached.file.turn());
        youngest.is_some_and(|(_, reached, file_use)| reached.descriptor.close_of(file_use))
    }

    /// Another file followed: lets go of what need not be kept of those before it.
    pub(super) fn leave_old_files(&self, shared: &Shared) {
        self.close_descriptors();
        self.leave_removed_files(shared);
        self.leave_unsynced_files(shared);
    }

    /// Lets go of files that the log has left and another program has removed: their space comes back
    /// when nothing leads to them. No `sync` need come for what is gone.
    fn leave_removed_files(&self, shared: &Shared) {
        let oldest = self.family.oldest.load(Ordering::SeqCst);
        for (index, reached, file_use) in self.files_in_use() {
            let turn = reached.file.turn();
            let is_left = (oldest..self.family.turn()).contains(&turn);
            if is_left && reached.is_removed() && reached.file.in_use() == Some(file_use) {
                if reached.file.is_of_log(file_use) {
                    self.expel(shared, |range| range.turn == turn);
                }
                self.leave(index, file_use);
            }
        }
    }

    /// Lets go of the oldest files, if there are many that no `sync` came for. To sync them would take the
    /// caller milliseconds. Not of some that processes write to which can open no other.
    fn leave_unsynced_files(&self, shared: &Shared) {
        let mut homes = HOMES;
        for (index, reached, file_use) in self.files_in_use() {
            let turn = reached.file.turn();
            let old = turn + UNSYNCED < self.family.turn();
            if old && homes > 0 && reached.file.is_home() && self.family.has_window(turn) {
                homes -= 1;
                continue;
            }
            if old && reached.file.in_use() == Some(file_use) {
                if reached.file.is_of_log(file_use) {
                    self.send_writers_away(shared, |range| range.turn == turn);
                    self.family.unsynced.leave_one();
                }
                self.leave(index, file_use);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::opened;
    use super::*;
    use crate::sink::rotation::Rotation;
    use crate::thread::Threads;

    /// A thread had made a file in vain, and had not come to say so: it was taken for the log's, whose own stayed for
    /// good, and the path led to it when it was removed.
    #[test]
    fn a_file_that_was_made_in_vain_is_not_taken_for_the_logs() {
        static THREADS: Threads = Threads::new();
        static SHARED: Shared = Shared::new(&THREADS);
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("log");
        let rotation = Rotation {
            file_size: Some(64 << 10),
            keep: Some(2),
            ..Rotation::default()
        };
        let mapped = opened(&path, rotation);
        let log = mapped.log().unwrap();
        let current = || log.family.current.load(Ordering::Acquire);

        let full = current();
        let slot = log.take_slot(full).unwrap();
        let (made, in_vain) = log.family.names.create_numbered().unwrap();
        let reached = log.file_at(slot.index);
        reached.set(slot.file_use, &made, in_vain, 1).unwrap();
        log.rotate(&SHARED, full).unwrap();
        let newest = log.file_of(current()).file;
        assert_ne!(newest.number(), in_vain);
        let found = log.file_of_turn(slot.turn).unwrap();
        assert_eq!(found.file.number(), newest.number());
        log.leave(slot.index, slot.file_use);
        log.family.names.discard(in_vain);
        assert!(path.exists());

        for _ in 0..3 {
            log.rotate(&SHARED, current()).unwrap();
        }
        let files = std::fs::read_dir(directory.path()).unwrap();
        assert_eq!(files.count(), 1 + 2);
    }
}
