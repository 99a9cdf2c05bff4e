//! Reading the records of a trace: [`Records`] from a slice, [`Reader`] from any
//! `io::Read`. Both give every byte of the input to exactly one item.

use std::io;

use super::gap::Gap;
use super::layer::Raw;
use super::plausible::{Need, Window};
use super::record::{Decoded, Record};
use super::scan::{Found, Scanner};

/// What a reader finds: a record, or a range of bytes that holds none.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Item<'a> {
    /// A record, decoded, with its bytes.
    Record(Located<'a>),
    /// A range of bytes without a readable record.
    Gap(Gap),
}

/// A raw record and where it stands.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Located<'a> {
    /// Where the record begins in the input, in bytes.
    pub offset: u64,
    /// The bytes of the record, to be copied as they are.
    pub bytes: &'a [u8],
    /// The record as its bytes have it, with indices in place of strings and threads.
    pub record: Record<Raw<'a>>,
    /// Words at its end that its type does not explain.
    pub extra: &'a [u8],
}

impl<'a> Located<'a> {
    fn new(offset: u64, bytes: &'a [u8], decoded: Decoded<'a>) -> Located<'a> {
        Located {
            offset,
            bytes,
            record: decoded.record,
            extra: decoded.extra,
        }
    }
}

/// The records of a trace in memory.
///
/// ```
/// use logdef_fuchsia::fxt::{Item, Records, MAGIC_BYTES};
///
/// let mut items = Records::new(&MAGIC_BYTES);
/// assert!(matches!(items.next(), Some(Item::Record(_))));
/// assert_eq!(items.next(), None);
/// ```
#[derive(Clone, Debug)]
pub struct Records<'a> {
    rest: &'a [u8],
    scanner: Scanner,
}

impl<'a> Records<'a> {
    /// Reads `trace` from its start.
    pub fn new(trace: &'a [u8]) -> Records<'a> {
        Records {
            rest: trace,
            scanner: Scanner::new(u64::MAX),
        }
    }
}

impl<'a> Iterator for Records<'a> {
    type Item = Item<'a>;

    #[inline]
    fn next(&mut self) -> Option<Item<'a>> {
        loop {
            let offset = self.scanner.offset();
            let window = Window {
                bytes: self.rest,
                is_last: true,
            };
            if let Some((len, decoded)) = self.scanner.plain_record(window) {
                let (bytes, rest) = self.rest.split_at(len);
                self.rest = rest;
                return Some(Item::Record(Located::new(offset, bytes, decoded)));
            }
            let (consumed, item) = match self.scanner.step(window) {
                Ok(Found::Record(len, decoded)) => {
                    let located = Located::new(offset, &self.rest[..len], decoded);
                    (len, Some(Item::Record(located)))
                }
                Ok(Found::Gap { gap, consumed }) => (consumed, Some(Item::Gap(gap))),
                Ok(Found::Nothing(consumed)) => (consumed, None),
                // A last window is never too short.
                Ok(Found::End) | Err(Need(_)) => return None,
            };
            self.rest = &self.rest[consumed..];
            if item.is_some() {
                return item;
            }
        }
    }
}

/// Read at a time, at least.
const CHUNK: usize = 256 << 10;

/// Records from any `io::Read`, which may deliver its bytes in pieces of any size.
///
/// Holds the record at hand and, where the trace is damaged, up to 700 KB more; never
/// more than twice what has been read, and never a record above the limit.
///
/// ```
/// use logdef_fuchsia::fxt::{Item, Reader, MAGIC_BYTES};
///
/// # fn main() -> std::io::Result<()> {
/// let mut reader = Reader::new(&MAGIC_BYTES[..]);
/// while let Some(item) = reader.next()? {
///     match item {
///         Item::Record(found) => println!("{}: {:?}", found.offset, found.record),
///         Item::Gap(gap) => println!("{gap}"),
///     }
/// }
/// # Ok(()) }
/// ```
#[derive(Debug)]
pub struct Reader<R> {
    input: R,
    buffer: Vec<u8>,
    /// The part of `buffer` that holds bytes not consumed yet.
    start: usize,
    end: usize,
    is_last: bool,
    scanner: Scanner,
    skip: SkipZeros<R>,
}

/// Passes over zeros that an input has next, without reading them: given the most bytes, returns
/// how many they were.
type SkipZeros<R> = fn(&mut R, u64) -> io::Result<u64>;

impl<R: io::Read> Reader<R> {
    /// The largest record that is held in memory by default, in bytes.
    pub const DEFAULT_LIMIT: u64 = 64 << 20;

    /// Reads `input` from its start.
    pub fn new(input: R) -> Reader<R> {
        Reader::with_limit(input, Self::DEFAULT_LIMIT)
    }

