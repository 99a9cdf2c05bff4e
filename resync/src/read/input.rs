//! Where bytes come from: files, standard input, compressed files, memory. All
//! become something that can be read at any offset, since a logdef may stand
//! anywhere. Nothing is ever mapped: a live file may shrink. Knows nothing of
//! frames.

use crate::read::compression::{self, Compression};
use crate::read::frozen::Frozen;
use crate::read::reopened::{self, Reopened};
use crate::read::spool::{self, Spooled};
use crate::read::temporary::Temporary;
use std::fmt;
use std::fs::{File, Metadata};
use std::io::{self, BufReader, Read};
use std::ops::Range;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

/// What is given up of an input where one read fails: the smallest piece that the
/// page cache asks a device for.
const SECTOR: u64 = 4096;

/// One source of log bytes, readable at any offset.
///
/// ```
/// use logdef_resync::Input;
/// let input = Input::from_bytes("example", vec![0; 16]);
/// assert_eq!((input.name(), input.len()), ("example", 16));
/// ```
#[derive(Debug)]
pub struct Input {
    name: String,
    path: Option<PathBuf>,
    /// Device and inode of the file that was opened there.
    opened: Option<(u64, u64)>,
    store: Store,
    len: u64,
    /// Why a stream ended before its end.
    broken_off: Option<String>,
    /// What the logs lost that it was made from, in the words of a note; and whether sequences
    /// show all records that are missing.
    made_from: Option<(String, bool)>,
    /// What of it stays as it is while it is written.
    frozen: OnceLock<Frozen>,
    /// Whether it may become shorter while it is read, and that is no loss.
    may_shrink: bool,
    /// The first byte that was gone when it was read: the file was cut meanwhile.
    gone_from: AtomicU64,
}

#[derive(Debug)]
enum Store {
    Memory(Vec<u8>),
    File(File),
    /// Opened for each read: more files are read than a process may keep open.
    Reopened(Reopened),
    Source(Box<dyn Source>),
}

/// Bytes that are neither a file nor in memory and can be read at any offset.
pub trait Source: fmt::Debug + Send + Sync {
    /// Reads some bytes from `offset` on, none only at the end.
    ///
    /// # Errors
    ///
    /// `EIO` where the medium does not give the bytes: they become a
    /// [gap](crate::Damage::Unreadable) and reading continues after them. Any other
    /// error ends the reading.
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize>;

    /// Where bytes begin at or after an offset that is in a hole, which reads as zeros: a long one
    /// is not read then. The offset itself where that is not known.
    fn behind_hole(&self, offset: u64) -> u64 {
        offset
    }
}

impl Source for File {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        FileExt::read_at(self, buffer, offset)
    }
}

/// An input that could not be opened or read.
#[derive(Debug)]
pub struct Error {
    name: String,
    cause: io::Error,
}

impl Error {
    /// What `cause` happened to.
    pub fn new(name: impl Into<String>, cause: io::Error) -> Error {
        Error {
            name: name.into(),
            cause,
        }
    }

    /// What `cause` happened to is what we write.
    pub(crate) fn output(cause: io::Error) -> Error {
        Error::new("output", cause)
    }

    /// The name of the input.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What the system said.
    pub fn cause(&self) -> &io::Error {
        &self.cause
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.name, self.cause)
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.cause)
    }
}

impl Input {
    /// The file at `path`, or standard input for `-`. Files compressed by gzip,
    /// zstd, xz or bzip2 are recognized by their first bytes and decompressed. Of a stream, and of what
    /// was compressed, 16 GiB are kept at most, and half of what the folder for temporary files has
    /// free: it [breaks off](Self::broken_off) there.
    pub fn open(path: impl AsRef<Path>) -> Result<Input, Error> {
        Input::open_up_to(path, spool::MOST)
    }

    /// The same, where `most` bytes are kept of a stream.
    pub fn open_up_to(path: impl AsRef<Path>, most: u64) -> Result<Input, Error> {
        let path = path.as_ref();
        let name = path.display().to_string();
        let opened = if path == Path::new("-") {
            Input::from_reader_up_to("standard input", io::stdin().lock(), most)
        } else {
            Input::open_file(&name, path, most)
        };
        opened.map_err(|cause| Error { name, cause })
    }

    fn of(name: String, store: Store, len: u64) -> Input {
        Input {
            name,
            path: None,
            opened: None,
            len,
            store,
            broken_off: None,
            made_from: None,
            frozen: OnceLock::new(),
            may_shrink: false,
            gone_from: AtomicU64::new(u64::MAX),
        }
    }

