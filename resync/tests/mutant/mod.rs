//! Damaged logs and an oracle. The oracle knows of each byte which byte of which
//! original it is; so it knows which frames are whole, and what a reader may say.

#![allow(dead_code, missing_docs, unreachable_pub)]

use crate::synth::{self, Log, Random};
use logdef_resync::{
    Account, Event, GapKind, Input, Item, Items, Merge, MergeOptions, NoImages, Recovery, Torn,
    rewrite,
};
use logdef_wire::{Record, Run, Sequence, ThreadNumber};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::ops::Range;

/// Where decisions come from: a generator of numbers, or the input of a fuzzer.
pub trait Choices {
    /// A number below `bound`, or 0.
    fn below(&mut self, bound: usize) -> usize;

    fn bytes(&mut self, len: usize) -> Vec<u8> {
        (0..len).map(|_| self.below(256) as u8).collect()
    }
}

impl Choices for Random {
    fn below(&mut self, bound: usize) -> usize {
        Random::below(self, bound)
    }

    fn bytes(&mut self, len: usize) -> Vec<u8> {
        Random::bytes(self, len)
    }
}

/// Two bytes for each decision; zeros when there are no more.
impl Choices for &[u8] {
    fn below(&mut self, bound: usize) -> usize {
        let (first, rest) = self.split_first_chunk().unwrap_or((&[0; 2], &[]));
        *self = rest;
        u16::from_le_bytes(*first) as usize % bound.max(1)
    }
}

/// A byte of an original, or none.
const NOWHERE: u32 = u32::MAX;

/// Bytes, each with the place in the originals that it comes from.
#[derive(Clone, Debug, Default)]
pub struct Mutant {
    pub bytes: Vec<u8>,
    origins: Vec<u32>,
}

impl Mutant {
    fn of(originals: &[u8], range: Range<usize>) -> Mutant {
        Mutant {
            bytes: originals[range.clone()].to_vec(),
            origins: range.map(|at| at as u32).collect(),
        }
    }

    fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Whether nothing stands twice or was moved.
    fn in_order(&self) -> bool {
        let known = self.origins.iter().filter(|origin| **origin != NOWHERE);
        known.is_sorted()
    }

    fn range(&self, random: &mut impl Choices, most: usize) -> Range<usize> {
        let start = random.below(self.len());
        start..self.len().min(start + 1 + random.below(most))
    }

    fn part(&self, range: Range<usize>) -> Mutant {
        Mutant {
            bytes: self.bytes[range.clone()].to_vec(),
            origins: self.origins[range].to_vec(),
        }
    }

    fn overwrite(&mut self, at: usize, bytes: &[u8]) {
        for (offset, byte) in bytes.iter().enumerate() {
            if let Some(old) = self.bytes.get_mut(at + offset)
                && *old != *byte
            {
                *old = *byte;
                self.origins[at + offset] = NOWHERE;
            }
        }
    }

    fn replace(&mut self, range: Range<usize>, other: Mutant) {
        self.bytes.splice(range.clone(), other.bytes);
        self.origins.splice(range, other.origins);
    }

    /// One of the accidents that happen to files.
    fn damage(&mut self, random: &mut impl Choices, other: &Mutant) {
        if self.len() < 2 {
            return;
        }
        match random.below(12) {
            0 | 1 => {
                for _ in 0..=random.below(4) {
                    let at = random.below(self.len());
                    let flipped = self.bytes[at] ^ 1 << random.below(8);
                    self.overwrite(at, &[flipped]);
                }
            }
            2 => {
                let size = [64, 512, 4096][random.below(3)].min(self.len());
                let at = random.below(self.len()) / size * size;
                self.overwrite(at, &vec![0; size]);
            }
            3 => {
                let range = self.range(random, 600);
                self.overwrite(range.start, &vec![0; range.len()]);
            }
            4 => {
                // A sector of something else, old or foreign.
                let source = if random.below(2) == 0 { &*self } else { other };
                let stale = source.part(source.range(random, 512));
                let at = random.below(self.len()) & !63;
                let end = self.len().min(at + stale.len());
                let stale = stale.part(0..end - at);
                self.replace(at..end, stale);
            }
            5 => {
                let noise = random.bytes(16);
                self.overwrite(random.below(self.bytes.len()), &noise);
            }
            6 => {
                let len = random.below(self.len());
                *self = self.part(0..len);
            }
            7 => {
                let range = self.range(random, 900);
                self.replace(range, Mutant::default());
            }
            8 => {
                let copy = self.part(self.range(random, 2000));
                let at = random.below(self.len());
                self.replace(at..at, copy);
            }
            9 => {
                // The front of one, the rest of another.
                let at = random.below(self.len());
                let from = random.below(other.len());
                self.replace(at..self.len(), other.part(from..other.len()));
            }
            10 => {
                let size = [64, 512][random.below(2)];
                let mut woven = Mutant::default();
                let (mut mine, mut theirs) = (0, 0);
                while mine < self.len() {
                    let end = self.len().min(mine + size);
                    woven.replace(woven.len()..woven.len(), self.part(mine..end));
                    mine = end;
                    let end = other.len().min(theirs + size);
                    woven.replace(woven.len()..woven.len(), other.part(theirs..end));
                    theirs = end;
                }
                *self = woven;
            }
            _ => {
                let (a, b) = (self.range(random, 512), self.range(random, 512));
                if a.end <= b.start {
                    let (first, second) = (self.part(a.clone()), self.part(b.clone()));
                    self.replace(b, first);
                    self.replace(a, second);
                }
            }
        }
    }
}

