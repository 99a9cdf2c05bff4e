//! Judging whether records begin at some place, when a size that led there, or away
//! from there, is in doubt. Knows single records and nothing of tables.
//!
//! A word that is not a header looks like the start of a record whose parts add up
//! to exactly its size about once in 6000 times; small integers and arguments do so
//! more often. So records are judged in a row: one that fits exactly counts two, one
//! with appended words (which the format allows) counts one, one of unknown type
//! nothing. A row of at most four that comes to three, or that comes to two and
//! then ends where the trace ends, is taken for records.

use super::argument::{MAX_ARGUMENTS, RawArgument, Value};
use super::buffer::{FixedBuffer, Words};
use super::cursor::{Cursor, WORD, word_at};
use super::header::{RecordHeader, RecordType};
use super::layer::Raw;
use super::record::{Decoded, LargeBlob, Record, Scheduling};

/// The window is too short to decide: this many bytes are needed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Need(pub(crate) usize);

/// The bytes at hand, and whether the trace ends with them.
#[derive(Clone, Copy)]
pub(crate) struct Window<'w> {
    pub(crate) bytes: &'w [u8],
    pub(crate) is_last: bool,
}

/// Records in a row are looked at up to this number.
const ROW: usize = 4;
/// A row that comes to this is taken for records.
const ENOUGH: u32 = 3;
/// A row that comes to this and reaches the end of the trace, too.
const ENOUGH_AT_END: u32 = 2;
/// More appended words than this are not believed.
const MAX_APPENDED: usize = 4;
/// Smaller records are written back and compared; this bounds the work per word.
const MAX_COMPARED: usize = 512;
/// Records that follow each other.
#[derive(Clone, Copy, Debug, Default)]
struct Row {
    score: u32,
    /// What the first of them counted.
    first: u32,
    reaches_end: bool,
}

impl Row {
    fn is_enough(self) -> bool {
        self.score >= ENOUGH || (self.reaches_end && self.score >= ENOUGH_AT_END)
    }
}

impl Window<'_> {
    /// Whether the window reaches to `end`. If not, more may come.
    pub(crate) fn reaches(self, end: usize) -> Result<bool, Need> {
        if self.bytes.len() >= end {
            Ok(true)
        } else if self.is_last {
            Ok(false)
        } else {
            Err(Need(end))
        }
    }

    /// Whether the trace ends at `at`, or a row of records begins there.
    pub(crate) fn continues_at(self, at: usize) -> Result<bool, Need> {
        let ends = !self.reaches(at + 1)? && self.bytes.len() == at;
        Ok(ends || self.row_at(at)?.is_enough())
    }

    /// Whether a row of records begins at `at`, with one of known type.
    pub(crate) fn records_at(self, at: usize) -> Result<bool, Need> {
        let row = self.row_at(at)?;
        Ok(row.is_enough() && row.first > 0)
    }

    /// Whether several plausible records follow: for places where a few could be chance.
    pub(crate) fn several_at(self, at: usize) -> Result<bool, Need> {
        let row = self.row_at(at)?;
        Ok(row.score >= ENOUGH && row.first > 0)
    }

    /// What the row of records at `at` comes to.
    fn row_at(self, mut at: usize) -> Result<Row, Need> {
        let mut row = Row::default();
        for n in 0..ROW {
            if row.score >= ENOUGH {
                break;
            }
            if !self.reaches(at + WORD)? {
                // A torn word is a torn tail.
                row.reaches_end = true;
                break;
            }
            let header = RecordHeader(word_at(self.bytes, at).unwrap_or(0));
            let end = usize::try_from(header.words() * WORD as u64)
                .ok()
                .filter(|len| *len > 0)
                .and_then(|len| at.checked_add(len));
            let Some(end) = end else {
                return Ok(Row::default());
            };
            let worth = if header.kind() == RecordType::LARGE {
                // Its end may be gigabytes away; its parts are enough to decide.
                let fits = self.parts_at(at)? == Some(end - at);
                fits.then_some(ENOUGH)
            } else if self.reaches(end)? {
                worth(&self.bytes[at..])
            } else {
                // That a tail is torn only counts after records.
                row.reaches_end = header.kind().name().is_some();
                break;
            };
            let Some(worth) = worth else {
                return Ok(Row::default());
            };
            if n == 0 {
                row.first = worth;
            }
            row.score += worth;
            at = end;
        }
        Ok(row)
    }

    /// The size in bytes that the parts of the record at `at` add up to, if that can be
    /// known.
    pub(crate) fn parts_at(self, at: usize) -> Result<Option<usize>, Need> {
        let bytes = self.bytes.get(at..).unwrap_or_default();
        match Record::measure(bytes) {
            Ok(parts) => Ok(parts),
            // Decided on as many bytes as it takes, not on as many as happen to be here.
            Err(e) if e.at.saturating_add(WORD) > bytes.len() => self
                .reaches(at.saturating_add(e.at).saturating_add(WORD))
                .map(|_| None),
            Err(_) => Ok(None),
        }
    }
}

