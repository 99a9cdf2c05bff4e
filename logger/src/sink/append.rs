//! The sink that writes: one `write(2)` for each call, to a file opened with
//! `O_APPEND`, a pipe or a socket. Slow and simple: it is what the mapped sink
//! is tested against, and what serves where files cannot be mapped.
//!
//! A file may follow another: when one is full, was removed, or is to be opened again.
//! The thread that finds that out opens the next one; others let it run, up to 64 times, and then
//! do the same. Where another process
//! of the family was quicker, it continues in that one's. Each file is a chunk
//! of the log by itself, so that it defines what its records refer to.

mod outlets;
#[allow(unsafe_code)]
mod rotated;
mod successor;
mod sync;
mod write;

use super::kept_path::KeptPath;
use super::lent::Lent;
use super::names::{Names, UNNUMBERED};
use super::outlet::{Outlet, ROOM};
use super::owed::Owed;
use super::owner;
use super::retry::Retry;
use super::rotation::SharedAccess;
use super::stream::{Kind, Stream, Writer};
use super::target;
use super::unsynced::Unsynced;
use super::{Put, Rotation};
use crate::shared::Shared;
use crate::state::{self, Existing, RawState};
use crate::sys::{self, Errno, Identity, Limit};
use core::ffi::{CStr, c_int};
use core::sync::atomic::{AtomicBool, AtomicI32, AtomicU32, AtomicU64, Ordering};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use outlets::{OUTLETS, PLACE_BITS, place_of};
use rotated::{Newest, Rotated};
use successor::Move;
use write::Written;

/// The sink that writes each record by one `write(2)`.
pub(crate) struct Append {
    /// The chunk that stands for the file which is written to, and below it the
    /// outlet's place.
    current: AtomicU64,
    outlets: [Outlet; OUTLETS],
    stream: Stream,
    unsynced: Unsynced,
    /// The name of a file may not be on stable storage.
    has_new_name: AtomicBool,
    /// The files of a rotated log.
    rotated: Lent<Rotated>,
    /// The names of a log in one file: where another process maps what its path leads to, it begins
    /// a file of its own there.
    one_file: Lent<Rotated>,
    /// Of a pipe or a device, unless it came as a descriptor.
    path: KeptPath,
    /// Bytes of a file, if they are bounded; 0 for a log that is not rotated.
    file_size: AtomicU64,
    /// Whether files are removed, so that none may grow beyond its size.
    is_bounded: AtomicBool,
    /// The file of a rotated log that this process writes to.
    file: AtomicU64,
    reopen: AtomicBool,
    /// When a thread began to open another file, by the coarse clock; 0 if none is at
    /// it.
    moving_since: AtomicU64,
    /// The `moving_since` of a thread that others have waited for in vain.
    stuck_since: AtomicU64,
    /// The age, in nanoseconds, at which a file is followed by another; 0 for any.
    file_age: AtomicU64,
    /// Who may read and write new files.
    access: SharedAccess,
    /// When there was no space, and why.
    retry: Retry,
    no_space_errno: AtomicI32,
    /// Until then no other file is tried.
    stay_until: AtomicU64,
    /// When a server was asked whether it has what was written, by the coarse clock.
    confirmed_at: AtomicU64,
    chunks: AtomicU32,
}

/// Nanoseconds after which a server is asked again whether it has what was written.
const CONFIRM_AFTER: u64 = 1_000_000_000;
/// How often a path is opened where others put files.
const OPENINGS: u32 = 8;
/// How often a note follows to another file.
const FOLLOWINGS: u32 = 4;
/// How often a descriptor may be closed in the middle of a call.
const REOPENINGS: u32 = 64;
const FLAGS: c_int = libc::O_WRONLY | libc::O_APPEND | libc::O_NOCTTY | libc::O_NONBLOCK;
/// A pipe that no process has opened for reading by then (in tenths of a second) is not
/// waited for.
const FOR_A_READER: u32 = 10;

/// Files of a rotated log are not smaller.
const SMALLEST: u64 = 16 << 10;

