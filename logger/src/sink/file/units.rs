//! A count of the units of a file, which says of which file it is: in one word, so that a thread that looked at
//! a slot for long changes nothing of the file that came after.

use crate::sink::chunk::Word;
use core::sync::atomic::{AtomicU64, Ordering};

/// A count of units of the file of one turn.
pub(super) struct Units<'f> {
    pub word: &'f AtomicU64,
    pub turn: u64,
}

impl Units<'_> {
    const BITS: u32 = 40;
    pub const MASK: u64 = (1 << Units::BITS) - 1;

    /// How many they are; none of the file of another turn.
    pub fn count(&self) -> u64 {
        let word = self.word.load(Ordering::Acquire);
        let units = word & Units::MASK;
        if word == self.with(units) { units } else { 0 }
    }

    pub fn with(&self, units: u64) -> u64 {
        self.turn << Units::BITS | units
    }
}

impl Word for Units<'_> {
    fn own_add(&self, _: u64) -> u64 {
        unreachable!("no thread's own")
    }

    fn update(&self, mut next: impl FnMut(u64) -> Option<u64>) -> Result<u64, u64> {
        let updated = Word::update(self.word, |word| {
            let units = word & Units::MASK;
            let is_of_turn = word == self.with(units);
            is_of_turn
                .then(|| next(units))?
                .map(|units| self.with(units))
        });
        updated.map(|word| word & Units::MASK)
    }
}
