//! Opening a log again under its path, which another program gave another name.

use super::super::names::UNNUMBERED;
use super::{Log, Mapped};
use crate::clock;
use crate::shared::Shared;
use crate::sys::{self, Errno};
use core::sync::atomic::Ordering;

/// A thread that has been opening the log again for this many nanoseconds was left by a
/// handler, or killed.
const LEFT_AFTER: u64 = 10_000_000_000;

/// Files that other threads may begin, one after another, before the next call tries again.
const RACES: u32 = 8;

impl Mapped {
    /// Continues in another file under the same path, unless that leads to the file which is
    /// written to: a thread that was asked before, and comes late, has done it.
    pub fn reopen(&self, shared: &Shared) -> Result<(), Errno> {
        let log = self.log().ok_or(Errno(libc::ENOTCONN))?;
        let since = &log.family.reopening_since;
        let (now, before) = (clock::monotonic().max(1), since.load(Ordering::Relaxed));
        let is_left = now > before.saturating_add(LEFT_AFTER);
        let (success, failure) = (Ordering::Acquire, Ordering::Relaxed);
        if before > 0 && !is_left
            || since
                .compare_exchange(before, now, success, failure)
                .is_err()
        {
            // Another thread, of a forked child perhaps, is at it. If it began before this was
            // asked, it is to be done again.
            shared.ask_to_reopen();
            return Ok(());
        }
        let done = log.reopen_path(shared);
        since.store(0, Ordering::Release);
        done
    }
}

impl Log<'_> {
    /// See [`Mapped::reopen`]; one thread of the family at a time.
    fn reopen_path(&self, shared: &Shared) -> Result<(), Errno> {
        let current = self.file_of(self.family.current.load(Ordering::Acquire));
        let is_rotated = current.file.number() != UNNUMBERED;
        if !is_rotated && let Some(fd) = self.reopen(current.file) {
            let is_current = current.leads_here(fd).is_some();
            sys::close(fd);
            if is_current && !current.file.is_given_up() {
                return Ok(());
            }
        }
        if !self.begin_before_others(is_rotated)? {
            // The file that followed may be older than what this was asked for.
            shared.ask_to_reopen();
            return Ok(());
        }
        // What was refused was a place in the file before.
        self.mapped.retry.granted();
        let turn = self.family.turn();
        self.family.left_before.fetch_max(turn, Ordering::SeqCst);
        self.send_writers_away(shared, |range| range.turn < turn);
        self.leave_old_files(shared);
        self.mapped
            .due
            .settle_beside(|| self.settle_since(shared, turn));
        Ok(())
    }

    /// [`Log::begin`], where threads may begin files meanwhile, since theirs are full. `false` if others
    /// were quicker each time.
    fn begin_before_others(&self, rotates: bool) -> Result<bool, Errno> {
        for _ in 0..RACES {
            match self.begin(rotates) {
                Err(Errno(libc::EBUSY)) => {}
                begun => return begun.map(|_| true),
            }
        }
        Ok(false)
    }
}