/// The originals, end to end, and their frames.
pub struct Originals {
    log: Log,
    parts: Vec<Range<usize>>,
    known: HashSet<Vec<u8>>,
    /// For each byte: where the frame ends that starts there, or 0.
    ends: Vec<u32>,
}

impl Originals {
    /// The logs of a `series`: others in each, by the same writers.
    pub fn new(series: u64) -> Originals {
        let seed = 1000 * series;
        let parts = [
            synth::appended(Run(7), 3, 40, seed + 11),
            synth::chunked(Run(8), 3, 40, 2048, seed + 12),
            synth::appended(Run(9), 1, 15, seed + 13),
        ];
        let mut log = Log::new();
        let mut ranges = Vec::new();
        for part in &parts {
            let start = log.bytes.len();
            log.append(part);
            ranges.push(start..log.bytes.len());
        }
        let known = log
            .frames
            .iter()
            .map(|frame| log.bytes[frame.clone()].to_vec());
        let mut ends = vec![0; log.bytes.len()];
        for frame in &log.frames {
            ends[frame.start] = frame.end as u32;
        }
        Originals {
            known: known.collect(),
            ends,
            log,
            parts: ranges,
        }
    }

    /// An original, after one to three accidents.
    pub fn mutant(&self, random: &mut impl Choices) -> Mutant {
        let mut mutant = self.any(random);
        let other = self.any(random);
        for _ in 0..=random.below(3) {
            mutant.damage(random, &other);
        }
        mutant
    }

    fn any(&self, random: &mut impl Choices) -> Mutant {
        let part = self.parts[random.below(self.parts.len())].clone();
        Mutant::of(&self.log.bytes, part)
    }

    /// Where frames of the originals stand whole.
    fn intact(&self, mutant: &Mutant) -> Vec<Range<usize>> {
        let mut intact = Vec::new();
        for (at, origin) in mutant.origins.iter().enumerate() {
            let len = match self.ends.get(*origin as usize) {
                None | Some(0) => continue,
                Some(end) => (end - origin) as usize,
            };
            let Some(origins) = mutant.origins.get(at..at + len) else {
                continue;
            };
            if origins
                .iter()
                .zip(*origin..)
                .all(|(found, wanted)| *found == wanted)
            {
                intact.push(at..at + len);
            }
        }
        intact
    }

    /// Panics if a reader says of the mutant what it may not.
    pub fn check(&self, mutant: Mutant) {
        let intact = self.intact(&mutant);
        let frames = self.check_items(&mutant, &intact);
        self.check_records(&mutant, &frames);
    }

    /// Each byte in one item; each whole frame given; nothing invented.
    fn check_items(&self, mutant: &Mutant, intact: &[Range<usize>]) -> Vec<Range<usize>> {
        let mut items = Items::of_bytes(&mutant.bytes);
        let mut frames = BTreeSet::new();
        let mut wanted = intact.iter().peekable();
        let mut at = 0;
        while let Some(item) = items.next().unwrap() {
            let (start, end) = (item.offset() as usize, item.end() as usize);
            if let Item::Frame(frame) = item {
                assert_eq!(frame.bytes, &mutant.bytes[at..end]);
                while wanted.next_if(|intact| intact.start < at).is_some() {}
                let is_known =
                    wanted.peek() == Some(&&(at..end)) || self.known.contains(frame.bytes);
                assert!(is_known, "a frame nobody wrote");
                frames.insert((start, end));
            }
            assert_eq!(start, at);
            let bytes = &mutant.bytes[start..end];
            if let Item::Gap(gap) = item {
                match gap.kind {
                    GapKind::Padding => assert!(bytes.iter().all(|byte| *byte == 0)),
                    GapKind::Torn(Torn::Cut) => assert_eq!(bytes[0], 0xc1),
                    GapKind::Torn(_) => assert_eq!(bytes[0], 0),
                    _ => assert!(bytes.iter().any(|byte| *byte != 0)),
                }
            }
            at = end;
        }
        assert_eq!(at, mutant.len());
        for frame in intact {
            // A frame whose last bytes were deleted can be whole again by the first
            // bytes of the next, if those are the same: then it came first, and
            // the next has lost them.
            let robbed = frames
                .range(..(frame.start, 0))
                .next_back()
                .is_some_and(|(_, end)| *end > frame.start);
            assert!(
                robbed || frames.contains(&(frame.start, frame.end)),
                "{frame:?} was missed"
            );
        }
        frames.into_iter().map(|(start, end)| start..end).collect()
    }

