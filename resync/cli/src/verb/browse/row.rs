//! A row of the browser: the place of a record, a note or a gap, and its severity, in eight bytes. Knows
//! nothing of what stands there.

use crate::choose::filter::Filter;
use logdef_resync::Place;
use logdef_wire::Level;

/// Bits of the offset in a file, and of the number of the file.
const OFFSET: u32 = 42;
const INPUT: u32 = 18;
const GRAVITY: u32 = OFFSET + INPUT;
/// Files that rows can name.
pub const INPUTS: usize = 1 << INPUT;

/// What stands in a row.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Row(pub u64);

/// The severity of a row: a number for all levels of a band.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Gravity(u64);

/// The lowest level of each band, from 1 on; 0 is for records without a level.
const BANDS: [Level; 6] = [
    Level(0),
    Level::DEBUG,
    Level::INFO,
    Level::WARN,
    Level::ERROR,
    Level::FATAL,
];
const NOTE: u64 = 7;
const GAP: u64 = 8;
/// What is added to the severity of a record that conflicts with one before it.
const CONFLICTING: u64 = 9;

impl Gravity {
    pub fn of(level: Option<Level>) -> Gravity {
        let reached = |level: Level| BANDS.iter().filter(|lowest| level >= **lowest).count();
        Gravity(level.map_or(0, |level| reached(level) as u64))
    }

    /// Whether it stands for ERROR or above.
    pub fn is_error(self) -> bool {
        self.0 >= Gravity::of(Some(Level::ERROR)).0 && self.0 < NOTE
    }

    /// Whether a record may be one that is searched for, by its level.
    pub fn may_match(self, filter: &Filter) -> bool {
        match self.0 as usize {
            0 => filter.may_be_without_level(),
            band => {
                let next = BANDS.get(band).map_or(u8::MAX, |next| next.0 - 1);
                filter.may_be_of_level(BANDS[band - 1], Level(next))
            }
        }
    }
}

impl Row {
    /// A data record.
    pub fn record(place: Place, level: Option<Level>, is_conflicting: bool) -> Row {
        let added = if is_conflicting { CONFLICTING } else { 0 };
        Row::new(place, Gravity::of(level).0 + added)
    }

    /// What the log says about itself.
    pub fn note(place: Place) -> Row {
        Row::new(place, NOTE)
    }

    /// Bytes that are no frame.
    pub fn gap(place: Place) -> Row {
        Row::new(place, GAP)
    }

    fn new(place: Place, gravity: u64) -> Row {
        let input = u64::from(place.input) & (INPUTS as u64 - 1);
        let offset = place.offset & ((1 << OFFSET) - 1);
        Row(gravity << GRAVITY | input << OFFSET | offset)
    }

    pub fn place(self) -> Place {
        Place {
            input: (self.0 >> OFFSET) as u32 & (INPUTS as u32 - 1),
            offset: self.0 & ((1 << OFFSET) - 1),
        }
    }

    pub fn gravity(self) -> Gravity {
        let number = self.0 >> GRAVITY;
        Gravity(number.checked_sub(CONFLICTING).unwrap_or(number))
    }

    /// Whether it is a record that [conflicts](logdef_resync::MergedFrame::conflict) with one before it.
    pub fn is_conflicting(self) -> bool {
        self.0 >> GRAVITY >= CONFLICTING
    }

    pub fn is_gap(self) -> bool {
        self.gravity().0 == GAP
    }

    pub fn is_record(self) -> bool {
        self.gravity().0 < NOTE
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_keeps_its_place_and_its_band() {
        let places = [(0, 0), (7, 123_456), (INPUTS as u32 - 1, (1 << OFFSET) - 1)];
        for (input, offset) in places {
            let place = Place { input, offset };
            for level in [None, Some(0), Some(0x2f), Some(0x50), Some(0xff)] {
                for is_conflicting in [false, true] {
                    let row = Row::record(place, level.map(Level), is_conflicting);
                    assert_eq!(row.place(), place);
                    assert!(row.is_record() && !row.is_gap());
                    assert_eq!(row.gravity().is_error(), level >= Some(0x50));
                    assert_eq!(row.gravity(), Gravity::of(level.map(Level)));
                    assert_eq!(row.is_conflicting(), is_conflicting);
                }
            }
            assert!(Row::gap(place).is_gap() && !Row::gap(place).is_record());
            assert!(!Row::gap(place).is_conflicting() && !Row::note(place).is_conflicting());
            assert!(!Row::note(place).is_gap() && !Row::note(place).gravity().is_error());
            assert_eq!(Row::gap(place).place(), place);
        }
    }
}
