//! All records of all inputs as one sequence, ordered by time without breaking
//! the order of any thread. Lanes are opened when their time comes, so memory is
//! that of the lanes that overlap, not of the input.
//!
//! Where a thread's clock was set back, its later records are merged as if at the
//! highest time before: their place is wrong by the clock and right by the thread.

pub(crate) mod ahead;

use crate::read::gap::GapKind;
use crate::read::input::{Error, Input};
use crate::read::item::{Item, Items};
use crate::read::unmask;
use crate::recover::account::{Account, GapReport};
use crate::recover::lane::{Lane, ThreadKey};
use crate::recover::recovery::Recovery;
use crate::recover::sequences::Intervals;
use crate::recover::survey::Survey;
use crate::recover::suspect::run_of;
use crate::recover::tables::Place;
use logdef_wire::record::{Glance, Peek};
use logdef_wire::{Record, Run, Sequence, Tag};
use std::cmp::Reverse;
use std::collections::binary_heap::PeekMut;
use std::collections::{BinaryHeap, HashMap, VecDeque};
use std::hash::{DefaultHasher, Hash, Hasher};

/// Bytes that a lane holds of its input; fewer when many lanes are open.
const BATCH: usize = 64 << 10;
const SMALL_BATCH: usize = 8 << 10;
/// Bytes that very many lanes share, as far as none has less than the smallest.
const SMALL_BATCHES: usize = 16 << 20;
const SMALLEST_BATCH: usize = 512;
const LARGE_BATCH: usize = 4 << 20;
const MANY_LANES: usize = 64;
/// Frames that a lane of several threads looks ahead to put them in order.
const AHEAD: usize = 4096;
/// Repeated records whose bytes are remembered.
const REMEMBERED: usize = 1 << 20;

/// What a merge gives.
#[derive(Clone, Copy, Debug)]
pub enum Event<'m> {
    /// A frame.
    Frame(MergedFrame<'m>),
    /// A gap, where its lane comes to it. Padding is left out.
    Gap(u32, &'m GapReport),
}

/// A frame in its place in time.
#[derive(Clone, Copy, Debug)]
pub struct MergedFrame<'m> {
    /// Where it stands.
    pub place: Place,
    /// The whole frame as it stands.
    pub bytes: &'m [u8],
    /// The record's body, unmasked.
    pub body: &'m [u8],
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
    /// since the epoch, and come before all others, where a [`Recovery`] has told so.
    /// Records of before come still; all others do, as do all notes and gaps. Along a
    /// [`Survey`], chunks are left out whose threads have gone on to another one before
    /// it, with all that they hold.
    pub since: u64,
    /// Likewise those whose records are all of after this time, where a [`Recovery`]
    /// has told so.
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
    options: MergeOptions,
    /// Lanes that were not opened yet, the earliest last.
    waiting: Vec<Waiting>,
    open: Vec<Option<OpenLane<'i>>>,
    /// Places in `open` that are empty.
    free: Vec<usize>,
    heads: BinaryHeap<Reverse<Head>>,
    /// The lane whose head was given last and must move on.
    given: Option<usize>,
    repeats: Repeats,
    /// What a merge along a survey gave already.
    before: Option<Given>,
    astray: bool,
}

/// What is known of the lanes.
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
}

/// A lane whose time has not come, and the time that its thread had reached before.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
struct Waiting {
    key: u64,
    lane: u32,
    floor: u64,
}

/// Which frames a merge along a survey gave: of each lane, those up to an offset.
#[derive(Clone, Debug)]
pub struct Given {
    /// Start of each lane, and the offset behind the start of its last frame that was
    /// given.
    lanes: Vec<(u64, u64)>,
}

impl Given {
    /// Nothing yet.
    pub fn nothing(survey: &Survey) -> Given {
        let lanes = survey.lanes.iter();
        Given {
            lanes: lanes.map(|lane| (lane.start, lane.start)).collect(),
        }
    }

