//! Ways to damage a log, each with a description. Every one is deterministic, so
//! that what was seen once can be seen again.

use std::fmt;

/// One damage to a file, at an offset of the file as it is at that moment.
#[derive(Clone, Copy, Debug)]
pub enum Blow {
    /// One bit is flipped.
    Flip {
        /// Which byte.
        at: usize,
    },
    /// A range is filled with zeros, as a lost sector is.
    Zero {
        /// First byte.
        at: usize,
        /// How many.
        len: usize,
    },
    /// A range goes missing, and what follows moves up.
    Remove {
        /// First byte.
        at: usize,
        /// How many.
        len: usize,
    },
    /// Foreign bytes are put in.
    Insert {
        /// Before which byte.
        at: usize,
        /// How many.
        len: usize,
    },
    /// The file ends early.
    Cut {
        /// Its new length.
        at: usize,
    },
}

impl Blow {
    /// Deals the blow.
    ///
    /// # Panics
    ///
    /// If it lies outside the file.
    pub fn deal(self, bytes: &mut Vec<u8>) {
        match self {
            Blow::Flip { at } => bytes[at] ^= 0x10,
            Blow::Zero { at, len } => bytes[at..at + len].fill(0),
            Blow::Remove { at, len } => {
                let _ = bytes.drain(at..at + len);
            }
            Blow::Insert { at, len } => {
                let mut random = Random(at as u64);
                let foreign: Vec<u8> = (0..len).map(|_| random.next() as u8).collect();
                bytes.splice(at..at, foreign);
            }
            Blow::Cut { at } => {
                assert!(at <= bytes.len());
                bytes.truncate(at);
            }
        }
    }
}

impl fmt::Display for Blow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Blow::Flip { at } => write!(f, "byte {at}: one bit flipped"),
            Blow::Zero { at, len } => write!(f, "bytes {at}..{}: zeroed", at + len),
            Blow::Remove { at, len } => write!(f, "byte {at}: {len} bytes removed"),
            Blow::Insert { at, len } => {
                write!(f, "bytes {at}..{}: foreign bytes inserted", at + len)
            }
            Blow::Cut { at } => write!(f, "byte {at}: the rest cut off"),
        }
    }
}

/// SplitMix64: the same numbers for the same seed, everywhere.
#[derive(Clone, Debug)]
pub struct Random(pub u64);

impl Random {
    /// The next number.
    #[expect(clippy::should_implement_trait, reason = "it never ends")]
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mix(self.0)
    }

    /// The next number below `end`.
    pub fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }
}

/// The finalizer of SplitMix64: a number that looks random, for each number.
pub fn mix(mut n: u64) -> u64 {
    n = (n ^ n >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    n = (n ^ n >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    n ^ n >> 31
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_blow_does_what_it_says() {
        let after = |blow: Blow| {
            let mut bytes = (0..16).collect();
            blow.deal(&mut bytes);
            bytes
        };
        assert_eq!(after(Blow::Flip { at: 3 })[3], 0x13);
        assert_eq!(after(Blow::Zero { at: 3, len: 2 })[2..6], [2, 0, 0, 5]);
        assert_eq!(after(Blow::Remove { at: 3, len: 2 })[2..5], [2, 5, 6]);
        assert_eq!(
            after(Blow::Insert { at: 3, len: 2 })[5..],
            after(Blow::Cut { at: 16 })[3..]
        );
        assert_eq!(after(Blow::Cut { at: 3 }), [0, 1, 2]);
    }

    #[test]
    fn the_numbers_are_those_of_splitmix64() {
        // The first outputs for seed 1234567, from the reference code's test vectors.
        let mut random = Random(1234567);
        assert_eq!(random.next(), 6457827717110365317);
        assert_eq!(random.next(), 3203168211198807973);
    }
}
