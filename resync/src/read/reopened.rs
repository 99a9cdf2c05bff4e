//! Files that are opened for each read, where more are read than a process may hold open.
//! Knows a file by its device and inode: another one in its place is a
//! medium that gives no bytes.

use std::fs::{File, Metadata};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// Descriptors that a process may have where the system does not say.
const USUAL: u64 = 1024;

/// A file that is not held open.
#[derive(Debug)]
pub(crate) struct Reopened {
    path: PathBuf,
    identity: (u64, u64),
}

impl Reopened {
    /// What to keep of a file that was just opened, if it should not stay open: descriptors
    /// are half used up. The other half is for images, outputs and files that are followed.
    pub(crate) fn instead_of(file: &File, path: &Path, metadata: &Metadata) -> Option<Reopened> {
        // The lowest number that is free is the next one given.
        let number = u64::try_from(file.as_raw_fd()).unwrap_or(0);
        (number >= limit() / 2).then(|| Reopened {
            path: path.to_owned(),
            identity: (metadata.dev(), metadata.ino()),
        })
    }

    /// The file, if it is still the one that its path names.
    pub(crate) fn open(&self) -> io::Result<File> {
        let file = File::open(&self.path);
        let is_same = |file: &File| {
            let metadata = file.metadata();
            metadata.is_ok_and(|it| (it.dev(), it.ino()) == self.identity)
        };
        match file {
            Ok(file) if is_same(&file) => Ok(file),
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            // Its bytes cannot be had any more: a gap says so, and the rest is read.
            _ => Err(rustix::io::Errno::IO.into()),
        }
    }
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
            identity: (metadata.dev(), metadata.ino()),
        };
        let mut byte = [0];
        assert_eq!(file.open().unwrap().read_at(&mut byte, 2).unwrap(), 1);
        assert_eq!(byte, *b"e");
        let other = folder.path().join("other");
        std::fs::write(&other, b"two").unwrap();
        std::fs::rename(&other, &path).unwrap();
        assert_eq!(file.open().unwrap_err().raw_os_error(), Some(5));
        std::fs::remove_file(&path).unwrap();
        assert_eq!(file.open().unwrap_err().raw_os_error(), Some(5));
    }
}