    /// Takes note of a frame that the merge along the survey gave.
    #[inline]
    pub fn add(&mut self, frame: &MergedFrame<'_>) {
        if let Some((_, end)) = self.lanes.get_mut(frame.lane as usize) {
            *end = frame.place.offset + 1;
        }
    }

    fn contains(&self, place: Place) -> bool {
        let lane = self
            .lanes
            .partition_point(|(start, _)| *start <= place.offset);
        let lane = lane.checked_sub(1).map(|lane| self.lanes[lane]);
        place.input == 0 && lane.is_some_and(|(_, end)| place.offset < end)
    }
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

    /// Likewise, of one input that no more is known of than its survey. Gives the same
    /// as a merge after a recovery, and gives all frames, as tables must be filled from
    /// those that are no data.
    ///
    /// What the survey takes for granted is checked frame by frame: that no byte is
    /// damaged or torn, that each chunk holds the records of one thread of the one run,
    /// and that its counts have no hole, from chunk to chunk. Where that fails, the
    /// merge is [astray](Merge::is_astray) and ends; everything before stands. Only of
    /// what lies hidden behind such a place, in chunks that were not looked into, can
    /// something belong before what was given.
    pub fn along(input: &'i Input, survey: &'i Survey, options: MergeOptions) -> Self {
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

    /// Leaves out what a merge along the survey of the same input gave.
    pub fn after(mut self, given: Given) -> Self {
        self.before = Some(given);
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
            options,
            waiting,
            open: Vec::new(),
            free: Vec::new(),
            heads: BinaryHeap::new(),
            given: None,
            repeats: Repeats::default(),
            before: None,
            astray: false,
        }
    }

    pub(crate) fn accounts(&self) -> &'i [Account] {
        self.plan.accounts()
    }

    /// Whether it ended since the log is not what its survey takes for granted. What
    /// is left has to come from a merge after a [`Recovery`].
    pub fn is_astray(&self) -> bool {
        self.astray
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
            let Some(Reverse(head)) = self.heads.peek().filter(|_| !self.astray) else {
                return Ok(None);
            };
            self.given = Some(head.slot);
            let lane = self.open[head.slot].as_ref();
            let lane = lane.expect("a head is of an open lane");
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
            if sighting != Sighting::Same || self.options.repeats {
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
        let next = lane.advance(self.plan, self.options)?;
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
                    self.end(&ended);
                }
            }
        }
        Ok(())
    }

    /// A lane of a survey has ended: its thread goes on in another.
    fn end(&mut self, lane: &OpenLane<'_>) {
        let Plan::Survey(survey) = self.plan else {
            return;
        };
        let Some(promise) = &lane.promise else {
            return;
        };
        self.astray |= promise.broken;
        if let Some(next) = survey.next[lane.index as usize] {
            self.astray |= promise.count != survey.begins[next as usize];
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
            if self.astray || head.is_some_and(|Reverse(head)| head.key < waiting.key) {
                break;
            }
            self.waiting.pop();
            let mut open = OpenLane::new(self.inputs, self.plan, waiting, self.heads.len());
            let Some((key, identity)) = open.advance(self.plan, self.options)? else {
                self.end(&open);
                continue;
            };
            let slot = self.free.pop().unwrap_or_else(|| {
                self.open.push(None);
                self.open.len() - 1
            });
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
}

/// A lane that is being read, with the frames that were looked at ahead.
#[derive(Debug)]
struct OpenLane<'i> {
    index: u32,
    input: u32,
    items: Items<'i>,
    ended: bool,
    /// Frames in the order they are given, from `next` on.
    frames: Vec<Ahead>,
    next: usize,
    /// When `next` gets here, more is read.
    refill: usize,
    bytes: Vec<u8>,
    /// The times below which no record of a thread is given.
    floors: Floors,
    batch: usize,
    scratch: Vec<u8>,
    key: u64,
    /// What a survey took for granted of it.
    promise: Option<Promise>,
}