/// What a record counts in a row, or None if it cannot be one. `bytes` may extend past its
/// end.
fn worth(bytes: &[u8]) -> Option<u32> {
    let len = RecordHeader(word_at(bytes, 0)?).words() as usize * WORD;
    let bytes = bytes.get(..len)?;
    let decoded = Decoded::decode(bytes).ok()?;
    match decoded.record {
        Record::Unknown(_) => return Some(0),
        // Legal, but what small integers look like.
        Record::String(string) if string.index.is_none() => return None,
        Record::Thread(thread) if thread.index.is_none() => return None,
        Record::Initialization(init) if init.ticks_per_second == 0 => return None,
        _ => {}
    }
    if bytes.len() <= MAX_COMPARED {
        let mut room = [0; MAX_COMPARED];
        let mut strict = FixedBuffer::new(&mut room);
        decoded.encode(&mut strict).ok()?;
        if strict.as_bytes() != bytes {
            return None;
        }
    }
    if decoded.extra.is_empty() {
        return Some(2);
    }
    // Appended words: few, and no record themselves.
    let few = decoded.extra.len() <= MAX_APPENDED * WORD;
    (few && worth(decoded.extra) != Some(2)).then_some(1)
}

/// Whether `extra` reads as arguments, with at most one word after them, and the
/// record would have them if one bit of its number of arguments were set: what a
/// record leaves over whose number of arguments was damaged.
pub(crate) fn are_arguments(record: &Record<Raw<'_>>, extra: &[u8]) -> bool {
    let count = match record {
        Record::Event(event) => event.args.len(),
        Record::UserspaceObject(object) => object.args.len(),
        Record::KernelObject(object) => object.args.len(),
        Record::Scheduling(
            Scheduling::ContextSwitch { args, .. } | Scheduling::ThreadWakeup { args, .. },
        ) => args.len(),
        Record::LargeBlob(LargeBlob {
            origin: Some(origin),
            ..
        }) => origin.args.len(),
        _ => return false,
    };
    let mut cursor = Cursor::new(extra, 0);
    for more in 1..=MAX_ARGUMENTS - count {
        if !is_argument(&mut cursor) {
            return false;
        }
        let is_one_bit = more.is_power_of_two() && count & more == 0;
        if is_one_bit && cursor.rest().len() <= WORD {
            return true;
        }
    }
    false
}

/// Whether the cursor is at an argument of known type with nothing odd about it.
fn is_argument(cursor: &mut Cursor<'_>) -> bool {
    let start = cursor.at();
    let Ok(argument) = RawArgument::decode(cursor) else {
        return false;
    };
    let mut room = [0; MAX_COMPARED];
    let mut strict = FixedBuffer::new(&mut room);
    let written = argument.write(&mut Words::continuing(&mut strict));
    !matches!(argument.value, Value::Unknown { .. })
        && argument.extra.is_empty()
        && (written.is_err() || strict.as_bytes() == cursor.since(start))
}
