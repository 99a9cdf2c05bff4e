//! What became of the bytes of an input: the numbers and lists that a report is made of.

use crate::read::gap::{Damage, Gap, GapKind, KnownGaps};
use crate::read::scan::Work;
use crate::recover::carried::Carried;
use crate::recover::memory::Memory;
use crate::recover::thread_report::{HoleReport, ThreadReport};
use blocks::Block;
use logdef_wire::msgpack::DecodeError;
use logdef_wire::{Run, ThreadNumber};
use std::ops::Range;

mod blocks;

/// Losses listed for one gap.
const LOSSES: usize = 256;
/// How many gaps between a thread's records are looked at to explain a hole.
const NEAR: usize = 64;

/// What a gap takes with the threads that it names; a hole in a thread's sequence, or a piece of
/// one that turns up later; and zeros that may be a lost block.
const GAP: usize = 2 * size_of::<GapReport>() + 2 * size_of::<Range<usize>>();
const HOLE: usize = size_of::<Hole>() + size_of::<HoleReport>() + 16;
const BLOCK: usize = 2 * size_of::<Block>();

/// What the accounts of all inputs together may yet list. What is beyond that is only counted.
#[derive(Clone, Debug)]
pub(crate) struct Room {
    gaps: usize,
    malformed: usize,
    /// Holes in threads' sequences, and the pieces in which they turn up later.
    holes: usize,
    memory: Memory,
}

impl Room {
    pub(crate) fn new(memory: &Memory) -> Room {
        Room {
            gaps: 1 << 17,
            malformed: 1 << 12,
            holes: 1 << 18,
            memory: memory.clone(),
        }
    }

    fn take_gap(&mut self) -> bool {
        take(&mut self.gaps) && self.memory.take(GAP)
    }

    fn take_hole(&mut self) -> bool {
        take(&mut self.holes) && self.memory.take(HOLE)
    }
}

/// Takes one of what is left; `false` if nothing is.
fn take(room: &mut usize) -> bool {
    let has_room = *room > 0;
    *room -= usize::from(has_room);
    has_room
}

/// How many, and how many bytes they take.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Tally {
    /// How many frames or gaps.
    pub count: u64,
    /// Bytes of all of them together.
    pub bytes: u64,
}

impl Tally {
    #[inline]
    pub(crate) fn add(&mut self, bytes: u64) {
        self.count += 1;
        self.bytes += bytes;
    }
}

/// Earliest and latest of some times, in nanoseconds since the Unix epoch.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Times(pub Option<(u64, u64)>);

impl Times {
    #[inline]
    pub(crate) fn add(&mut self, time: u64) {
        if time != 0 {
            let (first, last) = self.0.unwrap_or((time, time));
            self.0 = Some((first.min(time), last.max(time)));
        }
    }
}

/// What became of the bytes of an input. The four tallies add up to its length.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Account {
    /// What messages call the input: its path, or `standard input`.
    pub name: String,
    /// Its length in bytes, decompressed.
    pub bytes: u64,
    /// Why that is not all of it: see [`Input::broken_off`](crate::Input::broken_off).
    pub broken_off: Option<String>,
    /// What the logs lost that it was made from, where no note in it says so.
    pub(crate) made_from: Option<Carried>,
    /// Valid frames, suspect and malformed ones included.
    pub frames: Tally,
    /// Zeros between frames that were never used.
    pub padding: Tally,
    /// Frames that were never finished.
    pub torn: Tally,
    /// Bytes that were something else once.
    pub damage: Tally,
    /// Records by tag, suspect ones apart.
    pub records: [u64; 128],
    /// Data records without run or sequence, whose loss would go unnoticed.
    pub without_identity: u64,
    /// Frames that were found between damages and belong to no run of this log.
    pub suspect: u64,
    /// Data records whose run and sequence were seen before.
    pub repeated: u64,
    /// Data records of threads beyond those that are followed, or with counts that there was no
    /// room to remember: what is missing is at least what is said.
    pub untracked: u64,
    /// Frames whose checksum is right and whose record breaks the grammar.
    pub malformed: u64,
    /// Where the first of them stand.
    pub malformed_list: Vec<Malformed>,
    /// Torn frames, damage and padding, in order.
    pub gaps: Vec<GapReport>,
    /// Gaps beyond those listed.
    pub gaps_unlisted: u64,
    /// Records that are missing where no byte is.
    pub holes: Vec<HoleReport>,
    /// Times of its records.
    pub times: Times,
    /// What it cost to scan it.
    pub work: Work,
    /// Gaps from here on wait for the record after them.
    open_gaps: usize,
    unexplained: Vec<Hole>,
    /// Counts between a thread's records in an input before and those here.
    crossings: Vec<Hole>,
    blocks: Vec<Block>,
    /// Gaps with a thread's earlier records after them, or copies, and none of its later ones.
    /// In order, and apart from each other.
    disorders: Vec<Range<usize>>,
    room: Room,
}

