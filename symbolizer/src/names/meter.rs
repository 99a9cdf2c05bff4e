//! Keeps DWARF decoding within bounds. The decoders are honest, the data need not be: tables may
//! overlap so that work grows with the square of the file, entries may nest until the stack ends.
//! All of them read through a [`Reader`], so this is where work is counted and depth is noticed.
//! A reader that has no allowance left reports the end of its data.

use std::borrow::Cow;
use std::cell::Cell;
use std::sync::Arc;

use gimli::Reader as _;
use gimli::{EndianSlice, ReaderOffsetId, Result, RunTimeEndian};

use crate::image::elf::Bytes;
use crate::open::FileBytes;

/// A section, read on the allowance of the current [`metered`] call.
#[derive(Clone, Debug)]
pub(crate) struct Reader {
    whole: FileBytes,
    /// What is left, within `whole`.
    start: usize,
    end: usize,
    endian: RunTimeEndian,
    account: Account,
}

/// Sections that are counted apart, since what is built from them differs in size: a row of a line
/// table takes a byte in the file and twenty-four in memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Account {
    Abbreviations,
    Entries,
    Lines,
    Ranges,
    Other,
    /// Not a section: bytes of text that were copied out of any of them. A line table names a file
    /// in three bytes and gets a path of a hundred for it.
    Text,
}

const ACCOUNTS: usize = 6;

/// What may still be read of each kind of section over the life of an image. In honest files each
/// thing is decoded once or twice, so a small multiple of the sections' sizes is plenty; it also
/// bounds the memory that decoded tables take.
#[derive(Clone, Debug)]
pub(crate) struct Allowance([u64; ACCOUNTS]);

impl Default for Allowance {
    /// Enough to find out that sections are empty.
    fn default() -> Allowance {
        Allowance([1 << 16; ACCOUNTS])
    }
}

impl Allowance {
    /// Adds what a section of `size` bytes is good for.
    pub fn grow(&mut self, account: Account, size: usize) {
        let (times, text) = match account {
            Account::Lines => (4, 64),
            Account::Abbreviations => (4, 0),
            Account::Ranges => (8, 0),
            Account::Entries => (16, 4),
            Account::Other | Account::Text => (16, 4),
        };
        // Short lists of other sections are gone through again for every entry that names them.
        let shares = [
            (account, times),
            (Account::Other, 16),
            (Account::Text, text),
        ];
        for (account, times) in shares {
            let more = (size as u64).saturating_mul(times);
            let left = &mut self.0[account as usize];
            *left = left.saturating_add(more);
        }
    }
}

/// How far below the caller's the stack may grow while entries nest. Threads have two mebibytes as
/// a rule; honest chains of inlined functions take some ten kibibytes.
const STACK: usize = 512 << 10;

/// Steps that an account draws at a time, so that most of them are one subtraction. Only when it
/// draws again are the call's steps counted and is the stack looked at: entries cannot nest deeper
/// in between than by one level for each step.
const DRAW: u64 = 32;

/// What the running call of [`metered`] may still read.
struct Meter {
    /// Of each account: drawn already, and to be used before more is.
    drawn: [Cell<u64>; ACCOUNTS],
    left: [Cell<u64>; ACCOUNTS],
    steps: Cell<u64>,
    floor: Cell<usize>,
    stopped: Cell<Option<&'static str>>,
}

thread_local! {
    static METER: Meter = const {
        Meter {
            drawn: [const { Cell::new(0) }; ACCOUNTS],
            left: [const { Cell::new(0) }; ACCOUNTS],
            steps: Cell::new(0),
            floor: Cell::new(usize::MAX),
            stopped: Cell::new(None),
        }
    };
}

/// Why the last [`metered`] call of this thread came to an end before the data did, if so.
pub(crate) fn stopped() -> Option<&'static str> {
    METER.with(|meter| meter.stopped.get())
}

/// What a decoder's error comes from: the data, or the meter.
pub(crate) fn explain(error: gimli::Error) -> String {
    stopped().map_or_else(|| error.to_string(), str::to_owned)
}

/// Runs `decode`, which may read `steps` times and no more than `allowance`, from which what it
/// used is taken.
pub(crate) fn metered<T>(allowance: &mut Allowance, steps: u64, decode: impl FnOnce() -> T) -> T {
    METER.with(|meter| {
        for account in 0..ACCOUNTS {
            meter.drawn[account].set(0);
            meter.left[account].set(allowance.0[account]);
        }
        meter.steps.set(steps);
        meter.stopped.set(None);
        meter.floor.set(stack_pointer().saturating_sub(STACK));
    });
    let result = decode();
    METER.with(|meter| {
        meter.floor.set(usize::MAX);
        for account in 0..ACCOUNTS {
            let drawn = meter.drawn[account].replace(0);
            allowance.0[account] = meter.left[account].replace(0) + drawn;
        }
    });
    result
}

