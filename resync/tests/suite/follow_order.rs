//! An accident copies a piece of a log before its place, or before what comes before it. A follower
//! that finds it so shows each thread in its order. One that sees it come about has shown the piece:
//! what follows late is marked, and only that breaks an order.

use crate::synth::{self, Random};
use logdef_resync::{Follow, News};
use logdef_wire::{Run, ThreadNumber, frame};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::OpenOptions;
use std::io::Write;
use std::ops::Range;

type Key = (Run, ThreadNumber);

/// What a follower gave of threads.
#[derive(Default)]
struct Given {
    counts: BTreeMap<Key, Vec<u64>>,
    late: u64,
}

impl Given {
    fn take(&mut self, news: Vec<News>) {
        let mut said = BTreeMap::<Key, (Range<u64>, u64)>::new();
        for news in news {
            match news {
                News::Late {
                    run,
                    number,
                    from,
                    to,
                    records,
                    after,
                } => {
                    assert!(from <= after, "{from} is not late behind {after}");
                    said.insert((run, number), (from..to + 1, records));
                }
                News::Frame { bytes, is_late, .. } => self.record(&bytes, is_late, &mut said),
                News::Missing { .. } | News::Damage { .. } => {}
                other => panic!("{other:?}"),
            }
        }
        let is_all = |(_, records): &(Range<u64>, u64)| *records == 0;
        assert!(said.values().all(is_all), "{said:?} did not come");
    }

    fn record(&mut self, bytes: &[u8], is_late: bool, said: &mut BTreeMap<Key, (Range<u64>, u64)>) {
        let Some((key, count)) = place(bytes) else {
            return;
        };
        let counts = self.counts.entry(key).or_default();
        let last = counts.iter().max().copied();
        assert_eq!(is_late, last.is_some_and(|last| count < last), "{counts:?}");
        assert!(!counts.contains(&count), "{count} twice");
        counts.push(count);
        if is_late {
            let (range, records) = said.get_mut(&key).expect("it is said before");
            assert!(range.contains(&count), "{range:?} without {count}");
            *records -= 1;
            self.late += 1;
        }
    }
}

/// The thread and the count of the record in a frame.
fn place(frame: &[u8]) -> Option<(Key, u64)> {
    let body = frame::decode(frame).unwrap().body;
    let mut scratch = Vec::new();
    let (run, sequence) = synth::identity(&logdef_resync::decode(body, &mut scratch).unwrap())?;
    Some(((run, sequence.number()), sequence.count()))
}

/// A log, with a piece of some frames before where it stands. Its first records may not be here.
fn accident(seed: u64, random: &mut Random) -> Vec<u8> {
    let log = synth::appended(Run(7), 1 + seed % 3, 20, seed);
    let first = [0, random.below(log.frames.len() / 2)][random.below(2)];
    let piece = first + 1 + random.below(log.frames.len() - first - 1);
    let end = (piece + 1 + random.below(10)).min(log.frames.len());
    let to = first + random.below(piece - first);
    let at = |frame: usize| log.frames[frame].start;
    let copied = log.frames[piece].start..log.frames[end - 1].end;
    [
        &log.bytes[at(first)..at(to)],
        &log.bytes[copied],
        &log.bytes[at(to)..],
    ]
    .concat()
}

/// The counts of each thread in a log, whatever their order.
fn counts(bytes: &[u8]) -> BTreeMap<Key, BTreeSet<u64>> {
    let mut counts = BTreeMap::<_, BTreeSet<_>>::new();
    let mut rest = bytes;
    while !rest.is_empty() {
        let (frame, more) = rest.split_at(frame::decode(rest).unwrap().len);
        rest = more;
        if let Some((key, count)) = place(frame) {
            counts.entry(key).or_default().insert(count);
        }
    }
    counts
}

/// Follows a log that comes in a number of steps, each of which is looked at long enough that what
/// is missing is missing.
fn followed(bytes: &[u8], steps: usize) -> Given {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("app.log");
    let mut file = OpenOptions::new()
        .create(true)
        .append(true)
        .open(&path)
        .unwrap();
    let mut follow = Follow::new(&path);
    let mut given = Given::default();
    for part in bytes.chunks(bytes.len().div_ceil(steps)) {
        file.write_all(part).unwrap();
        (0..25).for_each(|_| given.take(follow.poll()));
    }
    given
}

#[test]
fn a_piece_that_stands_before_its_place_breaks_no_order_unsaid() {
    let mut late = 0;
    for seed in 0..if synth::slow() { 2000 } else { 60 } {
        let mut random = Random::new(seed);
        let bytes = accident(seed, &mut random);
        let there = counts(&bytes);
        for steps in [1, 2, 5] {
            let given = followed(&bytes, steps);
            let is_found = steps == 1;
            assert!(!is_found || given.late == 0, "seed {seed}: it is all there");
            late += given.late;
            let counts = given.counts.into_iter();
            let counts = counts.map(|(key, counts)| (key, counts.into_iter().collect()));
            assert_eq!(counts.collect::<BTreeMap<_, _>>(), there, "seed {seed}");
        }
    }
    assert!(late > 100, "{late} were late");
}
