//! Which lanes of inputs are of which times: what a merge of some times need not read. Reads no frames.

use crate::read::gap::GapKind;
use crate::recover::lane::{Lane, LaneThread, since_of};
use crate::recover::recovery::Recovery;

impl Recovery {
    /// A time to begin the end of all this at: from it on there are some `bytes` of
    /// records, or a few more, as [`MergeOptions::since`](crate::MergeOptions::since)
    /// leaves them, not counting what is all of after `until`. 0 if there are no more,
    /// or if all must be merged to know which come last.
    pub fn since_of_last(&self, bytes: u64, until: u64) -> u64 {
        if !self.repeated.is_empty() {
            return 0;
        }
        let wanted = |lane: &&Lane| {
            lane.threads
                .iter()
                .any(|thread| thread.lowest_time <= until)
        };
        let ends = |lane: &Lane| {
            let ends = lane.threads.iter().map(|thread| self.merged_until(thread));
            (ends.max().unwrap_or(0), lane.end - lane.start)
        };
        since_of(bytes, self.lanes.iter().filter(wanted).map(ends))
    }

    /// The highest time that records of a thread in a lane are merged by.
    fn merged_until(&self, thread: &LaneThread) -> u64 {
        let stairs = self.floors.of(thread.key);
        let floor = stairs.map_or(thread.floor, |stairs| stairs.below(thread.last));
        thread.last_time.max(floor)
    }

    /// Whether a lane holds nothing but records of its threads and logdefs, and all
    /// of those records are merged before a time, or are of after another. Where that is
    /// not known, it is not so.
    pub(crate) fn is_out_of(&self, lane: usize, since: u64, until: u64) -> bool {
        let Lane {
            input,
            start,
            end,
            ref threads,
            is_last,
            ..
        } = self.lanes[lane];
        let gaps = &self.accounts[input as usize].gaps;
        let first = gaps.partition_point(|report| report.gap.offset < start);
        let gaps = gaps[first..].iter().map(|report| report.gap);
        let mut gaps = gaps.take_while(|gap| gap.offset < end);
        !is_last
            // Which one of copies is given depends on those before.
            && self.repeated.is_empty()
            && gaps.all(|gap| gap.kind == GapKind::Padding)
            && self.asides.has_none_in(input, start..end)
            && !threads.is_empty()
            && (threads.iter().all(|thread| self.merged_until(thread) < since)
                || threads.iter().all(|thread| thread.lowest_time > until))
    }
}
