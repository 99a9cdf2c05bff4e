//! A log that is being written, read as it grows: through reads only, never a
//! mapping. What is reserved but not yet published is *pending*, not damaged:
//! the reader comes back to it. When the file's name goes to another file, the old
//! one is read to its end and the new one from its start.

use crate::gap::{Gap, GapKind};
use crate::input::{Error, Input};
use crate::item::{Item, Items};
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
    /// The file became shorter than what was read of it.
    Truncated,
}

/// Follows the file at a path.
///
/// ```no_run
/// use logdef_resync::{Follow, News};
///
/// let mut follow = Follow::new("/var/log/app.log".as_ref())?;
/// loop {
///     for news in follow.poll()? {
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
        };
        follow.open()?;
        Ok(follow)
    }

    /// Leaves out what the file holds by now.
    pub fn skip_to_end(&mut self) -> Result<(), Error> {
        self.poll().map(drop)
    }

    /// What happened since the last call, in the order of the file but for what
    /// was pending.
    pub fn poll(&mut self) -> Result<Vec<News>, Error> {
        let mut news = Vec::new();
        self.read(&mut news)?;
        if self.was_replaced()? {
            // What the writer added before it went on elsewhere.
            self.read(&mut news)?;
            self.give_up(&mut news);
            let had_one = self.input.take().is_some();
            if self.open()? {
                if had_one {
                    news.push(News::Rotated);
                    self.file += 1;
                }
                self.read(&mut news)?;
            }
        }
        Ok(news)
    }

    fn open(&mut self) -> Result<bool, Error> {
        if self.input.is_none() {
            let input = match Input::open(&self.path) {
                Ok(input) => input,
                Err(error) if error.cause().kind() == io::ErrorKind::NotFound => return Ok(false),
                Err(error) => return Err(error),
            };
            let identity = input.file_identity().map_err(|cause| self.error(cause))?;
            self.identity = identity.map_or((0, 0), |(identity, _)| identity);
            self.input = Some(input);
            self.at = 0;
            self.pending.clear();
        }
        Ok(true)
    }

    fn was_replaced(&self) -> Result<bool, Error> {
        match std::fs::metadata(&self.path) {
            Ok(metadata) => {
                Ok(self.input.is_none() || (metadata.dev(), metadata.ino()) != self.identity)
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(self.error(error)),
        }
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
        if len < self.at {
            news.push(News::Truncated);
            self.pending.clear();
            self.at = 0;
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
        let read = input.read_at(&mut head, range.start);
        let read = read.map_err(|cause| self.error(cause))?;
        let known = range.end != u64::MAX;
        if known && head[..read] == [0; frame::HEADER_LEN][..read] {
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
                Item::Frame(frame) => news.push(News::Frame {
                    file: self.file,
                    offset: frame.offset,
                    bytes: frame.bytes.to_vec(),
                }),
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
                        kind: GapKind::Damage(crate::gap::Damage::NoHeader),
                    },
                });
            }
        }
    }
}
