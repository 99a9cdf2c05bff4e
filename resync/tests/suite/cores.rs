//! However many cores read an input, they find the same.

use crate::synth::{self, Log, Random};
use logdef_resync::{
    Event, Input, Item, Items, Merge, MergeOptions, Options, Piece, Place, Recovery, decode,
};
use logdef_wire::msgpack::{Array, Encoder};
use logdef_wire::record::{Data, Kind};
use logdef_wire::{Level, Record, Run, Svma, Value};
use std::collections::BTreeMap;
use std::fmt::Write;

/// All that a recovery knows, but for what it cost.
fn report(input: &Input, cores: usize) -> String {
    report_in_pieces(input, cores, u64::MAX).0
}

/// The same, and the pieces of a size.
fn report_in_pieces(input: &Input, cores: usize, size: u64) -> (String, Vec<Piece>) {
    let mut options = Options::default();
    options.cores = cores;
    options.pieces = size;
    let inputs = std::slice::from_ref(input);
    let mut reached = 0;
    let recovery = Recovery::with(inputs, &options, |done| {
        assert!(done >= reached);
        reached = done % input.len();
    })
    .unwrap();
    let mut text = String::new();
    for account in recovery.accounts() {
        let mut account = account.clone();
        account.work = Default::default();
        let _ = writeln!(text, "{account:#?}");
    }
    let _ = writeln!(text, "{:#?}", recovery.threads());
    let _ = writeln!(text, "{:#?}", recovery.tables().conflicts());
    let mut options = MergeOptions::default();
    options.all_frames = true;
    let mut merge = Merge::new(inputs, &recovery, options);
    let mut places = 0u64;
    while let Some(event) = merge.next().unwrap() {
        if let Event::Frame(frame) = event {
            places = places.rotate_left(5) ^ frame.place.offset;
        }
    }
    let _ = writeln!(text, "{places:x} {}", merge.duplicates());
    (text, recovery.pieces().to_vec())
}

/// What the pieces of a size are, found frame by frame: where each begins and ends, its records and their times.
fn pieces(input: &Input, size: u64) -> Vec<(u64, u64, u64, (u64, u64))> {
    let mut pieces: Vec<(u64, u64, u64, (u64, u64))> = Vec::new();
    let mut items = Items::new(input);
    let mut scratch = Vec::new();
    while let Some(item) = items.next().unwrap() {
        let Item::Frame(frame) = item else { continue };
        let piece = pieces.last_mut();
        let piece = match piece.filter(|piece| piece.0 / size == frame.offset / size) {
            Some(piece) => piece,
            None => {
                pieces.push((frame.offset, 0, 0, (0, 0)));
                pieces.last_mut().unwrap()
            }
        };
        piece.1 = frame.end();
        if let Ok(Record::Data(data)) = decode(frame.body, &mut scratch) {
            let time = data.time.unwrap_or(0);
            let (first, last) = if piece.2 == 0 { (time, time) } else { piece.3 };
            piece.2 += 1;
            piece.3 = (first.min(time), last.max(time));
        }
    }
    pieces
}

/// Pieces of logs, zeros and garbage, whole and damaged, in any order: seams fall
/// into all of them.
fn medley(seed: u64) -> Vec<u8> {
    const LEN: usize = 17 << 20;
    let mut random = Random::new(seed);
    let pieces = [
        synth::chunked(Run(1), 3, 2000, 16 << 10, seed),
        synth::chunked(Run(1), 1, 3000, 1 << 20, seed + 1),
        synth::appended(Run(2), 4, 2000, seed + 2),
        synth::appended(Run(3), 1, 3000, seed + 3),
    ];
    let mut bytes = Vec::new();
    while bytes.len() < LEN {
        let Log { bytes: piece, .. } = &pieces[random.below(pieces.len())];
        match random.below(8) {
            0 => bytes.resize(bytes.len() + random.below(2 << 20), 0),
            1 => bytes.extend(random.bytes(random.clone().below(300_000))),
            2 => bytes.extend(&piece[random.below(piece.len())..]),
            3 => {
                let mut piece = piece.clone();
                for _ in 0..9 {
                    let at = random.below(piece.len());
                    piece[at] ^= 0x20;
                }
                bytes.append(&mut piece);
            }
            _ => bytes.extend(piece),
        }
    }
    bytes.truncate(LEN);
    bytes
}

#[test]
fn many_cores_find_what_one_finds() {
    let seeds = if synth::slow() { 60 } else { 1 };
    for seed in 0..seeds {
        let input = Input::from_bytes("medley", medley(seed));
        let alone = report(&input, 1);
        assert!(alone.contains("damage"), "{alone}");
        for cores in 2..3 + seed as usize % 2 {
            let together = report(&input, cores);
            assert!(alone == together, "seed {seed}, {cores} cores");
        }
    }
}

/// A frame of another writer that holds a log: a walker that begins at a seam begins
/// inside it, and what it finds there is not taken.
#[test]
fn what_stands_in_a_frame_is_not_taken_for_frames_by_any_core() {
    let inner = synth::appended(Run(9), 1, 40_000, 3).bytes;
    let mut body = vec![0x63, 0x81, 0x00, 0xdb];
    body.extend((inner.len() as u32).to_be_bytes());
    body.extend(&inner);
    let mut outer = Log::new();
    outer.append(&synth::appended(Run(1), 1, 30_000, 4));
    outer.unmasked(&body);
    for _ in 0..3 {
        outer.append(&synth::appended(Run(1), 1, 30_000, 4));
    }
    assert!(inner.len() > 5 << 20 && outer.bytes.len() > 16 << 20);
    let input = Input::from_bytes("outer", outer.bytes);
    let alone = report(&input, 1);
    assert!(!alone.contains("Run(9)") && alone == report(&input, 2));
}

