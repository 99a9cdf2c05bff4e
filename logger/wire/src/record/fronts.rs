//! The fronts of records that were looked at before. What a thread writes at a call site begins with
//! the same bytes each time, up to the sequence: they are compared at once, where a look would read one
//! integer after another, and their part of the checksum is known. Knows nothing of the arguments.
//!
//! ```text
//! 127 head 0 magic 1 file 2 line 3 level 4 format 5 run 6 thread 7 | sequence 8 time ...
//! |<-------------------- the same each time -------------------->|
//! ```

use super::glance::{
    Rest, all_fields, fields_to_sequence, only_arguments, sequence_and_time, uint_behind,
};
use super::{Glance, Peek, field};
use crate::{Run, Sequence};
use crc32fast::Hasher;

/// Bytes that are compared: those of nearly all fronts are fewer.
const BYTES: usize = 64;
/// Words of them.
const WORDS: usize = BYTES / 8;
/// Fronts that are remembered: a power of two.
const FRONTS: usize = 1 << 8;

/// A front, what it says, and what is expected of records with it; a length of 0 where none was kept.
#[derive(Clone, Debug, Default)]
struct Known {
    words: [u64; WORDS],
    /// Ones where `words` has bytes of the front.
    mask: [u64; WORDS],
    len: usize,
    /// How many fields stand after the time.
    fields: u32,
    glance: Glance,
    /// The checksum, so far as the front reaches.
    sum: Hasher,
    expected: Expected,
}

impl Known {
    #[inline(always)]
    fn begins(&self, words: &[u64; WORDS]) -> bool {
        let differs = |index: usize| (self.words[index] ^ words[index]) & self.mask[index];
        (0..WORDS).fold(0, |all, index| all | differs(index)) == 0 && self.len > 0
    }
}

/// Looks at the fronts of records, and remembers them: in some 80 KB.
///
/// ```
/// use logdef_wire::record::{Fronts, Glance};
///
/// // Nothing in front but a line: a record of another writer, which is left to the decoder.
/// let mut glance = Glance::default();
/// assert!(Fronts::default().look(&mut glance, &[127, 0x81, 2, 42]).is_none());
/// ```
#[derive(Clone, Debug)]
pub struct Fronts {
    known: [Known; FRONTS],
}

impl Default for Fronts {
    fn default() -> Self {
        Fronts {
            known: core::array::from_fn(|_| Known::default()),
        }
    }
}

impl Fronts {
    /// Looks at a body that has all fields of a glance, as nearly all have, and returns what stands
    /// after them. `None` means: use the general path; what stands in the glance then has no meaning.
    #[inline(always)]
    pub fn look(&mut self, glance: &mut Glance, body: &[u8]) -> Option<Rest> {
        let Some(words) = words(body) else {
            return all_fields(glance, body);
        };
        let known = &self.known[slot(&words)];
        if !known.begins(&words) {
            return self.look_and_keep(glance, body);
        }
        *glance = known.glance;
        let rest = Rest {
            fields: known.fields,
            at: known.len,
        };
        sequence_and_time(glance, body, rest)
    }

    #[inline(never)]
    fn look_and_keep(&mut self, glance: &mut Glance, body: &[u8]) -> Option<Rest> {
        let rest = fields_to_sequence(glance, body)?;
        if let Some(words) = words(body).filter(|_| rest.at <= BYTES) {
            let mut sum = Hasher::new();
            sum.update(&body[..rest.at]);
            self.known[slot(&words)] = Known {
                words,
                mask: mask(rest.at),
                len: rest.at,
                fields: rest.fields,
                glance: *glance,
                sum,
                expected: Expected::Nothing,
            };
        }
        sequence_and_time(glance, body, rest)
    }

    /// Remembers of the front of a body, which was [looked](Self::look) at, what to expect of the next record
    /// with it that has nothing but arguments after it.
    pub fn expect(&mut self, body: &[u8], expected: Expected) {
        let Some(words) = words(body) else { return };
        let known = &mut self.known[slot(&words)];
        if known.expected != expected && known.fields == 1 && known.begins(&words) {
            known.expected = expected;
        }
    }

