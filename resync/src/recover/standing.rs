//! The three words for how far a frame can be trusted; of frames that come one by one, also which are late.
//! How it is found out, others know.

use crate::recover::tables::Place;
use std::collections::{HashMap, HashSet};

/// Frames of which more is remembered than that they are sound.
const FRAMES: usize = 1 << 20;

/// How far a frame can be trusted.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum Standing {
    /// No damage is near, or none that could have laid it bare.
    #[default]
    Sound,
    /// It stands inside a damaged range, and undamaged evidence supports it; or there is
    /// none in these inputs.
    Recovered,
    /// It stands inside a damaged range, and nothing outside supports it: probably it was
    /// quoted in a message.
    Suspect,
}

impl Standing {
    /// The word for it, `None` if it needs none.
    pub fn word(self) -> Option<&'static str> {
        match self {
            Standing::Sound => None,
            Standing::Recovered => Some("recovered"),
            Standing::Suspect => Some("suspect"),
        }
    }
}

/// The standings of some frames, one by one, and which are late.
#[derive(Clone, Debug, Default)]
pub struct Standings {
    unsound: HashMap<Place, Standing>,
    late: HashSet<Place>,
    /// There were more than are remembered.
    has_more: bool,
}

impl Standings {
    /// Takes note of how far a frame can be trusted.
    pub fn add(&mut self, place: Place, standing: Standing) {
        if standing == Standing::Sound {
            return;
        }
        self.has_more |= self.unsound.len() >= FRAMES;
        if !self.has_more {
            self.unsound.insert(place, standing);
        }
    }

    /// How far a frame can be trusted: one that nothing was said of is sound, unless more
    /// was said than is remembered.
    pub fn of(&self, place: Place) -> Standing {
        let otherwise = if self.has_more {
            Standing::Recovered
        } else {
            Standing::Sound
        };
        self.unsound.get(&place).copied().unwrap_or(otherwise)
    }

    /// Takes note of a frame that comes after a later one of its thread.
    pub fn add_late(&mut self, place: Place) {
        if self.late.len() < FRAMES {
            self.late.insert(place);
        }
    }

    /// Whether a frame comes after a later one of its thread.
    pub fn is_late(&self, place: Place) -> bool {
        self.late.contains(&place)
    }

    /// Forgets all of them.
    pub fn clear(&mut self) {
        *self = Standings::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn beyond_what_is_remembered_nothing_is_sound() {
        let place = |offset| Place { input: 0, offset };
        let mut standings = Standings::default();
        standings.add(place(0), Standing::Suspect);
        standings.add(place(1), Standing::Sound);
        assert_eq!(standings.of(place(0)), Standing::Suspect);
        assert_eq!(standings.of(place(1)), Standing::Sound);
        for offset in 2..FRAMES as u64 + 3 {
            standings.add(place(offset), Standing::Recovered);
        }
        assert_eq!(standings.of(place(1)), Standing::Recovered);
        standings.clear();
        assert_eq!(standings.of(place(0)), Standing::Sound);
    }
}
