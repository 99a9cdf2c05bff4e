//! Reading a file that a log or another file named. Whatever stands at the path, this neither
//! blocks nor reads more than the limit, and the bytes are owned: a file that shrinks meanwhile
//! can only end the reading early. Of a part that is left in the file, what is asked for is read then.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read};
use std::ops::{Deref, Range};
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::sync::Arc;

use rustix::fs::SeekFrom;

use crate::error::Refusal;

/// The bytes of a file, shared. They stay in the vector that they were read into: to make an
/// `Arc<[u8]>` of them, each would be written twice.
pub(crate) type FileBytes = Arc<Contents>;

/// The bytes of a file, but for a part that may be left in it.
#[derive(Debug, Default)]
pub(crate) struct Contents {
    bytes: Vec<u8>,
    left_out: Option<(File, Range<usize>)>,
}

impl Contents {
    /// Whether all of `range`, where zeros stand, was left in the file.
    pub fn leaves_out(&self, range: &Range<usize>) -> bool {
        let left_out = self.left_out.as_ref();
        left_out.is_some_and(|(_, it)| it.start <= range.start && range.end <= it.end)
    }

    /// Some bytes of what was left in the file, if it has them still.
    pub fn read_left_out(&self, start: usize, length: usize) -> Option<Vec<u8>> {
        let (file, _) = self.left_out.as_ref()?;
        let mut bytes = vec![0; length];
        file.read_exact_at(&mut bytes, start as u64).ok()?;
        Some(bytes)
    }
}

impl Deref for Contents {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.bytes
    }
}

impl From<Vec<u8>> for Contents {
    fn from(bytes: Vec<u8>) -> Contents {
        Contents {
            bytes,
            left_out: None,
        }
    }
}

/// Identifies one state of a file: another file, or the same after a write, has another.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct FileId {
    device: u64,
    inode: u64,
    /// Bytes.
    pub size: u64,
    /// Seconds and nanoseconds.
    modified: (i64, i64),
}

impl FileId {
    fn of(metadata: &fs::Metadata) -> FileId {
        FileId {
            device: metadata.dev(),
            inode: metadata.ino(),
            size: metadata.len(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
        }
    }
}

/// Parts of a file.
pub(crate) struct Parts {
    /// In order, without overlaps.
    pub needed: Vec<Range<u64>>,
    /// What is read piece by piece when it is asked for.
    pub later: Option<Range<u64>>,
}

/// A regular file, opened.
pub(crate) struct Regular {
    file: File,
    metadata: fs::Metadata,
}

impl Regular {
    /// Opens the regular file at `path`. What it is is asked before, since opening alone can have
    /// effects on a device.
    pub fn open(path: &Path) -> Result<Regular, Refusal> {
        let metadata = fs::metadata(path).map_err(refused)?;
        if !metadata.is_file() {
            return Err(Refusal::NotRegular);
        }
        let file = OpenOptions::new()
            .read(true)
            .custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY)
            .open(path)
            .map_err(refused)?;
        // Asked again of the open file: another may have taken the name in between.
        let metadata = file.metadata().map_err(refused)?;
        if metadata.is_file() {
            Ok(Regular { file, metadata })
        } else {
            Err(Refusal::NotRegular)
        }
    }

    pub fn id(&self) -> FileId {
        FileId::of(&self.metadata)
    }

    /// The first bytes of the file, up to `most` of them.
    pub fn head(&mut self, most: u64) -> Result<Vec<u8>, Refusal> {
        let mut head = Vec::new();
        let mut start = (&mut self.file).take(most);
        start.read_to_end(&mut head).map_err(refused)?;
        rustix::fs::seek(&self.file, SeekFrom::Start(0)).map_err(|it| refused(it.into()))?;
        Ok(head)
    }

    /// Some bytes from `offset` on, if the file has all of them.
    pub fn at(&self, offset: u64, length: usize) -> Option<Vec<u8>> {
        let end = offset.checked_add(length as u64)?;
        if end > self.metadata.len() {
            return None;
        }
        let mut bytes = vec![0; length];
        self.file.read_exact_at(&mut bytes, offset).ok()?;
        Some(bytes)
    }

    /// The bytes of the file, if there are at most `limit` of them, and most were ever written.
    pub fn read(self, limit: u64) -> Result<FileBytes, Refusal> {
        let length = self.length_within(limit)?;
        let mut bytes = Vec::with_capacity(length);
        let read = (&self.file).take(length as u64).read_to_end(&mut bytes);
        read.map_err(refused)?;
        bytes.shrink_to_fit();
        Ok(Arc::new(bytes.into()))
    }