/// A frame whose record breaks the grammar.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Malformed {
    /// Offset of the frame.
    pub offset: u64,
    /// What is wrong, at which offset of the body.
    pub error: DecodeError,
}

/// A gap and what it cost.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct GapReport {
    /// Where and what it is.
    pub gap: Gap,
    /// Records lost in it.
    pub lost: u64,
    /// Whether that is all: the threads around the gap went on after it, with nothing out of
    /// their order, and no other gap can have taken part of it.
    pub exact: bool,
    /// More than what is counted somewhere may have been here.
    pub(super) hides: bool,
    /// The threads that lost records here, else those around the gap.
    pub threads: Vec<(Run, ThreadNumber)>,
    /// Times of the record before and the record after, if there are.
    pub times: (Option<u64>, Option<u64>),
    losses: Losses,
    /// Another gap may have taken part of the loss.
    shared: bool,
    before: Option<usize>,
    after: Option<usize>,
}

/// The holes in threads' sequences that a gap explains.
pub(crate) type Losses = Vec<Hole>;

/// Counts of a thread that were jumped over.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Hole {
    pub(crate) thread: usize,
    pub(crate) from: u64,
    pub(crate) to: u64,
}

impl Account {
    pub(crate) fn new(name: &str, room: Room) -> Account {
        Account {
            name: name.to_owned(),
            bytes: 0,
            broken_off: None,
            made_from: None,
            frames: Tally::default(),
            padding: Tally::default(),
            torn: Tally::default(),
            damage: Tally::default(),
            records: [0; 128],
            without_identity: 0,
            suspect: 0,
            repeated: 0,
            untracked: 0,
            malformed: 0,
            malformed_list: Vec::new(),
            gaps: Vec::new(),
            gaps_unlisted: 0,
            holes: Vec::new(),
            times: Times::default(),
            work: Work::default(),
            open_gaps: 0,
            unexplained: Vec::new(),
            crossings: Vec::new(),
            blocks: Vec::new(),
            disorders: Vec::new(),
            room,
        }
    }

    /// Whether all of its bytes are there, with no damage, and no malformed or suspect
    /// frame. Torn frames are no damage: that is what a crash looks like.
    pub fn is_undamaged(&self) -> bool {
        self.broken_off.is_none()
            && self.damage.count == 0
            && self.malformed == 0
            && self.suspect == 0
    }

    /// How many data records it has, repeated ones included, suspect ones not.
    pub fn data(&self) -> u64 {
        self.records[logdef_wire::Tag::DATA.0 as usize]
    }

    /// Records lost here, as far as sequences show.
    pub fn lost(&self) -> u64 {
        let gaps: u64 = self.gaps.iter().map(|gap| gap.lost).sum();
        gaps + self.holes.iter().map(|hole| hole.lost).sum::<u64>()
    }

    /// The damage at or after an offset.
    pub fn gap_at(&self, offset: u64) -> Option<&GapReport> {
        let at = self
            .gaps
            .binary_search_by_key(&offset, |gap| gap.gap.offset);
        at.ok().map(|at| &self.gaps[at])
    }

