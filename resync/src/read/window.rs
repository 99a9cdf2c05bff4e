//! A window that slides forward over an input: the bytes that the scanner looks
//! at. Input in memory is looked at in place; anything else is read into an
//! owned buffer, never mapped, so that a file that shrinks is an end and no
//! signal. Knows offsets and bytes, nothing of frames.

use crate::read::input::Input;
use std::io;
use std::ops::Range;

/// Bytes asked of a file at a time: they stay in a core's cache while they are
/// looked at.
const STEP: usize = 256 << 10;
/// Bytes that stay readable before the oldest offset still wanted: the distance
/// between two checkpoints of checksums, which are of no use without them.
pub(crate) const BEHIND: u64 = 512;
/// Bytes asked for at a time where little is wanted: enough for any header.
const BEYOND: u64 = 64;

/// Bytes of an input, from some offset to some later one.
#[derive(Debug)]
pub(crate) struct Window<'i> {
    bytes: Bytes<'i>,
    /// Where the input ends, once that was seen.
    end: Option<u64>,
    /// Offset from which no more is read than is asked for.
    until: u64,
    /// What could not be read and looks like zeros, in order.
    unreadable: Vec<Range<u64>>,
}

#[derive(Debug)]
enum Bytes<'i> {
    Whole(&'i [u8]),
    Sliding {
        input: &'i Input,
        /// Offset of the first byte of the buffer.
        start: u64,
        buffer: Vec<u8>,
        /// Bytes of the buffer that were read. Those after wait to be.
        len: usize,
        step: usize,
    },
}

impl<'i> Window<'i> {
    /// A window over an input that nothing was read from yet. `step` limits
    /// how much is read ahead.
    pub(crate) fn new(input: &'i Input, at: u64, step: Option<usize>) -> Self {
        match input.in_memory() {
            Some(bytes) => Window::whole(bytes),
            None => Window {
                bytes: Bytes::Sliding {
                    input,
                    start: at,
                    buffer: Vec::new(),
                    len: 0,
                    step: step.unwrap_or(STEP),
                },
                end: None,
                until: u64::MAX,
                unreadable: Vec::new(),
            },
        }
    }

    /// The same, where little is wanted from an offset on: what is looked at there is read, and
    /// nothing ahead of it.
    pub(crate) fn until(self, until: u64) -> Self {
        Window { until, ..self }
    }

    /// A window that shows all of `bytes`.
    pub(crate) fn whole(bytes: &'i [u8]) -> Self {
        Window {
            end: Some(bytes.len() as u64),
            bytes: Bytes::Whole(bytes),
            until: u64::MAX,
            unreadable: Vec::new(),
        }
    }

    /// Offset of the first byte that can be looked at.
    pub(crate) fn start(&self) -> u64 {
        match &self.bytes {
            Bytes::Whole(_) => 0,
            Bytes::Sliding { start, .. } => *start,
        }
    }

    /// Offset after the last byte that can be looked at.
    pub(crate) fn seen(&self) -> u64 {
        match &self.bytes {
            Bytes::Whole(bytes) => bytes.len() as u64,
            Bytes::Sliding { start, len, .. } => start + *len as u64,
        }
    }

    /// Where the input ends, if that was reached.
    #[inline]
    pub(crate) fn end(&self) -> Option<u64> {
        self.end
    }

    /// The first of the ranges that end after `at` and could not be read. Those
    /// before it are forgotten.
    #[inline]
    pub(crate) fn unreadable_from(&mut self, at: u64) -> Option<Range<u64>> {
        if self.unreadable.is_empty() {
            return None;
        }
        let gone = self.unreadable.partition_point(|range| range.end <= at);
        self.unreadable.drain(..gone);
        self.unreadable.first().cloned()
    }

