//! A file of the log that was just made or opened. A program may close its descriptor at any moment, and
//! the number be that of another file that the log just made: which file it is, its name says.

use crate::sys::{self, Errno, Identity};
use core::ffi::{CStr, c_int};

/// A descriptor of a file, as long as it leads to that.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Opened {
    pub fd: c_int,
    /// The file that has the name.
    pub file: Identity,
}

impl Opened {
    /// What has a name, by a descriptor that was opened there. The descriptor is closed if nothing has it.
    pub fn at(path: &CStr, fd: c_int) -> Result<Opened, Errno> {
        let file = sys::found_at(path).inspect_err(|_| sys::close(fd))?;
        Ok(Opened { fd, file })
    }

    /// Whether the descriptor leads to the file.
    pub fn leads_there(&self) -> bool {
        sys::identity(self.fd).is_ok_and(|found| found.file == self.file.file)
    }

    /// Closes the descriptor, if it leads to the file.
    pub fn close(&self) {
        if self.leads_there() {
            sys::close(self.fd);
        }
    }
}
