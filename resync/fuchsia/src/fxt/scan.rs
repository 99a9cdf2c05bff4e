//! Finding the records of a trace that may be damaged. The [`Scanner`] looks at a
//! window of the input and returns what it finds: a record, or a gap; or it asks for a
//! longer window. It holds no bytes itself, so the same decisions are made for a
//! slice and for a stream that arrives byte by byte.
//!
//! A record whose parts add up to its size is believed without a look at what
//! follows. Everything else is a question of which of two is damaged, the size or the
//! content, and what stands where the size leads to answers it:
//!
//! ```text
//! size zero                            -> seek the next records
//! content contradicts itself           -> records where the size leads to? this record is lost,
//!                                         otherwise seek
//! content ends before the size does    -> records where the content ends? the size is damaged,
//!                                         otherwise words were appended, which is legal
//! size leads beyond the end            -> records where the content ends? the size is damaged;
//!                                         records inside? the same; otherwise the tail is torn
//! type unknown, nothing follows        -> records inside? the size is damaged, otherwise believed
//! ```

use super::cursor::{WORD, word_at};
use super::error::Malformed;
use super::gap::{Gap, GapReason};
use super::header::RecordHeader;
use super::plausible::{Need, Window, are_arguments};
use super::record::{BIG_ENDIAN_MAGIC_BYTES, Decoded, MAGIC_BYTES, Record};

/// What the scanner found at the start of a window.
pub(crate) enum Found<'w> {
    /// A record of this many bytes.
    Record(usize, Decoded<'w>),
    /// A gap; it ends `consumed` bytes into the window.
    Gap { gap: Gap, consumed: usize },
    /// Nothing to report yet, but this many bytes are done with.
    Nothing(usize),
    /// The end of the trace.
    End,
}

/// Where in a trace the scanner is. Offsets are those of the window's first byte.
#[derive(Clone, Debug)]
pub(crate) struct Scanner {
    offset: u64,
    /// Larger records are not asked for.
    limit: u64,
    state: State,
}

#[derive(Clone, Copy, Debug)]
enum State {
    /// A record should begin here.
    Records,
    /// Lost since `start`; looking for records.
    Seeking {
        start: u64,
        reason: GapReason,
    },
    /// Passing over a record up to `end` without looking at it.
    Skipping {
        start: u64,
        end: u64,
        words: u64,
    },
    Ended,
}

impl Scanner {
    /// At the start of a trace, never asking for more than `limit` bytes of a record.
    pub(crate) fn new(limit: u64) -> Scanner {
        Scanner {
            offset: 0,
            limit,
            state: State::Records,
        }
    }

    /// Offset of the window's first byte in the trace.
    pub(crate) fn offset(&self) -> u64 {
        self.offset
    }

    /// How many zeros that follow on `window` may be passed over without a look at them.
    pub(crate) fn ignores_zeros_behind(&self, window: &[u8]) -> u64 {
        match self.state {
            // No record begins in zeros.
            State::Seeking { .. } if window.iter().all(|byte| *byte == 0) => u64::MAX,
            State::Skipping { end, .. } if window.is_empty() => end - self.offset,
            _ => 0,
        }
    }

    /// Whole words of zeros were passed over.
    pub(crate) fn pass(&mut self, zeros: u64) {
        self.offset += zeros;
    }

