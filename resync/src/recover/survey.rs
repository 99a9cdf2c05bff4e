//! A first look at a log that costs next to nothing: at the heads of its chunks,
//! each of which says where the next one is. A log of one run whose chunks stand one
//! after the other can be merged from this alone, and the first record shown before
//! the rest was read.
//!
//! ```text
//! head          head      head
//! |# # ........ |# # .... |# # ........ 00000|    #  preamble, logdefs, first record
//!  size ------->^ size -->^ size ----------->^    .  not looked at
//! ```
//!
//! What a survey takes for granted is checked when the records are read: see
//! [`Merge::from_survey`](crate::Merge::from_survey).

use crate::read::freeze::freeze_one;
use crate::read::gap::GapKind;
use crate::read::input::{Error, Input};
use crate::read::item::{Item, Items};
use crate::read::known_bodies::KnownBodies;
use crate::read::scan::is_zero;
use crate::read::unmask;
use crate::recover::lane::{Lane, LaneThread, ThreadKey, since_of};
use crate::recover::run_of::run_of;
use crate::recover::tables::{self, Place, Tables};
use logdef_wire::record::{Peek, Preamble};
use logdef_wire::{Record, Run, Tag};
use std::collections::HashMap;
use std::ops::{Range, RangeInclusive};

/// Bytes that are read of each head at a time.
const HEAD: usize = 4 << 10;
/// Frames that may stand before the first data record of a chunk.
const FRAMES: usize = 256;
/// Zeros outside chunks that are looked at, in steps.
const UNUSED: u64 = 128 << 20;
const STEP: u64 = 256 << 10;
/// Nanoseconds by which a thread may take its chunk earlier than one whose chunk stands before,
/// and fill it later.
const TOGETHER: u64 = 1_000_000_000;
/// Chunks of one log.
const CHUNKS: usize = 1 << 18;
/// A chunk stands at a multiple of its size, so after a smaller one bytes may be
/// left out: those up to one of these multiples.
const ALIGNMENTS: RangeInclusive<u32> = 12..=22;

/// What the heads of the chunks say of a log. Most logs that no one has damaged,
/// joined or cut have one.
///
/// ```
/// use logdef_resync::{Input, Survey};
///
/// let input = Input::from_bytes("noise", b"no log at all".to_vec());
/// assert!(Survey::of(&input)?.is_none());
/// # Ok::<(), logdef_resync::Error>(())
/// ```
#[derive(Debug)]
pub struct Survey {
    pub(crate) run: Run,
    /// A lane for each chunk, in the order of the bytes.
    pub(crate) lanes: Vec<Lane>,
    /// The count that each lane's thread had reached before.
    pub(crate) begins: Vec<u64>,
    /// For each lane, the next lane of its thread.
    pub(crate) next: Vec<Option<u32>>,
    /// The lanes that threads begin in, and those without a record.
    pub(crate) first: Vec<u32>,
    tables: Tables,
}

/// The head of a chunk.
struct Head {
    run: Run,
    chunk: u64,
    first: Option<LaneThread>,
    /// The count that its thread had reached before, dropped records included.
    begins: u64,
}

/// What the heads say that were looked at.
struct Known {
    tables: Tables,
    /// Logdefs of strings, of which each chunk has those that it needs.
    strings: KnownBodies,
}

impl Survey {
    /// Looks at the heads of an input. `None` if it is not one run in chunks from its
    /// first byte to its last.
    pub fn of(input: &Input) -> Result<Option<Survey>, Error> {
        freeze_one(input);
        let mut known = Known {
            tables: Tables::new(tables::DEFAULT_MEMORY),
            strings: KnownBodies::default(),
        };
        let mut lanes: Vec<Lane> = Vec::new();
        let mut begins = Vec::new();
        let mut budget = UNUSED;
        let mut run = None;
        let mut at = Some(0);
        while let Some(start) = at {
            let Some(head) = head(input, start, &mut known)? else {
                return Ok(None);
            };
            if *run.get_or_insert(head.run) != head.run || lanes.len() >= CHUNKS {
                return Ok(None);
            }
            let end = start.saturating_add(head.chunk);
            at = next_chunk(input, end)?;
            // What is left out is looked at: no chunk can hide in it.
            if !is_unused(input, end..at.unwrap_or(u64::MAX), &mut budget)? {
                return Ok(None);
            }
            begins.push(head.begins);
            lanes.push(Lane {
                input: 0,
                start,
                end: at.unwrap_or(u64::MAX),
                has_nameless: false,
                is_last: false,
                is_shared: false,
                key: head.first.as_ref().map_or(0, |first| first.first_time),
                threads: head.first.into_iter().collect(),
            });
        }
        let tables = known.tables;
        let Some(run) = run.filter(|_| tables.is_whole()) else {
            return Ok(None);
        };
        let Some((next, first)) = chain(&lanes) else {
            return Ok(None);
        };
        let known = |lane: &Lane| {
            let mut threads = lane.threads.iter();
            threads.all(|thread| !tables.names_of(run, thread.key.1).is_empty())
        };
        Ok(lanes.iter().all(known).then_some(Survey {
            run,
            lanes,
            begins,
            next,
            first,
            tables,
        }))
    }

