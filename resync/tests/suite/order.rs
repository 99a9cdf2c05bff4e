//! Each thread's records come in their order, wherever they stand and whatever its clock
//! did: in chunks or side by side, in one file or several, moved, copied or cut out.

use crate::synth::{self, EPOCH, Log, Random};
use logdef_resync::{Event, Input, Merge, MergeOptions, Recovery};
use logdef_wire::record::{Data, Glance};
use logdef_wire::{Level, Record, Run, Sequence, ThreadNumber};
use std::collections::{BTreeSet, HashMap};

const RUN: Run = Run(7);
const CHUNK: usize = 2048;
const HOUR: u64 = 3_600_000_000_000;

/// What a log is made like.
struct Course {
    threads: usize,
    records: u64,
    /// A clock is set once in this many records.
    steps: usize,
    is_chunked: bool,
    /// One in this many records names no thread.
    nameless: usize,
}

/// A log as it was written, and where its frames stand.
fn written(course: &Course, random: &mut Random) -> Log {
    let mut log = Log::new();
    let mut counts = vec![0; course.threads];
    let mut time = EPOCH;
    let mut thread = 0;
    let mut left = 0;
    for record in 0..course.records {
        if left == 0 {
            left = if course.is_chunked { 14 } else { 1 };
            // The last thread begins late.
            let late = usize::from(record < course.records / 3 && course.threads > 1);
            thread = random.below(course.threads - late);
            if course.is_chunked {
                log.zeros(log.bytes.len().next_multiple_of(CHUNK) - log.bytes.len());
                log.preamble(RUN, Some(CHUNK as u64));
            }
        }
        left -= 1;
        time = match random.below(2 * course.steps) {
            0 => time.saturating_sub(HOUR),
            1 => time + HOUR,
            _ => time + 1_000_000,
        };
        if random.below(course.nameless) == 0 {
            log.record(&Record::Data(Data {
                front: Glance {
                    level: Some(Level::INFO),
                    time: Some(time),
                    ..Glance::default()
                },
                ..Data::default()
            }));
        }
        log.data(RUN, thread as u64, counts[thread], time, b"");
        counts[thread] += 1;
    }
    log
}

/// Pieces of the log, moved, copied or cut out, in one input or several.
fn rearranged(log: &Log, random: &mut Random) -> Vec<Vec<u8>> {
    let mut frames = log.frames.clone();
    for _ in 0..random.below(4) {
        let start = random.below(frames.len());
        let end = frames.len().min(start + 1 + random.below(40));
        let piece: Vec<_> = match random.below(3) {
            0 => frames[start..end].to_vec(),
            1 => frames.drain(start..end).collect(),
            _ => {
                frames.drain(start..end);
                Vec::new()
            }
        };
        let at = random.below(frames.len() + 1);
        frames.splice(at..at, piece);
        if frames.is_empty() {
            break;
        }
    }
    let parts = 1 + random.below(3);
    let mut inputs = vec![Vec::new(); parts];
    for (index, frame) in frames.iter().enumerate() {
        inputs[index * parts / frames.len()].extend_from_slice(&log.bytes[frame.clone()]);
    }
    let first = random.below(parts);
    inputs.rotate_left(first);
    inputs
}

/// The identities of all records, as they are merged.
fn merged(inputs: &[Input]) -> Vec<Sequence> {
    let recovery = Recovery::of(inputs).unwrap();
    let mut merge = Merge::new(inputs, &recovery, MergeOptions::default());
    let mut merged = Vec::new();
    while let Some(event) = merge.next().unwrap() {
        if let Event::Frame(frame) = event
            && let Some(Record::Data(data)) = frame.record()
        {
            merged.extend(data.sequence);
        }
    }
    merged
}

fn is_in_order(bytes: Vec<Vec<u8>>, what: &str) {
    let mut wanted = BTreeSet::new();
    for part in &bytes {
        let mut items = logdef_resync::Items::of_bytes(part);
        while let Some(item) = items.next().unwrap() {
            if let logdef_resync::Item::Frame(frame) = item
                && let Ok(record) = Record::decode(frame.body)
            {
                wanted.extend(synth::identity(&record).map(|(_, sequence)| sequence));
            }
        }
    }
    let parts = bytes.into_iter();
    let inputs: Vec<_> = parts.map(|part| Input::from_bytes("part", part)).collect();
    let merged = merged(&inputs);
    let mut last: HashMap<ThreadNumber, u64> = HashMap::new();
    for sequence in &merged {
        let before = last.insert(sequence.number(), sequence.count());
        assert!(
            before < Some(sequence.count()),
            "{what}: {sequence:?} after {before:?}"
        );
    }
    assert_eq!(merged.len(), wanted.len(), "{what}: each record once");
}

#[test]
fn a_thread_keeps_its_order_wherever_its_records_stand() {
    for seed in 0..if synth::slow() { 20_000 } else { 1_500 } {
        let mut random = Random::new(seed);
        let course = Course {
            threads: 1 + random.below(4),
            records: 20 + random.below(200) as u64,
            steps: 5 + random.below(40),
            is_chunked: random.below(2) == 0,
            nameless: [20, usize::MAX][random.below(2)],
        };
        let log = written(&course, &mut random);
        is_in_order(rearranged(&log, &mut random), &format!("seed {seed}"));
    }
}

#[test]
fn a_thread_keeps_its_order_through_more_records_than_are_read_ahead() {
    for seed in 0..12 {
        let mut random = Random::new(seed);
        let course = Course {
            threads: 3,
            records: 20_000,
            steps: [3_000, 8_000][random.below(2)],
            is_chunked: false,
            nameless: usize::MAX,
        };
        let log = written(&course, &mut random);
        is_in_order(rearranged(&log, &mut random), &format!("seed {seed}"));
    }
}

/// Counts that run backwards make a lane of each record, and all of them overlap: no more than
/// 32,768 are open at once.
#[test]
fn more_lanes_than_are_open_at_once_lose_nothing() {
    let records = 33_000;
    let mut log = Log::new();
    log.preamble(Run(7), None);
    for count in (0..records).rev() {
        log.data(Run(7), 0, count, EPOCH + count % 7, b"");
    }
    let inputs = [Input::from_bytes("backwards", log.bytes)];
    let recovery = Recovery::of(&inputs).unwrap();
    let mut merge = Merge::new(&inputs, &recovery, MergeOptions::default());
    let mut given = BTreeSet::new();
    while let Some(event) = merge.next().unwrap() {
        let Event::Frame(frame) = event else { continue };
        let glance = Glance::of(frame.body).unwrap();
        assert!(given.insert(glance.sequence.unwrap().count()));
    }
    assert_eq!(given.len() as u64, records);
}
