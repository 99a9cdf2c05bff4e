//! Which frames may be quotations: frames that stand in what one of our programs logged,
//! laid bare by damage to the frame around them. They are valid, and the logger did not
//! write them. The decision needs the whole input, so it is made when all was seen.
//!
//! A quotation is a stretch of one body. So it touches damage, that of the frame around
//! it, and it is no longer than a frame. Frames between two damages, or between one and
//! an end of the input, are a *block*. What in a block touches no damage is *sound*, and
//! a run that has a sound frame is *vouched for*. What stands between two frames that are
//! vouched for, with no damage between, is vouched for too.
//!
//! ```text
//! A A A | damage | B B B | damage | A A    B is vouched for nowhere: suspect
//! A A A | damage | A A A | damage | A A    A is: recovered
//! A A A | damage | B B A A A A A A A A A   B touches the damage, the others do not
//! A B A | damage | A C A | damage | A A    both stand between frames of A
//! ```
//!
//! An accident may leave no byte of damage, if it begins and ends where frames and quotations
//! do. So a run that no preamble names, beside one that has a preamble, is marked everywhere.

use crate::read::gap::{Gap, GapKind, Torn};
use crate::recover::block::{Block, Edge, MARKED, Row};
use crate::recover::marks::Marks;
use crate::recover::memory::{Memory, hashed};
use crate::recover::standing::Standing;
use crate::recover::tables::Place;
use logdef_wire::Run;
use logdef_wire::record::Preamble;
use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher, Hash, RandomState};

/// Runs remembered of all blocks; more are taken as vouched for.
const RUNS: usize = 1 << 18;
/// Blocks in doubt that are remembered, and runs in them; what stands after them is in
/// doubt.
const BLOCKS: usize = 1 << 18;
const DOUBTED_RUNS: usize = 1 << 18;
/// What they take; a run with its place among the blocks, and among those that are vouched for.
const DOUBT: usize = size_of::<Doubt>() + 16;
const DOUBTED: usize = size_of::<Span>() + 16 + hashed::<Run>();
/// Bytes of a boot ID, which cannot be guessed.
const BOOT_ID: usize = 16;

/// Learns frame by frame which runs are vouched for and what is in doubt.
#[derive(Debug, Default)]
pub(crate) struct Vouching {
    memory: Memory,
    input: u32,
    block: Block,
    /// Where the frames would end that begin in gaps before the block.
    claim: u64,
    /// Up to here, frames stand beside some that do not continue their threads.
    tainted: u64,
    /// Where zeros end, or a frame that was never finished.
    unfinished: Option<u64>,
    /// Where the room for notes ends that the last preamble may have after it.
    room_end: u64,
    doubts: Vec<Doubt>,
    /// Runs that stand in doubted blocks, each with its first and last frame there.
    doubted: Vec<Span>,
    vouched: HashSet<Run>,
    /// Runs that reach from a damage to the end of an input.
    last: HashSet<Run>,
    has_nameless: bool,
    /// There were more runs than are remembered.
    has_more_runs: bool,
    overflow: Option<Place>,
    /// The boot IDs of the machines on which the first runs of the inputs ran, as hashes
    /// with random keys.
    boots: HashSet<u64>,
    /// The boot IDs of other runs.
    booted: HashMap<Run, u64>,
    hasher: RandomState,
    /// Runs that preambles name.
    introduced: HashSet<Run>,
    /// Whether data records name no run.
    has_nameless_data: bool,
}

/// Where a run has its first and last frame in a block.
#[derive(Clone, Copy, Debug)]
struct Span {
    run: Run,
    first: u64,
    last: u64,
}

/// A block of which some frames are in doubt.
#[derive(Clone, Debug)]
struct Doubt {
    input: u32,
    start: u64,
    end: u64,
    /// Frames that start from the first offset to the second one, both included, are
    /// vouched for.
    trusted: Option<(u64, u64)>,
    /// Its runs, as indices.
    runs: (usize, usize),
    /// Frames that are vouched for and start before the first offset, or end after the
    /// second one, are marked.
    unmarked: (u64, u64),
}

impl Vouching {
    pub(crate) fn new(memory: &Memory) -> Vouching {
        Vouching {
            memory: memory.clone(),
            ..Vouching::default()
        }
    }

