//! Replays the corpus of the fuzz target; and, if `LOGDEF_SLOW` is set, many thousand
//! damaged traces beyond it.

#[path = "../../../fuzz/exercise/fxt_read.rs"]
mod exercise;

use exercise::exercise;

/// SplitMix64: small, and the same everywhere.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit.max(1) as u64) as usize
    }
}

/// One of the things that happen to files.
fn damage(bytes: &mut Vec<u8>, starts: &[usize], random: &mut Random) {
    let len = bytes.len();
    match random.below(7) {
        0 => bytes[random.below(len)] ^= 1 << random.below(8),
        1 => bytes[random.below(len)] = random.next() as u8,
        2 => {
            // A word that could be a header or a length.
            let at = random.below(len / 8) * 8;
            let word = random.next() & [0xffff, u64::MAX, 0xffff_ffff][random.below(3)];
            bytes[at..at + 8].copy_from_slice(&word.to_le_bytes());
        }
        3 => bytes.truncate(1 + random.below(len)),
        4 => {
            let at = random.below(len);
            bytes.drain(at..(at + random.below(100)).min(len));
        }
        5 => {
            // A record, or a piece that is not one, comes again elsewhere.
            let piece = bytes[starts[random.below(starts.len())].min(len)..].to_vec();
            let at = random.below(len);
            let piece = &piece[..random.below(piece.len())];
            bytes.splice(at..at, piece.iter().copied());
        }
        _ => {
            let at = random.below(len);
            let end = (at + random.below(64)).min(len);
            bytes[at..end].fill(0);
        }
    }
    if bytes.len() < 8 {
        bytes.resize(8, 0);
    }
}

#[test]
fn the_corpus_holds() {
    let corpus = concat!(env!("CARGO_MANIFEST_DIR"), "/../fuzz/corpus/fxt_read");
    let mut files = 0;
    for entry in std::fs::read_dir(corpus).unwrap() {
        let path = entry.unwrap().path();
        eprintln!("{}", path.display());
        exercise(&std::fs::read(path).unwrap());
        files += 1;
    }
    assert!(files > 0);
}

#[test]
fn damaged_traces_hold() {
    let (trace, starts) = crate::common::trace();
    exercise(&trace);
    let slow = std::env::var_os("LOGDEF_SLOW").is_some();
    let mut random = Random(1);
    for _ in 0..if slow { 200_000 } else { 500 } {
        let mut bytes = trace.clone();
        for _ in 0..1 + random.below(6) {
            damage(&mut bytes, &starts, &mut random);
        }
        exercise(&bytes);
    }
}
