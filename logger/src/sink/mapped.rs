//! The sink that maps: each thread writes into a chunk of its own of one
//! growing file, and needs nobody for it. When the call has returned the
//! record is in the page cache, where no signal can reach it.

use super::arena::{Arena, Room};
use super::chunk::{self, Claim, Place, UNIT};
use super::file::{LogFile, Refusal, Use};
use super::names::{Names, UNNUMBERED};
use super::{Put, RETRY_AFTER};
use crate::shared::Shared;
use crate::state::RawState;
use crate::sys::{self, Errno};
use crate::thread::Thread;
use core::ffi::c_int;
use core::sync::atomic::{AtomicU64, Ordering};
use logdef_wire::frame::HEADER_LEN;

/// Bytes of a thread's first chunks; the last is that of all later ones.
const CHUNKS: [u64; 4] = [UNIT, 64 << 10, 512 << 10, 4 << 20];
/// Slots for files: the one written to, and those before it that a `sync` has
/// yet to reach.
const FILES: usize = 128;
/// More files than these are not left to a later `sync`.
const UNSYNCED: u64 = 64;
const SLOT_BITS: u32 = 8;
/// Files that a thread may find full or gone, one after another, before its call is
/// dropped. A few of them where many threads share the smallest of files, since
/// whoever makes a new one may find that the others have filled it.
const ATTEMPTS: u32 = 1000;

/// See the module.
pub(crate) struct Mapped {
    arena: Arena,
    files: [LogFile; FILES],
    /// The file that is written to: its slot, and above that how many came
    /// before it.
    current: AtomicU64,
    /// The unit that the next file is mapped at.
    next_unit: AtomicU64,
    /// Units that a file may have.
    file_units: AtomicU64,
    names: Names,
    /// Until then (coarse monotonic time) there is no space.
    no_space_until: AtomicU64,
}

/// A slot that was taken for a file which may become the log's as the `turn`th.
struct Slot<'m> {
    file: &'m LogFile,
    index: u64,
    file_use: Use,
    turn: u64,
}

impl Slot<'_> {
    fn leave(&self) {
        self.file.leave(self.file_use);
    }
}

/// How the log is cut into files.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Rotation {
    /// Bytes of a file; none: as many as can be mapped.
    pub file_size: Option<u64>,
    /// How many files there are at most, the one written to included.
    pub keep: Option<u32>,
    /// The mode of a file.
    pub mode: Option<u32>,
}

impl Mapped {
    pub const fn new() -> Mapped {
        Mapped {
            arena: Arena::new(),
            files: [const { LogFile::new() }; FILES],
            current: AtomicU64::new(0),
            // 0 is no chunk, and a file is aligned like its largest chunks.
            next_unit: AtomicU64::new(CHUNKS[CHUNKS.len() - 1] / UNIT),
            file_units: AtomicU64::new(0),
            names: Names::new(),
            no_space_until: AtomicU64::new(0),
        }
    }

    /// Starts a log at the path that `names` holds.
    pub fn open(&self, shared: &Shared, path: &[u8], rotation: Rotation) -> Result<(), Errno> {
        self.arena.reserve()?;
        // At least four files fit into the addresses.
        let most = self.arena.units() / 4;
        let wanted = rotation
            .file_size
            .map_or(most, |bytes| bytes.div_ceil(UNIT));
        // A file holds a few chunks of the largest size, or smaller ones.
        self.file_units
            .store(wanted.clamp(8, most), Ordering::Relaxed);
        self.names.set(path, rotation.keep, self.turn() + 1)?;
        self.names.set_mode(rotation.mode.unwrap_or(0));
        self.no_space_until.store(0, Ordering::Relaxed);
        self.begin(shared, rotation.file_size.is_some())
    }

    /// Begins a run with its first file.
    fn begin(&self, shared: &Shared, rotates: bool) -> Result<(), Errno> {
        let full = self.current.load(Ordering::Acquire);
        let slot = self.take_slot(full).ok_or(Errno(libc::ENFILE))?;
        let created = match rotates {
            true => self.names.create_numbered(),
            false => self.names.create_unnumbered().map(|fd| (fd, UNNUMBERED)),
        };
        let (fd, number) = created.inspect_err(|_| slot.leave())?;
        match self.offer(shared, full, &slot, fd, number) {
            Ok(true) if rotates => self.point_to(slot.turn, number),
            Ok(true) => Ok(()),
            Ok(false) => Err(Errno(libc::EBUSY)),
            Err(errno) => Err(errno),
        }
    }

