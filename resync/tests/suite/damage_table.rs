//! The table of damages that readers of binary logs were compared with, for our
//! reader: what it reads, and what it says is lost. BENCHMARKS.md shows it, and is held to
//! it here.

use crate::synth::{self, EPOCH, Log, Random};
use logdef_resync::{Event, Input, Merge, MergeOptions, Recovery, Resolver};
use logdef_wire::msgpack::{Array, Encoder};
use logdef_wire::record::Data;
use logdef_wire::{Record, Run, Svma};
use std::collections::BTreeSet;
use std::ops::Range;

const RECORDS: u64 = 20_000;
const THREADS: u64 = 2;

/// `request N took N us`, by two threads in turn.
fn log() -> Log {
    let run = Run(7);
    let mut log = Log::new();
    log.preamble(run, None);
    log.string(run, Svma(0x2000), b"server.c");
    log.string(run, Svma(0x2008), b"request %d took %d us");
    for number in 0..THREADS {
        log.thread(run, number, format!("worker{number}").as_bytes());
    }
    for request in 0..RECORDS {
        let mut args = [0; 20];
        let mut encoder = Encoder::new(&mut args);
        encoder.uint(request).unwrap();
        encoder.uint(request * 7919 % 1000).unwrap();
        log.record(&Record::Data(Data {
            args: Array::from_objects(2, encoder.written()).ok(),
            ..synth::data(
                run,
                request % THREADS,
                request / THREADS,
                EPOCH + request * 1_000_000,
            )
        }));
    }
    log
}

