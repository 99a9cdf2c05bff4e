//! The sink that writes: one `write(2)` for each call, to a file opened with
//! `O_APPEND`, a pipe or a socket. Slow and simple: it is what the mapped sink
//! is tested against, and what serves where files cannot be mapped.

use super::RETRY_AFTER;
use crate::sys::{self, Errno};
use core::ffi::{CStr, c_int};
use core::num::NonZeroUsize;
use core::ptr;
use core::sync::atomic::{AtomicI32, AtomicPtr, AtomicU8, AtomicU64, Ordering};

/// Where the bytes go.
pub(crate) struct Append {
    fd: AtomicI32,
    kind: AtomicU8,
    device: AtomicU64,
    inode: AtomicU64,
    /// A path that ends in a NUL, in memory that is never given back; null for a
    /// descriptor that came without.
    path: AtomicPtr<u8>,
    /// Until then (coarse monotonic time) there is no space, and nothing is tried: a
    /// full file system may flush all it has to find some.
    no_space_until: AtomicU64,
    no_space_errno: AtomicI32,
}

const FLAGS: c_int = libc::O_WRONLY | libc::O_APPEND | libc::O_NOCTTY;

/// A file or a character device.
const FILE: u8 = 0;
/// A pipe: writing to one that nobody reads raises SIGPIPE.
const PIPE: u8 = 1;
/// A socket: can be told not to.
const SOCKET: u8 = 2;

impl Append {
    pub const fn new() -> Append {
        Append {
            fd: AtomicI32::new(-1),
            kind: AtomicU8::new(FILE),
            device: AtomicU64::new(0),
            inode: AtomicU64::new(0),
            path: AtomicPtr::new(ptr::null_mut()),
            no_space_until: AtomicU64::new(0),
            no_space_errno: AtomicI32::new(0),
        }
    }

    /// Opens a path that starts at the root, to be added to.
    pub fn open(path: &CStr) -> Result<Append, Errno> {
        let append = Append::to(sys::open(path, FLAGS | libc::O_CREAT, 0o600)?)?;
        let bytes = path.to_bytes_with_nul();
        let len = NonZeroUsize::new(bytes.len()).ok_or(Errno(libc::EINVAL))?;
        let memory = sys::allocate(len)?;
        // SAFETY: fresh memory of this size.
        unsafe { ptr::copy_nonoverlapping(bytes.as_ptr(), memory.as_ptr(), bytes.len()) };
        append.path.store(memory.as_ptr(), Ordering::Relaxed);
        Ok(append)
    }

    /// Writes to what a descriptor of the process leads to, by a descriptor of its own.
    pub fn stream(fd: c_int) -> Result<Append, Errno> {
        let is_read_only = sys::status_flags(fd)? & libc::O_ACCMODE == libc::O_RDONLY;
        match is_read_only {
            true => Err(Errno(libc::EBADF)),
            false => Append::to(sys::duplicate_high(fd)?),
        }
    }

    /// Takes over a descriptor.
    pub fn to(fd: c_int) -> Result<Append, Errno> {
        let stat = sys::stat(fd)?;
        let kind = match stat.st_mode & libc::S_IFMT {
            libc::S_IFIFO => PIPE,
            libc::S_IFSOCK => SOCKET,
            _ => FILE,
        };
        Ok(Append {
            fd: AtomicI32::new(fd),
            kind: AtomicU8::new(kind),
            device: AtomicU64::new(stat.st_dev),
            inode: AtomicU64::new(stat.st_ino),
            path: AtomicPtr::new(ptr::null_mut()),
            no_space_until: AtomicU64::new(0),
            no_space_errno: AtomicI32::new(0),
        })
    }

