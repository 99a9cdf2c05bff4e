//! A lane that is being merged: its frames, read some way ahead, in the order they are
//! given.

use crate::merge::rule::Rule;
use crate::merge::survey_contract::SurveyContract;
use crate::merge::wanted::{Checked, Sifts, Timed, Wanted};
use crate::merge::{Event, Identity, MergedFrame, Plan, Waiting};
use crate::read::input::{Error, Input};
use crate::read::item::{FrameItem, Item, Items};
use crate::read::unmask;
use crate::recover::account::Account;
use crate::recover::floors::Stairs;
use crate::recover::lane::{ByThread, LaneThread, ThreadKey};
use crate::recover::memory::Memory;
use crate::recover::standing::Standing;
use crate::recover::tables::Place;
use logdef_wire::Tag;

/// Bytes that a lane holds of its input; fewer when many lanes are open.
const BATCH: usize = 64 << 10;
const SMALL_BATCH: usize = 8 << 10;
/// Bytes that very many lanes share, as far as none has less than the smallest.
const SMALL_BATCHES: usize = 4 << 20;
const SMALLEST_BATCH: usize = 512;
const LARGE_BATCH: usize = 4 << 20;
const LEAST_AHEAD: usize = 2 << 10;
const MANY_LANES: usize = 64;
/// Frames that a lane of several threads reads ahead to put them in order.
const AHEAD: usize = 4096;
/// Records that a sieve keeps back, after which a lane gives those that passed.
const SIFTED: usize = 1 << 12;

/// A lane that is being merged.
#[derive(Debug)]
pub(crate) struct OpenLane<'i> {
    pub(crate) index: u32,
    input: u32,
    items: Items<'i>,
    /// Where the first text stands that the sieve searches for, or may.
    bare_to: u64,
    has_ended: bool,
    /// Frames in the order they are given, from `next` on.
    frames: Vec<Buffered>,
    next: usize,
    /// When `next` gets here, more is read.
    refill: usize,
    bytes: Vec<u8>,
    threads: Threads<'i>,
    batch: usize,
    /// What the open lanes may hold together, and what this one took of it.
    memory: Memory,
    taken: usize,
    scratch: Vec<u8>,
    /// The time that its last record is merged by.
    pub(crate) key: u64,
    rule: Rule<'i>,
}

/// A frame that was read ahead.
#[derive(Clone, Copy, Debug)]
struct Buffered {
    key: u64,
    identity: Identity,
    offset: u64,
    /// The frame, and in it or after it the unmasked body; of a gap, nothing.
    frame: (u32, u32),
    body: (u32, u32),
}

impl Buffered {
    fn gap(offset: u64) -> Buffered {
        Buffered {
            key: 0,
            identity: None,
            offset,
            frame: (0, 0),
            body: (0, 0),
        }
    }
}

/// What one step of reading ahead came to.
enum Step {
    /// Nothing that is given.
    Nothing,
    /// A frame or gap that goes with the next data record.
    Lead,
    Data(Timed),
    /// A data record that the sieve keeps back.
    Sifted(Timed),
    End,
}

/// The threads of a lane.
#[derive(Debug)]
enum Threads<'i> {
    One(ThreadKey, Reached<'i>),
    Many(ByThread<Reached<'i>>),
}

/// How far a thread was read in a lane.
#[derive(Clone, Copy, Debug)]
struct Reached<'i> {
    /// The time below which none of its next records is merged, as far as this lane knows;
    /// and what others know, if that changes within the lane.
    floor: u64,
    stairs: Option<&'i Stairs>,
    /// The next count, or one below.
    next: u64,
    last: u64,
}

impl Reached<'_> {
    /// The time that the next record is merged by.
    #[inline]
    fn lift(&mut self, count: u64, time: u64) -> u64 {
        let floor = self.stairs.map_or(0, |stairs| stairs.below(count));
        self.floor = self.floor.max(floor).max(time);
        self.next = count.saturating_add(1);
        self.floor
    }
}

