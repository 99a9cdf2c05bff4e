//! Finding valid frames in bytes that may be anything. Says where the next one
//! is, and nothing about what lies before it. Work is linear in the bytes,
//! even in hostile ones: cheap tests come first, short bodies are summed directly,
//! long ones from checkpoints, and a claim is never trusted for allocation.

use crate::read::crc::Checkpoints;
use crate::read::window::Window;
use crc32fast::Hasher;
use logdef_wire::frame::{self, Header};
use memchr::memmem::Finder;
use std::io;
use std::ops::{Add, RangeInclusive};

/// Bodies up to this long are summed directly; longer ones from checkpoints.
const DIRECT: usize = 1024;
/// Lengths of bodies that are short.
const SHORT: RangeInclusive<u16> = frame::MIN_BODY as u16..=DIRECT as u16;
/// Bytes that show a header and the first two bytes of the body.
const GLANCE: usize = frame::LONG_HEADER_LEN + 2;

/// Where a valid frame stands.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Span {
    pub(crate) offset: u64,
    pub(crate) header: usize,
    pub(crate) body: usize,
}

impl Span {
    pub(crate) fn end(&self) -> u64 {
        self.offset + (self.header + self.body) as u64
    }
}

/// What a search ended with.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Found {
    /// The next valid frame.
    pub(crate) frame: Option<Span>,
    /// Where it starts, or where the search stopped.
    pub(crate) at: u64,
    /// Where the zeros start that reach up to there.
    pub(crate) zeros: u64,
}

/// How much a scan did: a multiple of the bytes that it read, whatever they are.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub struct Work {
    /// Places where a frame header pattern stood and a body was looked at.
    pub candidates: u64,
    /// Bytes that went through the checksum.
    pub summed: u64,
}

impl Add for Work {
    type Output = Work;

    fn add(self, other: Work) -> Work {
        Work {
            candidates: self.candidates + other.candidates,
            summed: self.summed + other.summed,
        }
    }
}

/// Looks for frames in a window over an input.
#[derive(Debug)]
pub(crate) struct Scanner<'i> {
    pub(crate) window: Window<'i>,
    checkpoints: Checkpoints,
    pattern: Finder<'static>,
    /// Of nothing yet: with a new one, what the CPU can do is asked again.
    hasher: Hasher,
    work: Work,
    /// Bodies that are longer are not looked at.
    longest: usize,
    passed_over: bool,
    /// Where a short frame was refused last: its checksum need not be computed again.
    refused: u64,
    /// Where the refused frame that reaches furthest would end, by its header.
    claim: u64,
}

impl<'i> Scanner<'i> {
    pub(crate) fn new(window: Window<'i>) -> Self {
        Scanner {
            window,
            checkpoints: Checkpoints::default(),
            pattern: Finder::new(&[0xc1, 0xce]),
            hasher: Hasher::new(),
            work: Work::default(),
            longest: frame::MAX_BODY,
            passed_over: false,
            refused: u64::MAX,
            claim: 0,
        }
    }

    /// A scanner that needs little memory, and says so where it passes over what may
    /// be a frame of more than `longest` bytes.
    pub(crate) fn sparing(window: Window<'i>, longest: usize) -> Self {
        Scanner {
            longest,
            ..Scanner::new(window)
        }
    }

    /// Whether a body of `len` bytes is too long to look at.
    pub(crate) fn passes_over(&mut self, len: usize) -> bool {
        self.passed_over |= len > self.longest;
        len > self.longest
    }

    /// Whether it has passed over what may be a frame.
    pub(crate) fn has_passed_over(&self) -> bool {
        self.passed_over
    }

    pub(crate) fn work(&self) -> Work {
        Work {
            summed: self.work.summed + self.checkpoints.summed,
            ..self.work
        }
    }

    /// The body of a frame that was found and not yet left behind.
    #[inline]
    pub(crate) fn body(&self, span: Span) -> &[u8] {
        &self.window.from(span.offset)[span.header..span.header + span.body]
    }

