//! All records of all inputs as one sequence, ordered by time without breaking
//! the order of any thread. Lanes are opened when their time comes, so memory is
//! that of the lanes that overlap, not of the input.
//!
//! Where a thread's clock was set back, its later records are merged as if at the
//! highest time before: their place is wrong by the clock and right by the thread. That
//! holds wherever the records stand. A lane of several threads is read ahead to sort it; where
//! that is not enough, and another lane has later records of such a thread, it is read on.

pub(crate) mod background;
mod open_lane;
pub(crate) mod progress;
pub(crate) mod repeats;
mod rule;
mod shared;
pub(crate) mod sieve;
mod survey_contract;
mod wanted;

use crate::merge::open_lane::OpenLane;
use crate::merge::progress::MergedSoFar;
use crate::merge::repeats::{Repeats, Sighting};
use crate::merge::shared::Shared;
use crate::merge::sieve::Sieve;
use crate::merge::wanted::Wanted;
use crate::read::input::{Error, Input};
use crate::read::known_bodies::KnownBodies;
use crate::recover::account::{Account, GapReport};
use crate::recover::floors::Stairs;
use crate::recover::lane::{Lane, ThreadKey};
use crate::recover::memory::Memory;
use crate::recover::recovery::Recovery;
use crate::recover::standing::Standing;
use crate::recover::survey::Survey;
use crate::recover::tables::Place;
use logdef_wire::{Record, Run, Sequence, Tag};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;

/// Bytes that lanes hold where they must be read far ahead to keep a thread in order; beyond
/// that its records come as they stand.
const LOOKED_AHEAD: usize = 32 << 20;
/// Bytes that open lanes take together, or little more: where they take more each, fewer are open.
const HELD: usize = 48 << 20;

/// Lanes that are open at once. Beyond, one whose time has come waits until another ends, and
/// its records come late: in their threads' order, and not in that of time.
const OPEN: usize = 1 << 15;

/// What a merge yields, in order.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Event<'m> {
    /// The next frame in the order of time.
    Frame(MergedFrame<'m>),
    /// A gap, where its lane comes to it. Padding is left out.
    Gap(u32, &'m GapReport),
}

/// A frame in its place in time.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct MergedFrame<'m> {
    /// Input and offset at which it stands.
    pub place: Place,
    /// The whole frame as it stands.
    pub bytes: &'m [u8],
    /// The record's body, unmasked.
    pub body: &'m [u8],
    /// How far it can be trusted.
    pub standing: Standing,
    pub(crate) lane: u32,
    /// Whether a record of the same run and sequence, but other bytes, was given
    /// before.
    pub conflict: bool,
}

impl<'m> MergedFrame<'m> {
    /// The tag of the record.
    pub fn tag(&self) -> Tag {
        Tag(self.body[0])
    }

    /// The record, unless it breaks the grammar.
    #[inline]
    pub fn record(&self) -> Option<Record<'m>> {
        Record::decode(self.body).ok()
    }
}

/// What a merge leaves out.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct MergeOptions {
    /// Give frames that are no data records too.
    pub all_frames: bool,
    /// Give damage and torn frames.
    pub gaps: bool,
    /// Give records again that were given before, byte for byte.
    pub repeats: bool,
    /// Lanes may be left out whose records are all of before this time, in nanoseconds
    /// since the epoch, and come before all others, where a [`Recovery`] knows it. Some
    /// records of before come still; all others do, as do all notes and gaps. From a
    /// [`Survey`], chunks are left out whose threads continue in another one before it,
    /// with all that they hold.
    pub since: u64,
    /// Lanes may be left out whose records are all of after this time, where a
    /// [`Recovery`] knows it.
    pub until: u64,
}

impl Default for MergeOptions {
    fn default() -> Self {
        MergeOptions {
            all_frames: false,
            gaps: true,
            repeats: false,
            since: 0,
            until: u64::MAX,
        }
    }
}

