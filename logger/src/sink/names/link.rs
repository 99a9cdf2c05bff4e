//! The path of the log as a symbolic link to the newest of its files.

use super::path::PathBuffer;
use super::{ATTEMPTS, Names, UNNUMBERED, number, take_name, unless_gone};
use crate::state::Existing;
use crate::sys::{self, Errno};
use core::ffi::CStr;
use core::sync::atomic::Ordering;

/// What kind of link a path is.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Link {
    /// No link, or nothing.
    None,
    /// It leads to a numbered file beside it.
    Ours,
    /// It leads elsewhere.
    Foreign,
}

impl Names {
    /// What kind of link stands under the path.
    pub(super) fn link(&self) -> Link {
        let mut target = [0; 256];
        let read = self.with(UNNUMBERED, |path| {
            sys::read_link(path, &mut target).map(<[u8]>::len)
        });
        match read {
            Ok(Ok(len)) if number::is_numbered(&target[..len], self.name()) => Link::Ours,
            Ok(Ok(_)) => Link::Foreign,
            _ => Link::None,
        }
    }

    /// Lets the path lead to file `number`. A plain file that stands under the path
    /// keeps a numbered name; a link that is not the log's stays.
    pub fn point_to(&self, number: u32) -> Result<(), Errno> {
        if self.link() == Link::Foreign {
            return Ok(());
        }
        let mut target = PathBuffer::new()?;
        target.push(self.name())?;
        target.push(b".")?;
        target.push_number(number)?;
        let mut link = PathBuffer::new()?;
        link.push(self.base())?;
        link.push(b".")?;
        link.push_number(number)?;
        // Of its own: another thread may set the same link, and the two names exchanged twice would be as before.
        link.push(b".")?;
        link.push_number(sys::thread_id())?;
        link.push(b".link")?;
        let link = link.as_c_str();
        let _ = sys::unlink(link);
        sys::symlink(target.as_c_str(), link)?;
        let set = match self.with(UNNUMBERED, |path| take_name(link, path))? {
            Ok(true) => return self.keep_displaced(link),
            Ok(false) => Ok(()),
            // The file system cannot exchange names.
            Err(Errno(libc::EINVAL | libc::ENOSYS)) => self.replace_by(link),
            Err(errno) => Err(errno),
        };
        set.inspect_err(|_| {
            let _ = sys::unlink(link);
        })
    }

    /// Renames `link` to the path, where a plain file gets a second name before.
    fn replace_by(&self, link: &CStr) -> Result<(), Errno> {
        if self.link() == Link::None {
            let number = self.next_number();
            let linked = self.with(UNNUMBERED, |from| {
                self.with(number, |to| sys::link(from, to))
            })??;
            linked.or_else(unless_gone)?;
        }
        self.with(UNNUMBERED, |path| sys::rename(link, path))?
    }

    /// Removes the link that stood under the path, which has the name `at` now; a plain
    /// file gets a number.
    fn keep_displaced(&self, at: &CStr) -> Result<(), Errno> {
        if sys::read_link(at, &mut [0; 1]).is_ok() {
            // That of an earlier run, or of this one at a later rotation.
            let is_first = self.existing.load(Ordering::Relaxed) == Existing::Nothing.code()
                && self.newest_is_first();
            if is_first {
                self.set_existing(Existing::Relinked);
            }
            return sys::unlink(at);
        }
        for _ in 0..ATTEMPTS {
            let number = self.next_number();
            match self.with(number, |to| sys::rename_without_replacing(at, to))? {
                Err(Errno(libc::EEXIST)) => {}
                Ok(()) => {
                    self.displaced.store(number, Ordering::Relaxed);
                    self.set_existing(Existing::Renamed);
                    return Ok(());
                }
                result => return result,
            }
        }
        Err(Errno(libc::EEXIST))
    }
}
