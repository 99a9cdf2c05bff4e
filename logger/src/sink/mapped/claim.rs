//! How a thread comes to its next chunk: one that was made ready ahead, else a range that
//! it claims of the file that is written to, with blocks, a mapping, and pages. Knows
//! nothing of what is in a chunk.

use super::{Log, Mapped, Reached, smallest_chunk};
use crate::shared::Shared;
use crate::sink::chunk::{Claim, UNIT};
use crate::sink::family::SLOT_BITS;
use crate::sink::file::{OfCall, Refusal, Supplied};
use crate::sink::names::UNNUMBERED;
use crate::sys::{self, Errno, Limit};
use crate::thread::Thread;
use crate::window::Range;
use core::sync::atomic::Ordering;

/// Bytes of a thread's first chunks; the last is that of all later ones. It takes half a
/// millisecond to claim, and is large enough for 20,000 records of three arguments, so that
/// claims are rarer than one call in 10,000.
const CHUNKS: [u64; 4] = [UNIT, 64 << 10, 512 << 10, 2 << 20];
/// From which of them on a helper makes chunks ready ahead: those of threads that log much.
pub(super) const AHEAD: u32 = CHUNKS.len() as u32 - 1;
/// Bytes of a chunk that is made ready ahead, by a helper that need not hurry.
const READY_CHUNK: u64 = 4 << 20;
/// Which a thread takes at most if none is ready that should be. Its claim mostly waits for the
/// helper's turns at the kernel's locks: smaller chunks would wait as long, and more often.
const BETWEEN: u32 = 2;
/// Files that a thread may find full or gone, one after another, before its call is
/// dropped. A few of them where many threads share the smallest of files, since
/// the others may have filled a new one before its maker gets to use it.
const ATTEMPTS: u32 = 1000;
/// Files that a call may find too full for a large record, which needs more than a part of
/// one, before it is dropped: others may take that part of each new file first.
const LARGE_ATTEMPTS: u32 = 100;
/// The part of a limit that windows may take together.
const WINDOWS_PART: u64 = 8;

/// A chunk that is mapped, whose pages are there, and that is no thread's yet.
#[derive(Clone, Copy)]
pub(super) struct Held {
    pub base: *mut u8,
    pub range: Range,
}

/// What became of a claim.
pub(super) struct Tried {
    /// What the family's current file was, and how many units it might have.
    current: u64,
    capacity: u64,
    units: u64,
    /// `None` if others filled that file meanwhile, and enough after it that it was removed,
    /// or its slot became another's. Zeros stay there.
    pub claimed: Option<Result<Held, Refusal>>,
}

impl Held {
    /// Makes its pages ready to be written without a fault. In pieces, between which other
    /// threads may have the kernel's lock on the process's mappings.
    ///
    /// What `MADV_POPULATE_WRITE` takes is a look at each page. Stores take less where one fault maps
    /// many pages, those of a large folio, and more where each page has its own.
    fn populate(&self, is_zeroed: bool) -> Result<(), Errno> {
        const PIECE: usize = 256 << 10;
        const PAGES_A_FAULT: u64 = 8;
        let mut by_stores = is_zeroed;
        let len = self.range.len as usize;
        (0..len).step_by(PIECE).try_for_each(|at| {
            let (base, piece) = (self.base.wrapping_add(at), PIECE.min(len - at));
            let faults = by_stores.then(|| sys::store_zeros(base, piece)).flatten();
            by_stores = faults
                .is_some_and(|faults| faults * PAGES_A_FAULT * sys::page_size() <= piece as u64);
            match faults {
                Some(_) => Ok(()),
                None => sys::populate(base, piece),
            }
        })
    }

    /// Whether its memory is locked, so that it counts against what the process may lock.
    fn is_locked(&self) -> bool {
        // Pages of a shared mapping come back with their content.
        let advised = sys::advise(self.base, self.range.len as usize, libc::MADV_DONTNEED);
        advised == Err(Errno(libc::EINVAL))
    }
}