    /// Bytes of chunks whose threads have gone on to another one by a time, in
    /// nanoseconds since the epoch: all that they hold is likely of before it.
    pub fn bytes_before(&self, time: u64) -> u64 {
        let lanes = self.lanes.iter().zip(&self.next);
        let before = lanes.filter(|(_, next)| self.begins_before(**next, time));
        before.map(|(lane, _)| lane.end - lane.start).sum()
    }

    /// Whether a clock was set back between chunks, as far as their heads show: then those do
    /// not say which chunks hold nothing of before a time, or of after.
    pub fn has_clock_set_back(&self) -> bool {
        let mut latest = 0;
        let mut keys = self.lanes.iter().filter(|lane| !lane.threads.is_empty());
        let goes_back = keys.any(|lane| {
            latest = lane.key.max(latest);
            lane.key.saturating_add(TOGETHER) < latest
        });
        let next = self.lanes.iter().zip(&self.next);
        let mut next = next.filter_map(|(lane, next)| Some((lane.key, (*next)?)));
        goes_back || next.any(|(key, next)| self.lanes[next as usize].key < key)
    }

    /// The byte ranges of the chunks that can hold records of some times, in nanoseconds since the
    /// epoch, as far as their heads show: see [`has_clock_set_back`](Self::has_clock_set_back). A thread's
    /// last one reaches to whatever time, and one without a record may hold any.
    pub fn chunks_of(&self, times: RangeInclusive<u64>) -> Vec<Range<u64>> {
        let from = times.start().saturating_sub(TOGETHER);
        let to = times.end().saturating_add(TOGETHER);
        let lanes = self.lanes.iter().zip(&self.next);
        let wanted = lanes.filter(|(lane, next)| {
            lane.threads.is_empty() || lane.key <= to && !self.begins_before(**next, from)
        });
        wanted.map(|(lane, _)| lane.start..lane.end).collect()
    }

    /// A time to begin the end of the log at: chunks whose threads have not gone on by
    /// then have some `bytes` in all, or a few more, not counting the last ones of the
    /// threads, nor those that begin after `until`. 0 if there are no more.
    pub fn since_of_last(&self, bytes: u64, until: u64) -> u64 {
        let lanes = self.lanes.iter().zip(&self.next);
        let wanted = lanes.filter(|(lane, _)| lane.key <= until);
        // The last ones of the threads are there whatever the time.
        let ends = wanted.filter_map(|(lane, next)| {
            let end = self.lanes[(*next)? as usize].key;
            Some((end, lane.end - lane.start))
        });
        since_of(bytes, ends)
    }

    /// The lane in which a thread is at a time, from one on that it was in before.
    pub(crate) fn first_since(&self, mut lane: u32, time: u64) -> u32 {
        while let Some(next) = self.next[lane as usize]
            && self.begins_before(Some(next), time)
        {
            lane = next;
        }
        lane
    }

    fn begins_before(&self, lane: Option<u32>, time: u64) -> bool {
        lane.is_some_and(|lane| self.lanes[lane as usize].key < time)
    }

    /// The logdefs that stand in the heads. Others come with the frames of a merge.
    pub fn into_tables(&mut self) -> Tables {
        std::mem::take(&mut self.tables)
    }
}