    /// Data records of one run, or another frame.
    #[inline]
    pub(crate) fn frames(&mut self, run: Option<Run>, start: u64, end: u64, is_preamble: bool) {
        if is_preamble {
            self.room_end = end.saturating_add(Preamble::ROOM_FOR_NOTES);
        }
        if let Some(row) = &mut self.block.last
            && row.run == run
            && self.unfinished.is_none()
        {
            row.end = end;
            return;
        }
        if self.unfinished.take() == Some(start) && !is_preamble && start != self.room_end {
            // Zeros and what was never finished are the end of a chunk, or room for notes.
            self.close(Edge::Damage);
            self.open_after(Edge::Damage, 0);
        }
        self.block.begin_row(Row { run, start, end });
    }

    /// A record does not continue its thread: its sequence or its time goes backwards, or
    /// leaves records out with no damage between, or is the first of its thread, or of none.
    #[cold]
    pub(crate) fn misfit(&mut self, offset: u64) {
        let (first, _) = self.block.misfits.unwrap_or((offset, offset));
        self.block.misfits = Some((first, offset));
    }

    /// A frame opens a chunk of `size` bytes.
    pub(crate) fn chunk(&mut self, offset: u64, size: u64) {
        if size.is_power_of_two() && offset.is_multiple_of(size) {
            self.block.chunk.get_or_insert(offset);
        }
    }

    /// A preamble names a run.
    pub(crate) fn introduce(&mut self, run: Run) {
        self.has_more_runs |= !remember(&mut self.introduced, run, &self.memory);
    }

    /// A data record names no run.
    #[cold]
    pub(crate) fn nameless(&mut self) {
        self.has_nameless_data = true;
    }

    /// A run says on which boot of which machine it ran. Who sends strings from elsewhere
    /// cannot know that number.
    pub(crate) fn boot(&mut self, offset: u64, run: Run, boot: &[u8]) {
        if boot.len() < BOOT_ID {
            return;
        }
        let boot = self.hasher.hash_one(boot);
        if offset == 0 && remember(&mut self.boots, boot, &self.memory) {
            return;
        }
        if self.booted.contains_key(&run)
            || self.booted.len() < RUNS && self.memory.take(hashed::<(Run, u64)>())
        {
            self.booted.entry(run).or_insert(boot);
        }
    }

    /// A gap; the frames that began in it would end at `claim`, by their headers.
    pub(crate) fn gap(&mut self, gap: &Gap, claim: u64) {
        match gap.kind {
            GapKind::Padding | GapKind::Torn(Torn::Unpublished) => {
                self.unfinished = Some(gap.end());
            }
            // The writer ended here; but what looks cut off may reach further.
            GapKind::Torn(_) => {
                self.close(Edge::Torn);
                self.open_after(Edge::Torn, claim);
            }
            GapKind::Damage(_) => {
                self.close(Edge::Damage);
                self.open_after(Edge::Damage, claim);
            }
        }
    }

    pub(crate) fn end_of_input(&mut self) {
        self.close(Edge::Clean);
        self.block = Block::default();
        self.claim = 0;
        self.tainted = 0;
        self.unfinished = None;
        self.room_end = 0;
        self.input += 1;
    }

    fn open_after(&mut self, edge: Edge, claim: u64) {
        self.claim = self.claim.max(claim);
        self.block.before = edge;
        self.block.claim = self.claim;
    }

    /// The block ends at an edge.
    fn close(&mut self, after: Edge) {
        let mut block = std::mem::take(&mut self.block);
        block.end_row();
        let Some((start, end)) = block.frames else {
            return;
        };
        self.has_more_runs |= block.has_more_runs;
        if block.before == Edge::Clean && after == Edge::Clean {
            self.vouch(block.runs.into_keys());
            return;
        }
        let trusted = block.sound(after);
        if trusted.is_none() && after == Edge::Clean {
            let last = block.last.and_then(|row| row.run);
            if let Some(last) = last {
                remember(&mut self.last, last, &self.memory);
            }
        }
        let unmarked = block.unmarked(after, self.tainted);
        if let Some((_, last)) = block.misfits {
            self.tainted = last + MARKED;
        }
        if is_in((start, end - 1), trusted) && is_in((start, end), Some(unmarked)) {
            self.vouch(block.runs.into_keys());
            return;
        }
        let is_much =
            self.doubts.len() >= BLOCKS || self.doubted.len() + block.runs.len() > DOUBTED_RUNS;
        if is_much || !self.memory.take(DOUBT + DOUBTED * block.runs.len()) {
            let place = Place {
                input: self.input,
                offset: start,
            };
            self.overflow.get_or_insert(place);
            return;
        }
        self.has_nameless |= block.has_nameless;
        let runs = self.doubted.len();
        let spans = block.runs.into_iter();
        self.doubted
            .extend(spans.map(|(run, (first, last))| Span { run, first, last }));
        self.doubts.push(Doubt {
            input: self.input,
            start,
            end,
            trusted,
            runs: (runs, self.doubted.len()),
            unmarked,
        });
    }