    /// Units for a file that lie in one piece, and where no thread writes.
    fn place_for(&self, shared: &Shared, units: u64) -> Option<u64> {
        let all = self.arena.units();
        for _ in 0..64 {
            let step = units.next_multiple_of(CHUNKS[CHUNKS.len() - 1] / UNIT);
            let first = self.next_unit.fetch_add(step, Ordering::Relaxed);
            let (from, to) = (first % all, first % all + units);
            let wraps = to > all;
            let wide = first + units > u32::MAX as u64;
            if wide {
                // 64 TiB in one process: the numbers are used up.
                return None;
            }
            let taken = first > all && self.is_written(shared, from, to, all);
            if !wraps && !taken {
                return Some(first);
            }
        }
        None
    }

    /// Whether a thread has its place between two offsets of the reservation.
    fn is_written(&self, shared: &Shared, from: u64, to: u64, all: u64) -> bool {
        let current = self.file(self.current.load(Ordering::Relaxed));
        let offset = current.range().start % all;
        if current.fd() >= 0 && offset < to && from < offset + current.capacity() {
            return true;
        }
        shared.threads.iter().any(|thread| {
            let place = Place(thread.place.load(Ordering::Relaxed));
            let at = place.chunk() as u64 % all;
            // A call that was interrupted may be in a chunk that its thread has
            // left meanwhile.
            thread.calls.are_nested()
                || place.size() > 0 && at < to && from < at + place.size() / UNIT
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
        match self.take(thread, frames.len() as u64, chunk) {
            Ok((room, chunk)) => {
                // SAFETY: taken for these frames.
                unsafe { chunk::put(&room, frames) };
                Put::Done(chunk)
            }
            Err(refusal) => refusal,
        }
    }

    /// Puts one frame into chunk `chunk`, if the thread still writes there.
    #[inline(always)]
    pub fn put_frame(&self, thread: &Thread, checksum: u32, body: &[u8], chunk: u32) -> Put {
        match self.take(thread, (HEADER_LEN + body.len()) as u64, Some(chunk)) {
            Ok((room, chunk)) => {
                // SAFETY: taken for this frame.
                unsafe { chunk::put_frame(&room, 0, checksum, body) };
                Put::Done(chunk)
            }
            Err(refusal) => refusal,
        }
    }

    /// Takes memory for `len` bytes of frames, the caller's alone, in a chunk of
    /// this thread, which has pages (`LogFile::claim`).
    #[inline(always)]
    fn take(&self, thread: &Thread, len: u64, chunk: Option<u32>) -> Result<(Room, u32), Put> {
        let place = chunk::take(&thread.place, len, chunk)?;
        let at = self.arena.address(place.chunk() as u64);
        // SAFETY: what was taken lies within the chunk.
        let room = Room(unsafe { at.add(place.used() as usize) });
        Ok((room, place.chunk()))
    }

    /// Lets the thread write to a chunk that it claimed, behind the frames that
    /// open it.
    pub fn enter(&self, thread: &Thread, claim: Claim, opening: &[u8]) {
        let used = match opening.len() as u64 <= claim.size() {
            true => opening.len(),
            false => 0,
        };
        // SAFETY: nobody else knows of the chunk yet, it has pages, and `used`
        // bytes of it at least.
        unsafe { chunk::put(&Room(self.arena.address(claim.unit)), &opening[..used]) };
        let old = Place(thread.place.load(Ordering::Relaxed));
        // If a handler has entered a chunk meanwhile, what is left of that stays
        // zeros.
        thread
            .place
            .store(Place::new(claim, used as u64).0, Ordering::Relaxed);
        if old.size() > 0 {
            // Its bytes are the kernel's to write back; ours to forget.
            self.arena.release(old.chunk() as u64, old.size() / UNIT);
            if !thread.calls.are_nested() {
                // No call of this thread was interrupted in the middle of a record.
                self.arena.seal(old.chunk() as u64, old.size() / UNIT);
            }
        }
        thread.refresh_name();
    }

    /// Claims a chunk for the thread, with room for `need` bytes and what may
    /// have to be defined before them. `None` leaves the thread without a chunk:
    /// there is no growing number of used bytes that could run into the size.
    #[cold]
    pub fn claim(&self, shared: &Shared, thread: &Thread, need: u64) -> Option<Claim> {
        let claim = self.try_to_claim(shared, thread, need);
        if claim.is_none() {
            thread.place.store(0, Ordering::Relaxed);
        }
        claim
    }

    fn try_to_claim(&self, shared: &Shared, thread: &Thread, need: u64) -> Option<Claim> {
        let now = sys::clock(libc::CLOCK_MONOTONIC_COARSE);
        if now < self.no_space_until.load(Ordering::Relaxed) {
            return None;
        }
        // A handler may be in the middle of its thread's claim of a chunk, which
        // will take the place of this one.
        let nested = thread.calls.are_nested();
        let mut nth = match nested {
            false => thread.chunks.load(Ordering::Relaxed),
            true => 0,
        };
        for _ in 0..ATTEMPTS {
            let current = self.current.load(Ordering::Acquire);
            let file = self.file(current);
            let file_use = file.in_use();
            if self.current.load(Ordering::Acquire) != current {
                continue;
            }
            let wanted = CHUNKS[(nth as usize).min(CHUNKS.len() - 1)];
            // Definitions may take as much as the record.
            let wanted = wanted.max((need * 2).next_power_of_two()).max(UNIT);
            let most = (file.capacity() / 4).max(1);
            let most = 1 << most.ilog2();
            let units =
                (wanted / UNIT).min(most.max((need * 2).div_ceil(UNIT).next_power_of_two()));
            let claimed = file.claim(&self.arena, units, || self.open_anew(file));
            if file.in_use() != file_use {
                // Others filled this file and so many after it that its slot became
                // another's, which nobody may write to yet. Zeros stay there.
                continue;
            }
            match claimed {
                Ok(claim) => {
                    if !nested {
                        let chunks = nth.saturating_add(1);
                        thread.chunks.store(chunks, Ordering::Relaxed);
                    }
                    shared.write_succeeded();
                    shared.clock_was_set();
                    return Some(claim);
                }
                // A call that a fork interrupted: the record is the parent's.
                Err(_) if shared.run.needs_reinit_after_fork() => return None,
                Err(refusal @ (Refusal::Full | Refusal::Lost)) => {
                    if refusal == Refusal::Lost && !file.is_given_up() {
                        self.give_up(shared, file, None);
                    }
                    if let Err(errno) = self.rotate(shared, current) {
                        self.refuse(shared, now, errno);
                        return None;
                    }
                }
                // What is left of the disk is filled with small chunks.
                Err(Refusal::No(Errno(libc::ENOSPC | libc::EDQUOT | libc::EFBIG))) if nth > 0 => {
                    nth = 0;
                }
                Err(Refusal::No(errno)) => {
                    self.refuse(shared, now, errno);
                    return None;
                }
            }
        }
        None
    }

    fn refuse(&self, shared: &Shared, now: u64, errno: Errno) {
        shared.reports.write_failed(errno);
        self.no_space_until
            .store(now + RETRY_AFTER, Ordering::Relaxed);
    }

    /// A file is not to be relied on: no thread stays in it, and the log will say
    /// why. May be called in a signal handler.
    fn give_up(&self, shared: &Shared, file: &LogFile, errno: Option<Errno>) {
        file.give_up();
        self.send_writers_away(shared, |other| core::ptr::eq(other, file));
        shared.suspect_file(errno);
    }

    /// Makes the threads that have their places in some files leave them before
    /// their next calls.
    fn send_writers_away(&self, shared: &Shared, of: impl Fn(&LogFile) -> bool) {
        for file in self.files.iter().filter(|file| file.fd() >= 0 && of(file)) {
            let range = file.range();
            for thread in shared.threads.iter() {
                let place = Place(thread.place.load(Ordering::Acquire));
                if place.size() > 0 && range.contains(&(place.chunk() as u64)) {
                    thread.send_away();
                }
            }
        }
    }

    /// Makes the next `bytes` bytes of the log ready to be written.
    pub fn prepare(&self, bytes: u64) -> Result<(), Errno> {
        let file = self.file(self.current.load(Ordering::Acquire));
        let prepared = file.prepare(&self.arena, bytes, || self.open_anew(file));
        prepared.map_err(|refusal| match refusal {
            Refusal::No(errno) => errno,
            Refusal::Full => Errno(libc::EFBIG),
            Refusal::Lost => Errno(libc::ESTALE),
        })
    }

    /// Puts memory of the process's own in place of a page of the log that cannot be
    /// had: somebody cut the file short. `false` if the address is none of the log's.
    /// For the handler of SIGBUS.
    pub fn replace_page(&self, shared: &Shared, address: usize) -> bool {
        let Some(unit) = self.arena.unit_of(address) else {
            return false;
        };
        let all = self.arena.units();
        let file = self.files.iter().find(|file| {
            let first = file.range().start % all;
            file.fd() >= 0 && (first..first + file.capacity()).contains(&unit)
        });
        if let Some(file) = file
            && !file.is_given_up()
        {
            self.give_up(shared, file, None);
        }
        self.arena.replace_page(address)
    }

    /// Starts another file after file `full`, unless another thread has. It
    /// waits for nobody: threads that come at once each create a file, and all
    /// but one throw theirs away.
    fn rotate(&self, shared: &Shared, full: u64) -> Result<(), Errno> {
        if self.current.load(Ordering::Acquire) != full {
            return Ok(());
        }
        let Some(slot) = self.take_slot(full) else {
            // As many threads are at it as there are slots. One of them is about to be
            // the one.
            sys::let_others_run();
            return Ok(());
        };
        let (fd, number) = self.names.create_numbered().inspect_err(|_| slot.leave())?;
        match self.offer(shared, full, &slot, fd, number) {
            Ok(true) => {
                self.settle_old_files(shared);
                // What a thread that logs little writes next is to be found.
                let oldest = self.names.oldest_kept(slot.turn);
                self.send_writers_away(shared, |file| {
                    file.number() < oldest && file.number() != UNNUMBERED
                });
                // A file without the link to it is a file all the same.
                let _ = self.point_to(slot.turn, number);
                let newest = self.file(self.current.load(Ordering::Acquire));
                if newest.turn() > slot.turn {
                    // Another rotation overtook this one; its link is to stand.
                    let _ = self.names.point_to(newest.number());
                }
                Ok(())
            }
            Ok(false) => {
                self.names.discard(number);
                Ok(())
            }
            Err(errno) => {
                self.names.discard(number);
                Err(errno)
            }
        }
    }

    fn point_to(&self, turn: u64, number: u32) -> Result<(), Errno> {
        self.names.point_to(number)?;
        self.names.prune(turn);
        Ok(())
    }

    /// A free slot for the file that may come after file `full`.
    fn take_slot(&self, full: u64) -> Option<Slot<'_>> {
        let turn = (full >> SLOT_BITS) + 1;
        let mut files = self.files.iter().zip(0..);
        files.find_map(|(file, index)| {
            let file_use = file.take(turn)?;
            Some(Slot {
                file,
                index,
                file_use,
                turn,
            })
        })
    }

    /// Makes a new file the current one, if that is still `full`. Whatever
    /// happens, the descriptor and the slot are taken care of.
    fn offer(
        &self,
        shared: &Shared,
        full: u64,
        slot: &Slot,
        fd: c_int,
        number: u32,
    ) -> Result<bool, Errno> {
        if self.current.load(Ordering::Acquire) != full {
            sys::close(fd);
            slot.leave();
            return Ok(false);
        }
        let units = self.file_units.load(Ordering::Relaxed);
        let set = match self.place_for(shared, units) {
            Some(first) => slot.file.set(&self.arena, fd, number, first, units),
            None => Err(Errno(libc::ENFILE)),
        };
        if let Err(errno) = set {
            sys::close(fd);
            slot.leave();
            return Err(errno);
        }
        let next = slot.turn << SLOT_BITS | slot.index;
        let offered =
            self.current
                .compare_exchange(full, next, Ordering::AcqRel, Ordering::Acquire);
        match offered {
            Ok(_) => self.names.enter(slot.turn, number),
            Err(_) => slot.leave(),
        }
        Ok(offered.is_ok())
    }

    /// Opens what stands under a file's name: out of line, for it is rarely wanted and
    /// takes memory.
    #[cold]
    #[inline(never)]
    fn open_anew(&self, file: &LogFile) -> Option<c_int> {
        self.names.with(file.number(), LogFile::open).ok()?
    }

    fn file(&self, current: u64) -> &LogFile {
        &self.files[current as usize & ((1 << SLOT_BITS) - 1)]
    }

    /// How many files were the current one, this one included.
    fn turn(&self) -> u64 {
        self.current.load(Ordering::Acquire) >> SLOT_BITS
    }

    /// Whether a thread has its place in a file, and was not sent away.
    fn has_writer(&self, shared: &Shared, file: &LogFile) -> bool {
        let range = file.range();
        let run = shared.run.id().0;
        shared.threads.iter().any(|thread| {
            let place = Place(thread.place.load(Ordering::Acquire));
            let stays = thread.run.load(Ordering::Relaxed) == run;
            stays && place.size() > 0 && range.contains(&(place.chunk() as u64))
        })
    }

    /// Syncs the oldest files, if there are many that no `sync` came for.
    fn settle_old_files(&self, shared: &Shared) {
        for file in &self.files {
            let Some(file_use) = file.in_use() else {
                continue;
            };
            let old = file.turn() + UNSYNCED < self.turn();
            if old && file.in_use() == Some(file_use) {
                self.send_writers_away(shared, |other| core::ptr::eq(other, file));
                let _ = self.sync_file(file);
                file.leave(file_use);
            }
        }
    }

    /// The process is a forked child: what a call that was interrupted by the
    /// fork still writes goes nowhere.
    pub fn leave_to_parent(&self) {
        for file in &self.files {
            file.forget();
        }
        self.arena.cover();
    }

    /// The process is a forked child: it gets a file of its own.
    pub fn become_child(&self, shared: &Shared) {
        for file in &self.files {
            file.forget();
        }
        self.no_space_until.store(0, Ordering::Relaxed);
        let begun = self.arena.renew().and_then(|()| {
            self.names.become_child(self.turn() + 1)?;
            self.begin(shared, false)
        });
        if let Err(errno) = begun {
            self.refuse(shared, u64::MAX / 2, errno);
        }
    }

    /// The name of the file system that holds the log.
    pub fn file_system(&self) -> Option<&'static [u8]> {
        let fd = self.file(self.current.load(Ordering::Acquire)).fd();
        let magic = sys::file_system(fd).ok()?;
        super::file_system::name(magic)
    }

