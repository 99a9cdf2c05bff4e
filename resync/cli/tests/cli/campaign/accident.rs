//! What happens to files: nothing, a crash, a bad disk, a bad copy.

use super::random::Random;
use std::ops::Range;

/// A log after an accident, and what it was.
pub fn happen(mut bytes: Vec<u8>, random: &mut Random) -> (Vec<u8>, String) {
    let len = bytes.len() as u64;
    let range = |random: &mut Random, most: u64| -> Range<usize> {
        let start = random.below(len);
        let end = len.min(start + 1 + random.below(most));
        start as usize..end as usize
    };
    let what = match random.below(9) {
        0 => "nothing".into(),
        1 => {
            let at = random.below(len) as usize;
            bytes.truncate(at);
            format!("cut at {at}")
        }
        2 => {
            let at = random.below(len) as usize;
            bytes[at] ^= 1 << random.below(8);
            format!("a flipped bit at {at}")
        }
        3 => {
            let range = range(random, 4096);
            let fill = [0, 0xff, 0xc1, 0xce][random.below(4) as usize];
            bytes[range.clone()].fill(fill);
            format!("{range:?} filled with {fill:#x}")
        }
        4 => {
            let range = range(random, 2000);
            bytes.drain(range.clone());
            format!("{range:?} deleted")
        }
        5 => {
            let range = range(random, 600);
            let piece = bytes[range.clone()].to_vec();
            let at = random.below(len) as usize;
            bytes.splice(at..at, piece);
            format!("{range:?} copied to {at}")
        }
        6 => {
            let garbage: Vec<u8> = (0..random.below(300))
                .map(|_| random.next() as u8)
                .collect();
            let len = garbage.len();
            bytes.splice(0..0, garbage);
            format!("{len} bytes of garbage in front")
        }
        7 => {
            let copy = bytes.clone();
            bytes.extend(copy);
            "the log twice".into()
        }
        _ => {
            let at = random.below(len) as usize & !511;
            let end = bytes.len().min(at + 512);
            bytes[at..end].fill(0);
            format!("a lost sector at {at}")
        }
    };
    (bytes, what)
}