/// The log after an accident, and the bytes of the intact one that it touched.
type Accident = (&'static str, Vec<u8>, Vec<Range<usize>>);

fn accidents(log: &Log) -> Vec<Accident> {
    let (bytes, len) = (&log.bytes, log.bytes.len());
    let mut random = Random::new(1);
    let mut noise = bytes.clone();
    let mut noisy = Vec::new();
    for _ in 0..20 {
        let at = random.below(len - 16);
        noise[at..at + 16].copy_from_slice(&random.bytes(16));
        noisy.push(at..at + 16);
    }
    let half = (len / 2) | 1;
    let head = (len / 3) | 1;
    let page = len / 2 / 4096 * 4096;
    let mut zeros = bytes.clone();
    zeros[page..page + 4096].fill(0);
    let hole = len / 2..len / 2 + 777;
    let deleted = [&bytes[..hole.start], &bytes[hole.end..]].concat();
    vec![
        ("intact", bytes.clone(), vec![]),
        ("noise", noise, noisy),
        ("half", bytes[..half].to_vec(), one(half..len)),
        ("head missing", bytes[head..].to_vec(), one(0..head)),
        ("twice", bytes.repeat(2), vec![]),
        ("zeros", zeros, one(page..page + 4096)),
        ("deleted", deleted, one(hole)),
    ]
}

fn one(range: Range<usize>) -> Vec<Range<usize>> {
    std::iter::once(range).collect()
}

/// What is read of a log, and what is said of the rest.
struct Reading {
    /// The first argument of each record, in the order of the merge.
    requests: Vec<u64>,
    /// Records whose format is lost.
    without_text: usize,
    lost: u64,
    lost_before: u64,
    repeated: u64,
    /// Torn frames and damages.
    gaps: usize,
}

fn read(bytes: Vec<u8>) -> Reading {
    let inputs = [Input::from_bytes("log", bytes)];
    let recovery = Recovery::of(&inputs).unwrap();
    let account = &recovery.accounts()[0];
    let mut merge = Merge::new(&inputs, &recovery, MergeOptions::default());
    let mut resolver = Resolver::without_images(recovery.tables());
    let mut requests = Vec::new();
    let mut without_text = 0;
    while let Some(event) = merge.next().unwrap() {
        let Event::Frame(frame) = event else {
            continue;
        };
        let Some(Record::Data(data)) = frame.record() else {
            panic!("only data was asked for");
        };
        let number = |n| data.args.unwrap().iter().nth(n).unwrap().as_uint().unwrap();
        let mut text = Vec::new();
        resolver.resolve(&data, frame.place).message(&mut text);
        let (request, took) = (number(0), number(1));
        if text != format!("request {request} took {took} us").as_bytes() {
            without_text += 1;
        }
        requests.push(request);
    }
    Reading {
        requests,
        without_text,
        lost: recovery.lost(),
        lost_before: recovery.threads().iter().map(|it| it.before_first).sum(),
        repeated: account.repeated,
        gaps: account
            .gaps
            .iter()
            .filter(|gap| gap.gap.kind != logdef_resync::GapKind::Padding)
            .count(),
    }
}

#[test]
fn each_damage_costs_what_it_touched_as_the_page_says() {
    let log = log();
    let (mut read_row, mut lost_row) = (String::new(), String::new());
    for (name, bytes, touched) in accidents(&log) {
        let data = log.frames.iter().filter(|frame| log.is_data(frame));
        let touches = |frame: &Range<usize>| {
            touched
                .iter()
                .any(|range| frame.start < range.end && range.start < frame.end)
        };
        let whole: Vec<u64> = data
            .enumerate()
            .filter(|(_, frame)| !touches(frame))
            .map(|(request, _)| request as u64)
            .collect();
        let reading = read(bytes);
        assert_eq!(reading.requests, whole, "{name}");
        let gone = RECORDS - whole.len() as u64;
        let (lost, before, repeated, gaps) = match name {
            "intact" => (0, 0, 0, 0),
            "twice" => (0, 0, RECORDS, 0),
            // What was after the end left no trace but the frame that was cut.
            "half" => (0, 0, 0, 1),
            "head missing" => (0, gone, 0, 1),
            "noise" => (gone, 0, 0, reading.gaps),
            _ => (gone, 0, 0, 1),
        };
        let said = (reading.lost, reading.lost_before, reading.repeated);
        assert_eq!(said, (lost, before, repeated), "{name}");
        assert_eq!(reading.gaps, gaps, "{name}");
        // Only the head had the format, which the program's image has too.
        let without_text = if name == "head missing" {
            whole.len()
        } else {
            0
        };
        assert_eq!(reading.without_text, without_text, "{name}");
        read_row += &format!(" {} |", grouped(whole.len() as u64));
        lost_row += &match name {
            "twice" => format!(" 0, {} twice |", grouped(repeated)),
            "half" => " 1 torn |".to_owned(),
            _ => format!(" {} |", grouped(lost + before)),
        };
    }
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../BENCHMARKS.md");
    let page = std::fs::read_to_string(page).unwrap();
    for row in [
        format!("| `logdef`: records read |{read_row}"),
        format!("| `logdef`: records it says are lost |{lost_row}"),
    ] {
        assert!(
            page.lines().any(|line| line == row),
            "BENCHMARKS.md lacks\n{row}"
        );
    }
}

/// Damaged places do not hide each other: noise in as many places is in as many gaps.
#[test]
fn noise_is_reported_place_by_place() {
    let log = log();
    let (_, bytes, touched) = accidents(&log).swap_remove(1);
    let hit: BTreeSet<usize> = touched
        .iter()
        .flat_map(|range| {
            let touches =
                |frame: &&Range<usize>| frame.start < range.end && range.start < frame.end;
            log.frames.iter().filter(touches).map(|frame| frame.start)
        })
        .collect();
    let reading = read(bytes);
    assert!((15..=hit.len()).contains(&reading.gaps), "{}", reading.gaps);
}

/// A number with a comma between its thousands.
fn grouped(number: u64) -> String {
    match number {
        0..1000 => number.to_string(),
        _ => format!("{},{:03}", grouped(number / 1000), number % 1000),
    }
}