impl Meter {
    /// Takes `steps` from what was drawn, and draws more if that is not enough.
    #[inline]
    fn take(&self, account: Account, steps: u64) -> bool {
        let drawn = &self.drawn[account as usize];
        match drawn.get().checked_sub(steps) {
            Some(rest) => {
                drawn.set(rest);
                true
            }
            None => self.draw(account, steps),
        }
    }

    /// Draws for `steps` and a few more, and takes `steps`. After a refusal there is nothing left.
    #[cold]
    #[inline(never)]
    fn draw(&self, account: Account, steps: u64) -> bool {
        let (drawn, left) = (&self.drawn[account as usize], &self.left[account as usize]);
        let missing = steps - drawn.get();
        let stopped = if left.get() < missing {
            left.set(0);
            "the debug information has to be read too many times over"
        } else if self.steps.get() < missing {
            self.steps.set(0);
            "the debug information takes too long to read"
        } else if stack_pointer() < self.floor.get() {
            "entries of the debug information nest too deep"
        } else {
            let most = left.get().min(self.steps.get());
            let more = missing.saturating_add(DRAW).min(most);
            left.set(left.get() - more);
            self.steps.set(self.steps.get() - more);
            drawn.set(more - missing);
            return true;
        };
        drawn.set(0);
        self.stopped.set(Some(stopped));
        false
    }
}

/// Where the stack is, near enough: the address of a local variable.
#[inline(always)]
fn stack_pointer() -> usize {
    let here = 0u8;
    std::ptr::from_ref(std::hint::black_box(&here)).addr()
}

impl Reader {
    pub fn new(bytes: Option<&Bytes>, endian: RunTimeEndian, account: Account) -> Reader {
        let (whole, range) = match bytes {
            Some(bytes) => (bytes.whole.clone(), bytes.range.clone()),
            None => (Arc::default(), 0..0),
        };
        Reader {
            whole,
            start: range.start,
            end: range.end,
            endian,
            account,
        }
    }

    /// The bytes that are left, at no cost.
    #[inline]
    pub fn bytes(&self) -> &[u8] {
        &self.whole[self.start..self.end]
    }

    /// Lets `decode` read from the bytes that are left.
    #[inline]
    fn advance<'a, T>(
        &'a mut self,
        decode: impl FnOnce(&mut EndianSlice<'a, RunTimeEndian>) -> Result<T>,
    ) -> Result<T> {
        let mut rest = EndianSlice::new(&self.whole[self.start..self.end], self.endian);
        let result = decode(&mut rest);
        self.start = self.end - rest.len();
        result
    }

    /// Pays for `steps` of work, or reports the end of the data.
    #[inline]
    fn pay(&self, steps: usize) -> Result<()> {
        self.pay_from(self.account, steps)
    }

    /// Pays for a copy of the text that is left.
    fn pay_for_text(&self) -> Result<()> {
        self.pay_from(Account::Text, self.len())
    }

    #[inline]
    fn pay_from(&self, account: Account, steps: usize) -> Result<()> {
        if METER.with(|meter| meter.take(account, steps as u64)) {
            Ok(())
        } else {
            Err(gimli::Error::UnexpectedEof(self.offset_id()))
        }
    }
}

impl gimli::Reader for Reader {
    type Endian = RunTimeEndian;
    type Offset = usize;

    #[inline]
    fn endian(&self) -> RunTimeEndian {
        self.endian
    }

    #[inline]
    fn len(&self) -> usize {
        self.end - self.start
    }

    #[inline]
    fn empty(&mut self) {
        self.end = self.start;
    }

    #[inline]
    fn truncate(&mut self, length: usize) -> Result<()> {
        if length > self.len() {
            return Err(gimli::Error::UnexpectedEof(self.offset_id()));
        }
        self.end = self.start + length;
        Ok(())
    }

    #[inline]
    fn offset_from(&self, base: &Reader) -> usize {
        self.start - base.start
    }

    #[inline]
    fn offset_id(&self) -> ReaderOffsetId {
        ReaderOffsetId((self.whole.as_ptr().addr() + self.start) as u64)
    }

    #[inline]
    fn lookup_offset_id(&self, id: ReaderOffsetId) -> Option<usize> {
        let start = self.bytes().as_ptr().addr() as u64;
        let offset = usize::try_from(id.0.checked_sub(start)?).ok()?;
        (offset <= self.len()).then_some(offset)
    }

    #[inline]
    fn find(&self, byte: u8) -> Result<usize> {
        let found = EndianSlice::new(self.bytes(), self.endian).find(byte);
        let found = found.ok_or_else(|| gimli::Error::UnexpectedEof(self.offset_id()))?;
        self.pay(1 + found / 16)?;
        Ok(found)
    }

