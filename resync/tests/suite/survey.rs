//! A merge along a survey, and what is left after it, give what a merge after a
//! recovery gives, in the same order.

use crate::synth::{self, Log, Random};
use logdef_resync::{
    BackgroundMerge, Event, Input, Merge, MergeOptions, MergedSoFar, Place, Recovery, Survey,
};
use logdef_wire::{Run, Tag};

/// What a merge yields: data records, and where it reports damage.
type Sequence = Vec<(bool, Place)>;

fn given(event: Event<'_>) -> Option<(bool, Place)> {
    match event {
        Event::Frame(frame) => (frame.tag() == Tag::DATA).then_some((true, frame.place)),
        Event::Gap(input, report) => {
            let offset = report.gap.offset;
            Some((false, Place { input, offset }))
        }
    }
}

fn after_recovery(input: &Input, before: Option<MergedSoFar>, sequence: &mut Sequence) {
    let inputs = std::slice::from_ref(input);
    let recovery = Recovery::of(inputs).unwrap();
    let mut merge = Merge::new(inputs, &recovery, MergeOptions::default());
    if let Some(before) = before {
        merge = merge.after(before);
    }
    while let Some(event) = merge.next().unwrap() {
        sequence.extend(given(event));
    }
}

/// How far a merge along the survey came.
#[derive(Debug, Eq, PartialEq)]
enum Came {
    Nowhere,
    Astray,
    Through,
}

fn along_survey(input: &Input, cores: usize, sequence: &mut Sequence) -> Came {
    let Some(survey) = Survey::of(input).unwrap() else {
        after_recovery(input, None, sequence);
        return Came::Nowhere;
    };
    let mut before = MergedSoFar::nothing(&survey);
    let merge = Merge::from_survey(input, &survey, MergeOptions::default());
    let contradicts_survey = BackgroundMerge::run(merge, cores, |ahead| {
        while let Some(batch) = ahead.next().unwrap() {
            for event in batch.events() {
                if let Event::Frame(frame) = event {
                    before.add(&frame);
                }
                sequence.extend(given(event));
            }
        }
        ahead.contradicts_survey()
    });
    if contradicts_survey {
        after_recovery(input, Some(before), sequence);
        return Came::Astray;
    }
    Came::Through
}

/// `moved` bytes stand where no one looked for them: they are given, if late.
fn check(name: &str, bytes: Vec<u8>, moved: bool) -> Came {
    let input = Input::from_bytes(name, bytes);
    let (mut slow, mut quick) = (Vec::new(), Vec::new());
    after_recovery(&input, None, &mut slow);
    let came = along_survey(&input, 1 + name.len() % 2, &mut quick);
    if moved {
        slow.sort();
        quick.sort();
    }
    let first = slow.iter().zip(&quick).position(|(a, b)| a != b);
    assert!(
        slow == quick,
        "{name}: {} and {} events, unlike from event {first:?}: {:?} and {:?}",
        slow.len(),
        quick.len(),
        first.map(|at| &slow[at..(at + 4).min(slow.len())]),
        first.map(|at| &quick[at..(at + 4).min(quick.len())]),
    );
    came
}

#[test]
fn clean_logs_are_merged_along_their_surveys() {
    for threads in [1, 2, 7, 40] {
        for (records, chunk) in [(1, 4096), (300, 4096), (3000, 16 << 10)] {
            let log = synth::chunked(Run(7), threads, records, chunk, threads);
            let came = check(&format!("{threads} threads"), log.bytes.clone(), false);
            assert_eq!(came, Came::Through, "{threads} threads, {records} records");
            let spare = [log.bytes, vec![0; 100_000]].concat();
            assert_eq!(check("spare", spare, false), Came::Through);
        }
    }
}

#[test]
fn logs_that_are_not_one_run_in_chunks_have_no_survey() {
    let chunked = synth::chunked(Run(7), 2, 300, 4096, 1);
    let appended = synth::appended(Run(7), 2, 300, 1);
    let other = synth::chunked(Run(8), 2, 300, 4096, 1);
    for bytes in [
        appended.bytes.clone(),
        [&chunked.bytes[..], &other.bytes].concat(),
        [&chunked.bytes[..], &chunked.bytes].concat(),
        [&chunked.bytes[..], &appended.bytes].concat(),
        [&[9], &chunked.bytes[..]].concat(),
        chunked.bytes[100..].to_vec(),
        Vec::new(),
    ] {
        assert_eq!(check("joined", bytes, false), Came::Nowhere);
    }
}