impl Append {
    pub const fn new() -> Append {
        Append {
            current: AtomicU64::new(0),
            outlets: [const { Outlet::new() }; OUTLETS],
            stream: Stream::new(),
            unsynced: Unsynced::new(),
            has_new_name: AtomicBool::new(false),
            rotated: Lent::new(),
            one_file: Lent::new(),
            path: KeptPath::new(),
            file_size: AtomicU64::new(0),
            is_bounded: AtomicBool::new(false),
            file: AtomicU64::new(0),
            reopen: AtomicBool::new(false),
            moving_since: AtomicU64::new(0),
            stuck_since: AtomicU64::new(0),
            file_age: AtomicU64::new(0),
            access: SharedAccess::new(),
            retry: Retry::new(),
            no_space_errno: AtomicI32::new(0),
            stay_until: AtomicU64::new(0),
            confirmed_at: AtomicU64::new(0),
            chunks: AtomicU32::new(0),
        }
    }

    /// Opens a file to be added to. Allocates.
    pub fn open(&self, path: PathBuf, rotation: Rotation) -> Result<(), Errno> {
        self.begin(rotation);
        if rotation.is_wanted() {
            return self.open_rotated(&path, &rotation);
        }
        let path = target::c_path(path)?;
        let log = Rotated::named(path.to_bytes(), &rotation)?;
        if let Some(fd) =
            open_unless_mapped(&path, || open_to_append(&path, &self.access, FOR_A_READER))?
        {
            if sys::identity(fd).is_ok_and(|file| file.size > 0) {
                log.names.set_existing(Existing::Appended);
            }
            self.go_to(fd, None)?;
        } else {
            self.open_in_its_place(&log.names)?;
        }
        self.one_file.put(log);
        Ok(())
    }

    /// Opens a pipe or a device. Allocates.
    pub fn open_special(&self, path: PathBuf, rotation: Rotation) -> Result<(), Errno> {
        self.begin(rotation);
        let path = target::c_path(path)?;
        self.go_to(open_to_append(&path, &self.access, FOR_A_READER)?, None)?;
        self.path.set(&path)
    }

    /// Opens a file of its own under the path. The one that is there gets another name.
    fn open_in_its_place(&self, names: &Names) -> Result<(), Errno> {
        let made = names.create_unnumbered()?;
        let flags_set = sys::set_status_flags(made.fd, libc::O_APPEND);
        flags_set.inspect_err(|_| made.close())?;
        self.go_to(made.fd, Some(&made.file))
    }

    fn open_rotated(&self, path: &Path, rotation: &Rotation) -> Result<(), Errno> {
        let rotated = Rotated::named(path.as_os_str().as_bytes(), rotation)?;
        let names = &rotated.names;
        names.clear_what_is_removed();
        let begun = self.next_file(&rotated);
        begun.inspect_err(|_| rotated.discard_newest())?;
        let linked = names.point_to(self.file().number);
        linked.inspect_err(|_| self.take_back(&rotated))?;
        names.prune(1);
        self.rotated.put(rotated);
        Ok(())
    }

    /// Writes to what a descriptor of the process leads to, by a descriptor of its own.
    pub fn open_stream(&self, fd: c_int) -> Result<(), Errno> {
        if sys::status_flags(fd)? & libc::O_ACCMODE == libc::O_RDONLY {
            return Err(Errno(libc::EBADF));
        }
        self.open_descriptor(sys::duplicate_high(fd)?)
    }

    /// Takes over a descriptor.
    pub fn open_descriptor(&self, fd: c_int) -> Result<(), Errno> {
        self.begin(Rotation::default());
        self.go_to(fd, None)
    }

    /// The file of a rotated log that this process writes to.
    fn file(&self) -> Newest {
        Newest::from_word(self.file.load(Ordering::Relaxed))
    }

    /// Forgets the log before.
    fn begin(&self, rotation: Rotation) {
        let any_size = if rotation.is_wanted() { u64::MAX } else { 0 };
        let size = rotation
            .file_size
            .map_or(any_size, |size| size.max(SMALLEST));
        self.file_size.store(size, Ordering::Relaxed);
        let age = rotation.file_age.unwrap_or(0);
        self.file_age.store(age, Ordering::Relaxed);
        self.is_bounded
            .store(rotation.keep.is_some(), Ordering::Relaxed);
        self.access.set(rotation.access);
        drop(self.rotated.take());
        drop(self.one_file.take());
        self.path.clear();
        self.reopen.store(false, Ordering::Relaxed);
        self.retry.granted();
        self.stay_until.store(0, Ordering::Relaxed);
        self.has_moved();
        self.stream.forget();
        self.unsynced.forget();
    }

