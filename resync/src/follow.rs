//! A log that is being written, read as it grows: through reads only, never a
//! mapping. What is reserved but not yet published is *pending*, not damaged:
//! the reader comes back to it. When the file's name goes to another file, the old
//! one is read to its end and the new one from its start. Nothing that happens to
//! the file ends this: what cannot be read is told, and tried again.

use crate::read::gap::{Gap, GapKind};
use crate::read::input::{Error, Input};
use crate::read::item::{Item, Items};
use logdef_wire::frame;
use std::collections::BTreeMap;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Places to come back to; when there are more, the oldest are given up, as the
/// unused ends of chunks are.
const PENDING: usize = 1 << 16;
/// How often bytes that are no frame are looked at again before they count as
/// damage: a reader may meet a writer in the middle of a frame.
const PATIENCE: u32 = 3;
/// Bytes of the first frame that are compared: another frame in its place means that
/// the file was emptied and has grown again. Runs differ within them.
const HEAD: usize = 64;

/// What following gives.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum News {
    /// A frame was published.
    Frame {
        /// Which file it stands in: 0 for the first, one more for each rotation.
        file: u32,
        /// Its offset there.
        offset: u64,
        /// The whole frame.
        bytes: Vec<u8>,
    },
    /// Bytes that stayed no frame.
    Damage {
        /// Which file.
        file: u32,
        /// Where, and why.
        gap: Gap,
    },
    /// The name stands for another file now.
    Rotated,
    /// The file became shorter than what was read of it, or begins with other bytes.
    Truncated,
    /// The file cannot be read now, and why. It is told once, and tried again.
    Unreadable {
        /// What the system says: `Permission denied`.
        why: String,
    },
}

/// Follows the file at a path.
///
/// ```no_run
/// use logdef_resync::{Follow, News};
///
/// let mut follow = Follow::new("/var/log/app.log".as_ref())?;
/// loop {
///     for news in follow.poll() {
///         if let News::Frame { offset, bytes, .. } = news {
///             println!("{} bytes at {offset}", bytes.len());
///         }
///     }
///     std::thread::sleep(std::time::Duration::from_millis(100));
/// }
/// # #[allow(unreachable_code)]
/// # Ok::<(), logdef_resync::Error>(())
/// ```
#[derive(Debug)]
pub struct Follow {
    path: PathBuf,
    input: Option<Input>,
    identity: (u64, u64),
    file: u32,
    /// Every byte before was given, is pending, or was given up.
    at: u64,
    /// Ranges before `at` that may yet become frames, with how often they were
    /// looked at without success while they were not zeros.
    pending: BTreeMap<u64, Pending>,
    /// How its first frame begins, once there is one.
    head: Vec<u8>,
    trouble: Trouble,
}

/// What keeps the file from being read, and how often it was met in a row.
#[derive(Debug, Default)]
struct Trouble {
    why: String,
    met: u32,
}

#[derive(Clone, Copy, Debug)]
struct Pending {
    end: u64,
    looks: u32,
}

impl Follow {
    /// Follows the file at `path` from its start. It may appear later.
    pub fn new(path: &Path) -> Result<Follow, Error> {
        let mut follow = Follow {
            path: path.to_owned(),
            input: None,
            identity: (0, 0),
            file: 0,
            at: 0,
            pending: BTreeMap::new(),
            head: Vec::new(),
            trouble: Trouble::default(),
        };
        follow.open()?;
        Ok(follow)
    }

    /// Leaves out what the file holds by now.
    pub fn skip_to_end(&mut self) {
        self.poll();
    }

    /// What happened since the last call, in the order of the file but for what
    /// was pending. What goes wrong with the file is news too, and may pass.
    pub fn poll(&mut self) -> Vec<News> {
        let mut news = Vec::new();
        let Err(error) = self.advance(&mut news) else {
            self.trouble = Trouble::default();
            return news;
        };
        let why = error.cause().to_string();
        if self.trouble.why != why {
            self.trouble = Trouble { why, met: 0 };
        }
        self.trouble.met = self.trouble.met.saturating_add(1);
        // While a file is being replaced, its name may stand for nothing.
        if self.trouble.met == PATIENCE {
            news.push(News::Unreadable {
                why: self.trouble.why.clone(),
            });
        }
        news
    }

