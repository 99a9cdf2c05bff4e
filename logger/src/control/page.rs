//! The control page as a file: made beside the log, recognized before each use, read and
//! written by descriptor, never mapped. So a page that is cut short, removed or replaced
//! raises no signal: it is a page that says nothing.

use crate::published::Published;
use crate::sys::{self, Errno};
use core::ffi::{CStr, c_int};
use core::sync::atomic::{AtomicI32, AtomicU32, AtomicU64, Ordering};
use logdef_wire::control::{Block, SIZE};
use std::ffi::CString;

/// A byte of the file that the process which the page is about has locked while it lives.
/// After the page: `logdef ctl` reads it, and no copy of the page is in its way.
const LIVES: i64 = 1 << 20;
/// The byte that a process of the family has locked while it writes what was taken.
const WRITES: i64 = LIVES + 1;

/// How many processes may have a page beside one log.
const MOST_PAGES: u32 = 64;

/// The page's file. Words of their own: a handler may read them at any time.
pub(crate) struct PageFile {
    descriptor: AtomicI32,
    device: AtomicU64,
    inode: AtomicU64,
    user: AtomicU32,
    path: Published<CString>,
}

impl PageFile {
    pub const fn new() -> PageFile {
        PageFile {
            descriptor: AtomicI32::new(-1),
            device: AtomicU64::new(0),
            inode: AtomicU64::new(0),
            user: AtomicU32::new(0),
            path: Published::new(),
        }
    }

    /// Whether there is a page.
    #[inline]
    pub fn exists(&self) -> bool {
        self.path.get().is_some()
    }

    /// The user who owns it.
    pub fn user(&self) -> u32 {
        self.user.load(Ordering::Relaxed)
    }

    /// Makes a page beside the log at `path`, or takes one that no living process has.
    /// Allocates.
    pub fn make(&self, path: &[u8]) -> Result<(), Errno> {
        let at = path
            .iter()
            .rposition(|byte| *byte == b'/')
            .map_or(0, |slash| slash + 1);
        let (directory, name) = path.split_at(at);
        for number in 1..=MOST_PAGES {
            let mut page = directory.to_vec();
            page.push(b'.');
            page.extend_from_slice(name);
            if number > 1 {
                page.extend_from_slice(format!(".{number}").as_bytes());
            }
            page.extend_from_slice(b".ctl");
            let page = CString::new(page).map_err(|_| Errno(libc::EINVAL))?;
            if let Some(fd) = claim(&page)? {
                let stat = sys::stat(fd).inspect_err(|_| sys::close(fd))?;
                self.device.store(stat.st_dev, Ordering::Relaxed);
                self.inode.store(stat.st_ino, Ordering::Relaxed);
                self.user.store(stat.st_uid, Ordering::Relaxed);
                self.descriptor.store(fd, Ordering::Release);
                self.path.replace(Some(Box::leak(Box::new(page))));
                return Ok(());
            }
        }
        Err(Errno(libc::EEXIST))
    }

    /// A descriptor of the page, if that is still ours, has one name and our rights, and is
    /// whole.
    pub fn descriptor(&self) -> Option<c_int> {
        let fd = self.descriptor.load(Ordering::Acquire);
        if let Some(usable) = self.check(fd) {
            return usable.then_some(fd);
        }
        // The program closed it.
        let path = self.path.get()?;
        let fd = sys::open(path, OPEN, 0).ok()?;
        if self.check(fd) == Some(true) {
            self.descriptor.store(fd, Ordering::Release);
            return Some(fd);
        }
        sys::close(fd);
        None
    }

    /// Whether a descriptor leads to a page that can be used; `None` if it leads elsewhere.
    fn check(&self, fd: c_int) -> Option<bool> {
        let stat = sys::stat(fd).ok()?;
        let expected = (
            self.device.load(Ordering::Relaxed),
            self.inode.load(Ordering::Relaxed),
        );
        ((stat.st_dev, stat.st_ino) == expected).then(|| is_page(&stat, self.user()))
    }

