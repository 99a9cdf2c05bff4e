//! The sink that maps: each thread writes into a chunk of its own of one growing file, and
//! needs no other thread for it. When the call has returned the record is in the page
//! cache, where no signal can reach it.
//!
//! What is shared with forked children is in [`super::family`]; what is here is the
//! process's own: descriptors, windows, and what it was refused.
//!
//! Chunks are taken while the thread's signals are blocked: no handler logs, forks or
//! jumps away in the middle of it.

use super::Put;
use super::anchor::Anchor;
use super::chunk::{self, Claim, Place, UNIT};
use super::family::{FILES, Family, SLOT_BITS};
use super::file::{Descriptor, LogFile, Reached, Refusal, Use};
use super::lent::{Lent, Loan, Shareable};
use super::names::{MOST_KEPT, UNNUMBERED};
use super::retry::Retry;
use super::room::Room;
use super::rotation::Rotation;
use crate::shared::Shared;
use crate::state::RawState;
use crate::sys::{self, Errno};
use crate::thread::Thread;
use crate::window::{Windows, count};
use ahead::Ahead;
use core::ffi::c_int;
use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use evict::Evictions;
use logdef_wire::frame::HEADER_LEN;
use successor::Due;

mod ahead;
mod claim;
mod earlier;
mod evict;
mod notes;
mod prune;
mod reopen;
mod rotate;
mod successor;
mod sync;

/// Units of a file that is not rotated: less than any file system's largest.
const MOST_UNITS: u64 = (8 << 40) / UNIT;
/// A handler that moves the thread to another chunk, time and again, is given up on.
const ATTEMPTS: u32 = 1000;

/// The sink that maps, as this process sees it.
pub(crate) struct Mapped {
    family: Lent<Family>,
    descriptors: [Descriptor; FILES],
    /// When there was no space.
    retry: Retry,
    /// Of all windows together.
    window_bytes: AtomicU64,
    /// The last window was locked in memory.
    locked: AtomicBool,
    anchor: Anchor,
    evictions: Evictions,
    ahead: Ahead,
    due: Due,
    /// The turn of the file that this process continues in, since it can open none after it; 0 if it can.
    home: AtomicU64,
}

/// The log, for as long as it is in use.
struct Log<'m> {
    mapped: &'m Mapped,
    family: Loan<'m, Family>,
}

impl Mapped {
    pub const fn new() -> Mapped {
        Mapped {
            family: Lent::new(),
            descriptors: [const { Descriptor::new() }; FILES],
            retry: Retry::new(),
            window_bytes: AtomicU64::new(0),
            locked: AtomicBool::new(false),
            anchor: Anchor::new(),
            evictions: Evictions::new(),
            ahead: Ahead::new(),
            due: Due::new(),
            home: AtomicU64::new(0),
        }
    }

    /// Starts a log at a path.
    pub fn open(&self, path: &[u8], rotation: Rotation) -> Result<(), Errno> {
        self.evictions.begin()?;
        let family = Family::allocate()?;
        // Calls of the log that was closed, which began before, may still take a chunk of it.
        let former = self.family.take();
        let turn = former.get().map_or(0, Family::turn);
        family.current.store(turn << SLOT_BITS, Ordering::Relaxed);
        // A chunk may begin at any multiple of a file's size.
        let in_pages = |bytes: u64| bytes.div_ceil(UNIT).next_multiple_of(smallest_chunk());
        let wanted = rotation.file_size.map(in_pages);
        // A file holds a few chunks of the largest size, or smaller ones.
        let least = (4 * smallest_chunk()).max(8);
        let units = wanted.unwrap_or(MOST_UNITS).clamp(least, MOST_UNITS);
        family.file_units.store(units, Ordering::Relaxed);
        family
            .keep
            .store(rotation.keep.unwrap_or(0).min(MOST_KEPT), Ordering::Relaxed);
        let log = Log {
            mapped: self,
            family: self.family.lend(&family),
        };
        let age = rotation.file_age.unwrap_or(0);
        family.file_age.store(age, Ordering::Relaxed);
        family.names.set_bounds(&rotation);
        family.names.mark_as_mapped();
        let begun = family.names.set(path, rotation.keep, turn + 1);
        let begun = begun.and_then(|()| log.begin(rotation.is_wanted()));
        let begun = begun.and_then(|number| match number {
            UNNUMBERED => Ok(()),
            number => family
                .names
                .point_to(number)
                .inspect_err(|_| log.take_back()),
        });
        if begun.is_ok() {
            family.names.prune(turn + 1);
            family.settled.store(turn + 1, Ordering::Relaxed);
        }
        log.close_descriptors();
        drop(log);
        if let Err(errno) = begun {
            self.family.put_back(former);
            return Err(errno);
        }
        self.retry.granted();
        self.family.put(family);
        Ok(())
    }