    fn advance(&mut self, news: &mut Vec<News>) -> Result<(), Error> {
        self.read(news)?;
        if self.was_replaced()? {
            // What the writer added before it went on elsewhere.
            self.read(news)?;
            let next = Input::open(&self.path)?;
            self.give_up(news);
            if self.input.take().is_some() {
                news.push(News::Rotated);
                self.file += 1;
            }
            self.begin(next)?;
            self.read(news)?;
        }
        Ok(())
    }

    fn open(&mut self) -> Result<(), Error> {
        match Input::open(&self.path) {
            Ok(input) => self.begin(input),
            Err(error) if error.cause().kind() == io::ErrorKind::NotFound => Ok(()),
            Err(error) => Err(error),
        }
    }

    fn begin(&mut self, input: Input) -> Result<(), Error> {
        let identity = input.file_identity().map_err(|cause| self.error(cause))?;
        self.identity = identity.map_or((0, 0), |(identity, _)| identity);
        self.input = Some(input);
        self.begin_again();
        Ok(())
    }

    fn begin_again(&mut self) {
        self.at = 0;
        self.pending.clear();
        self.head.clear();
    }

    /// Whether the path stands for another file than the one that is open. One that
    /// was deleted may be written on.
    fn was_replaced(&self) -> Result<bool, Error> {
        match std::fs::metadata(&self.path) {
            Ok(metadata) => {
                Ok(self.input.is_none() || (metadata.dev(), metadata.ino()) != self.identity)
            }
            // That it is not there yet was known.
            Err(error) if error.kind() == io::ErrorKind::NotFound && self.input.is_none() => {
                Ok(false)
            }
            Err(error) => Err(self.error(error)),
        }
    }

    /// Whether the file does not begin with the frame any more that it began with.
    fn has_new_head(&self, input: &Input) -> bool {
        let mut bytes = [0; HEAD];
        let bytes = &mut bytes[..self.head.len()];
        let read = input.read_at(bytes, 0);
        read.is_ok_and(|_| bytes != &self.head[..])
    }

    fn error(&self, cause: io::Error) -> Error {
        Error::new(self.path.display().to_string(), cause)
    }

    fn read(&mut self, news: &mut Vec<News>) -> Result<(), Error> {
        let Some(input) = self.input.take() else {
            return Ok(());
        };
        let result = self.read_input(&input, news);
        self.input = Some(input);
        result
    }

    fn read_input(&mut self, input: &Input, news: &mut Vec<News>) -> Result<(), Error> {
        let len = input.file_identity().map_err(|cause| self.error(cause))?;
        let len = len.map_or(input.len(), |(_, len)| len);
        if len < self.at || self.has_new_head(input) {
            news.push(News::Truncated);
            self.begin_again();
        }
        for (start, pending) in std::mem::take(&mut self.pending) {
            self.look(input, start..pending.end, pending.looks, len, news)?;
        }
        if self.at < len {
            self.look(input, self.at..u64::MAX, 0, len, news)?;
        }
        while self.pending.len() > PENDING {
            self.pending.pop_first();
        }
        Ok(())
    }

