//! A log file that is mapped: created, grown, and looked after until its last
//! chunk is full. Knows chunks by their numbers and nothing of what is in
//! them.

use super::arena::Arena;
use super::chunk::{self, Claim, UNIT};
use crate::sys::{self, Errno};
use core::ffi::{CStr, c_int};
use core::sync::atomic::{AtomicBool, AtomicI32, AtomicU32, AtomicU64, Ordering};

/// A mapped log file, in a slot that other files use after it.
pub(crate) struct LogFile {
    /// Which use of the slot this is; 0 in the lowest bits while it is free.
    uses: AtomicU64,
    turn: AtomicU64,
    fd: AtomicI32,
    /// The number in its name.
    number: AtomicU32,
    device: AtomicU64,
    inode: AtomicU64,
    /// The unit at which byte 0 of the file is mapped.
    first: AtomicU64,
    /// Units that the file may have.
    capacity: AtomicU64,
    /// Units that were claimed.
    claimed: AtomicU64,
    /// Whether the file has had bytes.
    supplied: AtomicBool,
    /// No more chunks are to be had: somebody cut the file short, or it failed.
    given_up: AtomicBool,
    /// Whether its name may not be on stable storage yet.
    new: AtomicBool,
    /// Units that were made ready beyond those that were claimed.
    ready: AtomicU64,
    /// Bytes are first written as zeros, because that fills the page cache in
    /// large folios.
    by_write: AtomicBool,
}

/// One use of a slot, by one file: who has looked at a slot for long can tell
/// whether it is another file's by now.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Use(u64);

impl Use {
    const TAKEN: u64 = 1;
    /// Being left; what follows is free again.
    const LEFT: u64 = 2;
    const STEP: u64 = 4;
}

/// Why a chunk cannot be had.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Refusal {
    /// The file has all the chunks it may have.
    Full,
    /// The descriptor no longer leads to the file, or somebody cut it short.
    Lost,
    /// The system says no: no space, no quota, no permission.
    No(Errno),
}

impl LogFile {
    pub const fn new() -> LogFile {
        LogFile {
            uses: AtomicU64::new(0),
            turn: AtomicU64::new(0),
            fd: AtomicI32::new(-1),
            number: AtomicU32::new(0),
            device: AtomicU64::new(0),
            inode: AtomicU64::new(0),
            first: AtomicU64::new(0),
            capacity: AtomicU64::new(0),
            claimed: AtomicU64::new(0),
            supplied: AtomicBool::new(false),
            given_up: AtomicBool::new(false),
            new: AtomicBool::new(false),
            ready: AtomicU64::new(0),
            by_write: AtomicBool::new(false),
        }
    }

    /// Takes the slot, if it is free, for a file that may become the log's current
    /// one as the `turn`th.
    pub fn take(&self, turn: u64) -> Option<Use> {
        let free = self.uses.load(Ordering::Relaxed);
        let taken = free + Use::TAKEN;
        let is_free = free.is_multiple_of(Use::STEP);
        let first = || {
            self.uses
                .compare_exchange(free, taken, Ordering::Acquire, Ordering::Relaxed)
                .is_ok()
        };
        (is_free && first()).then(|| {
            self.turn.store(turn, Ordering::Relaxed);
            Use(taken)
        })
    }

    /// The use that the slot is in, if it holds a file.
    pub fn in_use(&self) -> Option<Use> {
        let uses = self.uses.load(Ordering::Acquire);
        (uses % Use::STEP == Use::TAKEN && self.fd() >= 0).then_some(Use(uses))
    }

    /// Lets go of the file and the slot, unless another thread has. The memory
    /// stays mapped for threads that have a chunk there.
    pub fn leave(&self, Use(taken): Use) {
        let left = taken - Use::TAKEN + Use::LEFT;
        let first = self
            .uses
            .compare_exchange(taken, left, Ordering::AcqRel, Ordering::Relaxed);
        if first.is_ok() {
            self.empty();
        }
    }

    fn empty(&self) {
        let fd = self.fd.swap(-1, Ordering::AcqRel);
        // A daemon may have closed it, and the number be another file's.
        if fd >= 0 && sys::stat(fd).is_ok_and(|stat| self.is(&stat)) {
            sys::close(fd);
        }
        let uses = self.uses.load(Ordering::Relaxed);
        let free = uses - uses % Use::STEP + Use::STEP;
        self.uses.store(free, Ordering::Release);
    }

