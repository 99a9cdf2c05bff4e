//! What notes say of calls whose records are not here: how many the writer dropped, which
//! it gave up to make room, and how many a run made in all.

use crate::recover::lane::ThreadKey;
use crate::recover::memory::Memory;
use crate::recover::thread_report::ThreadReport;
use logdef_wire::record::{Note, NoteKind};
use logdef_wire::{Run, ThreadNumber};
use std::collections::{BTreeMap, HashSet};

/// Runs whose notes are remembered, and threads in them.
const RUNS: usize = 1 << 18;
const THREADS: usize = 1 << 18;
/// What they take, and the sums of them.
const RUN: usize = 2 * (size_of::<(Run, OfRun)>() + size_of::<(Run, Sum)>());
const THREAD: usize = 2 * size_of::<(ThreadKey, u64)>() + RUN;

/// What the notes of the inputs said.
#[derive(Debug, Default)]
pub(crate) struct Notes {
    memory: Memory,
    runs: BTreeMap<Run, OfRun>,
    /// The count below which missing records of a thread are pruned.
    pruned: BTreeMap<ThreadKey, u64>,
}

#[derive(Clone, Copy, Debug, Default)]
struct OfRun {
    dropped: u64,
    /// The calls of all its threads, and when it said so.
    ended: Option<(u64, u64)>,
    /// A time up to which missing records are pruned, where no thread is named.
    pruned_until: Option<u64>,
}

/// Records that are not here, of all inputs together.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(crate) struct Absent {
    pub(crate) missing: u64,
    pub(crate) dropped: u64,
    pub(crate) pruned: u64,
}

/// What the threads of a run add up to.
#[derive(Clone, Copy, Debug, Default)]
struct Sum {
    /// Calls up to the last that is known of.
    calls: u64,
    lost: u64,
    dropped: u64,
    before_first: u64,
    last_time: u64,
}

impl Notes {
    pub(crate) fn new(memory: &Memory) -> Notes {
        Notes {
            memory: memory.clone(),
            ..Notes::default()
        }
    }

    fn has_room_for(&self, run: Run) -> bool {
        self.runs.contains_key(&run) || self.runs.len() < RUNS && self.memory.take(RUN)
    }

    pub(crate) fn add(&mut self, note: &Note<'_>) {
        let (Some(run), Some(kind)) = (note.run, note.kind) else {
            return;
        };
        let is_counted = [NoteKind::PRUNED, NoteKind::DROPS, NoteKind::END].contains(&kind);
        if !is_counted || !self.has_room_for(run) {
            return;
        }
        let of_run = self.runs.entry(run).or_default();
        if kind == NoteKind::PRUNED {
            if note.threads.is_none() {
                of_run.pruned_until = of_run.pruned_until.max(note.time);
            }
            self.add_pruned(run, note);
            return;
        }
        of_run.dropped = of_run.dropped.max(note.dropped.unwrap_or(0));
        if let (NoteKind::END, Some(calls)) = (kind, note.calls) {
            of_run.ended = of_run.ended.max(Some((calls, note.time.unwrap_or(0))));
        }
    }

    fn add_pruned(&mut self, run: Run, note: &Note<'_>) {
        for (number, count) in note.threads.iter().flat_map(|threads| threads.iter()) {
            if let (Some(number), Some(count)) = (number.as_uint(), count.as_uint())
                && self.pruned.len() < THREADS
                && self.memory.take(THREAD)
            {
                let below = self.pruned.entry((run, ThreadNumber(number))).or_default();
                *below = count.max(*below);
            }
        }
    }

    /// The count below which records of a thread that are not here are pruned.
    pub(crate) fn pruned_below(&self, thread: ThreadKey) -> u64 {
        self.pruned.get(&thread).copied().unwrap_or(0)
    }

    /// Whether records of a thread that are missing up to a count, exclusive, were given up;
    /// and before which time, if that is known.
    pub(crate) fn is_pruned(&self, thread: ThreadKey, to: u64, time: Option<u64>) -> bool {
        let until = self
            .runs
            .get(&thread.0)
            .and_then(|of_run| of_run.pruned_until);
        to <= self.pruned_below(thread) || time.is_some() && time <= until
    }

    /// What the threads lack, and what notes say beyond that. A note that says how many calls
    /// were dropped explains as many missing records as no data record does. One that says
    /// how many calls there were shows how many are lost after the last record of a thread,
    /// unless the run's front is not here either, and so perhaps whole threads.
    pub(crate) fn absent(&self, threads: &[ThreadReport]) -> Absent {
        let mut absent = Absent::default();
        let mut sums = BTreeMap::<Run, Sum>::new();
        let mut known = HashSet::new();
        for thread in threads {
            absent.missing += thread.lost;
            absent.dropped += thread.dropped;
            absent.pruned = absent.pruned.saturating_add(thread.pruned);
            let key = (thread.run, thread.number);
            let below = self.pruned_below(key);
            if below > 0 {
                known.insert(key);
            }
            if self.runs.contains_key(&thread.run) {
                let sum = sums.entry(thread.run).or_default();
                sum.calls = sum.calls.saturating_add((thread.last + 1).max(below));
                sum.lost += thread.lost;
                sum.dropped += thread.dropped;
                sum.before_first = sum.before_first.saturating_add(thread.before_first);
                sum.last_time = sum.last_time.max(thread.last_time);
            }
        }
        for (key, below) in self.pruned.iter().filter(|(key, _)| !known.contains(*key)) {
            absent.pruned = absent.pruned.saturating_add(*below);
            if self.runs.contains_key(&key.0) {
                let sum = sums.entry(key.0).or_default();
                sum.calls = sum.calls.saturating_add(*below);
            }
        }
        for (run, noted) in &self.runs {
            absent.add(noted, &sums.get(run).copied().unwrap_or_default());
        }
        absent
    }
}

impl Absent {
    fn add(&mut self, noted: &OfRun, sum: &Sum) {
        let more = noted.dropped.saturating_sub(sum.dropped);
        let explained = sum.lost.min(more);
        self.dropped = self.dropped.saturating_add(more);
        self.missing -= explained;
        // Records that are later than the note revoke it.
        let ended = noted.ended.filter(|(_, time)| sum.last_time <= *time);
        let Some((calls, _)) = ended else {
            return;
        };
        let behind = calls.saturating_sub(sum.calls);
        let lost = behind.saturating_sub(more - explained);
        let of = match sum.before_first {
            0 => &mut self.missing,
            _ => &mut self.pruned,
        };
        *of = of.saturating_add(lost);
    }
}
