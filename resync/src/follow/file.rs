//! One file of a log that is being written, read as it grows: through reads only, never
//! a mapping. What is reserved but not yet published is *pending*, not damaged: the
//! reader comes back to it. Knows the file by its inode, and no other file.

use super::News;
use super::pending::{Pending, PendingRanges};
use super::probe::first_written;
use super::unfinished::{Stamp, stamp};
use crate::read::gap::{Gap, GapKind, Torn};
use crate::read::input::{Error, Input};
use crate::read::item::{Item, Items};
use logdef_wire::Tag;
use logdef_wire::record::Preamble;
use std::fs::Metadata;
use std::io;
use std::ops::Range;
use std::path::PathBuf;

/// How often bytes that are no frame are looked at again before they count as
/// damage: a reader may meet a writer in the middle of a frame.
const PATIENCE: u32 = 3;
/// Bytes of damage at the end of a file that are read again when it has grown.
const AGAIN: u64 = 64 << 10;
/// Bytes that are read at a time, and the fewest.
const STEP: u64 = 64 << 10;
const LEAST_STEP: u64 = 1 << 10;
/// Bytes of the first frame that are compared: another frame in its place means that
/// the file was emptied and has grown again. Runs differ within them.
const HEAD: usize = 64;

/// Where what was read goes.
pub(super) trait Sink {
    /// A frame; `is_late` if something else stood there at an earlier look.
    fn frame(&mut self, offset: u64, bytes: &[u8], is_late: bool);
    /// Something else stands there, which is no padding.
    fn doubt(&mut self, offset: u64, is_late: bool);
    fn news(&mut self, news: News);
    /// Whether reading should stop here for now.
    fn is_full(&self) -> bool;
}

/// A file, and how far it was read.
#[derive(Debug)]
pub(super) struct Followed {
    /// Its number among the files of the log.
    pub(super) number: u32,
    /// Where it was seen last.
    pub(super) path: PathBuf,
    pub(super) identity: (u64, u64),
    /// Whether it is read once: it is compressed.
    is_fixed: bool,
    /// What it was when it was opened.
    pub(super) stamp: Stamp,
    pub(super) input: Option<Input>,
    /// Whether it has a name in the folder.
    pub(super) is_named: bool,
    /// Every byte before was given, is pending, or was given up.
    at: u64,
    /// Ranges before `at` that may yet become frames.
    pending: PendingRanges,
    /// Where the frame ends that was given last in this look.
    given: u64,
    /// Its length when it ended in damage, and how often it did with that length.
    grown: (u64, u32),
    /// How its first frame begins, once there is one.
    head: Vec<u8>,
    /// Where the room for notes ends, if the file has any: in the first chunk, frames come
    /// after it, and others may never come into it.
    room_end: Option<u64>,
}

impl Followed {
    pub(super) fn new(path: PathBuf, identity: (u64, u64), input: Input) -> Followed {
        Followed {
            number: 0,
            path,
            identity,
            is_fixed: input
                .file_identity()
                .is_ok_and(|found| found.is_none_or(|found| found.0 != identity)),
            stamp: Stamp::default(),
            input: Some(input),
            is_named: true,
            at: 0,
            pending: PendingRanges::default(),
            given: 0,
            grown: (0, 0),
            head: Vec::new(),
            room_end: None,
        }
    }

    /// Whether it was read once, and is not what it was then.
    pub(super) fn is_replaced(&self, about: &Metadata) -> bool {
        self.is_fixed && self.stamp != stamp(about)
    }

    /// Whether it ends before its end.
    pub(super) fn breaks_off(&self) -> Option<News> {
        let input = self.input.as_ref()?;
        Some(News::BrokenOff {
            file: self.number,
            bytes: input.len(),
            why: input.broken_off()?.to_owned(),
        })
    }

    /// Reads what is new, or a part of it if the sink gets full: then `false`.
    pub(super) fn read(&mut self, sink: &mut impl Sink) -> Result<bool, Error> {
        let input = match self.input.take() {
            Some(input) => input,
            None if self.is_fixed => return Ok(true),
            None => self.open_again()?,
        };
        let result = self.read_input(&input, sink);
        // A compressed file takes memory, and has no more to give.
        if !(self.is_fixed && matches!(result, Ok(true))) {
            self.input = Some(input);
        }
        result
    }

    /// Saves the descriptor until the next look. What was decompressed has none.
    pub(super) fn close(&mut self) {
        if !self.is_fixed {
            self.input = None;
        }
    }

