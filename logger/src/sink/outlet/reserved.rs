//! Blocks after the end of a file that is appended to, so that a disk without space cuts no record
//! short, and takes a note that says how many were dropped.

use crate::sink::file_system;
use crate::sys::{self, Errno, Limit};
use core::ffi::c_int;
use core::sync::atomic::{AtomicU64, Ordering};

/// Bytes after the last record that are kept for notes.
pub(crate) const ROOM: u64 = 4 << 10;
/// Bytes that are reserved at once.
const AHEAD: u64 = 16 << 10;
/// No call writes more.
const MOST_OF_A_CALL: u64 = 256 << 10;
/// More calls are not in progress; where a handler jumps out of one, that seems to be for ever.
const MOST_CALLS: u32 = 64;
/// Where blocks end of a file for which none are reserved.
const ANYWHERE: u64 = u64::MAX;

/// What became of bytes that a call asked for.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Claimed {
    /// They end here, in the least.
    To(u64),
    /// None were taken.
    Cut(Cut),
}

/// Another program cut the file, which this process knew to end further on.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Cut {
    /// Where it ended before.
    end: u64,
    /// Where it ends.
    size: u64,
}

/// What a file has room for, as far as this process knows.
pub(super) struct Reserved {
    /// Where the file ends when the calls of this process that are in progress have written.
    end: AtomicU64,
    /// Where its blocks end.
    to: AtomicU64,
}

impl Reserved {
    pub const fn new() -> Reserved {
        Reserved {
            end: AtomicU64::new(0),
            to: AtomicU64::new(0),
        }
    }

    /// The place is that of another file, on the file system with this magic number, if it is a file.
    pub fn begin(&self, file_system: Option<i64>) {
        let keeps = file_system.is_some_and(file_system::keeps_what_is_reserved);
        let to = if keeps { 0 } else { ANYWHERE };
        self.to.store(to, Ordering::Relaxed);
        self.end.store(0, Ordering::Relaxed);
    }

    /// Takes `len` bytes of a file that had `size` bytes, so that `behind` more fit it, as far as the file
    /// system can say. `others` says how many other calls of this process are in progress.
    #[inline]
    pub fn claim(
        &self,
        fd: c_int,
        size: u64,
        (len, behind): (u64, u64),
        others: impl Fn() -> u32,
    ) -> Result<Claimed, Errno> {
        let end = match self.take(fd, size, len, others) {
            Ok(end) => end,
            Err(cut) => return Ok(Claimed::Cut(cut)),
        };
        let needed = end.saturating_add(behind);
        if needed > self.to.load(Ordering::Relaxed) {
            let extended = self.extend(fd, size, needed);
            extended.inspect_err(|_| self.give_back(len))?;
        }
        Ok(Claimed::To(end))
    }

    /// They were not written.
    pub fn give_back(&self, len: u64) {
        let order = Ordering::Relaxed;
        let less = |end: u64| Some(end.saturating_sub(len));
        let _ = self.end.fetch_update(order, order, less);
    }

    fn take(&self, fd: c_int, size: u64, len: u64, others: impl Fn() -> u32) -> Result<u64, Cut> {
        let order = Ordering::Relaxed;
        let mut end = self.end.load(order);
        loop {
            // Asked after `end` was read, which a call that comes meanwhile changes.
            let in_progress = u64::from(others().min(MOST_CALLS)) * MOST_OF_A_CALL;
            let is_cut = |size: u64| size.saturating_add(in_progress) < end;
            // Another call may have written since the size was asked for.
            if is_cut(size)
                && let size = sys::identity(fd).map_or(size, |found| found.size)
                && is_cut(size)
            {
                return Err(Cut { end, size });
            }
            let next = size.max(end).saturating_add(len);
            match self.end.compare_exchange_weak(end, next, order, order) {
                Ok(_) => return Ok(next),
                Err(found) => end = found,
            }
        }
    }

    /// The file ends where it was cut, and has no blocks after that. Another call may have been quicker.
    #[cold]
    pub fn begin_behind(&self, cut: Cut) {
        let order = Ordering::Relaxed;
        let forget = |to: u64| (to != ANYWHERE).then_some(0);
        let _ = self.to.fetch_update(order, order, forget);
        let _ = self.end.compare_exchange(cut.end, cut.size, order, order);
    }

    #[cold]
    fn extend(&self, fd: c_int, size: u64, end: u64) -> Result<(), Errno> {
        let limit = Limit::FileSize.or_any();
        let reserve = |to: u64| {
            let to = to.min(limit).max(size);
            reserve_up_to(fd, size, to).map(|()| to)
        };
        // What is left of a disk goes without more ahead.
        let reserved = reserve(end.saturating_add(AHEAD)).or_else(|errno| match errno {
            Errno(libc::ENOSPC | libc::EDQUOT) => reserve(end),
            errno => Err(errno),
        });
        match reserved {
            Ok(to) => self.to.fetch_max(to, Ordering::Relaxed),
            Err(errno @ Errno(libc::ENOSPC | libc::EDQUOT)) => return Err(errno),
            // A signal came, or the descriptor was closed meanwhile.
            Err(Errno(libc::EINTR | libc::EBADF)) => 0,
            Err(_) => self.to.swap(ANYWHERE, Ordering::Relaxed),
        };
        Ok(())
    }
}

fn reserve_up_to(fd: c_int, from: u64, to: u64) -> Result<(), Errno> {
    if from < to {
        sys::reserve_behind(fd, from, to - from)
    } else {
        Ok(())
    }
}