    /// Takes over another's descriptor.
    pub fn set(&self, other: Append) {
        // A daemon may have closed it, and the number be another file's.
        if let Some(old) = self.own_fd() {
            sys::close(old);
        }
        let device = other.device.into_inner();
        self.device.store(device, Ordering::Relaxed);
        self.inode
            .store(other.inode.into_inner(), Ordering::Relaxed);
        self.path.store(other.path.into_inner(), Ordering::Relaxed);
        self.kind.store(other.kind.into_inner(), Ordering::Relaxed);
        self.no_space_until.store(0, Ordering::Relaxed);
        self.fd.store(other.fd.into_inner(), Ordering::Release);
    }

    /// Writes the frames in one go. What a full disk cuts short is torn, and
    /// the call's records count as dropped.
    pub fn put(&self, frames: &[u8]) -> Result<(), Errno> {
        let now = || sys::clock(libc::CLOCK_MONOTONIC_COARSE);
        let full_until = self.no_space_until.load(Ordering::Relaxed);
        if full_until > 0 {
            if now() < full_until {
                return Err(Errno(self.no_space_errno.load(Ordering::Relaxed)));
            }
            self.no_space_until.store(0, Ordering::Relaxed);
        }
        match self.write(frames) {
            Ok(len) if len == frames.len() => Ok(()),
            // The next call is told why.
            Ok(_) => Err(Errno(libc::ENOSPC)),
            Err(errno @ Errno(libc::ENOSPC | libc::EDQUOT | libc::EFBIG)) => {
                self.no_space_errno.store(errno.0, Ordering::Relaxed);
                let until = now() + RETRY_AFTER;
                self.no_space_until.store(until, Ordering::Relaxed);
                Err(errno)
            }
            Err(errno) => Err(errno),
        }
    }

    fn write(&self, frames: &[u8]) -> Result<usize, Errno> {
        let fd = self.opened()?;
        for _ in 0..8 {
            let written = match self.kind.load(Ordering::Relaxed) {
                SOCKET => sys::send(fd, frames),
                PIPE => sys::write_without_sigpipe(fd, frames),
                _ => sys::write_without_sigxfsz(fd, frames),
            };
            if written != Err(Errno(libc::EINTR)) {
                return written;
            }
        }
        Err(Errno(libc::EINTR))
    }

    /// The name of the file system, for a file on one that is known.
    pub fn file_system(&self) -> Option<&'static [u8]> {
        if self.kind.load(Ordering::Relaxed) != FILE {
            return None;
        }
        let magic = sys::file_system(self.opened().ok()?).ok()?;
        super::file_system::name(magic)
    }

    /// Waits until what was written is on stable storage.
    pub fn sync(&self) -> Result<(), Errno> {
        if self.kind.load(Ordering::Relaxed) != FILE {
            return Ok(());
        }
        sys::sync_data(self.opened()?)
    }

    /// The descriptor, opened anew if a daemon closed it: its number may be that of
    /// another file by now, which must not get a log's bytes.
    fn opened(&self) -> Result<c_int, Errno> {
        if let Some(fd) = self.own_fd() {
            return Ok(fd);
        }
        let path = self.path.load(Ordering::Acquire);
        // To open a pipe would wait for its reader.
        if path.is_null() || self.kind.load(Ordering::Relaxed) != FILE {
            return Err(Errno(libc::EBADF));
        }
        // SAFETY: set in `open` to a path that ends in a NUL and stays.
        let path = unsafe { CStr::from_ptr(path.cast()) };
        let fd = sys::open(path, FLAGS, 0)?;
        if !self.is(fd) {
            sys::close(fd);
            return Err(Errno(libc::ESTALE));
        }
        self.fd.store(fd, Ordering::Release);
        Ok(fd)
    }

    /// The descriptor, if it still leads where it did.
    fn own_fd(&self) -> Option<c_int> {
        let fd = self.fd.load(Ordering::Acquire);
        (fd >= 0 && self.is(fd)).then_some(fd)
    }

    fn is(&self, fd: c_int) -> bool {
        let device = self.device.load(Ordering::Relaxed);
        let inode = self.inode.load(Ordering::Relaxed);
        sys::identity(fd) == Ok((device, inode))
    }
}
