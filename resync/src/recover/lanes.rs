//! Cuts inputs into lanes: at chunks, where counts go down, and where there are too many
//! threads. Knows of a record its place, thread, count and time.

use crate::recover::floors::{Floors, Peaks};
use crate::recover::lane::{ByThread, Lane, LaneThread, ThreadKey};
use crate::recover::memory::Memory;

/// Lanes in one set of inputs; records beyond that are added to the last one.
const LANES: usize = 1 << 18;
/// Threads in one lane; beyond that a new one begins.
const THREADS: usize = 4096;
/// Threads of all lanes together; when there are more, the last lane has begun too.
const PARTS: usize = 1 << 19;

/// What a lane takes with its place among those that wait to be merged, and a thread of it with its
/// place in the order of its parts and its floor.
const LANE: usize = size_of::<Lane>() + 24 + 16;
const PART: usize = size_of::<LaneThread>() + 32 + 32;

/// Cuts inputs into lanes.
#[derive(Debug, Default)]
pub(crate) struct Lanes {
    memory: Memory,
    done: Vec<Lane>,
    /// Threads of those lanes together.
    parts: usize,
    input: u32,
    start: u64,
    /// Where the frames start that belong with the next data record.
    lead: Option<u64>,
    chunk_end: u64,
    threads: Vec<LaneThread>,
    /// The time of the last peak of each of them.
    peaked: Vec<u64>,
    /// The first and the last data records that name no thread.
    nameless: Option<(u64, u64)>,
    index: ByThread<usize>,
    current: usize,
    peaks: Peaks,
}

impl Lanes {
    pub(crate) fn new(memory: &Memory) -> Lanes {
        Lanes {
            memory: memory.clone(),
            ..Lanes::default()
        }
    }

    pub(crate) fn begin_input(&mut self, input: u32) {
        self.input = input;
        self.start = 0;
        self.lead = None;
        self.chunk_end = 0;
    }

    pub(crate) fn end_input(&mut self, end: u64) {
        self.close(end);
    }

    /// A frame that is no data record.
    pub(crate) fn other(&mut self, offset: u64) {
        if self.chunk_end != 0 && offset >= self.chunk_end {
            self.cut(offset);
        }
        self.lead.get_or_insert(offset);
    }

    /// Data records that name no thread.
    pub(crate) fn nameless(&mut self, offset: u64) {
        self.other(offset);
        let (first, _) = self.nameless.unwrap_or((offset, offset));
        self.nameless = Some((first, offset));
    }

    /// A preamble that opens a chunk.
    pub(crate) fn chunk(&mut self, offset: u64, size: u64) {
        self.cut(offset);
        self.chunk_end = offset.saturating_add(size);
        self.lead.get_or_insert(offset);
    }

    /// Data records of one thread, of which none has its chunk's end before it that
    /// the first has not: their first and last count, the times of both, between which all
    /// others are.
    #[inline]
    pub(crate) fn data(
        &mut self,
        offset: u64,
        key: ThreadKey,
        counts: (u64, u64),
        times: (u64, u64),
    ) {
        let lead = self.lead.take().unwrap_or(offset);
        if self.chunk_end != 0 && offset >= self.chunk_end {
            self.cut(lead);
        }
        if !self
            .threads
            .get(self.current)
            .is_some_and(|thread| thread.key == key && thread.last < counts.0)
            && !self.switch(lead, key, counts, times)
        {
            return;
        }
        let thread = &mut self.threads[self.current];
        if counts.0 != thread.last + 1 || times.0 < thread.last_time {
            let peaked = &mut self.peaked[self.current];
            // A time below the last peak makes no new one.
            if thread.last_time > *peaked {
                *peaked = thread.last_time;
                self.peaks.add(key, thread.last, thread.last_time);
            }
        }
        thread.add(counts.1.max(thread.last), times);
    }

    /// Goes to another thread, or another lane; `false` if the records begin one there.
    fn switch(&mut self, lead: u64, key: ThreadKey, counts: (u64, u64), times: (u64, u64)) -> bool {
        if let Some(&known) = self.index.get(&key) {
            if self.threads[known].last < counts.0 || self.is_full() {
                self.current = known;
                return true;
            }
            self.cut(lead);
        } else if self.threads.len() >= THREADS {
            self.cut(lead);
        }
        if self.threads.len() >= THREADS {
            return false;
        }
        self.current = self.threads.len();
        self.index.insert(key, self.current);
        self.peaked.push(0);
        self.threads.push(LaneThread {
            key,
            first: counts.0,
            last: counts.1,
            first_time: times.0,
            lowest_time: times.0,
            last_time: times.1,
            floor: 0,
        });
        false
    }