/// That a chunk holds the next records of one thread, and nothing else.
#[derive(Clone, Copy, Debug)]
struct Promise {
    run: Run,
    thread: Option<ThreadKey>,
    start: u64,
    end: u64,
    /// What its thread counts next.
    count: u64,
    broken: bool,
}

impl Promise {
    /// Whether a data record is the next.
    #[inline]
    fn holds(&mut self, peek: &Peek<'_>) -> bool {
        let Some((run, sequence)) = peek.glance.run.zip(peek.glance.sequence) else {
            return false;
        };
        let is_next = self.thread == Some((run, sequence.number()))
            && sequence.count() == self.count.saturating_add(peek.dropped);
        self.count = sequence.count() + 1;
        is_next
    }

    /// Whether another record may stand at an offset.
    fn allows(&self, body: &[u8], offset: u64) -> bool {
        let Ok(record) = Record::decode(body) else {
            return false;
        };
        let opens = matches!(&record, Record::Preamble(preamble) if preamble.chunk > Some(0));
        run_of(&record).is_none_or(|run| run == self.run) && opens == (offset == self.start)
    }
}

#[derive(Clone, Copy, Debug)]
struct Ahead {
    key: u64,
    identity: Identity,
    offset: u64,
    /// The frame, and in it or behind it the unmasked body; of a gap, nothing.
    frame: (u32, u32),
    body: (u32, u32),
}

#[derive(Debug)]
enum Floors {
    One(ThreadKey, u64),
    Many(HashMap<ThreadKey, u64>),
}

impl Floors {
    /// The time that a record of a thread is merged by.
    fn lift(&mut self, thread: ThreadKey, time: u64) -> u64 {
        let floor = match self {
            Floors::One(only, floor) if *only == thread => floor,
            Floors::One(..) => return time,
            Floors::Many(floors) => floors.entry(thread).or_default(),
        };
        *floor = time.max(*floor);
        *floor
    }
}

impl<'i> OpenLane<'i> {
    /// A lane beside `others` that are open.
    fn new(inputs: &'i [Input], plan: Plan<'i>, waiting: Waiting, others: usize) -> Self {
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
        let floors = match &lane.threads[..] {
            [only] => Floors::One(only.key, waiting.floor),
            many => Floors::Many(many.iter().map(|part| (part.key, part.floor)).collect()),
        };
        let promise = |survey: &Survey| Promise {
            run: survey.run,
            thread: lane.threads.first().map(|thread| thread.key),
            start: lane.start,
            end: lane.end,
            count: survey.begins[index as usize],
            broken: false,
        };
        let input = &inputs[lane.input as usize];
        let range = lane.start..lane.end;
        let items = match plan.accounts().get(lane.input as usize) {
            Some(account) => Items::range_with_gaps(input, range, batch, account),
            None => Items::range_with_step(input, range, batch),
        };
        OpenLane {
            index,
            input: lane.input,
            items,
            ended: false,
            frames: Vec::new(),
            next: 0,
            refill: 0,
            bytes: Vec::new(),
            floors,
            batch,
            scratch: Vec::new(),
            key: waiting.key,
            promise: match plan {
                Plan::Survey(survey) => Some(promise(survey)),
                Plan::Recovery(_) => None,
            },
        }
    }

    /// Goes to the next frame and returns what it is merged by.
    #[inline]
    fn advance(
        &mut self,
        plan: Plan<'_>,
        options: MergeOptions,
    ) -> Result<Option<(u64, Identity)>, Error> {
        self.next += usize::from(!self.frames.is_empty());
        if !self.ended && self.next >= self.refill {
            self.fill(plan, options)?;
        }
        let head = self.frames.get(self.next);
        Ok(head.map(|head| (head.key, head.identity)))
    }

