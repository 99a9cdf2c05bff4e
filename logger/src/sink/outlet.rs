//! A descriptor that the append sink writes to, in a place that others use after it.
//! It is used only after its device and inode were compared: a program may close it,
//! and the number become another file's.

mod reserved;

use super::file_system;
use super::stream::Kind;
use crate::sys::{self, Errno, Identity};
use core::ffi::c_int;
use core::ops::Deref;
use core::sync::atomic::{AtomicBool, AtomicI32, AtomicU8, AtomicU64, Ordering};
use reserved::Reserved;

pub(crate) use reserved::{Claimed, Cut, ROOM, reserve_first};

/// A descriptor, with the device and inode that it must have.
pub(crate) struct Outlet {
    /// -1 for a free place.
    fd: AtomicI32,
    kind: AtomicU8,
    device: AtomicU64,
    inode: AtomicU64,
    is_on_nfs: AtomicBool,
    /// A server said that its file has no name.
    is_unlinked: AtomicBool,
    /// Why what was written is not on stable storage, which the kernel says once; 0 if nothing is known of that.
    failed: AtomicI32,
    /// Its file is not to be relied on.
    is_given_up: AtomicBool,
    reserved: Reserved,
    /// How many calls hold on to it, the [`TERM`] since which they do, and [`CLOSING`].
    users: AtomicU64,
}

/// The bit of `users` that says that it is being closed, or becomes another file's.
const CLOSING: u64 = 1 << 63;

/// One more each time that the place became another file's though calls held on to it.
const TERM: u64 = 1 << 32;
const TERMS: u64 = CLOSING - TERM;

/// An outlet that is not closed while this lives.
pub(crate) struct Taken<'o> {
    outlet: &'o Outlet,
    term: u64,
}

impl Deref for Taken<'_> {
    type Target = Outlet;

    fn deref(&self) -> &Outlet {
        self.outlet
    }
}

impl Drop for Taken<'_> {
    fn drop(&mut self) {
        // None is counted any more where a fork came between, or the place became another file's.
        let one_less = |users: u64| {
            let is_counted = users & TERMS == self.term && count(users) > 0;
            is_counted.then(|| users - 1)
        };
        let users = &self.outlet.users;
        let _ = users.fetch_update(Ordering::AcqRel, Ordering::Relaxed, one_less);
    }
}

/// How many calls hold on to it.
fn count(users: u64) -> u32 {
    users as u32
}

impl Outlet {
    pub const fn new() -> Outlet {
        Outlet {
            fd: AtomicI32::new(-1),
            kind: AtomicU8::new(Kind::File as u8),
            device: AtomicU64::new(0),
            inode: AtomicU64::new(0),
            is_on_nfs: AtomicBool::new(false),
            is_unlinked: AtomicBool::new(false),
            failed: AtomicI32::new(0),
            is_given_up: AtomicBool::new(false),
            reserved: Reserved::new(),
            users: AtomicU64::new(0),
        }
    }

