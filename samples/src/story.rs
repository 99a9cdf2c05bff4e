//! What the victims log: each record is a function of seed, thread and count,
//! so that whoever reads the log can say what must stand in it. `c/victim.c`
//! and `src/bin/victim.rs` tell the same story.

use crate::smash::mix;

/// The format of every record: count, thread, text, half the count, minus the
/// count.
pub const FORMAT: &str = "record %u of thread %u: %s %.17g %lld";

/// The longest text.
pub const MAX_TEXT: usize = 3000;

/// A frame without a NUL that holds a data record of no fields: if it shows up
/// among the records read, a string has passed for a frame.
pub const FORGED: &[u8; 10] = b"\xc1\xce\x04\xc6\xf4\xe6\xc1\xa2\x7f\x80";

/// The text of record `count` of a thread: letters, of most lengths short and
/// now and then long, and sometimes a frame.
pub fn text(seed: u64, thread: u64, count: u64) -> Vec<u8> {
    let dice = mix(seed ^ thread << 40 ^ count);
    let len = match dice % 64 {
        0 => MAX_TEXT,
        _ => (dice >> 8) as usize % 100,
    };
    let mut text: Vec<u8> = (0..len)
        .map(|at| b'a' + ((count as usize + at) % 26) as u8)
        .collect();
    if dice >> 32 & 15 == 0 && len >= FORGED.len() {
        text[..FORGED.len()].copy_from_slice(FORGED);
    }
    text
}

/// Whether record `count` is an error, and so carries a backtrace.
pub fn is_error(count: u64) -> bool {
    count % 50 == 49
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
    fn the_story_has_short_long_and_forged_texts() {
        let texts: Vec<_> = (0..2000).map(|count| text(7, 1, count)).collect();
        assert!(texts.iter().any(|text| text.is_empty()));
        assert!(texts.iter().any(|text| text.len() == MAX_TEXT));
        assert!(texts.iter().any(|text| text.starts_with(FORGED)));
    }
}
