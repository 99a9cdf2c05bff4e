//! A merge along a survey, and what is left after it, give what a merge after a
//! recovery gives, in the same order.

use crate::seeds;
use crate::synth::{self, Log, Random};
use logdef_resync::{
    BackgroundMerge, Event, Input, Merge, MergeOptions, MergedSoFar, Place, Recovery, Sieve, Survey,
};
use logdef_wire::record::{Glance, Note, NoteKind, Peek};
use logdef_wire::{Record, Run, Tag, frame};
use std::sync::atomic::{AtomicU64, Ordering};

/// What a merge yields: the bytes of data records, or none where it reports damage, and where
/// it stands.
type Given = (Option<Vec<u8>>, Place);
type Sequence = Vec<Given>;

fn given(event: Event<'_>) -> Option<Given> {
    match event {
        Event::Frame(frame) => {
            (frame.tag() == Tag::DATA).then(|| (Some(frame.bytes.to_vec()), frame.place))
        }
        Event::Gap(input, report) => {
            let offset = report.gap.offset;
            Some((None, Place { input, offset }))
        }
        _ => None,
    }
}

/// Without an order, and whichever copy was given of a record that stands twice.
fn as_a_set(sequence: &mut Sequence) {
    for (bytes, place) in sequence.iter_mut() {
        if bytes.is_some() {
            place.offset = 0;
        }
    }
    sequence.sort();
}

/// Keeps back the records of every third thread whatever they say, and of the others most by what they say.
#[derive(Debug)]
struct Few;

impl Few {
    fn passes(front: &Glance, first: Option<u64>) -> bool {
        front.thread.is_none_or(|thread| thread % 3 != 0) && first.is_none_or(|count| count % 7 < 2)
    }

    fn passes_frame(bytes: &[u8]) -> bool {
        let body = frame::decode(bytes).unwrap().body;
        match logdef_resync::decode(body, &mut Vec::new()) {
            Ok(Record::Data(data)) => {
                let first = data.args.and_then(|args| args.iter().next()?.as_uint());
                Few::passes(&data.front, first)
            }
            _ => true,
        }
    }
}

impl Sieve for Few {
    fn learn(&mut self, _: &Record<'_>, _: Place) {}

    fn may_pass(&mut self, front: &Glance) -> bool {
        Few::passes(front, None)
    }

    fn passes(&mut self, _: &[u8], peek: &Peek<'_>, _: bool) -> bool {
        let first = peek.args.and_then(|args| args.iter().next()?.as_uint());
        Few::passes(&peek.glance, first)
    }
}

fn sifted<'i>(merge: Merge<'i>, is_sifted: bool) -> Merge<'i> {
    if is_sifted { merge.through(Few) } else { merge }
}

