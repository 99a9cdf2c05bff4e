//! The walk over an input that a pass is made from, on as many cores as there are.
//! What it reports is short where a log is clean: records of one thread that follow
//! each other are one *stretch*. Says what stands where; what that means for a
//! thread or a loss is the pass's business.
//!
//! Several walkers begin in the middle, each at the first frame after a seam:
//!
//! ```text
//! walker 0 |-------------------->|
//! walker 1                    seam  |------------------>|
//!                                   ^ began here, and walker 0 comes here too
//! ```
//!
//! What a walker finds from a frame on does not depend on what lies before, but for
//! the end of the chunk that it is in. So where one walk comes to the very offset
//! that another began at, outside a chunk, the second is the rest of the first. Where
//! it does not, since the second began inside a frame or a chunk, the first continues
//! by itself. The report is the same however many walkers there are.

use crate::read::gap::Gap;
use crate::read::input::{Error, Input};
use crate::read::item::{FrameItem, Item, Items};
use crate::read::scan::Work;
use crate::recover::account::Times;
use crate::recover::memory::Memory;
use crate::recover::shapes::Shapes;
use logdef_wire::record::Peek;
use logdef_wire::{Run, Sequence};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

/// Bytes between two seams: those of the largest chunks of our writers, which stand
/// at multiples of their size. A walker reports one part at a time.
const PART: u64 = 4 << 20;
/// Steps of one part that are kept; a part of more is walked again when they
/// are needed.
const STEPS: usize = 1 << 16;
/// Bytes of bodies that are kept of one part.
const BODIES: usize = 2 << 20;

/// What stands next.
#[derive(Debug)]
pub(crate) enum Step<'w> {
    /// Data records.
    Stretch(Stretch),
    /// Those of the next stretch that begin in a piece of the input which ends before it does.
    Share(Share),
    /// A frame with any other record, with a backtrace, or with what is not as writers
    /// put it.
    Frame(FrameItem<'w>),
    /// No frame; and where the frames that began there would end, by their headers.
    Gap(Gap, u64),
    /// The shapes of the records in stretches since the step like this one before, if they are wanted.
    Shapes(&'w Shapes),
}

/// What is found out of an input beside its steps.
#[derive(Clone, Debug)]
pub(crate) struct Wanted {
    /// Bytes of a piece.
    pub(crate) piece: u64,
    /// Where shapes are remembered, and of which input they are.
    pub(crate) shapes: Option<(u32, Memory)>,
}

impl Wanted {
    fn shapes(&self) -> Option<Shapes> {
        let (input, memory) = self.shapes.as_ref()?;
        Some(Shapes::new(*input, memory))
    }
}

/// Data records of one thread whose counts go up by one and whose times do not go down, with
/// nothing between. One without identity stands alone.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stretch {
    /// Of the first frame.
    pub(crate) offset: u64,
    /// Of all frames.
    pub(crate) bytes: u64,
    pub(crate) records: u64,
    pub(crate) run: Option<Run>,
    /// Of the first.
    pub(crate) sequence: Option<Sequence>,
    /// Dropped before the first.
    pub(crate) dropped: u64,
    /// The times of the first and the last: the lowest and the highest, where no time counts
    /// as 0.
    pub(crate) times: (u64, u64),
    /// The same, where no time does not count.
    pub(crate) span: Times,
    /// The bytes and records that were reported as shares, and the time of the last of them.
    shared: (u64, u64, u64),
}

/// Records of a stretch that begin in one piece of the input: all, where it ends in the piece in which it began.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Share {
    /// Where the first frame begins, and the last one ends.
    pub(crate) from: u64,
    pub(crate) to: u64,
    pub(crate) records: u64,
    /// Times that all are within, where no time counts as 0.
    pub(crate) times: (u64, u64),
}