    fn vouch(&mut self, runs: impl Iterator<Item = Run>) {
        for run in runs {
            self.has_more_runs |= !remember(&mut self.vouched, run, &self.memory);
        }
    }

    /// What is in doubt, now that all inputs were seen, and what copies say of theirs.
    pub(crate) fn finish(mut self, marks: Marks) -> Suspects {
        let boots = std::mem::take(&mut self.boots);
        let booted = std::mem::take(&mut self.booted).into_iter();
        let same_boot = booted.filter(|(_, boot)| boots.contains(boot));
        self.vouch(same_boot.map(|(run, _)| run));
        self.spread();
        let believes_the_only_run =
            self.vouched.is_empty() && !self.has_nameless && self.believe_the_only_run();
        let has_vouched = !self.vouched.is_empty() || self.has_more_runs;
        let mut named = self.vouched.iter();
        let is_asked = self.has_nameless_data || named.any(|run| !self.introduced.contains(run));
        let can_tell = !self.introduced.is_empty() && !self.has_more_runs;
        let mut suspects = Suspects {
            marks: Marks::default(),
            introduced: (can_tell && is_asked).then_some(self.introduced),
            doubts: self.doubts,
            vouched: self.vouched,
            last: self.last,
            has_vouched,
            has_more_runs: self.has_more_runs,
            believes_the_only_run,
            overflow: self.overflow,
        };
        suspects.carry(marks);
        suspects
    }

    /// Where all frames name one run, and the input's front is lost, nothing contradicts
    /// that run; whether it is believed.
    fn believe_the_only_run(&mut self) -> bool {
        let mut runs = self.doubted.iter().map(|span| span.run);
        let only = runs.next().filter(|first| runs.all(|run| run == *first));
        let Some(only) = only.filter(|only| self.last.contains(only)) else {
            return false;
        };
        self.vouched.insert(only);
        self.spread();
        true
    }

    /// Lets frames that are vouched for vouch for those between them.
    fn spread(&mut self) {
        let doubts = self.doubts.iter().enumerate();
        let blocks_of = doubts.flat_map(|(index, doubt)| {
            let spans = self.doubted[doubt.runs.0..doubt.runs.1].iter();
            spans.map(move |span| (span.run, index))
        });
        let mut blocks_of: Vec<(Run, usize)> = blocks_of.collect();
        blocks_of.sort_unstable();
        let mut blocks: Vec<usize> = (0..self.doubts.len()).collect();
        while let Some(index) = blocks.pop() {
            let doubt = &mut self.doubts[index];
            for span in &self.doubted[doubt.runs.0..doubt.runs.1] {
                if self.vouched.contains(&span.run) {
                    let (from, to) = doubt.trusted.unwrap_or((span.first, span.last));
                    doubt.trusted = Some((from.min(span.first), to.max(span.last)));
                }
            }
            let Some(trusted) = doubt.trusted else {
                continue;
            };
            for span in &self.doubted[doubt.runs.0..doubt.runs.1] {
                let inside = |offset| (trusted.0..=trusted.1).contains(&offset);
                // Each run is vouched for once, so each block comes up again no oftener
                // than it has runs.
                if (inside(span.first) || inside(span.last)) && self.vouched.insert(span.run) {
                    let first = blocks_of.partition_point(|(run, _)| *run < span.run);
                    let same = blocks_of[first..].iter();
                    let same = same.take_while(|(run, _)| *run == span.run);
                    blocks.extend(same.map(|(_, block)| *block));
                }
            }
        }
    }
}

/// Puts a value into a set, where there is room; whether it is in.
fn remember<T: Eq + Hash>(set: &mut HashSet<T>, value: T, memory: &Memory) -> bool {
    if set.contains(&value) {
        return true;
    }
    let has_room = set.len() < RUNS && memory.take(hashed::<T>());
    has_room && set.insert(value)
}

/// Whether a range lies in another, if there is one.
fn is_in((from, to): (u64, u64), outer: Option<(u64, u64)>) -> bool {
    outer.is_some_and(|outer| outer.0 <= from && to <= outer.1)
}