    /// The chunk that stands for the file which is written to.
    pub fn chunk(&self) -> u32 {
        (self.current.load(Ordering::Acquire) >> PLACE_BITS) as u32
    }

    /// The process is a forked child: none of its calls holds on to anything, though one of its parent's threads did.
    pub fn forget_users(&self) {
        self.stream.forget();
        self.rotated.forget_users();
        self.one_file.forget_users();
        self.outlets.iter().for_each(Outlet::forget_users);
        self.has_moved();
    }

    /// The process is a forked child, another run that writes to the file: it has to define everything again.
    pub fn begin_run(&self) {
        self.forget_users();
        let current = self.current.load(Ordering::Acquire);
        for (place, outlet) in self.outlets.iter().enumerate() {
            if place != place_of(current) && !outlet.is_free() {
                self.unsynced.leave_one();
                outlet.close();
            }
        }
        let next = self.next_chunk() << PLACE_BITS | place_of(current) as u64;
        self.current.store(next, Ordering::Release);
    }

    fn next_chunk(&self) -> u64 {
        u64::from(self.chunks.fetch_add(1, Ordering::Relaxed) + 1)
    }

    /// Writes the frames in one go, if `wanted` is still the chunk that is written to.
    /// What a full disk cuts short is torn, and the call's records count as dropped.
    pub fn put(
        &self,
        shared: &Shared,
        frames: &[u8],
        wanted: Option<u32>,
        by: Writer<'_>,
    ) -> Result<Put, Errno> {
        let now = || sys::clock(libc::CLOCK_MONOTONIC_COARSE);
        // Another file may have room.
        if self.retry.is_paused(now) && !self.reopen.load(Ordering::Relaxed) {
            return Err(Errno(self.no_space_errno.load(Ordering::Relaxed)));
        }
        let Some((chunk, outlet)) = self.take(wanted) else {
            return Ok(Put::Moved);
        };
        // Asked when another log cannot take its place any more.
        if by.is_late() {
            return Ok(Put::Dropped);
        }
        let written = self.put_into(shared, chunk, &outlet, frames, by);
        match written.and_then(|written| self.confirmed(&outlet, written)) {
            Ok(Written::All) => {
                self.retry.granted();
                Ok(Put::Done(chunk))
            }
            Ok(Written::Elsewhere) => {
                // This call held on to it until now.
                drop(outlet);
                self.close_removed();
                Ok(Put::Moved)
            }
            // The next call gets the reason.
            Ok(Written::Part) => Err(Errno(libc::ENOSPC)),
            Err(errno) => {
                if self.is_without_space(errno, now) {
                    self.no_space_errno.store(errno.0, Ordering::Relaxed);
                    self.retry.refused(now(), errno);
                }
                Err(errno)
            }
        }
    }

    /// Whether the next calls would be refused for the same reason. Where a file may have no more bytes, the
    /// next one of a rotated log takes them.
    fn is_without_space(&self, errno: Errno, now: impl FnOnce() -> u64) -> bool {
        match errno {
            Errno(libc::ENOSPC | libc::EDQUOT) => true,
            Errno(libc::EFBIG) => {
                !self.is_rotated() || now() < self.stay_until.load(Ordering::Relaxed)
            }
            _ => false,
        }
    }

    /// NFS takes what its server may refuse later. The server is asked once a second whether it has all
    /// that was written, and by each call after one that it had no room for.
    fn confirmed(&self, outlet: &Outlet, written: Written) -> Result<Written, Errno> {
        if matches!(written, Written::All) && outlet.is_on_nfs() {
            let now = sys::clock(libc::CLOCK_MONOTONIC_COARSE);
            let (at, order) = (self.confirmed_at.load(Ordering::Relaxed), Ordering::Relaxed);
            let is_due = now > at + CONFIRM_AFTER
                && (self.confirmed_at.compare_exchange(at, now, order, order)).is_ok();
            if is_due || self.retry.was_refused() {
                outlet.confirm(self.opened(outlet)?.0)?;
            }
        }
        Ok(written)
    }