    fn log(&self) -> Option<Log<'_>> {
        let family = self.family.borrow()?;
        Some(Log {
            mapped: self,
            family,
        })
    }

    /// The chunk that the thread's next frames go to, if it has one.
    #[inline(always)]
    pub fn chunk(&self, thread: &Thread) -> Option<u32> {
        let place = Place(thread.place.load(Ordering::Relaxed));
        (place.size() > 0).then_some(place.chunk())
    }

    /// Puts frames where the thread writes; only into `chunk`, if one is given.
    pub fn put(&self, thread: &Thread, frames: &[u8], chunk: Option<u32>) -> Put {
        let mut put = Put::Moved;
        for _ in 0..ATTEMPTS {
            let Some(into) = chunk.or_else(|| self.chunk(thread)) else {
                return Put::Full;
            };
            // A handler that moves the thread on keeps this chunk, and none before.
            thread.lasting().calls.forget_interruption();
            put = match take(thread, frames.len() as u64, into) {
                Ok((room, chunk)) => {
                    // SAFETY: `take` gave this room of as many bytes as the frames have to this
                    // call alone, and frames that are put have short headers.
                    unsafe { chunk::put(&room, frames) };
                    Put::Done(chunk)
                }
                Err(refusal) => refusal,
            };
            if put != Put::Moved || chunk.is_some() {
                break;
            }
        }
        put
    }

    /// Puts one frame into chunk `chunk`, if the thread still writes there.
    #[inline(always)]
    pub fn put_frame(&self, thread: &Thread, checksum: u32, body: &[u8], chunk: u32) -> Put {
        match take(thread, (HEADER_LEN + body.len()) as u64, chunk) {
            Ok((room, chunk)) => {
                // SAFETY: `take` gave this room, for a header and this body, to this call
                // alone, and bodies that are put fit a short header.
                unsafe { chunk::put_frame(&room, 0, checksum, body) };
                Put::Done(chunk)
            }
            Err(refusal) => refusal,
        }
    }

    /// Lets the thread write to a chunk that it claimed, after the frames that
    /// open it. Its signals are blocked since the claim.
    pub fn enter(&self, thread: &Thread, claim: Claim, opening: &[u8]) {
        let used = if opening.len() as u64 <= claim.size() {
            opening.len()
        } else {
            0
        };
        let windows = &thread.lasting().windows;
        // SAFETY: no other thread has the chunk's address yet, it was just mapped, and has `used`
        // bytes at least.
        unsafe { chunk::put(&Room(windows.room(claim.chunk, 0)), &opening[..used]) };
        let used = self.used_by_opening(windows.range(claim.chunk), used as u64);
        thread
            .place
            .store(Place::new(claim, used).0, Ordering::Relaxed);
        self.unmap_left(thread, Some(claim.chunk));
        self.ahead.ask_for_more();
    }

    /// Unmaps a thread's windows but that of its chunk, if it has one, and those where calls may store that
    /// are in progress. [`Calls::look`](crate::calls::Calls::look) was just called.
    fn unmap_left(&self, thread: &Thread, current: Option<u32>) {
        let (windows, calls) = (&thread.lasting().windows, &thread.lasting().calls);
        self.unmap(windows, |chunk| {
            Some(chunk) == current || calls.may_store(count(chunk).0, windows.count().0)
        });
    }

    /// Unmaps a thread's windows but those that are to be kept.
    fn unmap(&self, windows: &Windows, keep: impl Fn(u32) -> bool) {
        let log = self.log();
        let left = |range| log.as_ref()?.left_to_clear(range);
        windows.leave(keep, left, |base, len, range| {
            if !self.ahead.leave(base, len) {
                sys::unmap(base, len as usize);
            }
            self.window_bytes.fetch_sub(len, Ordering::Relaxed);
            if let (Some(log), Some(range)) = (&log, range) {
                log.family.leave_window(range);
                // Another thread that gave the range up meanwhile left it to this one.
                log.clear(range);
            }
        });
    }

    /// Lets go of the files of a log that was closed: closes the descriptors, and unmaps the windows of this
    /// thread and of those that ended. Others may be in a call.
    pub fn let_go(&self, shared: &Shared, mine: Option<&Thread>) {
        let Some(log) = self.log() else { return };
        log.close_descriptors();
        for (_, reached, file_use) in log.files_in_use() {
            reached.descriptor.close_of(file_use);
        }
        self.anchor.let_go();
        log.leave_for_ended(shared, |_| true);
        if let Some(mine) = mine.filter(|mine| !mine.lasting().calls.are_begun()) {
            mine.place.store(0, Ordering::Relaxed);
            let returned = mine.returned.load(Ordering::Relaxed);
            let lasting = mine.lasting();
            lasting.calls.look(lasting.windows.count().0, returned);
            self.unmap_left(mine, None);
        }
    }

    /// Claims a chunk for the thread, with room for `need` bytes and what may
    /// have to be defined before them. `None` leaves the thread without a chunk:
    /// there is no growing number of used bytes that could run into the size.
    ///
    /// The thread's signals are blocked, until it has entered the chunk.
    #[cold]
    pub fn claim(&self, shared: &Shared, thread: &Thread, need: u64) -> Option<Claim> {
        let windows = &thread.lasting().windows;
        let returned = thread.returned.load(Ordering::Relaxed);
        thread.lasting().calls.look(windows.count().0, returned);
        if windows.are_full() {
            // Handlers took chunks while one call was in progress. It may have returned.
            thread.place.store(0, Ordering::Relaxed);
            self.unmap_left(thread, None);
        }
        let claim = self
            .log()
            .and_then(|log| log.try_to_claim(shared, thread, need));
        if claim.is_none() {
            thread.place.store(0, Ordering::Relaxed);
        }
        claim
    }

    /// Makes the next `bytes` bytes of the log ready to be written.
    pub fn prepare(&self, bytes: u64) -> Result<(), Errno> {
        let log = self.log().ok_or(Errno(libc::ENOTCONN))?;
        let current = log.family.current.load(Ordering::Acquire);
        let file = log.file_of(current);
        let prepared = file.prepare(current >> SLOT_BITS, bytes, || log.reopen(file.file));
        prepared.map_err(|refusal| match refusal {
            Refusal::No(errno) => errno,
            Refusal::Full => Errno(libc::EFBIG),
            Refusal::Lost | Refusal::OutOfReach | Refusal::Again => Errno(libc::ESTALE),
        })
    }

    /// Puts memory of the process's own in place of a page of the log that cannot be
    /// had: the file was cut short. `false` if the address lies in no file of the log.
    /// For the handler of SIGBUS.
    pub fn replace_page(&self, shared: &Shared, address: usize) -> bool {
        let mut all = shared.threads.iter();
        let turn = all.find_map(|thread| thread.lasting().windows.turn_at(address));
        let Some(turn) = turn else {
            return false;
        };
        if let Some(log) = self.log()
            && let Some(file) = log.file_of_turn(turn)
            && !file.file.is_given_up()
        {
            log.give_up(shared, file.file, None);
        }
        let page = sys::page_size() as usize;
        let at = core::ptr::with_exposed_provenance_mut(address & !(page - 1));
        sys::replace_by_memory(at, page)
    }

    /// The process is a forked child: what a call that was interrupted by the
    /// fork still writes goes nowhere. `mine` is the memory of the only thread that
    /// there is.
    pub fn leave_to_parent(&self, shared: &Shared, mine: Option<&Thread>) {
        self.family.forget_users();
        self.anchor.become_childs();
        self.ahead.leave_to_parent();
        self.due.forget();
        self.window_bytes.store(0, Ordering::Relaxed);
        for thread in shared.threads.iter() {
            let lasting = thread.lasting();
            if mine.is_some_and(|mine| core::ptr::eq(thread, mine)) {
                let bytes = lasting.windows.cover();
                self.window_bytes.fetch_add(bytes, Ordering::Relaxed);
            } else {
                let unmap = |base, len, _| sys::unmap(base, len as usize);
                lasting.windows.leave(|_| false, |_| None, unmap);
            }
        }
    }

    /// The process is a forked child: it continues in the files of its parent.
    pub fn become_child(&self, shared: &Shared, mine: Option<&Thread>) {
        self.leave_to_parent(shared, mine);
        self.retry.granted();
    }

    /// The name of the file system that holds the log.
    pub fn file_system(&self) -> Option<&'static [u8]> {
        let log = self.log()?;
        let file = log.file_of(log.family.current.load(Ordering::Acquire));
        super::file_system::name(file.file.file_system())
    }

    /// Waits until every file's bytes are on stable storage.
    pub fn sync(&self, shared: &Shared) -> Result<(), Errno> {
        self.finish_last_rotation(shared);
        match self.log() {
            Some(log) => log.sync(shared),
            None => Ok(()),
        }
    }
}

