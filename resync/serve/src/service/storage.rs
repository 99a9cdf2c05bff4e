//! Where records go to survive the service: a trait, and a file that is only appended to.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use logdef_fuchsia::diagnostics::{LogError, LogsData, Origin};
use logdef_fuchsia::legacy::Packet;
use logdef_fuchsia::structured::{MAX_DATAGRAM_BYTES, Profile, Record, Severity};

/// How the bytes of a record are encoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// A structured record.
    Structured,
    /// A legacy packet.
    Legacy,
}

/// A record with what the service knows of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stored<'a> {
    /// How `record` is encoded.
    pub format: Format,
    /// The process that sent it, as the kernel says.
    pub pid: u32,
    /// Records its writer lost since the one before, for formats that count in total.
    pub dropped: u64,
    /// Which component sent it.
    pub moniker: &'a str,
    /// Where that was started from.
    pub url: Option<&'a str>,
    /// The record as it was sent.
    pub record: &'a [u8],
}

impl Stored<'_> {
    /// The record as diagnostics data, after `rolled_out` records that were not kept. A record that cannot
    /// be read is one that says so.
    pub fn to_data(&self, rolled_out: u64) -> LogsData {
        let origin = Origin {
            moniker: self.moniker,
            component_url: self.url,
            pid: (self.pid != 0).then_some(self.pid.into()),
            rolled_out,
        };
        let unreadable = |error: String| {
            let mut data = LogsData::new(self.moniker, 0, Severity::WARN);
            data.metadata.set_error(LogError::ParseRecord(error));
            data
        };
        match self.format {
            Format::Structured => match Record::parse(self.record, Profile::Compat) {
                Ok((record, _)) => LogsData::from_record(&record, &origin),
                Err(error) => unreadable(error.to_string()),
            },
            Format::Legacy => match Packet::parse(self.record) {
                Ok(packet) => LogsData::from_packet(&packet, self.dropped, &origin),
                Err(error) => unreadable(error.to_string()),
            },
        }
    }
}

/// Keeps records.
pub trait Storage {
    /// Takes a record.
    ///
    /// # Errors
    /// If it cannot; the record counts as not stored.
    fn append(&mut self, stored: &Stored<'_>) -> io::Result<()>;

    /// Makes everything that was appended survive the end of this process.
    ///
    /// # Errors
    /// If it cannot; nothing since the last success is acknowledged then.
    fn commit(&mut self) -> io::Result<()>;
}

/// Both: the first must succeed for the second to be tried.
impl<A: Storage, B: Storage> Storage for (A, B) {
    fn append(&mut self, stored: &Stored<'_>) -> io::Result<()> {
        self.0.append(stored)?;
        self.1.append(stored)
    }

    fn commit(&mut self) -> io::Result<()> {
        self.0.commit()?;
        self.1.commit()
    }
}

/// Storage in a file, and in one older file that it replaces when it is full.
///
/// ```text
/// frame   length u32 | crc32 of the rest u32 | entry
/// entry   format u8 | 0 u8 | moniker length u16 | pid u32 | dropped u64 | url length u16 | 0 u16 u32
///         moniker | url | record
/// ```
///
/// Integers are little-endian. What [`commit`](Storage::commit) wrote survives the end of the process, not
/// a loss of power.
#[derive(Debug)]
pub struct AppendFile {
    path: PathBuf,
    file: File,
    /// Bytes in the file.
    length: u64,
    limit: u64,
    /// Appended and not yet written.
    pending: Vec<u8>,
}

/// What was found in the files when they were opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Recovered {
    /// Whole entries.
    pub entries: u64,
    /// Bytes behind them: torn when the service ended, or damaged later.
    pub torn_bytes: u64,
}

/// Bytes of a frame before the entry.
const FRAME: usize = 8;
/// Bytes of an entry before the moniker.
const ENTRY: usize = 24;
/// No entry is larger: a record, and names from file names.
const MAX_ENTRY: usize = ENTRY + MAX_DATAGRAM_BYTES + 2 * 65_535;

