//! However many cores read an input, they find the same.

use crate::synth::{self, Log, Random};
use logdef_resync::{
    Event, Input, Item, Items, Merge, MergeOptions, Options, Piece, Recovery, decode,
};
use logdef_wire::{Record, Run};
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