    /// An input of bytes in memory, which are not decompressed.
    pub fn from_bytes(name: impl Into<String>, bytes: Vec<u8>) -> Input {
        let len = bytes.len() as u64;
        Input::of(name.into(), Store::Memory(bytes), len)
    }

    /// The `len` bytes of a source, as they are: nothing is decompressed.
    pub fn from_source(name: impl Into<String>, source: impl Source + 'static, len: u64) -> Input {
        Input::of(name.into(), Store::Source(Box::new(source)), len)
    }

    /// A stream, read to its end and decompressed if its first bytes ask for it. As much is kept
    /// of it as [`Input::open`] keeps.
    pub fn from_reader(name: impl Into<String>, reader: impl Read) -> io::Result<Input> {
        Input::from_reader_up_to(name, reader, spool::MOST)
    }

    /// The same, where `most` bytes are kept.
    pub fn from_reader_up_to(
        name: impl Into<String>,
        reader: impl Read,
        most: u64,
    ) -> io::Result<Input> {
        let reader = BufReader::with_capacity(64 << 10, reader);
        let spool = spool::spool(compression::unpacked(reader)?, most)?;
        let (store, len) = match spool.kept {
            Spooled::Memory(bytes) => {
                let len = bytes.len() as u64;
                (Store::Memory(bytes), len)
            }
            Spooled::File(file, len) => (Store::File(file), len),
        };
        Ok(Input {
            broken_off: spool.broken_off.map(|error| error.to_string()),
            ..Input::of(name.into(), store, len)
        })
    }

    fn open_file(name: &str, path: &Path, most: u64) -> io::Result<Input> {
        let file = File::open(path)?;
        let metadata = file.metadata()?;
        if metadata.is_dir() {
            return Err(io::ErrorKind::IsADirectory.into());
        }
        let mut head = [0; compression::HEAD];
        let seekable = metadata.is_file();
        let compressed = seekable && {
            let got = read_all(&file, &mut head, 0).unwrap_or(0);
            Compression::of(&head[..got]).is_some()
        };
        let mut input = if seekable && !compressed {
            let store = match Reopened::instead_of(&file, path, &metadata) {
                Some(reopened) => Store::Reopened(reopened),
                None => Store::File(file),
            };
            Input::of(name.to_owned(), store, metadata.len())
        } else {
            Input::from_reader_up_to(name, file, most)?
        };
        input.path = Some(path.to_owned());
        input.opened = Some(identity(&metadata));
        Ok(input)
    }

    /// The same, made from logs that lost something: see
    /// [`rewrite::made_from`](crate::rewrite::made_from). A [`Recovery`](crate::Recovery) counts it as
    /// it counts what a note says; but where `shows_all`, no more is missing than the sequences of
    /// the records show.
    pub fn with_losses(mut self, losses: String, shows_all: bool) -> Input {
        self.made_from = Some((losses, shows_all));
        self
    }

    /// The same file, for [`Follow`](crate::Follow), which sees by itself that a file was cut.
    pub(crate) fn followed(self) -> Input {
        Input {
            may_shrink: true,
            ..self
        }
    }

    /// The first byte that was gone when it was read, if the file was cut after it had been opened.
    /// What is gone is a [gap](crate::Damage::Unreadable).
    pub fn gone_from(&self) -> Option<u64> {
        let from = self.gone_from.load(Ordering::Relaxed);
        (from < u64::MAX).then_some(from)
    }

    /// The same, under another name.
    pub(crate) fn named(self, name: String) -> Input {
        Input { name, ..self }
    }

    /// The same, with other bytes.
    pub(crate) fn with_content(self, content: Temporary) -> io::Result<Input> {
        let (file, len) = content.end()?;
        Ok(Input {
            store: Store::File(file),
            len,
            opened: None,
            frozen: OnceLock::new(),
            ..self
        })
    }

    /// What the logs lost that it was made from.
    pub(crate) fn losses(&self) -> Option<(&str, bool)> {
        let (losses, shows_all) = self.made_from.as_ref()?;
        Some((losses, *shows_all))
    }

