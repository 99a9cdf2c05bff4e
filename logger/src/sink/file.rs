//! A log file, as the family of processes that writes it knows it: created, grown, and
//! looked after until its last chunk is full. A process reaches it by a descriptor of
//! its own, or by its name. Knows nothing of what is in chunks.

use super::chunk::{self, UNIT, Word};
use super::names::Opened;
use crate::sys::{self, Errno, Identity, Limit};
use core::ffi::{CStr, c_int};
use core::sync::atomic::{AtomicBool, AtomicI64, AtomicU32, AtomicU64, Ordering, fence};
pub(crate) use descriptor::{Descriptor, OfCall};
use logdef_wire::record::Preamble;
pub(crate) use refusal::Refusal;
use units::Units;

mod descriptor;
mod refusal;
mod units;

/// A log file, in a slot that other files use after it. In memory that processes share.
pub(crate) struct LogFile {
    /// Which use of the slot this is; 0 in the lowest bits while it is free.
    uses: AtomicU64,
    /// Who took it for this use.
    taker: AtomicU32,
    /// The last use in which its file became the log's.
    of_log: AtomicU64,
    turn: AtomicU64,
    /// The last use for which all of this was set.
    set_for: AtomicU64,
    /// The number in its name.
    number: AtomicU32,
    device: AtomicU64,
    inode: AtomicU64,
    file_system: AtomicI64,
    /// Units that the file may have.
    capacity: AtomicU64,
    /// Units that were claimed, below the turn: who looked at the slot for long must not
    /// claim of the next file, nor give back to it.
    claimed: AtomicU64,
    /// Units at the front whose chunks were pruned, below the turn.
    pruned: AtomicU64,
    /// Bytes at the front that stay when its first chunk is pruned: the frames that open
    /// it, and room for notes after them.
    front: AtomicU64,
    /// Where the next note goes in that room.
    note: AtomicU64,
    /// Whether the file has had bytes.
    supplied: AtomicBool,
    /// No more chunks are to be had: the file was cut short, or it failed.
    given_up: AtomicBool,
    /// Whether a process writes to it that can open none after it.
    home: AtomicBool,
    /// Whether its name may not be on stable storage yet.
    new: AtomicBool,
    /// Units that were made ready beyond those that were claimed, below the turn.
    ready: AtomicU64,
}

/// A file and this process's way to it.
#[derive(Clone, Copy)]
pub(crate) struct Reached<'f> {
    pub file: &'f LogFile,
    pub descriptor: &'f Descriptor,
}

/// A claimed range of a file, and a descriptor of the file; none where the process has
/// none and the range was made ready before.
#[derive(Debug, Eq, PartialEq)]
pub(crate) struct Supplied {
    pub by: Option<OfCall>,
    /// Where it starts, in units.
    pub at: u64,
    pub units: u64,
    /// Zeros were just written there, so that its pages are in memory.
    pub is_zeroed: bool,
}

/// One use of a slot, by one file: a thread that looked at a slot before can see whether it
/// is another file's by now.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Use(u64);

impl Use {
    const TAKEN: u64 = 1;
    const STEP: u64 = 4;
}

