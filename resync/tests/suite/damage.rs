//! What other readers of binary logs lose after damage, and what ours does: the
//! table that readers were compared with, and each rule for torn, damaged and
//! suspect bytes.

mod lost_logdefs;
mod quoted;

use crate::synth::{self, EPOCH, Log, MAGIC, Random};
use logdef_resync::{
    Damage, Event, GapKind, Input, LocatedImages, Merge, MergeOptions, NoImages, Recovery,
    Resolver, StringLookup, Torn, rewrite,
};
use logdef_wire::record::{Data, Glance, Note, NoteKind, StringLogdef};
use logdef_wire::{Avma, Magic, Record, Run, Svma, frame};
use std::ops::Range;

fn recover(log: &Log) -> Recovery {
    Recovery::of(&[input(log)]).unwrap()
}

fn input(log: &Log) -> Input {
    Input::from_bytes("log", log.bytes.clone())
}

/// The data records in merged order: run, thread, count.
fn merged(logs: &[&Log]) -> Vec<(u64, u64, u64)> {
    let inputs: Vec<_> = logs.iter().map(|log| input(log)).collect();
    let recovery = Recovery::of(&inputs).unwrap();
    let mut merge = Merge::new(&inputs, &recovery, MergeOptions::default());
    let mut records = Vec::new();
    while let Some(event) = merge.next().unwrap() {
        if let Event::Frame(frame) = event
            && let Some(Record::Data(data)) = frame.record()
        {
            let sequence = data.sequence.unwrap();
            records.push((data.run.unwrap().0, sequence.number().0, sequence.count()));
        }
    }
    records
}

/// Bytes of data frames that a range touches.
fn touched(log: &Log, range: &Range<usize>) -> usize {
    let hit = |frame: &&Range<usize>| frame.start < range.end && range.start < frame.end;
    let frames = log.frames.iter().filter(|frame| log.is_data(frame));
    frames.filter(hit).count()
}

const RECORDS: u64 = 2000;

fn twenty_thousand() -> Log {
    synth::appended(Run(7), 3, RECORDS, 21)
}

#[test]
fn short_overwrites_cost_only_what_they_touch() {
    let log = twenty_thousand();
    let mut random = Random::new(1);
    let mut damaged = log.clone();
    let mut hit = std::collections::BTreeSet::new();
    for _ in 0..20 {
        let at = random.below(log.bytes.len() - 16);
        let noise = random.bytes(16);
        damaged.bytes[at..at + 16].copy_from_slice(&noise);
        let range = at..at + 16;
        let frames = log.frames.iter();
        let touching = frames.filter(|frame| frame.start < range.end && range.start < frame.end);
        hit.extend(touching.map(|frame| frame.start));
    }
    let data = hit.iter().filter(|start| {
        let frame = log
            .frames
            .iter()
            .find(|frame| frame.start == **start)
            .unwrap();
        log.is_data(frame)
    });
    let data = data.count() as u64;
    let recovery = recover(&damaged);
    assert_eq!(recovery.accounts()[0].data(), RECORDS - data);
    assert_eq!(recovery.lost(), data);
    assert!(!recovery.is_clean());
}

#[test]
fn half_a_file_is_read_to_its_cut() {
    let log = twenty_thousand();
    let mut half = log.clone();
    half.bytes.truncate((log.bytes.len() / 2) | 1);
    let whole = log
        .frames
        .iter()
        .filter(|frame| frame.end <= half.bytes.len())
        .count();
    let recovery = recover(&half);
    let account = &recovery.accounts()[0];
    assert_eq!(account.frames.count, whole as u64);
    assert_eq!((account.torn.count, account.damage.count), (1, 0));
    assert!(recovery.is_clean());
}

#[test]
fn without_its_head_a_file_lacks_its_head() {
    let log = twenty_thousand();
    let cut = (log.bytes.len() / 3) | 1;
    let mut tail = Log::new();
    tail.raw(&log.bytes[cut..]);
    let recovery = recover(&tail);
    let whole = log.frames.iter().filter(|frame| frame.start >= cut).count();
    assert_eq!(recovery.accounts()[0].frames.count, whole as u64);
    let before: u64 = recovery
        .threads()
        .iter()
        .map(|thread| thread.before_first)
        .sum();
    let missing = touched(&log, &(0..cut)) as u64;
    assert_eq!(before, missing);
    assert_eq!(recovery.lost(), 0);
}