impl Threads<'_> {
    /// When a sieve is asked: of a lane that is sorted, how far it is read decides on the order.
    fn sifts(&self) -> Sifts {
        match self {
            Threads::One(..) => Sifts::Now,
            Threads::Many(_) => Sifts::Later,
        }
    }

    /// The time that a record is merged by.
    #[inline]
    fn key_of(&mut self, record: Timed) -> u64 {
        let Some((run, sequence)) = record.identity else {
            return record.time;
        };
        self.lift((run, sequence.number()), sequence.count(), record.time)
    }

    #[inline]
    fn lift(&mut self, thread: ThreadKey, count: u64, time: u64) -> u64 {
        let reached = match self {
            Threads::One(only, reached) if *only == thread => Some(reached),
            Threads::One(..) => None,
            Threads::Many(threads) => threads.get_mut(&thread),
        };
        reached.map_or(time, |reached| reached.lift(count, time))
    }
}

impl<'i> OpenLane<'i> {
    /// A lane beside `others` that are open.
    pub(crate) fn new(
        inputs: &'i [Input],
        plan: Plan<'i>,
        waiting: Waiting,
        others: usize,
        memory: &Memory,
    ) -> Self {
        let index = waiting.lane;
        let lane = &plan.lanes()[index as usize];
        let batch = match others {
            ..=MANY_LANES => BATCH,
            many => (SMALL_BATCHES / many).clamp(SMALLEST_BATCH, SMALL_BATCH),
        };
        // No more is read ahead than the lane has.
        let batch = batch
            .min((lane.end - lane.start) as usize)
            .max(SMALLEST_BATCH);
        let reached = |part: &LaneThread, floor| Reached {
            floor,
            stairs: plan.stairs(part.key),
            next: part.first,
            last: part.last,
        };
        let threads = match &lane.threads[..] {
            [only] if !lane.is_mixed() => Threads::One(only.key, reached(only, waiting.floor)),
            many => {
                let many = many
                    .iter()
                    .map(|part| (part.key, reached(part, part.floor)));
                Threads::Many(many.collect())
            }
        };
        let input = &inputs[lane.input as usize];
        let range = lane.start..lane.end;
        let (items, rule) = match plan {
            Plan::Recovery(recovery) => {
                let account = &recovery.accounts()[lane.input as usize];
                let items = Items::range_with_gaps(input, range, batch, account);
                (items, Rule::Recovery(recovery))
            }
            Plan::Survey(survey) => {
                let contract = SurveyContract::of(survey, index, lane);
                (
                    Items::range_with_step(input, range, batch),
                    Rule::Survey(contract),
                )
            }
        };
        OpenLane {
            index,
            input: lane.input,
            items,
            bare_to: 0,
            has_ended: false,
            frames: Vec::new(),
            next: 0,
            refill: 0,
            bytes: Vec::new(),
            threads,
            batch,
            memory: memory.clone(),
            taken: 0,
            scratch: Vec::new(),
            key: waiting.key,
            rule,
        }
    }

    /// What became of what the survey took for granted, where there is one.
    pub(crate) fn contract(&self) -> Option<&SurveyContract> {
        match &self.rule {
            Rule::Survey(contract) => Some(contract),
            Rule::Recovery(_) => None,
        }
    }

    /// Goes to the next frame and returns what it is merged by.
    #[inline]
    pub(crate) fn advance(
        &mut self,
        wanted: &mut Wanted<'_>,
    ) -> Result<Option<(u64, Identity)>, Error> {
        self.next += usize::from(!self.frames.is_empty());
        if !self.has_ended && self.next >= self.refill {
            self.fill(wanted, None)?;
        }
        Ok(self.head())
    }

    /// What the next frame is merged by.
    fn head(&self) -> Option<(u64, Identity)> {
        let head = self.frames.get(self.next)?;
        Some((head.key, head.identity))
    }