    pub(crate) fn add_gap(&mut self, gap: Gap, previous: Option<(usize, u64)>) {
        match gap.kind {
            GapKind::Padding => self.padding.add(gap.len),
            GapKind::Torn(_) => self.torn.add(gap.len),
            GapKind::Damage(_) => self.damage.add(gap.len),
        }
        if !self.room.take_gap() {
            self.gaps_unlisted += 1;
            return;
        }
        self.gaps.push(GapReport {
            gap,
            lost: 0,
            exact: false,
            hides: true,
            threads: Vec::new(),
            times: (previous.map(|(_, time)| time), None),
            losses: Losses::new(),
            shared: false,
            before: previous.map(|(thread, _)| thread),
            after: None,
        });
    }

    pub(crate) fn add_malformed(&mut self, malformed: Malformed) {
        self.malformed += 1;
        if take(&mut self.room.malformed) {
            self.malformed_list.push(malformed);
        }
    }

    /// What further inputs may list.
    pub(crate) fn room(&self) -> Room {
        self.room.clone()
    }

    /// How many damages there were.
    pub(crate) fn damages_so_far(&self) -> u64 {
        self.damage.count
    }

    pub(crate) fn gaps_so_far(&self) -> usize {
        self.gaps.len()
    }

    /// The gaps since the record before have this one after them.
    #[inline]
    pub(crate) fn close_gaps(&mut self, thread: usize, time: u64) {
        for gap in &mut self.gaps[self.open_gaps..] {
            gap.after = Some(thread);
            gap.times.1 = Some(time);
        }
        self.open_gaps = self.gaps.len();
    }

    /// A thread's count jumped; its record before stood after gap `since`.
    pub(crate) fn add_hole(&mut self, hole: Hole, since: usize) {
        let since = since.min(self.gaps.len());
        let between = &mut self.gaps[since..];
        let damaged = |gap: &GapReport| gap.gap.is_damage();
        let near = between.len().min(NEAR);
        let first = between[..near].iter().position(damaged);
        let start = between.len() - near;
        let last = between[start..]
            .iter()
            .rposition(damaged)
            .map(|at| start + at);
        match (first.or(last), last.or(first)) {
            (Some(first), Some(last)) => self.lose_near(hole, since + first, since + last),
            _ if self.lose_torn(hole, since) => {}
            _ => self.lose_block(hole, since),
        }
    }

    /// A hole is the loss of one damage, and perhaps of others after it.
    fn lose_near(&mut self, hole: Hole, first: usize, last: usize) {
        self.gaps[first].lose(hole, &mut self.room);
        let is_block = self.gaps[first].gap.kind == GapKind::Damage(Damage::LostBlock);
        if !(is_block && self.suspect_block(first, hole, last)) {
            self.share(first, last);
        }
    }

    /// Which of some damages took which record cannot be known.
    fn share(&mut self, first: usize, last: usize) {
        if first != last {
            let near = self.gaps[first..last].iter_mut().take(NEAR);
            near.for_each(|gap| gap.shared = true);
            self.gaps[last].shared = true;
        }
    }

    /// A thread's first record here does not continue the one before, which stands in another
    /// input.
    pub(crate) fn add_crossing(&mut self, hole: Hole) {
        if self.room.take_hole() {
            self.crossings.push(hole);
        }
    }

    pub(crate) fn take_crossings(&mut self) -> Vec<Hole> {
        std::mem::take(&mut self.crossings)
    }

    /// Counts that are in no input, and that no gap explains.
    pub(crate) fn add_unexplained(&mut self, hole: Hole) {
        if self.room.take_hole() {
            self.unexplained.push(hole);
        }
    }

    /// A frame that was never finished is damage if its thread went on: its front was
    /// overwritten. The first one after the thread's last record is likely its own.
    fn lose_torn(&mut self, hole: Hole, since: usize) -> bool {
        let is_torn = |gap: &&mut GapReport| matches!(gap.gap.kind, GapKind::Torn(_));
        let Some(gap) = self.gaps[since..].iter_mut().take(NEAR).find(is_torn) else {
            return false;
        };
        gap.gap.kind = GapKind::Damage(Damage::NoHeader);
        gap.lose(hole, &mut self.room);
        let len = gap.gap.len;
        self.torn.count -= 1;
        self.torn.bytes -= len;
        self.damage.add(len);
        true
    }