impl Log<'_> {
    /// See [`Mapped::claim`].
    pub(super) fn try_to_claim(
        &self,
        shared: &Shared,
        thread: &Thread,
        need: u64,
    ) -> Option<Claim> {
        // A call that a fork interrupted: the record is the parent's. Or one that began before
        // the log was closed and another opened, which has its files before it has its run.
        let run = &shared.run;
        if run.needs_reinit_after_fork() || run.is_opening() || !thread.is_of(run.id()) {
            return None;
        }
        // The other threads have room, and this one when the call that was interrupted returns.
        if thread.lasting().windows.are_full() {
            shared.reports.write_failed(Errno(libc::ENOBUFS));
            return None;
        }
        let now = sys::clock(libc::CLOCK_MONOTONIC_COARSE);
        if self.mapped.retry.is_paused(|| now) {
            // The helper may have been at work on one when the last was refused.
            let held = self.any_ready(thread, need)?;
            return self.adopt(thread, held).ok();
        }
        let nth = thread.chunks.load(Ordering::Relaxed);
        let wanted = self.chunk_units(nth, need);
        let ready = self.take_ready(thread, |units| units == wanted);
        let has_helper = self.mapped.ahead.has_helper();
        let mut size = if has_helper { nth.min(BETWEEN) } else { nth };
        let held = ready.map_or_else(|| self.new_chunk(shared, thread, &mut size, need), Ok);
        let claim = held.and_then(|held| self.adopt(thread, held).map_err(Some));
        if let Err(Some(errno)) = claim {
            self.refuse(shared, now, errno);
        }
        let claim = claim.ok()?;
        // The disk is nearly full: small chunks from now on.
        let had = if size == 0 { 0 } else { nth };
        thread
            .chunks
            .store(had.saturating_add(1), Ordering::Relaxed);
        self.mapped.retry.granted();
        shared.write_succeeded();
        shared.clock_was_set();
        if self.family.owed.is_any() {
            shared.drops_are_due();
        }
        Some(claim)
    }

    /// Claims a chunk for `need` bytes of a file that has room, or of one that follows: one of the
    /// size that a thread's `nth` has, or of the smallest, if there is no room for
    /// that. No error: others were always first.
    pub(super) fn new_chunk(
        &self,
        shared: &Shared,
        thread: &Thread,
        nth: &mut u32,
        need: u64,
    ) -> Result<Held, Option<Errno>> {
        let mut too_full = 0;
        for _ in 0..ATTEMPTS {
            let current = self.family.current.load(Ordering::Acquire);
            let tried = self.try_current(current, *nth, need);
            match tried.claimed {
                // EBADF: see `unless_in_vain`.
                None | Some(Err(Refusal::Again | Refusal::No(Errno(libc::EBADF)))) => {}
                Some(Ok(held)) => {
                    self.mapped.home.store(0, Ordering::Relaxed);
                    return Ok(held);
                }
                Some(Err(refusal @ (Refusal::Full | Refusal::Lost | Refusal::OutOfReach))) => {
                    if refusal == Refusal::Full
                        && let Some(held) = self.any_ready(thread, need)
                    {
                        return Ok(held);
                    }
                    too_full += u32::from(tried.units * 4 > tried.capacity);
                    if too_full > LARGE_ATTEMPTS {
                        return Err(None);
                    }
                    let followed = self.follow(shared, &tried, refusal);
                    if let Err(errno) = followed
                        && refusal != Refusal::Lost
                        && let Some(held) = self.claim_earlier(shared, *nth, need, errno)
                    {
                        return Ok(held);
                    }
                    followed.or_else(unless_in_vain)?;
                }
                // What is left of the disk, or of the addresses, is filled with small
                // chunks.
                Some(Err(Refusal::No(Errno(
                    libc::ENOSPC | libc::EDQUOT | libc::EFBIG | libc::ENOMEM | libc::EAGAIN,
                )))) if *nth > 0 => {
                    *nth = 0;
                }
                Some(Err(Refusal::No(errno))) => {
                    if let Some(held) = self.any_ready(thread, need) {
                        return Ok(held);
                    }
                    if !self.fits_the_next(&tried, need, errno) {
                        return Err(Some(errno));
                    }
                    let rotated = self.rotate(shared, tried.current);
                    rotated.or_else(unless_in_vain).map_err(|_| Some(errno))?;
                }
            }
        }
        Err(None)
    }

    /// What the helper took of a file or of a disk that is full now: of another size, perhaps.
    fn any_ready(&self, thread: &Thread, need: u64) -> Option<Held> {
        self.take_ready(thread, |units| units >= self.chunk_units(0, need))
    }

    /// Tries to claim a chunk of the file that is written to, if that is still what the family's `current`
    /// was.
    pub(super) fn try_current(&self, current: u64, nth: u32, need: u64) -> Tried {
        let file = self.file_of(current);
        let file_use = file.file.in_use();
        let mut tried = Tried {
            current,
            capacity: file.file.capacity(),
            units: self.chunk_units(nth, need),
            claimed: None,
        };
        if self.family.current.load(Ordering::Acquire) != current {
            return tried;
        }
        let turn = current >> SLOT_BITS;
        let claimed = self.claim_of(&file, turn, tried.units);
        let is_pruned = |held: Held| self.left_of(held.range).is_some();
        if file.file.in_use() == file_use && !claimed.is_ok_and(is_pruned) {
            tried.claimed = Some(claimed);
        } else if let Ok(held) = claimed {
            self.discard(held);
        }
        tried
    }

    /// Claims a chunk of the file of a turn, and maps it.
    pub(super) fn claim_of(&self, file: &Reached, turn: u64, units: u64) -> Result<Held, Refusal> {
        let part = self.family.file_units.load(Ordering::Relaxed);
        let supplied = file.claim(turn, units, part, || self.reopen(file.file))?;
        self.hold(file, turn, supplied)
    }

    /// Whether this process has a descriptor of a file, or can open it. What it cannot is not to grow for it.
    pub(super) fn can_open(&self, file: &Reached) -> bool {
        file.opened(|| self.reopen(file.file)).is_some()
    }

    /// Whether a chunk for `need` bytes was refused only since the file is as large as the
    /// process's files may be, in a log that is rotated.
    fn fits_the_next(&self, tried: &Tried, need: u64, errno: Errno) -> bool {
        let is_rotated = self.file_of(tried.current).file.number() != UNNUMBERED;
        let bytes = (tried.units * UNIT).max(need * 2);
        errno == Errno(libc::EFBIG) && is_rotated && bytes <= Limit::FileSize.or_any()
    }

    /// Begins the file that follows the one of which a chunk was refused; or stays in that,
    /// if no other can be made.
    fn follow(&self, shared: &Shared, tried: &Tried, refusal: Refusal) -> Result<(), Errno> {
        let reached = self.file_of(tried.current);
        let file = reached.file;
        if refusal == Refusal::Lost && !file.is_given_up() {
            self.give_up(shared, file, None);
        }
        let rotated = self.rotate(shared, tried.current);
        let current = &self.family.current;
        rotated.or_else(|errno| match refusal {
            // Another thread was quicker.
            _ if current.load(Ordering::Acquire) != tried.current => Ok(()),
            Refusal::Full if self.can_open(&reached) => {
                self.grow_full(shared, file, tried.capacity, errno)
            }
            _ => Err(errno),
        })
    }

    /// How large the `nth` chunk of a thread is, which needs `need` bytes, and perhaps
    /// as many for definitions.
    pub(super) fn chunk_units(&self, nth: u32, need: u64) -> u64 {
        let file_units = self.family.file_units.load(Ordering::Relaxed);
        let granted = Limit::FileSize.or_any() / UNIT;
        let capacity = file_units.min(granted).max(1);
        // A record that would need more than a file has the whole of one.
        let needed = (need * 2).div_ceil(UNIT).next_power_of_two();
        let least = needed.min(1 << capacity.ilog2()).max(smallest_chunk());
        let wanted = if nth >= AHEAD && self.mapped.ahead.has_helper() {
            READY_CHUNK
        } else {
            CHUNKS[nth.min(AHEAD) as usize]
        } / UNIT;
        let most = 1u64 << (capacity / 4).max(1).ilog2();
        let mut units = wanted.min(most);
        let room = self.mapped.room_for_window();
        while units * UNIT > room && units > 1 {
            units /= 2;
        }
        units.max(least)
    }

    /// Maps a chunk, and makes its pages ready.
    fn hold(&self, file: &Reached, turn: u64, supplied: Supplied) -> Result<Held, Refusal> {
        let Supplied { by, at, units, .. } = supplied;
        let fd = by.as_ref().map(OfCall::fd);
        let range = Range {
            turn,
            offset: at * UNIT,
            len: units * UNIT,
        };
        let anchor = &self.mapped.anchor;
        self.family.enter_window(range);
        let mapped = match fd {
            Some(fd) => sys::map_file(fd, range.offset, range.len),
            None => anchor.map(turn, range.offset, range.len),
        };
        let base = mapped.map_err(|errno| {
            self.family.leave_window(range);
            file.give_back(turn, at, units);
            match (fd, errno) {
                (Some(fd), errno) => file.unless_elsewhere(fd, Refusal::No(errno)),
                // The start of the file is not mapped either.
                (None, Errno(libc::EBADF)) => Refusal::OutOfReach,
                (None, errno) => Refusal::No(errno),
            }
        })?;
        let held = Held { base, range };
        self.mapped
            .window_bytes
            .fetch_add(range.len, Ordering::Relaxed);
        let limited = Limit::LockedMemory.granted().is_some();
        let locked = limited && held.is_locked();
        self.mapped.locked.store(locked, Ordering::Relaxed);
        // Let go of by this process, it is not to be mapped again.
        let leads_here = |fd| file.is_still(turn, fd) && file.is_open();
        let populated = match fd {
            // Closed meanwhile: the number may be another file's.
            Some(fd) if !leads_here(fd) => Err(Refusal::Again),
            _ => held.populate(supplied.is_zeroed).map_err(Refusal::of_pages),
        };
        if let Some(fd) = fd.filter(|_| !anchor.is_of(turn)) {
            anchor.set(turn, fd, || leads_here(fd));
        }
        populated.map(|()| held).inspect_err(|_| {
            self.discard(held);
            file.give_back(turn, at, units);
        })
    }

    /// Makes a chunk the thread's next.
    fn adopt(&self, thread: &Thread, held: Held) -> Result<Claim, Errno> {
        let windows = &thread.lasting().windows;
        let (chunk, starts_again) = windows
            .put(held.range, held.base)
            .inspect_err(|_| self.discard(held))?;
        if starts_again {
            thread.forget_marks();
        }
        let units = held.range.len / UNIT;
        Ok(Claim { chunk, units })
    }

    /// Unmaps a chunk that no thread has, nor will have.
    pub(super) fn discard(&self, held: Held) {
        sys::unmap(held.base, held.range.len as usize);
        self.family.leave_window(held.range);
        self.clear(held.range);
        self.mapped
            .window_bytes
            .fetch_sub(held.range.len, Ordering::Relaxed);
    }
}

/// Another try may succeed where the program closed a descriptor in the middle of one, or another thread was
/// in the way.
fn unless_in_vain(errno: Errno) -> Result<(), Option<Errno>> {
    match errno {
        Errno(libc::EBADF | libc::EAGAIN) => Ok(()),
        errno => Err(Some(errno)),
    }
}

impl Mapped {
    /// How many bytes one more window may have.
    fn room_for_window(&self) -> u64 {
        let addresses = Limit::AddressSpace.granted();
        let memory = if self.locked.load(Ordering::Relaxed) {
            Limit::LockedMemory.granted()
        } else {
            None
        };
        let limits = [addresses, memory].into_iter().flatten();
        let most = limits.min().map_or(u64::MAX, |limit| limit / WINDOWS_PART);
        most.saturating_sub(self.window_bytes.load(Ordering::Relaxed))
    }
}
