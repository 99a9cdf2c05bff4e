//! Which file was the log's as which. Each turn has a place, after those of the files that
//! earlier runs left, and a place holds the number of its file until that is removed.

use core::ops::Range;
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

const PLACES: usize = 2048;
/// More files are not kept, if any are to be removed at all.
pub(crate) const MOST_KEPT: u32 = PLACES as u32 / 2;

/// The files that are or were the log's.
pub(super) struct Places {
    /// Their numbers, each at its place modulo the length; 0 for none.
    numbers: [AtomicU32; PLACES],
    /// Their inodes; 0 for those of earlier runs, and for those that have no name any more.
    inodes: [AtomicU64; PLACES],
    /// The turn of the first file.
    first_turn: AtomicU64,
    /// What is added to a file's turn for its place: files of earlier runs have places
    /// too.
    before: AtomicU64,
    /// The last place that a file had. A file whose place another has by now has none.
    newest: AtomicU64,
    /// Files at places below this were removed, or are about to be.
    pruned: AtomicU64,
    /// No file is left at places below this, but for those that could not be removed.
    swept: AtomicU64,
    /// But for these, one more than the place of each; 0 for none.
    refused: [AtomicU64; REFUSED],
}

/// Files that could not be removed, and of which that is tried again.
const REFUSED: usize = 16;

/// What leads to a file.
pub(super) enum Name {
    /// Nothing: the log alone did, and its name was removed.
    None,
    /// The log's name, with this number, if that is still the file with this inode.
    Number(u32, u64),
    /// The log's name was removed, or was another file's; other names may lead to the file.
    Unknown,
}

impl Places {
    #[cfg(test)]
    pub const fn new() -> Places {
        Places {
            numbers: [const { AtomicU32::new(0) }; PLACES],
            inodes: [const { AtomicU64::new(0) }; PLACES],
            first_turn: AtomicU64::new(0),
            before: AtomicU64::new(0),
            newest: AtomicU64::new(0),
            pruned: AtomicU64::new(0),
            swept: AtomicU64::new(0),
            refused: [const { AtomicU64::new(0) }; REFUSED],
        }
    }

    /// Starts with the files of earlier runs, oldest first. The next file will be the log's
    /// as the `turn`th.
    pub fn start(&self, earlier: &[u32], turn: u64) {
        for number in &self.numbers {
            number.store(0, Ordering::Relaxed);
        }
        for inode in &self.inodes {
            inode.store(0, Ordering::Relaxed);
        }
        for place in &self.refused {
            place.store(0, Ordering::Relaxed);
        }
        for (place, number) in self.numbers.iter().zip(earlier) {
            place.store(*number, Ordering::Relaxed);
        }
        let before = (earlier.len() as u64).wrapping_sub(turn);
        self.first_turn.store(turn, Ordering::Relaxed);
        self.before.store(before, Ordering::Relaxed);
        self.newest.store(earlier.len() as u64, Ordering::Relaxed);
        self.pruned.store(0, Ordering::Relaxed);
        self.swept.store(0, Ordering::Relaxed);
    }

    /// The place of the file that is the log's as the `turn`th.
    pub fn of_turn(&self, turn: u64) -> u64 {
        self.before.load(Ordering::Relaxed).wrapping_add(turn)
    }

    /// The same, if it was made since the log was opened.
    pub fn of_own_turn(&self, turn: u64) -> Option<u64> {
        let is_own = turn >= self.first_turn.load(Ordering::Relaxed);
        is_own.then(|| self.of_turn(turn))
    }

    /// The place of the run's first file.
    pub fn first(&self) -> u64 {
        self.of_turn(self.first_turn.load(Ordering::Relaxed))
    }

    /// The first place that no later one has taken.
    fn oldest(&self) -> u64 {
        (self.newest.load(Ordering::SeqCst) + 1).saturating_sub(PLACES as u64)
    }

    fn at(&self, place: u64) -> &AtomicU32 {
        &self.numbers[place as usize % PLACES]
    }

    /// The number of the file at a place; 0 for none.
    pub fn number_at(&self, place: u64) -> u32 {
        self.at(place).load(Ordering::SeqCst)
    }

    /// Puts a file at a place. `false` if other threads made enough files meanwhile that it
    /// is too old to stay.
    pub fn put(&self, place: u64, number: u32, inode: u64) -> bool {
        // First: who finds the file finds too which place it has.
        self.newest.fetch_max(place, Ordering::SeqCst);
        self.inodes[place as usize % PLACES].store(inode, Ordering::SeqCst);
        self.at(place).store(number, Ordering::SeqCst);
        place >= self.pruned.load(Ordering::SeqCst)
    }