/// The head of the chunk that is opened at an offset, if one is.
fn head(input: &Input, start: u64, known: &mut Known) -> Result<Option<Head>, Error> {
    let mut items = Items::range_with_step(input, start..u64::MAX, HEAD);
    let mut head: Option<Head> = None;
    let mut scratch = Vec::new();
    let mut room_end = None;
    for _ in 0..FRAMES {
        let frame = match items.next()? {
            Some(Item::Frame(frame)) => frame,
            Some(Item::Gap(gap)) if gap.kind == GapKind::Padding && Some(gap.end()) == room_end => {
                continue;
            }
            _ => break,
        };
        if head
            .as_ref()
            .is_some_and(|head| frame.offset - start >= head.chunk)
        {
            break;
        }
        let is_string = frame.tag() == Tag::STRING_LOGDEF && head.is_some();
        if is_string && known.strings.meet(&frame) {
            continue;
        }
        let Ok(record) = unmask::decode(frame.body, &mut scratch) else {
            return Ok(None);
        };
        match (&record, &mut head) {
            (Record::Preamble(preamble), None) => {
                let (Some(run), Some(chunk @ 1..)) = (preamble.run, preamble.chunk) else {
                    return Ok(None);
                };
                room_end = frame.end().checked_add(Preamble::ROOM_FOR_NOTES);
                head = Some(Head {
                    run,
                    chunk,
                    first: None,
                    begins: 0,
                });
            }
            (_, None) => return Ok(None),
            (Record::Data(data), Some(head)) => {
                let Peek {
                    glance, dropped, ..
                } = Peek::from(data);
                let (Some(run), Some(sequence)) = (glance.run, glance.sequence) else {
                    return Ok(None);
                };
                let time = glance.time.unwrap_or(0);
                let first = LaneThread {
                    key: (run, sequence.number()),
                    first: sequence.count(),
                    last: sequence.count(),
                    first_time: time,
                    lowest_time: time,
                    last_time: time,
                    floor: 0,
                };
                return Ok((run == head.run).then_some(Head {
                    first: Some(first),
                    begins: sequence.count().saturating_sub(dropped),
                    ..*head
                }));
            }
            (record, Some(head)) if run_of(record).is_some_and(|run| run != head.run) => {
                return Ok(None);
            }
            _ => {}
        }
        let place = Place {
            input: 0,
            offset: frame.offset,
        };
        known.tables.add(&record, place);
    }
    Ok(head)
}

/// Where the chunk after `end` starts.
fn next_chunk(input: &Input, end: u64) -> Result<Option<u64>, Error> {
    let mut last = None;
    for alignment in ALIGNMENTS {
        let at = match alignment {
            12 => end,
            _ => end.checked_next_multiple_of(1 << alignment).unwrap_or(end),
        };
        if at >= input.len() || last == Some(at) {
            continue;
        }
        last = Some(at);
        let mut bytes = [0];
        let read = input.read_frozen(&mut bytes, at);
        read.map_err(|cause| Error::new(input.name(), cause))?;
        if bytes != [0] {
            return Ok(Some(at));
        }
    }
    Ok(None)
}

/// Whether there are nothing but zeros in a range, and no more of them than `budget`
/// allows to look at.
fn is_unused(input: &Input, range: Range<u64>, budget: &mut u64) -> Result<bool, Error> {
    let mut at = range.start;
    let end = range.end.min(input.len());
    let mut buffer = vec![0; STEP.min(end.saturating_sub(at)) as usize];
    while at < end && *budget > 0 {
        let len = (end - at).min(STEP) as usize;
        let read = input.read_frozen(&mut buffer[..len], at);
        let read = read.map_err(|cause| Error::new(input.name(), cause))?;
        if !is_zero(&buffer[..read]) {
            return Ok(false);
        }
        if read == 0 {
            break;
        }
        at += read as u64;
        *budget = budget.saturating_sub(read as u64);
    }
    Ok(*budget > 0)
}

/// How each thread goes from lane to lane: the next of each, and the first ones.
/// `None` if counts do not go up with offsets.
#[allow(clippy::type_complexity)]
fn chain(lanes: &[Lane]) -> Option<(Vec<Option<u32>>, Vec<u32>)> {
    let mut next = vec![None; lanes.len()];
    let mut first = Vec::new();
    let mut last: HashMap<ThreadKey, u32> = HashMap::new();
    for (index, lane) in lanes.iter().enumerate() {
        let index = index as u32;
        let Some(thread) = lane.threads.first() else {
            first.push(index);
            continue;
        };
        match last.insert(thread.key, index) {
            None => first.push(index),
            Some(before) => {
                if lanes[before as usize].threads[0].first >= thread.first {
                    return None;
                }
                next[before as usize] = Some(index);
            }
        }
    }
    Some((next, first))
}