/// Reports all of an input on up to `walkers` cores, in the order of its bytes; after each report
/// `progress` is called with how far it is. Returns the length, and the work.
pub(crate) fn walk(
    input: &Input,
    walkers: usize,
    wanted: &Wanted,
    visit: &mut impl FnMut(Step<'_>),
    progress: &mut impl FnMut(u64),
) -> Result<(u64, Work), Error> {
    let parts = input.len().div_ceil(PART);
    let walkers = walkers.min(parts as usize / 2);
    let mut walk = Walk::new(input, State::default(), wanted);
    if walkers < 2 {
        let mut seam = PART;
        while walk.to(seam, visit)? {
            seam = walk.items.offset().max(seam) + PART;
            progress(walk.items.offset());
        }
        walk.end(visit);
        progress(walk.items.offset());
        return Ok((walk.items.offset(), walk.work()));
    }
    let mut work = Work::default();
    thread::scope(|scope| {
        let begin = |walker: usize| {
            let (sender, receiver) = sync_channel(1);
            let indices = (walker as u64..parts).step_by(walkers);
            scope.spawn(move || send_parts(input, wanted, indices, &sender));
            receiver
        };
        let receivers: Vec<Receiver<_>> = (0..walkers).map(begin).collect();
        for index in 0..parts {
            // A walker that is gone has failed at something that comes up here too.
            let part = receivers[index as usize % walkers].recv().ok();
            let end = (index + 1) * PART;
            if let Some(part) = part
                && walk.to(part.begins, visit)?
                && walk.state().joins(part.begins)
            {
                walk.end(visit);
                part.visit(visit);
                work = work + part.work + walk.work();
                walk = Walk::new(input, part.ends, wanted);
            }
            walk.to(end, visit)?;
            progress(walk.items.offset());
        }
        // A file can have grown since its length was asked for.
        while {
            let seam = walk.items.offset() + PART;
            walk.to(seam, visit)?
        } {}
        walk.end(visit);
        progress(walk.items.offset());
        Ok((walk.items.offset(), work + walk.work()))
    })
}

/// All that a walk must know of what lies before it.
#[derive(Clone, Copy, Debug, Default)]
struct State {
    at: u64,
    /// Where the chunk ends that the walk is in.
    chunk_end: u64,
}

impl State {
    /// Whether a walk that begins at an offset and knows nothing continues like this.
    fn joins(self, begins: u64) -> bool {
        self.at == begins && self.chunk_end <= begins
    }
}

struct Walk<'i> {
    items: Items<'i>,
    stretch: Option<Stretch>,
    /// Bytes of a piece, and where the next one begins.
    piece: u64,
    next_piece: u64,
    shapes: Option<Shapes>,
}

impl<'i> Walk<'i> {
    fn new(input: &'i Input, state: State, wanted: &Wanted) -> Self {
        let items = Items::within_chunk(input, state.at, state.chunk_end);
        Walk::over(items, wanted)
    }

    fn over(items: Items<'i>, wanted: &Wanted) -> Self {
        Walk {
            items,
            stretch: None,
            piece: wanted.piece,
            next_piece: 0,
            shapes: wanted.shapes(),
        }
    }