    /// A record of which something was [expected](Self::expect), if its body has this checksum: what is the same
    /// each time needs not be summed again. `None` means: use the general path.
    #[inline(always)]
    pub fn again(&self, body: &[u8], checksum: u32) -> Option<Again<'_>> {
        let words = words(body)?;
        let known = &self.known[slot(&words)];
        if known.expected == Expected::Nothing || !known.begins(&words) {
            return None;
        }
        let behind = &body[known.len..];
        let mut rest = behind;
        let sequence = Sequence(uint_behind(&mut rest, field::SEQUENCE)?);
        let time = uint_behind(&mut rest, field::TIME)?;
        if rest.first() != Some(&field::ARGS) {
            return None;
        }
        let mut sum = known.sum.clone();
        sum.update(behind);
        (sum.finalize() == checksum).then_some(Again {
            front: &known.glance,
            sequence,
            time,
            at: body.len() - rest.len(),
            is_kept_back: known.expected == Expected::KeptBack,
        })
    }
}

/// What is expected of records with a front.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Expected {
    /// Nothing.
    #[default]
    Nothing,
    /// That their arguments keep them back, as those of the last one did.
    Alike,
    /// That they are kept back whatever their arguments are.
    KeptBack,
}

/// A record with a front of which something was expected, and nothing but arguments after it.
#[derive(Clone, Copy, Debug)]
pub struct Again<'f> {
    /// Sequence and time in it are of another record.
    front: &'f Glance,
    /// Thread and count.
    pub sequence: Sequence,
    /// Nanoseconds since the epoch.
    pub time: u64,
    /// Offset of the arguments.
    at: usize,
    /// Whether it is kept back whatever its arguments are.
    pub is_kept_back: bool,
}

impl Again<'_> {
    /// The run.
    #[inline(always)]
    pub fn run(&self) -> Option<Run> {
        self.front.run
    }

    /// Looks at the whole body. `None` if its arguments are malformed.
    #[inline(always)]
    pub fn peek<'b>(&self, body: &'b [u8]) -> Option<Peek<'b>> {
        let args = only_arguments(body, self.at)?;
        Some(Peek {
            glance: Glance {
                sequence: Some(self.sequence),
                time: Some(self.time),
                ..*self.front
            },
            args: Some(args),
            ..Peek::default()
        })
    }
}

/// The first bytes of a body; `None` if it has fewer.
#[inline(always)]
fn words(body: &[u8]) -> Option<[u64; WORDS]> {
    let bytes = body.first_chunk::<BYTES>()?;
    let word = |index: usize| {
        let bytes = bytes[8 * index..].first_chunk().expect("within the bytes");
        u64::from_ne_bytes(*bytes)
    };
    Some(core::array::from_fn(word))
}

/// A mask of the first bytes.
fn mask(len: usize) -> [u64; WORDS] {
    let mask: [u8; BYTES] = core::array::from_fn(|index| if index < len { 0xff } else { 0 });
    words(&mask).expect("as many bytes")
}