    /// Holds on to it. `None` if it is being closed.
    pub fn take(&self) -> Option<Taken<'_>> {
        let users = self.users.fetch_add(1, Ordering::AcqRel);
        let taken = self.taken(users);
        (users & CLOSING == 0).then_some(taken)
    }

    fn taken(&self, users: u64) -> Taken<'_> {
        Taken {
            outlet: self,
            term: users & TERMS,
        }
    }

    /// Whether no call holds on to it.
    pub fn is_unused(&self) -> bool {
        self.users.load(Ordering::Acquire) & !TERMS == 0
    }

    /// No call of this process does: it is a forked child.
    pub fn forget_users(&self) {
        self.users.fetch_and(TERMS, Ordering::Release);
    }

    /// Makes the place that of a descriptor, and holds on to it. `None` if it is not free. Of which plain
    /// file the descriptor is, if that is known: it may have been closed meanwhile.
    pub fn set(&self, fd: c_int, file: Option<&Identity>) -> Result<Option<Taken<'_>>, Errno> {
        if !self.is_free() {
            return Ok(None);
        }
        let Some(users) = self.change_unused(|users| users + 1) else {
            return Ok(None);
        };
        let taken = self.taken(users);
        if !self.is_free() {
            return Ok(None);
        }
        self.fill(fd, file)?;
        Ok(Some(taken))
    }

    /// The same where calls hold on to it that handlers have jumped out of, for good. One that was only kept
    /// from running finds the new file under the number of the old one, and writes there.
    pub fn set_though_held(
        &self,
        fd: c_int,
        file: Option<&Identity>,
    ) -> Result<Option<Taken<'_>>, Errno> {
        let (success, failure) = (Ordering::AcqRel, Ordering::Relaxed);
        let next_term = |users: u64| {
            let term = (users & TERMS).wrapping_add(TERM) & TERMS;
            (users & CLOSING == 0).then_some(term | CLOSING)
        };
        if (self.users.fetch_update(success, failure, next_term)).is_err() {
            return Ok(None);
        }
        let set = self.exchange(fd, file);
        if set.is_err() {
            self.users.fetch_and(!CLOSING, Ordering::Release);
        }
        set?;
        // Held on to by this call, and no longer closed to others.
        let users = self.users.fetch_sub(CLOSING - 1, Ordering::AcqRel);
        Ok(Some(self.taken(users)))
    }

    /// Takes a descriptor in place of the one that is there, under the number of that.
    fn exchange(&self, fd: c_int, file: Option<&Identity>) -> Result<(), Errno> {
        let Some(number) = self.own() else {
            return self.fill(fd, file);
        };
        sys::duplicate_to(fd, number)?;
        // The number leads to the new file already: where nothing is known of that, the place is free.
        self.fill(number, file).inspect_err(|_| {
            self.fd.store(-1, Ordering::Release);
            sys::close(number);
        })?;
        sys::close(fd);
        Ok(())
    }

    /// Notes which descriptor the place has, and of what.
    fn fill(&self, fd: c_int, file: Option<&Identity>) -> Result<(), Errno> {
        let ((device, inode), kind) = match file {
            Some(known) => (known.file, Kind::File),
            None => {
                let stat = sys::stat(fd)?;
                ((stat.st_dev, stat.st_ino), Kind::of(stat.st_mode))
            }
        };
        self.device.store(device, Ordering::Relaxed);
        self.inode.store(inode, Ordering::Relaxed);
        let on = sys::file_system(fd).ok().filter(|_| kind == Kind::File);
        let is_on_nfs = on.is_some_and(file_system::is_nfs);
        self.is_on_nfs.store(is_on_nfs, Ordering::Relaxed);
        self.is_unlinked.store(false, Ordering::Relaxed);
        self.failed.store(0, Ordering::Relaxed);
        self.is_given_up.store(false, Ordering::Relaxed);
        self.reserved.begin(on);
        self.kind.store(kind as u8, Ordering::Relaxed);
        self.fd.store(fd, Ordering::Release);
        Ok(())
    }

    /// Whether it is no file's, of none that the program closed either.
    pub fn is_free(&self) -> bool {
        self.fd.load(Ordering::Acquire) < 0
    }

    /// Changes `users`, if no call holds on to it. What it is then.
    fn change_unused(&self, change: impl Fn(u64) -> u64) -> Option<u64> {
        let (success, failure) = (Ordering::AcqRel, Ordering::Relaxed);
        let changed = self.users.fetch_update(success, failure, |users| {
            (users & !TERMS == 0).then(|| change(users))
        });
        changed.ok().map(change)
    }

    /// Frees the place, unless a call holds on to it, or it is needed: asked when no call can hold on to
    /// it any more.
    pub fn close_unless(&self, is_needed: impl FnOnce() -> bool) {
        if self.change_unused(|users| users | CLOSING).is_none() {
            return;
        }
        if !is_needed() {
            self.close();
        }
        self.users.fetch_and(!CLOSING, Ordering::Release);
    }

    /// Frees the place, which no call uses.
    pub fn close(&self) {
        // A daemon may have closed it, and the number be another file's.
        let own = self.own();
        self.fd.store(-1, Ordering::Release);
        if let Some(fd) = own {
            sys::close(fd);
        }
    }

    /// What it leads to.
    pub fn kind(&self) -> Kind {
        let kind = self.kind.load(Ordering::Relaxed);
        let kinds = [Kind::File, Kind::Pipe, Kind::Socket, Kind::Device];
        kinds
            .into_iter()
            .find(|one| *one as u8 == kind)
            .unwrap_or(Kind::File)
    }

    /// The descriptor, if it still leads where it did.
    pub fn own(&self) -> Option<c_int> {
        self.checked().map(|(fd, _)| fd)
    }

    /// The descriptor and its file, if it still leads where it did.
    pub fn checked(&self) -> Option<(c_int, Identity)> {
        let fd = self.fd.load(Ordering::Acquire);
        let identity = sys::identity(fd).ok().filter(|_| fd >= 0)?;
        self.is(&identity).then_some((fd, identity))
    }

    /// Takes `len` bytes after the end of the file, which `fd` leads to and which had `size` bytes, so that
    /// `behind` more fit it, as far as the file system can say.
    #[inline]
    pub fn claim(&self, fd: c_int, size: u64, len: u64, behind: u64) -> Result<Claimed, Errno> {
        // But for this one.
        let others = || count(self.users.load(Ordering::Acquire)).saturating_sub(1);
        self.reserved.claim(fd, size, (len, behind), others)
    }

    /// The next bytes stand where another program cut the file.
    pub fn begin_behind(&self, cut: Cut) {
        self.reserved.begin_behind(cut);
    }

    /// Bytes that were taken were not written.
    pub fn give_back(&self, len: u64) {
        self.reserved.give_back(len);
    }

    pub fn is_file(&self) -> bool {
        self.kind() == Kind::File
    }

    /// Whether it is a file on NFS.
    pub fn is_on_nfs(&self) -> bool {
        self.is_on_nfs.load(Ordering::Relaxed)
    }

    /// Asks the server whether it has all that was written to `fd`, and whether the file still has
    /// a name.
    pub fn confirm(&self, fd: c_int) -> Result<(), Errno> {
        if sys::is_unlinked(fd) {
            self.is_unlinked.store(true, Ordering::Relaxed);
        }
        self.write_back(fd)
    }

    /// Waits until what was written to `fd` is on stable storage. Once it could not be put there this fails for good.
    pub fn sync(&self, fd: c_int) -> Result<(), Errno> {
        self.write_back(fd)?;
        match self.failed.load(Ordering::Relaxed) {
            0 => Ok(()),
            errno => Err(Errno(errno)),
        }
    }

    fn write_back(&self, fd: c_int) -> Result<(), Errno> {
        sys::sync_data(fd).inspect_err(|errno| match errno.0 {
            // Of what cannot be synced, or was not: nothing is said of any write.
            libc::EINVAL | libc::EBADF | libc::EINTR => {}
            errno => self.failed.store(errno, Ordering::Relaxed),
        })
    }

    /// Whether what was written could not be put on stable storage, so that this is not the file to write to.
    pub fn is_given_up(&self) -> bool {
        self.is_given_up.load(Ordering::Relaxed)
    }

    /// Gives it up, if it cannot be relied on. Whether this call did.
    pub fn give_up(&self) -> bool {
        let has_failed = self.failed.load(Ordering::Relaxed) != 0;
        has_failed && !self.is_given_up.swap(true, Ordering::Relaxed)
    }

    /// Whether its file, which `fd` leads to, has no name left that a user knows.
    pub fn is_removed(&self, fd: c_int, identity: &Identity) -> bool {
        let is_unlinked = self.is_unlinked.load(Ordering::Relaxed);
        identity.names == 0 || is_unlinked || self.is_on_nfs() && sys::is_hidden_by_nfs(fd)
    }

    /// Whether it is a file that has no name any more.
    pub fn has_no_name(&self) -> bool {
        let found = self.checked().filter(|_| self.kind() == Kind::File);
        found.is_some_and(|(_, identity)| identity.names == 0)
    }

    /// Takes a new descriptor in place of one that was closed, if it leads to the same
    /// file, and no other thread was quicker.
    pub fn put_back(&self, fd: c_int) -> Result<(c_int, Identity), Errno> {
        let closed = self.fd.load(Ordering::Acquire);
        // The number may be the one that was closed.
        if closed != fd
            && let Some(found) = self.checked()
        {
            sys::close(fd);
            return Ok(found);
        }
        let identity = self.like_the_one_before(fd);
        let identity = identity.inspect_err(|_| sys::close(fd))?;
        let (success, failure) = (Ordering::AcqRel, Ordering::Relaxed);
        if (self.fd.compare_exchange(closed, fd, success, failure)).is_ok() {
            self.mark_in_use();
            return Ok((fd, identity));
        }
        sys::close(fd);
        self.checked().ok_or(Errno(libc::EBADF))
    }

    /// Lets other processes see that a file is written to.
    pub fn mark_in_use(&self) {
        if let Some(fd) = self.own().filter(|_| self.kind() == Kind::File) {
            sys::mark_in_use(fd);
        }
    }

    /// Gives a descriptor the flags of the one that was closed, if it leads to the same file.
    fn like_the_one_before(&self, fd: c_int) -> Result<Identity, Errno> {
        let identity = sys::identity(fd)?;
        if !self.is(&identity) {
            return Err(Errno(libc::ESTALE));
        }
        let flags = sys::status_flags(fd)? & !libc::O_NONBLOCK;
        sys::set_status_flags(fd, flags)?;
        Ok(identity)
    }

    fn is(&self, identity: &Identity) -> bool {
        let device = self.device.load(Ordering::Relaxed);
        let inode = self.inode.load(Ordering::Relaxed);
        identity.file == (device, inode)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;
    use std::os::fd::IntoRawFd;
    use std::path::Path;

    fn open(path: &Path) -> c_int {
        File::options()
            .append(true)
            .open(path)
            .unwrap()
            .into_raw_fd()
    }

    /// Threads that found it closed at the same time each left a descriptor open.
    #[test]
    fn one_descriptor_takes_the_place_of_one_that_was_closed() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let outlet = Outlet::new();
        // High numbers, as those of a log are.
        let high = |fd| {
            let high = sys::duplicate_high(fd).unwrap();
            sys::close(fd);
            high
        };
        let first = high(open(file.path()));
        drop(outlet.set(first, None).unwrap().unwrap());
        let (second, third) = (high(open(file.path())), high(open(file.path())));
        sys::close(first);
        assert_eq!(outlet.put_back(second).unwrap().0, second);
        assert_eq!(outlet.put_back(third).unwrap().0, second);
        // Numbers that are closed may be other tests' files by now.
        let inode = sys::identity(second).unwrap().file;
        let is_open = |fd| sys::identity(fd).is_ok_and(|found| found.file == inode);
        assert_eq!([second, third].map(is_open), [true, false]);
        // The next one gets the number of the one that was closed.
        sys::close(second);
        let again = high(open(file.path()));
        assert_eq!(outlet.put_back(again).unwrap().0, again);
        outlet.close();
        assert!(!is_open(again));
    }

    #[test]
    fn what_a_call_holds_on_to_is_not_closed() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let outlet = Outlet::new();
        let held = outlet.set(open(file.path()), None).unwrap().unwrap();
        outlet.close_unless(|| false);
        assert!(outlet.own().is_some());
        drop(held);
        outlet.close_unless(|| true);
        assert!(outlet.own().is_some());
        outlet.close_unless(|| {
            assert!(outlet.take().is_none(), "it is being closed");
            false
        });
        assert!(outlet.own().is_none() && outlet.take().is_some() && outlet.is_unused());
    }

    #[test]
    fn a_place_that_left_calls_hold_on_to_becomes_another_files() {
        let files = [(); 2].map(|()| tempfile::NamedTempFile::new().unwrap());
        let [first, second] = [&files[0], &files[1]].map(|file| {
            let fd = open(file.path());
            let high = sys::duplicate_high(fd).unwrap();
            sys::close(fd);
            high
        });
        let outlet = Outlet::new();
        let left = outlet.set(first, None).unwrap().unwrap();
        assert!(outlet.set(second, None).unwrap().is_none());
        let inode = sys::identity(second).unwrap().file;
        let held = outlet.set_though_held(second, None).unwrap().unwrap();
        // Under the number that the call that was left may still know.
        assert_eq!(outlet.own(), Some(first));
        let is_new = |fd| sys::identity(fd).is_ok_and(|found| found.file == inode);
        assert_eq!([first, second].map(is_new), [true, false]);
        // That call is not counted any more, and this one is.
        drop(left);
        outlet.close_unless(|| false);
        assert!(outlet.own().is_some());
        drop(held);
        outlet.close_unless(|| false);
        assert!(outlet.is_free() && outlet.is_unused());
    }
}