    /// The bytes from `at` to the last that was read; none if `at` is beyond.
    #[inline]
    pub(crate) fn from(&self, at: u64) -> &[u8] {
        let (start, bytes) = match &self.bytes {
            Bytes::Whole(bytes) => (0, *bytes),
            Bytes::Sliding {
                start, buffer, len, ..
            } => (*start, &buffer[..*len]),
        };
        debug_assert!(at >= start, "the window has left these bytes behind");
        bytes.get((at - start) as usize..).unwrap_or(&[])
    }

    /// Where data begins again, at the end of what was read or after the hole of the file
    /// that begins there.
    pub(crate) fn behind_hole(&self) -> u64 {
        let seen = self.seen();
        match &self.bytes {
            Bytes::Sliding { input, .. } if self.end.is_none() => input.behind_hole(seen),
            _ => seen,
        }
    }

    /// The bytes of a range that was ensured.
    #[inline]
    pub(crate) fn range(&self, from: u64, to: u64) -> &[u8] {
        &self.from(from)[..(to - from) as usize]
    }

    /// Makes at least `len` bytes from `at` on readable, or all up to the end.
    /// Bytes before `keep` may go.
    #[inline]
    pub(crate) fn ensure(&mut self, keep: u64, at: u64, len: usize) -> io::Result<&[u8]> {
        if self.end.is_none() && self.seen() < at.saturating_add(len as u64) {
            self.fill(keep, at.saturating_add(len as u64))?;
        }
        Ok(self.from(at))
    }

    #[cold]
    fn fill(&mut self, keep: u64, wanted: u64) -> io::Result<()> {
        let Bytes::Sliding {
            input,
            start,
            buffer,
            len,
            step,
        } = &mut self.bytes
        else {
            return Ok(());
        };
        // Moving what is kept is paid for by the bytes that go: a third of them is
        // enough to stay linear, and keeps the buffer near what is looked at.
        let gone = keep.saturating_sub(BEHIND).saturating_sub(*start);
        let gone = gone.min(*len as u64) as usize;
        if 3 * gone >= *len - gone {
            buffer.copy_within(gone..*len, 0);
            *len -= gone;
            *start += gone as u64;
            if *len == 0 && keep.saturating_sub(BEHIND) > *start {
                *start = keep - BEHIND;
            }
        }
        let wanted = wanted.saturating_sub(*start) as usize;
        while *len < wanted {
            let at = *start + *len as u64;
            let left = self.until.saturating_sub(at).max(BEYOND) as usize;
            let ahead = (*step).max(*len / 8).min(left);
            let more = (wanted - *len).max(ahead).min(64 * STEP);
            let end = *len + more;
            // Most of it was read into before: it needs not be made zeros again.
            if buffer.is_empty() {
                *buffer = vec![0; end];
            } else if end > buffer.len() {
                buffer.reserve_exact(end - buffer.len());
                buffer.resize(end, 0);
            }
            let got = input.read_around(&mut buffer[*len..end], at, &mut self.unreadable)?;
            *len += got;
            if got == 0 {
                self.end = Some(*start + *len as u64);
                return Ok(());
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read::input::Source;

    /// Zeros without end.
    #[derive(Debug)]
    struct Zeros;

    impl Source for Zeros {
        fn read_at(&self, buffer: &mut [u8], _: u64) -> io::Result<usize> {
            buffer.fill(0);
            Ok(buffer.len())
        }
    }

    #[test]
    fn nothing_is_read_ahead_of_where_little_is_wanted() {
        let input = Input::from_source("zeros", Zeros, u64::MAX);
        let mut window = Window::new(&input, 100, Some(4096)).until(5000);
        let mut ensure = |at, len| {
            assert!(window.ensure(at, at, len).unwrap().len() >= len);
            window.seen()
        };
        assert_eq!(ensure(100, 10), 4196);
        assert_eq!(ensure(4190, 10), 5000);
        assert_eq!(ensure(4995, 12), 5000 + BEYOND);
        assert_eq!(ensure(5050, 300), 5350);
        assert_eq!(ensure(5350, 1), 5350 + BEYOND);
    }
}