    /// Whether a file with this number and this inode has a place.
    pub fn holds(&self, place: u64, number: u32, inode: u64) -> bool {
        let found = self.inodes[place as usize % PLACES].load(Ordering::SeqCst);
        self.number_at(place) == number && found == inode
    }

    /// The number and the inode of the file at a place, if there is one.
    pub fn file_at(&self, place: u64) -> Option<(u32, u64)> {
        // In this order: the inode is put first.
        let number = self.number_at(place);
        let inode = self.inodes[place as usize % PLACES].load(Ordering::SeqCst);
        (number != 0 && place >= self.oldest()).then_some((number, inode))
    }

    /// Takes file `number` away from its place, for one thread to remove it. `false` if another has.
    pub fn take(&self, place: u64, number: u32) -> bool {
        let (order, failed) = (Ordering::SeqCst, Ordering::Relaxed);
        let taken = self.at(place).compare_exchange(number, 0, order, failed);
        taken.is_ok()
    }

    /// A file that was taken could not be removed: it goes back to its place, unless a later one
    /// has that. Where many are refused, some stay for good.
    pub fn refuse(&self, place: u64, number: u32, inode: u64) {
        let order = Ordering::SeqCst;
        let _ = self.inodes[place as usize % PLACES].compare_exchange(0, inode, order, order);
        let goes_back = self.at(place).compare_exchange(0, number, order, order);
        let is_noted = |refused: &AtomicU64| {
            let noted = refused.compare_exchange(0, place + 1, order, order);
            noted.is_ok()
        };
        if goes_back.is_ok() {
            let _ = self.refused.iter().any(is_noted);
        }
    }

    /// Hands out the places of files that could not be removed, each to one thread.
    pub fn each_refused(&self, again: impl Fn(u64)) {
        let mut refused = [0; REFUSED];
        for (place, all) in refused.iter_mut().zip(&self.refused) {
            *place = all.swap(0, Ordering::SeqCst);
        }
        for place in refused {
            if let Some(place) = u64::checked_sub(place, 1) {
                again(place);
            }
        }
    }

    /// A file that was taken has no name any more, or will not in a moment.
    pub fn mark_nameless(&self, place: u64, inode: u64) {
        let order = Ordering::SeqCst;
        let _ = self.inodes[place as usize % PLACES].compare_exchange(inode, 0, order, order);
    }

    /// What is known of the name of a file of this run.
    pub fn name_at(&self, place: u64, newest: u64) -> Name {
        let inode = self.inodes[place as usize % PLACES].load(Ordering::SeqCst);
        // Another file has its place by now.
        if newest.wrapping_sub(place) >= PLACES as u64 {
            return Name::Unknown;
        }
        match (self.number_at(place), inode) {
            (0, 0) => Name::None,
            (0, _) => Name::Unknown,
            (number, inode) => Name::Number(number, inode),
        }
    }

    /// The place of a file up to that of the newest, if it has one that was not pruned.
    pub fn find(&self, number: u32, newest: u64) -> Option<u64> {
        let oldest = self.pruned.load(Ordering::SeqCst).max(self.oldest());
        (oldest..=newest).find(|place| self.number_at(*place) == number)
    }

    /// Files below the place `oldest` are to go. The places at which some may stand.
    pub fn prune_below(&self, oldest: u64) -> Range<u64> {
        self.pruned.fetch_max(oldest, Ordering::SeqCst);
        self.swept.load(Ordering::SeqCst).max(self.oldest())..oldest
    }

    /// All files below the place `oldest` were taken. A process that is killed before it says so leaves
    /// the rest to the next.
    pub fn swept_below(&self, oldest: u64) {
        self.swept.fetch_max(oldest, Ordering::SeqCst);
    }

    /// Files of earlier turns were removed.
    pub fn oldest_turn(&self) -> u64 {
        let pruned = self.pruned.load(Ordering::SeqCst);
        let before = self.before.load(Ordering::Relaxed);
        // Files of earlier runs have places below those of the first turn.
        (pruned.wrapping_sub(before) as i64).max(0) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// With a bound on the folder alone, the newest files were removed, the one that was written to too, in
    /// place of those that had had their places before.
    #[test]
    fn a_file_has_no_place_that_a_later_one_has() {
        let places = Places::new();
        places.start(&[], 0);
        let newest = PLACES as u64 + 951;
        (0..=newest).for_each(|place| assert!(places.put(place, place as u32 + 1, 7)));
        let found = [0, 951, 952, newest].map(|place| places.find(place as u32 + 1, newest));
        assert_eq!(found, [None, None, Some(952), Some(newest)]);
        let below = places.prune_below(953);
        let files: Vec<_> = below.filter_map(|place| places.file_at(place)).collect();
        assert_eq!(files, [(953, 7)]);
        assert_eq!(places.file_at(951), None);
    }
}
