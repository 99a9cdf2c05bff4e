//! Which records stand beside the order of threads, as they have a time of their own. Knows
//! their places, and nothing of what they hold.

use crate::recover::tables::Place;
use std::ops::Range;

/// Records with a time of their own whose places are kept.
const ASIDES: usize = 1 << 12;

/// Where the records stand that have a time of their own: notes, and data records
/// that name no thread. There are few in any log of ours.
#[derive(Debug, Default)]
pub(super) struct Asides {
    places: Vec<Place>,
}

impl Asides {
    /// They come in the order of their places.
    pub(super) fn add(&mut self, place: Place) {
        if self.places.len() <= ASIDES {
            self.places.push(place);
        }
    }

    pub(super) fn has_none_in(&self, input: u32, range: Range<u64>) -> bool {
        let at = |offset| Place { input, offset };
        let first = self
            .places
            .partition_point(|place| *place < at(range.start));
        let next = self.places.get(first);
        self.places.len() <= ASIDES && next.is_none_or(|next| *next >= at(range.end))
    }
}
