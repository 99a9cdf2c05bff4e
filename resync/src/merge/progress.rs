//! How far a merge came that was made from a survey, so that one after a recovery can
//! leave out what was shown.

use crate::merge::MergedFrame;
use crate::read::input::{Error, Input};
use crate::read::item::{Item, Items};
use crate::read::unmask;
use crate::recover::survey::Survey;
use crate::recover::tables::Place;
use logdef_wire::record::Glance;
use logdef_wire::{Run, Sequence};

/// Bytes that are read at once.
const STEP: usize = 64 << 10;

/// Which frames a merge from a survey gave: of each lane, those up to an offset.
#[derive(Clone, Debug)]
pub struct MergedSoFar {
    /// Start of each lane, and the offset after the start of its last frame that was
    /// given.
    lanes: Vec<(u64, u64)>,
}

impl MergedSoFar {
    /// Nothing yet.
    pub fn nothing(survey: &Survey) -> MergedSoFar {
        let lanes = survey.lanes.iter();
        MergedSoFar {
            lanes: lanes.map(|lane| (lane.start, lane.start)).collect(),
        }
    }

    /// Takes note of a frame that the merge from the survey gave.
    #[inline]
    pub fn add(&mut self, frame: &MergedFrame<'_>) {
        if let Some((_, end)) = self.lanes.get_mut(frame.lane as usize) {
            *end = frame.place.offset + 1;
        }
    }

    /// Whether a frame was given. A survey is of one input only, the first.
    pub(crate) fn contains(&self, place: Place) -> bool {
        let lane = self
            .lanes
            .partition_point(|(start, _)| *start <= place.offset);
        let lane = lane.checked_sub(1).map(|lane| self.lanes[lane]);
        place.input == 0 && lane.is_some_and(|(_, end)| place.offset < end)
    }

    /// Reads the data records again that were given and have an identity, with their bytes.
    pub(crate) fn each_given(
        &self,
        input: &Input,
        mut take: impl FnMut((Run, Sequence), &[u8]),
    ) -> Result<(), Error> {
        let mut scratch = Vec::new();
        for &(start, end) in self.lanes.iter().filter(|(start, end)| start < end) {
            let mut items = Items::range_with_step(input, start..end, STEP);
            while let Some(item) = items.next()? {
                let Item::Frame(frame) = item else { continue };
                let body = unmask::unmasked(frame.body, &mut scratch);
                let Some(glance) = body.and_then(Glance::of) else {
                    continue;
                };
                if let Some(identity) = glance.run.zip(glance.sequence) {
                    take(identity, frame.bytes);
                }
            }
        }
        Ok(())
    }
}
