//! Which records of a thread were met, dropped, repeated or lost. Knows counts and times, and
//! nothing of frames.

use crate::recover::account::{Account, Hole};
use crate::recover::lane::ThreadKey;
use crate::recover::memory::hashed;
use crate::recover::sequences::Intervals;
use crate::recover::thread_report::ThreadReport;
use crate::recover::walk::Stretch;

/// A thread of a run, and which of its records were met.
pub(super) struct ThreadState {
    pub(super) key: ThreadKey,
    pub(super) seen: Intervals,
    /// Few threads have any.
    rest: Option<Box<Rest>>,
    pub(super) records: u64,
    pub(super) times: (u64, u64),
    /// The last record: input, count, offset after it, gaps before it.
    pub(super) last: Option<Last>,
    /// Some records stand after later ones of an input, or twice in it.
    pub(super) is_disordered: bool,
}

/// What a thread takes with its place among the others and the report of it.
pub(super) const THREAD: usize =
    size_of::<ThreadState>() + size_of::<ThreadReport>() + hashed::<(ThreadKey, usize)>();
/// What the rest of it takes, and the repeated counts where they stand at the end.
const REST: usize = size_of::<Rest>() + 16 + hashed::<(ThreadKey, Intervals)>();

/// Counts of a thread beside those that were seen.
#[derive(Default)]
struct Rest {
    dropped: Intervals,
    repeated: Intervals,
    /// Counts that the writer gave up, those that are here among them.
    pruned: Intervals,
}

/// The last record of a thread.
#[derive(Clone, Copy)]
pub(super) struct Last {
    pub(super) input: u32,
    pub(super) count: u64,
    pub(super) gaps: usize,
    /// The highest count in the input, while no record of it was repeated: what is
    /// missing below was missed when it was jumped over.
    pub(super) highest: u64,
    /// The lowest count in the input.
    lowest: u64,
    pub(super) time: u64,
    /// Damages before it.
    pub(super) damages: u64,
}

impl Last {
    /// Whether records continue the thread: in count and time, and without a hole unless
    /// damage stands between.
    pub(super) fn is_continued_by(&self, stretch: &Stretch, first: u64, damages: u64) -> bool {
        let dropped = stretch.dropped.min(first);
        let next = self.count.max(self.highest) + 1;
        stretch.times.0 >= self.time
            && (first - dropped == next || first - dropped > next && damages > self.damages)
    }
}

impl ThreadState {
    pub(super) fn new(key: ThreadKey) -> ThreadState {
        ThreadState {
            key,
            seen: Intervals::default(),
            rest: None,
            records: 0,
            times: (u64::MAX, 0),
            last: None,
            is_disordered: false,
        }
    }

    /// Takes in which counts are here. Whether none of them was before; where there is no
    /// room for further intervals, that is not known of all.
    pub(super) fn see(
        &mut self,
        account: &mut Account,
        (first, last): (u64, u64),
        stretch: &Stretch,
        is_full: bool,
    ) -> bool {
        self.records += stretch.records;
        let (lowest, highest) = stretch.times;
        self.times = (self.times.0.min(lowest), self.times.1.max(highest));
        let dropped = stretch.dropped.min(first);
        if is_full {
            if !self.seen.extend(first, last + 1) {
                self.seen.insert_coarsely(first - dropped, last + 1);
                account.untracked += stretch.records;
            }
            return true;
        }
        let mut is_new = true;
        for count in first..=last {
            if !self.seen.insert(count) {
                self.rest().repeated.insert(count);
                account.repeated += 1;
                is_new = false;
            }
            // A log repeats itself rarely.
            if self.seen.extend(count + 1, last + 1) {
                break;
            }
        }
        if dropped > 0 {
            self.rest().dropped.insert_range(first - dropped, first);
        }
        is_new
    }

    /// How many intervals it takes room for.
    pub(super) fn intervals(&self) -> usize {
        let rest = self.rest.as_ref();
        self.seen.len() + rest.map_or(0, |rest| rest.dropped.len() + rest.repeated.len())
    }

    /// Bytes of memory that it takes beside itself.
    pub(super) fn memory(&self) -> usize {
        let of_rest = |rest: &Rest| REST + rest.dropped.memory() + rest.repeated.memory();
        self.seen.memory() + self.rest.as_deref().map_or(0, of_rest)
    }

    fn rest(&mut self) -> &mut Rest {
        self.rest.get_or_insert_default()
    }

    /// The writer gave up the counts from `from` to `to` exclusive.
    pub(super) fn prune(&mut self, from: u64, to: u64) {
        if from < to {
            self.rest().pruned.insert_range(from, to);
        }
    }

