//! Which file follows the one that an appended log is written to, and when.

use super::outlets::{OUTLETS, place_of};
use super::rotated::{Newest, Rotated};
use super::{Append, Outlet, open_to_append, open_unless_mapped};
use crate::shared::Shared;
use crate::sink::names::Opened;
use crate::sink::outlet::reserve_first;
use crate::sink::owed::Owed;
use crate::sink::retry;
use crate::sys::{self, Errno, Identity, SignalsBlocked};
use core::ffi::c_int;
use core::sync::atomic::Ordering;

/// A thread that has been opening the next file for this many nanoseconds was cancelled in it.
const LEFT_AFTER: u64 = 10_000_000_000;

/// Processes of the family that may be quicker, one after another, before this one gives up.
const RACES: u32 = 64;

/// How often a thread that finds the file full lets others run before it writes on.
const YIELDS: u32 = 64;

/// Milliseconds that a thread which cannot write on waits for the next file.
const FOR_THE_NEXT: u32 = 20;

/// Why another file is opened.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Move {
    Full,
    Removed,
    Asked,
    /// A sync of it failed.
    Suspect,
    /// Another process of the family has begun one.
    Behind,
}

impl Append {
    /// Whether another file is to be opened before `len` bytes are written to that of an outlet, which `fd` leads to.
    #[inline]
    pub(super) fn should_move(
        &self,
        outlet: &Outlet,
        (fd, file): (c_int, &Identity),
        len: u64,
        most: Option<u64>,
    ) -> Option<Move> {
        let limit = self.file_size.load(Ordering::Relaxed);
        let least = limit.min(most.unwrap_or(u64::MAX));
        if file.size > 0 && file.size + len > least && self.is_full_at(len, most) {
            return Some(Move::Full);
        }
        if let Some(why) = self.is_left(|| outlet.is_removed(fd, file)) {
            return Some(why);
        }
        if outlet.is_given_up() && self.has_name() {
            return Some(Move::Suspect);
        }
        self.reopen.load(Ordering::Relaxed).then_some(Move::Asked)
    }

    /// Whether a file that has no room for `len` bytes is followed by another. What the system refuses in any
    /// file has no room in that one either.
    #[inline]
    pub(super) fn is_full_at(&self, len: u64, most: Option<u64>) -> bool {
        self.is_rotated() && most.is_none_or(|most| len <= most)
    }

    /// Why what is written to is no longer the log's newest file.
    #[inline]
    pub(super) fn is_left(&self, is_removed: impl FnOnce() -> bool) -> Option<Move> {
        if is_removed() && self.has_name() {
            return Some(Move::Removed);
        }
        (self.is_rotated() && self.is_behind()).then_some(Move::Behind)
    }

    /// Whether the family writes to another file.
    fn is_behind(&self) -> bool {
        let rotated = self.rotated.borrow();
        rotated.is_some_and(|rotated| rotated.newest() != self.file())
    }

    /// Opens another file than that of an outlet which is held on to. `false` if this one is still the one
    /// to write to.
    pub(super) fn move_on(&self, shared: &Shared, from: &Outlet, why: Move) -> Result<bool, Errno> {
        let now = sys::clock(libc::CLOCK_MONOTONIC_COARSE);
        let moved = if now < self.stay_until.load(Ordering::Relaxed) {
            Err(Errno(self.no_space_errno.load(Ordering::Relaxed)))
        } else {
            self.try_to_move(shared, from, why, now)
        };
        let Err(errno) = moved else { return moved };
        // Where no other can be had, the old one is kept, unless that breaks a promise.
        match why {
            Move::Removed => Err(errno),
            Move::Full if self.is_bounded.load(Ordering::Relaxed) => Err(errno),
            Move::Full | Move::Asked | Move::Suspect | Move::Behind => {
                shared.stay_in_file(errno);
                Ok(false)
            }
        }
    }

    fn try_to_move(
        &self,
        shared: &Shared,
        from: &Outlet,
        why: Move,
        now: u64,
    ) -> Result<bool, Errno> {
        let is_at_it = |since| since > 0 && now <= since + LEFT_AFTER;
        let blocked = match self.moving_since.load(Ordering::Relaxed) {
            since if is_at_it(since) => None,
            since => self.begin_to_move(since, now),
        };
        // Until the next file is there, and those before it are gone: no handler jumps out of that.
        let Some(_blocked) = blocked else {
            return Ok(why == Move::Full && self.is_moved_soon());
        };
        // Another thread may have been at it since that was looked at.
        let current = place_of(self.current.load(Ordering::Acquire));
        if !core::ptr::eq(&self.outlets[current], from) {
            self.has_moved();
            return Ok(true);
        }
        if why == Move::Asked {
            self.reopen.store(false, Ordering::Relaxed);
        }
        let rotated = self.rotated.borrow();
        let open_another = || match &rotated {
            None => self.open_path(from).map(|()| false),
            Some(rotated) => self.follow_or_lead(rotated, why),
        };
        let mut moved = open_another();
        for _ in 0..OUTLETS {
            let lacks_descriptors = moved.is_err_and(Errno::lacks_descriptors);
            if !lacks_descriptors || !self.free_one() {
                break;
            }
            moved = open_another();
        }
        match moved {
            Ok(_) => {
                // What was refused was a place in the file before.
                self.retry.granted();
                shared.reports.left_file();
                if self.with_owed(Owed::is_any) == Some(true) {
                    shared.drops_are_due();
                }
            }
            Err(errno) => {
                self.no_space_errno.store(errno.0, Ordering::Relaxed);
                let until = now + retry::first_pause(errno);
                self.stay_until.store(until, Ordering::Relaxed);
            }
        }
        // Others need not wait for what comes now: the file may be full when it is done.
        self.has_moved();
        if let (Ok(true), Some(rotated)) = (&moved, rotated) {
            // A file without the link to it is a file all the same.
            let _ = rotated
                .settle()
                .inspect_err(|errno| shared.not_linked(*errno));
        }
        moved.map(|_| true)
    }