#[test]
fn a_file_twice_is_read_once_and_not_hidden() {
    let log = twenty_thousand();
    let mut twice = log.clone();
    twice.append(&log);
    let recovery = recover(&twice);
    assert_eq!(recovery.accounts()[0].repeated, RECORDS);
    assert_eq!(merged(&[&twice]), merged(&[&log]));
    assert_eq!(merged(&[&log, &log]), merged(&[&log]));
    // Kept where asked for.
    let inputs = [input(&twice)];
    let mut options = MergeOptions::default();
    options.repeats = true;
    let mut merge = Merge::new(&inputs, &recovery, options);
    let mut count = 0;
    while let Some(event) = merge.next().unwrap() {
        count += u64::from(matches!(event, Event::Frame(_)));
    }
    assert_eq!(count, 2 * RECORDS);
}

#[test]
fn a_page_of_zeros_costs_the_records_in_it() {
    let log = twenty_thousand();
    let at = log.bytes.len() / 2 / 4096 * 4096;
    let mut damaged = log.clone();
    damaged.bytes[at..at + 4096].fill(0);
    let recovery = recover(&damaged);
    let lost = touched(&log, &(at..at + 4096)) as u64;
    assert_eq!(recovery.accounts()[0].data(), RECORDS - lost);
    assert_eq!(recovery.lost(), lost);
    assert_eq!(recovery.accounts()[0].lost(), lost);
    let damage: Vec<_> = recovery.accounts()[0]
        .gaps
        .iter()
        .filter(|gap| gap.gap.is_damage())
        .collect();
    assert_eq!(damage.len(), 1);
    assert!(damage[0].exact && damage[0].lost == lost);
    assert!(damage[0].times.0.is_some() && damage[0].times.1.is_some());
}

#[test]
fn deleted_bytes_cost_the_records_they_were_in() {
    let log = twenty_thousand();
    let at = log.bytes.len() / 2;
    let mut damaged = Log::new();
    damaged.raw(&log.bytes[..at]).raw(&log.bytes[at + 777..]);
    let lost = touched(&log, &(at..at + 777)) as u64;
    let recovery = recover(&damaged);
    assert_eq!(recovery.accounts()[0].data(), RECORDS - lost);
    assert_eq!(recovery.lost(), lost);
}

#[test]
fn records_deleted_without_a_trace_are_missed_by_their_numbers() {
    let mut log = Log::new();
    log.preamble(Run(7), None);
    for count in [0, 1, 2, 6, 7] {
        log.data(Run(7), 0, count, EPOCH + count, b"x");
    }
    let recovery = recover(&log);
    assert!(recovery.accounts()[0].is_undamaged());
    assert_eq!(recovery.lost(), 3);
    let holes = &recovery.accounts()[0].holes;
    assert_eq!((holes[0].from, holes[0].lost), (3, 3));
}

#[test]
fn dropped_records_are_not_lost_ones() {
    let mut log = Log::new();
    log.data(Run(7), 0, 0, EPOCH, b"x");
    let dropping = Data {
        dropped: Some(4),
        ..synth::data(Run(7), 0, 7, EPOCH + 1)
    };
    log.record(&Record::Data(dropping));
    let recovery = recover(&log);
    let thread = recovery.threads()[0];
    assert_eq!((thread.dropped, thread.lost), (4, 2));
}

#[test]
fn zeros_that_a_thread_counts_across_are_a_lost_block() {
    let mut log = Log::new();
    log.preamble(Run(7), None);
    log.data(Run(7), 0, 0, EPOCH, b"x")
        .zeros(512)
        .data(Run(7), 0, 5, EPOCH + 9, b"y");
    let recovery = recover(&log);
    let gap = &recovery.accounts()[0].gaps[0];
    assert_eq!(gap.gap.kind, GapKind::Damage(Damage::LostBlock));
    assert_eq!((gap.lost, gap.gap.len), (4, 512));
    assert_eq!(recovery.accounts()[0].padding.bytes, 0);
    assert!(!recovery.is_clean());
}