#[test]
fn pieces_of_any_size_are_those_of_each_frame() {
    let seeds = if synth::slow() { 9 } else { 1 };
    for seed in 0..seeds {
        let input = Input::from_bytes("medley", medley(seed));
        let alone = report(&input, 1);
        // One for each frame, more or fewer of them than seams, and at other places.
        for size in [0, 64, 4099, 1 << 20, 4 << 20, 5_000_001, 8 << 20, u64::MAX] {
            let expected = pieces(&input, size.max(1));
            for cores in 1..3 {
                let (report, pieces) = report_in_pieces(&input, cores, size);
                assert!(report == alone, "seed {seed}, {size} bytes, {cores} cores");
                for (own, (from, to, records, (first, last))) in pieces.iter().zip(&expected) {
                    let stands = (own.from, own.to, own.records, own.times.1);
                    assert_eq!(stands, (*from, *to, *records, *last), "{size} bytes");
                    assert!(own.times.0 <= *first, "{own:?}: {first}");
                }
                assert_eq!(pieces.len(), expected.len(), "{size} bytes, {cores} cores");
            }
        }
    }
}

/// A log of calls that differ in all that a shape has, longer than a core reads alone.
fn varied(seed: u64) -> Vec<u8> {
    let mut random = Random::new(seed);
    let mut log = Log::new();
    log.preamble(Run(1), None);
    let text = "x".repeat(600);
    let mut count = 0;
    while log.bytes.len() < 17 << 20 {
        let time = 1_000_000 + random.next() % 1_000_000;
        let mut data = synth::data(Run(1 + random.next() % 2), 1, count, time);
        let mut buffer = [0; 2000];
        let mut args = Encoder::new(&mut buffer);
        let len = random.below(4) as u32;
        for _ in 0..len {
            match random.below(8) {
                0 => args.uint(u64::MAX),
                1 => args.int(-5),
                2 => args.nil(),
                3 => args.float(0.5),
                4 => args.raw(b"\xff"),
                5 => args.bool(true),
                _ => args.raw(&text.as_bytes()[random.below(600)..]),
            }
            .unwrap();
        }
        data.args = Array::from_objects(len, args.written()).ok();
        match random.below(300) {
            0 => data.kind = Some(Kind(1)),
            1 => data.format_text = Some(b"spelled out"),
            2 => data.front.format = Some(Svma::text(7)),
            3 => data.front.level = Some(Level(random.next() as u8)),
            4 => data.front.line = None,
            5 => data.context = Some(3),
            6 => data.backtrace = Array::from_objects(1, &[9]).ok(),
            7 => data.front.run = None,
            8 => data.args = None,
            _ => {}
        }
        log.record(&Record::Data(data));
        count += 1;
    }
    log.bytes
}

/// What the records of one shape have in common.
fn shape(data: &Data<'_>) -> String {
    let kind = |value: Value<'_>| match value {
        Value::Raw(bytes) => format!("raw {}", std::str::from_utf8(bytes).is_ok()),
        Value::Uint(value) => format!("uint {}", i64::try_from(value).is_ok()),
        Value::Int(_) => "int".to_owned(),
        Value::Float(_) => "float".to_owned(),
        Value::Bool(_) => "bool".to_owned(),
        other => format!("{other:?}"),
    };
    let front = &data.front;
    let is_of_run = front.format.is_some_and(|it| it.text_number().is_some());
    let args = data
        .args
        .map(|args| args.iter().map(kind).collect::<Vec<_>>());
    let call = (
        front.magic,
        front.file,
        front.line,
        front.level,
        front.format,
        data.kind,
    );
    format!(
        "{call:?} {:?} {:?} {args:?}",
        data.format_text,
        front.run.filter(|_| is_of_run)
    )
}

#[test]
fn of_each_shape_the_earliest_record_is_found_by_any_number_of_cores() {
    let input = Input::from_bytes("varied", varied(1));
    let mut earliest = BTreeMap::new();
    let mut items = Items::new(&input);
    let mut scratch = Vec::new();
    while let Some(item) = items.next().unwrap() {
        let Item::Frame(frame) = item else { continue };
        if let Ok(Record::Data(data)) = decode(frame.body, &mut scratch) {
            let key = (data.time, data.run.zip(data.sequence), frame.offset);
            let own = earliest.entry(shape(&data)).or_insert(key);
            *own = key.min(*own);
        }
    }
    let mut expected: Vec<_> = earliest.into_values().collect();
    expected.sort_unstable();
    assert!(expected.len() > 500, "{}", expected.len());
    let offsets: Vec<_> = expected.iter().map(|(.., offset)| *offset).collect();
    for cores in 1..4 {
        let mut options = Options::default();
        (options.cores, options.shapes) = (cores, true);
        let recovery = Recovery::with(std::slice::from_ref(&input), &options, |_| {}).unwrap();
        let shapes = recovery.shapes().unwrap().iter();
        let found: Vec<_> = shapes.map(|Place { offset, .. }| *offset).collect();
        assert!(found == offsets, "{cores} cores: {} shapes", found.len());
    }
    assert_eq!(Recovery::of(&[input]).unwrap().shapes(), None);
}