/// Takes memory for `len` bytes of frames, the caller's alone, in chunk `chunk`, if the
/// thread still writes there.
#[inline(always)]
fn take(thread: &Thread, len: u64, chunk: u32) -> Result<(Room, u32), Put> {
    let windows = &thread.lasting().windows;
    let place = chunk::take(&thread.place, len, Some(chunk))?;
    // SAFETY: the window of a place stays for as
    // long as a call may store there. What was taken lies within the chunk.
    let room = unsafe { windows.room(place.chunk(), place.used()) };
    Ok((Room(room), place.chunk()))
}

/// Units of the smallest chunk: a page at least.
fn smallest_chunk() -> u64 {
    sys::page_size().div_ceil(UNIT)
}

impl Log<'_> {
    fn refuse(&self, shared: &Shared, now: u64, errno: Errno) {
        shared.reports.write_failed(errno);
        if shared.run.drops.to_note().is_some() {
            shared.drops_are_due();
        }
        self.mapped.retry.refused(now, errno);
    }

    /// A file is not to be relied on: no thread stays in it, and the log will say
    /// why. May be called in a signal handler.
    fn give_up(&self, shared: &Shared, file: &LogFile, errno: Option<Errno>) {
        file.give_up();
        let turn = file.turn();
        self.send_writers_away(shared, |range| range.turn == turn);
        shared.suspect_file(errno);
    }

    /// Opens what stands under a file's name: out of line, for it is rarely wanted and
    /// takes memory.
    #[cold]
    #[inline(never)]
    fn reopen(&self, file: &LogFile) -> Option<c_int> {
        self.try_to_reopen(file).ok()
    }

    fn try_to_reopen(&self, file: &LogFile) -> Result<c_int, Errno> {
        let names = &self.family.names;
        self.with_a_descriptor(|| names.with(file.number(), LogFile::open)?)
    }

    fn file_of(&self, current: u64) -> Reached<'_> {
        self.file_at(self.family.slot(current))
    }

    fn file_at(&self, index: usize) -> Reached<'_> {
        Reached {
            file: &self.family.files[index],
            descriptor: &self.mapped.descriptors[index],
        }
    }

    /// The slots of files, with what each is used for now: also of those that were made in vain.
    fn files_in_use(&self) -> impl Iterator<Item = (usize, Reached<'_>, Use)> {
        (0..FILES).filter_map(|index| {
            let reached = self.file_at(index);
            let file_use = reached.file.in_use()?;
            Some((index, reached, file_use))
        })
    }

    /// The slots of the log's files.
    fn files_of_log(&self) -> impl Iterator<Item = (usize, Reached<'_>, Use)> {
        self.join_current();
        let files = self.files_in_use();
        files.filter(|(_, reached, file_use)| reached.file.is_of_log(*file_use))
    }

    /// The newest file is the log's.
    fn join_current(&self) {
        let current = self.family.current.load(Ordering::Acquire);
        let file = self.file_of(current).file;
        if let Some(file_use) = file.in_use()
            && file.turn() == current >> SLOT_BITS
            // Else another file may have its slot by now.
            && self.family.current.load(Ordering::Acquire) == current
        {
            file.join_log(file_use);
        }
    }

    /// The log's file of a turn, for which others may have been made in vain.
    fn file_of_turn(&self, turn: u64) -> Option<Reached<'_>> {
        let mut files = self.files_of_log();
        let (_, reached, _) = files.find(|(_, reached, _)| reached.file.turn() == turn)?;
        Some(reached)
    }
}

/// Asked for by the program, between its calls.
impl Mapped {
    /// When the current file was made, and the age at which it is followed by another.
    pub fn age(&self) -> (u64, u64) {
        self.log().map_or((0, 0), |log| {
            let family = log.family;
            let begun = family.begun.load(Ordering::Relaxed);
            (begun, family.file_age.load(Ordering::Relaxed))
        })
    }

    /// Fills in where the log goes.
    pub fn describe(&self, into: &mut RawState) {
        if let Some(log) = self.log() {
            let home = self.home.load(Ordering::Relaxed);
            let file = log.file_of_turn(home).unwrap_or_else(|| {
                let current = log.family.current.load(Ordering::Acquire);
                log.file_of(current)
            });
            log.family.names.describe(file.file.number(), into);
            into.helper = self.ahead.state();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::ffi::OsStrExt;

    /// A log at a path.
    pub(super) fn opened(path: &std::path::Path, rotation: Rotation) -> Mapped {
        let mapped = Mapped::new();
        mapped.open(path.as_os_str().as_bytes(), rotation).unwrap();
        mapped
    }
}