    fn fill(&mut self, plan: Plan<'_>, options: MergeOptions) -> Result<(), Error> {
        self.forget_given();
        let ordered = matches!(self.floors, Floors::One(..));
        let (count, most) = match ordered {
            true => (AHEAD / 8, self.batch),
            false => (AHEAD, LARGE_BATCH),
        };
        // Frames since the last data record, which go with the next.
        let mut lead = self.frames.len();
        while self.frames.len() < count && self.bytes.len() < most {
            // Nearly all items are such frames.
            let item = match self.items.next_short() {
                Some(frame) => Some(Item::Frame(frame)),
                None => self.items.next()?,
            };
            let Some(item) = item else {
                self.ended = true;
                if let Some(promise) = &mut self.promise {
                    promise.broken |= self.items.offset() > promise.end;
                }
                // What it read ahead is of no more use.
                self.items = Items::of_bytes(&[]);
                break;
            };
            let start = self.bytes.len() as u32;
            let (ahead, data) = match item {
                Item::Gap(gap) => {
                    if let Some(promise) = &mut self.promise {
                        if gap.kind == GapKind::Padding {
                            continue;
                        }
                        promise.broken = true;
                        self.ended = true;
                        break;
                    }
                    let account = &plan.accounts()[self.input as usize];
                    let padding = account
                        .gap_at(gap.offset)
                        .is_none_or(|report| report.gap.kind == GapKind::Padding);
                    if padding || !options.gaps {
                        continue;
                    }
                    (Ahead::nothing(gap.offset), None)
                }
                Item::Frame(frame) => {
                    let tag = frame.tag();
                    if !options.all_frames && tag != Tag::DATA && tag != Tag::MASKED {
                        continue;
                    }
                    let Some(body) = unmask::unmasked(frame.body, &mut self.scratch) else {
                        if let Some(promise) = &mut self.promise {
                            promise.broken = true;
                            self.ended = true;
                            break;
                        }
                        continue;
                    };
                    let data = match &mut self.promise {
                        Some(promise) => {
                            let peek = peek(body);
                            let holds = match &peek {
                                Some(peek) => promise.holds(peek),
                                None => promise.allows(body, frame.offset),
                            };
                            if !holds {
                                promise.broken = true;
                                self.ended = true;
                                break;
                            }
                            peek.map(|peek| peek.glance)
                        }
                        None => match look(body, options) {
                            Some(data) => data,
                            None => continue,
                        },
                    };
                    if let Plan::Recovery(recovery) = plan
                        && !recovery.suspects.is_empty()
                    {
                        let run = Record::decode(body).ok().and_then(|record| run_of(&record));
                        if recovery.suspects.contains(self.input, frame.offset, run) {
                            continue;
                        }
                    }
                    self.bytes.extend_from_slice(frame.bytes);
                    let end = self.bytes.len() as u32;
                    let masked = tag == Tag::MASKED;
                    let body = match masked {
                        true => {
                            self.bytes.extend_from_slice(body);
                            (end, self.bytes.len() as u32)
                        }
                        false => (end - frame.body.len() as u32, end),
                    };
                    let ahead = Ahead {
                        frame: (start, end),
                        body,
                        ..Ahead::nothing(frame.offset)
                    };
                    (ahead, data)
                }
            };
            self.frames.push(ahead);
            if let Some(glance) = data {
                let time = glance.time.unwrap_or(0);
                let identity = glance.run.zip(glance.sequence);
                self.key = match identity {
                    Some((run, sequence)) => self.floors.lift((run, sequence.number()), time),
                    None => time,
                };
                let last = self.frames.len() - 1;
                self.frames[last].identity = identity;
                for frame in &mut self.frames[lead..] {
                    frame.key = self.key;
                }
                lead = self.frames.len();
            }
        }
        for frame in &mut self.frames[lead..] {
            frame.key = self.key;
        }
        self.refill = self.frames.len();
        if !ordered {
            // What comes out of order finds its place in the other half.
            self.frames.sort_by_key(|frame| (frame.key, frame.identity));
            self.refill = (self.frames.len() / 2).max(1);
        }
        Ok(())
    }

