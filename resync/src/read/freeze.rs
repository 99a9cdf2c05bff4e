//! A log that is being written, as it was at one moment. Bytes are read at many moments, some of
//! them twice: without this, records that come meanwhile would stand after zeros that were read before
//! they came, and look like damage, or like the loss of those between. Knows where chunks and frames
//! stand, and nothing of what records say.
//!
//! ```text
//! chunk of a thread          chunk of another     not opened yet
//! |frame|frame|fra 00 00 00 ..|frame|frame 00 ..   |00 00 00 00 ..
//!              ^ stays so     ^ a thread is here later than there
//! ```
//!
//! What a writer yet writes is zeros now, and each of its threads fills one chunk after another. So
//! first the opened chunks are listed, again and again until none was opened between two lists: what is
//! no chunk then stays zeros. What stands in each chunk is asked after that; of a thread that has another
//! one, all of it is there.

use crate::read::frozen::{Frozen, PartlyKept};
use crate::read::input::Input;
use crate::read::reserved;
use crate::read::scan::trailing_zeros;
use crate::read::unmask;
use logdef_wire::Record;
use logdef_wire::frame::{self, Header};
use std::io;
use std::ops::Range;
use std::slice;

/// Chunks stand at multiples of this, and are multiples of it.
const UNIT: u64 = 16 << 10;
/// How often chunks are listed, and the end of a chunk is looked for, at most.
const TRIES: usize = 16;
/// Bytes that are read to find a chunk's preamble, and backwards from its end at a time.
const HEAD: usize = 4 << 10;
const STEP: u64 = 64 << 10;
/// Places where no chunk is and no zeros are: with more of them, it is no log in chunks, or a damaged one,
/// and nothing is known of where it is written.
const OTHERS: usize = 64;
/// Bytes of the largest chunk that a writer can claim.
const LARGEST: u64 = 256 << 20;
/// Bytes of a chunk whose end is looked for without its holes.
const LONG: u64 = 1 << 20;
/// Bytes whose checksum is looked at to find the last frame of a chunk.
const SUMMED: usize = 128 << 10;
/// Ranges that stay as they are, and bytes that are kept of them, of all inputs together.
const PARTS: usize = 1 << 17;
const KEPT: usize = 8 << 20;

/// What may yet be remembered.
struct Room {
    parts: usize,
    kept: usize,
}

impl Default for Room {
    fn default() -> Room {
        Room {
            parts: PARTS,
            kept: KEPT,
        }
    }
}

impl Room {
    /// Takes a part that keeps some bytes; `false` if there is no room for it.
    fn take(&mut self, kept: usize) -> bool {
        let has_room = self.parts > 0 && self.kept >= kept;
        if has_room {
            self.parts -= 1;
            self.kept -= kept;
        }
        has_room
    }
}

/// What there was of an input when its chunks were listed.
#[derive(Debug, Eq, PartialEq)]
struct List {
    len: u64,
    chunks: Vec<Range<u64>>,
    /// Where no chunk was: zeros, but for those that were being opened.
    unopened: Vec<PartlyKept>,
}

/// Makes what the files among some inputs hold now what is read of them from here on, of all of them at
/// one moment; what was frozen before stays as it was then. [`Recovery`](crate::Recovery) does this with its
/// inputs, and [`Items::new`](crate::Items::new) with the one it reads; who walks over several files of a log
/// by themselves and recovers them too freezes them first.
pub fn freeze(inputs: &[Input]) {
    let live = inputs.iter().filter(|input| input.may_be_written());
    freeze_all(&live.collect::<Vec<_>>());
}

/// Freezes an input by itself.
pub(crate) fn freeze_one(input: &Input) {
    freeze(slice::from_ref(input));
}

/// One that cannot be read somewhere is read as it is: what fails there is found when all of it is read.
fn freeze_all(inputs: &[&Input]) {
    let mut lists = list_all(inputs);
    for _ in 1..TRIES {
        let again = list_all(inputs);
        let is_same = again == lists;
        lists = again;
        if is_same {
            break;
        }
    }
    let mut room = Room::default();
    for (input, list) in inputs.iter().zip(lists) {
        let frozen = list.and_then(|list| list.freeze(input, &mut room).ok());
        if let Some(frozen) = frozen {
            input.set_frozen(frozen);
        }
    }
}

/// The lists of inputs; `None` of one that cannot be read.
fn list_all(inputs: &[&Input]) -> Vec<Option<List>> {
    let mut room = Room::default();
    let list = |input: &&Input| List::of(input, &mut room).ok();
    inputs.iter().map(list).collect()
}