    /// Waits until every file's bytes are on stable storage.
    pub fn sync(&self, shared: &Shared) -> Result<(), Errno> {
        let mut result = Ok(());
        for file in &self.files {
            let Some(file_use) = file.in_use() else {
                continue;
            };
            // A thread that logs little may have its chunk in a file that is long
            // full. Asked first: who leaves later is synced now. (A call that was
            // interrupted and has moved on meanwhile writes at most the one record
            // that it reserved.)
            let wanted = self.has_writer(shared, file);
            let synced = self.sync_file(file);
            let is_old = file.turn() < self.turn();
            if file.in_use() != Some(file_use) {
                // Synced and left by another thread meanwhile.
                continue;
            }
            match synced {
                Ok(()) if is_old && !wanted => file.leave(file_use),
                Err(errno) if !file.is_given_up() => {
                    // The kernel tells of a failed write once, and forgets it: a
                    // later sync of this file would promise what is not true.
                    self.give_up(shared, file, Some(errno));
                    result = result.and(Err(errno));
                    if is_old {
                        file.leave(file_use);
                    }
                }
                // Told before, and told until a record has found another file.
                told if file.is_given_up() && !is_old => {
                    let why = told.err().or_else(|| shared.reports.why_suspect());
                    result = result.and(Err(why.unwrap_or(Errno(libc::ESTALE))));
                }
                _ => {}
            }
        }
        result
    }