    /// Whether a frame at an offset was given, if it stands there.
    pub(super) fn has_passed(&self, offset: u64) -> bool {
        offset < self.at && !self.pending.contain(offset)
    }

    /// Where reading continues: every byte before was looked at.
    pub(super) fn passed(&self) -> u64 {
        self.at
    }

    /// Another reader of the file, if it still has its name.
    pub(super) fn reopened(&self) -> Option<Input> {
        let input = Input::open(&self.path).ok()?.followed();
        let is_same = match input.file_identity() {
            Ok(Some((identity, _))) => identity == self.identity,
            _ => self.is_fixed,
        };
        is_same.then_some(input)
    }

    /// Opens the file that was closed to save its descriptor.
    fn open_again(&self) -> Result<Input, Error> {
        let input = Input::open(&self.path)?.followed();
        match input.file_identity() {
            Ok(Some((identity, _))) if identity == self.identity => Ok(input),
            _ => Err(self.error(io::ErrorKind::NotFound.into())),
        }
    }

    fn error(&self, cause: io::Error) -> Error {
        Error::new(self.path.display().to_string(), cause)
    }

    fn begin_again(&mut self) {
        self.at = 0;
        self.pending.clear();
        self.head.clear();
        self.room_end = None;
    }

    /// Whether the file does not begin with the frame any more that it began with. Zeros are no
    /// beginning: the program gave the file up, from its front on, and what it has not given up yet was
    /// read already.
    fn has_new_head(&self, input: &Input) -> bool {
        let mut bytes = [0; HEAD];
        let bytes = &mut bytes[..self.head.len()];
        let read = input.read_at(bytes, 0);
        read.is_ok_and(|_| bytes != &self.head[..] && bytes.iter().any(|byte| *byte != 0))
    }

    fn read_input(&mut self, input: &Input, sink: &mut impl Sink) -> Result<bool, Error> {
        let len = input.len_now().map_err(|cause| self.error(cause))?;
        if len < self.at || self.has_new_head(input) {
            sink.news(News::Truncated { file: self.number });
            self.begin_again();
        }
        self.given = 0;
        let mut result = Ok(());
        for (start, pending) in self.pending.take() {
            // A frame's length may have been read before all of it was stored: then more is of
            // the frame than what was taken for it.
            let start = start.max(self.given);
            if sink.is_full() || result.is_err() {
                self.pending.add(start, pending);
            } else if start < pending.end {
                result = self.look_again(input, start, pending, len, sink);
            }
        }
        self.at = self.at.max(self.given);
        result?;
        if !sink.is_full() && self.at < len {
            self.look(input, self.at..u64::MAX, 0, len, sink)?;
        }
        self.pending.give_up_excess();
        Ok(!sink.is_full())
    }

    /// Reads a range that was not written yet when it was looked at before. One that still
    /// starts with nothing costs one short read if it is the rest of a chunk. In any other, a
    /// thread may have claimed a chunk at the start and not come to write to it, while others
    /// fill chunks after it.
    fn look_again(
        &mut self,
        input: &Input,
        start: u64,
        pending: Pending,
        len: u64,
        sink: &mut impl Sink,
    ) -> Result<(), Error> {
        let written = first_written(input, start, pending, self.room_end);
        let zeros = Pending {
            end: written.unwrap_or(pending.end),
            looks: 0,
            ..pending
        };
        self.pending.add(start, zeros);
        match written {
            Some(at) => self.look(input, at..pending.end, pending.looks, len, sink),
            None => Ok(()),
        }
    }