#[test]
fn zeros_before_a_record_that_overtook_others_are_padding() {
    let mut log = Log::new();
    log.preamble(Run(7), None);
    log.data(Run(7), 0, 0, EPOCH, b"x")
        .zeros(512)
        .data(Run(7), 0, 5, EPOCH + 9, b"a handler's")
        .zeros(256)
        .data(Run(7), 0, 3, EPOCH + 8, b"that of one that it interrupted")
        .zeros(128)
        .data(Run(7), 0, 1, EPOCH + 4, b"y");
    // While one is missing, the zeros may have held it.
    let recovery = recover(&log);
    assert_eq!((recovery.is_clean(), recovery.lost()), (false, 2));
    log.data(Run(7), 0, 2, EPOCH + 5, b"z");
    log.zeros(64);
    log.data(Run(7), 0, 4, EPOCH + 6, b"z");
    log.data(Run(7), 0, 6, EPOCH + 9, b"on it goes");
    let recovery = recover(&log);
    let account = &recovery.accounts()[0];
    assert!(recovery.is_clean() && recovery.lost() == 0);
    assert_eq!((account.padding.bytes, account.padding.count), (960, 4));
}

/// A log was called damaged that was opened again between a handler's record and that of the call which it
/// interrupted: that one stands in the next file.
#[test]
fn zeros_before_a_record_that_overtook_one_of_another_file_are_padding() {
    let mut first = Log::new();
    first.preamble(Run(7), None);
    first
        .data(Run(7), 0, 0, EPOCH, b"x")
        .zeros(512)
        .data(Run(7), 0, 2, EPOCH + 9, b"a handler's");
    let mut second = Log::new();
    second.preamble(Run(7), None);
    second.data(
        Run(7),
        0,
        1,
        EPOCH + 8,
        b"that of the call that it interrupted",
    );
    second.data(Run(7), 0, 3, EPOCH + 10, b"on it goes");
    for inputs in [[&first, &second], [&second, &first]] {
        let recovery = Recovery::of(&inputs.map(input)).unwrap();
        assert!(recovery.is_clean() && recovery.lost() == 0);
        let padding = recovery.accounts().iter().map(|account| account.padding);
        assert_eq!(padding.map(|tally| tally.bytes).sum::<u64>(), 512);
    }
    // Alone, it lacks one.
    let recovery = recover(&first);
    assert_eq!((recovery.is_clean(), recovery.lost()), (false, 1));
    // Where a copy has what was lost, a block was lost all the same.
    let mut copy = Log::new();
    copy.preamble(Run(7), None);
    for count in 0..3 {
        copy.data(Run(7), 0, count, EPOCH + count, b"x");
    }
    for inputs in [[&first, &copy], [&copy, &first]] {
        let recovery = Recovery::of(&inputs.map(input)).unwrap();
        assert_eq!((recovery.is_clean(), recovery.lost()), (false, 0));
    }
}

/// A log with a helper was called damaged: threads take what it made ready in another order.
#[test]
fn zeros_that_several_threads_jump_over_back_and_forth_are_padding() {
    let mut log = Log::new();
    log.preamble(Run(7), None);
    log.data(Run(7), 0, 0, EPOCH, b"x")
        .data(Run(7), 1, 0, EPOCH, b"y")
        .zeros(512)
        .data(Run(7), 0, 2, EPOCH + 2, b"x")
        .zeros(256)
        .data(Run(7), 0, 4, EPOCH + 4, b"x")
        .zeros(128)
        .data(Run(7), 1, 2, EPOCH + 2, b"y")
        .data(Run(7), 0, 1, EPOCH + 1, b"x")
        .data(Run(7), 0, 3, EPOCH + 3, b"x");
    // While one is missing, any of the zeros that its thread crossed may have held it.
    let recovery = recover(&log);
    let account = &recovery.accounts()[0];
    assert_eq!((recovery.is_clean(), recovery.lost()), (false, 1));
    assert_eq!((account.damage.bytes, account.padding.bytes), (768, 128));
    log.data(Run(7), 1, 1, EPOCH + 1, b"y");
    let recovery = recover(&log);
    let account = &recovery.accounts()[0];
    assert!(recovery.is_clean() && recovery.lost() == 0);
    assert_eq!((account.padding.bytes, account.padding.count), (896, 3));
}

#[test]
fn zeros_that_a_copy_behind_them_fills_are_a_lost_block() {
    let mut log = Log::new();
    for is_copy in [false, true] {
        log.preamble(Run(7), None);
        log.data(Run(7), 0, 0, EPOCH, b"x");
        log.data(Run(7), 1, 0, EPOCH, b"x");
        if is_copy {
            log.data(Run(7), 0, 1, EPOCH + 1, b"y");
        } else {
            log.zeros(512);
        }
        log.data(Run(7), 1, 1, EPOCH + 2, b"x");
        log.data(Run(7), 0, 2, EPOCH + 3, b"z");
    }
    let recovery = recover(&log);
    assert_eq!((recovery.is_clean(), recovery.lost()), (false, 0));
}