impl LogFile {
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
            self.taker.store(sys::process_id(), Ordering::Relaxed);
            self.turn.store(turn, Ordering::Relaxed);
            Use(taken)
        })
    }

    /// Frees the slot if it was taken by a process that died before it set a file.
    pub fn take_from_the_dead(&self) {
        let uses = self.uses.load(Ordering::Acquire);
        let taker = self.taker.load(Ordering::Relaxed);
        let unset = self.set_for.load(Ordering::Acquire) != uses;
        if !uses.is_multiple_of(Use::STEP) && unset && taker != 0 && !sys::is_alive(taker) {
            let free = uses - uses % Use::STEP + Use::STEP;
            let _ = self
                .uses
                .compare_exchange(uses, free, Ordering::AcqRel, Ordering::Relaxed);
        }
    }

    /// The use that the slot is in, if it holds a file.
    pub fn in_use(&self) -> Option<Use> {
        let uses = self.uses.load(Ordering::Acquire);
        // A thread that just took it has not said of which turn its file is.
        let is_set = self.set_for.load(Ordering::Acquire) == uses;
        (uses % Use::STEP == Use::TAKEN && is_set).then_some(Use(uses))
    }

    /// The file became the log's. Who finds it to be so says it too: the thread that made it may have been
    /// stopped before it could.
    pub fn join_log(&self, Use(taken): Use) {
        self.of_log.fetch_max(taken, Ordering::AcqRel);
    }

    /// Whether the slot's file became the log's in this use. One that is not may become so, or was made in vain
    /// beside another.
    pub fn is_of_log(&self, Use(taken): Use) -> bool {
        self.of_log.load(Ordering::Acquire) == taken
    }

    /// Lets go of the file and the slot, unless another thread has. The memory
    /// stays mapped for threads that have a chunk there.
    pub fn leave(&self, Use(taken): Use) {
        let free = taken - Use::TAKEN + Use::STEP;
        let _ = self
            .uses
            .compare_exchange(taken, free, Ordering::AcqRel, Ordering::Relaxed);
    }

    /// How many units the file may have.
    pub fn capacity(&self) -> u64 {
        self.capacity.load(Ordering::Relaxed)
    }

    /// Bytes of the file that were claimed.
    pub fn claimed_bytes(&self) -> u64 {
        self.claimed_units() * UNIT
    }

    fn claimed_units(&self) -> u64 {
        self.claimed.load(Ordering::Relaxed) & Units::MASK
    }

    /// What was claimed of the file of a turn.
    fn claimed_in(&self, turn: u64) -> Units<'_> {
        Units {
            word: &self.claimed,
            turn,
        }
    }

    /// What was made ready of the file of a turn.
    fn ready_in(&self, turn: u64) -> Units<'_> {
        Units {
            word: &self.ready,
            turn,
        }
    }

    /// Lets the file have more units than `before`, unless another thread already did.
    pub fn grow(&self, before: u64, units: u64) {
        let order = Ordering::Relaxed;
        let _ = self.capacity.compare_exchange(before, units, order, order);
    }

    /// Bytes at the front whose chunks were pruned.
    pub fn pruned_bytes(&self) -> u64 {
        (self.pruned.load(Ordering::SeqCst) & Units::MASK) * UNIT
    }

    /// Prunes the chunks of the file of a turn that lie before a unit. From which unit
    /// on; `None` if that was done.
    pub fn prune(&self, turn: u64, end: u64) -> Option<u64> {
        let pruned = Units {
            word: &self.pruned,
            turn,
        };
        let before = Word::update(&pruned, |units| (units < end).then_some(end));
        // Either this thread sees that a range is no longer mapped, or the one that unmaps it sees
        // that it is pruned.
        fence(Ordering::SeqCst);
        before.ok()
    }

    /// Bytes at the front of the file that stay when its first chunk is pruned.
    pub fn front(&self) -> u64 {
        self.front.load(Ordering::Relaxed)
    }

    /// Keeps room for notes after the `opening` bytes that open the file. How many bytes
    /// both take.
    pub fn keep_room(&self, opening: u64) -> u64 {
        self.note.store(opening, Ordering::Relaxed);
        self.front
            .store(opening + Preamble::ROOM_FOR_NOTES, Ordering::Release);
        opening + Preamble::ROOM_FOR_NOTES
    }

    /// Takes some bytes of the room for notes, and says where they are.
    pub fn take_room(&self, len: u64) -> Option<u64> {
        let front = self.front.load(Ordering::Acquire);
        let order = Ordering::Relaxed;
        let next = |at: u64| (at + len <= front).then_some(at + len);
        self.note.fetch_update(order, order, next).ok()
    }

    /// How many files were the log's current one before this was, itself included.
    pub fn turn(&self) -> u64 {
        self.turn.load(Ordering::Relaxed)
    }

    /// The magic number of the file system that holds the file.
    pub fn file_system(&self) -> i64 {
        self.file_system.load(Ordering::Relaxed)
    }

    /// The number in the file's name.
    pub fn number(&self) -> u32 {
        self.number.load(Ordering::Relaxed)
    }

    /// The same, if the slot has the file of a turn.
    pub fn number_at_turn(&self, turn: u64) -> Option<u32> {
        let file_use = self.in_use()?;
        let number = self.number();
        // Others may have left the file meanwhile, and the slot have another.
        fence(Ordering::Acquire);
        (self.in_use() == Some(file_use) && self.turn() == turn).then_some(number)
    }

    fn is(&self, facts: &Identity) -> bool {
        facts.file.0 == self.device.load(Ordering::Relaxed)
            && facts.file.1 == self.inode.load(Ordering::Relaxed)
    }

    /// Opens what stands under a file's name.
    pub fn open(path: &CStr) -> Result<c_int, Errno> {
        let fd = sys::open(path, libc::O_RDWR | libc::O_NOFOLLOW, 0)?;
        sys::mark_in_use(fd);
        sys::mark_mapped(fd);
        Ok(fd)
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

    pub fn device(&self) -> u64 {
        self.device.load(Ordering::Acquire)
    }

    pub fn inode(&self) -> u64 {
        self.inode.load(Ordering::Acquire)
    }

    /// A process writes to it that can open none after it.
    pub fn become_home(&self) {
        self.home.store(true, Ordering::Relaxed);
    }

    /// See [`LogFile::become_home`].
    pub fn is_home(&self) -> bool {
        self.home.load(Ordering::Relaxed)
    }

    /// See [`LogFile::give_up`].
    pub fn is_given_up(&self) -> bool {
        self.given_up.load(Ordering::Acquire)
    }

    /// Whether the file was cut short: chunks that others claimed and are
    /// about to supply can make it look so, but not by more than what threads
    /// can claim in that instant.
    fn is_far_behind(&self, size: u64) -> bool {
        size + (1 << 30) < self.claimed_bytes()
    }
}

