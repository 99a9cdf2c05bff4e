//! Keeps DWARF decoding within bounds. The decoders are honest, the data need not be: tables may
//! overlap so that work grows with the square of the file, entries may nest until the stack ends.
//! All of them read through a [`Reader`], so this is where work is counted and depth is noticed.
//! A reader that has no allowance left reports the end of its data.

use std::borrow::Cow;
use std::cell::Cell;
use std::sync::Arc;

use gimli::Reader as _;
use gimli::{EndianArcSlice, ReaderOffsetId, Result, RunTimeEndian};

use crate::image::elf::Bytes;

/// A section, read on the allowance of the current [`metered`] call.
#[derive(Clone, Debug)]
pub(crate) struct Reader {
    inner: EndianArcSlice<RunTimeEndian>,
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

thread_local! {
    static LEFT: [Cell<u64>; ACCOUNTS] = const { [const { Cell::new(0) }; ACCOUNTS] };
    static STEPS: Cell<u64> = const { Cell::new(0) };
    static FLOOR: Cell<usize> = const { Cell::new(usize::MAX) };
    static STOPPED: Cell<Option<&'static str>> = const { Cell::new(None) };
}

/// Why the last [`metered`] call of this thread came to an end before the data did, if so.
pub(crate) fn stopped() -> Option<&'static str> {
    STOPPED.get()
}

/// What a decoder's error comes from: the data, or the meter.
pub(crate) fn explain(error: gimli::Error) -> String {
    stopped().map_or_else(|| error.to_string(), str::to_owned)
}

/// Runs `decode`, which may read `steps` times and no more than `allowance`, from which what it
/// used is taken.
pub(crate) fn metered<T>(allowance: &mut Allowance, steps: u64, decode: impl FnOnce() -> T) -> T {
    LEFT.with(|left| {
        for (cell, value) in left.iter().zip(&allowance.0) {
            cell.set(*value);
        }
    });
    STEPS.set(steps);
    STOPPED.set(None);
    FLOOR.set(stack_pointer().saturating_sub(STACK));
    let result = decode();
    FLOOR.set(usize::MAX);
    LEFT.with(|left| {
        for (cell, value) in left.iter().zip(&mut allowance.0) {
            *value = cell.replace(0);
        }
    });
    result
}

/// Where the stack is, near enough: the address of a local variable.
#[inline(always)]
fn stack_pointer() -> usize {
    let here = 0u8;
    std::ptr::from_ref(std::hint::black_box(&here)).addr()
}

impl Reader {
    pub fn new(bytes: Option<&Bytes>, endian: RunTimeEndian, account: Account) -> Reader {
        let inner = match bytes {
            Some(bytes) => {
                EndianArcSlice::new(bytes.whole.clone(), endian).range(bytes.range.clone())
            }
            None => EndianArcSlice::new(Arc::default(), endian),
        };
        Reader { inner, account }
    }

    /// The bytes that are left, at no cost.
    pub fn bytes(&self) -> &[u8] {
        self.inner.bytes()
    }

    /// Pays for `steps` of work, or reports the end of the data.
    #[inline]
    fn pay(&self, steps: usize) -> Result<()> {
        self.pay_from(self.account, steps)
    }

    /// Pays for a copy of the text that is left.
    fn pay_for_text(&self) -> Result<()> {
        self.pay_from(Account::Text, self.inner.len())
    }

    #[inline]
    fn pay_from(&self, account: Account, steps: usize) -> Result<()> {
        let steps = steps as u64;
        if !LEFT.with(|left| take(&left[account as usize], steps)) {
            STOPPED.set(Some(
                "the debug information has to be read too many times over",
            ));
        } else if !STEPS.with(|left| take(left, steps)) {
            STOPPED.set(Some("the debug information takes too long to read"));
        } else if stack_pointer() < FLOOR.get() {
            STOPPED.set(Some("entries of the debug information nest too deep"));
        } else {
            return Ok(());
        }
        Err(gimli::Error::UnexpectedEof(self.inner.offset_id()))
    }
}

#[inline]
fn take(left: &Cell<u64>, steps: u64) -> bool {
    match left.get().checked_sub(steps) {
        Some(rest) => {
            left.set(rest);
            true
        }
        None => {
            left.set(0);
            false
        }
    }
}

impl gimli::Reader for Reader {
    type Endian = RunTimeEndian;
    type Offset = usize;

    #[inline]
    fn endian(&self) -> RunTimeEndian {
        self.inner.endian()
    }

    #[inline]
    fn len(&self) -> usize {
        self.inner.len()
    }

    #[inline]
    fn empty(&mut self) {
        self.inner.empty();
    }

    #[inline]
    fn truncate(&mut self, length: usize) -> Result<()> {
        self.inner.truncate(length)
    }

    #[inline]
    fn offset_from(&self, base: &Reader) -> usize {
        self.inner.offset_from(&base.inner)
    }

    #[inline]
    fn offset_id(&self) -> ReaderOffsetId {
        self.inner.offset_id()
    }

    #[inline]
    fn lookup_offset_id(&self, id: ReaderOffsetId) -> Option<usize> {
        self.inner.lookup_offset_id(id)
    }

    #[inline]
    fn find(&self, byte: u8) -> Result<usize> {
        let found = self.inner.find(byte)?;
        self.pay(1 + found / 16)?;
        Ok(found)
    }

    #[inline]
    fn skip(&mut self, length: usize) -> Result<()> {
        self.pay(1)?;
        self.inner.skip(length)
    }

    #[inline]
    fn split(&mut self, length: usize) -> Result<Reader> {
        self.pay(1)?;
        Ok(Reader {
            inner: self.inner.split(length)?,
            account: self.account,
        })
    }

    fn to_slice(&self) -> Result<Cow<'_, [u8]>> {
        self.pay_for_text()?;
        self.inner.to_slice()
    }

    fn to_string(&self) -> Result<Cow<'_, str>> {
        self.pay_for_text()?;
        self.inner.to_string()
    }

    fn to_string_lossy(&self) -> Result<Cow<'_, str>> {
        self.pay_for_text()?;
        self.inner.to_string_lossy()
    }

    #[inline]
    fn read_slice(&mut self, buffer: &mut [u8]) -> Result<()> {
        self.pay(1)?;
        self.inner.read_slice(buffer)
    }

    // The provided methods would build these from `read_slice`; going straight to the inner reader
    // is half the time of decoding.

    #[inline]
    fn read_u8(&mut self) -> Result<u8> {
        self.pay(1)?;
        self.inner.read_u8()
    }

    #[inline]
    fn read_uleb128(&mut self) -> Result<u64> {
        self.pay(1)?;
        self.inner.read_uleb128()
    }

    #[inline]
    fn read_uleb128_u16(&mut self) -> Result<u16> {
        self.pay(1)?;
        self.inner.read_uleb128_u16()
    }

    #[inline]
    fn read_sleb128(&mut self) -> Result<i64> {
        self.pay(1)?;
        self.inner.read_sleb128()
    }

    #[inline]
    fn skip_leb128(&mut self) -> Result<()> {
        self.pay(1)?;
        self.inner.skip_leb128()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn section(size: usize, account: Account) -> Reader {
        let bytes = Bytes {
            whole: vec![7; size].into(),
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