    /// The same with only these parts of the file; between them are zeros, which take no memory.
    pub fn read_parts(self, limit: u64, parts: &Parts) -> Result<FileBytes, Refusal> {
        let length = self.length_within(limit)?;
        let mut bytes = vec![0; length];
        for part in &parts.needed {
            let (start, end) = (clip(part.start, length), clip(part.end, length));
            let read = self
                .file
                .read_exact_at(&mut bytes[start..end], start as u64);
            read.map_err(refused)?;
        }
        let within = |part: &Range<u64>| clip(part.start, length)..clip(part.end, length);
        let left_out = parts.later.as_ref().map(|it| (self.file, within(it)));
        Ok(Arc::new(Contents { bytes, left_out }))
    }

    /// Gives the bytes of the file to `take`, a piece at a time.
    pub fn read_pieces(&self, limit: u64, mut take: impl FnMut(&[u8])) -> Result<(), Refusal> {
        const PIECE: usize = 256 << 10;

        let length = self.length_within(limit)?;
        let mut buffer = vec![0; length.min(PIECE)];
        let mut at = 0;
        while at < length {
            let piece = &mut buffer[..PIECE.min(length - at)];
            let read = self.file.read_exact_at(piece, at as u64);
            read.map_err(refused)?;
            take(piece);
            at += piece.len();
        }
        Ok(())
    }

    fn length_within(&self, limit: u64) -> Result<usize, Refusal> {
        let size = self.metadata.len();
        let Some(length) = usize::try_from(size).ok().filter(|_| size <= limit) else {
            return Err(Refusal::TooLarge { size });
        };
        if self.is_mostly_holes() {
            return Err(Refusal::Holes { size });
        }
        Ok(length)
    }

    /// Whether a large file is hardly there: it takes a name and a size to make one of a gigabyte,
    /// and no compiler does.
    fn is_mostly_holes(&self) -> bool {
        const SMALL: u64 = 1 << 20;
        /// Stretches to ask for. A file with more stretches is not sparse, or was not made
        /// by a linker.
        const STRETCHES: usize = 256;

        let size = self.metadata.len();
        // Blocks have 512 bytes here. File systems that compress need fewer too, so they decide
        // only whether to ask.
        if size <= SMALL || self.metadata.blocks().saturating_mul(512) >= size / 2 {
            return false;
        }
        let (mut at, mut written) = (0, 0);
        for _ in 0..STRETCHES {
            match rustix::fs::seek(&self.file, SeekFrom::Data(at)) {
                Ok(start) => {
                    let end = rustix::fs::seek(&self.file, SeekFrom::Hole(start)).unwrap_or(size);
                    written += end - start;
                    at = end;
                }
                Err(rustix::io::Errno::NXIO) => break,
                // The file system does not know.
                Err(_) => return false,
            }
        }
        // The position is where reading begins.
        let rewound = rustix::fs::seek(&self.file, SeekFrom::Start(0));
        rewound.is_err() || written < size / 2
    }
}

/// Whether the regular file at `path` can be read and starts with these bytes.
pub(crate) fn starts_with<const N: usize>(path: &Path, wanted: &[u8; N]) -> bool {
    let head = Regular::open(path).and_then(|mut file| file.head(N as u64));
    head.is_ok_and(|head| head == wanted)
}

/// The bytes of the regular file at `path`, at most `limit` of them.
pub(crate) fn read_regular(path: &Path, limit: u64) -> Result<FileBytes, Refusal> {
    Regular::open(path)?.read(limit)
}

/// An offset in a file, or the file's length if the offset lies beyond it.
pub(crate) fn clip(offset: u64, length: usize) -> usize {
    usize::try_from(offset).unwrap_or(usize::MAX).min(length)
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
        assert_eq!(**read_regular(&path, 10).unwrap(), *b"some bytes");
        assert!(matches!(
            read_regular(&path, 9),
            Err(Refusal::TooLarge { size: 10 })
        ));
    }

    #[test]
    fn a_file_of_holes_is_refused_and_one_with_some_is_read() {
        use std::os::unix::fs::FileExt;

        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        let file = File::create(&path).unwrap();
        file.set_len(1 << 30).unwrap();
        file.write_all_at(b"\x7fELF", 0).unwrap();
        assert!(matches!(
            read_regular(&path, 1 << 30),
            Err(Refusal::Holes { size: 0x4000_0000 })
        ));
        file.set_len(4 << 20).unwrap();
        file.write_all_at(&[1; 3 << 20], 1 << 20).unwrap();
        let bytes = read_regular(&path, 1 << 30).unwrap();
        assert_eq!((bytes.len(), &bytes[..4]), (4 << 20, &b"\x7fELF"[..]));
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