    /// A reader that holds records of up to `limit` bytes. Larger ones become gaps.
    /// Limits under 32 760 bytes, what records other than large ones take, have no
    /// use and are raised to that.
    pub fn with_limit(input: R, limit: u64) -> Reader<R> {
        Reader {
            input,
            buffer: Vec::new(),
            start: 0,
            end: 0,
            is_last: false,
            scanner: Scanner::new(limit.max(0xfff * 8)),
            skip: |_, _| Ok(0),
        }
    }

    /// Passes over long stretches of zeros as `skip` does where no record can be in them: over the
    /// holes of a file. It is given the input and the most bytes that may be passed over, a multiple
    /// of eight, and returns how many zeros it did pass over, a multiple of eight again.
    #[must_use]
    pub fn over_holes(mut self, skip: fn(&mut R, u64) -> io::Result<u64>) -> Reader<R> {
        self.skip = skip;
        self
    }

    /// The next record or gap; None at the end. After an error of the input the call
    /// can be repeated.
    #[allow(clippy::should_implement_trait, reason = "items borrow the reader")]
    pub fn next(&mut self) -> io::Result<Option<Item<'_>>> {
        loop {
            let offset = self.scanner.offset();
            let window = Window {
                bytes: &self.buffer[self.start..self.end],
                is_last: self.is_last,
            };
            let plain = self.scanner.plain_record(window).map(|(len, _)| len);
            let step = match plain {
                Some(len) => Ok(Step::Record(len)),
                None => self.scanner.step(window).map(Step::from),
            };
            match step {
                Ok(Step::Record(len)) => {
                    let bytes = &self.buffer[self.start..self.start + len];
                    self.start += len;
                    // Decoded before; but that borrow cannot leave the loop.
                    return Ok(Decoded::decode(bytes)
                        .ok()
                        .map(|decoded| Item::Record(Located::new(offset, bytes, decoded))));
                }
                Ok(Step::Gap(gap, consumed)) => {
                    self.start += consumed;
                    return Ok(Some(Item::Gap(gap)));
                }
                Ok(Step::Nothing(consumed)) => self.start += consumed,
                Ok(Step::End) => return Ok(None),
                Err(Need(bytes)) => self.fill(bytes)?,
            }
        }
    }

    /// Calls `f` with every item: the same as [`Reader::next`] in a loop, a little
    /// faster.
    pub fn for_each<E: From<io::Error>>(
        &mut self,
        mut f: impl FnMut(Item<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        loop {
            let offset = self.scanner.offset();
            let window = Window {
                bytes: &self.buffer[self.start..self.end],
                is_last: self.is_last,
            };
            if let Some((len, decoded)) = self.scanner.plain_record(window) {
                f(Item::Record(Located::new(
                    offset,
                    &window.bytes[..len],
                    decoded,
                )))?;
                self.start += len;
                continue;
            }
            match self.scanner.step(window) {
                Ok(Found::Record(len, decoded)) => {
                    let located = Located::new(offset, &window.bytes[..len], decoded);
                    f(Item::Record(located))?;
                    self.start += len;
                }
                Ok(Found::Gap { gap, consumed }) => {
                    f(Item::Gap(gap))?;
                    self.start += consumed;
                }
                Ok(Found::Nothing(consumed)) => self.start += consumed,
                Ok(Found::End) => return Ok(()),
                Err(Need(bytes)) => self.fill(bytes)?,
            }
        }
    }

    /// Reads until at least `need` bytes are at hand, or the input ends.
    #[cold]
    fn fill(&mut self, need: usize) -> io::Result<()> {
        self.buffer.copy_within(self.start..self.end, 0);
        self.end -= self.start;
        self.start = 0;
        let most = self.scanner.ignores_zeros_behind(&self.buffer[..self.end]) & !7;
        if most > 0 && !self.is_last {
            let skipped = (self.skip)(&mut self.input, most)?;
            self.scanner.pass(skipped);
        }
        while self.end < need && !self.is_last {
            if self.buffer.len() - self.end < CHUNK / 2 {
                // Doubles what has arrived, whatever a header may have claimed.
                self.buffer.resize((self.end * 2).max(CHUNK), 0);
            }
            match self.input.read(&mut self.buffer[self.end..]) {
                Ok(0) => self.is_last = true,
                Ok(n) => self.end += n,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
            }
        }
        Ok(())
    }
}

/// What the scanner found, without the borrow of its window.
enum Step {
    Record(usize),
    Gap(Gap, usize),
    Nothing(usize),
    End,
}

impl From<Found<'_>> for Step {
    fn from(found: Found<'_>) -> Step {
        match found {
            Found::Record(len, _) => Step::Record(len),
            Found::Gap { gap, consumed } => Step::Gap(gap, consumed),
            Found::Nothing(consumed) => Step::Nothing(consumed),
            Found::End => Step::End,
        }
    }
}
