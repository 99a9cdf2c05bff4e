//! The number by which a system call says why it failed.

/// An errno value.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Errno(pub i32);

impl Errno {
    /// What the last failed call of this thread left.
    pub fn last() -> Errno {
        // SAFETY: the location is this thread's own and always valid.
        Errno(unsafe { *libc::__errno_location() })
    }

    /// Sets the thread's errno: a log call leaves it as it found it.
    pub fn restore(self) {
        // SAFETY: as in `last`.
        unsafe { *libc::__errno_location() = self.0 }
    }

    /// Whether the process, or the system, may have no more descriptors.
    pub fn lacks_descriptors(self) -> bool {
        matches!(self.0, libc::EMFILE | libc::ENFILE)
    }
}

impl From<Errno> for std::io::Error {
    fn from(errno: Errno) -> Self {
        std::io::Error::from_raw_os_error(errno.0)
    }
}

pub(super) fn checked(result: isize) -> Result<usize, Errno> {
    usize::try_from(result).map_err(|_| Errno::last())
}
