//! How a log is cut into files, which of them are kept, and who may read them. Numbers
//! only: the sinks act on them.

use crate::sys::{self, Errno};
use core::ffi::c_int;
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// How the log is cut into files, and what files they are.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(crate) struct Rotation {
    /// Bytes of a file; none: as many as can be mapped.
    pub file_size: Option<u64>,
    /// Nanoseconds after which a file is followed by another.
    pub file_age: Option<u64>,
    /// How many files there are at most, the one written to included.
    pub keep: Option<u32>,
    /// Bytes that all logs in the directory may have together.
    pub folder_bytes: Option<u64>,
    pub access: Access,
}

/// Who may read and write a log's files.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(crate) struct Access {
    /// The mode of a file; none: that which only the user may read and write.
    pub mode: Option<u32>,
    /// Whether the process's mask is taken from it.
    pub masked: bool,
    /// The group of a file; none: that of the process, or of the directory.
    pub group: Option<u32>,
}

impl Rotation {
    /// Whether a file is ever followed by another.
    pub fn is_wanted(&self) -> bool {
        self.file_size.is_some() || self.file_age.is_some()
    }
}

/// [`Access`] in memory that threads and processes share. Zeros are the default.
pub(crate) struct SharedAccess {
    /// 0 for the default; with [`MASKED`].
    mode: AtomicU32,
    /// One more than the group; 0 for none.
    group: AtomicU64,
}

const MASKED: u32 = 1 << 31;
/// Of a file whose mode is not asked for, and of one that is yet to get its group.
const DEFAULT: u32 = 0o600;
/// What others' programs ask for, and the mask is taken from.
const USUAL: u32 = 0o666;

impl SharedAccess {
    pub const fn new() -> SharedAccess {
        SharedAccess {
            mode: AtomicU32::new(0),
            group: AtomicU64::new(0),
        }
    }

    /// Sets who may read and write new files.
    pub fn set(&self, access: Access) {
        let mode = if access.masked {
            MASKED | access.mode.unwrap_or(USUAL)
        } else {
            access.mode.unwrap_or(0)
        };
        self.mode.store(mode, Ordering::Relaxed);
        let group = access.group.map_or(0, |group| u64::from(group) + 1);
        self.group.store(group, Ordering::Relaxed);
    }

    /// The mode that the kernel is asked to make a file with, which takes the mask from it.
    fn at_first(&self) -> u32 {
        let mode = self.mode.load(Ordering::Relaxed);
        // Other users cannot open it before it has its group.
        if mode & MASKED != 0 && self.group.load(Ordering::Relaxed) == 0 {
            mode & !MASKED
        } else {
            DEFAULT
        }
    }

    /// Makes a file, by `open`, which is handed its mode, and gives it to whom it belongs.
    /// What the system does not allow is left as it is: a log is worth more than its group.
    pub fn create(&self, open: impl FnOnce(u32) -> Result<c_int, Errno>) -> Result<c_int, Errno> {
        let fd = open(self.at_first())?;
        let wanted = match self.mode.load(Ordering::Relaxed) {
            0 => DEFAULT,
            mode if mode & MASKED != 0 => mode & !MASKED & !sys::file_mode_mask(),
            mode => mode,
        };
        let is_so = || sys::stat(fd).is_ok_and(|stat| stat.st_mode & 0o7777 == wanted);
        if let Some(group) = self.group.load(Ordering::Relaxed).checked_sub(1)
            && sys::set_group(fd, group as u32).is_err()
            && wanted & 0o070 != 0
        {
            // Its rights were another group's.
            sys::set_mode(fd, wanted & 0o700);
        } else if !is_so() {
            // The mask may take rights from the owner too.
            sys::set_mode(fd, wanted);
        }
        Ok(fd)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::IntoRawFd;
    use std::os::unix::fs::MetadataExt;

    #[test]
    fn other_users_cannot_open_a_file_before_it_has_its_group() {
        let directory = tempfile::tempdir().unwrap();
        let own = directory.path().metadata().unwrap().gid();
        for (group, expected) in [(None, 0o640), (Some(own), 0o600)] {
            let access = SharedAccess::new();
            access.set(Access {
                mode: Some(0o640),
                masked: true,
                group,
            });
            let path = directory.path().join(format!("{group:?}"));
            let mut first = None;
            let open = |mode| {
                first = Some(mode);
                Ok(std::fs::File::create(&path).unwrap().into_raw_fd())
            };
            sys::close(access.create(open).unwrap());
            assert_eq!(first, Some(expected), "{group:?}");
        }
    }
}