    /// Writes a note of drops into the file that is written to, though it be full: where no other
    /// can follow it, the log has to say what is missing.
    pub fn put_note(&self, shared: &Shared, frame: &[u8]) -> bool {
        for _ in 0..FOLLOWINGS {
            let Some((_, outlet)) = self.take(None).filter(|(_, outlet)| outlet.is_file()) else {
                return false;
            };
            match self.try_to_put_note(shared, &outlet, frame) {
                Ok(Written::All) => return true,
                Ok(Written::Elsewhere) => {}
                _ => return false,
            }
        }
        false
    }

    /// Hands `work` what the family owes, if it writes to files.
    pub fn with_owed<T>(&self, work: impl FnOnce(&Owed) -> T) -> Option<T> {
        let log = self.rotated.borrow().or_else(|| self.one_file.borrow())?;
        Some(work(&log.owed))
    }

    fn try_to_put_note(
        &self,
        shared: &Shared,
        outlet: &Outlet,
        frame: &[u8],
    ) -> Result<Written, Errno> {
        let (fd, identity) = self.opened(outlet)?;
        // What stands in a file that is gone is on no record.
        if let Some(why) = self.is_left(|| outlet.is_removed(fd, &identity)) {
            let moved = self.move_on(shared, outlet, why)?;
            return moved
                .then_some(Written::Elsewhere)
                .ok_or(Errno(libc::ENOENT));
        }
        self.append_to(
            outlet,
            (fd, identity.size),
            frame,
            0,
            Limit::FileSize.granted(),
        )
    }

    fn put_into(
        &self,
        shared: &Shared,
        chunk: u32,
        outlet: &Outlet,
        frames: &[u8],
        by: Writer<'_>,
    ) -> Result<Written, Errno> {
        let mut written = Err(Errno(libc::EBADF));
        for _ in 0..REOPENINGS {
            written = self.try_to_put(shared, outlet, frames, by);
            match written {
                Err(Errno(libc::EBADF)) if self.has_name() => {
                    if self.chunk() != chunk {
                        return Ok(Written::Elsewhere);
                    }
                }
                // A call that opens the next file is interrupted by no handler, which would wait for it here.
                Err(Errno(libc::EFBIG)) if self.is_followed(chunk) => {
                    return Ok(Written::Elsewhere);
                }
                _ => break,
            }
        }
        written
    }

    fn is_rotated(&self) -> bool {
        self.file_size.load(Ordering::Relaxed) > 0
    }

    /// Hands `work` the path of what is not rotated, if it has one.
    fn with_path<T>(&self, work: impl FnOnce(&CStr) -> T) -> Option<T> {
        match self.one_file.borrow() {
            Some(log) => log.names.path().map(work),
            None => self.path.get().map(work),
        }
    }

    /// Whether what is written to can be opened again.
    fn has_name(&self) -> bool {
        self.is_rotated() || self.with_path(|_| ()).is_some()
    }

    fn try_to_put(
        &self,
        shared: &Shared,
        outlet: &Outlet,
        frames: &[u8],
        by: Writer<'_>,
    ) -> Result<Written, Errno> {
        let (fd, identity) = match self.opened(outlet) {
            // Its name leads nowhere, or to another file: it was removed, or renamed.
            Err(errno @ Errno(libc::ESTALE | libc::ENOENT | libc::EAGAIN)) if outlet.is_file() => {
                let moved = self.move_on(shared, outlet, Move::Removed)?;
                return moved.then_some(Written::Elsewhere).ok_or(errno);
            }
            opened => opened?,
        };
        let kind = outlet.kind();
        if kind != Kind::File {
            let is_asked = self.reopen.load(Ordering::Relaxed) && self.has_name();
            if is_asked && self.move_on(shared, outlet, Move::Asked)? {
                return Ok(Written::Elsewhere);
            }
            return self
                .stream
                .write(fd, kind, frames, by)
                .map(|()| Written::All);
        }
        let limit = Limit::FileSize.granted();
        // Notes may have the rest.
        let most = limit.map(|limit| limit - ROOM.min(limit / 2));
        let len = frames.len() as u64;
        if let Some(why) = self.should_move(outlet, (fd, &identity), len, most)
            && self.move_on(shared, outlet, why)?
        {
            return Ok(Written::Elsewhere);
        }
        let written = self.append_to(outlet, (fd, identity.size), frames, ROOM, most);
        // Calls in progress take what it had room for.
        if matches!(written, Err(Errno(libc::EFBIG)))
            && self.is_full_at(len, most)
            && self.move_on(shared, outlet, Move::Full)?
        {
            return Ok(Written::Elsewhere);
        }
        written
    }