    /// Bytes of the body of a valid frame at `at`, if that is a short one, with the header
    /// that writers write, and in the window: nearly all are. `None` means: use the general path.
    #[inline(always)]
    pub(crate) fn short_frame_at(&mut self, at: u64) -> Option<u16> {
        let (sum, body) = short_claim(self.window.from(at))?;
        let len = body.len();
        if !frame::looks_like_record(body) {
            return None;
        }
        self.work.candidates += 1;
        self.work.summed += len as u64;
        if checksum(&self.hasher, body) != sum {
            self.refused = at;
            self.claims(at + (frame::HEADER_LEN + len) as u64);
            return None;
        }
        Some(len as u16)
    }

    /// Where the short frames end that stand one after the other from `at` on and before `limit`, in the
    /// window, as long as `is_valid` says of a body and the checksum in its header that they are those of a
    /// valid frame; and how many there are, which are no more than `most`.
    #[inline(always)]
    pub(crate) fn pass_over(
        &mut self,
        at: u64,
        limit: u64,
        most: usize,
        mut is_valid: impl FnMut(u64, &[u8], u32) -> bool,
    ) -> (u64, usize) {
        let bytes = self.window.from(at);
        let (mut rest, mut count) = (bytes, 0);
        let limit = limit.saturating_sub(at);
        while count < most
            && ((bytes.len() - rest.len()) as u64) < limit
            && let Some((sum, body)) = short_claim(rest)
            && is_valid(at + (bytes.len() - rest.len()) as u64, body, sum)
        {
            rest = &rest[frame::HEADER_LEN + body.len()..];
            count += 1;
        }
        let passed = (bytes.len() - rest.len()) as u64;
        self.work.candidates += count as u64;
        self.work.summed += passed;
        (at + passed, count)
    }

    /// The valid frame at `at`, if one starts there.
    #[inline]
    pub(crate) fn frame_at(&mut self, at: u64) -> io::Result<Option<Span>> {
        self.frame_at_keeping(at, at)
    }

    /// The frame at an offset, with the bytes from `keep` on still in the window afterwards.
    #[inline]
    pub(crate) fn frame_at_keeping(&mut self, keep: u64, at: u64) -> io::Result<Option<Span>> {
        if at == self.refused {
            return Ok(None);
        }
        let glance = self.window.ensure(keep, at, GLANCE)?;
        let Some(header) = Header::parse(glance) else {
            return Ok(None);
        };
        // Cheap before dear: most chance candidates end here.
        let record = glance
            .get(header.len..)
            .is_some_and(frame::looks_like_record);
        if !(frame::MIN_BODY..=frame::MAX_BODY).contains(&header.body_len) {
            return Ok(None);
        }
        if !record {
            self.claims(at + header.frame_len() as u64);
            return Ok(None);
        }
        self.work.candidates += 1;
        if self.passes_over(header.body_len) {
            return Ok(None);
        }
        let bytes = self.window.ensure(keep, at, header.frame_len())?;
        let Some(body) = bytes.get(header.len..header.frame_len()) else {
            self.claims(at + header.frame_len() as u64);
            return Ok(None);
        };
        let sum = if body.len() <= DIRECT {
            self.work.summed += body.len() as u64;
            checksum(&self.hasher, body)
        } else {
            let start = at + header.len as u64;
            let end = start + header.body_len as u64;
            self.checkpoints.range(&self.window, start, end)
        };
        if sum != header.checksum {
            self.claims(at + header.frame_len() as u64);
            return Ok(None);
        }
        Ok(Some(Span {
            offset: at,
            header: header.len,
            body: header.body_len,
        }))
    }

    /// A frame is refused that would end at an offset.
    fn claims(&mut self, end: u64) {
        self.claim = self.claim.max(end);
    }

    /// Where those frames would end that were refused since this was asked last; 0 if
    /// none was.
    pub(crate) fn take_claim(&mut self) -> u64 {
        std::mem::take(&mut self.claim)
    }

