//! What is opened, and how, as it crosses from one copy of the logger to another. A
//! room for unsafe: it carries a descriptor.

use crate::copies::crossing::{Crossing, Text};
use crate::options::{Numbers, Options};
use core::cell::Cell;
use core::ffi::c_int;
use std::ffi::OsStr;
use std::io;
use std::os::fd::{FromRawFd, IntoRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// A log to open, and its options.
#[repr(C)]
pub struct OpenRequest<'r> {
    path: Text<'r>,
    /// If there is no path: a descriptor that is given away. -1 once it is taken.
    fd: Cell<c_int>,
    numbers: Numbers,
    filter: Text<'r>,
}

/// Where a log goes.
pub(crate) enum Target<'t> {
    Path(&'t Path),
    Descriptor(OwnedFd),
}

impl<'r> OpenRequest<'r> {
    /// Asks for a log with some options, whose filter is `filter`.
    pub(crate) fn new(options: &Options, filter: Option<&'r str>, to: Target<'r>) -> Self {
        let (path, fd) = match to {
            Target::Path(path) => (Text::of(path.as_os_str().as_bytes()), -1),
            Target::Descriptor(fd) => (Text::NONE, fd.into_raw_fd()),
        };
        OpenRequest {
            path,
            fd: Cell::new(fd),
            numbers: options.numbers(),
            filter: filter.map_or(Text::NONE, |text| Text::of(text.as_bytes())),
        }
    }

    /// Where the log goes; a descriptor is the caller's from then on.
    pub(crate) fn take_target(&self) -> io::Result<Target<'r>> {
        if let Some(path) = self.path.bytes() {
            return Ok(Target::Path(Path::new(OsStr::from_bytes(path))));
        }
        match self.fd.replace(-1) {
            -1 => Err(io::Error::from_raw_os_error(libc::EBADF)),
            // SAFETY: `new` took it over from its owner, and it is taken once.
            fd => Ok(Target::Descriptor(unsafe { OwnedFd::from_raw_fd(fd) })),
        }
    }

    /// How the log is opened.
    pub(crate) fn options(&self) -> io::Result<Options> {
        Options::of_numbers(&self.numbers, self.filter.bytes())
    }
}

impl Crossing for &OpenRequest<'_> {
    type As = Self;

    fn lower(self) -> Self {
        self
    }

    unsafe fn lift(lowered: Self) -> Self {
        lowered
    }
}