    /// Records once each, in their threads' order, counted right; a clean file of
    /// them that stays as it is.
    fn check_records(&self, mutant: &Mutant, frames: &[Range<usize>]) {
        let inputs = [Input::from_bytes("mutant", mutant.bytes.clone())];
        let recovery = Recovery::of(&inputs).unwrap();
        let account = &recovery.accounts()[0];
        let tallies = [
            account.frames,
            account.padding,
            account.torn,
            account.damage,
        ];
        let bytes: u64 = tallies.iter().map(|tally| tally.bytes).sum();
        assert_eq!(bytes, mutant.len() as u64);

        let mut expected: BTreeMap<(Run, Sequence), &[u8]> = BTreeMap::new();
        for range in frames {
            let bytes = &mutant.bytes[range.clone()];
            let frame = logdef_wire::frame::decode(bytes).unwrap();
            let mut scratch = Vec::new();
            let record = logdef_resync::decode(frame.body, &mut scratch).unwrap();
            if let Some(identity) = synth::identity(&record) {
                expected.insert(identity, bytes);
            }
        }
        let merged = merged(&inputs, &recovery);
        if account.suspect == 0 {
            let found: BTreeSet<_> = merged.iter().map(|(identity, _)| *identity).collect();
            assert!(
                found.iter().eq(expected.keys()),
                "other records than are whole"
            );
        }
        assert_eq!(
            merged.len(),
            merged
                .iter()
                .map(|(it, _)| it)
                .collect::<BTreeSet<_>>()
                .len()
        );
        let in_order = mutant.in_order();
        let mut last: HashMap<(Run, ThreadNumber), u64> = HashMap::new();
        for ((run, sequence), bytes) in &merged {
            assert_eq!(expected.get(&(*run, *sequence)), Some(&&bytes[..]));
            let before = last.insert((*run, sequence.number()), sequence.count());
            assert!(before.is_none_or(|before| before < sequence.count()));
        }
        check_losses(&recovery, &merged);

        let mut clean = Vec::new();
        rewrite::recover(&inputs, &recovery, &mut NoImages, &mut clean).unwrap();
        let inputs = [Input::from_bytes("clean", clean.clone())];
        let recovery = Recovery::of(&inputs).unwrap();
        let mut merged: Vec<_> = merged.iter().map(|(identity, _)| *identity).collect();
        let mut again: Vec<_> = merged_identities(&inputs, &recovery).collect();
        if !in_order {
            // What stood twice or in disorder had lanes of its own.
            merged.sort_unstable();
            again.sort_unstable();
        }
        assert_eq!(merged, again);
        assert_eq!(recovery.accounts()[0].frames.bytes, clean.len() as u64);
        let mut same = Vec::new();
        rewrite::recover(&inputs, &recovery, &mut NoImages, &mut same).unwrap();
        assert_eq!(same, clean);
    }
}

type Merged = Vec<((Run, Sequence), Vec<u8>)>;

fn merged(inputs: &[Input], recovery: &Recovery) -> Merged {
    let mut merge = Merge::new(inputs, recovery, MergeOptions::default());
    let mut merged = Vec::new();
    while let Some(event) = merge.next().unwrap() {
        let Event::Frame(frame) = event else {
            continue;
        };
        let Some(Record::Data(data)) = frame.record() else {
            panic!("only data was asked for");
        };
        let identity = data.run.zip(data.sequence).unwrap();
        merged.push((identity, frame.bytes.to_vec()));
    }
    merged
}

fn merged_identities(
    inputs: &[Input],
    recovery: &Recovery,
) -> impl Iterator<Item = (Run, Sequence)> + use<> {
    merged(inputs, recovery)
        .into_iter()
        .map(|(identity, _)| identity)
}

/// The losses of each thread are what is missing between its records.
fn check_losses(recovery: &Recovery, merged: &Merged) {
    let mut counts: BTreeMap<(Run, ThreadNumber), BTreeSet<u64>> = BTreeMap::new();
    for ((run, sequence), _) in merged {
        let thread = counts.entry((*run, sequence.number())).or_default();
        thread.insert(sequence.count());
    }
    let mut lost = 0;
    for thread in recovery.threads() {
        let Some(counts) = counts.get(&(thread.run, thread.number)) else {
            continue;
        };
        let (first, last) = (*counts.first().unwrap(), *counts.last().unwrap());
        assert_eq!((thread.first, thread.last), (first, last));
        assert_eq!(thread.lost, last - first + 1 - counts.len() as u64);
        lost += thread.lost;
    }
    assert_eq!(recovery.lost(), lost);
    let by_place: u64 = recovery.accounts().iter().map(Account::lost).sum();
    assert_eq!(by_place, lost, "by place, and by thread");
}