    fn sync_file(&self, file: &LogFile) -> Result<(), Errno> {
        // A daemon may have closed the descriptor; its number may be that of another
        // file now.
        match file.opened(|| self.open_anew(file)) {
            Some((fd, _)) => sys::sync_data(fd)?,
            None => return Err(Errno(libc::ESTALE)),
        }
        if file.is_new() {
            match self.names.with_directory(sys::sync_directory)? {
                // Out of reach since the program confined itself: then the file
                // system's word for the file has to do.
                Ok(()) | Err(Errno(libc::EACCES | libc::EPERM | libc::ENOENT)) => file.settle(),
                Err(errno) => return Err(errno),
            }
        }
        Ok(())
    }
}

/// Asked for by the program, between its calls.
impl Mapped {
    /// Goes on in another file under the same path.
    pub fn reopen(&self, shared: &Shared) -> Result<(), Errno> {
        let before = self.file(self.current.load(Ordering::Acquire));
        self.begin(shared, before.number() != UNNUMBERED)?;
        let turn = self.turn();
        self.send_writers_away(shared, |file| file.turn() < turn);
        Ok(())
    }

    /// Fills in where the log goes.
    pub fn describe(&self, into: &mut RawState) {
        let file = self.file(self.current.load(Ordering::Acquire));
        self.names.describe(Some(file.number()), into);
    }
}
