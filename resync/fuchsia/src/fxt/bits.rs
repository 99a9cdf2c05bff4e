//! Bit ranges of a 64-bit word, counted as the format document counts them:
//! `[lo .. hi]`, both ends included, bit 0 the least significant. Each record
//! declares its fields as constants of this type, once, for reading and writing.

/// A bit range of a word, both ends included.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bits {
    lo: u32,
    width: u32,
}

/// The bits `[lo .. hi]`.
pub(crate) const fn bits(lo: u32, hi: u32) -> Bits {
    assert!(lo <= hi && hi < 64);
    Bits {
        lo,
        width: hi - lo + 1,
    }
}

impl Bits {
    /// The largest value that fits.
    pub(crate) const fn max(self) -> u64 {
        u64::MAX >> (64 - self.width)
    }

    /// The value of this field in `word`.
    pub(crate) const fn of(self, word: u64) -> u64 {
        (word >> self.lo) & self.max()
    }

    /// A word with `value` in this field and zeros elsewhere. Callers have checked
    /// that the value fits; one that does not must never spill into a neighbour.
    pub(crate) const fn with(self, value: u64) -> u64 {
        debug_assert!(value <= self.max());
        (value & self.max()) << self.lo
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_reads_what_it_wrote_and_nothing_else() {
        const F: Bits = bits(4, 15);
        assert_eq!(F.max(), 0xfff);
        assert_eq!(F.of(u64::MAX), 0xfff);
        assert_eq!(F.with(0xabc), 0xabc0);
        assert_eq!(F.of(0x1234_5678_9abc_abcf), 0xabc);
        assert_eq!(bits(0, 63).of(u64::MAX), u64::MAX);
        assert_eq!(bits(63, 63).with(1), 1 << 63);
    }
}