    /// Opens the path again at the next call. May be called in a signal handler.
    pub fn ask_to_reopen(&self) {
        self.reopen.store(true, Ordering::Relaxed);
    }

    /// When the file was opened that is written to, and the age at which it is followed by
    /// another.
    pub fn age(&self) -> (u64, u64) {
        let rotated = self.rotated.borrow();
        let begun = rotated.map_or(0, |rotated| rotated.begun.load(Ordering::Relaxed));
        (begun, self.file_age.load(Ordering::Relaxed))
    }

    /// Fills in where the log goes.
    pub fn describe(&self, into: &mut RawState) {
        if let Some(log) = self.one_file.borrow() {
            log.names.describe(UNNUMBERED, into);
        } else if let Some(path) = self.path.get() {
            state::copy(&mut into.path, path.to_bytes());
        } else if let Some(rotated) = self.rotated.borrow() {
            rotated.names.describe(self.file().number, into);
        }
    }

    /// Whether a file is written to.
    pub fn is_file(&self) -> bool {
        self.take(None).is_some_and(|(_, outlet)| outlet.is_file())
    }

    /// The name of the file system, for a file on one that is known.
    pub fn file_system(&self) -> Option<&'static [u8]> {
        let (_, outlet) = self.take(None)?;
        if !outlet.is_file() {
            return None;
        }
        super::file_system::name(sys::file_system(outlet.own()?).ok()?)
    }

    /// The descriptor, opened again if a daemon closed it: its number may be that of
    /// another file by now, which must not get a log's bytes.
    fn opened(&self, outlet: &Outlet) -> Result<(c_int, Identity), Errno> {
        if let Some(found) = outlet.checked() {
            return Ok(found);
        }
        let fd = match self.with_path(|path| sys::open(path, FLAGS, 0)) {
            Some(opened) => opened?,
            None => {
                let rotated = self.rotated.borrow().ok_or(Errno(libc::EBADF))?;
                let fd = rotated.open(self.file())?.fd;
                // The right one was opened: it was closed, or another file was begun meanwhile.
                let closed = |errno| match errno {
                    Errno(libc::ESTALE) => Errno(libc::EBADF),
                    errno => errno,
                };
                return outlet.put_back(fd).map_err(closed);
            }
        };
        outlet.put_back(fd)
    }
}

/// Opens the file that a path leads to, by `open`, and marks it as in use; `None` if another process maps it,
/// or others put one file after another there.
fn open_unless_mapped(
    path: &CStr,
    open: impl Fn() -> Result<c_int, Errno>,
) -> Result<Option<c_int>, Errno> {
    for attempt in 1..=OPENINGS {
        if owner::is_mapped_by_another(path) {
            break;
        }
        let fd = open()?;
        let is_marked = sys::mark_in_use(fd);
        // Another process may have begun a file there before this one was marked, or removed it as one that was left.
        // Where the path never leads to what it was opened for, the file itself is asked.
        let is_ours = if attempt < OPENINGS {
            is_marked && sys::leads_to(path, fd) && !owner::is_mapped_by_another(path)
        } else {
            !sys::is_marked_mapped(fd)
        };
        if is_ours {
            return Ok(Some(fd));
        }
        sys::close(fd);
    }
    Ok(None)
}

/// Opens what there is, or makes a file.
fn open_or_create(path: &CStr, access: &SharedAccess) -> Result<c_int, Errno> {
    let flags = FLAGS | libc::O_CREAT;
    let new = access.create(|mode| sys::open(path, flags | libc::O_EXCL, mode));
    match new {
        Err(Errno(libc::EEXIST)) => sys::open(path, flags, 0o600),
        made => made,
    }
}

/// Opens a file, a device, or a pipe that gets a reader within as many `tries`, a tenth of a second each.
fn open_to_append(path: &CStr, access: &SharedAccess, mut tries: u32) -> Result<c_int, Errno> {
    let fd = loop {
        match open_or_create(path, access) {
            Err(Errno(libc::ENXIO)) if tries > 0 => {
                tries -= 1;
                sys::pause(100);
            }
            result => break result?,
        }
    };
    // A pipe that is full makes the caller wait, as it would any writer.
    sys::set_status_flags(fd, libc::O_APPEND).inspect_err(|_| sys::close(fd))?;
    Ok(fd)
}