impl Reached<'_> {
    /// Makes the slot, which was taken for this use, that of a file that was just
    /// created.
    pub fn set(&self, of: Use, made: &Opened, number: u32, capacity: u64) -> Result<(), Errno> {
        let Opened { fd, file: facts } = *made;
        let file_system = sys::file_system(fd)?;
        let file = self.file;
        file.number.store(number, Ordering::Release);
        file.device.store(facts.file.0, Ordering::Release);
        file.inode.store(facts.file.1, Ordering::Release);
        file.capacity.store(capacity, Ordering::Relaxed);
        file.claimed
            .store(file.claimed_in(file.turn()).with(0), Ordering::Relaxed);
        file.pruned
            .store(file.claimed_in(file.turn()).with(0), Ordering::Relaxed);
        file.front.store(0, Ordering::Relaxed);
        file.note.store(0, Ordering::Relaxed);
        file.supplied.store(false, Ordering::Relaxed);
        file.given_up.store(false, Ordering::Relaxed);
        file.home.store(false, Ordering::Relaxed);
        file.new.store(true, Ordering::Relaxed);
        file.ready
            .store(file.claimed_in(file.turn()).with(0), Ordering::Relaxed);
        file.file_system.store(file_system, Ordering::Relaxed);
        // The descriptor of an earlier use is no longer needed.
        let left = self.descriptor.word();
        if !self.descriptor.set(left, of, fd, &facts) {
            return Err(Errno(libc::EAGAIN));
        }
        let Use(taken) = of;
        file.set_for.store(taken, Ordering::Release);
        Ok(())
    }

    /// A descriptor of the file and its identity. `None` if it is gone. `open`
    /// opens what stands under the file's name, in case ours was closed, or another
    /// process made the file.
    pub fn opened(&self, open: impl FnOnce() -> Option<c_int>) -> Option<(c_int, Identity)> {
        let now = self.file.in_use()?;
        let word = self.descriptor.word();
        if let Some(fd) = Descriptor::fd_in(word)
            && let Some(facts) = self.leads_here(fd)
        {
            return Some((fd, facts));
        }
        let fd = open()?;
        match self.leads_here(fd) {
            Some(facts) if self.descriptor.set(word, now, fd, &facts) => Some((fd, facts)),
            // Another file, or another thread was first: the next try finds its
            // descriptor.
            _ => {
                sys::close(fd);
                let word = self.descriptor.word();
                let fd = Descriptor::fd_in(word)?;
                Some((fd, self.leads_here(fd)?))
            }
        }
    }

    /// A descriptor of the file of a turn for one call, and its identity. `None` if it is gone; `Again` if another
    /// thread let go of it meanwhile. See [`Reached::opened`].
    fn opened_for_call(
        &self,
        turn: u64,
        open: impl FnOnce() -> Option<c_int>,
    ) -> Result<Option<(OfCall, Identity)>, Refusal> {
        let Some((fd, _)) = self.opened(open) else {
            return Ok(None);
        };
        let by = OfCall::like(fd);
        let facts = self.leads_here(by.fd());
        // The turn is found that goes with the identity which was compared, or a later one.
        fence(Ordering::Acquire);
        match facts.filter(|_| self.file.turn() == turn) {
            Some(facts) => Ok(Some((by, facts))),
            None => Err(Refusal::Again),
        }
    }

    /// The identity of the file, if a descriptor leads to it.
    pub fn leads_here(&self, fd: c_int) -> Option<Identity> {
        let facts = sys::identity(fd).ok()?;
        self.file.is(&facts).then_some(facts)
    }

    /// Whether the file has no name any more, as far as a descriptor of this process says.
    pub fn is_removed(&self) -> bool {
        let fd = Descriptor::fd_in(self.descriptor.word());
        let found = fd.and_then(|fd| self.leads_here(fd));
        found.is_some_and(|found| found.names == 0)
    }

    /// Whether this process has opened it and not let go of it, though the program may have closed the descriptor.
    pub fn is_open(&self) -> bool {
        self.descriptor.word() != 0
    }

    /// Whether another file could have the number of the descriptor.
    pub fn has_number_below(&self, limit: u64) -> bool {
        let fd = Descriptor::fd_in(self.descriptor.word());
        fd.is_some_and(|fd| (fd as u64) < limit)
    }

    /// Whether a descriptor leads to the file that the slot has, and had at a turn: others
    /// may have left that meanwhile, and another file may have its slot and its descriptor.
    pub fn is_still(&self, turn: u64, fd: c_int) -> bool {
        let leads_here = self.leads_here(fd).is_some();
        // The turn is found that goes with the identity which was compared, or a later one.
        fence(Ordering::Acquire);
        leads_here && self.file.turn() == turn
    }

    /// Claims a chunk in a part of the file, of `part` units, and makes it ready to be mapped and
    /// written.
    pub fn claim(
        &self,
        turn: u64,
        units: u64,
        part: u64,
        open: impl FnOnce() -> Option<c_int>,
    ) -> Result<Supplied, Refusal> {
        if self.file.is_given_up() {
            return Err(Refusal::Lost);
        }
        let claimed = self.file.claimed_in(turn);
        let capacity = self.file.capacity();
        // Asked first: to claim beyond it would take what is left from others.
        let ready = self.file.ready_in(turn).count();
        let granted = (Limit::FileSize.or_any() / UNIT).max(ready).min(capacity);
        let refusal = if granted < capacity {
            Refusal::No(Errno(libc::EFBIG))
        } else {
            Refusal::Full
        };
        let at = chunk::claim(&claimed, units, part, granted).ok_or(refusal)?;
        let supplied = self.supply(turn, at, units, open);
        if supplied.is_err() {
            self.give_back(turn, at, units);
        }
        supplied
    }

    /// Gives claimed units back, if no later claim was made.
    pub fn give_back(&self, turn: u64, at: u64, units: u64) {
        chunk::give_back(&self.file.claimed_in(turn), at, units);
    }

    /// Makes the next `bytes` bytes of the file of a turn ready, so that claims of them call
    /// the system for next to nothing.
    pub fn prepare(
        &self,
        turn: u64,
        bytes: u64,
        open: impl FnOnce() -> Option<c_int>,
    ) -> Result<(), Refusal> {
        let claimed = self.file.claimed_in(turn).count();
        let units = bytes.div_ceil(UNIT);
        if claimed + units > self.file.capacity().min(Limit::FileSize.or_any() / UNIT) {
            return Err(Refusal::No(Errno(libc::EFBIG)));
        }
        let (by, _) = self.opened_for_call(turn, open)?.ok_or(Refusal::Lost)?;
        // Threads may claim of it meanwhile, and write: nothing here may touch a
        // byte.
        self.reserve(by.fd(), claimed, units)?;
        self.populate(by.fd(), claimed, units)?;
        let end = claimed + units;
        let _ = Word::update(&self.file.ready_in(turn), |ready| {
            (ready < end).then_some(end)
        });
        Ok(())
    }

    /// Gives a range of the file blocks and, where that is cheap, pages. Once its pages
    /// were made ready too, storing to it raises no signal on the file systems that are
    /// mapped at all.
    fn supply(
        &self,
        turn: u64,
        at: u64,
        units: u64,
        open: impl FnOnce() -> Option<c_int>,
    ) -> Result<Supplied, Refusal> {
        let file = self.file;
        let (offset, len) = (at * UNIT, units * UNIT);
        // Asked before the size: a file that is empty after this was cut.
        let had_bytes = file.supplied.load(Ordering::Acquire);
        let opened = self.opened_for_call(turn, open)?;
        let supplied = |by, is_zeroed| Supplied {
            by,
            at,
            units,
            is_zeroed,
        };
        if at + units <= file.ready_in(turn).count() {
            return Ok(supplied(opened.map(|(by, _)| by), false));
        }
        let (by, facts) = opened.ok_or(Refusal::OutOfReach)?;
        let (fd, size) = (by.fd(), facts.size);
        if facts.names == 0 {
            // Removed: what goes there is gone.
            return Err(Refusal::Lost);
        }
        if size < offset && (had_bytes && size == 0 || file.is_far_behind(size)) {
            return Err(Refusal::Lost);
        }
        let doubted = |refusal| self.unless_elsewhere(fd, refusal);
        self.reserve(fd, at, units).map_err(doubted)?;
        // Zeros that are written fill the page cache in large folios.
        let writes = super::file_system::likes_writes(file.file_system()) && len >= 1 << 20;
        if writes {
            let may = || self.is_still(turn, fd);
            let written = sys::write_zeros(fd, offset, len, may).map_err(Refusal::No);
            if !written.map_err(doubted)? {
                return Err(Refusal::Again);
            }
        }
        Ok(supplied(Some(by), writes))
    }

    /// Why a descriptor could not be used, unless it was closed meanwhile: then its number may be another
    /// file's, for which other things are refused.
    pub fn unless_elsewhere(&self, fd: c_int, refusal: Refusal) -> Refusal {
        if self.leads_here(fd).is_some() {
            refusal
        } else {
            Refusal::Again
        }
    }

    /// Gives a range of the file blocks.
    fn reserve(&self, fd: c_int, at: u64, units: u64) -> Result<(), Refusal> {
        sys::reserve_blocks(fd, at * UNIT, units * UNIT).map_err(Refusal::No)?;
        self.file.supplied.store(true, Ordering::Release);
        Ok(())
    }

    /// Gives a range of the file pages, seen through windows that are then closed.
    fn populate(&self, fd: c_int, at: u64, units: u64) -> Result<(), Refusal> {
        const MOST: u64 = 4 << 20;
        let end = (at + units) * UNIT;
        let page = sys::page_size();
        let mut offset = at * UNIT / page * page;
        while offset < end {
            let len = MOST.min((end - offset).next_multiple_of(page));
            let base = sys::map_file(fd, offset, len).map_err(Refusal::No)?;
            let populated = sys::populate(base, len as usize);
            sys::unmap(base, len as usize);
            populated.map_err(Refusal::of_pages)?;
            offset += len;
        }
        Ok(())
    }

    /// Writes a frame into the room that is kept for notes: its blocks are there whatever
    /// the disk has left.
    pub fn put_note(&self, frame: &[u8], open: impl FnOnce() -> Option<c_int>) -> bool {
        let opened = self.opened_for_call(self.file.turn(), open);
        let Ok(Some((by, facts))) = opened else {
            return false;
        };
        if facts.names == 0 {
            return false;
        }
        let len = frame.len() as u64;
        let limit = Limit::FileSize.or_any();
        if facts.size < self.file.front().max(1) || limit < self.file.front() {
            return false;
        }
        let at = self.file.take_room(len);
        at.is_some_and(|at| sys::write_at(by.fd(), frame, at) == Ok(frame.len()))
    }

    /// Gives back the blocks of a range of the file of a turn that no process maps. `open` as for [`Reached::opened`].
    pub fn punch(&self, turn: u64, from: u64, end: u64, open: impl FnOnce() -> Option<c_int>) {
        if let Ok(Some((by, _))) = self.opened_for_call(turn, open) {
            let _ = sys::punch(by.fd(), from, end - from);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sink::family::Family;
    use crate::sink::lent::Shareable;

    #[test]
    fn who_looked_at_a_slot_for_long_does_not_leave_the_file_that_came_after() {
        let family = Family::allocate().unwrap();
        let slot = &family.files[0];
        let first = slot.take(1).unwrap();
        assert_eq!(slot.take(2), None);
        assert_eq!(slot.in_use(), None, "there is no file yet");
        slot.leave(first);
        let second = slot.take(3).unwrap();
        slot.leave(first);
        assert_eq!((slot.take(4), slot.turn()), (None, 3));
        slot.leave(second);
        assert!(slot.take(5).is_some());
        slot.take_from_the_dead();
        assert_eq!(slot.take(6), None, "this process lives");
        slot.taker.store(u32::MAX >> 2, Ordering::Relaxed);
        slot.take_from_the_dead();
        assert!(slot.take(7).is_some());
    }

    /// A thread that was at it for long took the blocks of the file that had the slot after that
    /// which the log gave up, and wrote zeros over its records.
    #[test]
    fn who_looked_at_a_slot_for_long_does_not_touch_the_file_that_came_after() {
        const CHUNK: u64 = 2 << 20;
        let family = Family::allocate().unwrap();
        let descriptor = Descriptor::new();
        let reached = Reached {
            file: &family.files[0],
            descriptor: &descriptor,
        };
        let directory = tempfile::tempdir().unwrap();
        let begin = |turn: u64| {
            let path = directory.path().join(turn.to_string());
            std::fs::write(&path, vec![1; CHUNK as usize]).unwrap();
            let name = std::ffi::CString::new(path.to_str().unwrap()).unwrap();
            let of = reached.file.take(turn).unwrap();
            let fd = LogFile::open(&name).unwrap();
            let made = Opened::at(&name, fd).unwrap();
            reached.set(of, &made, turn as u32, 1 << 20).unwrap();
            (of, path)
        };
        let ones = |path| {
            let bytes: Vec<u8> = std::fs::read(path).unwrap();
            bytes.iter().filter(|byte| **byte == 1).count() as u64
        };
        let (of, first) = begin(1);
        let (fd, _) = reached.opened(|| None).unwrap();
        assert!(reached.is_still(1, fd));
        reached.punch(1, 0, CHUNK / 2, || None);
        assert_eq!(ones(&first), CHUNK / 2);
        reached.file.leave(of);
        let (_, second) = begin(2);
        let (again, _) = reached.opened(|| None).unwrap();
        // The descriptor that it had leads to the second file now.
        assert!(reached.is_still(2, again) && !reached.is_still(1, again));
        let numbers = [1, 2].map(|turn| reached.file.number_at_turn(turn));
        assert_eq!(numbers, [None, Some(2)]);
        reached.punch(1, 0, CHUNK, || None);
        // Some file systems take no zeros.
        let supplied = reached.supply(1, 0, CHUNK / UNIT, || None);
        assert!(supplied.is_ok() || supplied == Err(Refusal::Again));
        assert_eq!(ones(&second), CHUNK);
    }
}
