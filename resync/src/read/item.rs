//! The items of an input in the order of their bytes: frames and gaps, without
//! a byte left out. Decides what each gap is; what a record means is others'
//! business.
//!
//! ```text
//!  frame  frame  00 00 00 ..  C1 CE frame   .. xx xx xx ..   frame   00 .. C1 DA hh ll ..  end
//! |------|------|- padding --|-------------|--- damage ----|--------|------- torn --------|
//! ```

use crate::read::freeze::freeze_one;
use crate::read::gap::{Damage, Gap, GapKind, KnownGaps, Torn};
use crate::read::input::{Error, Input};
use crate::read::reserved;
use crate::read::scan::{Found, Scanner, Span, Work};
use crate::read::unmask;
use crate::read::window::Window;
use logdef_wire::frame::{self, Header};
use logdef_wire::{Record, Tag};
use std::io;
use std::ops::Range;

/// Bytes of the longest header.
const HEADER: usize = frame::LONG_HEADER_LEN;
/// Longest body that is looked at where memory is to be spared.
const SPARING: usize = 256 << 10;
/// Frames that are looked at to distinguish a cut from a quotation.
const HOPS: usize = 64;

/// A part of an input.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum Item<'a> {
    /// A valid frame, whatever record it holds.
    Frame(FrameItem<'a>),
    /// Bytes that are no frame.
    Gap(Gap),
}

impl Item<'_> {
    /// Offset of its first byte, which is where the item before ends.
    pub fn offset(&self) -> u64 {
        match self {
            Item::Frame(frame) => frame.offset,
            Item::Gap(gap) => gap.offset,
        }
    }

    /// Offset after its last byte.
    pub fn end(&self) -> u64 {
        match self {
            Item::Frame(frame) => frame.end(),
            Item::Gap(gap) => gap.end(),
        }
    }
}

/// A valid frame and where it stands.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct FrameItem<'a> {
    /// Offset of its first byte.
    pub offset: u64,
    /// The whole frame, header and body.
    pub bytes: &'a [u8],
    /// The record: tag and payload.
    pub body: &'a [u8],
}

impl FrameItem<'_> {
    /// The tag of the record.
    #[inline]
    pub fn tag(&self) -> Tag {
        Tag(self.body[0])
    }

    /// Offset after its last byte.
    pub fn end(&self) -> u64 {
        self.offset + self.bytes.len() as u64
    }
}

/// Walks over an input and accounts for each byte of it.
///
/// ```
/// use logdef_resync::{GapKind, Input, Item, Items};
///
/// // The shortest record, some zeros, and a byte that should not be there.
/// let frame = [0xc1, 0xce, 0xac, 0x61, 0x91, 0xdf, 0xc1, 0xa2, 0x00, 0x80];
/// let mut bytes = frame.to_vec();
/// bytes.extend([0; 6]);
/// bytes.extend(frame);
/// bytes.push(0xff);
/// let input = Input::from_bytes("example", bytes);
///
/// let mut items = Items::new(&input);
/// let mut seen = Vec::new();
/// while let Some(item) = items.next()? {
///     seen.push(match item {
///         Item::Frame(frame) => (frame.offset, "frame".to_owned()),
///         Item::Gap(gap) => (gap.offset, gap.kind.to_string()),
///         _ => continue,
///     });
/// }
/// assert_eq!(seen[0], (0, "frame".to_owned()));
/// assert_eq!(seen[1], (10, "padding".to_owned()));
/// assert_eq!(seen[2], (16, "frame".to_owned()));
/// assert_eq!(seen[3], (26, "damage: no frame header at its start".to_owned()));
/// # Ok::<(), logdef_resync::Error>(())
/// ```
#[derive(Debug)]
pub struct Items<'i> {
    name: &'i str,
    scanner: Scanner<'i>,
    /// Where the next item starts.
    at: u64,
    /// Frames that start here or later belong to someone else.
    limit: u64,
    /// Gaps and the frame after them that were found on the way.
    gap: Option<Gap>,
    tail: Option<Gap>,
    frame: Option<Span>,
    /// Where the chunk ends that was opened last.
    chunk_end: u64,
    /// Where the frames would end that began in the gap found last.
    claim: u64,
    /// Gaps that were found before, and the index of the next.
    known: Option<(&'i dyn KnownGaps, usize)>,
    /// Where that one starts.
    next_known: u64,
}