fn after_recovery(
    input: &Input,
    before: Option<MergedSoFar>,
    is_sifted: bool,
    sequence: &mut Sequence,
) {
    let inputs = std::slice::from_ref(input);
    let recovery = Recovery::of(inputs).unwrap();
    let merge = Merge::new(inputs, &recovery, MergeOptions::default());
    let mut merge = sifted(merge, is_sifted);
    if let Some(before) = before {
        merge = merge.after(before).unwrap();
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

fn along_survey(input: &Input, cores: usize, is_sifted: bool, sequence: &mut Sequence) -> Came {
    let Some(survey) = Survey::of(input).unwrap() else {
        after_recovery(input, None, is_sifted, sequence);
        return Came::Nowhere;
    };
    let mut before = MergedSoFar::nothing(&survey);
    let merge = Merge::from_survey(input, &survey, MergeOptions::default());
    let merge = sifted(merge, is_sifted);
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
        after_recovery(input, Some(before), is_sifted, sequence);
        return Came::Astray;
    }
    Came::Through
}

/// `moved` bytes stand where no one looked for them: they are given, if late. What a sieve lets pass is the
/// same, and comes as far.
fn check(name: &str, bytes: Vec<u8>, moved: bool) -> Came {
    let input = Input::from_bytes(name, bytes);
    let cores = 1 + name.len() % 2;
    let (mut slow, mut quick, mut few) = (Vec::new(), Vec::new(), Vec::new());
    after_recovery(&input, None, false, &mut slow);
    let came = along_survey(&input, cores, false, &mut quick);
    same(name, slow.clone(), quick, moved);
    slow.retain(|(bytes, _)| bytes.as_deref().is_none_or(Few::passes_frame));
    assert_eq!(along_survey(&input, cores, true, &mut few), came, "{name}");
    same(&format!("{name}, sifted"), slow.clone(), few, moved);
    let mut few = Vec::new();
    after_recovery(&input, None, true, &mut few);
    same(&format!("{name}, recovered and sifted"), slow, few, moved);
    came
}

fn same(name: &str, mut slow: Sequence, mut quick: Sequence, moved: bool) {
    if moved {
        as_a_set(&mut slow);
        as_a_set(&mut quick);
    }
    let first = slow.iter().zip(&quick).position(|(a, b)| a != b);
    assert!(
        slow == quick,
        "{name}: {} and {} events, unlike from event {first:?}: {:?} and {:?}",
        slow.len(),
        quick.len(),
        first.map(|at| slow[at].1),
        first.map(|at| quick[at].1),
    );
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

/// What opens a mapped file keeps room for notes after it. No log of a program was once shown before all
/// of it was read, since the zeros there were taken for the end of its first chunk.
#[test]
fn room_for_notes_ends_no_chunk() {
    let records = |log: &mut Log, counts: std::ops::Range<u64>| {
        log.thread(Run(7), 0, b"worker");
        for count in counts {
            log.data(Run(7), 0, count, synth::EPOCH + count * 1000, b"");
        }
    };
    let mut log = Log::new();
    log.preamble(Run(7), Some(4096));
    let mut noted = log.clone();
    noted.record(&Record::Note(Note {
        kind: Some(NoteKind::DROPS),
        run: Some(Run(7)),
        ..Note::default()
    }));
    let note = noted.bytes.len() - log.bytes.len();
    log.zeros(1024);
    noted.zeros(1024 - note);
    for mut log in [log, noted] {
        records(&mut log, 0..9);
        log.zeros(4096 - log.bytes.len());
        let mut second = Log::new();
        second.preamble(Run(7), Some(4096));
        records(&mut second, 9..20);
        log.append(&second);
        let input = Input::from_bytes("room", log.bytes.clone());
        assert!(Survey::of(&input).unwrap().is_some());
        assert_eq!(check("room", log.bytes, false), Came::Through);
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

/// The copy comes first where it stands in an earlier chunk than what was given.
#[test]
fn what_was_given_is_not_given_again_where_a_copy_stands_before_it() {
    let mut log = Log::new();
    for thread in 0..2 {
        let mut chunk = Log::new();
        chunk.preamble(Run(7), Some(1024));
        chunk.thread(Run(7), thread, b"worker");
        for count in 0..3 {
            let time = synth::EPOCH + (10 * count + thread) * 1000;
            chunk.data(Run(7), thread, count, time, b"");
        }
        if thread == 0 {
            chunk.data(Run(7), 1, 0, synth::EPOCH + 1000, b"");
        }
        chunk.zeros(1024 - chunk.bytes.len());
        log.append(&chunk);
    }
    assert_eq!(check("copied", log.bytes, true), Came::Astray);
}

/// A log after one to three accidents, and whether some moved bytes.
fn accidents(seed: u64) -> (Vec<u8>, bool) {
    let mut random = Random::new(seed);
    let threads = 1 + random.below(4) as u64;
    let mut bytes = synth::chunked(Run(7), threads, 200, 4096, seed % 8).bytes;
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
    (bytes, moved)
}

/// Always the same ones: `LOGDEF_SURVEYS` says how many, and `LOGDEF_SURVEYS=700..800` which.
#[test]
fn damaged_logs_go_astray_and_are_given_whole() {
    let otherwise = if synth::slow() { 3_000 } else { 300 };
    let seeds = seeds::wanted("LOGDEF_SURVEYS", otherwise);
    let astray = AtomicU64::new(0);
    let failed = seeds::failures(
        &seeds,
        1,
        |seed| seed,
        |_, seed| {
            let (bytes, moved) = accidents(seed);
            let came = check(&format!("mutant {seed}"), bytes, moved);
            astray.fetch_add(u64::from(came == Came::Astray), Ordering::Relaxed);
        },
    );
    assert!(failed.is_empty(), "seeds {failed:?}");
    let astray = astray.into_inner();
    assert!(astray > (seeds.end - seeds.start) / 4, "{astray}");
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

/// Each count of a thread is looked at, of records that a sieve keeps back too: as many as there should be, in
/// another order, lead astray.
#[test]
fn records_in_each_others_place_lead_astray() {
    let log = synth::chunked(Run(7), 3, 600, 4096, 2);
    let mut swapped = 0;
    for pair in log.frames.windows(2) {
        let (first, second) = (pair[0].clone(), pair[1].clone());
        if !log.is_data(&first) || !log.is_data(&second) || first.len() != second.len() {
            continue;
        }
        let mut bytes = log.bytes.clone();
        bytes[first.clone()].copy_from_slice(&log.bytes[second.clone()]);
        bytes[second].copy_from_slice(&log.bytes[first]);
        assert_eq!(check("swapped", bytes, true), Came::Astray);
        swapped += 1;
    }
    assert!(swapped > 10, "{swapped}");
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
        after_recovery(&input, None, false, &mut slow);
        assert_eq!(along_survey(&input, 2, false, &mut quick), Came::Astray);
        as_a_set(&mut slow);
        as_a_set(&mut quick);
        assert_eq!(slow, quick);
    }
}