impl List {
    fn of(input: &Input, room: &mut Room) -> io::Result<List> {
        let mut list = List {
            len: input.len_now()?,
            chunks: Vec::new(),
            unopened: Vec::new(),
        };
        let (mut at, mut others) = (0, 0);
        while at < list.len && room.take(0) {
            let end = match unit_at(input, at)? {
                Unit::Chunk(len) => {
                    let end = at.saturating_add(len).min(list.len);
                    list.chunks.push(at..end);
                    end
                }
                Unit::Zeros => {
                    let data = input.behind_hole(at) / UNIT * UNIT;
                    let end = data.max(at + UNIT).min(list.len);
                    list.add_unopened(at..end, Vec::new());
                    end
                }
                Unit::Opening(kept) if room.take(kept.len()) => {
                    let end = (at + UNIT).min(list.len);
                    list.add_unopened(at..end, kept);
                    end
                }
                Unit::Opening(_) | Unit::Other => {
                    others += 1;
                    if list.chunks.is_empty() || others > OTHERS {
                        list.chunks.clear();
                        list.unopened.clear();
                        break;
                    }
                    at + UNIT
                }
            };
            at = end.next_multiple_of(UNIT);
        }
        Ok(list)
    }

    fn add_unopened(&mut self, range: Range<u64>, kept: Vec<u8>) {
        match self.unopened.last_mut() {
            Some(last) if last.range.end == range.start && kept.is_empty() => {
                last.range.end = range.end;
            }
            _ => self.unopened.push(PartlyKept { range, kept }),
        }
    }

    /// What of the input stays as it is.
    fn freeze(self, input: &Input, room: &mut Room) -> io::Result<Frozen> {
        let mut parts = self.unopened;
        for chunk in self.chunks {
            let end = end_of(input, chunk)?;
            parts.extend(end.filter(|part| room.take(part.kept.len())));
        }
        // What a file lost since it was opened is read, so that it is missed.
        Ok(Frozen::new(parts, self.len.max(input.len_at_first())))
    }
}

/// What stands where a chunk may.
enum Unit {
    /// A chunk of this many bytes.
    Chunk(u64),
    Zeros,
    /// A chunk whose preamble is not whole yet: what there is of it.
    Opening(Vec<u8>),
    Other,
}

fn unit_at(input: &Input, at: u64) -> io::Result<Unit> {
    let mut bytes = vec![0; HEAD];
    let got = input.read_at(&mut bytes, at)?;
    bytes.truncate(got);
    if bytes.first() == Some(&0) {
        bytes.resize(UNIT as usize, 0);
        let got = got + input.read_at(&mut bytes[got..], at + got as u64)?;
        bytes.truncate(got - trailing_zeros(&bytes[..got]));
        return Ok(if bytes.is_empty() {
            Unit::Zeros
        } else {
            Unit::Opening(bytes)
        });
    }
    let Ok(frame) = frame::decode(&bytes) else {
        return Ok(Unit::Other);
    };
    Ok(match unmask::decode(frame.body, &mut Vec::new()) {
        Ok(Record::Preamble(preamble)) => match preamble.chunk {
            Some(len @ UNIT..=LARGEST) => Unit::Chunk(len),
            _ => Unit::Other,
        },
        _ => Unit::Other,
    })
}

/// The bytes after the last frame of an opened chunk, as they stay from here on; `None` if the chunk ends with
/// a frame, or has none.
fn end_of(input: &Input, chunk: Range<u64>) -> io::Result<Option<PartlyKept>> {
    let mut before: Option<End> = None;
    for _ in 0..TRIES {
        let Some(last) = last_written(input, &chunk)? else {
            return Ok(None);
        };
        let mut end = End::read(input, &chunk, last, HEAD as u64)?;
        if end.frames_end.is_none() {
            end = End::read(input, &chunk, last, STEP)?;
        }
        let is_settled = end.is_settled(&chunk) || before.as_ref() == Some(&end);
        before = Some(end);
        if is_settled {
            break;
        }
    }
    let part = before.map(|end| end.into_part(&chunk));
    Ok(part.filter(|part| !part.range.is_empty()))
}

/// The bytes around the last one that was written to a chunk.
#[derive(Eq, PartialEq)]
struct End {
    start: u64,
    bytes: Vec<u8>,
    /// Where the last byte of them that is not zero ends.
    written: usize,
    /// Where the last valid frame ends.
    frames_end: Option<usize>,
}

