//! What the victims log: each record is a function of seed, thread and count,
//! so that a reader of the log can say what must be in it. `c/victim.c`
//! and `src/bin/victim.rs` log the same story.

use crate::frames::Value;
use crate::smash::mix;

/// The formats of the records, by [`kind`]. Count and thread come first in
/// each.
pub const FORMATS: [&str; 3] = [
    // Text, half the count, minus the count.
    "record %u of thread %u: %s %.17g %lld",
    // The text, cut to a length that is an argument; a letter; an address.
    "record %u of thread %u: %.*s|%c|%p",
    // No text.
    "record %u of thread %u: %#llx %5.1f %hhd%%",
];

/// Sites in `c/victim.c` that log [`FORMATS`]`[0]` and their own number after it, where its
/// arguments ask for many.
pub const SITES: u64 = 256;

/// What format `0` ends in at one of many sites.
pub const AT_SITE: &str = " at site ";

/// The longest text.
pub const MAX_TEXT: usize = 15_000;

/// A frame without a NUL that holds a data record of no fields: if it shows up
/// among the records read, a string has passed for a frame.
pub const FORGED: &[u8; 10] = b"\xc1\xce\x04\xc6\xf4\xe6\xc1\xa2\x7f\x80";

/// The text of record `count` of a thread: letters, of most lengths short, now
/// and then long, seldom longer than the stack has room for, and sometimes a
/// frame.
pub fn text(seed: u64, thread: u64, count: u64) -> Vec<u8> {
    let dice = dice(seed, thread, count);
    let len = match dice % 512 {
        0 => MAX_TEXT,
        1..8 => 3000,
        _ => (dice >> 16) as usize % 100,
    };
    let mut text: Vec<u8> = (0..len)
        .map(|at| b'a' + ((count as usize + at) % 26) as u8)
        .collect();
    if dice >> 32 & 15 == 0 && len >= FORGED.len() {
        text[..FORGED.len()].copy_from_slice(FORGED);
    }
    text
}

/// Which of the formats record `count` has: half of them the first, errors
/// always.
pub fn kind(seed: u64, thread: u64, count: u64) -> usize {
    match dice(seed, thread, count) >> 40 & 3 {
        _ if is_error(count) => 0,
        kind @ 1..3 => kind as usize,
        _ => 0,
    }
}

/// What the arguments of record `count` are on the wire.
pub fn args(seed: u64, thread: u64, count: u64) -> Vec<Value> {
    let int = |value: u64| Value::Int(value.into());
    let mut args = vec![int(count), int(thread)];
    args.extend(match kind(seed, thread, count) {
        0 => [
            Value::Raw(text(seed, thread, count)),
            Value::Float(count as f64 * 0.5),
            Value::Int(-i128::from(count)),
        ]
        .to_vec(),
        1 => {
            let precision = count as usize % 64;
            let mut text = text(seed, thread, count);
            text.truncate(precision);
            let letter = b'a' + (count % 26) as u8;
            [
                int(precision as u64),
                Value::Raw(text),
                int(letter.into()),
                int(count << 12),
            ]
            .to_vec()
        }
        _ => [
            int(dice(seed, thread, count)),
            Value::Float(-(count as f64) / 8.0),
            Value::Int((count as i8).into()),
        ]
        .to_vec(),
    });
    args
}

/// Whether record `count` is an error, and so carries a backtrace.
pub fn is_error(count: u64) -> bool {
    count % 50 == 49
}

/// A number that looks random, for each record.
pub fn dice(seed: u64, thread: u64, count: u64) -> u64 {
    mix(seed ^ thread << 40 ^ count)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frames;

    #[test]
    fn the_forged_frame_is_one() {
        let found = frames::scan(FORGED);
        assert_eq!(found.len(), 1);
        assert!(found[0].is_data() && found[0].fields.is_empty());
        assert!(!FORGED.contains(&0), "a C string could not hold it");
    }

    #[test]
    fn the_story_has_short_long_and_forged_texts_in_all_formats() {
        let texts: Vec<_> = (0..4000).map(|count| text(7, 1, count)).collect();
        assert!(texts.iter().any(|text| text.is_empty()));
        assert!(texts.iter().any(|text| text.len() == 3000));
        assert!(texts.iter().any(|text| text.len() == MAX_TEXT));
        assert!(texts.iter().any(|text| text.starts_with(FORGED)));
        for kind in 0..FORMATS.len() {
            assert!((0..100).any(|count| super::kind(7, 1, count) == kind));
        }
    }
}