enum Step {
    Frame(Span),
    Gap(Gap),
}

impl<'i> Items<'i> {
    /// All items of an input; of a file that a program is writing, as it is now: see [`freeze`](crate::freeze).
    pub fn new(input: &'i Input) -> Self {
        freeze_one(input);
        Items::range(input, 0..u64::MAX)
    }

    /// The items whose first bytes are in a range. The range must start where
    /// an item starts; a frame at its end is given whole.
    pub fn range(input: &'i Input, range: Range<u64>) -> Self {
        let window = Window::new(input, range.start, None).until(range.end);
        Items::with_window(input.name(), window, range)
    }

    /// The items of a range, reading no more than `step` bytes ahead.
    pub(crate) fn range_with_step(input: &'i Input, range: Range<u64>, step: usize) -> Self {
        let window = Window::new(input, range.start, Some(step));
        Items::with_window(input.name(), window.until(range.end), range)
    }

    /// The items of a range whose gaps an earlier walk has found: they are passed over
    /// without a look at their bytes.
    pub(crate) fn range_with_gaps(
        input: &'i Input,
        range: Range<u64>,
        step: usize,
        gaps: &'i dyn KnownGaps,
    ) -> Self {
        let first = gaps.first_from(range.start);
        Items {
            known: Some((gaps, first)),
            next_known: gaps.gap(first).map_or(u64::MAX, |gap| gap.offset),
            ..Items::range_with_step(input, range, step)
        }
    }

    /// All items from an offset where one starts, in a chunk that ends at
    /// `chunk_end`.
    pub(crate) fn within_chunk(input: &'i Input, at: u64, chunk_end: u64) -> Self {
        Items {
            chunk_end,
            ..Items::range(input, at..u64::MAX)
        }
    }

    /// All items from the first frame that starts in `[from, limit)`, whatever that is
    /// in, read with little memory.
    pub(crate) fn from_first_frame(
        input: &'i Input,
        from: u64,
        limit: u64,
    ) -> Result<Option<Self>, Error> {
        let window = || Window::new(input, from, None);
        let mut items = Items::with_window(input.name(), window(), from..u64::MAX);
        items.scanner = Scanner::sparing(window(), SPARING);
        let found = items.scanner.find(from, limit);
        let found = found.map_err(|cause| Error::new(input.name(), cause))?;
        items.at = found.at;
        items.frame = found.frame;
        Ok(found.frame.map(|_| items))
    }

    /// Whether something was taken for a gap that may be a long frame.
    pub(crate) fn has_passed_over(&self) -> bool {
        self.scanner.has_passed_over()
    }

    /// All items of bytes in memory.
    pub fn of_bytes(bytes: &'i [u8]) -> Self {
        Items::with_window("memory", Window::whole(bytes), 0..u64::MAX)
    }

    fn with_window(name: &'i str, window: Window<'i>, range: Range<u64>) -> Self {
        Items {
            name,
            scanner: Scanner::new(window),
            at: range.start,
            limit: range.end,
            gap: None,
            tail: None,
            frame: None,
            chunk_end: 0,
            claim: 0,
            known: None,
            next_known: u64::MAX,
        }
    }

    /// Offset of the next item: every byte before it was in one.
    pub fn offset(&self) -> u64 {
        self.at
    }

    /// The bytes from the next item on that are in memory just now.
    pub(crate) fn ahead(&self) -> &[u8] {
        self.scanner.window.from(self.at)
    }

    /// Where the chunk ends that the last preamble opened.
    pub(crate) fn chunk_end(&self) -> u64 {
        self.chunk_end
    }

    /// Where the frames would end whose headers stand in the last gap, whole or nearly so;
    /// 0 if there are none.
    pub(crate) fn claim(&self) -> u64 {
        self.claim
    }

    /// How much work was done so far.
    pub fn work(&self) -> Work {
        self.scanner.work()
    }

