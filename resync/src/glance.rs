//! What a data record says about its place and weight, read without looking at
//! its arguments: enough to merge and to filter.

use logdef_wire::msgpack::Decoder;
use logdef_wire::record::Data;
use logdef_wire::{Level, Magic, Record, Run, Sequence, Svma, Tag, Value};

/// The constant and the numeric fields of a data record.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Glance {
    /// The image of the call site.
    pub magic: Option<Magic>,
    /// Where its file name stands.
    pub file: Option<Svma>,
    /// The line.
    pub line: Option<u64>,
    /// The level.
    pub level: Option<Level>,
    /// Where its format stands.
    pub format: Option<Svma>,
    /// The run.
    pub run: Option<Run>,
    /// `pthread_self()`.
    pub thread: Option<u64>,
    /// Thread number and count.
    pub sequence: Option<Sequence>,
    /// Nanoseconds since the Unix epoch.
    pub time: Option<u64>,
}

impl Glance {
    /// Looks at the body of a data record that is not masked. `None` if it is
    /// none, or breaks the grammar as far as was looked.
    #[inline]
    pub fn of(body: &[u8]) -> Option<Glance> {
        let mut decoder = Decoder::new(body);
        if decoder.tag().ok()? != Tag::DATA.0 {
            return None;
        }
        let fields = decoder.map_head().ok()?;
        let mut glance = Glance::default();
        let mut before = None;
        for _ in 0..fields {
            let Value::Uint(tag) = decoder.value().ok()? else {
                return Glance::of_any_order(body);
            };
            // Writers keep the order of the fields: what follows is not ours.
            if tag > 8 && before == Some(8) {
                return Some(glance);
            }
            if before.is_some_and(|before| before >= tag) || tag > 8 {
                return Glance::of_any_order(body);
            }
            before = Some(tag);
            let value = decoder.value().ok()?.as_uint();
            match tag {
                0 => glance.magic = value.map(Magic),
                1 => glance.file = value.map(Svma),
                2 => glance.line = value,
                3 => glance.level = value.and_then(|level| level.try_into().ok()).map(Level),
                4 => glance.format = value.map(Svma),
                5 => glance.run = value.map(Run),
                6 => glance.thread = value,
                7 => glance.sequence = value.map(Sequence),
                _ => glance.time = value,
            }
        }
        Some(glance)
    }

    #[cold]
    fn of_any_order(body: &[u8]) -> Option<Glance> {
        match Record::decode(body) {
            Ok(Record::Data(data)) => Some(Glance::from(&data)),
            _ => None,
        }
    }
}

impl From<&Data<'_>> for Glance {
    fn from(data: &Data<'_>) -> Glance {
        Glance {
            magic: data.magic,
            file: data.file,
            line: data.line,
            level: data.level,
            format: data.format,
            run: data.run,
            thread: data.thread,
            sequence: data.sequence,
            time: data.time,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_glance_agrees_with_the_decoder_in_any_order() {
        let ordered: &[u8] = &[0x7f, 0x84, 2, 42, 3, 0x30, 8, 0xcd, 1, 0, 9, 0x91, 1];
        let shuffled: &[u8] = &[0x7f, 0x84, 9, 0x91, 1, 8, 0xcd, 1, 0, 3, 0x30, 2, 42];
        let twice: &[u8] = &[0x7f, 0x83, 8, 1, 2, 3, 2, 4];
        let missing: &[u8] = &[0x7f, 0x83, 2, 42, 9, 0x91, 1, 10, 0x91, 2];
        let odd_key: &[u8] = &[0x7f, 0x82, 0xa1, b'k', 1, 8, 5];
        for body in [ordered, shuffled, twice, missing, odd_key] {
            let Ok(Record::Data(data)) = Record::decode(body) else {
                panic!("{body:02x?}");
            };
            assert_eq!(Glance::of(body), Some(Glance::from(&data)), "{body:02x?}");
        }
        assert_eq!(Glance::of(&[0x06, 0x80]), None);
    }
}
