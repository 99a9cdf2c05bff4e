//! Which frames may be quotations: another program's log that one of our
//! programs logged, laid bare by damage to the frame around it. Such frames are
//! valid, and nobody here wrote them. The decision needs the whole input: a run
//! is *vouched for* by a frame outside damage, anywhere. A quotation lies within one
//! frame, so frames between two damages are outside if they reach further than a frame
//! can, or if one of them is of a run that is vouched for.
//!
//! ```text
//! run A  A  A | damage | B  B  B | damage | A  A      B is vouched for nowhere: suspect
//! run A  A  A | damage | A  A  A | damage | A  A      A is: recovered
//! run A  A  A | damage | B  A  B | damage | A  A      and so is what stands beside it
//! ```

use crate::read::gap::Gap;
use crate::read::input::{Error, Input};
use crate::read::item::{Item, Items};
use crate::read::unmask;
use logdef_wire::{Record, Run, frame};
use std::collections::{HashMap, HashSet};

/// Runs remembered; more in one set of inputs are taken as vouched for.
const RUNS: usize = 1 << 16;
/// Runs remembered for one stretch between two damages.
const STRETCH: usize = 64;
/// Sets of runs that stood together between two damages; those of more are taken as
/// vouched for.
const SETS: usize = 1 << 12;
/// Suspect stretches remembered; beyond that, frames are taken as recovered.
const STRETCHES: usize = 1 << 20;

/// Which runs are vouched for, learnt frame by frame.
#[derive(Debug, Default)]
pub(crate) struct Vouching {
    vouched: HashSet<Run>,
    seen: HashSet<Run>,
    /// Runs that stood together between two damages: one vouches for the others.
    together: HashSet<Vec<Run>>,
    stretch: Stretch,
}

/// Frames between two damages, or between one and an end of the input.
#[derive(Debug, Default)]
struct Stretch {
    after_damage: bool,
    start: u64,
    runs: Vec<Run>,
    last: Option<Run>,
}

impl Stretch {
    #[inline]
    fn add(&mut self, run: Run) {
        if self.last != Some(run) {
            self.last = Some(run);
            if self.runs.len() < STRETCH && !self.runs.contains(&run) {
                self.runs.push(run);
            }
        }
    }
}

impl Vouching {
    #[inline]
    pub(crate) fn frame(&mut self, run: Option<Run>) {
        if let Some(run) = run {
            self.stretch.add(run);
        }
    }

    pub(crate) fn damage(&mut self, gap: &Gap) {
        let Stretch {
            after_damage,
            start,
            ..
        } = self.stretch;
        let fits_a_frame = gap.offset.saturating_sub(start) <= frame::MAX_BODY as u64;
        self.close(after_damage && fits_a_frame);
        self.stretch.after_damage = true;
        self.stretch.start = gap.end();
    }

    pub(crate) fn end_of_input(&mut self) {
        self.close(false);
        self.stretch.after_damage = false;
    }

    fn close(&mut self, mut inside: bool) {
        let mut runs = std::mem::take(&mut self.stretch.runs);
        self.stretch.last = None;
        if inside && runs.len() > 1 {
            runs.sort_unstable();
            inside = self.together.len() < SETS || self.together.contains(&runs);
            if inside {
                self.together.insert(runs.clone());
            }
        }
        for run in runs {
            if self.seen.len() < RUNS {
                self.seen.insert(run);
                if !inside {
                    self.vouched.insert(run);
                }
            }
        }
    }

    /// The runs that no frame outside damage vouches for, if any other run is.
    fn strangers(&self) -> HashSet<Run> {
        if self.vouched.is_empty() || self.vouched.len() == self.seen.len() {
            return HashSet::new();
        }
        let mut vouched = self.vouched.clone();
        let mut sets_of: HashMap<Run, Vec<&Vec<Run>>> = HashMap::new();
        for set in &self.together {
            for run in set {
                sets_of.entry(*run).or_default().push(set);
            }
        }
        let mut queue: Vec<_> = vouched.iter().copied().collect();
        while let Some(run) = queue.pop() {
            let sets = sets_of.remove(&run).unwrap_or_default();
            let others = sets.into_iter().flatten().copied();
            queue.extend(others.filter(|other| vouched.insert(*other)));
        }
        self.seen.difference(&vouched).copied().collect()
    }