/// The place of a front: file, line and format stand after the magic, whatever their widths.
#[inline(always)]
fn slot(words: &[u64; WORDS]) -> usize {
    let spread = words[1].rotate_left(17) ^ words[2] ^ words[3].rotate_left(41);
    (spread.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - FRONTS.trailing_zeros())) as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::vec::Vec;

    /// All nine fields in front, of which some are of several bytes, and what stands after them.
    fn body(file: u8, sequence: u8, rest: &[u8]) -> Vec<u8> {
        let front = [
            0x7f, 0x8a, 0, 0xcf, 1, 2, 3, 4, 5, 6, 7, 8, 1, 0xcd, 0x20, file, 2, 0xcc, 200, 3,
            0x30, 4, 0xce, 1, 2, 3, 4, 5, 0xcf, 9, 8, 7, 6, 5, 4, 3, 2, 6, 0x7f,
        ];
        let behind = [
            7, 0xcf, 0, 0, 1, 0, 0, 0, 0, sequence, 8, 0xcf, 24, 121, 159, 60, 0, 0, 0, 1,
        ];
        [&front[..], &behind, rest].concat()
    }

    /// Whatever was looked at before, the answer is that of a look without memory.
    #[test]
    fn what_was_seen_before_changes_no_answer() {
        let rests: [&[u8]; 4] = [
            &[9, 0x93, 7, 0xff, 0xa2, b'h', b'i', 0, 0, 0],
            &[
                9, 0x93, 7, 0xff, 0xa8, b'h', b'i', b'h', b'i', b'h', b'i', b'h', b'i',
            ],
            &[9, 0x90],
            &[13, 0xcd, 1, 2],
        ];
        let mut fronts = Fronts::default();
        let (mut answers, mut known) = (0, 0);
        for rest in rests {
            let whole = body(0, 1, rest);
            for len in 0..=whole.len() {
                for at in 0..len {
                    for byte in [
                        0, 1, 7, 8, 9, 0x7f, 0x80, 0x8b, 0xa1, 0xc0, 0xcc, 0xcd, 0xce, 0xcf, 0xff,
                    ] {
                        let mut body = whole[..len].to_vec();
                        body[at] = byte;
                        let (mut plain, mut quick) = (Glance::default(), Glance::default());
                        let expected = all_fields(&mut plain, &body);
                        let is_known = fronts.knows(&body);
                        assert_eq!(fronts.look(&mut quick, &body), expected, "{body:02x?}");
                        assert!(expected.is_none() || quick == plain, "{body:02x?}");
                        answers += u32::from(expected.is_some());
                        known += u32::from(expected.is_some() && is_known);
                    }
                }
            }
        }
        assert!(answers > 1000 && known > 500, "{answers} {known}");
    }

    #[test]
    fn a_front_is_known_again_and_its_neighbours_are_not() {
        let mut fronts = Fronts::default();
        let rest = [&[9, 0x91, 0xa9][..], b"some text"].concat();
        let first = body(0, 1, &rest);
        assert!(!fronts.knows(&first));
        assert!(fronts.look(&mut Glance::default(), &first).is_some());
        assert!(fronts.knows(&first) && fronts.knows(&body(0, 2, &rest)));
        assert!(!fronts.knows(&body(1, 2, &rest)));
    }

    /// Of a record that was seen whole, and of all that differ from it in one byte: what is said without a look
    /// at the front is what a look says, and nothing is said where the checksum is of other bytes.
    #[test]
    fn what_is_expected_is_said_of_records_with_the_right_checksum_only() {
        let arguments = [&[9, 0x92, 7, 0xa9][..], b"some text"].concat();
        let mut whole = body(0, 1, &arguments);
        whole[1] = 0x8a;
        let sum = crc32fast::hash;
        for expected in [Expected::Alike, Expected::KeptBack] {
            let mut fronts = Fronts::default();
            assert!(fronts.look(&mut Glance::default(), &whole).is_some());
            assert!(fronts.again(&whole, sum(&whole)).is_none());
            fronts.expect(&whole, expected);
            let mut said = 0;
            for at in 0..whole.len() {
                for change in 0..=255 {
                    let mut other = whole.clone();
                    other[at] ^= change;
                    if change != 0 {
                        assert!(fronts.again(&other, sum(&whole)).is_none(), "{other:02x?}");
                    }
                    let Some(again) = fronts.again(&other, sum(&other)) else {
                        continue;
                    };
                    let mut peek = Peek::default();
                    let rest = all_fields(&mut peek.glance, &other);
                    assert!(rest.is_some_and(|rest| rest.is_arguments(&other)));
                    assert_eq!(again.sequence, peek.glance.sequence.unwrap());
                    assert_eq!(again.time, peek.glance.time.unwrap());
                    assert_eq!(again.run(), peek.glance.run);
                    assert_eq!(again.is_kept_back, expected == Expected::KeptBack);
                    let is_whole = peek.look_at_rest(rest.unwrap(), &other);
                    assert_eq!(again.peek(&other), is_whole.then_some(peek));
                    said += 1;
                }
            }
            assert!(said > 2000, "{said}");
            assert!(fronts.again(&whole[..BYTES - 1], sum(&whole)).is_none());
            fronts.expect(&whole, Expected::Nothing);
            assert!(fronts.again(&whole, sum(&whole)).is_none());
        }
    }

    #[test]
    fn nothing_is_expected_where_more_than_arguments_stand_behind() {
        let whole = body(0, 1, &[9, 0x91, 7, 13, 0xcc, 200, 14, 1, 15, 0x80, 0, 0]);
        for head in [0x89, 0x8b, 0x8c] {
            let mut body = whole.clone();
            body[1] = head;
            let mut fronts = Fronts::default();
            assert!(fronts.look(&mut Glance::default(), &body).is_some());
            fronts.expect(&body, Expected::KeptBack);
            assert!(fronts.again(&body, crc32fast::hash(&body)).is_none());
        }
    }

    impl Fronts {
        fn knows(&self, body: &[u8]) -> bool {
            words(body).is_some_and(|words| self.known[slot(&words)].begins(&words))
        }
    }
}
