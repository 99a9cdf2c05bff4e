//! A log with its times moved, for one of a machine whose clock was wrong: the same bytes at the same
//! offsets, but for the times in whole frames, and the checksums of these. Knows of records only where
//! their times stand.

use crate::read::input::{Error, Input};
use crate::read::item::{Item, Items};
use crate::read::temporary::Temporary;
use crate::read::unmask;
use logdef_wire::msgpack::Decoder;
use logdef_wire::{Record, Tag, Value, frame};
use std::io;

/// Bytes that are copied at a time.
const STEP: usize = 256 << 10;
/// The head of an integer of eight bytes, as our writers put every time.
const EIGHT_BYTES: u8 = 0xcf;

impl Input {
    /// The same log with all times moved by nanoseconds, in a temporary file; and the number of records
    /// whose times stay as they are, since another writer put them in fewer bytes.
    ///
    /// # Errors
    ///
    /// If it cannot be read, or the temporary file cannot be written.
    pub fn moved_in_time(self, by: i64) -> Result<(Input, u64), Error> {
        let mut copy = Copy {
            file: Temporary::new().map_err(|cause| Error::new(self.name(), cause))?,
            ready: Vec::new(),
        };
        let mut left = 0;
        let mut items = Items::new(&self);
        let failed = |cause| Error::new(self.name(), cause);
        while let Some(item) = items.next()? {
            match item {
                Item::Frame(frame) => {
                    let start = copy.ready.len();
                    copy.ready.extend_from_slice(frame.bytes);
                    let header = frame.bytes.len() - frame.body.len();
                    left += u64::from(!move_frame(&mut copy.ready[start..], header, by));
                    copy.write_if_long().map_err(failed)?;
                }
                Item::Gap(gap) => {
                    copy.gap(&self, gap.offset, gap.end()).map_err(failed)?;
                }
            }
        }
        copy.write().map_err(failed)?;
        drop(items);
        let name = self.name().to_owned();
        let moved = self.with_content(copy.file);
        Ok((moved.map_err(|cause| Error::new(name, cause))?, left))
    }
}

/// What was copied so far, and what is yet to be written.
struct Copy {
    file: Temporary,
    ready: Vec<u8>,
}

impl Copy {
    fn write(&mut self) -> io::Result<()> {
        self.file.append(&self.ready)?;
        self.ready.clear();
        Ok(())
    }

    fn write_if_long(&mut self) -> io::Result<()> {
        if self.ready.len() < STEP {
            return Ok(());
        }
        self.write()
    }

    /// Copies bytes that are no frames. What cannot be read becomes zeros; those of a long hole are
    /// not read.
    fn gap(&mut self, input: &Input, from: u64, to: u64) -> io::Result<()> {
        self.write()?;
        let mut at = from;
        while at < to {
            let data = input.behind_hole(at).min(to);
            self.file.skip(data - at);
            at = data;
            let len = (to - at).min(STEP as u64) as usize;
            self.ready.resize(len, 0);
            let got = input.read_around(&mut self.ready, at, &mut Vec::new())?;
            if got == 0 {
                self.ready.clear();
                break;
            }
            self.ready.truncate(got);
            self.write()?;
            at += got as u64;
        }
        Ok(())
    }
}

/// Moves the times of one whole frame by nanoseconds, as [`Input::moved_in_time`] does; `false` if one
/// stays, since another writer put it in fewer bytes. What is no frame stays too.
pub fn move_in_time(bytes: &mut [u8], by: i64) -> bool {
    let Ok(frame) = frame::decode(bytes) else {
        return true;
    };
    let (header, end) = (frame.len - frame.body.len(), frame.len);
    by == 0 || move_frame(&mut bytes[..end], header, by)
}

/// Moves the times of a frame; `false` if one cannot be moved.
fn move_frame(bytes: &mut [u8], header: usize, by: i64) -> bool {
    let body = &mut bytes[header..];
    let mut scratch = Vec::new();
    let is_moved = if body.first() == Some(&Tag::MASKED.0) {
        let Some(at) = masked_at(body) else {
            return true;
        };
        let Some(plain) = unmask::unmasked(body, &mut scratch) else {
            return true;
        };
        let mut moved = plain.to_vec();
        let is_moved = move_times(&mut moved, by);
        let changes: Vec<u8> = plain
            .iter()
            .zip(&moved)
            .map(|(old, new)| old ^ new)
            .collect();
        for (byte, change) in body[at..].iter_mut().zip(changes) {
            *byte ^= change;
        }
        is_moved
    } else {
        move_times(body, by)
    };
    let sum = frame::checksum(body).to_be_bytes();
    bytes[frame::CRC_OFFSET..][..sum.len()].copy_from_slice(&sum);
    is_moved
}

/// Where the masked body stands within a masked record.
fn masked_at(body: &[u8]) -> Option<usize> {
    let Ok(Record::Masked(masked)) = Record::decode(body) else {
        return None;
    };
    let len = masked.body?.len();
    let mut found = None;
    each_field(body, |key, (_, end), value| {
        if key == Some(1) && value.as_raw().is_some() {
            found = Some(end - len);
        }
    });
    found
}

/// Moves the times of a record; `false` if one stands in fewer than eight bytes.
fn move_times(body: &mut [u8], by: i64) -> bool {
    let times: &[u64] = match body.first().map(|tag| Tag(*tag)) {
        Some(Tag::DATA) => &[8],
        Some(Tag::PREAMBLE) => &[9],
        Some(Tag::NOTE) => &[2, 4, 15],
        Some(Tag::MODULE) => &[7],
        Some(Tag::DURABLE) => &[2],
        _ => return true,
    };
    let mut moved = Vec::new();
    let mut is_moved = true;
    each_field(body, |key, (start, end), value| {
        if key.is_some_and(|key| times.contains(&key))
            && let Some(time) = value.as_uint()
        {
            is_moved &= end - start == 9;
            moved.push((start, time.saturating_add_signed(by)));
        }
    });
    for (start, time) in moved {
        if body[start] == EIGHT_BYTES {
            body[start + 1..][..8].copy_from_slice(&time.to_be_bytes());
        }
    }
    is_moved
}

/// Gives the fields of a record with where their values stand, as far as it holds to the grammar.
fn each_field(body: &[u8], mut with: impl FnMut(Option<u64>, (usize, usize), Value<'_>)) {
    let mut decoder = Decoder::new(body);
    let Ok(fields) = decoder.value().and_then(|_| decoder.map_head()) else {
        return;
    };
    for _ in 0..fields {
        let Ok(key) = decoder.value() else { return };
        let start = decoder.position();
        let Ok(value) = decoder.value() else { return };
        with(key.as_uint(), (start, decoder.position()), value);
    }
}