/// A clock that is set back within a chunk and between chunks.
#[test]
fn clocks_that_go_back_lift_what_comes_after() {
    let mut log = Log::new();
    let times = [[5, 3, 9], [4, 4, 20], [2, 30, 31], [1, 1, 1]];
    let mut counts = [0, 0];
    for (index, times) in times.iter().chain(&times).enumerate() {
        let thread = index % 2;
        let mut chunk = Log::new();
        chunk.preamble(Run(7), Some(1024));
        chunk.thread(Run(7), thread as u64, b"worker");
        for time in times {
            let time = synth::EPOCH + time * 1000;
            chunk.data(Run(7), thread as u64, counts[thread], time, b"");
            counts[thread] += 1;
        }
        chunk.zeros(1024 - chunk.bytes.len());
        log.append(&chunk);
    }
    assert_eq!(check("back", log.bytes, false), Came::Through);
}

#[test]
fn damaged_logs_go_astray_and_are_given_whole() {
    let mut random = Random::new(5);
    let mutants = if synth::slow() { 20_000 } else { 300 };
    let mut astray = 0;
    for seed in 0..mutants {
        let threads = 1 + random.below(4) as u64;
        let log = synth::chunked(Run(7), threads, 200, 4096, seed % 8);
        let mut bytes = log.bytes;
        let mut moved = false;
        for _ in 0..=random.below(3) {
            let (at, len) = (random.below(bytes.len()), 1 + random.below(700));
            let end = (at + len).min(bytes.len());
            match random.below(6) {
                0 => bytes[at] ^= 1 << random.below(8),
                1 => bytes[at..end].fill(0),
                2 => {
                    let noise = random.bytes(end - at);
                    bytes[at..end].copy_from_slice(&noise);
                }
                3 => bytes.truncate(end.max(64)),
                4 => {
                    bytes.drain(at..end);
                    moved = true;
                }
                _ => {
                    // A block of an earlier state of the file.
                    let from = random.below(bytes.len() - (end - at));
                    bytes.copy_within(from..from + (end - at), at);
                    moved = true;
                }
            }
        }
        let came = check(&format!("mutant {seed}"), bytes, moved);
        astray += u32::from(came == Came::Astray);
    }
    assert!(astray as u64 > mutants / 4, "{astray}");
}

/// Whole records that became zeros look like padding: only the counts show it, within a
/// chunk and from one to the next.
#[test]
fn zeros_that_a_thread_counts_across_lead_astray() {
    let log = synth::chunked(Run(7), 2, 300, 4096, 1);
    let (mut within, mut behind) = (0, 0);
    for index in 1..log.frames.len() - 1 {
        let (frame, next) = (log.frames[index].clone(), log.frames[index + 1].clone());
        let before = log.frames[index - 1].clone();
        if !log.is_data(&frame) || !log.is_data(&before) || frame.start > log.bytes.len() - 9000 {
            continue;
        }
        let is_last = !log.is_data(&next);
        within += u32::from(!is_last);
        behind += u32::from(is_last);
        let mut bytes = log.bytes.clone();
        bytes[frame].fill(0);
        assert_eq!(check("zeros", bytes, false), Came::Astray, "{index}");
    }
    assert!(within > 10 && behind > 2, "{within}, {behind}");
}

/// What a program logged may hold frames; and what a survey does not look at may hold
/// anything. Each record is given once, whatever it is.
#[test]
fn strangers_in_a_chunk_are_given_once() {
    for (number, time) in [(0, 5), (1, 5_000_000), (0, 9_000_000_000)] {
        let log = synth::chunked(Run(7), 2, 300, 4096, 3);
        let mut stranger = Log::new();
        stranger.data(
            Run(8 - number),
            90 + number,
            0,
            synth::EPOCH + time,
            b"stranger",
        );
        let mut bytes = log.bytes.clone();
        // In the zeros that the last chunk ends with.
        let end = bytes.len() - 8;
        let start = end - stranger.bytes.len();
        assert!(bytes[start - 8..].iter().all(|byte| *byte == 0));
        bytes[start..end].copy_from_slice(&stranger.bytes);
        let input = Input::from_bytes("stranger", bytes);
        let (mut slow, mut quick) = (Vec::new(), Vec::new());
        after_recovery(&input, None, &mut slow);
        assert_eq!(along_survey(&input, 2, &mut quick), Came::Astray);
        slow.sort();
        quick.sort();
        assert_eq!(slow, quick);
    }
}