    /// Whether the next item may be a frame that nothing is known of yet.
    #[inline(always)]
    fn may_be_short(&self) -> bool {
        let is_known = self.gap.is_some() || self.tail.is_some() || self.frame.is_some();
        !is_known && self.at < self.limit && self.at < self.next_known
    }

    /// Passes over short frames of data records that are at hand, up to `most`, as long as `is_valid` says of
    /// an offset, a body and the checksum in its header that they are those of such a frame. Returns how many.
    #[inline(always)]
    pub(crate) fn pass_over(
        &mut self,
        most: usize,
        is_valid: impl FnMut(u64, &[u8], u32) -> bool,
    ) -> usize {
        if !self.may_be_short() {
            return 0;
        }
        let limit = self.limit.min(self.next_known);
        let (at, count) = self.scanner.pass_over(self.at, limit, most, is_valid);
        self.at = at;
        count
    }

    /// The next item if it is a short frame that is at hand and opens nothing: nearly
    /// all are. `None` means: use the general path.
    #[inline(always)]
    pub(crate) fn next_short(&mut self) -> Option<FrameItem<'_>> {
        if !self.may_be_short() {
            return None;
        }
        let offset = self.at;
        let len = self.scanner.short_frame_at(offset)?;
        let bytes = self.scanner.window.from(offset);
        let (bytes, _) = bytes.split_at_checked(frame::HEADER_LEN + len as usize)?;
        let body = &bytes[frame::HEADER_LEN..];
        if matches!(Tag(body[0]), Tag::PREAMBLE | Tag::MASKED) {
            return None;
        }
        self.at = offset + bytes.len() as u64;
        Some(FrameItem {
            offset,
            bytes,
            body,
        })
    }

    /// The next item, `None` at the end. Not an `Iterator`, since items borrow
    /// the bytes that are in memory just now.
    #[allow(clippy::should_implement_trait)]
    #[inline]
    pub fn next(&mut self) -> Result<Option<Item<'_>>, Error> {
        match self.step() {
            Ok(Some(Step::Frame(span))) => {
                let bytes = self.scanner.window.range(span.offset, span.end());
                Ok(Some(Item::Frame(FrameItem {
                    offset: span.offset,
                    bytes,
                    body: &bytes[span.header..],
                })))
            }
            Ok(Some(Step::Gap(gap))) => Ok(Some(Item::Gap(gap))),
            Ok(None) => Ok(None),
            Err(error) => Err(Error::new(self.name, error)),
        }
    }

    fn step(&mut self) -> io::Result<Option<Step>> {
        if self.gap.is_none() && self.tail.is_none() && self.frame.is_none() {
            if self.at >= self.limit {
                return Ok(None);
            }
            match self.known_gap() {
                Some(gap) => self.gap = Some(gap),
                None => self.find_next()?,
            }
        }
        if let Some(gap) = self.gap.take().or_else(|| self.tail.take()) {
            let gap = self.cut_at_unreadable(gap);
            self.at = gap.end();
            return Ok(Some(Step::Gap(gap)));
        }
        let Some(frame) = self.frame.take() else {
            return Ok(None);
        };
        self.at = frame.end();
        let tag = Tag(self.scanner.body(frame)[0]);
        if matches!(tag, Tag::PREAMBLE | Tag::MASKED) {
            self.enter_chunk(frame);
        }
        Ok(Some(Step::Frame(frame)))
    }

    fn find_next(&mut self) -> io::Result<()> {
        match self.scanner.frame_at(self.at)? {
            Some(frame) => self.frame = Some(frame),
            None => {
                self.cross_gap()?;
                self.claim = self.scanner.take_claim();
            }
        }
        Ok(())
    }

    /// The gap that an earlier walk found here. A file that changed since may have
    /// others.
    #[inline]
    fn known_gap(&mut self) -> Option<Gap> {
        while self.next_known <= self.at {
            let (gaps, index) = self.known.as_mut()?;
            let gap = gaps.gap(*index)?;
            *index += 1;
            self.next_known = gaps.gap(*index).map_or(u64::MAX, |gap| gap.offset);
            if gap.offset == self.at {
                return Some(gap);
            }
        }
        None
    }

    /// A gap up to where it could not be read, or could be again; the rest of it is
    /// the next one.
    fn cut_at_unreadable(&mut self, gap: Gap) -> Gap {
        let Some(unreadable) = self.scanner.window.unreadable_from(gap.offset) else {
            return gap;
        };
        let is_readable = gap.offset < unreadable.start;
        let end = if is_readable {
            unreadable.start.min(gap.end())
        } else {
            unreadable.end.min(gap.end())
        };
        if end < gap.end() {
            self.gap = Some(Gap {
                offset: end,
                len: gap.end() - end,
                // What is left of a frame has no header any more.
                kind: match gap.kind {
                    GapKind::Padding => GapKind::Padding,
                    _ => GapKind::Damage(Damage::NoHeader),
                },
            });
        }
        Gap {
            len: end - gap.offset,
            kind: if is_readable {
                gap.kind
            } else {
                GapKind::Damage(Damage::Unreadable)
            },
            ..gap
        }
    }

    fn enter_chunk(&mut self, frame: Span) {
        let body = self.scanner.body(frame);
        // Further preambles in a chunk, of libraries, open none.
        if let Ok(Record::Preamble(preamble)) = unmask::decode(body, &mut Vec::new())
            && let Some(chunk @ 1..) = preamble.chunk
        {
            self.chunk_end = frame.offset.saturating_add(chunk);
        }
    }

    /// No frame starts here. Finds out what does, up to the next frame or to
    /// where something else begins.
    fn cross_gap(&mut self) -> io::Result<()> {
        let start = self.at;
        let zeros_end = self.scanner.zeros_end(start, self.limit)?;
        // A whole frame first: the bytes of its checksum can look like the length
        // of one that was never finished and starts among the zeros.
        if zeros_end > start && zeros_end < self.limit {
            let keep = start.max(zeros_end.saturating_sub(frame::RESERVED_OFFSET as u64));
            self.frame = self.scanner.frame_at_keeping(keep, zeros_end)?;
            if self.frame.is_some() {
                self.gap = Some(padding(start, zeros_end));
                return Ok(());
            }
        }
        if let Some(torn) = self.unpublished(start, zeros_end)? {
            self.gap = Some(if torn.offset > start {
                padding(start, torn.offset)
            } else {
                torn
            });
            return Ok(());
        }
        let here = self.scanner.window.ensure(start, zeros_end, HEADER)?;
        if here.is_empty() || zeros_end >= self.limit {
            self.gap = (zeros_end > start).then(|| padding(start, zeros_end));
            return Ok(());
        }
        if zeros_end > start {
            // Zeros before a header that is damaged, or up to the end of the
            // chunk, are padding still.
            let here = self.scanner.window.from(zeros_end);
            let cut = here == [0xc1] && self.scanner.window.end() == Some(zeros_end + 1);
            if zeros_end == self.chunk_end || here.starts_with(&[0xc1, 0xce]) || cut {
                self.gap = Some(padding(start, zeros_end));
                return Ok(());
            }
        }
        self.cross_damage(start, zeros_end)
    }

    fn cross_damage(&mut self, start: u64, zeros_end: u64) -> io::Result<()> {
        let mut head = [0; HEADER];
        let mut head_len = 1;
        if zeros_end == start {
            let here = self.scanner.window.ensure(start, start, HEADER)?;
            head_len = here.len().min(HEADER);
            head[..head_len].copy_from_slice(&here[..head_len]);
        }
        let found = self.scanner.find(zeros_end.max(start + 1), self.limit)?;
        let at_preamble = match found.frame {
            Some(frame) => self.scanner.body(frame)[0] == Tag::PREAMBLE.0,
            None => self.scanner.window.end() == Some(found.at),
        };
        let mut kind = reason(&head[..head_len], start, found.at, at_preamble);
        if kind == GapKind::Torn(Torn::Cut) && self.quotes(&head[..head_len], found)? {
            kind = GapKind::Damage(Damage::Checksum);
        }
        // Zeros before a preamble, or before the end, were a chunk's tail. A
        // frame that was cut had zeros of its own.
        let end = match kind {
            GapKind::Damage(_) if at_preamble => found.zeros,
            _ => found.at,
        };
        self.gap = Some(Gap {
            offset: start,
            len: end - start,
            kind,
        });
        self.tail = (end < found.at).then(|| padding(end, found.at));
        self.frame = found.frame;
        Ok(())
    }

    /// Whether the frame that starts with `head` ends where another begins, after
    /// the preamble that was found, and the frames from there on do not reach so
    /// far: then it was not cut there, but quotes it. Looks at headers only.
    fn quotes(&mut self, head: &[u8], found: Found) -> io::Result<bool> {
        let (Some(inner), Some(header)) = (found.frame, Header::parse(head)) else {
            return Ok(false);
        };
        if self.scanner.passes_over(header.body_len) {
            return Ok(false);
        }
        let keep = inner.offset;
        let end = self.at + header.frame_len() as u64;
        let there = self.scanner.window.ensure(keep, end, frame::PATTERN_LEN)?;
        let fits = frame::starts_with_pattern(there);
        if !fits && self.scanner.window.end() != Some(end) {
            return Ok(false);
        }
        let mut at = inner.end();
        for _ in 0..HOPS {
            if at >= end {
                break;
            }
            let bytes = self.scanner.window.ensure(keep, at, HEADER)?;
            let Some(next) = Header::parse(bytes) else {
                return Ok(bytes.first() != Some(&0));
            };
            at += next.frame_len() as u64;
        }
        Ok(false)
    }

    /// The frame that was reserved in the zeros `[start, zeros_end)` and never
    /// published: its first byte is still zero, its length stands already.
    fn unpublished(&mut self, start: u64, zeros_end: u64) -> io::Result<Option<Gap>> {
        let first = start.max(zeros_end.saturating_sub(frame::RESERVED_OFFSET as u64));
        for offset in first..zeros_end {
            let bytes = self.scanner.window.ensure(first, offset, HEADER)?;
            let Some(len) = reserved::frame_len(bytes) else {
                continue;
            };
            if self.scanner.passes_over(len - frame::HEADER_LEN) {
                continue;
            }
            let end = offset + len as u64;
            let rest = self.scanner.window.ensure(first, offset, len + 1)?;
            let (rest_len, next) = (rest.len() as u64, rest.get(len).copied());
            let end = match next {
                None => offset + rest_len,
                Some(0) => end,
                Some(_) if self.scanner.frame_at_keeping(first, end)?.is_some() => end,
                Some(_) => continue,
            };
            // The writer puts no frame inside another: a whole one was written by the
            // process that cut this one off.
            let inner = self.scanner.find(offset + 1, end)?;
            let end = inner.frame.map_or(end, |inner| inner.offset);
            return Ok(Some(Gap {
                offset,
                len: end - offset,
                kind: GapKind::Torn(Torn::Unpublished),
            }));
        }
        Ok(None)
    }
}