    /// Reports the shapes of what it has reported.
    fn end(&self, visit: &mut impl FnMut(Step<'_>)) {
        if let Some(shapes) = &self.shapes {
            visit(Step::Shapes(shapes));
        }
    }

    fn state(&self) -> State {
        State {
            at: self.items.offset(),
            chunk_end: self.items.chunk_end(),
        }
    }

    fn work(&self) -> Work {
        self.items.work()
    }

    /// Reports what begins before `end`; `false` if the input ends there.
    fn to(&mut self, end: u64, visit: &mut impl FnMut(Step<'_>)) -> Result<bool, Error> {
        let mut goes_on = true;
        while self.items.offset() < end && goes_on {
            goes_on = self.step(end, visit)?;
        }
        if let Some(stretch) = self.stretch.take() {
            visit(Step::Stretch(stretch));
        }
        Ok(goes_on)
    }

    /// Reports what begins before `end` up to the next step, or takes it into the
    /// stretch.
    fn step(&mut self, end: u64, visit: &mut impl FnMut(Step<'_>)) -> Result<bool, Error> {
        if self.items.offset() >= self.next_piece {
            self.begin_piece(visit);
        }
        let end = end.min(self.next_piece);
        let chunk_end = self.items.chunk_end();
        // Nearly all frames are taken in here. The stretch is at hand meanwhile, which
        // is most of the speed.
        if let Some(mut stretch) = self.stretch {
            while self.items.offset() < end
                && let Some(frame) = self.items.next_short()
            {
                let mut peek = Peek::default();
                if !(peek.look(frame.body) && stretch.takes(&frame, &peek, chunk_end)) {
                    self.stretch = Some(stretch);
                    take(&mut self.stretch, &mut self.shapes, frame, chunk_end, visit);
                    return Ok(true);
                }
                if let Some(shapes) = &mut self.shapes {
                    shapes.see(&frame, &peek);
                }
            }
            self.stretch = Some(stretch);
            if self.items.offset() >= end {
                return Ok(true);
            }
        }
        match self.items.next()? {
            Some(Item::Frame(frame)) => {
                take(&mut self.stretch, &mut self.shapes, frame, chunk_end, visit);
            }
            Some(Item::Gap(gap)) => {
                let claim = self.items.claim();
                leave(&mut self.stretch, Step::Gap(gap, claim), visit);
            }
            None => return Ok(false),
        }
        Ok(true)
    }

    /// Reports the stretch so far, as what stands next is in another piece.
    #[cold]
    fn begin_piece(&mut self, visit: &mut impl FnMut(Step<'_>)) {
        if let Some(stretch) = &mut self.stretch {
            visit(Step::Share(stretch.share()));
            stretch.shared = (stretch.bytes, stretch.records, stretch.times.1);
        }
        let index = self.items.offset() / self.piece;
        self.next_piece = (index + 1).saturating_mul(self.piece);
    }
}

/// Takes a frame into the stretch, or begins another, or reports it.
fn take(
    stretch: &mut Option<Stretch>,
    shapes: &mut Option<Shapes>,
    frame: FrameItem<'_>,
    chunk_end: u64,
    visit: &mut impl FnMut(Step<'_>),
) {
    let peek = Peek::of(frame.body).filter(|peek| peek.backtrace.is_none());
    let Some(peek) = peek else {
        leave(stretch, Step::Frame(frame), visit);
        return;
    };
    if let Some(shapes) = shapes {
        shapes.see(&frame, &peek);
    }
    let continues = stretch
        .as_mut()
        .is_some_and(|stretch| stretch.takes(&frame, &peek, chunk_end));
    if !continues && let Some(stretch) = stretch.replace(Stretch::of(&frame, &peek)) {
        visit(Step::Stretch(stretch));
    }
}

/// Reports a step that ends the stretch.
fn leave(stretch: &mut Option<Stretch>, step: Step<'_>, visit: &mut impl FnMut(Step<'_>)) {
    if let Some(stretch) = stretch.take() {
        visit(Step::Stretch(stretch));
    }
    visit(step);
}

impl Stretch {
    #[inline]
    pub(crate) fn of(frame: &FrameItem<'_>, peek: &Peek<'_>) -> Stretch {
        let glance = &peek.glance;
        let time = glance.time.unwrap_or(0);
        let mut span = Times::default();
        span.add(time);
        Stretch {
            offset: frame.offset,
            bytes: frame.bytes.len() as u64,
            records: 1,
            run: glance.run,
            sequence: glance.sequence,
            dropped: peek.dropped,
            times: (time, time),
            span,
            shared: (0, 0, time),
        }
    }

    /// What was not reported as a share.
    pub(crate) fn share(&self) -> Share {
        let (bytes, records, time) = self.shared;
        Share {
            from: self.offset + bytes,
            to: self.offset + self.bytes,
            records: self.records - records,
            times: (time, self.times.1),
        }
    }

    /// Takes a record in that continues it, on the same side of the chunk's end.
    #[inline(always)]
    fn takes(&mut self, frame: &FrameItem<'_>, peek: &Peek<'_>, chunk_end: u64) -> bool {
        let glance = &peek.glance;
        let (Some(first), Some(sequence)) = (self.sequence, glance.sequence) else {
            return false;
        };
        let time = glance.time.unwrap_or(0);
        let continues = glance.run == self.run
            && time >= self.times.1
            && sequence.0 == first.0.wrapping_add(self.records)
            && sequence.number() == first.number()
            && peek.dropped == 0
            && peek.backtrace.is_none()
            && self.run.is_some()
            && !(self.offset < chunk_end && chunk_end <= frame.offset);
        if continues {
            self.bytes += frame.bytes.len() as u64;
            self.records += 1;
            self.times.1 = time;
            self.span.add(time);
        }
        continues
    }
}

impl Share {
    /// A frame, without the record in it.
    pub(crate) fn of_frame(frame: &FrameItem<'_>) -> Share {
        Share {
            from: frame.offset,
            to: frame.end(),
            records: 0,
            times: (0, 0),
        }
    }
}

/// What a walker reports of what lies between two seams.
struct Walked {
    /// Where it began: at the first frame after the seam.
    begins: u64,
    ends: State,
    steps: Vec<Kept>,
    /// The frames in it, end to end.
    frames: Vec<u8>,
    shapes: Option<Shapes>,
    work: Work,
}

/// A step that outlives the bytes it was made from.
enum Kept {
    Stretch(Stretch),
    Share(Share),
    Frame { offset: u64, len: u32, body: u32 },
    Gap(Gap, u64),
}

impl Walked {
    /// Begins at the first frame from `seam` on, and reports what begins up to `end`,
    /// or a part of that if it is much. Nothing if there is no frame, or one so long
    /// that several walkers should not hold its like.
    fn walk(input: &Input, wanted: &Wanted, seam: u64, end: u64) -> Result<Option<Walked>, Error> {
        let Some(items) = Items::from_first_frame(input, seam, end)? else {
            return Ok(None);
        };
        let begins = items.offset();
        let mut walk = Walk::over(items, wanted);
        let (mut steps, mut frames) = (Vec::new(), Vec::new());
        while walk.items.offset() < end && steps.len() < STEPS && frames.len() < BODIES {
            let mut keep = |step: Step<'_>| {
                steps.push(match step {
                    Step::Stretch(stretch) => Kept::Stretch(stretch),
                    Step::Share(share) => Kept::Share(share),
                    Step::Gap(gap, claim) => Kept::Gap(gap, claim),
                    // They come at the end.
                    Step::Shapes(_) => return,
                    Step::Frame(frame) => {
                        frames.extend_from_slice(frame.bytes);
                        Kept::Frame {
                            offset: frame.offset,
                            len: frame.bytes.len() as u32,
                            body: frame.body.len() as u32,
                        }
                    }
                });
            };
            if !walk.step(end, &mut keep)? {
                break;
            }
        }
        if walk.items.has_passed_over() {
            return Ok(None);
        }
        steps.extend(walk.stretch.take().map(Kept::Stretch));
        Ok(Some(Walked {
            begins,
            ends: walk.state(),
            work: walk.work(),
            steps,
            frames,
            shapes: walk.shapes,
        }))
    }

    fn visit(&self, visit: &mut impl FnMut(Step<'_>)) {
        let mut frames = &self.frames[..];
        for step in &self.steps {
            visit(match step {
                Kept::Stretch(stretch) => Step::Stretch(*stretch),
                Kept::Share(share) => Step::Share(*share),
                Kept::Gap(gap, claim) => Step::Gap(*gap, *claim),
                Kept::Frame { offset, len, body } => {
                    let (bytes, rest) = frames.split_at(*len as usize);
                    frames = rest;
                    Step::Frame(FrameItem {
                        offset: *offset,
                        bytes,
                        body: &bytes[(len - body) as usize..],
                    })
                }
            });
        }
        if let Some(shapes) = &self.shapes {
            visit(Step::Shapes(shapes));
        }
    }
}

/// Reports parts, in order, until the receiver is dropped.
fn send_parts(
    input: &Input,
    wanted: &Wanted,
    indices: impl Iterator<Item = u64>,
    sender: &SyncSender<Walked>,
) {
    for index in indices {
        let part = match Walked::walk(input, wanted, index * PART, (index + 1) * PART) {
            Ok(Some(part)) => part,
            // Nothing to begin at: one that joins nowhere.
            Ok(None) => Walked {
                begins: 0,
                ends: State::default(),
                steps: Vec::new(),
                frames: Vec::new(),
                shapes: None,
                work: Work::default(),
            },
            Err(_) => return,
        };
        if sender.send(part).is_err() {
            return;
        }
    }
}