    /// The first valid frame that starts in `[from, limit)`.
    pub(crate) fn find(&mut self, from: u64, limit: u64) -> io::Result<Found> {
        let mut at = from;
        let mut zeros = from;
        loop {
            if self.window.seen() <= at + 1 && is_zero(self.window.from(at)) {
                at = at.max(self.window.behind_hole().min(limit));
            }
            if at >= limit {
                return Ok(Found {
                    frame: None,
                    at,
                    zeros,
                });
            }
            self.window.ensure(at, at, frame::PATTERN_LEN)?;
            let bytes = up_to(self.window.from(at), limit - at);
            let ended = self
                .window
                .end()
                .is_some_and(|end| end <= at + bytes.len() as u64);
            let last = ended || at + bytes.len() as u64 == limit;
            // A limit may stand between the two bytes of a pattern.
            let found = self.pattern.find(bytes).or_else(|| {
                let split = last && bytes.last() == Some(&0xc1);
                split.then(|| bytes.len() - 1)
            });
            let passed = match found {
                Some(candidate) => candidate,
                None if last => bytes.len(),
                // The last byte may be the first of a pattern.
                None => bytes.len() - 1,
            };
            let nonzero = passed - trailing_zeros(&bytes[..passed]);
            if nonzero > 0 {
                zeros = at + nonzero as u64;
            }
            at += passed as u64;
            if found.is_some() {
                if let Some(frame) = self.frame_at(at)? {
                    return Ok(Found {
                        frame: Some(frame),
                        at,
                        zeros,
                    });
                }
                at += 1;
                zeros = at;
            }
            if at >= limit || last && found.is_none() {
                return Ok(Found {
                    frame: None,
                    at,
                    zeros,
                });
            }
        }
    }

    /// Where the zeros that start at `at` end, at most at `limit`.
    pub(crate) fn zeros_end(&mut self, at: u64, limit: u64) -> io::Result<u64> {
        let mut at = at;
        while at < limit {
            let bytes = up_to(self.window.ensure(at, at, 1)?, limit - at);
            let zeros = leading_zeros(bytes);
            at += zeros as u64;
            if zeros < bytes.len() || bytes.is_empty() || at >= limit {
                break;
            }
            at = at.max(self.window.behind_hole().min(limit));
        }
        Ok(at)
    }
}

/// The checksum that a short header claims for its body, and the body, if both are at the front of bytes.
#[inline(always)]
fn short_claim(bytes: &[u8]) -> Option<(u32, &[u8])> {
    let (&[0xc1, 0xce, a, b, c, d, 0xc1, 0xda, hi, lo], rest) = bytes.split_first_chunk()? else {
        return None;
    };
    let len = u16::from_be_bytes([hi, lo]);
    if !SHORT.contains(&len) {
        return None;
    }
    let body = rest.get(..len as usize)?;
    Some((u32::from_be_bytes([a, b, c, d]), body))
}

/// The [checksum](frame::checksum) of a body, by a hasher of nothing.
#[inline]
fn checksum(hasher: &Hasher, body: &[u8]) -> u32 {
    let mut hasher = hasher.clone();
    hasher.update(body);
    hasher.finalize()
}

fn up_to(bytes: &[u8], len: u64) -> &[u8] {
    &bytes[..bytes.len().min(usize::try_from(len).unwrap_or(usize::MAX))]
}

/// Whether all bytes are zero.
pub(crate) fn is_zero(bytes: &[u8]) -> bool {
    bytes.iter().fold(0, |all, byte| all | byte) == 0
}

fn leading_zeros(bytes: &[u8]) -> usize {
    let blocks = bytes.chunks_exact(64).take_while(|block| is_zero(block));
    let skipped = blocks.count() * 64;
    let rest = &bytes[skipped..];
    skipped
        + rest
            .iter()
            .position(|byte| *byte != 0)
            .unwrap_or(rest.len())
}