    /// Looks at the start of `window`. The caller drops from it what was consumed.
    #[cold]
    #[inline(never)]
    pub(crate) fn step<'w>(&mut self, window: Window<'w>) -> Result<Found<'w>, Need> {
        let found = match self.state {
            State::Records => self.record(window)?,
            State::Seeking { start, reason } => self.seek(window, start, reason)?,
            State::Skipping { start, end, words } => self.skip(window, start, end, words)?,
            State::Ended => Found::End,
        };
        self.offset += match &found {
            Found::Record(consumed, _) | Found::Gap { consumed, .. } | Found::Nothing(consumed) => {
                *consumed as u64
            }
            Found::End => 0,
        };
        Ok(found)
    }

    /// The common case: a record that is whole, at hand and beyond doubt. Anything else
    /// is for [`Scanner::step`].
    #[inline]
    pub(crate) fn plain_record<'w>(&mut self, window: Window<'w>) -> Option<(usize, Decoded<'w>)> {
        if !matches!(self.state, State::Records) {
            return None;
        }
        let words = RecordHeader(word_at(window.bytes, 0)?).words();
        let len = usize::try_from(words).ok()?.checked_mul(WORD)?;
        let decoded = Decoded::decode(window.bytes.get(..len)?).ok()?;
        if !decoded.extra.is_empty() || matches!(decoded.record, Record::Unknown(_)) {
            return None;
        }
        self.offset += len as u64;
        Some((len, decoded))
    }

    fn record<'w>(&mut self, window: Window<'w>) -> Result<Found<'w>, Need> {
        match word_at(window.bytes, 0) {
            Some(word) => self.doubtful(window, RecordHeader(word)),
            None => self.end(window),
        }
    }

    /// Fewer bytes than a header has.
    fn end<'w>(&mut self, window: Window<'w>) -> Result<Found<'w>, Need> {
        window.reaches(WORD)?;
        self.state = State::Ended;
        if window.bytes.is_empty() {
            return Ok(Found::End);
        }
        let missing = (WORD - window.bytes.len()) as u64;
        Ok(self.gap(window.bytes.len(), GapReason::Truncated { missing }))
    }

    /// A record that may not be at hand, or not as it should be.
    fn doubtful<'w>(
        &mut self,
        window: Window<'w>,
        header: RecordHeader,
    ) -> Result<Found<'w>, Need> {
        let words = header.words();
        let len = words.saturating_mul(WORD as u64);
        if self.offset == 0 && window.bytes.starts_with(&BIG_ENDIAN_MAGIC_BYTES) {
            self.state = State::Ended;
            return Ok(self.gap(WORD, GapReason::BigEndian));
        }
        if words == 0 {
            return Ok(self.lost(GapReason::ZeroSize));
        }
        let Some(len) = usize::try_from(len).ok().filter(|_| len <= self.limit) else {
            return self.over_limit(window, len, words);
        };
        if !window.reaches(len)? {
            return self.beyond_end(window, len, words);
        }
        match Decoded::decode(&window.bytes[..len]) {
            Ok(decoded) if matches!(decoded.record, Record::Unknown(_)) => {
                self.unknown(window, len, decoded)
            }
            Ok(decoded) if decoded.extra.is_empty() => Ok(Found::Record(len, decoded)),
            Ok(decoded) => {
                let parts = len - decoded.extra.len();
                if are_arguments(&decoded.record, decoded.extra) && window.continues_at(len)? {
                    return Ok(Found::Record(len, decoded));
                }
                if window.records_at(parts)?
                    || (!window.continues_at(len)? && window.continues_at(parts)?)
                {
                    let parts_words = (parts / WORD) as u64;
                    let reason = GapReason::Swallows {
                        words,
                        parts: parts_words,
                    };
                    return Ok(self.gap(parts, reason));
                }
                self.leads_on(window, len, decoded)
            }
            Err(malformed) => self.malformed(window, len, malformed),
        }
    }

    fn malformed<'w>(
        &mut self,
        window: Window<'w>,
        len: usize,
        malformed: Malformed,
    ) -> Result<Found<'w>, Need> {
        let reason = GapReason::Malformed(malformed);
        // Either the size is damaged or a length inside. The parts win if known
        // records follow where they end; what follows where the size ends need not
        // be known.
        let parts = window
            .parts_at(0)?
            .filter(|&parts| parts != len && parts as u64 <= self.limit);
        if let Some(parts) = parts
            && (parts < len || !window.records_at(len)?)
            && window.reaches(parts)?
            && window.records_at(parts)?
        {
            return Ok(self.gap(parts, reason));
        }
        if window.continues_at(len)? {
            return Ok(self.gap(len, reason));
        }
        if let Some(parts) = parts
            && window.reaches(parts)?
            && window.continues_at(parts)?
        {
            return Ok(self.gap(parts, reason));
        }
        Ok(self.lost(reason))
    }

    fn unknown<'w>(
        &mut self,
        window: Window<'w>,
        len: usize,
        decoded: Decoded<'w>,
    ) -> Result<Found<'w>, Need> {
        if !window.continues_at(len)? {
            for at in (WORD..len).step_by(WORD) {
                if window.records_at(at)? {
                    let words = (len / WORD) as u64;
                    return Ok(self.gap(at, GapReason::LeadsNowhere { words }));
                }
            }
        }
        self.leads_on(window, len, decoded)
    }

    /// A record that is believed unless nothing follows it and another trace begins
    /// inside.
    fn leads_on<'w>(
        &mut self,
        window: Window<'w>,
        len: usize,
        decoded: Decoded<'w>,
    ) -> Result<Found<'w>, Need> {
        if !window.continues_at(len)?
            && let Some(at) = magic_in(&window.bytes[..len])
        {
            let words = (len / WORD) as u64;
            return Ok(self.gap(at, GapReason::LeadsNowhere { words }));
        }
        Ok(Found::Record(len, decoded))
    }

    /// A record that would end after the end of the trace.
    fn beyond_end<'w>(
        &mut self,
        window: Window<'w>,
        len: usize,
        words: u64,
    ) -> Result<Found<'w>, Need> {
        let bytes = window.bytes;
        let parts = window.parts_at(0)?;
        if parts != Some(len) {
            let reason = GapReason::BeyondEnd { words };
            if let Some(parts) = parts
                && parts <= bytes.len()
                && window.continues_at(parts)?
            {
                return Ok(self.gap(parts, reason));
            }
            // Up to the first place found and no further, so that many such records
            // do not cost the length of the trace each.
            for at in (0..bytes.len()).step_by(WORD) {
                if at > 0 && window.several_at(at)? {
                    return Ok(self.gap(at, reason));
                }
                let near = &bytes[at..bytes.len().min(at + 2 * WORD)];
                if let Some(shift) = magic_in(near) {
                    return Ok(self.gap(at + shift, reason));
                }
            }
        }
        self.state = State::Ended;
        let missing = (len - bytes.len()) as u64;
        Ok(self.gap(bytes.len(), GapReason::Truncated { missing }))
    }

    /// A record too large to be held: passed over if its parts confirm its size.
    fn over_limit<'w>(
        &mut self,
        window: Window<'w>,
        len: u64,
        words: u64,
    ) -> Result<Found<'w>, Need> {
        let reason = GapReason::TooLarge { words };
        let parts = window.parts_at(0)?;
        if parts.is_none_or(|parts| parts as u64 != len) {
            if let Some(parts) = parts
                && parts as u64 <= self.limit
                && window.reaches(parts)?
                && window.continues_at(parts)?
            {
                return Ok(self.gap(parts, reason));
            }
            return Ok(self.lost(reason));
        }
        self.state = State::Skipping {
            start: self.offset,
            end: self.offset + len,
            words,
        };
        Ok(Found::Nothing(0))
    }

    fn skip<'w>(
        &mut self,
        window: Window<'w>,
        start: u64,
        end: u64,
        words: u64,
    ) -> Result<Found<'w>, Need> {
        let left = usize::try_from(end - self.offset).unwrap_or(usize::MAX);
        let consumed = left.min(window.bytes.len());
        if consumed < left && !window.is_last {
            return match consumed {
                0 => Err(Need(1)),
                _ => Ok(Found::Nothing(consumed)),
            };
        }
        self.state = State::Records;
        let mut reason = GapReason::TooLarge { words };
        if consumed < left {
            let missing = (left - consumed) as u64;
            reason = GapReason::Truncated { missing };
        }
        let len = self.offset + consumed as u64 - start;
        let gap = Gap {
            offset: start,
            len,
            reason,
        };
        Ok(Found::Gap { gap, consumed })
    }

    /// Looks for the next records, at whole words from where things went wrong, and
    /// for the magic number anywhere.
    fn seek<'w>(
        &mut self,
        window: Window<'w>,
        start: u64,
        reason: GapReason,
    ) -> Result<Found<'w>, Need> {
        let bytes = window.bytes;
        let mut at = 0;
        loop {
            at += zeros_from(bytes, at);
            // There is no record where the search began, but the magic number of
            // another trace may begin inside its header.
            let place = match self.records_near(window, start, at) {
                Ok(place) => place,
                // What lies before has been looked at and need not be kept.
                Err(_) if at > 0 => return Ok(Found::Nothing(at)),
                Err(need) => return Err(need),
            };
            let consumed = match place {
                Place::Here(at) => {
                    self.state = State::Records;
                    at
                }
                Place::End => {
                    self.state = State::Ended;
                    bytes.len()
                }
                Place::NotHere => {
                    at += WORD;
                    continue;
                }
            };
            let gap = Gap {
                offset: start,
                len: self.offset + consumed as u64 - start,
                reason,
            };
            return Ok(Found::Gap { gap, consumed });
        }
    }

    fn records_near(&self, window: Window<'_>, start: u64, at: usize) -> Result<Place, Need> {
        if !window.reaches(at + WORD)? {
            return Ok(Place::End);
        }
        if (at > 0 || self.offset > start) && window.records_at(at)? {
            return Ok(Place::Here(at));
        }
        // The magic number needs no neighbours, nor alignment: it begins the second
        // of two traces that were joined after the first had lost its tail.
        if window.reaches(at + 2 * WORD)? {
            let near = &window.bytes[at..at + 2 * WORD];
            if let Some(shift) = magic_in(near) {
                return Ok(Place::Here(at + shift));
            }
        }
        Ok(Place::NotHere)
    }

    /// Gives up on the record that begins here and starts seeking.
    fn lost<'w>(&mut self, reason: GapReason) -> Found<'w> {
        self.state = State::Seeking {
            start: self.offset,
            reason,
        };
        Found::Nothing(0)
    }

    /// A gap of `len` bytes from here.
    fn gap<'w>(&self, len: usize, reason: GapReason) -> Found<'w> {
        Found::Gap {
            gap: Gap {
                offset: self.offset,
                len: len as u64,
                reason,
            },
            consumed: len,
        }
    }
}

enum Place {
    Here(usize),
    NotHere,
    End,
}

/// How many of the words from `at` on are zeros with zeros after them: no record begins in them, as
/// none has no size, and no magic number.
fn zeros_from(bytes: &[u8], at: usize) -> usize {
    let words = bytes[at..].chunks_exact(WORD);
    let zeros = words.take_while(|word| **word == [0; WORD]).count();
    zeros.saturating_sub(1) * WORD
}

/// Where the magic number stands in `bytes`, except at their start.
fn magic_in(bytes: &[u8]) -> Option<usize> {
    let last = bytes.len().checked_sub(WORD)?;
    // Its first byte rules out most places without a look at the others.
    (1..=last).find(|&at| bytes[at] == MAGIC_BYTES[0] && bytes[at..].starts_with(&MAGIC_BYTES))
}