    /// The process is a forked child: the file is its parent's, whatever a thread
    /// of the parent was about to do with the slot.
    pub fn forget(&self) {
        self.empty();
        // A call that the fork interrupted is not to find it by its path again.
        self.device.store(0, Ordering::Relaxed);
        self.inode.store(0, Ordering::Relaxed);
    }

    /// Makes the slot that of a file that was just created and is mapped at
    /// `first`.
    pub fn set(
        &self,
        arena: &Arena,
        fd: c_int,
        number: u32,
        first: u64,
        capacity: u64,
    ) -> Result<(), Errno> {
        let stat = sys::stat(fd)?;
        let file_system = sys::file_system(fd)?;
        arena.map(first, capacity, fd)?;
        self.number.store(number, Ordering::Relaxed);
        self.device.store(stat.st_dev, Ordering::Relaxed);
        self.inode.store(stat.st_ino, Ordering::Relaxed);
        self.first.store(first, Ordering::Relaxed);
        self.capacity.store(capacity, Ordering::Relaxed);
        self.claimed.store(0, Ordering::Relaxed);
        self.supplied.store(false, Ordering::Relaxed);
        self.given_up.store(false, Ordering::Relaxed);
        self.new.store(true, Ordering::Relaxed);
        self.ready.store(0, Ordering::Relaxed);
        self.by_write.store(
            super::file_system::likes_writes(file_system),
            Ordering::Relaxed,
        );
        self.fd.store(fd, Ordering::Release);
        Ok(())
    }

    /// The descriptor; -1 for an empty slot.
    pub fn fd(&self) -> c_int {
        self.fd.load(Ordering::Acquire)
    }

    /// The units that the file is mapped at.
    pub fn range(&self) -> core::ops::Range<u64> {
        let first = self.first.load(Ordering::Relaxed);
        first..first + self.capacity.load(Ordering::Relaxed)
    }

    /// How many units the file may have.
    pub fn capacity(&self) -> u64 {
        self.capacity.load(Ordering::Relaxed)
    }

    /// How many files were the log's current one before this was, itself included.
    pub fn turn(&self) -> u64 {
        self.turn.load(Ordering::Relaxed)
    }

    /// The number in the file's name.
    pub fn number(&self) -> u32 {
        self.number.load(Ordering::Relaxed)
    }

    fn is(&self, stat: &libc::stat) -> bool {
        stat.st_dev == self.device.load(Ordering::Relaxed)
            && stat.st_ino == self.inode.load(Ordering::Relaxed)
    }

    /// Claims a chunk and makes it ready to be written. `open` opens what stands under
    /// the file's name, in case a daemon closed our descriptor.
    pub fn claim(
        &self,
        arena: &Arena,
        units: u64,
        open: impl FnOnce() -> Option<c_int>,
    ) -> Result<Claim, Refusal> {
        if self.is_given_up() {
            return Err(Refusal::Lost);
        }
        let capacity = self.capacity.load(Ordering::Relaxed);
        let at = chunk::claim(&self.claimed, units, capacity).ok_or(Refusal::Full)?;
        let unit = self.first.load(Ordering::Relaxed) + at;
        match self.supply(arena, at, units, open) {
            Ok(()) => Ok(Claim { unit, units }),
            Err(refusal) => {
                chunk::give_back(&self.claimed, at, units);
                Err(refusal)
            }
        }
    }

    /// Makes the next `bytes` bytes of the file ready, so that claims of them call
    /// the system for nothing.
    pub fn prepare(
        &self,
        arena: &Arena,
        bytes: u64,
        open: impl FnOnce() -> Option<c_int>,
    ) -> Result<(), Refusal> {
        let claimed = self.claimed.load(Ordering::Relaxed);
        let units = bytes.div_ceil(UNIT);
        if claimed + units > self.capacity() {
            return Err(Refusal::No(Errno(libc::EFBIG)));
        }
        let (fd, _) = self.opened(open).ok_or(Refusal::Lost)?;
        // Threads may claim of it meanwhile, and write: nothing here may touch a
        // byte.
        self.reserve(fd, claimed, units)?;
        self.populate(arena, claimed, units)?;
        self.ready.fetch_max(claimed + units, Ordering::AcqRel);
        Ok(())
    }

    /// Opens what stands under a file's name.
    pub fn open(path: &CStr) -> Option<c_int> {
        let fd = sys::open(path, libc::O_RDWR | libc::O_NOFOLLOW, 0).ok()?;
        sys::mark_in_use(fd);
        Some(fd)
    }

