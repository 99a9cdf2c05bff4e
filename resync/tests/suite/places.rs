//! Where records are lost: the losses of all places add up to those of all threads, in inputs in
//! any order with any damage.

use crate::mutant::Originals;
use crate::seeds;
use crate::synth::{self, Random};
use logdef_resync::{Account, Event, Input, Merge, MergeOptions, Recovery};
use logdef_wire::{Run, Sequence};
use std::collections::BTreeSet;

/// Damaged logs of one set of originals.
const SERIES: u64 = 4096;

/// Records lost by place, and by thread.
fn lost(parts: &[&[u8]]) -> (u64, u64, Recovery) {
    let input = |(number, bytes): (usize, &&[u8])| {
        Input::from_bytes(format!("part {number}"), bytes.to_vec())
    };
    let inputs: Vec<_> = parts.iter().enumerate().map(input).collect();
    let recovery = Recovery::of(&inputs).unwrap();
    let by_place = recovery.accounts().iter().map(Account::lost).sum();
    (by_place, recovery.lost(), recovery)
}

/// Cuts a damaged log into files, some of which go missing, come twice, or change places.
fn check(originals: &Originals, seed: u64) {
    let mut random = Random::new(seed);
    let mutant = originals.mutant(&mut random);
    let bytes = &mutant.bytes[..];
    let mut cuts = vec![0, bytes.len()];
    cuts.extend((0..random.below(5)).map(|_| random.below(bytes.len() + 1)));
    cuts.sort_unstable();
    let mut parts: Vec<_> = cuts.windows(2).map(|cut| &bytes[cut[0]..cut[1]]).collect();
    for _ in 0..random.below(4) {
        let (one, other) = (random.below(parts.len()), random.below(parts.len()));
        match random.below(3) {
            0 => parts.swap(one, other),
            1 => parts.push(parts[one]),
            _ if parts.len() > 1 => {
                parts.remove(one);
            }
            _ => {}
        }
    }
    let (by_place, by_thread, _) = lost(&parts);
    assert_eq!(by_place, by_thread, "seed {seed}");
}

#[test]
fn losses_by_place_add_up_to_those_by_thread() {
    let otherwise = if synth::slow() { 60_000 } else { 600 };
    let seeds = seeds::wanted("LOGDEF_PLACES", otherwise);
    let failed = seeds::failures(&seeds, SERIES, Originals::new, check);
    assert!(failed.is_empty(), "seeds {failed:?}");
}

#[test]
fn records_between_two_files_are_missing_in_the_second() {
    let log = synth::appended(Run(7), 1, 300, 5);
    let cut = |count| log.find(Run(7), 0, count).start;
    let first = &log.bytes[..cut(100)];
    let second = &log.bytes[cut(150)..cut(200)];
    let third = &log.bytes[cut(200)..];
    let (by_place, by_thread, recovery) = lost(&[first, second, third]);
    assert_eq!((by_place, by_thread), (50, 50));
    let accounts = recovery.accounts();
    let holes: Vec<_> = accounts[1]
        .holes
        .iter()
        .map(|it| (it.from, it.lost))
        .collect();
    assert_eq!(holes, [(100, 50)]);
    assert!(accounts[0].holes.is_empty() && accounts[2].holes.is_empty());
    assert!(!recovery.losses().at_least);
    // In another order nothing else is missing.
    let (by_place, by_thread, _) = lost(&[third, first, second]);
    assert_eq!((by_place, by_thread), (50, 50));
    assert_eq!(lost(&[second, third, first]).0, 50);
}

#[test]
fn where_the_end_of_a_file_is_damaged_the_records_before_the_next_were_lost_there() {
    let log = synth::appended(Run(7), 1, 300, 5);
    let cut = |count| log.find(Run(7), 0, count).start;
    let mut first = log.bytes[..cut(150)].to_vec();
    first[cut(100)..].fill(0xff);
    let (by_place, by_thread, recovery) = lost(&[&first, &log.bytes[cut(150)..]]);
    assert_eq!((by_place, by_thread), (50, 50));
    let gap = recovery.accounts()[0].gaps.last().unwrap();
    assert_eq!((gap.lost, gap.exact), (50, false));
    assert!(
        gap.threads
            .contains(&(Run(7), logdef_wire::ThreadNumber(0)))
    );
}