impl End {
    fn read(input: &Input, chunk: &Range<u64>, last: u64, before: u64) -> io::Result<End> {
        let start = last.saturating_sub(before).max(chunk.start);
        // More may have been written by now, and a frame may end in zeros.
        let end = (last + STEP).min(chunk.end);
        let mut bytes = vec![0; (end - start) as usize];
        let got = input.read_at(&mut bytes, start)?;
        bytes.truncate(got);
        Ok(End {
            start,
            written: bytes.len() - trailing_zeros(&bytes),
            frames_end: end_of_frames(&bytes),
            bytes,
        })
    }

    /// What was begun after the last frame.
    fn begun(&self) -> &[u8] {
        let begun = self
            .frames_end
            .and_then(|end| self.bytes.get(end..self.written));
        begun.unwrap_or_default()
    }

    /// Whether all is there that had been written. What was begun is one frame that is not published yet: a
    /// processor may read bytes in any order, so that a header may come without its body, which is there at the
    /// next look.
    fn is_settled(&self, chunk: &Range<u64>) -> bool {
        let is_all = self.start + self.bytes.len() as u64 == chunk.end;
        reserved::is_front(self.begun()) && (is_all || self.bytes.len() - self.written >= HEAD)
    }

    fn into_part(self, chunk: &Range<u64>) -> PartlyKept {
        let from = self.frames_end.unwrap_or(self.written);
        PartlyKept {
            range: self.start + from as u64..chunk.end,
            kept: self.begun().to_vec(),
        }
    }
}

/// Where the last byte of a chunk that is not zero ends.
fn last_written(input: &Input, chunk: &Range<u64>) -> io::Result<Option<u64>> {
    let mut end = data_end(input, chunk);
    let mut step = HEAD as u64;
    let mut buffer = Vec::new();
    while end > chunk.start {
        let start = end.saturating_sub(step).max(chunk.start);
        buffer.resize((end - start) as usize, 0);
        let got = input.read_at(&mut buffer, start)?;
        let written = got - trailing_zeros(&buffer[..got]);
        if written > 0 {
            return Ok(Some(start + written as u64));
        }
        end = start;
        step = STEP;
    }
    Ok(None)
}

/// An offset in a chunk with nothing but a hole after it: near the beginning of that, if it is long.
fn data_end(input: &Input, chunk: &Range<u64>) -> u64 {
    let Range { mut start, mut end } = *chunk;
    if end - start > LONG {
        while end - start > STEP {
            let middle = start.midpoint(end);
            if input.behind_hole(middle) >= chunk.end {
                end = middle;
            } else {
                start = middle;
            }
        }
    }
    end
}