    /// A descriptor of the file and what is known of it. `None` if it is gone.
    pub fn opened(&self, open: impl FnOnce() -> Option<c_int>) -> Option<(c_int, libc::stat)> {
        let fd = self.fd();
        if let Ok(stat) = sys::stat(fd)
            && self.is(&stat)
        {
            return Some((fd, stat));
        }
        // Closed, and perhaps the number of another file by now.
        let fd = open()?;
        match sys::stat(fd) {
            Ok(stat) if self.is(&stat) => {
                self.fd.store(fd, Ordering::Release);
                Some((fd, stat))
            }
            _ => {
                sys::close(fd);
                None
            }
        }
    }

    /// Whether the file's name may not be on stable storage yet.
    pub fn is_new(&self) -> bool {
        self.new.load(Ordering::Acquire)
    }

    /// The file's name is on stable storage.
    pub fn settle(&self) {
        self.new.store(false, Ordering::Release);
    }

    /// Gives no more chunks of this file out.
    pub fn give_up(&self) {
        self.given_up.store(true, Ordering::Release);
    }

    /// See [`LogFile::give_up`].
    pub fn is_given_up(&self) -> bool {
        self.given_up.load(Ordering::Acquire)
    }

    /// Gives a range of the file blocks and pages. After this, storing to it
    /// raises no signal on the file systems that are mapped at all.
    fn supply(
        &self,
        arena: &Arena,
        at: u64,
        units: u64,
        open: impl FnOnce() -> Option<c_int>,
    ) -> Result<(), Refusal> {
        if at + units <= self.ready.load(Ordering::Acquire) {
            return Ok(());
        }
        let (offset, len) = (at * UNIT, units * UNIT);
        // Asked before the size: a file that is empty after this was cut.
        let supplied = self.supplied.load(Ordering::Acquire);
        let (fd, stat) = self.opened(open).ok_or(Refusal::Lost)?;
        let size = stat.st_size as u64;
        if stat.st_nlink == 0 {
            // Removed: what goes there is gone.
            return Err(Refusal::Lost);
        }
        if size < offset && (supplied && size == 0 || self.is_far_behind(size)) {
            return Err(Refusal::Lost);
        }
        self.reserve(fd, at, units)?;
        if self.by_write.load(Ordering::Relaxed) && len >= 1 << 20 {
            return sys::write_zeros(fd, offset, len).map_err(Refusal::No);
        }
        self.populate(arena, at, units)
    }

    /// Gives a range of the file blocks.
    fn reserve(&self, fd: c_int, at: u64, units: u64) -> Result<(), Refusal> {
        let (offset, len) = (at * UNIT, units * UNIT);
        if sys::file_size_limit().is_some_and(|limit| offset + len > limit) {
            return Err(Refusal::No(Errno(libc::EFBIG)));
        }
        sys::reserve_blocks(fd, offset, len).map_err(Refusal::No)?;
        self.supplied.store(true, Ordering::Release);
        Ok(())
    }

    /// Gives a range of the file pages.
    fn populate(&self, arena: &Arena, at: u64, units: u64) -> Result<(), Refusal> {
        let unit = self.first.load(Ordering::Relaxed) + at;
        match arena.populate(unit, units) {
            // A kernel without this: the pages come by faults, and the blocks
            // are there.
            Err(Errno(libc::EINVAL)) | Ok(()) => Ok(()),
            Err(errno) => Err(Refusal::No(errno)),
        }
    }

    /// Whether somebody cut the file short: chunks that others claimed and are
    /// about to supply can make it look so, but not by more than what threads
    /// can claim in that instant.
    fn is_far_behind(&self, size: u64) -> bool {
        let claimed = self.claimed.load(Ordering::Relaxed) * UNIT;
        size + (1 << 30) < claimed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_looked_at_a_slot_for_long_does_not_leave_the_file_that_came_after() {
        let slot = LogFile::new();
        let first = slot.take(1).unwrap();
        assert_eq!(slot.take(2), None);
        assert_eq!(slot.in_use(), None, "there is no file yet");
        slot.leave(first);
        let second = slot.take(3).unwrap();
        slot.leave(first);
        assert_eq!((slot.take(4), slot.turn()), (None, 3));
        slot.leave(second);
        assert!(slot.take(5).is_some());
        slot.forget();
        assert!(slot.take(6).is_some());
    }
}