/// A log some of whose bytes were changed in place: noise, zeros, a part of it from elsewhere, or two parts in
/// each other's places.
fn changed_in_place(log: &synth::Log, random: &mut Random) -> Vec<u8> {
    let mut bytes = log.bytes.clone();
    for _ in 0..=random.below(3) {
        let len = [20, 100, 400, 512, 1500][random.below(5)].min(bytes.len() / 4);
        let at = random.below(bytes.len() - len);
        let from = random.below(bytes.len() - len);
        match random.below(5) {
            0 => bytes[at..at + len].fill(0),
            1 => bytes[at..at + len].copy_from_slice(&random.bytes(len)),
            2 => {
                let part = log.bytes[from..from + len].to_vec();
                bytes[at..at + len].copy_from_slice(&part);
            }
            3 if at.abs_diff(from) >= len => {
                let (one, other) = (
                    bytes[at..at + len].to_vec(),
                    bytes[from..from + len].to_vec(),
                );
                bytes[at..at + len].copy_from_slice(&other);
                bytes[from..from + len].copy_from_slice(&one);
            }
            _ => bytes[at] ^= 1 << random.below(8),
        }
    }
    bytes
}

/// The records whose bytes in the original stand where a gap is, and that are nowhere now; of each thread,
/// those between others that are here, since no count shows others.
fn check_exactness(log: &synth::Log, seed: u64) {
    let mut random = Random::new(seed);
    let bytes = changed_in_place(log, &mut random);
    let inputs = [Input::from_bytes("changed", bytes)];
    let recovery = Recovery::of(&inputs).unwrap();
    let mut merge = Merge::new(&inputs, &recovery, MergeOptions::default());
    let mut here = BTreeSet::new();
    while let Some(event) = merge.next().unwrap() {
        if let Event::Frame(frame) = event
            && let Some(record) = frame.record()
        {
            here.extend(synth::identity(&record));
        }
    }
    let accounts = recovery.accounts();
    for report in accounts[0].gaps.iter().filter(|it| it.gap.is_damage()) {
        let gap = report.gap.offset as usize..report.gap.end() as usize;
        let stood = log
            .frames
            .iter()
            .filter(|frame| frame.start < gap.end && gap.start < frame.end);
        let lost = stood.filter(|frame| {
            let record = log.decode(frame);
            let identity = record.and_then(|record| synth::identity(&record));
            identity.is_some_and(|(run, sequence)| {
                let thread = sequence.number();
                let first = (run, Sequence::new(thread, 0));
                let before = here.range(first..(run, sequence)).next();
                let behind = here.range((run, sequence)..).next();
                before.is_some()
                    && behind.is_some_and(|(of, behind)| {
                        (*of, behind.number()) == (run, thread) && *behind != sequence
                    })
            })
        });
        let lost = lost.count() as u64;
        assert!(
            !report.exact || lost <= report.lost,
            "seed {seed}: {lost} lost in {report:?}"
        );
    }
}

#[test]
fn an_exact_loss_is_all_that_was_lost_there() {
    let otherwise = if synth::slow() { 60_000 } else { 600 };
    let seeds = seeds::wanted("LOGDEF_EXACT", otherwise);
    let make = |series: u64| {
        let series = 10 * series;
        [
            synth::appended(Run(7), 1, 60, series + 1),
            synth::appended(Run(7), 3, 40, series + 2),
            synth::chunked(Run(8), 3, 40, 2048, series + 3),
        ]
    };
    let failed = seeds::failures(&seeds, SERIES, make, |logs, seed| {
        check_exactness(&logs[seed as usize % logs.len()], seed);
    });
    // Parts may change places so that no count shows that they did: in one log of four hundred.
    let most = (seeds.end - seeds.start) / 100;
    assert!(failed.len() as u64 <= most, "seeds {failed:?}");
}
