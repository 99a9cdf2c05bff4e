//! The descriptors of an appended log: of the file that is written to, and of those before it. A call holds on
//! to the one that it writes by. Knows nothing of names and records.

use super::Append;
use crate::sink::outlet::{Cut, Outlet, Taken};
use crate::sys::{self, Errno, Identity};
use core::ffi::c_int;
use core::sync::atomic::Ordering;

/// The file that is written to, and those before it that a `sync` has yet to reach.
pub(super) const OUTLETS: usize = 32;
pub(super) const PLACE_BITS: u32 = 8;
/// How often a place is looked for: other threads may take one that was freed.
const PLACINGS: u32 = 4;

pub(super) fn place_of(current: u64) -> usize {
    current as usize & ((1 << PLACE_BITS) - 1)
}

impl Append {
    /// Holds on to what is written to now.
    pub(super) fn take(&self, wanted: Option<u32>) -> Option<(u32, Taken<'_>)> {
        for _ in 0..OUTLETS {
            let current = self.current.load(Ordering::Acquire);
            let chunk = (current >> PLACE_BITS) as u32;
            if wanted.is_some_and(|wanted| wanted != chunk) {
                return None;
            }
            let outlet = self.outlets[place_of(current)].take();
            if self.current.load(Ordering::Acquire) == current {
                return outlet.map(|outlet| (chunk, outlet));
            }
        }
        None
    }

    /// Writes to a descriptor from now on, which is the log's; of which file, if that is known.
    pub(super) fn go_to(&self, fd: c_int, file: Option<&Identity>) -> Result<(), Errno> {
        // It is held on to until it is what is written to: else a `sync` would close it.
        let (place, _held) = self.place(fd, file).inspect_err(|_| sys::close(fd))?;
        let next = self.next_chunk() << PLACE_BITS | place as u64;
        self.current.store(next, Ordering::Release);
        self.has_new_name.store(true, Ordering::Release);
        self.close_removed();
        Ok(())
    }

    /// Closes files that are written to no more and that another program has removed: no `sync` need come
    /// for what is gone.
    pub(super) fn close_removed(&self) {
        for (place, outlet) in self.outlets.iter().enumerate() {
            if !self.is_current(place) && outlet.has_no_name() {
                outlet.close_unless(|| self.is_current(place));
            }
        }
    }

    /// Begins another chunk in the file of an outlet, from where another program cut it: what its records
    /// refer to is defined there again.
    #[cold]
    pub(super) fn begin_behind(&self, outlet: &Outlet, cut: Cut) {
        let current = self.current.load(Ordering::Acquire);
        let place = place_of(current);
        if core::ptr::eq(&self.outlets[place], outlet) {
            let next = self.next_chunk() << PLACE_BITS | place as u64;
            let (success, failure) = (Ordering::AcqRel, Ordering::Relaxed);
            // Another call may have begun one, or another file.
            let _ = self
                .current
                .compare_exchange(current, next, success, failure);
        }
        // No sooner: until then each call finds out that the file was cut.
        outlet.begin_behind(cut);
    }

    /// Gives a descriptor a free place.
    fn place(&self, fd: c_int, file: Option<&Identity>) -> Result<(usize, Taken<'_>), Errno> {
        for _ in 0..PLACINGS {
            for (place, outlet) in self.outlets.iter().enumerate() {
                if let Some(held) = outlet.set(fd, file)? {
                    return Ok((place, held));
                }
            }
            let _ = self.free_one();
        }
        self.place_though_held(fd, file)
    }

    /// Gives a descriptor the place of a file that only calls hold on to which handlers have jumped out of: of
    /// the files of as many calls none is in progress.
    #[cold]
    fn place_though_held(
        &self,
        fd: c_int,
        file: Option<&Identity>,
    ) -> Result<(usize, Taken<'_>), Errno> {
        let first = self.chunk() as usize + 1;
        for place in (first..first + OUTLETS).map(|place| place % OUTLETS) {
            if self.is_current(place) {
                continue;
            }
            self.unsynced.leave_one();
            if let Some(held) = self.outlets[place].set_though_held(fd, file)? {
                return Ok((place, held));
            }
        }
        Err(Errno(libc::EMFILE))
    }

    /// Whether a place is that of what is written to.
    pub(super) fn is_current(&self, place: usize) -> bool {
        place_of(self.current.load(Ordering::Acquire)) == place
    }

    /// Closes the descriptors of a log that was closed, but for those that a call still holds on to.
    pub fn let_go(&self) {
        let outlets = self.outlets.iter();
        outlets.for_each(|outlet| outlet.close_unless(|| false));
    }

    /// Closes a file that is written to no more, which a later `sync` reaches by its file system. `false` if
    /// it can close no file.
    pub(super) fn free_one(&self) -> bool {
        let is_left = |place: &usize| {
            let outlet = &self.outlets[*place];
            !outlet.is_free() && !self.is_current(*place) && outlet.is_unused()
        };
        let left = (0..OUTLETS).find(is_left);
        left.inspect(|place| self.leave(*place)).is_some()
    }

    pub(super) fn leave(&self, place: usize) {
        self.unsynced.leave_one();
        self.outlets[place].close_unless(|| self.is_current(place));
    }
}
