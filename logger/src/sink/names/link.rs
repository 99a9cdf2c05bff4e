//! The path of the log as a symbolic link to the newest of its files.

use super::number::ATTEMPTS;
use super::path::PathBuffer;
use super::unfinished::{Begun, Ended, Work, is_young};
use super::{Names, UNNUMBERED, number};
use crate::state::Existing;
use crate::sys::{self, Errno};
use core::ffi::CStr;
use core::sync::atomic::Ordering;

/// Names at most that are tried for a link before it has the log's.
const LINK_NAMES: u32 = 8;

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
    /// What kind of link stands under the log's path.
    pub(super) fn link(&self) -> Link {
        let at = |path: &CStr| self.link_at(path);
        self.with(UNNUMBERED, at).unwrap_or(Link::None)
    }

    /// What kind of link stands under a path.
    pub(super) fn link_at(&self, path: &CStr) -> Link {
        match sys::read_link(path, &mut [0; 256]) {
            Ok(target) if number::is_numbered(target, self.name()) => Link::Ours,
            Ok(_) => Link::Foreign,
            Err(_) => Link::None,
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
        for attempt in 0..LINK_NAMES {
            let own = own_part(sys::thread_id(), attempt);
            let link = self.link_name(number, own)?;
            let link = link.as_c_str();
            let note = self.unfinished.begin(Begun {
                work: Work::Linking,
                number,
                detail: own,
            });
            // One that was left by a process that was killed.
            if self.link_at(link) == Link::Ours {
                let _ = sys::unlink(link);
            }
            let made = sys::symlink(target.as_c_str(), link);
            let is_taken = made == Err(Errno(libc::EEXIST));
            let set = made.and_then(|()| self.put_in_place(link));
            if let Some(note) = note {
                note.end();
            }
            if !is_taken {
                return set;
            }
        }
        Err(Errno(libc::EEXIST))
    }

    /// Removes the link that a process which was killed was to give the log's path.
    pub(super) fn remove_left_link(&self, number: u32, own: u64) -> Result<Ended, Errno> {
        let link = self.link_name(number, own)?;
        let link = link.as_c_str();
        if self.link_at(link) != Link::Ours {
            return Ok(Ended::Yes);
        }
        let fd = sys::open(link, libc::O_PATH | libc::O_NOFOLLOW, 0)?;
        let stat = sys::stat(fd);
        sys::close(fd);
        if is_young(stat?.st_mtime) {
            return Ok(Ended::NotYet);
        }
        let _ = sys::unlink(link);
        Ok(Ended::Yes)
    }

    /// A name for the link before it has the log's. Of the thread's own: another may set the same
    /// link, and the two names exchanged twice would be as before.
    fn link_name(&self, number: u32, own: u64) -> Result<PathBuffer, Errno> {
        let mut name = PathBuffer::new()?;
        name.push(self.base())?;
        let (thread, attempt) = (own as u32, (own >> 32) as u32);
        let parts = [number, thread, attempt];
        let shown = if attempt == 0 { 2 } else { 3 };
        for part in &parts[..shown] {
            name.push(b".")?;
            name.push_number(*part)?;
        }
        name.push(b".link")?;
        Ok(name)
    }

    /// Gives a new link the log's path.
    fn put_in_place(&self, link: &CStr) -> Result<(), Errno> {
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
            self.add_number()?;
        }
        self.with(UNNUMBERED, |path| sys::rename(link, path))?
    }

    /// Gives what has the log's path a number too.
    fn add_number(&self) -> Result<(), Errno> {
        let link = |_, to: &CStr| self.with(UNNUMBERED, |from| sys::link(from, to))?;
        self.number_file(link).map(drop).or_else(unless_gone)
    }

    /// Removes the link that stood under the path, which has the name `at` now; a plain
    /// file gets a number.
    fn keep_displaced(&self, at: &CStr) -> Result<(), Errno> {
        if self.link_at(at) == Link::Ours {
            // That of an earlier run, or of this one at a later rotation.
            let is_first = self.existing.load(Ordering::Relaxed) == Existing::Nothing.code()
                && self.newest_is_first();
            if is_first {
                self.set_existing(Existing::Relinked);
            }
            return sys::unlink(at);
        }
        let rename = |_, to: &CStr| sys::rename_without_replacing(at, to);
        let ((), number) = self.number_file(rename)?;
        self.displaced.store(number, Ordering::Relaxed);
        self.set_existing(Existing::Renamed);
        Ok(())
    }
}