/// The frames that are recovered or suspect.
#[derive(Clone, Debug, Default)]
pub(crate) struct Suspects {
    /// The runs that preambles name, if some record names another one or none: the logger did
    /// not write it, or the front of its run is missing.
    introduced: Option<HashSet<Run>>,
    /// Ascending, without overlap.
    doubts: Vec<Doubt>,
    vouched: HashSet<Run>,
    /// Runs that reach from a damage to the end of an input: more likely appended there
    /// than quoted.
    last: HashSet<Run>,
    has_vouched: bool,
    has_more_runs: bool,
    /// Whether a run is vouched for only because there is no other one.
    believes_the_only_run: bool,
    /// From here on, all is in doubt.
    overflow: Option<Place>,
    marks: Marks,
}

impl Suspects {
    /// Bytes of memory that it takes.
    pub(crate) fn memory(&self) -> usize {
        let introduced = self.introduced.as_ref().map_or(0, HashSet::len);
        let runs = introduced + self.vouched.len() + self.last.len();
        self.doubts.len() * DOUBT + runs * hashed::<Run>() + self.marks.memory()
    }

    /// Whether all frames are sound.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.is_empty_but_for_runs() && self.introduced.is_none()
    }

    fn is_empty_but_for_runs(&self) -> bool {
        self.doubts.is_empty() && self.overflow.is_none() && self.marks.is_empty()
    }

    /// Takes in what notes say of frames that were copied. One that stands in doubt itself
    /// hides nothing.
    fn carry(&mut self, mut marks: Marks) {
        let nobody = || None;
        marks.soften(|input, offset| {
            let place = Place { input, offset };
            self.standing_beside_damage(place, nobody) != Standing::Sound
        });
        self.marks = marks;
    }

    /// Whether another run would change what is vouched for.
    pub(crate) fn believes_the_only_run(&self) -> bool {
        self.believes_the_only_run
    }

    /// Whether some frame may be suspect.
    pub(crate) fn may_hold_suspects(&self) -> bool {
        let is_whole = |doubt: &Doubt| is_in((doubt.start, doubt.end - 1), doubt.trusted);
        self.marks.has_suspects()
            || self.has_vouched && (self.overflow.is_some() || !self.doubts.iter().all(is_whole))
    }

    /// How far a frame at a place can be trusted that names a run, or none.
    #[inline]
    pub(crate) fn standing(&self, place: Place, run: impl Fn() -> Option<Run>) -> Standing {
        if self.is_empty() {
            return Standing::Sound;
        }
        match self.standing_beside_damage(place, &run) {
            Standing::Sound => self.unmarked_if_introduced(run),
            other => other,
        }
    }

    /// The same, but for what the runs say that preambles name, which a copy says again.
    pub(crate) fn standing_beside_damage(
        &self,
        place: Place,
        run: impl Fn() -> Option<Run>,
    ) -> Standing {
        if self.is_empty_but_for_runs() {
            return Standing::Sound;
        }
        let before = |doubt: &Doubt| (doubt.input, doubt.end) <= (place.input, place.offset);
        let doubt = self.doubts.get(self.doubts.partition_point(before));
        let here = |doubt: &&Doubt| doubt.input == place.input && doubt.start <= place.offset;
        let standing = match doubt.filter(here) {
            Some(doubt) => self.standing_in(doubt, place.offset, run),
            None if self.overflow.is_some_and(|overflow| place >= overflow) => {
                self.standing_of(run())
            }
            None => Standing::Sound,
        };
        standing.max(self.marks.at(place.input, place.offset))
    }

    /// How far a frame can be trusted that no damage is near.
    fn unmarked_if_introduced(&self, run: impl Fn() -> Option<Run>) -> Standing {
        let is_introduced = |introduced: &HashSet<Run>| {
            let run = run();
            run.is_some_and(|run| introduced.contains(&run))
        };
        if self.introduced.as_ref().is_none_or(is_introduced) {
            Standing::Sound
        } else {
            Standing::Recovered
        }
    }

    fn standing_in(&self, doubt: &Doubt, offset: u64, run: impl Fn() -> Option<Run>) -> Standing {
        let is_trusted = doubt
            .trusted
            .is_some_and(|(from, to)| (from..=to).contains(&offset));
        if !is_trusted {
            return self.standing_of(run());
        }
        if (doubt.unmarked.0..doubt.unmarked.1).contains(&offset) {
            Standing::Sound
        } else {
            Standing::Recovered
        }
    }

    fn standing_of(&self, run: Option<Run>) -> Standing {
        let is_vouched_for = run.is_some_and(|run| {
            self.has_more_runs || self.vouched.contains(&run) || self.last.contains(&run)
        });
        if is_vouched_for || !self.has_vouched {
            Standing::Recovered
        } else {
            Standing::Suspect
        }
    }
}