    fn cut(&mut self, offset: u64) {
        if !self.is_full() {
            self.close(offset);
        }
        self.chunk_end = 0;
    }

    /// Whether the last lane has begun.
    fn is_full(&self) -> bool {
        self.done.len() >= LANES || self.parts >= PARTS || self.memory.is_used_up()
    }

    fn close(&mut self, end: u64) {
        if end > self.start {
            let mut threads = std::mem::take(&mut self.threads);
            threads.shrink_to_fit();
            self.parts += threads.len();
            self.memory.charge(LANE + PART * threads.len());
            self.done.push(Lane {
                is_last: self.is_full(),
                input: self.input,
                start: self.start,
                end,
                has_nameless: self.nameless.is_some_and(|(first, _)| first < end),
                is_shared: false,
                key: 0,
                threads,
            });
        }
        self.threads.clear();
        self.peaked.clear();
        // Some may go with the data record that begins the next lane.
        let behind = self.nameless.filter(|(_, last)| *last >= end);
        self.nameless = behind.map(|(first, last)| (first.max(end), last));
        self.index.clear();
        self.current = 0;
        self.start = end;
    }

    /// The lanes, with the times they are merged by.
    pub(crate) fn finish(self) -> (Vec<Lane>, Floors) {
        let mut lanes = self.done;
        let floors = Floors::lay(&mut lanes, self.peaks);
        let mut before = (0, 0);
        for lane in &mut lanes {
            let threads = lane.threads.iter();
            let first = threads.clone().map(|part| part.first_time.max(part.floor));
            let last = threads.map(|part| part.last_time.max(part.floor)).max();
            // One without records, but perhaps with damage, goes with the one before.
            let (input, time) = before;
            let level = if input == lane.input { time } else { 0 };
            lane.key = first.min().unwrap_or(level);
            before = (lane.input, last.unwrap_or(level));
        }
        (lanes, floors)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recover::lane::since_of;
    use logdef_wire::{Run, ThreadNumber};

    fn key(number: u64) -> ThreadKey {
        (Run(1), ThreadNumber(number))
    }

    #[test]
    fn a_chunk_is_a_lane_and_so_is_what_repeats() {
        let mut lanes = Lanes::new(&Memory::new(1 << 20));
        lanes.begin_input(0);
        lanes.chunk(0, 100);
        lanes.data(10, key(1), (0, 0), (5, 5));
        lanes.chunk(100, 100);
        lanes.other(110);
        lanes.data(120, key(2), (0, 0), (3, 3));
        // Appended after the chunk, with a logdef before it.
        lanes.other(200);
        lanes.data(210, key(1), (1, 1), (9, 9));
        lanes.data(220, key(2), (1, 1), (9, 9));
        // The same again: a copy.
        lanes.other(230);
        lanes.data(240, key(1), (1, 1), (9, 9));
        lanes.end_input(300);
        let (lanes, _) = lanes.finish();
        let ranges: Vec<_> = lanes
            .iter()
            .map(|lane| (lane.start, lane.end, lane.key))
            .collect();
        assert_eq!(
            ranges,
            [(0, 100, 5), (100, 200, 3), (200, 230, 9), (230, 300, 9)]
        );
    }

    #[test]
    fn the_latest_lanes_are_chosen_by_where_they_end() {
        let lanes = [(50, 100), (90, 100), (70, 100)];
        let since = |bytes| since_of(bytes, lanes.into_iter());
        assert_eq!(
            [1, 100, 101, 200, 201, 1000].map(since),
            [71, 71, 51, 51, 0, 0]
        );
    }

    #[test]
    fn a_clock_set_back_lifts_later_lanes_and_copies_stay_level() {
        let mut lanes = Lanes::new(&Memory::new(1 << 20));
        lanes.begin_input(0);
        for copy in [0, 1000] {
            for (at, count, time) in [(0, 0, 100), (100, 1, 40), (200, 2, 50)] {
                lanes.chunk(copy + at, 100);
                lanes.data(copy + at + 10, key(1), (count, count), (time, time));
            }
        }
        lanes.end_input(2000);
        let keys: Vec<_> = lanes.finish().0.iter().map(|lane| lane.key).collect();
        assert_eq!(keys, [100, 100, 100, 100, 100, 100]);
    }
}
