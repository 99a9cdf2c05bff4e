//! Files that are opened for each read, where more are read than a process may hold open.
//! Knows a file by its device, inode and birth: another one in its place is a medium that gives no bytes.

use rustix::fs::OFlags;
use std::fmt;
use std::fs::{File, Metadata, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::SystemTime;

/// Descriptors that a process may have where the system does not say.
const USUAL: u64 = 1024;

/// A file that is not held open.
#[derive(Debug)]
pub(crate) struct Reopened {
    path: PathBuf,
    identity: Identity,
}

/// Identifies a file. The number of an inode is used again when its file is gone, so the
/// time of its creation counts too, where the file system records it.
type Identity = (u64, u64, Option<SystemTime>);

fn identity(metadata: &Metadata) -> Identity {
    (metadata.dev(), metadata.ino(), metadata.created().ok())
}

impl Reopened {
    /// What to keep of a file that was just opened, if it should not stay open: descriptors
    /// are half used up. The other half is for images, outputs and files that are followed.
    pub(crate) fn instead_of(file: &File, path: &Path, metadata: &Metadata) -> Option<Reopened> {
        // The lowest number that is free is the next one given.
        let number = u64::try_from(file.as_raw_fd()).unwrap_or(0);
        (number >= limit() / 2).then(|| Reopened {
            path: path.to_owned(),
            identity: identity(metadata),
        })
    }

    /// The file, if it is still the one that its path names.
    pub(crate) fn open(&self) -> io::Result<File> {
        // A pipe that took the name would have to be waited for.
        let flags = OFlags::NONBLOCK | OFlags::NOCTTY;
        let mut options = OpenOptions::new();
        options.read(true).custom_flags(flags.bits() as i32);
        let file = options.open(&self.path);
        let is_same = |file: &File| {
            let metadata = file.metadata();
            metadata.is_ok_and(|it| it.is_file() && identity(&it) == self.identity)
        };
        match file {
            Ok(file) if is_same(&file) => Ok(file),
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            // Its bytes cannot be had any more: a gap says so, and the rest is read.
            _ => Err(io::Error::other(Gone)),
        }
    }
}

/// The error of a file that its path does not name any more.
#[derive(Debug)]
struct Gone;

impl fmt::Display for Gone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("it was removed or replaced while it was read")
    }
}

impl std::error::Error for Gone {}

/// Whether an error is that of such a file.
pub(crate) fn is_gone(error: &io::Error) -> bool {
    error.get_ref().is_some_and(|inner| inner.is::<Gone>())
}

/// How many descriptors the process may have.
fn limit() -> u64 {
    static LIMIT: OnceLock<u64> = OnceLock::new();
    let ask = || rustix::process::getrlimit(rustix::process::Resource::Nofile).current;
    *LIMIT.get_or_init(|| ask().unwrap_or(USUAL))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read::input::Source;

    #[test]
    fn a_file_is_opened_again_unless_another_took_its_name() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("app.log");
        std::fs::write(&path, b"one").unwrap();
        let metadata = std::fs::metadata(&path).unwrap();
        let file = Reopened {
            path: path.clone(),
            identity: identity(&metadata),
        };
        let mut byte = [0];
        assert_eq!(file.open().unwrap().read_at(&mut byte, 2).unwrap(), 1);
        assert_eq!(byte, *b"e");
        let other = folder.path().join("other");
        std::fs::write(&other, b"two").unwrap();
        std::fs::rename(&other, &path).unwrap();
        assert!(is_gone(&file.open().unwrap_err()));
        std::fs::remove_file(&path).unwrap();
        let mode = rustix::fs::Mode::RUSR;
        rustix::fs::mknodat(rustix::fs::CWD, &path, rustix::fs::FileType::Fifo, mode, 0).unwrap();
        assert!(is_gone(&file.open().unwrap_err()));
        std::fs::remove_file(&path).unwrap();
        assert!(is_gone(&file.open().unwrap_err()));
    }
}