pub(crate) fn trailing_zeros(bytes: &[u8]) -> usize {
    let blocks = bytes.rchunks_exact(64).take_while(|block| is_zero(block));
    let skipped = blocks.count() * 64;
    let rest = &bytes[..bytes.len() - skipped];
    let last = rest.iter().rposition(|byte| *byte != 0);
    skipped + last.map_or(rest.len(), |last| rest.len() - 1 - last)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame_of(body: &[u8]) -> Vec<u8> {
        let (header, len) = frame::header(body);
        [&header[..len], body].concat()
    }

    fn find_all(bytes: &[u8]) -> (Vec<u64>, Work) {
        let mut scanner = Scanner::new(Window::whole(bytes));
        let mut at = 0;
        let mut offsets = Vec::new();
        while at < bytes.len() as u64 {
            let found = scanner.find(at, bytes.len() as u64).unwrap();
            offsets.extend(found.frame.map(|frame| frame.offset));
            at = found.frame.map_or(found.at, |frame| frame.end());
        }
        (offsets, scanner.work())
    }

    #[test]
    fn zeros_are_counted_at_both_ends() {
        for len in 0..200 {
            let mut bytes = vec![0; len];
            assert_eq!((leading_zeros(&bytes), trailing_zeros(&bytes)), (len, len));
            for at in 0..len {
                bytes[at] = 1;
                assert_eq!(leading_zeros(&bytes), at);
                assert_eq!(trailing_zeros(&bytes), len - 1 - at);
                bytes[at] = 0;
            }
        }
    }

    #[test]
    fn frames_are_found_between_anything() {
        let frame = frame_of(&[0x7f, 0x81, 2, 42]);
        let noise = [
            0xc1, 0xce, 0xc1, 0xc1, 0xce, 1, 2, 3, 4, 0xc1, 0xa5, 0, 0x80,
        ];
        let bytes = [&noise[..], &frame, &frame, &noise, &[0; 100], &frame].concat();
        let (offsets, _) = find_all(&bytes);
        assert_eq!(offsets, [13, 27, 167 - 13]);
    }

    #[test]
    fn short_frames_are_those_that_the_decoder_takes_for_frames() {
        let body = [&[0x7f, 0x82, 2, 42, 9, 0x92, 7, 0xa5][..], b"hello"].concat();
        let frame = frame_of(&body);
        let mut valid = 0;
        for len in 0..=frame.len() {
            for bit in 0..=8 * len {
                let mut bytes = frame[..len].to_vec();
                if let Some(byte) = bytes.get_mut(bit / 8) {
                    *byte ^= 1 << (bit % 8);
                }
                let expected = frame::decode(&bytes).ok().map(|frame| frame.body.len());
                let mut scanner = Scanner::new(Window::whole(&bytes));
                let short = scanner.short_frame_at(0).map(usize::from);
                assert_eq!(short, expected, "{bytes:02x?}");
                // Asked again, after a refusal.
                let found = scanner.frame_at(0).unwrap().map(|span| span.body);
                assert_eq!(found, expected, "{bytes:02x?}");
                valid += u32::from(short.is_some());
            }
        }
        assert_eq!(valid, 1);
        let others = [vec![0x7f; 1], [&[0x7f, 0x80][..], &[0; DIRECT]].concat()];
        for body in others {
            let frame = frame_of(&body);
            let mut scanner = Scanner::new(Window::whole(&frame));
            assert_eq!(scanner.short_frame_at(0), None);
        }
    }

    #[test]
    fn a_frame_that_starts_before_the_limit_is_found_whole() {
        let bytes = [vec![9; 5], frame_of(&[0x7f, 0x80])].concat();
        for limit in 0..bytes.len() as u64 {
            let mut scanner = Scanner::new(Window::whole(&bytes));
            let found = scanner.find(0, limit).unwrap();
            assert_eq!(found.frame.is_some(), limit > 5, "{limit}");
        }
    }

    /// Claims of the longest body every sixteen bytes: a reader that sums each
    /// claim sums the square of the file.
    #[test]
    fn nested_claims_cost_linear_work() {
        let mut bytes = Vec::new();
        while bytes.len() < 2 << 20 {
            let claim = (1u32 << 20) - (bytes.len() as u32 & 0xffff);
            bytes.extend([0xc1, 0xce, 1, 2, 3, 4, 0xc1, 0xdb]);
            bytes.extend(claim.to_be_bytes());
            bytes.extend([0x7f, 0x80, 0, 0]);
        }
        let (offsets, work) = find_all(&bytes);
        assert!(offsets.is_empty());
        assert!(work.candidates > 60_000);
        let bound = 2 * bytes.len() as u64 + 1024 * work.candidates;
        assert!(work.summed <= bound, "{work:?}");
        let longer = bytes.repeat(2);
        let (_, twice) = find_all(&longer);
        assert!(twice.summed < 3 * work.summed, "{work:?} then {twice:?}");
    }
}
