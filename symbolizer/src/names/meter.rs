//! Keeps DWARF decoding within bounds. The decoders are honest, the data need not be: tables may
//! overlap so that work grows with the square of the file. All of them read through a [`Reader`], so
//! this is where work is counted.
//! A reader that has no allowance left reports the end of its data.

use std::borrow::Cow;
use std::cell::Cell;

use gimli::Reader as _;
use gimli::{EndianSlice, ReaderOffsetId, Result, RunTimeEndian};

/// What is left of a section, read on the allowance of the current [`metered`] call.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reader<'a> {
    rest: EndianSlice<'a, RunTimeEndian>,
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

    /// Adds what it takes to name the functions at one more address, when all else was read before.
    pub fn grow_for_an_address(&mut self) {
        for account in [Account::Entries, Account::Other] {
            let left = &mut self.0[account as usize];
            *left = left.saturating_add(1 << 12);
        }
    }
}

/// Steps that an account draws at a time, so that most of them are one subtraction. Only when it
/// draws again are the call's steps counted.
const DRAW: u64 = 32;

/// What the running call of [`metered`] may still read.
struct Meter {
    /// Of each account: drawn already, and to be used before more is.
    drawn: [Cell<u64>; ACCOUNTS],
    left: [Cell<u64>; ACCOUNTS],
    steps: Cell<u64>,
    stopped: Cell<Option<&'static str>>,
}

thread_local! {
    static METER: Meter = const {
        Meter {
            drawn: [const { Cell::new(0) }; ACCOUNTS],
            left: [const { Cell::new(0) }; ACCOUNTS],
            steps: Cell::new(0),
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
    });
    let result = decode();
    METER.with(|meter| {
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

impl<'a> Reader<'a> {
    pub fn new(bytes: &'a [u8], endian: RunTimeEndian, account: Account) -> Reader<'a> {
        Reader {
            rest: EndianSlice::new(bytes, endian),
            account,
        }
    }

    /// The bytes that are left, at no cost.
    #[inline]
    pub fn bytes(&self) -> &'a [u8] {
        self.rest.slice()
    }

    /// Pays for `steps` of work, or reports the end of the data.
    #[inline]
    fn pay(&self, steps: usize) -> Result<()> {
        self.pay_from(self.account, steps)
    }

    /// Pays for all bytes that are left, for a decoder that does not pay itself.
    pub fn pay_for_all(&self) -> Result<()> {
        self.pay(self.rest.len())
    }

    /// Pays for as many bytes.
    pub fn pay_for(&self, bytes: usize) -> Result<()> {
        self.pay(bytes)
    }

    /// Pays for a copy of the text that is left.
    pub fn pay_for_text(&self) -> Result<()> {
        self.pay_from(Account::Text, self.rest.len())
    }

    #[inline]
    fn pay_from(&self, account: Account, steps: usize) -> Result<()> {
        if METER.with(|meter| meter.take(account, steps as u64)) {
            Ok(())
        } else {
            Err(gimli::Error::UnexpectedEof(self.rest.offset_id()))
        }
    }
}

impl<'a> gimli::Reader for Reader<'a> {
    type Endian = RunTimeEndian;
    type Offset = usize;

    #[inline]
    fn endian(&self) -> RunTimeEndian {
        self.rest.endian()
    }

    #[inline]
    fn len(&self) -> usize {
        self.rest.len()
    }

    #[inline]
    fn empty(&mut self) {
        self.rest.empty();
    }

    #[inline]
    fn truncate(&mut self, length: usize) -> Result<()> {
        self.rest.truncate(length)
    }

    #[inline]
    fn offset_from(&self, base: &Reader<'a>) -> usize {
        self.rest.offset_from(base.rest)
    }

    #[inline]
    fn offset_id(&self) -> ReaderOffsetId {
        self.rest.offset_id()
    }

    #[inline]
    fn lookup_offset_id(&self, id: ReaderOffsetId) -> Option<usize> {
        self.rest.lookup_offset_id(id)
    }

    #[inline]
    fn find(&self, byte: u8) -> Result<usize> {
        let found = self.rest.find(byte);
        let found = found.ok_or_else(|| gimli::Error::UnexpectedEof(self.offset_id()))?;
        self.pay(1 + found / 16)?;
        Ok(found)
    }

    #[inline]
    fn skip(&mut self, length: usize) -> Result<()> {
        self.pay(1)?;
        self.rest.skip(length)
    }

    #[inline]
    fn split(&mut self, length: usize) -> Result<Reader<'a>> {
        self.pay(1)?;
        let rest = self.rest.split(length)?;
        Ok(Reader { rest, ..*self })
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
        self.rest.read_slice(buffer)
    }

    // The provided methods would build these from `read_slice`; going straight to gimli's reader of a slice
    // is half the time of decoding.

    #[inline]
    fn read_u8(&mut self) -> Result<u8> {
        self.pay(1)?;
        self.rest.read_u8()
    }

    #[inline]
    fn read_uleb128(&mut self) -> Result<u64> {
        self.pay(1)?;
        self.rest.read_uleb128()
    }

    #[inline]
    fn read_uleb128_u16(&mut self) -> Result<u16> {
        self.pay(1)?;
        self.rest.read_uleb128_u16()
    }

    #[inline]
    fn read_sleb128(&mut self) -> Result<i64> {
        self.pay(1)?;
        self.rest.read_sleb128()
    }

    #[inline]
    fn skip_leb128(&mut self) -> Result<()> {
        self.pay(1)?;
        self.rest.skip_leb128()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn section(bytes: &[u8], account: Account) -> Reader<'_> {
        Reader::new(bytes, RunTimeEndian::Little, account)
    }

    /// Reads the section byte by byte, `times` over.
    fn read(section: &Reader<'_>, times: usize) -> Result<()> {
        for _ in 0..times {
            let mut reader = *section;
            while !reader.is_empty() {
                reader.read_u8()?;
            }
        }
        Ok(())
    }

    #[test]
    fn a_section_can_be_read_a_few_times_but_not_without_end() {
        const SIZE: usize = 1 << 20;
        let bytes = vec![7; SIZE];
        let lines = section(&bytes, Account::Lines);
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
        let entries = section(&[7; 1000], Account::Entries);
        assert!(metered(&mut allowance, u64::MAX, || read(&entries, 1)).is_ok());
    }

    #[test]
    fn steps_are_counted_for_each_call() {
        let entries = section(&[7; 1000], Account::Entries);
        let mut allowance = Allowance::default();
        assert!(metered(&mut allowance, 1000, || read(&entries, 1)).is_ok());
        assert!(metered(&mut allowance, 999, || read(&entries, 1)).is_err());
        assert!(stopped().unwrap().contains("too long"));
        assert!(metered(&mut allowance, 1000, || read(&entries, 1)).is_ok());
    }

    #[test]
    fn outside_of_a_metered_call_nothing_can_be_read() {
        assert!(section(&[7; 10], Account::Other).read_u8().is_err());
    }
}