/// Merges inputs by time.
///
/// ```
/// use logdef_resync::{Event, Input, Merge, MergeOptions, Recovery};
///
/// let inputs = [Input::from_bytes("empty", Vec::new())];
/// let recovery = Recovery::of(&inputs)?;
/// let mut merge = Merge::new(&inputs, &recovery, MergeOptions::default());
/// while let Some(event) = merge.next()? {
///     if let Event::Frame(frame) = event {
///         println!("{:?}: {:?}", frame.place, frame.record());
///     }
/// }
/// # Ok::<(), logdef_resync::Error>(())
/// ```
#[derive(Debug)]
pub struct Merge<'i> {
    inputs: &'i [Input],
    plan: Plan<'i>,
    wanted: Wanted<'i>,
    /// Lanes that were not opened yet, the earliest last.
    waiting: Vec<Waiting>,
    open: Vec<Option<OpenLane<'i>>>,
    /// Places in `open` that are empty.
    free: Vec<usize>,
    heads: BinaryHeap<Reverse<Head>>,
    /// The lane whose head was given last and must move on.
    given: Option<usize>,
    /// Where the threads stand that several lanes have.
    shared: Shared,
    repeats: Repeats,
    /// What open lanes may hold.
    memory: Memory,
    /// What a merge from a survey gave already.
    before: Option<MergedSoFar>,
    contradicts_survey: bool,
}

/// Where the lanes come from, and what must be checked about them.
#[derive(Clone, Copy, Debug)]
enum Plan<'i> {
    Recovery(&'i Recovery),
    Survey(&'i Survey),
}

impl<'i> Plan<'i> {
    fn lanes(self) -> &'i [Lane] {
        match self {
            Plan::Recovery(recovery) => &recovery.lanes,
            Plan::Survey(survey) => &survey.lanes,
        }
    }

    fn accounts(self) -> &'i [Account] {
        match self {
            Plan::Recovery(recovery) => recovery.accounts(),
            Plan::Survey(_) => &[],
        }
    }

    /// The floors of a thread that stands in several lanes at once.
    fn stairs(self, thread: ThreadKey) -> Option<&'i Stairs> {
        match self {
            Plan::Recovery(recovery) => recovery.floors.of(thread),
            Plan::Survey(_) => None,
        }
    }
}

/// A lane whose time has not come, and the time that its thread had reached before.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
struct Waiting {
    key: u64,
    lane: u32,
    floor: u64,
}

/// A record's run and sequence, if it is a data record that has both.
type Identity = Option<(Run, Sequence)>;

/// What lanes are ordered by: time, then identity, so that copies meet.
///
/// Its fields have no gaps between them, as a heap moves it right after it was
/// written: a core waits long for what it reads in wider pieces than it wrote.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
struct Head {
    key: u64,
    identity: Identity,
    lane: u64,
    slot: usize,
}

impl<'i> Merge<'i> {
    /// Starts before the first record.
    pub fn new(inputs: &'i [Input], recovery: &'i Recovery, options: MergeOptions) -> Self {
        let waiting = |(lane, entry): (usize, &Lane)| Waiting {
            key: entry.key,
            lane: lane as u32,
            floor: entry.threads.first().map_or(0, |thread| thread.floor),
        };
        let lanes = recovery.lanes.iter().enumerate();
        let MergeOptions { since, until, .. } = options;
        let wanted = lanes.filter(|(lane, _)| !recovery.is_out_of(*lane, since, until));
        let mut waiting: Vec<_> = wanted.map(waiting).collect();
        waiting.sort_unstable_by_key(|lane| Reverse(*lane));
        Merge::of_plan(inputs, Plan::Recovery(recovery), options, waiting)
    }

    /// Merges one input of which only its survey is known. Gives the same as a merge
    /// after a recovery, and all frames, since tables must be filled from those that are
    /// no data.
    ///
    /// What the survey takes for granted is checked frame by frame: that no byte is
    /// damaged or torn, that each chunk holds the records of one thread of the one run,
    /// and that its counts have no hole, from chunk to chunk. Where that fails, the merge
    /// [contradicts its survey](Merge::contradicts_survey) and ends; everything before
    /// stands. Only of what lies hidden after such a place, in chunks that were not looked
    /// into, can something belong before what was given.
    pub fn from_survey(input: &'i Input, survey: &'i Survey, options: MergeOptions) -> Self {
        let options = MergeOptions {
            all_frames: true,
            gaps: true,
            ..options
        };
        let waiting = |lane: &u32| {
            let lane = survey.first_since(*lane, options.since);
            Waiting {
                key: survey.lanes[lane as usize].key,
                lane,
                floor: 0,
            }
        };
        let mut waiting: Vec<_> = survey.first.iter().map(waiting).collect();
        waiting.sort_unstable_by_key(|lane| Reverse(*lane));
        let inputs = std::slice::from_ref(input);
        Merge::of_plan(inputs, Plan::Survey(survey), options, waiting)
    }

