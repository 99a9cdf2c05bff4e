//! All records of all inputs as one sequence, ordered by time without breaking
//! the order of any thread. Lanes are opened when their time comes, so memory is
//! that of the lanes that overlap, not of the input.
//!
//! Where a thread's clock was set back, its later records are merged as if at the
//! highest time before: their place is wrong by the clock and right by the thread.

use crate::account::{Account, GapReport};
use crate::glance::{self, Glance};
use crate::input::{Error, Input};
use crate::item::{Item, Items};
use crate::lane::{Lane, ThreadKey};
use crate::recover::Recovery;
use crate::sequences::Intervals;
use crate::suspect::run_of;
use crate::tables::Place;
use crate::unmask;
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
        match glance::data(self.body) {
            Some(data) => Some(Record::Data(data)),
            None => Record::decode(self.body).ok(),
        }
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
}

impl Default for MergeOptions {
    fn default() -> Self {
        MergeOptions {
            all_frames: false,
            gaps: true,
            repeats: false,
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
    recovery: &'i Recovery,
    options: MergeOptions,
    /// Lanes that were not opened yet, the earliest last.
    waiting: Vec<u32>,
    open: Vec<Option<OpenLane<'i>>>,
    /// Places in `open` that are empty.
    free: Vec<usize>,
    heads: BinaryHeap<Reverse<Head>>,
    /// The lane whose head was given last and must move on.
    given: Option<usize>,
    repeats: Repeats,
}

/// A record's run and sequence, if it is a data record that has both.
type Identity = Option<(Run, Sequence)>;

/// What lanes are ordered by: time, then identity, so that copies meet.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
struct Head {
    key: u64,
    identity: Identity,
    lane: u32,
    slot: usize,
}

impl<'i> Merge<'i> {
    /// Starts before the first record.
    pub fn new(inputs: &'i [Input], recovery: &'i Recovery, options: MergeOptions) -> Self {
        let lanes = &recovery.lanes;
        let mut waiting: Vec<u32> = (0..lanes.len() as u32).collect();
        waiting.sort_by_key(|lane| Reverse((lanes[*lane as usize].key, *lane)));
        Merge {
            inputs,
            recovery,
            options,
            waiting,
            open: Vec::new(),
            free: Vec::new(),
            heads: BinaryHeap::new(),
            given: None,
            repeats: Repeats::default(),
        }
    }

    /// Records that were left out because they were given before.
    pub fn duplicates(&self) -> u64 {
        self.repeats.left_out
    }

    /// The next event, `None` at the end.
    #[allow(clippy::should_implement_trait)]
    pub fn next(&mut self) -> Result<Option<Event<'_>>, Error> {
        let (slot, sighting) = loop {
            self.move_on()?;
            self.open_due()?;
            let Some(Reverse(head)) = self.heads.peek() else {
                return Ok(None);
            };
            self.given = Some(head.slot);
            let lane = self.open[head.slot].as_ref();
            let lane = lane.expect("a head is of an open lane");
            let sighting = match head.identity {
                Some(identity) => self.repeats.see(self.recovery, identity, lane.head_bytes()),
                None => Sighting::First,
            };
            if sighting != Sighting::Same || self.options.repeats {
                break (head.slot, sighting);
            }
            self.repeats.left_out += 1;
        };
        let lane = self.open[slot].as_ref().expect("as above");
        Ok(lane.head_event(self.recovery.accounts(), sighting == Sighting::Other))
    }

    /// Takes the head off that was given, and puts the lane's next one in.
    fn move_on(&mut self) -> Result<(), Error> {
        let Some(slot) = self.given.take() else {
            return Ok(());
        };
        let lane = self.open[slot].as_mut().expect("it gave a head");
        let next = lane.advance(self.recovery, self.options)?;
        let Some(mut top) = self.heads.peek_mut() else {
            return Ok(());
        };
        match next {
            Some((key, identity)) => {
                let head = Head {
                    key,
                    identity,
                    lane: lane.index,
                    slot,
                };
                *top = Reverse(head);
            }
            None => {
                PeekMut::pop(top);
                self.open[slot] = None;
                self.free.push(slot);
            }
        }
        Ok(())
    }

    /// Opens the lanes that may hold something before the first head.
    fn open_due(&mut self) -> Result<(), Error> {
        while let Some(&index) = self.waiting.last() {
            let lane = &self.recovery.lanes[index as usize];
            if self
                .heads
                .peek()
                .is_some_and(|Reverse(head)| head.key < lane.key)
            {
                break;
            }
            self.waiting.pop();
            let input = &self.inputs[lane.input as usize];
            let gaps = &self.recovery.accounts()[lane.input as usize].gaps;
            let mut open = OpenLane::new(input, index, lane, gaps, self.heads.len());
            let Some((key, identity)) = open.advance(self.recovery, self.options)? else {
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
                lane: index,
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
    fn new(
        input: &'i Input,
        index: u32,
        lane: &Lane,
        gaps: &'i [GapReport],
        others: usize,
    ) -> Self {
        let batch = match others {
            ..=MANY_LANES => BATCH,
            many => (SMALL_BATCHES / many).clamp(SMALLEST_BATCH, SMALL_BATCH),
        };
        // No more is read ahead than the lane has.
        let batch = batch
            .min((lane.end - lane.start) as usize)
            .max(SMALLEST_BATCH);
        let floors = match &lane.threads[..] {
            [only] => Floors::One(only.key, only.floor),
            many => Floors::Many(many.iter().map(|part| (part.key, part.floor)).collect()),
        };
        OpenLane {
            index,
            input: lane.input,
            items: Items::range_with_gaps(input, lane.start..lane.end, batch, gaps),
            ended: false,
            frames: Vec::new(),
            next: 0,
            refill: 0,
            bytes: Vec::new(),
            floors,
            batch,
            scratch: Vec::new(),
            key: lane.key,
        }
    }

    /// Goes to the next frame and returns what it is merged by.
    fn advance(
        &mut self,
        recovery: &Recovery,
        options: MergeOptions,
    ) -> Result<Option<(u64, Identity)>, Error> {
        self.next += usize::from(!self.frames.is_empty());
        if !self.ended && self.next >= self.refill {
            self.fill(recovery, options)?;
        }
        let head = self.frames.get(self.next);
        Ok(head.map(|head| (head.key, head.identity)))
    }

    fn fill(&mut self, recovery: &Recovery, options: MergeOptions) -> Result<(), Error> {
        self.forget_given();
        let ordered = matches!(self.floors, Floors::One(..));
        let (count, most) = match ordered {
            true => (AHEAD / 8, self.batch),
            false => (AHEAD, LARGE_BATCH),
        };
        // Frames since the last data record, which go with the next.
        let mut lead = self.frames.len();
        while self.frames.len() < count && self.bytes.len() < most {
            let Some(item) = self.items.next()? else {
                self.ended = true;
                // What it read ahead is of no more use.
                self.items = Items::of_bytes(&[]);
                break;
            };
            let start = self.bytes.len() as u32;
            let (ahead, data) = match item {
                Item::Gap(gap) => {
                    let account = &recovery.accounts()[self.input as usize];
                    let padding = account
                        .gap_at(gap.offset)
                        .is_none_or(|report| report.gap.kind == crate::GapKind::Padding);
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
                    let Some(body) = unmask::body(frame.body, &mut self.scratch) else {
                        continue;
                    };
                    let Some(data) = look(body, options) else {
                        continue;
                    };
                    if !recovery.suspects.is_empty() {
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
