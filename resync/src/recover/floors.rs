//! The time below which no record of a thread is merged: the highest of those that come
//! before it in their thread, wherever they stand. Where a clock was set back, that is more
//! than the record's own time.
//!
//! Within a lane a merge sees it record by record. Of other lanes it must know where the
//! thread's times went down, or its counts jumped: its *peaks*.
//!
//! ```text
//! one lane       0@10 1@20 2@30              6@14 7@15    peaks 2@30 (a jump), 7@15 (the end)
//! another                       3@12 4@13 5@13            peak  5@13 (the end)
//! merged at        10   20   30   30   30   30   30   30
//! ```

use crate::recover::lane::{ByThread, Lane, ThreadKey};

/// Peaks that are remembered. Of more, each two that follow each other in a thread become
/// one that is as early as the first and as high as the second: then times are less exact,
/// and the order of each thread stays.
const PEAKS: usize = 1 << 18;

/// A record of a thread whose successor stands elsewhere, or has a lower time.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
struct Peak {
    thread: ThreadKey,
    count: u64,
    time: u64,
}

/// The peaks that lanes have beside their ends.
#[derive(Debug, Default)]
pub(crate) struct Peaks(Vec<Peak>);

impl Peaks {
    #[cold]
    pub(crate) fn add(&mut self, thread: ThreadKey, count: u64, time: u64) {
        if self.0.len() >= PEAKS {
            self.thin_out();
        }
        self.0.push(Peak {
            thread,
            count,
            time,
        });
    }

    fn thin_out(&mut self) {
        self.0.sort_unstable();
        let mut fewer: Vec<Peak> = Vec::with_capacity(PEAKS);
        let mut is_whole = true;
        for peak in &self.0 {
            match fewer.last_mut() {
                Some(last) if !is_whole && last.thread == peak.thread => {
                    last.time = last.time.max(peak.time);
                    is_whole = true;
                }
                _ => {
                    fewer.push(*peak);
                    is_whole = false;
                }
            }
        }
        // As many threads as peaks: those that are left out have one each.
        fewer.truncate(PEAKS * 3 / 4);
        self.0 = fewer;
    }

    /// Those of a thread, once they are sorted.
    fn of(&self, thread: ThreadKey) -> &[Peak] {
        let first = self.0.partition_point(|peak| peak.thread < thread);
        let end = self.0.partition_point(|peak| peak.thread <= thread);
        &self.0[first..end]
    }
}

/// The floors of one thread: from after each count on, a time.
#[derive(Debug)]
pub(crate) struct Stairs(Box<[(u64, u64)]>);

impl Stairs {
    fn of(mut steps: Vec<(u64, u64)>) -> Stairs {
        steps.sort_unstable();
        let mut level = 0;
        steps.retain(|(_, time)| {
            let is_higher = *time > level;
            level = level.max(*time);
            is_higher
        });
        Stairs(steps.into())
    }

    /// The floor of a record.
    pub(crate) fn below(&self, count: u64) -> u64 {
        let behind = self.0.partition_point(|(peak, _)| *peak < count);
        behind.checked_sub(1).map_or(0, |last| self.0[last].1)
    }
}

/// Floors of the threads whose records in one lane stand between those in another.
#[derive(Debug, Default)]
pub(crate) struct Floors(ByThread<Stairs>);

impl Floors {
    /// Of a thread, if its floor rises within lanes.
    pub(crate) fn of(&self, thread: ThreadKey) -> Option<&Stairs> {
        self.0.get(&thread)
    }

    /// Gives each thread of each lane the floor of its first record there.
    pub(crate) fn lay(lanes: &mut [Lane], mut peaks: Peaks) -> Floors {
        peaks.0.sort_unstable();
        let mut order: Vec<(ThreadKey, u64, u32, u32)> = Vec::new();
        for (lane, entry) in lanes.iter().enumerate() {
            for (thread, part) in entry.threads.iter().enumerate() {
                order.push((part.key, part.first, lane as u32, thread as u32));
            }
        }
        order.sort_unstable();
        let mut floors = Floors::default();
        for parts in order.chunk_by(|one, other| one.0 == other.0) {
            if parts.len() > 1 {
                floors.lay_thread(lanes, &peaks, parts);
            }
        }
        floors
    }

    fn lay_thread(
        &mut self,
        lanes: &mut [Lane],
        peaks: &Peaks,
        parts: &[(ThreadKey, u64, u32, u32)],
    ) {
        let is_mixed = parts.iter().any(|part| lanes[part.2 as usize].is_mixed());
        let mut level = 0;
        let mut end = None;
        let mut overlaps = false;
        for (_, first, lane, thread) in parts {
            let lane = &mut lanes[*lane as usize];
            lane.is_shared |= is_mixed;
            let part = &mut lane.threads[*thread as usize];
            part.floor = level;
            overlaps |= end >= Some(*first);
            end = end.max(Some(part.last));
            level = level.max(part.last_time);
        }
        if !overlaps {
            return;
        }
        let key = parts[0].0;
        let ends = parts.iter().map(|(_, _, lane, thread)| {
            let part = &lanes[*lane as usize].threads[*thread as usize];
            (part.last, part.last_time)
        });
        let within = peaks.of(key).iter().map(|peak| (peak.count, peak.time));
        let stairs = Stairs::of(ends.chain(within).collect());
        for (_, first, lane, thread) in parts {
            lanes[*lane as usize].threads[*thread as usize].floor = stairs.below(*first);
        }
        self.0.insert(key, stairs);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use logdef_wire::{Run, ThreadNumber};

    fn thread(number: u64) -> ThreadKey {
        (Run(1), ThreadNumber(number))
    }

    #[test]
    fn a_floor_is_the_highest_time_of_all_lower_counts() {
        let stairs = Stairs::of(vec![(7, 15), (5, 13), (2, 30), (9, 40)]);
        let floors: Vec<_> = [0, 2, 3, 8, 9, 10].map(|count| stairs.below(count)).into();
        assert_eq!(floors, [0, 0, 30, 30, 30, 40]);
    }

    #[test]
    fn fewer_peaks_lie_no_lower() {
        let mut peaks = Peaks::default();
        let time = |count: u64| count * 7 % 1000 + count / 50;
        for count in 0..3 * PEAKS as u64 {
            peaks.add(thread(count % 3), count, time(count));
        }
        assert!(peaks.0.len() <= PEAKS);
        peaks.0.sort_unstable();
        for number in 0..3 {
            let steps = peaks.of(thread(number)).iter();
            let stairs = Stairs::of(steps.map(|peak| (peak.count, peak.time)).collect());
            let mut highest = 0;
            for count in (number..3 * PEAKS as u64).step_by(3) {
                assert!(stairs.below(count) >= highest, "{count}");
                highest = highest.max(time(count));
            }
        }
    }
}