    /// The threads of a lane whose frames may stand in another order than that of their
    /// times.
    pub(crate) fn mixed_threads(&self) -> impl Iterator<Item = ThreadKey> + use<'_> {
        let threads = match &self.threads {
            Threads::One(..) => None,
            Threads::Many(threads) => Some(threads.keys().copied()),
        };
        threads.into_iter().flatten()
    }

    /// The count up to which, itself excluded, all records of a thread were read.
    pub(crate) fn has_read_to(&self, thread: ThreadKey) -> u64 {
        match &self.threads {
            Threads::Many(threads) if !self.has_ended => threads
                .get(&thread)
                .filter(|reached| reached.next <= reached.last)
                .map_or(u64::MAX, |reached| reached.next),
            _ => u64::MAX,
        }
    }

    /// Bytes that it holds.
    pub(crate) fn bytes_held(&self) -> usize {
        self.bytes.len() + self.frames.len() * size_of::<Buffered>()
    }

    /// Reads ahead until nothing that comes has a lower count of a thread, or `most` bytes
    /// were read. Returns what its next frame is merged by, which may be another one.
    pub(crate) fn read_to(
        &mut self,
        (thread, count): (ThreadKey, u64),
        most: usize,
        wanted: &mut Wanted<'_>,
    ) -> Result<Option<(u64, Identity)>, Error> {
        self.fill(wanted, Some((thread, count, most)))?;
        Ok(self.head())
    }

    /// Reads ahead: as far as always, or further.
    fn fill(
        &mut self,
        wanted: &mut Wanted<'_>,
        further: Option<(ThreadKey, u64, usize)>,
    ) -> Result<(), Error> {
        self.forget_given();
        let is_ordered = matches!(self.threads, Threads::One(..));
        let (count, most) = if is_ordered {
            (AHEAD / 8, self.batch)
        } else {
            // Others may want some of what is left.
            (
                AHEAD,
                (self.memory.left() / 4).clamp(LEAST_AHEAD, LARGE_BATCH),
            )
        };
        // Frames since the last data record, which go with the next.
        let mut lead = self.frames.len();
        // Each time half as much again, so that all times together are not much more work.
        let count = match further {
            Some(_) => self.frames.len() + count.max(self.frames.len()) / 2,
            None => count,
        };
        let mut sifted = 0;
        let goes_on = |lane: &Self, lead: usize, sifted: usize| match further {
            Some((thread, to, most)) => {
                let is_enough = lane.frames.len() >= count && lane.has_read_to(thread) >= to;
                lane.bytes_held() < most && !is_enough
            }
            None => {
                // Frames that go with the next data record wait for it, if they are not too many.
                let most = if lead < lane.frames.len() {
                    2 * most
                } else {
                    most
                };
                let is_enough = lead == lane.frames.len() && lane.frames.len() >= count
                    || lane.bytes_held() >= most;
                !is_enough && (sifted < SIFTED || lane.frames.is_empty())
            }
        };
        while goes_on(self, lead, sifted) {
            let is_alone = lead == self.frames.len();
            match self.step(wanted, is_alone, &mut sifted)? {
                Step::Nothing | Step::Lead => {}
                Step::Sifted(record) => {
                    self.give_time(lead, record);
                    lead = self.frames.len();
                    sifted += 1;
                }
                Step::Data(record) => {
                    self.give_time(lead, record);
                    if let Some(last) = self.frames.last_mut() {
                        last.identity = record.identity;
                    }
                    lead = self.frames.len();
                }
                Step::End => {
                    self.has_ended = true;
                    break;
                }
            }
        }
        // After the last record of a lane that is sorted, and not before it as what belongs to it.
        let behind = u64::from(self.has_ended && !is_ordered);
        for frame in &mut self.frames[lead..] {
            frame.key = self.key.saturating_add(behind);
        }
        self.refill = self.frames.len();
        if !is_ordered {
            // What comes out of order finds its place in the other half.
            self.frames.sort_by_key(|frame| (frame.key, frame.identity));
            self.refill = (self.frames.len() / 2).max(1);
        }
        self.memory.give(self.taken);
        self.taken = size_of::<Self>() + self.batch + self.bytes_held();
        self.memory.charge(self.taken);
        Ok(())
    }

    /// Reads one item; if none waits to go with the next record, after those that the sieve
    /// keeps back, which it counts.
    #[inline]
    fn step(
        &mut self,
        wanted: &mut Wanted<'_>,
        is_alone: bool,
        sifted: &mut usize,
    ) -> Result<Step, Error> {
        let options = wanted.options;
        let sifts = self.threads.sifts();
        let searches = wanted.searches && sifts == Sifts::Now;
        let input = self.input;
        let most = *sifted + if is_alone { SIFTED } else { 0 };
        // Nearly all items are short frames, and where few are searched for, nearly all are kept back.
        let (item, checked) = loop {
            *sifted += self.pass_over(wanted, most - *sifted);
            if searches && self.items.offset() >= self.bare_to {
                self.bare_to = self.items.offset() + wanted.bare(self.items.ahead()) as u64;
            }
            let Some(frame) = self.items.next_short() else {
                break (self.items.next()?, None);
            };
            let sifts = sifts.of(frame.end() <= self.bare_to);
            let checked = (frame.tag() == Tag::DATA).then(|| {
                self.rule
                    .check_frame(input, &frame, frame.body, wanted, sifts)
            });
            match checked {
                Some(Checked::Sift(record)) if *sifted < most => {
                    self.key = self.threads.key_of(record);
                    *sifted += 1;
                }
                checked => break (Some(Item::Frame(frame)), checked),
            }
        };
        let (checked, buffered) = match item {
            None => {
                if let Rule::Survey(contract) = &mut self.rule {
                    contract.check_end(self.items.offset());
                }
                // What it read ahead is of no more use.
                self.items = Items::of_bytes(&[]);
                return Ok(Step::End);
            }
            Some(Item::Gap(gap)) => {
                let checked = self.rule.check_gap(input, &gap, options);
                (checked, Buffered::gap(gap.offset))
            }
            Some(Item::Frame(frame)) => {
                let tag = frame.tag();
                if !options.all_frames && tag != Tag::DATA && tag != Tag::MASKED {
                    return Ok(Step::Nothing);
                }
                match unmask::unmasked(frame.body, &mut self.scratch) {
                    Some(body) => {
                        let checked = checked.unwrap_or_else(|| {
                            self.rule.check_frame(input, &frame, body, wanted, sifts)
                        });
                        let buffered = checked
                            .is_taken()
                            .then(|| keep(&mut self.bytes, &frame, body));
                        (checked, buffered.unwrap_or(Buffered::gap(frame.offset)))
                    }
                    None => (self.rule.check_masked(), Buffered::gap(frame.offset)),
                }
            }
        };
        Ok(match checked {
            Checked::Skip => Step::Nothing,
            Checked::Sift(record) => Step::Sifted(record),
            Checked::Broken => {
                if let Rule::Survey(contract) = &mut self.rule {
                    contract.is_broken = true;
                }
                Step::End
            }
            Checked::Take(data) => {
                self.frames.push(buffered);
                data.map_or(Step::Lead, Step::Data)
            }
        })
    }

    /// Passes over records of the only thread that are kept back as others were before them. Returns how many.
    #[inline]
    fn pass_over(&mut self, wanted: &mut Wanted<'_>, most: usize) -> usize {
        let Threads::One(thread, reached) = &mut self.threads else {
            return 0;
        };
        if !wanted.asks_fronts() {
            return 0;
        }
        let (rule, items) = (&mut self.rule, &mut self.items);
        let thread = (self.input, *thread);
        rule.pass_over(items, thread, wanted, most, |sequence, time| {
            self.key = reached.lift(sequence.count(), time);
        })
    }

    /// A data record came: it and the frames since the one before are merged by its
    /// time.
    #[inline]
    fn give_time(&mut self, lead: usize, record: Timed) {
        self.key = self.threads.key_of(record);
        for frame in &mut self.frames[lead..] {
            frame.key = self.key;
        }
    }

    fn forget_given(&mut self) {
        self.frames.drain(..self.next.min(self.frames.len()));
        self.next = 0;
        if self.frames.is_empty() {
            self.bytes.clear();
            return;
        }
        let len = |(start, end): (u32, u32)| (end - start) as usize;
        let kept = self
            .frames
            .iter()
            .map(|frame| len(frame.frame) + len(frame.body));
        let mut bytes = Vec::with_capacity(kept.sum::<usize>().min(self.bytes.len()));
        for frame in &mut self.frames {
            let moved = |range: &mut (u32, u32), bytes: &mut Vec<u8>| {
                let start = bytes.len() as u32;
                bytes.extend_from_slice(&self.bytes[range.0 as usize..range.1 as usize]);
                let old = *range;
                *range = (start, bytes.len() as u32);
                old
            };
            let body = frame.body;
            let old = moved(&mut frame.frame, &mut bytes);
            if body.0 >= old.0 && body.1 <= old.1 {
                let offset = frame.frame.0;
                frame.body = (body.0 - old.0 + offset, body.1 - old.0 + offset);
            } else {
                moved(&mut frame.body, &mut bytes);
            }
        }
        self.bytes = bytes;
    }

    pub(crate) fn head_bytes(&self) -> &[u8] {
        let (start, end) = self.frames[self.next].frame;
        &self.bytes[start as usize..end as usize]
    }

    /// The next frame, if it is a data record of a lane that is sorted before it is sifted.
    pub(crate) fn unsifted_head(&self) -> Option<&[u8]> {
        let (start, end) = self.frames[self.next].body;
        let body = self.bytes.get(start as usize..end as usize)?;
        let is_data = body.first() == Some(&Tag::DATA.0);
        (is_data && matches!(self.threads, Threads::Many(_))).then_some(body)
    }

    pub(crate) fn head_place(&self) -> Place {
        Place {
            input: self.input,
            offset: self.frames[self.next].offset,
        }
    }

    #[inline]
    pub(crate) fn head_event<'m>(
        &'m self,
        accounts: &'m [Account],
        conflict: bool,
    ) -> Option<Event<'m>> {
        let head = &self.frames[self.next];
        let (start, end) = head.body;
        if start == end {
            let gap = accounts[self.input as usize].gap_at(head.offset)?;
            return Some(Event::Gap(self.input, gap));
        }
        let place = self.head_place();
        let body = &self.bytes[start as usize..end as usize];
        let standing = match &self.rule {
            Rule::Recovery(recovery) => recovery.standing(place, body),
            Rule::Survey(_) => Standing::Sound,
        };
        Some(Event::Frame(MergedFrame {
            place,
            bytes: self.head_bytes(),
            body,
            standing,
            lane: self.index,
            conflict,
        }))
    }
}

impl Drop for OpenLane<'_> {
    fn drop(&mut self) {
        self.memory.give(self.taken);
    }
}

/// Keeps a frame's bytes, and its body after them if that was masked.
#[inline]
fn keep(bytes: &mut Vec<u8>, frame: &FrameItem<'_>, body: &[u8]) -> Buffered {
    let start = bytes.len() as u32;
    bytes.extend_from_slice(frame.bytes);
    let end = bytes.len() as u32;
    let body = if frame.tag() == Tag::MASKED {
        bytes.extend_from_slice(body);
        (end, bytes.len() as u32)
    } else {
        (end - frame.body.len() as u32, end)
    };
    Buffered {
        frame: (start, end),
        body,
        ..Buffered::gap(frame.offset)
    }
}