/// What makes the name of a link a thread's own, at an attempt.
fn own_part(thread: u32, attempt: u32) -> u64 {
    u64::from(attempt) << 32 | u64::from(thread)
}

/// Gives what is called `new` the name `path`. `true` if something had that name,
/// which is called `new` from then on.
pub(super) fn take_name(new: &CStr, path: &CStr) -> Result<bool, Errno> {
    for _ in 0..ATTEMPTS {
        // A directory, a socket or a device is the program's, and is not moved.
        match sys::kind_of(path) {
            Ok(libc::S_IFDIR) => return Err(Errno(libc::EISDIR)),
            Ok(libc::S_IFREG | libc::S_IFLNK) | Err(_) => {}
            Ok(_) => return Err(Errno(libc::EEXIST)),
        }
        match sys::exchange(new, path) {
            Ok(()) => return Ok(true),
            Err(Errno(libc::ENOENT)) => {}
            Err(errno) => return Err(errno),
        }
        match sys::rename_without_replacing(new, path) {
            Ok(()) => return Ok(false),
            // Another process was quicker.
            Err(Errno(libc::EEXIST)) => {}
            Err(errno) => return Err(errno),
        }
    }
    Err(Errno(libc::EEXIST))
}

/// An error, unless it says that there is no such file.
pub(super) fn unless_gone(errno: Errno) -> Result<(), Errno> {
    match errno {
        Errno(libc::ENOENT) => Ok(()),
        errno => Err(errno),
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{create, list, names};
    use super::*;
    use std::path::Path;

    #[test]
    fn a_link_that_is_not_the_logs_stays() {
        let (directory, names) = names(None);
        let path = directory.path().join("log");
        std::os::unix::fs::symlink("elsewhere", &path).unwrap();
        let number = create(&names);
        names.point_to(number).unwrap();
        assert_eq!(std::fs::read_link(&path).unwrap(), Path::new("elsewhere"));
        assert_eq!(list(&directory), ["log", "log.000001"]);
    }

    #[test]
    fn a_file_that_is_called_like_a_link_in_the_making_stays() {
        let (directory, names) = names(None);
        let number = create(&names);
        let called = format!("log.{number:06}.{:06}.link", sys::thread_id());
        std::fs::write(directory.path().join(&called), "mine").unwrap();
        names.point_to(number).unwrap();
        assert_eq!(list(&directory), ["log", "log.000001", &called]);
        let link = std::fs::read_link(directory.path().join("log")).unwrap();
        assert_eq!(link, Path::new("log.000001"));
    }

    #[test]
    fn what_is_no_file_keeps_its_name_when_the_path_would_become_a_link() {
        let (directory, names) = names(None);
        let path = directory.path().join("log");
        std::fs::create_dir(&path).unwrap();
        assert_eq!(names.point_to(1), Err(Errno(libc::EISDIR)));
        std::fs::remove_dir(&path).unwrap();
        let _socket = std::os::unix::net::UnixListener::bind(&path).unwrap();
        assert_eq!(names.point_to(1), Err(Errno(libc::EEXIST)));
        assert_eq!(list(&directory), ["log"]);
    }

    #[test]
    fn a_plain_file_keeps_a_name_when_the_path_becomes_a_link() {
        let (directory, names) = names(None);
        let made = names.create_unnumbered().unwrap();
        sys::write(made.fd, b"first").unwrap();
        made.close();
        let number = create(&names);
        names.point_to(number).unwrap();
        let kept: Vec<_> = list(&directory)
            .into_iter()
            .filter(|name| std::fs::read(directory.path().join(name)).unwrap() == b"first")
            .collect();
        assert_eq!(kept.len(), 1, "{kept:?}");
    }
}