    /// The counts that were seen more than once, if there are.
    pub(super) fn into_repeated(self) -> Option<Intervals> {
        let repeated = self.rest?.repeated;
        (repeated.len() > 0).then_some(repeated)
    }

    /// Looks for a hole between the thread's record before and these.
    pub(super) fn continue_at(
        &mut self,
        account: &mut Account,
        (thread, input): (usize, u32),
        (first, last): (u64, u64),
        stretch: &Stretch,
        is_new: bool,
    ) {
        let gaps = account.gaps_so_far();
        let mut highest = 0;
        if let Some(before) = self.last.filter(|before| before.input != input) {
            let (from, to) = (before.count + 1, first - stretch.dropped.min(first));
            if is_new && from < to {
                account.add_crossing(Hole { thread, from, to });
            }
        }
        if let Some(before) = self.last
            && before.input == input
        {
            // In a copy of what came before, records are not new.
            if is_new {
                highest = before.highest;
            }
            if last < highest {
                account.add_overtaken(thread, first, last);
            }
            // After a piece from elsewhere, what is missing may have been missed there.
            let goes_on = is_new && highest <= before.count && before.count < first;
            if !goes_on {
                self.is_disordered = true;
                // What was lost before the lowest came may stand anywhere before.
                let is_lowest = first < before.lowest;
                account.add_disorder(if is_lowest { 0 } else { before.gaps });
            }
            let hole = Hole {
                thread,
                from: before.count.max(highest) + 1,
                to: first - stretch.dropped.min(first),
            };
            if hole.from < hole.to {
                account.add_hole(hole, before.gaps);
            }
        }
        if is_new {
            highest = highest.max(last);
        }
        let before = self.last.filter(|before| before.input == input);
        let lowest = before.map_or(first, |before| before.lowest.min(first));
        self.last = Some(Last {
            input,
            lowest,
            count: last,
            gaps,
            highest,
            time: stretch.times.1,
            damages: account.damages_so_far(),
        });
    }

    /// Whether what a thread jumped over in one place stands in another, where nothing is said twice: a
    /// handler's record, which overtook that of the call it interrupted, may be in another file. In a copy,
    /// the records on both sides stand again.
    pub(super) fn stands_elsewhere(&mut self, from: u64, to: u64) -> bool {
        let repeated = self.rest.as_ref().map(|rest| &rest.repeated);
        let is_repeated = |count| repeated.is_some_and(|counts| counts.contains(count));
        let is_copied = is_repeated(from.saturating_sub(1)) || is_repeated(to);
        !is_copied && self.seen.missing(from, to) == 0
    }

    /// The input of its last record and the gaps before that, where later counts stand before it.
    pub(super) fn ends_behind_later(&self) -> Option<(usize, usize)> {
        let last = self
            .last
            .filter(|last| self.is_disordered && self.seen.reaches_beyond(last.count))?;
        Some((last.input as usize, last.gaps))
    }

    /// Lets the counts that were dropped or given up stand with those that are here. A report
    /// has to come before.
    pub(super) fn account_for_all(&mut self) {
        if let Some(rest) = &mut self.rest {
            self.seen.union(&mut rest.dropped);
            self.seen.union(&mut rest.pruned);
            rest.dropped = Intervals::default();
            rest.pruned = Intervals::default();
        }
    }

    pub(super) fn report(&mut self) -> ThreadReport {
        let (first, end) = self.seen.bounds().unwrap_or((0, 0));
        let absent = self.seen.missing(first, end);
        let (mut lost, mut given_up, mut behind, mut before_first) = (absent, 0, 0, first);
        if let Some(rest) = &mut self.rest {
            let mut told = self.seen.clone();
            told.union(&mut rest.dropped);
            // After its last record, where no later one was spared.
            let (_, pruned_end) = rest.pruned.bounds().unwrap_or((0, 0));
            behind = told.missing(end, pruned_end.max(end));
            before_first = told.missing(0, first);
            let unexplained = told.missing(first, end);
            told.union(&mut rest.pruned);
            lost = told.missing(first, end);
            given_up = unexplained - lost;
        }
        ThreadReport {
            run: self.key.0,
            number: self.key.1,
            records: self.records,
            first,
            last: end.saturating_sub(1),
            before_first,
            pruned: before_first + given_up + behind,
            lost,
            dropped: absent - lost - given_up + first - before_first,
            // Where holes are not known, more seem to be here than are.
            repeated: self.records.saturating_sub(end - first - absent),
            first_time: self.times.0,
            last_time: self.times.1,
        }
    }
}
