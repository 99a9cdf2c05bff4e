//! How frames come to stand at the end of a file: whole, or as far as a disk takes them. Knows neither
//! files that follow nor threads.

use super::Append;
use crate::sink::outlet::{Claimed, Outlet};
use crate::sys::{self, Errno};
use core::ffi::c_int;

/// How much of a call's frames was written.
pub(super) enum Written {
    All,
    /// A full disk takes no more.
    Part,
    /// Another chunk is the one to write to from now on.
    Elsewhere,
}

impl Append {
    /// Appends frames to the file of an outlet, by a descriptor of it, where it had some bytes, if `behind` more
    /// fit the disk after them, and if no more than `most` come to stand in it.
    // As a function of its own it has the compiler spill registers in calls of mapped logs too.
    #[inline(always)]
    pub(super) fn append_to(
        &self,
        outlet: &Outlet,
        (fd, size): (c_int, u64),
        frames: &[u8],
        behind: u64,
        most: Option<u64>,
    ) -> Result<Written, Errno> {
        let len = frames.len() as u64;
        let end = match outlet.claim(fd, size, len, behind)? {
            Claimed::To(end) => end,
            Claimed::Cut(cut) => {
                self.begin_behind(outlet, cut);
                return Ok(Written::Elsewhere);
            }
        };
        let written = write_to_file(fd, end, frames, most);
        if !matches!(written, Ok(Written::All)) {
            outlet.give_back(len);
        }
        written
    }
}

/// Appends frames to a file, which then ends at `end` in the least, though signals interrupt that a few
/// times. Files may have `most` bytes, if they are limited.
fn write_to_file(fd: c_int, end: u64, frames: &[u8], most: Option<u64>) -> Result<Written, Errno> {
    // The system would write what has room.
    if most.is_some_and(|most| end > most) {
        return Err(Errno(libc::EFBIG));
    }
    for _ in 0..8 {
        match sys::write_within(most, fd, frames) {
            Err(Errno(libc::EINTR)) => {}
            Ok(len) if len == frames.len() => return Ok(Written::All),
            Ok(_) => return Ok(Written::Part),
            Err(errno) => return Err(errno),
        }
    }
    Err(Errno(libc::EINTR))
}