    /// Reads a range, part of which may have become frames.
    fn look(
        &mut self,
        input: &Input,
        range: std::ops::Range<u64>,
        looks: u32,
        len: u64,
        news: &mut Vec<News>,
    ) -> Result<(), Error> {
        // A chunk is filled from its start, and so is the space behind the last
        // chunk: a range that still starts with nothing costs one short read.
        let mut head = [0; frame::HEADER_LEN];
        // A failure of the medium is a gap for the items to find.
        let read = input.read_at(&mut head, range.start);
        let known = range.end != u64::MAX;
        let is_empty = |read| head[..read] == [0; frame::HEADER_LEN][..read];
        if known && read.is_ok_and(is_empty) {
            self.wait(range.start, range.end, 0);
            return Ok(());
        }
        let mut items = Items::range_with_step(input, range.clone(), 64 << 10);
        loop {
            let chunk_end = items.chunk_end();
            let Some(item) = items.next()? else {
                break;
            };
            match item {
                Item::Frame(frame) => {
                    if frame.offset == 0 {
                        self.head = frame.bytes[..frame.bytes.len().min(HEAD)].to_vec();
                    }
                    news.push(News::Frame {
                        file: self.file,
                        offset: frame.offset,
                        bytes: frame.bytes.to_vec(),
                    });
                }
                Item::Gap(gap) => {
                    let end = gap.end().min(range.end);
                    let at_end = end >= len;
                    match gap.kind {
                        // What has not been written yet, at the end and inside.
                        GapKind::Padding | GapKind::Torn(_) if at_end && !known => {
                            self.at = gap.offset;
                            if gap.kind == GapKind::Padding {
                                self.wait_for_zeros(gap.offset, end, chunk_end);
                                self.at = end;
                            }
                            return Ok(());
                        }
                        GapKind::Padding => self.wait_for_zeros(gap.offset, end, chunk_end),
                        GapKind::Torn(_) => self.wait(gap.offset, end, 0),
                        GapKind::Damage(_) if looks < PATIENCE => {
                            self.wait(gap.offset, end, looks + 1);
                        }
                        GapKind::Damage(_) => news.push(News::Damage {
                            file: self.file,
                            gap: Gap {
                                len: end - gap.offset,
                                ..gap
                            },
                        }),
                    }
                }
            }
        }
        if !known {
            self.at = items.offset();
        }
        Ok(())
    }

    /// Zeros may reach across the end of a chunk, and each side is filled from its
    /// start.
    fn wait_for_zeros(&mut self, start: u64, end: u64, chunk_end: u64) {
        let seam = chunk_end.clamp(start, end);
        self.wait(start, seam, 0);
        self.wait(seam, end, 0);
    }

    fn wait(&mut self, start: u64, end: u64, looks: u32) {
        if start < end {
            self.pending.insert(start, Pending { end, looks });
        }
    }

    /// The file will not change any more: what is no frame now never will be.
    fn give_up(&mut self, news: &mut Vec<News>) {
        for (start, pending) in std::mem::take(&mut self.pending) {
            if pending.looks > 0 {
                news.push(News::Damage {
                    file: self.file,
                    gap: Gap {
                        offset: start,
                        len: pending.end - start,
                        kind: GapKind::Damage(crate::read::gap::Damage::NoHeader),
                    },
                });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read::gap::Damage;
    use crate::read::input::Source;
    use logdef_wire::record::{Data, Preamble};
    use logdef_wire::{Record, Run};
    use std::ops::Range;

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

    #[test]
    fn a_sector_that_fails_is_a_gap_and_not_the_end() {
        let mut bytes = vec![0; 32 << 10];
        let run = Some(Run(7));
        let preamble = Record::Preamble(Preamble {
            run,
            ..Preamble::default()
        });
        let data = Data {
            run,
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
        let mut follow = Follow::new("/nowhere/app.log".as_ref()).unwrap();
        follow.input = Some(Input::from_source(
            "medium",
            Medium(bytes, broken.clone()),
            len,
        ));
        let news: Vec<_> = (0..10).flat_map(|_| follow.poll()).collect();
        let frames = news.iter().filter_map(|news| match news {
            News::Frame { offset, .. } => Some(*offset),
            _ => None,
        });
        // But for those that the sector touches.
        let ends = starts.iter().skip(1).chain([&len]);
        let whole = starts.iter().zip(ends);
        let whole = whole.filter(|(start, end)| **end <= broken.start || **start >= broken.end);
        let whole: Vec<_> = whole.map(|(start, _)| *start).collect();
        assert_eq!(frames.collect::<Vec<_>>(), whole);
        let told = news.iter().filter(|news| {
            matches!(news, News::Damage { gap, .. }
                if gap.kind == GapKind::Damage(Damage::Unreadable))
        });
        assert_eq!(told.count(), 1, "{news:?}");
    }
}