    /// Since gap `since`, a thread continued with what was before, or stood elsewhere too.
    pub(crate) fn add_disorder(&mut self, since: usize) {
        let mut range = since..self.gaps.len();
        while let Some(before) = self.disorders.pop_if(|before| before.end >= range.start) {
            range.start = range.start.min(before.start);
        }
        if !range.is_empty() {
            self.disorders.push(range);
        }
    }

    /// A loss is exact where the threads on both sides continued after the gap. `ends`
    /// returns how many gaps a thread's last record has before it, and `is_in_pieces` whether
    /// what was jumped over may be counted elsewhere, since its thread is out of order.
    pub(crate) fn settle_exactness(
        &mut self,
        ends: impl Fn(usize) -> usize,
        is_in_pieces: impl Fn(&Hole) -> bool,
    ) {
        let mut disorders = std::mem::take(&mut self.disorders).into_iter().peekable();
        for (index, gap) in self.gaps.iter_mut().enumerate() {
            let goes_on = gap.before.is_some_and(|thread| ends(thread) > index);
            gap.hides = !goes_on || gap.after.is_none() || gap.shared;
            while disorders.next_if(|range| range.end <= index).is_some() {}
            let in_order = disorders.peek().is_none_or(|range| index < range.start);
            gap.exact = !gap.hides && in_order && !gap.losses.iter().any(&is_in_pieces);
        }
    }

    /// Counts what is lost, now that all inputs were seen: what a hole lacks may
    /// stand elsewhere.
    pub(crate) fn settle_losses(&mut self, missing: &mut impl FnMut(usize, u64, u64) -> u64) {
        for gap in &mut self.gaps {
            for hole in &mut gap.losses {
                gap.lost += missing(hole.thread, hole.from, hole.to);
            }
        }
        self.unexplained.retain_mut(|hole| {
            hole.to = hole.from + missing(hole.thread, hole.from, hole.to);
            hole.to > hole.from
        });
    }

    /// Replaces indices of threads by their names.
    pub(crate) fn name_threads(&mut self, threads: &[ThreadReport]) {
        for gap in &mut self.gaps {
            let lossy = gap.losses.iter().map(|hole| hole.thread);
            let mut named: Vec<usize> = lossy.collect();
            if named.is_empty() && gap.gap.is_damage() {
                named.extend(gap.before);
                named.extend(gap.after);
            }
            named.sort_unstable();
            named.dedup();
            let name = |thread: usize| (threads[thread].run, threads[thread].number);
            gap.threads = named.into_iter().map(name).collect();
            gap.losses = Losses::new();
        }
        let name = |hole: &Hole| HoleReport {
            run: threads[hole.thread].run,
            number: threads[hole.thread].number,
            from: hole.from,
            lost: hole.to - hole.from,
        };
        self.holes = self.unexplained.drain(..).map(|hole| name(&hole)).collect();
    }
}

impl KnownGaps for Account {
    fn gap(&self, index: usize) -> Option<Gap> {
        Some(self.gaps.get(index)?.gap)
    }

    fn first_from(&self, offset: u64) -> usize {
        self.gaps.partition_point(|gap| gap.gap.offset < offset)
    }
}

impl GapReport {
    /// The threads of the records around it.
    pub(crate) fn neighbours(&self) -> impl Iterator<Item = usize> {
        let of_both = self.after.filter(|after| self.before != Some(*after));
        self.before.into_iter().chain(of_both)
    }

    /// It is likely that some records of a hole were lost here, and not certain.
    pub(crate) fn lose_some(&mut self, hole: Hole, lost: u64) {
        self.lost += lost;
        self.exact = false;
        self.hides = true;
        if self.losses.len() < LOSSES {
            self.losses.push(hole);
        }
    }

    fn lose(&mut self, hole: Hole, room: &mut Room) {
        if self.losses.len() < LOSSES && room.take_hole() {
            self.losses.push(hole);
        } else {
            self.shared = true;
        }
    }
}