fn padding(start: u64, end: u64) -> Gap {
    Gap {
        offset: start,
        len: end - start,
        kind: GapKind::Padding,
    }
}

/// What bytes that start with `head` are, given where they end and whether a
/// preamble or the end of the input stands there.
fn reason(head: &[u8], start: u64, end: u64, at_preamble: bool) -> GapKind {
    let head = &head[..head.len().min((end - start) as usize)];
    let begins = |(at, byte): (usize, &u8)| match at {
        0 | 6 => *byte == 0xc1,
        1 => *byte == 0xce,
        7 => matches!(byte, 0xa0..=0xbf | 0xda | 0xdb),
        _ => true,
    };
    if !head.iter().enumerate().all(begins) {
        return GapKind::Damage(Damage::NoHeader);
    }
    let past_end = match Header::parse(head) {
        Some(header) if header.body_len > frame::MAX_BODY => {
            return GapKind::Damage(Damage::Length);
        }
        Some(header) => header.frame_len() as u64 > end - start,
        None => true,
    };
    match (past_end, at_preamble) {
        (true, true) => GapKind::Torn(Torn::Cut),
        (true, false) if head.len() < frame::PATTERN_LEN => GapKind::Damage(Damage::NoHeader),
        _ => GapKind::Damage(Damage::Checksum),
    }
}
