//! A merge that leaves out lanes of before a time and of after another gives all that
//! a whole merge gives between them, and notes and gaps wherever they are, in the same
//! order. What it gives last is what a whole merge gives last.

use crate::synth::{self, EPOCH, Log, Random};
use logdef_resync::{Event, Input, Merge, MergeOptions, Place, Recovery};
use logdef_wire::record::{Note, NoteKind};
use logdef_wire::{Record, Run, Sequence};
use std::ops::RangeInclusive;

const CHUNK: usize = 4096;

/// Chunks of three threads whose clock is set now and then, with notes, and with records
/// that name no thread.
fn restless(run: Run, seed: u64) -> Log {
    let mut random = Random::new(seed);
    let mut log = Log::new();
    let mut counts = [0; 3];
    let mut time = EPOCH;
    for _ in 0..30 {
        let thread = random.below(counts.len());
        let mut part = Log::new();
        part.preamble(run, Some(CHUNK as u64));
        while part.bytes.len() < CHUNK - 1024 {
            time += 1000;
            match random.below(300) {
                0 => time -= 40_000,
                1 => time += 60_000,
                2 => {
                    let _ = part.record(&Record::Note(Note {
                        run: Some(run),
                        kind: Some(NoteKind::PANIC),
                        time: Some(time + 30_000),
                        ..Note::default()
                    }));
                }
                3 => {
                    let mut data = synth::data(run, 0, 0, time + 30_000);
                    data.sequence = None::<Sequence>;
                    part.record(&Record::Data(data));
                }
                _ => {
                    let text = random.bytes(20);
                    part.data(run, thread as u64, counts[thread], time, &text);
                    counts[thread] += 1;
                }
            }
        }
        log.append(&part);
        log.zeros(CHUNK - part.bytes.len());
    }
    log
}

fn damaged(bytes: &[u8], random: &mut Random) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    for _ in 0..random.below(3) {
        let at = random.below(bytes.len());
        let end = bytes.len().min(at + random.below(3 * CHUNK));
        match random.below(12) {
            0..4 => bytes[at] ^= 1 << random.below(8),
            4..7 => bytes[at..end].fill(0),
            7..10 => {
                let _ = bytes.drain(at..end);
            }
            10 => {
                let piece = bytes[at..end].to_vec();
                bytes.extend(piece);
            }
            _ => bytes.truncate(at.max(1)),
        }
    }
    bytes
}

/// What a merge gives that is wanted of a span of time, and the records it gave in all.
fn given(
    inputs: &[Input],
    recovery: &Recovery,
    merged: RangeInclusive<u64>,
    wanted: RangeInclusive<u64>,
) -> (Vec<(Place, Option<u64>)>, u64) {
    let mut options = MergeOptions::default();
    options.all_frames = true;
    options.since = *merged.start();
    options.until = *merged.end();
    let mut merge = Merge::new(inputs, recovery, options);
    let (mut places, mut records) = (Vec::new(), 0);
    while let Some(event) = merge.next().unwrap() {
        match event {
            Event::Gap(input, report) => {
                let offset = report.gap.offset;
                places.push((Place { input, offset }, None));
            }
            Event::Frame(frame) => {
                let (is_wanted, time) = match frame.record() {
                    Some(Record::Data(data)) => {
                        records += 1;
                        let time = data.time;
                        (time.is_some_and(|time| wanted.contains(&time)), time)
                    }
                    Some(Record::Note(_)) => (true, None),
                    _ => (false, None),
                };
                places.extend(is_wanted.then_some((frame.place, time)));
            }
            _ => {}
        }
    }
    (places, records)
}

#[test]
fn nothing_is_left_out_but_what_is_of_before() {
    let rounds = if synth::slow() { 3000 } else { 40 };
    let mut random = Random::new(31);
    let (mut all, mut fewer) = (0, 0);
    for round in 0..rounds {
        let logs = [
            restless(Run(5), round),
            synth::chunked(Run(6), 3, 400, CHUNK, round),
            synth::appended(Run(7), 3, 100, round),
        ];
        let inputs = logs.map(|log| damaged(&log.bytes, &mut random));
        let inputs = inputs.map(|bytes| Input::from_bytes("mutant", bytes));
        let recovery = Recovery::of(&inputs).unwrap();
        for since in [0, 100_000, 250_000, 390_000, 10_000_000] {
            for until in [since, since + 50_000, since + 200_000, u64::MAX - EPOCH] {
                let span = EPOCH + since..=EPOCH + until;
                let (whole, records) = given(&inputs, &recovery, 0..=u64::MAX, span.clone());
                let (part, read) = given(&inputs, &recovery, span.clone(), span.clone());
                assert_eq!(whole, part, "round {round}, {span:?}");
                all += records;
                fewer += read;
            }
        }
        let everything = 0..=u64::MAX;
        let (whole, records) = given(&inputs, &recovery, everything.clone(), everything);
        for bytes in [1, 5000, 30_000] {
            let since = recovery.since_of_last(bytes, u64::MAX);
            let span = since..=u64::MAX;
            let (part, read) = given(&inputs, &recovery, span.clone(), 0..=u64::MAX);
            let first = part.iter().position(|(_, time)| *time >= Some(since));
            let last = first.map_or(&[][..], |first| &part[first..]);
            assert!(whole.ends_with(last), "round {round}, {bytes} bytes");
            all += records;
            fewer += read;
        }
    }
    // Else this has tested nothing.
    assert!(fewer < all * 3 / 4, "{fewer} of {all} were read");
}