    #[inline]
    fn skip(&mut self, length: usize) -> Result<()> {
        self.pay(1)?;
        self.advance(|rest| rest.skip(length))
    }

    #[inline]
    fn split(&mut self, length: usize) -> Result<Reader> {
        self.pay(1)?;
        let mut first = self.clone();
        first.truncate(length)?;
        self.start = first.end;
        Ok(first)
    }

    fn to_slice(&self) -> Result<Cow<'_, [u8]>> {
        self.pay_for_text()?;
        Ok(self.bytes().into())
    }

    fn to_string(&self) -> Result<Cow<'_, str>> {
        self.pay_for_text()?;
        let text = str::from_utf8(self.bytes()).map_err(|_| gimli::Error::BadUtf8)?;
        Ok(text.into())
    }

    fn to_string_lossy(&self) -> Result<Cow<'_, str>> {
        self.pay_for_text()?;
        Ok(String::from_utf8_lossy(self.bytes()))
    }

    #[inline]
    fn read_slice(&mut self, buffer: &mut [u8]) -> Result<()> {
        self.pay(1)?;
        self.advance(|rest| gimli::Reader::read_slice(rest, buffer))
    }

    // The provided methods would build these from `read_slice`; going straight to gimli's reader of a slice
    // is half the time of decoding.

    #[inline]
    fn read_u8(&mut self) -> Result<u8> {
        self.pay(1)?;
        self.advance(|rest| rest.read_u8())
    }

    #[inline]
    fn read_uleb128(&mut self) -> Result<u64> {
        self.pay(1)?;
        self.advance(|rest| rest.read_uleb128())
    }

    #[inline]
    fn read_uleb128_u16(&mut self) -> Result<u16> {
        self.pay(1)?;
        self.advance(|rest| rest.read_uleb128_u16())
    }

    #[inline]
    fn read_sleb128(&mut self) -> Result<i64> {
        self.pay(1)?;
        self.advance(|rest| rest.read_sleb128())
    }

    #[inline]
    fn skip_leb128(&mut self) -> Result<()> {
        self.pay(1)?;
        self.advance(|rest| rest.skip_leb128())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn section(size: usize, account: Account) -> Reader {
        let bytes = Bytes {
            whole: Arc::new(vec![7; size]),
            range: 0..size,
        };
        Reader::new(Some(&bytes), RunTimeEndian::Little, account)
    }

    /// Reads the section byte by byte, `times` over.
    fn read(section: &Reader, times: usize) -> Result<()> {
        for _ in 0..times {
            let mut reader = section.clone();
            while !reader.is_empty() {
                reader.read_u8()?;
            }
        }
        Ok(())
    }

    #[test]
    fn a_section_can_be_read_a_few_times_but_not_without_end() {
        const SIZE: usize = 1 << 20;
        let lines = section(SIZE, Account::Lines);
        let mut allowance = Allowance::default();
        allowance.grow(Account::Lines, SIZE);
        for _ in 0..4 {
            assert!(metered(&mut allowance, u64::MAX, || read(&lines, 1)).is_ok());
            assert_eq!(stopped(), None);
        }
        // What one call uses is gone for the next.
        assert!(metered(&mut allowance, u64::MAX, || read(&lines, 1)).is_err());
        assert!(stopped().unwrap().contains("too many times"));
        // Other sections have allowances of their own.
        let entries = section(1000, Account::Entries);
        assert!(metered(&mut allowance, u64::MAX, || read(&entries, 1)).is_ok());
    }

    #[test]
    fn steps_are_counted_for_each_call() {
        let entries = section(1000, Account::Entries);
        let mut allowance = Allowance::default();
        assert!(metered(&mut allowance, 1000, || read(&entries, 1)).is_ok());
        assert!(metered(&mut allowance, 999, || read(&entries, 1)).is_err());
        assert!(stopped().unwrap().contains("too long"));
        assert!(metered(&mut allowance, 1000, || read(&entries, 1)).is_ok());
    }

    #[test]
    fn depth_is_noticed_wherever_it_comes_from() {
        fn descend(section: &Reader, levels: usize) -> Result<usize> {
            let padding = std::hint::black_box([0u8; 1024]);
            section.clone().read_u8()?;
            match levels {
                0 => Ok(0),
                more => Ok(descend(section, more - 1)? + 1 + usize::from(padding[0])),
            }
        }
        let entries = section(10, Account::Entries);
        let mut allowance = Allowance::default();
        let shallow = metered(&mut allowance, 1000, || descend(&entries, 50));
        assert_eq!(shallow, Ok(50));
        let deep = metered(&mut allowance, 10_000, || descend(&entries, 1000));
        assert!(deep.is_err());
        assert!(stopped().unwrap().contains("nest too deep"));
    }

    #[test]
    fn outside_of_a_metered_call_nothing_can_be_read() {
        assert!(section(10, Account::Other).read_u8().is_err());
    }
}
