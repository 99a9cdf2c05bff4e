//! Files with holes: what is read of them is what zeros in their place would give, and the
//! holes themselves are not read.

use crate::synth::{self, EPOCH, Log, Random};
use logdef_resync::{Event, Input, Merge, MergeOptions, Recovery};
use logdef_wire::Run;
use std::fs::File;
use std::os::unix::fs::FileExt;

/// Pieces of logs and damage, with their offsets, and the length of the file.
fn pieces(random: &mut Random, len: u64) -> Vec<(u64, Vec<u8>)> {
    let mut pieces = Vec::new();
    let mut at = 0;
    let mut count = 0;
    while at < len {
        let mut log = Log::new();
        if random.below(2) == 0 {
            log.preamble(Run(1), (random.below(2) == 0).then_some(4096));
        }
        for _ in 0..random.below(20) {
            log.data(Run(1), 0, count, EPOCH + count, b"across a hole");
            count += 1 + random.below(9) as u64 / 8;
        }
        match random.below(6) {
            kind @ 0..=2 => {
                let damage: [&[u8]; 3] = [
                    b"\xc1",
                    b"\xc1\xce damaged",
                    &[0, 0, 0, 0, 0, 0, 0xc1, 0xda, 0x01, 0x00],
                ];
                log.raw(damage[kind]);
            }
            3 => log.bytes.truncate(log.bytes.len().saturating_sub(5)),
            _ => {}
        }
        let start = at;
        at += log.bytes.len() as u64;
        pieces.push((start, log.bytes));
        // Holes begin and end at pages; what is written in one does not.
        at += [0, 1, 4096, 100_000, 700_000, 3_000_000][random.below(6)];
        at += random.below(2) as u64 * random.below(9000) as u64;
    }
    pieces
}

fn report(input: Input) -> String {
    let inputs = [input];
    let recovery = Recovery::of(&inputs).unwrap();
    let mut merge = Merge::new(&inputs, &recovery, MergeOptions::default());
    let account = &recovery.accounts()[0];
    let mut report = format!(
        "{} {:?} {:?}\n",
        account.bytes,
        account.gaps,
        recovery.losses()
    );
    while let Some(event) = merge.next().unwrap() {
        if let Event::Frame(frame) = event {
            report += &format!("{:?} {:?}\n", frame.place, frame.standing);
        }
    }
    report
}

#[test]
fn holes_are_read_as_the_zeros_that_they_are() {
    for seed in 0..60 {
        let mut random = Random::new(seed);
        let len = 1 + random.below(12 << 20) as u64;
        let pieces = pieces(&mut random, len);
        let file = tempfile::NamedTempFile::new().unwrap();
        let mut bytes = Vec::new();
        for (at, piece) in &pieces {
            file.as_file().write_all_at(piece, *at).unwrap();
            bytes.resize(bytes.len().max(*at as usize), 0);
            bytes.extend(piece);
        }
        // A hole at the end, too.
        bytes.resize(bytes.len() + random.below(2_000_000), 0);
        file.as_file().set_len(bytes.len() as u64).unwrap();
        let sparse = report(Input::open(file.path()).unwrap());
        let name = file.path().display().to_string();
        let whole = report(Input::from_bytes(name, bytes));
        assert!(sparse == whole, "seed {seed}:\n{sparse}\n{whole}");
    }
}

/// Reading them would take a quarter of an hour.
#[test]
fn a_tebibyte_of_holes_is_not_read() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let len = 1 << 40;
    let write = |file: &File, at: u64, count: u64| {
        let log = synth::appended(Run(1), 1, 5, count);
        file.write_all_at(&log.bytes, at).unwrap();
        log.frames.len() as u64
    };
    let mut frames = write(file.as_file(), 0, 1);
    if file.as_file().set_len(len).is_err() {
        return; // A file system that has no such files.
    }
    frames += write(file.as_file(), len / 2 + 12_345, 2);
    let inputs = [Input::open(file.path()).unwrap()];
    let recovery = Recovery::of(&inputs).unwrap();
    let account = &recovery.accounts()[0];
    assert_eq!((account.bytes, account.frames.count), (len, frames));
    assert_eq!(
        account.padding.bytes + account.damage.bytes + account.frames.bytes,
        len
    );
}