    /// What to call it in messages.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The path it was opened at, if it has one.
    pub fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }

    /// Device and inode of the file that was opened at that path, which may name another by now.
    pub fn device_and_inode(&self) -> Option<(u64, u64)> {
        self.opened
    }

    /// Bytes it has, decompressed, as far as they are read: a live file may have grown since it was
    /// opened, or since something was made of it as a whole.
    pub fn len(&self) -> u64 {
        self.frozen.get().map_or(self.len, Frozen::end)
    }

    /// Why it ends before its end, if it is a stream that broke off: a compressed file
    /// that was cut or damaged has no more to give from there on.
    pub fn broken_off(&self) -> Option<&str> {
        self.broken_off.as_deref()
    }

    /// Whether it had no bytes.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Fills `buffer` from `offset` on, as far as there are bytes, and returns
    /// how many there were.
    pub fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        match &self.store {
            Store::Memory(bytes) => {
                let rest = usize::try_from(offset)
                    .ok()
                    .and_then(|offset| bytes.get(offset..))
                    .unwrap_or(&[]);
                let len = rest.len().min(buffer.len());
                buffer[..len].copy_from_slice(&rest[..len]);
                Ok(len)
            }
            Store::File(file) => read_all(file, buffer, offset),
            Store::Reopened(file) => read_all(&file.open()?, buffer, offset),
            Store::Source(source) => read_all(&**source, buffer, offset),
        }
    }

    /// Reads as above, what there was when it was frozen, and where the medium may fail: sectors that
    /// it does not give become zeros, and their ranges are appended to `unreadable`.
    pub(crate) fn read_around(
        &self,
        buffer: &mut [u8],
        offset: u64,
        unreadable: &mut Vec<Range<u64>>,
    ) -> io::Result<usize> {
        let got = self.read_around_now(buffer, offset, unreadable)?;
        Ok(self.restore(&mut buffer[..got], offset))
    }

    /// Reads what there was when it was frozen; where the medium fails, that is an error.
    pub(crate) fn read_frozen(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let got = self.read_at(buffer, offset)?;
        Ok(self.restore(&mut buffer[..got], offset))
    }

    fn restore(&self, bytes: &mut [u8], offset: u64) -> usize {
        let frozen = self.frozen.get();
        frozen.map_or(bytes.len(), |frozen| frozen.restore(bytes, offset))
    }

    fn read_around_now(
        &self,
        buffer: &mut [u8],
        offset: u64,
        unreadable: &mut Vec<Range<u64>>,
    ) -> io::Result<usize> {
        let got = match self.read_at(buffer, offset) {
            Err(error) if is_of_the_medium(&error) => {
                self.read_sectors(buffer, offset, unreadable)?
            }
            read => read?,
        };
        let gone = self.fill_gone(&mut buffer[got..], offset + got as u64, unreadable);
        Ok(got + gone)
    }

    fn read_sectors(
        &self,
        buffer: &mut [u8],
        offset: u64,
        unreadable: &mut Vec<Range<u64>>,
    ) -> io::Result<usize> {
        let mut got = 0;
        while got < buffer.len() {
            let at = offset + got as u64;
            let rest = buffer.len() - got;
            let piece = &mut buffer[got..][..rest.min((SECTOR - at % SECTOR) as usize)];
            match self.read_at(piece, at) {
                Ok(0) => break,
                Ok(read) => got += read,
                // A file that was removed gives neither bytes nor its end.
                Err(error) if is_of_the_medium(&error) && at >= self.len() => break,
                Err(error) if is_of_the_medium(&error) => {
                    let len = piece.len().min((self.len() - at) as usize);
                    piece[..len].fill(0);
                    got += len;
                    add_range(unreadable, at..at + len as u64);
                }
                Err(error) => return Err(error),
            }
        }
        Ok(got)
    }

    /// Makes zeros of bytes at the end of a file that is shorter than it was when it was opened: how
    /// many there are.
    fn fill_gone(&self, rest: &mut [u8], at: u64, unreadable: &mut Vec<Range<u64>>) -> usize {
        let is_file = match &self.store {
            Store::File(_) | Store::Reopened(_) => !self.may_shrink,
            Store::Memory(_) | Store::Source(_) => false,
        };
        let len = self.len().saturating_sub(at).min(rest.len() as u64) as usize;
        if !is_file || len == 0 {
            return 0;
        }
        rest[..len].fill(0);
        add_range(unreadable, at..at + len as u64);
        self.gone_from.fetch_min(at, Ordering::Relaxed);
        len
    }

    /// Reads it from its first byte on.
    pub fn reader(&self) -> impl Read {
        self.reading()
    }

    pub(crate) fn reading(&self) -> Reading<'_> {
        Reading { input: self, at: 0 }
    }

    /// The bytes themselves, if they are in memory.
    pub(crate) fn in_memory(&self) -> Option<&[u8]> {
        match &self.store {
            Store::Memory(bytes) => Some(bytes),
            Store::File(_) | Store::Reopened(_) | Store::Source(_) => None,
        }
    }

    /// Where data begins at or after an offset: after the hole of a file that the offset
    /// is in, or at the end of the file. The offset itself where that is not known.
    pub fn behind_hole(&self, offset: u64) -> u64 {
        let found = match &self.store {
            Store::File(file) => data_from(file, offset),
            Store::Reopened(file) => file.open().ok().and_then(|file| data_from(&file, offset)),
            Store::Source(source) => Some(source.behind_hole(offset)),
            Store::Memory(_) => None,
        };
        let found = found.unwrap_or(offset);
        let end = self.frozen.get().map_or(u64::MAX, Frozen::end);
        found.min(end).max(offset)
    }

    /// Whether it is a plain file, which a program may be writing, and was not frozen yet.
    pub(crate) fn may_be_written(&self) -> bool {
        self.opened.is_some()
            && self.frozen.get().is_none()
            && matches!(self.file_identity(), Ok(Some((file, _))) if Some(file) == self.opened)
    }

    /// Its length now, if it is a file.
    pub(crate) fn len_now(&self) -> io::Result<u64> {
        Ok(self.file_identity()?.map_or(self.len, |(_, len)| len))
    }

    /// Its length when it was opened.
    pub(crate) fn len_at_first(&self) -> u64 {
        self.len
    }

    /// Makes what it is now what is read from here on.
    pub(crate) fn set_frozen(&self, frozen: Frozen) {
        // Another thread was as early.
        let _ = self.frozen.set(frozen);
    }

    /// Device and inode of the file that is open, to notice when another takes
    /// its name; and its length now.
    pub(crate) fn file_identity(&self) -> io::Result<Option<((u64, u64), u64)>> {
        match &self.store {
            Store::Memory(_) | Store::Source(_) => Ok(None),
            Store::File(file) => identity_and_len(file).map(Some),
            Store::Reopened(file) => identity_and_len(&file.open()?).map(Some),
        }
    }
}