    /// Leaves out what a merge from the survey of the same input gave, here and wherever it
    /// stands once more.
    pub fn after(mut self, given: MergedSoFar) -> Result<Self, Error> {
        if let (Plan::Recovery(recovery), [input, ..]) = (self.plan, self.inputs)
            && !recovery.repeated.is_empty()
        {
            given.each_given(input, |identity, bytes| {
                self.repeats.see(recovery, identity, bytes);
            })?;
        }
        self.before = Some(given);
        Ok(self)
    }

    /// Leaves out data records that a sieve does not let pass, before they are put in order. They
    /// are not counted as [`duplicates`](Merge::duplicates), and others are no
    /// [`conflict`](MergedFrame::conflict) with them. From a survey, a string logdef that repeats one
    /// byte for byte is left out too.
    #[must_use]
    pub fn through(mut self, sieve: impl Sieve + 'i) -> Self {
        self.wanted.searches = sieve.bare(b"").is_some();
        self.wanted.sieve = Some(Box::new(sieve));
        self
    }

    fn of_plan(
        inputs: &'i [Input],
        plan: Plan<'i>,
        options: MergeOptions,
        waiting: Vec<Waiting>,
    ) -> Self {
        Merge {
            inputs,
            plan,
            wanted: Wanted {
                options,
                sieve: None,
                searches: false,
                fronts: Box::default(),
                strings: KnownBodies::default(),
            },
            waiting,
            open: Vec::new(),
            free: Vec::new(),
            heads: BinaryHeap::new(),
            given: None,
            shared: Shared::default(),
            repeats: Repeats::default(),
            memory: Memory::new(HELD),
            before: None,
            contradicts_survey: false,
        }
    }

