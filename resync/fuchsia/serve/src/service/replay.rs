//! Reading the service's own log back: every whole frame of a file that holds a
//! stored record. Knows the wire format and the arguments of a stored record, and
//! nothing of sockets.
//!
//! One process wrote each file, from one thread: the order of the bytes is that of
//! the records. `logdef check` reports more about a damaged file than is needed here.

use std::fs::File;
use std::io::{self, Read};
use std::ops::AddAssign;
use std::path::Path;

use logdef_wire::frame::{self, Header, LONG_HEADER_LEN, MAX_SHORT_BODY};
use logdef_wire::record::{Data, Masked};
use logdef_wire::{Record, Value};

use super::storage::{Format, Stored};

/// Bytes of the file at hand: more than the largest frame that the logger writes.
const WINDOW: usize = 1 << 20;
/// Bytes of checksums of what turns out to be no frame, for each byte of the file: one
/// that was made to cost more is not read on.
const WASTE: u64 = 16;

/// What was found in storage.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Recovered {
    /// Records in frames that are whole.
    pub records: u64,
    /// Bytes that belong to no frame and are not zero: torn or damaged.
    pub damaged_bytes: u64,
}

impl AddAssign for Recovered {
    fn add_assign(&mut self, other: Self) {
        self.records += other.records;
        self.damaged_bytes += other.damaged_bytes;
    }
}

/// Gives every record in the file to `each`.
pub(super) fn replay(path: &Path, each: &mut impl FnMut(Stored<'_>)) -> io::Result<Recovered> {
    let file = File::open(path)?;
    let mut waste = file.metadata()?.len().saturating_mul(WASTE);
    let mut window = Window::new(file);
    let mut recovered = Recovered::default();
    let mut unmasked = vec![0; MAX_SHORT_BODY];
    loop {
        let bytes = window.ensure(LONG_HEADER_LEN + MAX_SHORT_BODY)?;
        if bytes.is_empty() {
            return Ok(recovered);
        }
        let candidate = memchr::memchr(0xc1, bytes).unwrap_or(bytes.len());
        let skipped = &bytes[..candidate];
        recovered.damaged_bytes += skipped.iter().filter(|byte| **byte != 0).count() as u64;
        window.skip(candidate);
        let bytes = window.ensure(LONG_HEADER_LEN + MAX_SHORT_BODY)?;
        let Some(len) = frame_len(bytes) else {
            let byte = bytes.first().copied();
            recovered.damaged_bytes += u64::from(byte.is_some_and(|byte| byte != 0));
            window.skip(usize::from(byte.is_some()));
            continue;
        };
        match frame::decode(&bytes[..len]) {
            Ok(frame) => {
                if let Some(stored) = stored(frame.body, &mut unmasked) {
                    recovered.records += 1;
                    each(stored);
                }
                window.skip(len);
            }
            Err(_) => {
                waste = waste.saturating_sub(len as u64);
                let skipped = if waste == 0 { bytes.len() } else { 1 };
                recovered.damaged_bytes += skipped as u64;
                window.skip(skipped);
            }
        }
    }
}

/// The length of the frame that starts here, if one may and all of it is here.
fn frame_len(bytes: &[u8]) -> Option<usize> {
    let header = Header::parse(bytes).filter(|header| header.body_len <= MAX_SHORT_BODY)?;
    Some(header.frame_len()).filter(|len| *len <= bytes.len())
}

/// The stored record in a frame's body, if it holds one.
fn stored<'b>(body: &'b [u8], unmasked: &'b mut [u8]) -> Option<Stored<'b>> {
    let data: Data<'b> = match Record::decode(body).ok()? {
        Record::Data(data) => data,
        Record::Masked(masked) => {
            let masked: Masked<'b> = masked;
            match Record::decode(masked.unmask(unmasked)?).ok()? {
                Record::Data(data) => data,
                _ => return None,
            }
        }
        _ => return None,
    };
    let args: [_; 7] = data.args?.iter().collect::<Vec<_>>().try_into().ok()?;
    let [moniker, pid, _line, record, url, format, dropped] = args;
    let text = |value: Value<'b>| str::from_utf8(value.as_raw()?).ok();
    Some(Stored {
        format: match format.as_uint()? {
            0 => Format::Structured,
            1 => Format::Legacy,
            _ => return None,
        },
        pid: u32::try_from(pid.as_uint()?).ok()?,
        dropped: dropped.as_uint()?,
        moniker: text(moniker)?,
        url: match url {
            Value::Nil => None,
            url => Some(text(url)?),
        },
        record: record.as_raw()?,
    })
}

/// A part of a file.
struct Window {
    file: File,
    bytes: Vec<u8>,
    start: usize,
    ended: bool,
}