fn identity_and_len(file: &File) -> io::Result<((u64, u64), u64)> {
    let metadata = file.metadata()?;
    Ok((identity(&metadata), metadata.len()))
}

fn identity(metadata: &Metadata) -> (u64, u64) {
    (metadata.dev(), metadata.ino())
}

/// Where the next data of a file is, or its end. Reads name their own offsets, so it is no
/// matter where the file stands.
fn data_from(file: &File, offset: u64) -> Option<u64> {
    match rustix::fs::seek(file, rustix::fs::SeekFrom::Data(offset)) {
        Ok(data) => Some(data),
        Err(rustix::io::Errno::NXIO) => file.metadata().ok().map(|metadata| metadata.len()),
        Err(_) => None,
    }
}

/// An input as a stream of bytes.
pub(crate) struct Reading<'i> {
    input: &'i Input,
    at: u64,
}

impl Reading<'_> {
    /// Passes over the hole of a file that is next, in whole words: at most `most` bytes.
    pub(crate) fn skip_hole(&mut self, most: u64) -> io::Result<u64> {
        let hole = self.input.behind_hole(self.at) - self.at;
        let skipped = hole.min(most) & !7;
        self.at += skipped;
        Ok(skipped)
    }
}

impl Read for Reading<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let got = self.input.read_at(buffer, self.at)?;
        self.at += got as u64;
        Ok(got)
    }
}

fn read_all(source: &(impl Source + ?Sized), buffer: &mut [u8], offset: u64) -> io::Result<usize> {
    let mut got = 0;
    while got < buffer.len() {
        match source.read_at(&mut buffer[got..], offset + got as u64) {
            Ok(0) => break,
            Ok(n) => got += n,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(got)
}

fn add_range(ranges: &mut Vec<Range<u64>>, range: Range<u64>) {
    match ranges.last_mut() {
        Some(last) if last.end == range.start => last.end = range.end,
        _ => ranges.push(range),
    }
}

/// Whether the bytes could not be had from where they lie: `EIO`, the same on every
/// architecture of Linux, or a file that is not there any more.
fn is_of_the_medium(error: &io::Error) -> bool {
    const EIO: i32 = 5;
    error.raw_os_error() == Some(EIO) || reopened::is_gone(error)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_is_refused_by_name() {
        let error = Input::open("/").unwrap_err();
        assert!(error.to_string().starts_with("/: "), "{error}");
    }
}