    /// Has this thread open the next file, without signals, unless another one is at it.
    fn begin_to_move(&self, since: u64, now: u64) -> Option<SignalsBlocked> {
        let blocked = SignalsBlocked::new();
        let (success, failure) = (Ordering::Acquire, Ordering::Relaxed);
        let begun = self
            .moving_since
            .compare_exchange(since, now.max(1), success, failure);
        begun.is_ok().then_some(blocked)
    }

    /// No thread is at it any more.
    pub(super) fn has_moved(&self) {
        self.moving_since.store(0, Ordering::Release);
    }

    /// Lets the thread that is at it have the CPU, which needs a moment: what is written meanwhile
    /// goes beyond the size of the file. Whether there is another file then.
    fn is_moved_soon(&self) -> bool {
        let chunk = self.chunk();
        sys::let_others_run_until(YIELDS, || self.chunk() != chunk)
    }

    /// Whether another file than that of `chunk` is written to now, or soon, since another thread is about
    /// to open it: for a call that the file has no room for.
    #[cold]
    pub(super) fn is_followed(&self, chunk: u32) -> bool {
        let mut since = self.moving_since.load(Ordering::Acquire);
        for _ in 0..FOR_THE_NEXT {
            if self.chunk() != chunk
                || since == 0
                || since == self.stuck_since.load(Ordering::Relaxed)
            {
                return self.chunk() != chunk;
            }
            sys::pause(1);
            since = self.moving_since.load(Ordering::Acquire);
        }
        // That thread was cancelled in it, perhaps.
        self.stuck_since.store(since, Ordering::Relaxed);
        self.chunk() != chunk
    }

    /// Opens the path again, where another file than that of an outlet may stand by now.
    fn open_path(&self, from: &Outlet) -> Result<(), Errno> {
        let Some(log) = self.one_file.borrow() else {
            let path = self.path.get().ok_or(Errno(libc::EBADF))?;
            return self.go_to(open_to_append(path, &self.access, 0)?, None);
        };
        let path = log.names.path().ok_or(Errno(libc::EBADF))?;
        if from.is_given_up() && from.own().is_none_or(|fd| sys::leads_to(path, fd)) {
            return self.open_in_its_place(&log.names);
        }
        match open_unless_mapped(path, || open_to_append(path, &self.access, 0))? {
            Some(fd) => self.go_to(fd, None),
            None => self.open_in_its_place(&log.names),
        }
    }

    /// Continues in the newest file of the family, or begins one. Whether it did that.
    fn follow_or_lead(&self, rotated: &Rotated, why: Move) -> Result<bool, Errno> {
        for _ in 0..RACES {
            if rotated.newest() != self.file() {
                let followed = self.follow(rotated);
                // What it may not open does not keep a process from beginning its own.
                if followed.is_ok() || why == Move::Behind {
                    return followed.map(|()| false);
                }
            }
            match self.next_file(rotated) {
                // Another member was quicker, or the program closed the new descriptor.
                Err(Errno(libc::EAGAIN | libc::EBADF)) => {}
                made => return made.map(|()| true),
            }
        }
        Err(Errno(libc::EAGAIN))
    }

    /// Continues in the newest file of the family.
    fn follow(&self, rotated: &Rotated) -> Result<(), Errno> {
        let mut opened = Err(Errno(libc::EAGAIN));
        let mut newest = rotated.newest();
        for _ in 0..RACES {
            opened = rotated.open(newest);
            let before = newest;
            newest = rotated.newest();
            // One that is not there may be on its way, or have been followed already by others.
            let may_be_late =
                matches!(opened, Err(Errno(libc::EAGAIN | libc::EBADF))) || newest != before;
            if opened.is_ok() || !may_be_late {
                newest = before;
                break;
            }
        }
        self.go_to_file(&opened?, newest)
    }

    /// Begins the next file of a rotated log.
    pub(super) fn next_file(&self, rotated: &Rotated) -> Result<(), Errno> {
        let before = rotated.newest();
        let (made, number) = rotated.names.create_numbered()?;
        let (fd, inode) = (made.fd, made.file.file.1);
        let flags_set = sys::set_status_flags(fd, libc::O_APPEND);
        // Where a disk has room for a name only, the file before says what is dropped.
        let advanced = flags_set.and_then(|()| reserve_first(fd)).and_then(|()| {
            let advanced = rotated.advance(before, number, inode);
            advanced.ok_or(Errno(libc::EAGAIN))
        });
        let newest = advanced.inspect_err(|_| {
            made.close();
            rotated.names.discard(number);
        })?;
        self.go_to_file(&made, newest)
    }

    /// Takes back the first file of a log that is not opened after all.
    pub(super) fn take_back(&self, rotated: &Rotated) {
        let current = place_of(self.current.load(Ordering::Acquire));
        rotated.names.discard(self.file().number);
        self.outlets[current].close();
    }

    fn go_to_file(&self, opened: &Opened, file: Newest) -> Result<(), Errno> {
        self.go_to(opened.fd, Some(&opened.file))?;
        self.file.store(file.word(), Ordering::Relaxed);
        Ok(())
    }
}