impl Window {
    fn new(file: File) -> Self {
        Self {
            file,
            bytes: Vec::with_capacity(WINDOW),
            start: 0,
            ended: false,
        }
    }

    /// The bytes at hand: at least `len`, or all up to the end.
    fn ensure(&mut self, len: usize) -> io::Result<&[u8]> {
        if self.bytes.len() - self.start < len && !self.ended {
            self.bytes.drain(..self.start);
            self.start = 0;
            let room = (WINDOW - self.bytes.len()) as u64;
            let read = self.file.by_ref().take(room).read_to_end(&mut self.bytes)?;
            self.ended = (read as u64) < room;
        }
        Ok(&self.bytes[self.start..])
    }

    fn skip(&mut self, len: usize) {
        self.start += len;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use logdef_wire::Array;
    use logdef_wire::msgpack::Encoder;
    use logdef_wire::record::masked;

    /// The frame of a stored record.
    fn frame_of(record: &[u8]) -> Vec<u8> {
        let mut args = vec![0; 70_000];
        let mut encoder = Encoder::new(&mut args);
        encoder.raw(b"web").unwrap();
        encoder.uint(7).unwrap();
        encoder.raw(b"a line").unwrap();
        encoder.raw(record).unwrap();
        encoder.nil().unwrap();
        encoder.uint(1).unwrap();
        encoder.uint(9).unwrap();
        let data = Record::Data(Data {
            args: Array::from_objects(7, encoder.written()).ok(),
            ..Data::default()
        });
        let mut body = vec![0; 70_000];
        let mut encoder = Encoder::new(&mut body);
        data.encode(&mut encoder).unwrap();
        let mut len = encoder.written().len();
        if !masked::is_clean(&body[..len]) {
            len = masked::mask_in_place(&mut body, len).unwrap();
        }
        let (header, header_len) = frame::header(&body[..len]);
        [&header[..header_len], &body[..len]].concat()
    }

    fn replayed(bytes: &[u8]) -> (Vec<Vec<u8>>, Recovered) {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("log");
        std::fs::write(&path, bytes).unwrap();
        let mut records = Vec::new();
        let mut each = |stored: Stored<'_>| {
            let expected = Stored {
                format: Format::Legacy,
                pid: 7,
                dropped: 9,
                moniker: "web",
                url: None,
                record: stored.record,
            };
            assert_eq!(stored, expected);
            records.push(stored.record.to_vec());
        };
        let recovered = replay(&path, &mut each).unwrap();
        (records, recovered)
    }

    #[test]
    fn records_are_found_between_zeros_damage_and_what_looks_like_frames() {
        let large = vec![0xc1; 32_768];
        let inside = frame_of(b"inside");
        let wanted = [&b"one"[..], b"", &large, &inside];
        let mut bytes = vec![0; 100];
        for record in wanted {
            bytes.extend(frame_of(record));
            bytes.extend([0; 5000]);
            bytes.extend([0xc1, 0xce, 1, 2, 3]);
        }
        let (records, recovered) = replayed(&bytes);
        assert_eq!(records, wanted);
        assert_eq!((recovered.records, recovered.damaged_bytes), (4, 20));
    }

    #[test]
    fn every_cut_and_every_flip_loses_only_what_it_touches() {
        let frames = [b"one", b"two", b"six"].map(|record| frame_of(record));
        let bytes = frames.concat();
        for at in 0..bytes.len() {
            let touched = at / frames[0].len();
            let (records, _) = replayed(&bytes[..at]);
            assert_eq!(records.len(), touched);
            let mut flipped = bytes.clone();
            flipped[at] ^= 0x10;
            let (records, recovered) = replayed(&flipped);
            assert_eq!(records.len(), 2, "at {at}");
            assert!(recovered.damaged_bytes > 0);
        }
    }

    #[test]
    fn a_file_larger_than_the_window_is_read_whole() {
        let frame = frame_of(&[7; 30_000]);
        let (records, recovered) = replayed(&frame.repeat(100));
        assert_eq!((records.len(), recovered.damaged_bytes), (100, 0));
        let far = [vec![0; 5 * WINDOW], frame].concat();
        let (records, recovered) = replayed(&far);
        assert_eq!((records.len(), recovered.damaged_bytes), (1, 0));
    }

    #[test]
    fn a_file_that_was_made_to_cost_much_is_given_up() {
        // Headers that claim the longest body each, every 14 bytes.
        let claim = [
            0xc1, 0xce, 1, 2, 3, 4, 0xc1, 0xda, 0xff, 0xff, 0x7f, 0x80, 0, 0,
        ];
        let (records, recovered) = replayed(&claim.repeat(40_000));
        assert!(records.is_empty());
        assert!(recovered.damaged_bytes > 0);
    }
}
