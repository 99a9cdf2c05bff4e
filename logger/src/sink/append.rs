//! The sink that writes: one `write(2)` for each call, to a file opened with
//! `O_APPEND`, a pipe or a socket. Slow and simple: it is what the mapped sink
//! is tested against, and what serves where files cannot be mapped.

use crate::sys::{self, Errno};
use core::ffi::c_int;
use core::sync::atomic::{AtomicI32, AtomicU8, Ordering};

/// Where the bytes go.
pub(crate) struct Append {
    fd: AtomicI32,
    kind: AtomicU8,
}

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
        }
    }

    /// Takes over a descriptor.
    pub fn to(fd: c_int) -> Result<Append, Errno> {
        let kind = match sys::stat(fd)?.st_mode & libc::S_IFMT {
            libc::S_IFIFO => PIPE,
            libc::S_IFSOCK => SOCKET,
            _ => FILE,
        };
        Ok(Append {
            fd: AtomicI32::new(fd),
            kind: AtomicU8::new(kind),
        })
    }

    /// Takes over another's descriptor.
    pub fn set(&self, other: Append) {
        let old = self.fd.swap(other.fd.into_inner(), Ordering::AcqRel);
        self.kind.store(other.kind.into_inner(), Ordering::Release);
        if old >= 0 {
            sys::close(old);
        }
    }

    /// Writes the frames in one go. What a full disk cuts short is torn, and
    /// the call's records count as dropped.
    pub fn put(&self, frames: &[u8]) -> Result<(), Errno> {
        let fd = self.fd.load(Ordering::Relaxed);
        for _ in 0..8 {
            let written = match self.kind.load(Ordering::Relaxed) {
                SOCKET => sys::send(fd, frames),
                PIPE => sys::write_without_sigpipe(fd, frames),
                _ => sys::write_without_sigxfsz(fd, frames),
            };
            match written {
                Ok(len) if len == frames.len() => return Ok(()),
                Err(Errno(libc::EINTR)) => {}
                Ok(_) => return Err(Errno(libc::ENOSPC)),
                Err(errno) => return Err(errno),
            }
        }
        Err(Errno(libc::EINTR))
    }

    /// The name of the file system, for a file on one that is known.
    pub fn file_system(&self) -> Option<&'static [u8]> {
        if self.kind.load(Ordering::Relaxed) != FILE {
            return None;
        }
        let magic = sys::file_system(self.fd.load(Ordering::Relaxed)).ok()?;
        super::file_system::name(magic)
    }

    /// Waits until what was written is on stable storage.
    pub fn sync(&self) -> Result<(), Errno> {
        if self.kind.load(Ordering::Relaxed) != FILE {
            return Ok(());
        }
        sys::sync_data(self.fd.load(Ordering::Relaxed))
    }
}