    /// Takes the lock that says that this process is the one which the page is about. `false`
    /// while another lives that has it.
    pub fn become_holder(&self) -> bool {
        self.descriptor()
            .is_some_and(|fd| sys::lock_byte(fd, LIVES))
    }

    /// Lets one of the family at a time do something.
    pub fn alone<T>(&self, work: impl FnOnce() -> T) -> Option<T> {
        let fd = self.descriptor()?;
        if !sys::lock_byte(fd, WRITES) {
            return None;
        }
        let done = work();
        sys::unlock_byte(fd, WRITES);
        Some(done)
    }

    /// Reads the page into `into`, of [`SIZE`] bytes, and returns the bytes that the file has.
    pub fn read<'b>(&self, into: &'b mut [u8]) -> Option<&'b [u8]> {
        let len = sys::read_at(self.descriptor()?, &mut into[..SIZE], 0).ok()?;
        Some(&into[..len])
    }

    /// Writes a block of the page.
    pub fn write<'b, B: Block<'b>>(&self, block: &B, scratch: &mut [u8; SIZE]) {
        if let Some(fd) = self.descriptor() {
            let _ = sys::write_at(fd, block.encode(scratch), B::AT as u64);
        }
    }

    /// Ends with the log: the page is removed, if `removes`.
    pub fn end(&self, removes: bool) {
        let fd = self.descriptor.swap(-1, Ordering::AcqRel);
        let path = self.path.get();
        self.path.replace(None);
        let (Some(path), Some(usable)) = (path, self.check(fd)) else {
            return;
        };
        if removes && usable && leads_to(path, fd) {
            let _ = sys::unlink(path);
        }
        sys::close(fd);
    }
}

/// How a page is opened: no link, no wait for what is no file.
const OPEN: c_int = libc::O_RDWR | libc::O_NOFOLLOW | libc::O_NONBLOCK;

/// Whether a file may be a page of this user: nothing else of the file system could then be
/// harmed by writing to it, and no other user writes to it.
fn is_page(stat: &libc::stat, user: u32) -> bool {
    is_private(stat, user) && stat.st_size as usize == SIZE
}

fn is_private(stat: &libc::stat, user: u32) -> bool {
    let is_file = stat.st_mode & libc::S_IFMT == libc::S_IFREG;
    is_file && stat.st_mode & 0o7777 == 0o600 && stat.st_uid == user && stat.st_nlink == 1
}

fn leads_to(path: &CStr, fd: c_int) -> bool {
    let Ok(other) = sys::open(path, libc::O_PATH | libc::O_NOFOLLOW, 0) else {
        return false;
    };
    let identity = |fd| sys::identity(fd).map(|found| found.file).ok();
    let same = identity(other).is_some_and(|found| identity(fd) == Some(found));
    sys::close(other);
    same
}

/// A page under this name that is now this process's: a new one, or one whose process is
/// gone. `None` if the name is another's.
fn claim(path: &CStr) -> Result<Option<c_int>, Errno> {
    let fd = match sys::open(path, OPEN | libc::O_CREAT | libc::O_EXCL, 0o600) {
        Ok(fd) => {
            sys::set_mode(fd, 0o600);
            fd
        }
        Err(Errno(libc::EEXIST)) => match sys::open(path, OPEN, 0) {
            Ok(fd) => fd,
            Err(_) => return Ok(None),
        },
        Err(errno) => return Err(errno),
    };
    let filled = || {
        let stat = sys::stat(fd).ok()?;
        let user = sys::effective_user();
        // One that its maker did not finish is shorter.
        let is_ours = is_private(&stat, user) && stat.st_size as usize <= SIZE;
        (is_ours && sys::lock_byte(fd, LIVES) && leads_to(path, fd))
            .then(|| sys::write_at(fd, &[0; SIZE], 0))
    };
    match filled() {
        Some(Ok(SIZE)) => Ok(Some(fd)),
        Some(result) => {
            sys::close(fd);
            let _ = sys::unlink(path);
            Err(result.err().unwrap_or(Errno(libc::ENOSPC)))
        }
        None => {
            sys::close(fd);
            Ok(None)
        }
    }
}