/// Where the last valid frame of some bytes ends, if that is found without summing too many of them.
fn end_of_frames(bytes: &[u8]) -> Option<usize> {
    let mut room = SUMMED;
    for at in memchr::memrchr_iter(0xc1, bytes) {
        let Some(header) = Header::parse(&bytes[at..]) else {
            continue;
        };
        if header.frame_len() > bytes.len() - at {
            continue;
        }
        room = room.checked_sub(header.body_len)?;
        if let Ok(frame) = frame::decode(&bytes[at..]) {
            return Some(at + frame.len);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read::gap::Gap;
    use crate::read::input::Source;
    use crate::read::item::{Item, Items};
    use logdef_wire::Run;
    use logdef_wire::record::{Data, Preamble};
    use std::fs::File;
    use std::os::unix::fs::FileExt;
    use std::sync::atomic::AtomicUsize;
    use std::sync::atomic::Ordering::Relaxed;

    const CHUNK: usize = 2 * UNIT as usize;

    fn write(bytes: &mut [u8], at: usize, record: &Record<'_>) -> usize {
        let room = &mut bytes[at..];
        at + frame::encode(room, |encoder| record.encode(encoder)).unwrap()
    }

    fn open_chunk(bytes: &mut [u8], at: usize) -> usize {
        let preamble = Preamble {
            run: Some(Run(7)),
            chunk: Some(CHUNK as u64),
            ..Preamble::default()
        };
        write(bytes, at, &Record::Preamble(preamble))
    }

    fn data() -> Record<'static> {
        Record::Data(Data {
            format_text: Some(b"some text of a record that is written"),
            ..Data::default()
        })
    }

    /// A full chunk, one with a few records, one that was not opened, and one more with a few; and where
    /// their frames end.
    fn log() -> (Vec<u8>, [usize; 3]) {
        let mut bytes = vec![0; 4 * CHUNK];
        let mut ends = [0, CHUNK, 3 * CHUNK].map(|at| open_chunk(&mut bytes, at));
        while ends[0] + 80 < CHUNK {
            ends[0] = write(&mut bytes, ends[0], &data());
        }
        for end in &mut ends[1..] {
            for _ in 0..5 {
                *end = write(&mut bytes, *end, &data());
            }
        }
        (bytes, ends)
    }

    fn all_of(input: &Input) -> Vec<u8> {
        let mut bytes = vec![0; 1 << 20];
        let got = input.read_around(&mut bytes, 0, &mut Vec::new()).unwrap();
        bytes.truncate(got);
        bytes
    }

    fn frozen(bytes: &[u8]) -> (tempfile::NamedTempFile, Input) {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), bytes).unwrap();
        let inputs = [Input::open(file.path()).unwrap()];
        freeze(&inputs);
        let [input] = inputs;
        (file, input)
    }

    #[test]
    fn what_is_written_later_is_not_seen() {
        let (bytes, ends) = log();
        // A record that was begun stays begun.
        for begun in 0..30 {
            let mut before = bytes.clone();
            let mut whole = before.clone();
            write(&mut whole, ends[1], &data());
            let begun = ends[1] + frame::RESERVED_OFFSET..ends[1] + frame::RESERVED_OFFSET + begun;
            before[begun.clone()].copy_from_slice(&whole[begun]);
            let (file, input) = frozen(&before);
            assert_eq!(all_of(&input), before);
            let mut later = before.clone();
            later.extend([0; CHUNK]);
            for end in ends {
                let chunk_end = (end / CHUNK + 1) * CHUNK;
                let mut at = end;
                while at + 80 < chunk_end {
                    at = write(&mut later, at, &data());
                }
            }
            for at in [2 * CHUNK, 4 * CHUNK] {
                let end = open_chunk(&mut later, at);
                write(&mut later, end, &data());
            }
            let file = File::options().write(true).open(file.path()).unwrap();
            file.write_all_at(&later, 0).unwrap();
            assert_eq!(input.len(), before.len() as u64);
            assert!(all_of(&input) == before);
            let mut piece = [1; 100];
            for at in (0..before.len()).step_by(37) {
                let got = input.read_around(&mut piece, at as u64, &mut Vec::new());
                let got = &piece[..got.unwrap()];
                assert_eq!(got, &before[at..before.len().min(at + 100)], "{at}");
            }
        }
    }

    /// A log that is written while it is read: other bytes after a number of reads.
    #[derive(Debug)]
    struct Written {
        before: Vec<u8>,
        after: Vec<u8>,
        reads: AtomicUsize,
    }

    impl Source for Written {
        fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
            let is_before = self
                .reads
                .fetch_update(Relaxed, Relaxed, |reads| reads.checked_sub(1));
            let bytes = if is_before.is_ok() {
                &self.before
            } else {
                &self.after
            };
            let rest = &bytes[(offset as usize).min(bytes.len())..];
            let len = rest.len().min(buffer.len());
            buffer[..len].copy_from_slice(&rest[..len]);
            Ok(len)
        }
    }

    /// The damage in a log that has the bytes `before` for a number of reads, and then those `after`.
    fn damage(before: &[u8], after: &[u8], reads: usize) -> Option<Gap> {
        let source = Written {
            before: before.to_owned(),
            after: after.to_owned(),
            reads: AtomicUsize::new(reads),
        };
        let input = Input::from_source("written", source, before.len() as u64);
        freeze_all(&[&input]);
        let mut items = Items::new(&input);
        while let Some(item) = items.next().unwrap() {
            if let Item::Gap(gap) = item
                && gap.is_damage()
            {
                return Some(gap);
            }
        }
        None
    }

    /// Reads until the end of the chunk that is written was looked at twice.
    const TWO_LOOKS: usize = 22;

    /// The header of a frame was once read with its checksum while some of the body, which was stored before, was
    /// read as it had been: processors load what is copied in any order. The record counted as damage.
    #[test]
    fn a_frame_is_whole_or_begun_whatever_was_read_of_it_first() {
        let (mut before, ends) = log();
        let mut after = before.clone();
        let frame = ends[1]..write(&mut after, ends[1], &data());
        let next = write(&mut after, frame.end, &data());
        let starts = frame.clone().step_by(3);
        let holes = starts.flat_map(|start| [start..start + 7, start..next, frame.start..start]);
        let holes = holes.map(|hole| [hole, 0..0]);
        // Not published, and the rest not read: the reservation may be in two cache lines.
        let reservation = frame.start + frame::RESERVED_OFFSET;
        let fronts = (reservation..frame.end).map(|end| [frame.start..reservation, end..next]);
        let mut damaged = 0;
        for unread in holes.chain(fronts) {
            before.copy_from_slice(&after);
            for hole in unread.clone() {
                before[hole].fill(0);
            }
            for reads in 0..TWO_LOOKS {
                assert_eq!(damage(&before, &after, reads), None, "{unread:?} {reads}");
            }
            damaged += u32::from(damage(&before, &before, 0).is_some());
        }
        assert!(damaged > 20, "{damaged}");
    }

    const SECTOR: u64 = 4096;

    /// A log of which a sector fails.
    #[derive(Debug)]
    struct Broken(Vec<u8>, u64);

    impl Source for Broken {
        fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
            let end = offset + buffer.len() as u64;
            if offset < self.1 + SECTOR && end > self.1 {
                return Err(io::Error::from_raw_os_error(5));
            }
            let rest = &self.0[(offset as usize).min(self.0.len())..];
            let len = rest.len().min(buffer.len());
            buffer[..len].copy_from_slice(&rest[..len]);
            Ok(len)
        }
    }

    #[test]
    fn a_log_with_a_sector_that_fails_is_read_as_it_is() {
        let (bytes, _) = log();
        for broken in (0..bytes.len() as u64).step_by(SECTOR as usize) {
            let len = bytes.len() as u64;
            let source = Broken(bytes.clone(), broken);
            let input = Input::from_source("broken", source, len);
            freeze_all(&[&input]);
            let mut expected = bytes.clone();
            expected[broken as usize..][..SECTOR as usize].fill(0);
            let mut read = vec![1; bytes.len()];
            let mut unreadable = Vec::new();
            let got = input.read_around(&mut read, 0, &mut unreadable).unwrap();
            assert_eq!((got, unreadable.len()), (bytes.len(), 1));
            assert_eq!(unreadable[0], broken..broken + SECTOR);
            assert!(input.read_frozen(&mut read[..10], broken).is_err());
            assert!(read == expected, "{broken}");
        }
    }

    #[test]
    fn the_end_of_a_long_chunk_is_found_in_its_holes() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let mut bytes = vec![0; 1 << 20];
        let preamble = Preamble {
            run: Some(Run(7)),
            chunk: Some(LARGEST),
            ..Preamble::default()
        };
        let mut end = write(&mut bytes, 0, &Record::Preamble(preamble));
        let room = end + Preamble::ROOM_FOR_NOTES as usize;
        end = write(&mut bytes, room, &data());
        for records in 0..3 {
            file.as_file().set_len(0).unwrap();
            file.as_file().set_len(LARGEST).unwrap();
            file.as_file().write_all_at(&bytes[..end], 0).unwrap();
            let inputs = [Input::open(file.path()).unwrap()];
            let chunk = 0..LARGEST;
            assert_eq!(last_written(&inputs[0], &chunk).unwrap(), Some(end as u64));
            freeze(&inputs);
            let later = [0xc1; 100];
            file.as_file().write_all_at(&later, end as u64).unwrap();
            let mut read = [1; 100];
            let got = inputs[0].read_around(&mut read, end as u64, &mut Vec::new());
            assert_eq!((got.unwrap(), read), (100, [0; 100]), "{records}");
            end = write(&mut bytes, end, &data());
        }
    }

    #[test]
    fn what_nothing_writes_is_as_it_is() {
        let (bytes, _) = log();
        let mut step = 1;
        for seed in 0..200_usize {
            let mut bytes = bytes.clone();
            // Damage, cuts, and what stands where no chunk does.
            step = step * 31 % 65_537;
            let at = (seed * step) % bytes.len();
            let end = (at + step % 5000).min(bytes.len());
            match seed % 4 {
                0 => bytes[at..end].fill(0),
                1 => bytes[at..end].fill(0xc1),
                2 => bytes.truncate(at),
                _ => bytes.copy_within(0..end - at, at),
            }
            let (_file, input) = frozen(&bytes);
            assert!(all_of(&input) == bytes, "{seed}");
        }
    }
}