    pub(crate) fn accounts(&self) -> &'i [Account] {
        self.plan.accounts()
    }

    /// Whether it ended because the log is not what its survey takes for granted. What
    /// is left has to come from a merge after a [`Recovery`].
    pub fn contradicts_survey(&self) -> bool {
        self.contradicts_survey
    }

    /// Records that were left out because they were given before.
    pub fn duplicates(&self) -> u64 {
        self.repeats.left_out
    }

    /// The next event, `None` at the end.
    #[allow(clippy::should_implement_trait)]
    #[inline]
    pub fn next(&mut self) -> Result<Option<Event<'_>>, Error> {
        let (slot, sighting) = loop {
            self.move_on()?;
            self.open_due()?;
            if self.must_look_further()? {
                continue;
            }
            let Some(Reverse(head)) = self.heads.peek().filter(|_| !self.contradicts_survey) else {
                return Ok(None);
            };
            self.given = Some(head.slot);
            let lane = self.open[head.slot].as_ref();
            let lane = lane.expect("a head is of an open lane");
            if let Some(body) = lane.unsifted_head()
                && !self.wanted.passes(body)
            {
                continue;
            }
            let sighting = match (head.identity, self.plan) {
                (Some(identity), Plan::Recovery(recovery)) => {
                    self.repeats.see(recovery, identity, lane.head_bytes())
                }
                _ => Sighting::First,
            };
            let before = self.before.as_ref();
            if before.is_some_and(|given| given.contains(lane.head_place())) {
                continue;
            }
            if sighting != Sighting::Same || self.wanted.options.repeats {
                break (head.slot, sighting);
            }
            self.repeats.left_out += 1;
        };
        let lane = self.open[slot].as_ref().expect("as above");
        Ok(lane.head_event(self.plan.accounts(), sighting == Sighting::Other))
    }

    /// Takes the head off that was given, and puts the lane's next one in.
    #[inline]
    fn move_on(&mut self) -> Result<(), Error> {
        let Some(slot) = self.given.take() else {
            return Ok(());
        };
        let lane = self.open[slot].as_mut().expect("it gave a head");
        let next = lane.advance(&mut self.wanted)?;
        let Some(mut top) = self.heads.peek_mut() else {
            return Ok(());
        };
        match next {
            Some((key, identity)) => {
                let head = Head {
                    key,
                    identity,
                    lane: lane.index.into(),
                    slot,
                };
                *top = Reverse(head);
            }
            None => {
                PeekMut::pop(top);
                let ended = self.open[slot].take();
                self.free.push(slot);
                if let Some(ended) = ended {
                    self.shared.close(&ended, slot);
                    self.end(&ended);
                }
            }
        }
        Ok(())
    }

    /// A lane of a survey has ended: its thread continues in another.
    fn end(&mut self, lane: &OpenLane<'_>) {
        let Plan::Survey(survey) = self.plan else {
            return;
        };
        let Some(contract) = lane.contract() else {
            return;
        };
        self.contradicts_survey |= contract.is_broken;
        if let Some(next) = survey.next[lane.index as usize] {
            self.contradicts_survey |= contract.count != survey.begins[next as usize];
            let waiting = Waiting {
                key: survey.lanes[next as usize].key.max(lane.key),
                lane: next,
                floor: lane.key,
            };
            let at = self.waiting.partition_point(|other| *other > waiting);
            self.waiting.insert(at, waiting);
        }
    }

    /// Opens the lanes that may hold something before the first head.
    fn open_due(&mut self) -> Result<(), Error> {
        while let Some(&waiting) = self.waiting.last() {
            let head = self.heads.peek();
            let is_full = self.heads.len() >= OPEN || self.memory.is_used_up();
            if is_full && head.is_some()
                || self.contradicts_survey
                || head.is_some_and(|Reverse(head)| head.key < waiting.key)
            {
                break;
            }
            self.waiting.pop();
            let mut open = OpenLane::new(
                self.inputs,
                self.plan,
                waiting,
                self.heads.len(),
                &self.memory,
            );
            let Some((key, identity)) = open.advance(&mut self.wanted)? else {
                self.end(&open);
                continue;
            };
            let slot = self.free.pop().unwrap_or_else(|| {
                self.open.push(None);
                self.open.len() - 1
            });
            if self.plan.lanes()[waiting.lane as usize].is_shared {
                self.shared.open(&open, slot);
            }
            self.open[slot] = Some(open);
            self.heads.push(Reverse(Head {
                key,
                identity,
                lane: waiting.lane.into(),
                slot,
            }));
        }
        Ok(())
    }

    /// Whether the first head may have to wait for records of its thread that another lane
    /// has and has not come to. Then that lane was read on, and the heads may have changed.
    #[inline]
    fn must_look_further(&mut self) -> Result<bool, Error> {
        if self.shared.is_empty() {
            return Ok(false);
        }
        let Some(Reverse(head)) = self.heads.peek() else {
            return Ok(false);
        };
        let Some((run, sequence)) = head.identity else {
            return Ok(false);
        };
        let thread = (run, sequence.number());
        let count = sequence.count();
        let open = &self.open;
        let has_read_to = |slot: usize| {
            let lane = open[slot].as_ref();
            lane.map_or(u64::MAX, |lane| lane.has_read_to(thread))
        };
        let Some(behind) = self.shared.behind(thread, count, has_read_to) else {
            return Ok(false);
        };
        self.look_further(behind, (thread, count))
    }

    /// Lets a lane read on; `false` if there is no room.
    #[cold]
    fn look_further(&mut self, slot: usize, to: (ThreadKey, u64)) -> Result<bool, Error> {
        let held: usize = self.open.iter().flatten().map(OpenLane::bytes_held).sum();
        let Some(lane) = self.open[slot].as_mut() else {
            return Ok(false);
        };
        let own = lane.bytes_held();
        let room = LOOKED_AHEAD.saturating_sub(held - own);
        if own >= room {
            self.shared.give_up(to.0);
            return Ok(false);
        }
        let next = lane.read_to(to, room, &mut self.wanted)?;
        let lane = lane.index.into();
        let mut heads = std::mem::take(&mut self.heads).into_vec();
        for Reverse(head) in &mut heads {
            if let (true, Some((key, identity))) = (head.slot == slot, next) {
                *head = Head {
                    key,
                    identity,
                    lane,
                    slot,
                };
            }
        }
        self.heads = heads.into();
        Ok(true)
    }
}