#[test]
fn zeros_that_no_thread_counts_across_are_padding() {
    let log = synth::chunked(Run(7), 3, 100, 2048, 4);
    let recovery = recover(&log);
    assert!(recovery.accounts()[0].padding.bytes > 0);
    assert!(recovery.is_clean() && recovery.lost() == 0);
}

#[test]
fn a_reserved_frame_that_was_never_published_is_torn() {
    let mut whole = Log::new();
    whole
        .preamble(Run(7), None)
        .data(Run(7), 0, 0, EPOCH, b"first");
    whole
        .data(Run(7), 0, 1, EPOCH, b"second")
        .data(Run(7), 1, 0, EPOCH, b"third");
    let second = whole.frames[2].clone();
    // From the length alone to all but the first byte, in the order of writing.
    for written in 10..=second.len() {
        let mut torn = whole.clone();
        torn.bytes[second.start] = 0;
        torn.bytes[second.start + written..second.end].fill(0);
        if written == 10 {
            torn.bytes[second.start + 1..second.start + 6].fill(0);
        }
        let recovery = recover(&torn);
        let gaps = &recovery.accounts()[0].gaps;
        let range = gaps[0].gap.offset as usize..gaps[0].gap.end() as usize;
        assert_eq!(range, second, "{written} bytes written");
        assert_eq!(gaps[0].gap.kind, GapKind::Torn(Torn::Unpublished));
        assert!(recovery.is_clean());
        assert_eq!(recovery.accounts()[0].data(), 2);
    }
}

#[test]
fn torn_frames_follow_each_other_into_padding_and_the_end() {
    let mut log = Log::new();
    log.data(Run(7), 0, 0, EPOCH, b"x").zeros(30);
    let reserve = |len: u8| [0, 0, 0, 0, 0, 0, 0xc1, 0xda, 0, len];
    log.raw(&reserve(20))
        .zeros(20)
        .raw(&reserve(5))
        .zeros(5)
        .zeros(100);
    let recovery = recover(&log);
    let kinds: Vec<_> = recovery.accounts()[0]
        .gaps
        .iter()
        .map(|gap| (gap.gap.len, gap.gap.kind))
        .collect();
    let torn = GapKind::Torn(Torn::Unpublished);
    let padding = GapKind::Padding;
    assert_eq!(
        kinds,
        [(30, padding), (30, torn), (15, torn), (100, padding)]
    );
}

#[test]
fn equal_identity_with_other_bytes_is_shown() {
    let mut log = Log::new();
    log.data(Run(1), 0, 0, EPOCH, b"one")
        .data(Run(1), 0, 0, EPOCH, b"two");
    log.data(Run(1), 0, 0, EPOCH, b"one");
    let inputs = [input(&log)];
    let recovery = Recovery::of(&inputs).unwrap();
    let mut merge = Merge::new(&inputs, &recovery, MergeOptions::default());
    let mut seen = Vec::new();
    while let Some(event) = merge.next().unwrap() {
        let Event::Frame(frame) = event else { continue };
        let record = frame.record().unwrap();
        seen.push((synth::text_of(&record).unwrap().to_vec(), frame.conflict));
    }
    assert_eq!(seen, [(b"one".to_vec(), false), (b"two".to_vec(), true)]);
    assert_eq!(merge.duplicates(), 1);
}

#[test]
fn a_clock_set_back_breaks_no_thread() {
    let mut log = Log::new();
    for (count, time) in [(0, 500), (1, 100), (2, 200), (3, 700)] {
        log.data(Run(1), 0, count, EPOCH + time, b"a");
    }
    let mut other = Log::new();
    for (count, time) in [(0, 150), (1, 600)] {
        other.data(Run(2), 0, count, EPOCH + time, b"b");
    }
    let order = merged(&[&log, &other]);
    assert_eq!(
        order,
        [
            (2, 0, 0),
            (1, 0, 0),
            (1, 0, 1),
            (1, 0, 2),
            (2, 0, 1),
            (1, 0, 3)
        ]
    );
}

