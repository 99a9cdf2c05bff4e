//! What kinds of objects an array holds, as one number: arrays of the arguments of a call site mostly hold
//! the same ones. Knows first bytes only, not values.

use super::Array;
use super::decode::end_of_objects;

/// The kinds of the objects of an array, and how many they are.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Kinds(u64);

/// Objects that there may be at most.
const MOST: u32 = 16;

const INTEGER: u8 = 0;
const FLOAT: u8 = 1;
const RAW: u8 = 2;
const OTHER: u8 = 3;

impl Kinds {
    /// Those of a short array of integers, floats and raws; `None` of any other.
    ///
    /// ```
    /// use logdef_wire::msgpack::{Array, Kinds};
    ///
    /// let kinds = |len, objects| Kinds::of(Array::from_objects(len, objects).unwrap());
    /// assert_eq!(kinds(2, b"\xa1a\x07"), kinds(2, b"\xa2bc\xd1\xff\x00"));
    /// assert_ne!(kinds(2, b"\xa1a\x07"), kinds(1, b"\xa1a"));
    /// assert_eq!(kinds(1, b"\xc0"), None);
    /// ```
    #[inline]
    pub fn of(array: Array<'_>) -> Option<Kinds> {
        if array.len() > MOST {
            return None;
        }
        let objects = array.objects();
        // The first bit says how many follow.
        let (mut at, mut kinds) = (0, 1);
        while let Some(first) = objects.get(at) {
            let kind = KINDS[*first as usize];
            if kind == OTHER {
                return None;
            }
            kinds = kinds << 2 | kind as u64;
            at = end_of_objects(objects, at, 1)?;
        }
        Some(Kinds(kinds))
    }
}

static KINDS: [u8; 256] = {
    let mut table = [OTHER; 256];
    let mut first = 0;
    while first < 256 {
        table[first] = match first as u8 {
            0x00..=0x7f | 0xe0..=0xff | 0xcc..=0xcf | 0xd0..=0xd3 => INTEGER,
            0xca | 0xcb => FLOAT,
            0xa0..=0xbf | 0xd9..=0xdb => RAW,
            _ => OTHER,
        };
        first += 1;
    }
    table
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Value;
    use std::vec::Vec;

    #[test]
    fn first_bytes_say_of_which_kind_the_decoder_finds_a_value() {
        let mut seen = [0; 4];
        for first in 0..=0xff {
            let mut object = [0; 40];
            object[0] = first;
            let Some(end) = end_of_objects(&object, 0, 1) else {
                continue;
            };
            let array = Array::from_objects(1, &object[..end]).unwrap();
            let values: Vec<_> = array.iter().collect();
            let kind = match values[..] {
                [Value::Int(_) | Value::Uint(_)] => INTEGER,
                [Value::Float(_)] => FLOAT,
                [Value::Raw(_)] => RAW,
                _ => OTHER,
            };
            assert_eq!(KINDS[first as usize], kind, "{first:02x}");
            assert_eq!(Kinds::of(array).is_none(), kind == OTHER, "{first:02x}");
            seen[kind as usize] += 1;
        }
        assert!(seen.iter().all(|seen| *seen >= 2), "{seen:?}");
    }
}