    /// Looks through the inputs again, if there is a stranger, for frames of
    /// strangers between damages whose both sides are vouched for.
    pub(crate) fn suspects(&self, inputs: &[Input]) -> Result<Suspects, Error> {
        let strangers = self.strangers();
        let mut suspects = Suspects::default();
        if strangers.is_empty() {
            return Ok(suspects);
        }
        for (index, input) in inputs.iter().enumerate() {
            let mut search = Search {
                strangers: &strangers,
                input: index as u32,
                left: false,
                stretch: Stretch::default(),
                start: 0,
                pending: Vec::new(),
            };
            let mut items = Items::new(input);
            let mut scratch = Vec::new();
            while let Some(item) = items.next()? {
                match item {
                    Item::Gap(gap) if gap.is_damage() => search.damage(&gap, &mut suspects),
                    Item::Gap(_) => {}
                    Item::Frame(frame) => {
                        let record = unmask::decode(frame.body, &mut scratch);
                        if let Some(run) = record.ok().and_then(|record| run_of(&record)) {
                            search.frame(run, &mut suspects);
                        }
                    }
                }
            }
        }
        Ok(suspects)
    }
}

/// The run a record belongs to, if it says so.
pub(crate) fn run_of(record: &Record<'_>) -> Option<Run> {
    match record {
        Record::Preamble(record) => record.run,
        Record::StringLogdef(record) => record.run,
        Record::BacktraceLogdef(record) => record.run,
        Record::ThreadLogdef(record) => record.run,
        Record::Module(record) => record.run,
        Record::Durable(record) => record.run,
        Record::Note(record) => record.run,
        Record::TextLogdef(record) => record.run,
        Record::ContextLogdef(record) => record.run,
        Record::Data(record) => record.run,
        _ => None,
    }
}

struct Search<'s> {
    strangers: &'s HashSet<Run>,
    input: u32,
    /// Whether some frame before belongs to a run that is vouched for.
    left: bool,
    stretch: Stretch,
    start: u64,
    /// Stretches of strangers that wait for their right side.
    pending: Vec<Stranger>,
}

impl Search<'_> {
    fn frame(&mut self, run: Run, suspects: &mut Suspects) {
        self.stretch.add(run);
        if !self.strangers.contains(&run) {
            self.left = true;
            // What was pending has both its sides.
            suspects.ranges.append(&mut self.pending);
        }
    }

    fn damage(&mut self, gap: &Gap, suspects: &mut Suspects) {
        let runs = std::mem::take(&mut self.stretch.runs);
        let inside = self.stretch.after_damage && self.left;
        for run in runs.into_iter().filter(|run| self.strangers.contains(run)) {
            if inside && suspects.ranges.len() + self.pending.len() < STRETCHES {
                self.pending.push(Stranger {
                    input: self.input,
                    start: self.start,
                    end: gap.offset,
                    run,
                });
            }
        }
        self.stretch = Stretch {
            after_damage: true,
            ..Stretch::default()
        };
        self.start = gap.end();
    }
}

#[derive(Clone, Copy, Debug)]
struct Stranger {
    input: u32,
    start: u64,
    end: u64,
    run: Run,
}

/// The frames that are suspect.
#[derive(Clone, Debug, Default)]
pub(crate) struct Suspects {
    /// Ascending, without overlap but for several runs of one stretch.
    ranges: Vec<Stranger>,
}

impl Suspects {
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// Whether a frame of a run at an offset is suspect.
    #[inline]
    pub(crate) fn contains(&self, input: u32, offset: u64, run: Option<Run>) -> bool {
        if self.ranges.is_empty() {
            return false;
        }
        let Some(run) = run else {
            return false;
        };
        let after = |range: &Stranger| (range.input, range.end) <= (input, offset);
        let first = self.ranges.partition_point(after);
        self.ranges[first..]
            .iter()
            .take_while(|range| range.input == input && range.start <= offset)
            .any(|range| range.run == run)
    }
}