    /// Reads a range, part of which may have become frames.
    fn look(
        &mut self,
        input: &Input,
        range: Range<u64>,
        looks: u32,
        len: u64,
        sink: &mut impl Sink,
    ) -> Result<(), Error> {
        let known = range.end != u64::MAX;
        let mut items = Items::range_with_step(input, range.clone(), step(&range));
        // Where nothing ended that is a frame, and where the room for notes does.
        let (mut bare, mut room) = (None, None);
        // Where damage begins that no frame follows.
        let mut damage = None;
        loop {
            let at = items.offset();
            if sink.is_full() {
                self.stop_at(at, &range, looks);
                return Ok(());
            }
            let chunk_end = items.chunk_end();
            let item = match items.next() {
                Ok(Some(item)) => item,
                Ok(None) => break,
                Err(error) => {
                    self.stop_at(at, &range, looks);
                    return Err(error);
                }
            };
            match item {
                Item::Frame(frame) => {
                    let opens = is_preamble(frame.tag());
                    if bare == Some(frame.offset) && room != Some(frame.offset) && !opens {
                        // Zeros, and what was never finished, are the end of a chunk.
                        sink.doubt(frame.offset, known);
                    }
                    if opens {
                        room = Some(frame.end() + Preamble::ROOM_FOR_NOTES);
                    }
                    if frame.offset == 0 {
                        self.begins_with(frame.bytes, room);
                    }
                    damage = None;
                    self.given = frame.end();
                    sink.frame(frame.offset, frame.bytes, known);
                }
                Item::Gap(gap) => {
                    if !known {
                        if let Some(start) = self.await_frame(&gap, len, &mut damage) {
                            sink.doubt(start, known);
                            return Ok(());
                        }
                        if gap.end() >= len && !gap.is_damage() {
                            self.await_more(&gap, chunk_end);
                            return Ok(());
                        }
                    }
                    match gap.kind {
                        GapKind::Padding | GapKind::Torn(Torn::Unpublished) => {
                            bare = Some(gap.end());
                        }
                        _ if looks == 0 => sink.doubt(gap.offset, known),
                        _ => {}
                    }
                    let end = gap.end().min(range.end);
                    self.gap(
                        Gap {
                            len: end - gap.offset,
                            ..gap
                        },
                        looks,
                        chunk_end,
                        sink,
                    );
                }
            }
        }
        if !known {
            self.at = items.offset();
        }
        Ok(())
    }

    /// Begins the next look at an offset of a range, up to which all was given.
    fn stop_at(&mut self, at: u64, range: &Range<u64>, looks: u32) {
        if range.end == u64::MAX {
            self.at = at;
        } else {
            self.pending.add_frames(at, range.end, looks);
        }
    }

    /// Remembers the first frame, and where the room for notes after it ends, if it has any.
    fn begins_with(&mut self, frame: &[u8], room_end: Option<u64>) {
        self.head = frame[..frame.len().min(HEAD)].to_vec();
        self.room_end = room_end.or(self.room_end);
    }

    /// Begins the next look at what has not been written yet at the end of the file.
    fn await_more(&mut self, gap: &Gap, chunk_end: u64) {
        self.at = gap.offset;
        if gap.kind == GapKind::Padding {
            self.pending.add_zeros(gap.offset, gap.end(), chunk_end);
            self.at = gap.end();
        }
    }

    /// Begins the next look at damage at the end of the file that may hold the beginning of
    /// a frame, and returns its offset; `None` without a beginning, or if it was waited for
    /// long enough. Zeros after the damage, or another beginning, may be in that frame.
    fn await_frame(&mut self, gap: &Gap, len: u64, damage: &mut Option<u64>) -> Option<u64> {
        if gap.is_damage() {
            damage.get_or_insert(gap.offset);
        }
        let start = (*damage)?;
        if gap.end() < len || gap.end() - start > AGAIN {
            return None;
        }
        if self.grown.0 != len {
            self.grown = (len, 0);
        }
        self.grown.1 += 1;
        if self.grown.1 > PATIENCE {
            return None;
        }
        self.pending.forget_from(start);
        self.at = start;
        Some(start)
    }

    fn gap(&mut self, gap: Gap, looks: u32, chunk_end: u64, sink: &mut impl Sink) {
        match gap.kind {
            GapKind::Padding => self.pending.add_zeros(gap.offset, gap.end(), chunk_end),
            GapKind::Torn(_) => self.pending.add_frames(gap.offset, gap.end(), 0),
            GapKind::Damage(_) if looks < PATIENCE => {
                self.pending.add_frames(gap.offset, gap.end(), looks + 1);
            }
            GapKind::Damage(_) => sink.news(News::Damage {
                file: self.number,
                gap,
            }),
        }
    }
}

/// How much of a range is read at a time, and of what stands after it: of a short one that is
/// looked at again, little, since there may be many.
fn step(range: &Range<u64>) -> usize {
    let len = range.end.saturating_sub(range.start);
    len.clamp(LEAST_STEP, STEP) as usize
}

/// Whether a frame may open a chunk; a masked one may hold a preamble.
fn is_preamble(tag: Tag) -> bool {
    matches!(tag, Tag::PREAMBLE | Tag::MASKED)
}