impl AppendFile {
    /// Opens or creates the file at `path`, for at most `limit` bytes together with the older one, and
    /// gives every entry that is there to `each`, oldest first. A torn end is cut off.
    ///
    /// # Errors
    /// If the files cannot be read or written.
    pub fn open(
        path: impl Into<PathBuf>,
        limit: u64,
        mut each: impl FnMut(Stored<'_>),
    ) -> io::Result<(Self, Recovered)> {
        let path = path.into();
        let mut recovered = Recovered::default();
        match File::open(older(&path)) {
            Ok(mut file) => recovered.read(&mut file, &mut each).map(drop)?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
        let mut file = open(&path)?;
        // Nobody else appends to the file while this process has it.
        rustix::fs::flock(&file, rustix::fs::FlockOperation::NonBlockingLockExclusive)?;
        let length = recovered.read(&mut file, &mut each)?;
        file.set_len(length)?;
        let opened = Self {
            path,
            file,
            length,
            limit,
            pending: Vec::new(),
        };
        Ok((opened, recovered))
    }

    /// Puts the file in the place of the older one and starts a new one.
    fn rotate(&mut self) -> io::Result<()> {
        fs::rename(&self.path, older(&self.path))?;
        self.file = open(&self.path)?;
        rustix::fs::flock(
            &self.file,
            rustix::fs::FlockOperation::NonBlockingLockExclusive,
        )?;
        self.length = 0;
        Ok(())
    }
}

impl Storage for AppendFile {
    fn append(&mut self, stored: &Stored<'_>) -> io::Result<()> {
        let too_long = |_| io::Error::from(io::ErrorKind::InvalidInput);
        let url = stored.url.unwrap_or("");
        let start = self.pending.len();
        let mut put = |bytes: &[u8]| self.pending.extend_from_slice(bytes);
        let moniker_length = u16::try_from(stored.moniker.len()).map_err(too_long)?;
        let url_length = u16::try_from(url.len()).map_err(too_long)?;
        put(&[0; FRAME]);
        put(&[stored.format as u8, 0]);
        put(&moniker_length.to_le_bytes());
        put(&stored.pid.to_le_bytes());
        put(&stored.dropped.to_le_bytes());
        put(&url_length.to_le_bytes());
        put(&[0; 6]);
        put(stored.moniker.as_bytes());
        put(url.as_bytes());
        put(stored.record);
        let (frame, entry) = self.pending[start..].split_at_mut(FRAME);
        frame[..4].copy_from_slice(&(entry.len() as u32).to_le_bytes());
        frame[4..].copy_from_slice(&crc32fast::hash(entry).to_le_bytes());
        Ok(())
    }

    fn commit(&mut self) -> io::Result<()> {
        if self.pending.is_empty() {
            return Ok(());
        }
        if self.length > 0 && self.length + self.pending.len() as u64 > self.limit / 2 {
            self.rotate()?;
        }
        let written = self.file.write_all(&self.pending);
        if written.is_err() {
            // Part of it may be there: without it the next frame would not be found.
            self.file.set_len(self.length)?;
        } else {
            self.length += self.pending.len() as u64;
        }
        self.pending.clear();
        written
    }
}

fn older(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".old");
    name.into()
}

fn open(path: &Path) -> io::Result<File> {
    use std::os::unix::fs::OpenOptionsExt;
    let mut options = OpenOptions::new();
    options.read(true).append(true).create(true).mode(0o600);
    options.open(path)
}

impl Recovered {
    /// Reads whole entries up to the end or the first damage; returns where that is.
    fn read(&mut self, file: &mut File, each: &mut impl FnMut(Stored<'_>)) -> io::Result<u64> {
        let length = file.metadata()?.len();
        let mut input = io::BufReader::with_capacity(1 << 18, file);
        let mut good = 0;
        let mut entry = Vec::new();
        loop {
            let mut frame = [0; FRAME];
            if !fill(&mut input, &mut frame)? {
                break;
            }
            let [a, b, c, d, crc @ ..] = frame;
            let size = u32::from_le_bytes([a, b, c, d]) as usize;
            if !(ENTRY..=MAX_ENTRY).contains(&size) {
                break;
            }
            entry.resize(size, 0);
            if !fill(&mut input, &mut entry)? || crc32fast::hash(&entry) != u32::from_le_bytes(crc)
            {
                break;
            }
            let Some(stored) = parse(&entry) else {
                break;
            };
            each(stored);
            self.entries += 1;
            good += (FRAME + size) as u64;
        }
        self.torn_bytes += length - good;
        Ok(good)
    }
}

/// Fills the buffer, or says that the input ends before.
fn fill(input: &mut impl Read, buffer: &mut [u8]) -> io::Result<bool> {
    match input.read_exact(buffer) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
        Err(error) => Err(error),
    }
}

fn parse(entry: &[u8]) -> Option<Stored<'_>> {
    let (head, rest) = entry.split_first_chunk::<ENTRY>()?;
    let [
        format,
        _,
        m0,
        m1,
        p0,
        p1,
        p2,
        p3,
        d0,
        d1,
        d2,
        d3,
        d4,
        d5,
        d6,
        d7,
        u0,
        u1,
        ..,
    ] = *head;
    let format = match format {
        0 => Format::Structured,
        1 => Format::Legacy,
        _ => return None,
    };
    let (moniker, rest) = rest.split_at_checked(u16::from_le_bytes([m0, m1]).into())?;
    let (url, record) = rest.split_at_checked(u16::from_le_bytes([u0, u1]).into())?;
    let url = str::from_utf8(url).ok()?;
    Some(Stored {
        format,
        pid: u32::from_le_bytes([p0, p1, p2, p3]),
        dropped: u64::from_le_bytes([d0, d1, d2, d3, d4, d5, d6, d7]),
        moniker: str::from_utf8(moniker).ok()?,
        url: (!url.is_empty()).then_some(url),
        record,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stored(record: &[u8]) -> Stored<'_> {
        Stored {
            format: Format::Legacy,
            pid: 7,
            dropped: 9,
            moniker: "name",
            url: Some("file:///bin/name"),
            record,
        }
    }

    fn open_all(path: &Path) -> (AppendFile, Recovered, Vec<Vec<u8>>) {
        let mut records = Vec::new();
        let (file, recovered) = AppendFile::open(path, 1 << 20, |entry| {
            assert_eq!(entry, stored(entry.record));
            records.push(entry.record.to_vec());
        })
        .unwrap();
        (file, recovered, records)
    }

    #[test]
    fn what_was_committed_is_there_again_and_what_was_not_is_not() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("log");
        let (mut file, recovered, _) = open_all(&path);
        assert_eq!(recovered, Recovered::default());
        file.append(&stored(b"one")).unwrap();
        file.append(&stored(b"")).unwrap();
        file.commit().unwrap();
        file.append(&stored(b"lost")).unwrap();
        drop(file);
        let (_, recovered, records) = open_all(&path);
        assert_eq!(recovered.entries, 2);
        assert_eq!(records, [&b"one"[..], b""]);
    }

