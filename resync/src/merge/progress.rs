//! How far a merge came that was made from a survey, so that one after a recovery can
//! leave out what was shown.

use crate::merge::MergedFrame;
use crate::recover::survey::Survey;
use crate::recover::tables::Place;

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
}
