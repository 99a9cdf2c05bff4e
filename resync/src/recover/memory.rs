//! The memory that a recovery may take for what it remembers: one amount for all of its lists, so
//! that a log which is made to fill every list takes no more than one that fills one of them.
//! Knows bytes, and nothing of what they hold.

use std::sync::Arc;
use std::sync::atomic::{AtomicIsize, Ordering};

/// What an entry of a set or map without memory of its own takes: it is between half and all
/// full, and has a byte for each place.
pub(crate) const fn hashed<Entry>() -> usize {
    2 * (size_of::<Entry>() + 1)
}

/// Bytes that may be taken yet. Copies share them.
#[derive(Clone, Debug)]
pub(crate) struct Memory(Arc<AtomicIsize>);

impl Memory {
    pub(crate) fn new(bytes: usize) -> Memory {
        Memory(Arc::new(AtomicIsize::new(signed(bytes))))
    }

    /// Takes some bytes; `false`, and none taken, if fewer are left.
    pub(crate) fn take(&self, bytes: usize) -> bool {
        let bytes = signed(bytes);
        let less = |left: isize| (bytes <= left).then(|| left - bytes);
        let taken = self
            .0
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, less);
        taken.is_ok()
    }

    /// Takes bytes for what is held already, even if fewer are left.
    pub(crate) fn charge(&self, bytes: usize) {
        self.0.fetch_sub(signed(bytes), Ordering::Relaxed);
    }

    /// Gives bytes back that were taken.
    pub(crate) fn give(&self, bytes: usize) {
        self.0.fetch_add(signed(bytes), Ordering::Relaxed);
    }

    /// How many bytes are left.
    pub(crate) fn left(&self) -> usize {
        usize::try_from(self.0.load(Ordering::Relaxed)).unwrap_or(0)
    }

    /// Whether next to nothing is left.
    pub(crate) fn is_used_up(&self) -> bool {
        self.left() < 1 << 10
    }
}

/// As a number that may be less than nothing.
fn signed(bytes: usize) -> isize {
    isize::try_from(bytes).unwrap_or(isize::MAX / 2)
}

/// None at all.
impl Default for Memory {
    fn default() -> Memory {
        Memory::new(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_share_what_is_left() {
        let memory = Memory::new(50_000);
        let other = memory.clone();
        assert!(memory.take(30_000));
        assert!(!other.take(30_000));
        assert!(other.take(10_000) && !memory.is_used_up());
        memory.charge(90_000);
        assert!(other.is_used_up() && !other.take(1));
        other.give(90_000);
        assert_eq!(memory.left(), 10_000);
    }
}