/// Reserves the room for notes of a file that has nothing yet. Fails only where there is no space.
pub(crate) fn reserve_first(fd: c_int) -> Result<(), Errno> {
    match reserve_up_to(fd, 0, ROOM.min(Limit::FileSize.or_any())) {
        Err(errno @ Errno(libc::ENOSPC | libc::EDQUOT)) => Err(errno),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;
    use std::os::fd::AsRawFd;
    use std::os::unix::fs::MetadataExt;

    /// A new file and its counts; `None` where the file system reserves nothing.
    fn begin() -> Option<(File, Reserved)> {
        let file = tempfile::tempfile().unwrap();
        let reserved = Reserved::new();
        reserved.begin(sys::file_system(file.as_raw_fd()).ok());
        let keeps = reserved.to.load(Ordering::Relaxed) != ANYWHERE;
        keeps.then_some((file, reserved))
    }

    fn blocks(file: &File) -> u64 {
        file.metadata().unwrap().blocks() * 512
    }

    /// What is claimed of a file that another program cut, when that was found out.
    fn claim_of_cut(reserved: &Reserved, file: &File, len: u64, others: u32) -> Claimed {
        let (fd, size) = (file.as_raw_fd(), file.metadata().unwrap().len());
        let claim = || reserved.claim(fd, size, (len, ROOM), || others).unwrap();
        let Claimed::Cut(cut) = claim() else {
            panic!("it is not found out");
        };
        assert_eq!(
            claim(),
            Claimed::Cut(cut),
            "until what was defined is defined again"
        );
        reserved.begin_behind(cut);
        let claimed = claim();
        // Another call, which found it out at the same time.
        reserved.begin_behind(cut);
        claimed
    }

    #[test]
    fn blocks_are_reserved_behind_the_end_now_and_then() {
        let Some((file, reserved)) = begin() else {
            return;
        };
        let fd = file.as_raw_fd();
        let claim = |size, len| reserved.claim(fd, size, (len, ROOM), || 0);
        assert_eq!(claim(0, 100), Ok(Claimed::To(100)));
        assert_eq!(file.metadata().unwrap().len(), 0, "of what was written");
        let bytes = blocks(&file);
        assert!(bytes >= 100 + ROOM + AHEAD, "{bytes}");
        // The next calls have room.
        file.set_len(100).unwrap();
        let first = reserved.to.load(Ordering::Relaxed);
        assert_eq!(claim(100, AHEAD - 100), Ok(Claimed::To(AHEAD)));
        assert_eq!(reserved.to.load(Ordering::Relaxed), first);
        file.set_len(AHEAD).unwrap();
        claim(AHEAD, 101).unwrap();
        assert!(reserved.to.load(Ordering::Relaxed) > first);
        // A file that another program cut has lost its blocks.
        file.set_len(0).unwrap();
        assert_eq!(blocks(&file), 0);
        assert_eq!(claim_of_cut(&reserved, &file, 100, 0), Claimed::To(100));
        assert!(blocks(&file) >= 100 + ROOM);
        file.set_len(100).unwrap();
        assert_eq!(claim(100, 50), Ok(Claimed::To(150)));
    }

    /// Each of several threads asked for room after the size that it had seen: together they took what was
    /// kept for notes, and a full disk cut their records.
    #[test]
    fn calls_in_progress_have_room_one_behind_the_other() {
        let Some((file, reserved)) = begin() else {
            return;
        };
        let fd = file.as_raw_fd();
        let claim = |size, len, others| reserved.claim(fd, size, (len, ROOM), || others);
        assert_eq!(claim(0, 5_000, 0), Ok(Claimed::To(5_000)));
        assert_eq!(claim(0, 5_000, 1), Ok(Claimed::To(10_000)));
        assert_eq!(claim(0, 60_000, 2), Ok(Claimed::To(70_000)));
        assert!(blocks(&file) >= 70_000 + ROOM);
        reserved.give_back(60_000);
        // One has written, and another process.
        assert_eq!(claim(12_000, 5_000, 2), Ok(Claimed::To(17_000)));
        file.set_len(13_000).unwrap();
        // Alone again: what the first saw is of no meaning.
        let claimed = claim_of_cut(&reserved, &file, 100, 0);
        assert_eq!(claimed, Claimed::To(13_100));
    }

    /// A program whose threads are never all out of a call, or jumped out of one: all that the file once had
    /// would be reserved again.
    #[test]
    fn a_file_that_was_cut_gets_few_blocks_though_calls_are_in_progress() {
        let Some((file, reserved)) = begin() else {
            return;
        };
        let fd = file.as_raw_fd();
        let claim = |size, len, others| reserved.claim(fd, size, (len, ROOM), || others);
        let much = u64::from(MOST_CALLS) * MOST_OF_A_CALL + (1 << 20);
        file.set_len(much).unwrap();
        claim(much, 100, 3).unwrap();
        file.set_len(0).unwrap();
        assert_eq!(claim_of_cut(&reserved, &file, 100, 3), Claimed::To(100));
        assert!(blocks(&file) <= 100 + ROOM + 2 * AHEAD, "{}", blocks(&file));
        // As many as have ever left a call by a jump.
        file.set_len(much).unwrap();
        claim(much, 100, 1_000_000).unwrap();
        file.set_len(0).unwrap();
        let claimed = claim_of_cut(&reserved, &file, 100, 1_000_000);
        assert_eq!(claimed, Claimed::To(100));
    }
}