    fn forget_given(&mut self) {
        self.frames.drain(..self.next.min(self.frames.len()));
        self.next = 0;
        if self.frames.is_empty() {
            self.bytes.clear();
            return;
        }
        let mut bytes = Vec::with_capacity(self.bytes.len());
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

    fn head_bytes(&self) -> &[u8] {
        let (start, end) = self.frames[self.next].frame;
        &self.bytes[start as usize..end as usize]
    }

    fn head_place(&self) -> Place {
        Place {
            input: self.input,
            offset: self.frames[self.next].offset,
        }
    }

    #[inline]
    fn head_event<'m>(&'m self, accounts: &'m [Account], conflict: bool) -> Option<Event<'m>> {
        let head = &self.frames[self.next];
        let (start, end) = head.body;
        if start == end {
            let gap = accounts[self.input as usize].gap_at(head.offset)?;
            return Some(Event::Gap(self.input, gap));
        }
        Some(Event::Frame(MergedFrame {
            place: Place {
                input: self.input,
                offset: head.offset,
            },
            bytes: self.head_bytes(),
            body: &self.bytes[start as usize..end as usize],
            lane: self.index,
            conflict,
        }))
    }
}

impl Ahead {
    fn nothing(offset: u64) -> Ahead {
        Ahead {
            key: 0,
            identity: None,
            offset,
            frame: (0, 0),
            body: (0, 0),
        }
    }
}

/// Whether a record is given, and what is to be known of it if it is data.
/// Malformed records are given only where all frames are.
fn look(body: &[u8], options: MergeOptions) -> Option<Option<Glance>> {
    if body.first() == Some(&Tag::DATA.0)
        && let Some(glance) = Glance::of(body)
    {
        return Some(Some(glance));
    }
    options.all_frames.then_some(None)
}

/// What must be known of a data record to count it.
#[inline]
fn peek(body: &[u8]) -> Option<Peek<'_>> {
    Peek::of(body).or_else(|| match Record::decode(body) {
        Ok(Record::Data(data)) => Some(Peek::from(&data)),
        _ => None,
    })
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Sighting {
    First,
    /// The same bytes were given before.
    Same,
    /// A record of this identity was, with other bytes or no longer known ones.
    Other,
}

/// Which of the records that the inputs hold more than once were given.
#[derive(Debug, Default)]
pub(crate) struct Repeats {
    given: HashMap<ThreadKey, Intervals>,
    hashes: HashMap<(Run, Sequence), Vec<u64>>,
    order: VecDeque<(Run, Sequence)>,
    left_out: u64,
}

impl Repeats {
    pub(crate) fn see(
        &mut self,
        recovery: &Recovery,
        identity: (Run, Sequence),
        bytes: &[u8],
    ) -> Sighting {
        if recovery.repeated.is_empty() {
            return Sighting::First;
        }
        let (run, sequence) = identity;
        let thread = (run, sequence.number());
        let repeated = recovery.repeated.get(&thread);
        if !repeated.is_some_and(|counts| counts.contains(sequence.count())) {
            return Sighting::First;
        }
        let mut hasher = DefaultHasher::new();
        bytes.hash(&mut hasher);
        let hash = hasher.finish();
        let first = self
            .given
            .entry(thread)
            .or_default()
            .insert(sequence.count());
        let hashes = self.hashes.entry(identity).or_default();
        if hashes.contains(&hash) {
            return Sighting::Same;
        }
        if hashes.is_empty() {
            self.order.push_back(identity);
        }
        if hashes.len() < 16 {
            hashes.push(hash);
        }
        if self.order.len() > REMEMBERED
            && let Some(oldest) = self.order.pop_front()
        {
            self.hashes.remove(&oldest);
        }
        match first {
            true => Sighting::First,
            false => Sighting::Other,
        }
    }
}