    #[test]
    fn every_cut_and_every_flip_loses_only_what_it_touches_and_what_follows() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("log");
        let (mut file, _, _) = open_all(&path);
        for record in [b"one", b"two", b"six"] {
            file.append(&stored(record)).unwrap();
        }
        file.commit().unwrap();
        drop(file);
        let bytes = fs::read(&path).unwrap();
        let entry = bytes.len() / 3;
        for position in 0..bytes.len() {
            fs::write(&path, &bytes[..position]).unwrap();
            let (mut file, recovered, _) = open_all(&path);
            let whole = position / entry;
            assert_eq!(recovered.entries, whole as u64);
            assert_eq!(recovered.torn_bytes, (position - whole * entry) as u64);
            // The torn end is gone: the next entry is found.
            file.append(&stored(b"new")).unwrap();
            file.commit().unwrap();
            drop(file);
            assert_eq!(open_all(&path).2.len(), whole + 1);

            let mut flipped = bytes.clone();
            flipped[position] ^= 0x10;
            fs::write(&path, &flipped).unwrap();
            assert_eq!(open_all(&path).1.entries, whole as u64);
        }
    }

    #[test]
    fn a_full_file_takes_the_place_of_the_older_one() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("log");
        let (mut file, _) = AppendFile::open(&path, 1000, |_| {}).unwrap();
        for number in 0..100_u32 {
            file.append(&stored(&number.to_le_bytes())).unwrap();
            file.commit().unwrap();
        }
        drop(file);
        let (_, recovered, records) = open_all(&path);
        assert!((8..=18).contains(&recovered.entries), "{recovered:?}");
        assert_eq!(records.last().unwrap(), &99_u32.to_le_bytes());
        assert!(fs::metadata(older(&path)).unwrap().len() <= 500);
    }

    #[test]
    fn a_file_belongs_to_one_process_at_a_time() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("log");
        let (_file, ..) = open_all(&path);
        assert!(AppendFile::open(&path, 1000, |_| {}).is_err());
    }
}