#[cfg(test)]
mod growing;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read::gap::Damage;
    use crate::read::input::Source;
    use logdef_wire::record::{Data, Glance, Preamble};
    use logdef_wire::{Record, Run, frame};
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU64, Ordering};

    /// Bytes of which a sector fails.
    #[derive(Debug)]
    struct Medium(Vec<u8>, Range<u64>);

    impl Source for Medium {
        fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
            let Medium(bytes, broken) = self;
            let end = match offset {
                at if broken.contains(&at) => return Err(io::Error::from_raw_os_error(5)),
                at if at < broken.start => broken.start.min(bytes.len() as u64),
                _ => bytes.len() as u64,
            };
            let rest = &bytes[offset.min(end) as usize..end as usize];
            let len = rest.len().min(buffer.len());
            buffer[..len].copy_from_slice(&rest[..len]);
            Ok(len)
        }
    }

    pub(super) struct Seen {
        pub(super) frames: Vec<u64>,
        pub(super) news: Vec<News>,
        /// How many more frames are taken.
        pub(super) room: usize,
    }

    impl Default for Seen {
        fn default() -> Seen {
            Seen {
                frames: Vec::new(),
                news: Vec::new(),
                room: usize::MAX,
            }
        }
    }

    impl Sink for Seen {
        fn frame(&mut self, offset: u64, _: &[u8], _: bool) {
            self.frames.push(offset);
            self.room -= 1;
        }

        fn doubt(&mut self, _: u64, _: bool) {}

        fn news(&mut self, news: News) {
            self.news.push(news);
        }

        fn is_full(&self) -> bool {
            self.room == 0
        }
    }

    #[test]
    fn a_sector_that_fails_is_a_gap_and_not_the_end() {
        let mut bytes = vec![0; 32 << 10];
        let run = Some(Run(7));
        let preamble = Record::Preamble(Preamble {
            run,
            ..Preamble::default()
        });
        let data = Data {
            front: Glance {
                run,
                ..Glance::default()
            },
            format_text: Some(b"still here"),
            ..Data::default()
        };
        let data = Record::Data(data);
        let mut starts = Vec::new();
        let mut end = 0;
        while end < 16 << 10 {
            let record = if end == 0 { &preamble } else { &data };
            starts.push(end as u64);
            end += frame::encode(&mut bytes[end..], |encoder| record.encode(encoder)).unwrap();
        }
        bytes.truncate(end);
        let broken = 4096..8192;
        let len = bytes.len() as u64;
        let input = Input::from_source("medium", Medium(bytes, broken.clone()), len);
        let mut file = Followed::new("app.log".into(), (0, 0), input);
        file.is_fixed = false;
        let mut seen = Seen::default();
        for _ in 0..10 {
            assert!(file.read(&mut seen).unwrap());
        }
        // But for those that the sector touches.
        let ends = starts.iter().skip(1).chain([&len]);
        let whole = starts.iter().zip(ends);
        let whole = whole.filter(|(start, end)| **end <= broken.start || **start >= broken.end);
        let whole: Vec<_> = whole.map(|(start, _)| *start).collect();
        assert_eq!(seen.frames, whole);
        let told = seen.news.iter().filter(|news| {
            matches!(news, News::Damage { gap, .. }
                if gap.kind == GapKind::Damage(Damage::Unreadable))
        });
        assert_eq!(told.count(), 1, "{:?}", seen.news);
    }

    /// Bytes that count how many of them are read.
    #[derive(Debug)]
    struct Counted(Vec<u8>, Arc<AtomicU64>);

    impl Source for Counted {
        fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
            let rest = &self.0[(offset as usize).min(self.0.len())..];
            let len = rest.len().min(buffer.len());
            buffer[..len].copy_from_slice(&rest[..len]);
            self.1.fetch_add(len as u64, Ordering::Relaxed);
            Ok(len)
        }
    }

    #[test]
    fn many_damages_are_looked_at_again_with_little_reading() {
        let data = Record::Data(Data {
            format_text: Some(b"between damages"),
            ..Data::default()
        });
        let mut bytes = Vec::new();
        let mut buffer = [0; 100];
        const DAMAGES: u64 = 2000;
        for _ in 0..DAMAGES {
            let len = frame::encode(&mut buffer, |encoder| data.encode(encoder)).unwrap();
            bytes.extend_from_slice(&buffer[..len]);
            bytes.push(0xff);
        }
        let (len, read) = (bytes.len() as u64, Arc::default());
        let input = Input::from_source("counted", Counted(bytes, Arc::clone(&read)), len);
        let mut file = Followed::new("app.log".into(), (0, 0), input);
        file.is_fixed = false;
        let mut seen = Seen::default();
        for _ in 0..10 {
            assert!(file.read(&mut seen).unwrap());
        }
        assert_eq!(seen.frames.len() as u64, DAMAGES);
        assert_eq!(seen.news.len() as u64, DAMAGES);
        let read = read.load(Ordering::Relaxed);
        assert!(read < 8 * 1024 * DAMAGES, "{read}");
    }
}
