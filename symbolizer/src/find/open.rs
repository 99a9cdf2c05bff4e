//! Reading a file that a log or another file named. Whatever stands at the path, this neither
//! blocks nor reads more than the limit, and the bytes are owned: a file that shrinks meanwhile
//! can only end the reading early.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::Arc;

use crate::error::Refusal;

/// The size of the regular file at `path`, without opening it: opening alone can have effects on a
/// device.
pub(crate) fn size_of(path: &Path) -> Result<u64, Refusal> {
    let metadata = fs::metadata(path).map_err(refused)?;
    if metadata.is_file() {
        Ok(metadata.len())
    } else {
        Err(Refusal::NotRegular)
    }
}

/// Whether the regular file at `path` can be read and starts with these bytes.
pub(crate) fn starts_with<const N: usize>(path: &Path, wanted: &[u8; N]) -> bool {
    let mut found = [0; N];
    let read = size_of(path).and_then(|_| open(path)?.read_exact(&mut found).map_err(refused));
    read.is_ok() && found == *wanted
}

/// The bytes of the regular file at `path`, at most `limit` of them.
pub(crate) fn read_regular(path: &Path, limit: u64) -> Result<Arc<[u8]>, Refusal> {
    size_of(path)?;
    let mut file = open(path)?;
    // Asked again of the open file: another may have taken the name in between.
    let metadata = file.metadata().map_err(refused)?;
    if !metadata.is_file() {
        return Err(Refusal::NotRegular);
    }
    let size = metadata.len();
    let Some(length) = usize::try_from(size).ok().filter(|_| size <= limit) else {
        return Err(Refusal::TooLarge { size });
    };
    let mut bytes: Arc<[u8]> = std::iter::repeat_n(0, length).collect();
    let buffer = Arc::get_mut(&mut bytes).expect("nobody else has it yet");
    file.read_exact(buffer).map_err(refused)?;
    Ok(bytes)
}

fn open(path: &Path) -> Result<File, Refusal> {
    OpenOptions::new()
        .read(true)
        .custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY)
        .open(path)
        .map_err(refused)
}

fn refused(error: io::Error) -> Refusal {
    match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => Refusal::NotFound,
        _ => Refusal::Io(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_regular_file_is_read_whole() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        fs::write(&path, b"some bytes").unwrap();
        assert_eq!(&*read_regular(&path, 10).unwrap(), b"some bytes");
        assert!(matches!(
            read_regular(&path, 9),
            Err(Refusal::TooLarge { size: 10 })
        ));
    }

    #[test]
    fn what_is_no_regular_file_is_refused_without_waiting() {
        let dir = tempfile::tempdir().unwrap();
        let pipe = dir.path().join("pipe");
        let made = std::process::Command::new("mkfifo").arg(&pipe).status();
        assert!(made.unwrap().success());
        for path in [dir.path(), &pipe, Path::new("/dev/zero")] {
            assert!(matches!(
                read_regular(path, 1 << 20),
                Err(Refusal::NotRegular)
            ));
        }
        assert!(matches!(
            read_regular(&dir.path().join("absent"), 1),
            Err(Refusal::NotFound)
        ));
    }
}