#[test]
fn merged_files_read_as_their_sources_did() {
    let a = synth::chunked(Run(7), 3, 120, 2048, 31);
    let b = synth::appended(Run(8), 2, 80, 32);
    let inputs = [input(&a), input(&b), input(&a)];
    let recovery = Recovery::of(&inputs).unwrap();
    let mut bytes = Vec::new();
    rewrite::merge(&inputs, &recovery, &mut bytes).unwrap();
    let mut joined = Log::new();
    joined.raw(&bytes);
    assert_eq!(merged(&[&joined]), merged(&[&a, &b]));
    let recovery = recover(&joined);
    assert!(recovery.is_clean() && recovery.lost() == 0);
    assert_eq!(recovery.accounts()[0].padding.bytes, 0);
    // Each thread's own order, in the bytes.
    let mut last = std::collections::HashMap::new();
    let again = [input(&joined)];
    let mut items = logdef_resync::Items::new(&again[0]);
    let mut strings = 0;
    while let Some(item) = items.next().unwrap() {
        let logdef_resync::Item::Frame(frame) = item else {
            panic!()
        };
        let mut scratch = Vec::new();
        match logdef_resync::decode(frame.body, &mut scratch).unwrap() {
            Record::Data(data) => {
                let sequence = data.sequence.unwrap();
                let before = last.insert((data.run, sequence.number()), sequence.count());
                assert!(before.is_none_or(|before| before < sequence.count()));
            }
            Record::StringLogdef(_) => strings += 1,
            _ => {}
        }
    }
    assert_eq!(strings, 4, "each run says its two strings once");
    // A second merge changes nothing.
    let mut twice = Vec::new();
    let recovery = Recovery::of(&again).unwrap();
    rewrite::merge(&again, &recovery, &mut twice).unwrap();
    assert_eq!(twice, bytes);
}

#[test]
fn a_hostile_file_of_claims_takes_linear_work() {
    // Headers everywhere, each claiming much, and a valid frame now and then.
    let mut log = Log::new();
    let mut frame = Log::new();
    frame.record(&Record::Note(Note {
        kind: Some(NoteKind::PANIC),
        ..Note::default()
    }));
    let unit = |log: &mut Log, count: usize| {
        for index in 0..count {
            log.raw(&[
                0xc1,
                0xce,
                9,
                9,
                9,
                9,
                0xc1,
                0xdb,
                0,
                0x01,
                0xff,
                index as u8,
                0x7f,
                0x80,
            ]);
            if index % 1000 == 999 {
                log.append(&frame);
            }
        }
    };
    unit(&mut log, 50_000);
    let one = recover(&log).accounts()[0].work;
    let mut double = log.clone();
    double.append(&log);
    let two = recover(&double).accounts()[0].work;
    assert!(two.summed < 3 * one.summed, "{one:?} then {two:?}");
    assert!(one.summed <= 2 * log.bytes.len() as u64 + 1024 * one.candidates);
    assert_eq!(recover(&log).accounts()[0].frames.count, 50);
}

/// Seen once in some thousand killed programs: after the zeros at a chunk's end
/// stood a frame whose checksum held `c1 da`, which was read as the length of a
/// frame that was never finished. It swallowed the records after it.
#[test]
fn a_checksum_that_looks_like_a_length_swallows_nothing() {
    for at in 0..3 {
        let mut log = Log::new();
        log.record(&data(0));
        log.zeros(300);
        // One checksum in 65,536 has the two bytes where they are wanted.
        let frame = (0u64..)
            .map(|salt| {
                let mut frame = Log::new();
                frame.record(&Record::StringLogdef(StringLogdef {
                    magic: Some(Magic(salt)),
                    run: Some(Run(1)),
                    ..StringLogdef::default()
                }));
                frame.bytes
            })
            .find(|frame| frame[2 + at..4 + at] == [0xc1, 0xda])
            .unwrap();
        log.raw(&frame);
        for count in 1..20 {
            log.record(&data(count));
        }
        log.zeros(70_000);
        let recovery = recover(&log);
        assert!(recovery.is_clean());
        assert_eq!(recovery.accounts()[0].data(), 20, "at {at}");
        assert_eq!(recovery.accounts()[0].torn.count, 0, "at {at}");
    }
}

/// Call `count` of the only thread.
fn data(count: u64) -> Record<'static> {
    Record::Data(Data {
        front: Glance {
            run: Some(Run(1)),
            sequence: Some(logdef_wire::Sequence::new(
                logdef_wire::ThreadNumber(0),
                count,
            )),
            time: Some(EPOCH + count),
            ..Glance::default()
        },
        ..Data::default()
    })
}
