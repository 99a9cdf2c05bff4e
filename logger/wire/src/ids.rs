//! The numbers that name things in a log, one type each so that none can be
//! taken for another. What they mean is FORMAT.md's glossary; nothing here
//! knows how they stand on the wire.

use core::fmt;

macro_rules! number {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, Eq, Hash, Ord, PartialEq, PartialOrd)]
        pub struct $name(pub u64);

        impl fmt::LowerHex for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::LowerHex::fmt(&self.0, f)
            }
        }
    };
}

number! {
    /// Which logdef table a record uses: the identity of an image's content.
    Magic
}

number! {
    /// The random identity of one run of one process.
    Run
}

number! {
    /// An address as the linker gave it: the same in every run of an image.
    Svma
}

number! {
    /// An address as it was in one run: the linker's plus the load bias.
    Avma
}

number! {
    /// A thread's number in its run, in order of first log call.
    ThreadNumber
}

impl Magic {
    /// The magic of an image file of `size` bytes with this SHA-1 (or MD5)
    /// digest: the digest's first eight bytes as a big-endian number, XOR the
    /// size. `sha1sum` and `stat` verify it.
    pub const fn of_digest(size: u64, digest: &[u8]) -> Option<Magic> {
        match digest.first_chunk::<8>() {
            Some(head) => Some(Magic(u64::from_be_bytes(*head) ^ size)),
            None => None,
        }
    }
}

impl Svma {
    /// The lowest number of a text; no image of a user's program is linked there.
    const TEXTS: u64 = 1 << 63;

    /// What stands in a data record in place of an address for a string that was
    /// made at run time: its number plus 2⁶³.
    pub const fn text(number: u64) -> Svma {
        Svma(Self::TEXTS | number)
    }

    /// The number of such a string; `None` for an address in an image.
    pub const fn text_number(self) -> Option<u64> {
        if self.0 >= Self::TEXTS {
            Some(self.0 - Self::TEXTS)
        } else {
            None
        }
    }
}

/// A record's place in its thread: the thread's number in the high 24 bits,
/// the count of its log calls in the low 40. (run, sequence) is the identity
/// of a record.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct Sequence(pub u64);

impl Sequence {
    /// Bits of the count of log calls.
    pub const COUNT_BITS: u32 = 40;

    /// The sequence of call `count` of thread `number`; bits that do not fit
    /// are cut off.
    pub const fn new(number: ThreadNumber, count: u64) -> Sequence {
        Sequence(number.0 << Self::COUNT_BITS | count & ((1 << Self::COUNT_BITS) - 1))
    }

    /// The thread's number in its run.
    pub const fn number(self) -> ThreadNumber {
        ThreadNumber(self.0 >> Self::COUNT_BITS)
    }

    /// How many calls of this thread came before this one, dropped ones
    /// included.
    pub const fn count(self) -> u64 {
        self.0 & ((1 << Self::COUNT_BITS) - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_magic_is_what_sha1sum_and_stat_say() {
        // printf 'abc' | sha1sum: a9993e364706816aba3e25717850c26c9cd0d89d
        let digest = [0xa9, 0x99, 0x3e, 0x36, 0x47, 0x06, 0x81, 0x6a, 0xba, 0x3e];
        assert_eq!(
            Magic::of_digest(3, &digest),
            Some(Magic(0xa999_3e36_4706_8169))
        );
        assert_eq!(Magic::of_digest(3, &digest[..7]), None);
    }

    #[test]
    fn a_text_is_no_address() {
        assert_eq!(Svma::text(7).text_number(), Some(7));
        assert_eq!(Svma(0x2008).text_number(), None);
    }

    #[test]
    fn a_sequence_holds_number_and_count() {
        let s = Sequence::new(ThreadNumber(0xab_cdef), 0xff_ffff_ffff);
        assert_eq!(s.number(), ThreadNumber(0xab_cdef));
        assert_eq!(s.count(), 0xff_ffff_ffff);
    }
}
