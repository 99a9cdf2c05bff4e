//! The front of a data record: the nine integers that every writer of ours puts
//! first, and in this order. They say where a record belongs and how grave it is:
//! enough to merge and to filter without a look at its arguments.

use super::{Data, Record, Tag};
use crate::msgpack::{Array, Decoder, end_of_objects};
use crate::{Level, Magic, Run, Sequence, Svma};

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
        if body.first() != Some(&Tag::DATA.0) {
            return None;
        }
        match Front::of(body) {
            // Writers keep the order of the fields: what follows is not ours.
            Some(front) if front.ends_glance(body) => Some(front.glance),
            _ => Glance::of_any_order(body),
        }
    }

    #[cold]
    fn of_any_order(body: &[u8]) -> Option<Glance> {
        match Record::decode(body) {
            Ok(Record::Data(data)) => Some(Glance::from(&data)),
            _ => None,
        }
    }
}

/// A glance, and what else must be known to count the records of a log.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Peek<'b> {
    /// The front.
    pub glance: Glance,
    /// Records of the thread that were dropped just before this one.
    pub dropped: u64,
    /// Return addresses, innermost first.
    pub backtrace: Option<Array<'b>>,
}

impl<'b> Peek<'b> {
    /// Looks at the whole body of a data record that stands as writers write it:
    /// its fields in order, nothing but integers in the first nine. `None` where
    /// it is anything else: then the decoder has to look.
    #[inline]
    pub fn of(body: &'b [u8]) -> Option<Peek<'b>> {
        let Front {
            glance,
            mut fields,
            mut at,
            mut next,
            ..
        } = Front::of(body)?;
        let (mut dropped, mut backtrace) = (0, None);
        while fields > 0 {
            let key = *body.get(at)?;
            if key < next || key > 0x7f {
                return None;
            }
            if key == 13 {
                dropped = uint(body, &mut at)?;
            } else {
                let start = at + 1;
                at = end_of_objects(body, start, 1)?;
                if key == 10 {
                    backtrace = Some(Decoder::new(&body[start..at]).array()?);
                }
            }
            next = key + 1;
            fields -= 1;
        }
        (at == body.len()).then_some(Peek {
            glance,
            dropped,
            backtrace,
        })
    }
}

/// The fields of a glance, and where a body goes on behind them.
pub(super) struct Front {
    pub(super) glance: Glance,
    /// Fields that are left.
    pub(super) fields: u32,
    /// Offset of the next one.
    pub(super) at: usize,
    /// The lowest key that it may have.
    next: u8,
}

impl Front {
    #[inline]
    pub(super) fn of(body: &[u8]) -> Option<Front> {
        let [tag, head, ..] = *body else {
            return None;
        };
        if tag != Tag::DATA.0 {
            return None;
        }
        let (mut fields, mut at) = match head {
            0x80..=0x8f => ((head & 0xf) as u32, 2),
            0xde => (u16::from_be_bytes(*body[2..].first_chunk()?) as u32, 4),
            _ => return None,
        };
        let mut glance = Glance::default();
        let mut next = 0;
        while fields > 0 {
            let key = *body.get(at)?;
            if key < next || key > 8 {
                break;
            }
            let value = uint(body, &mut at)?;
            match key {
                0 => glance.magic = Some(Magic(value)),
                1 => glance.file = Some(Svma(value)),
                2 => glance.line = Some(value),
                3 => glance.level = Some(Level(value.try_into().ok()?)),
                4 => glance.format = Some(Svma(value)),
                5 => glance.run = Some(Run(value)),
                6 => glance.thread = Some(value),
                7 => glance.sequence = Some(Sequence(value)),
                _ => glance.time = Some(value),
            }
            next = key + 1;
            fields -= 1;
        }
        Some(Front {
            glance,
            fields,
            at,
            next,
        })
    }

    /// Whether what is left says no more of a glance: all nine fields were there, and
    /// no key of one of them comes again, which would count instead. Of most records
    /// one field is left, whose value need not be looked at.
    #[inline]
    fn ends_glance(&self, body: &[u8]) -> bool {
        let mut at = self.at;
        for left in (1..=self.fields).rev() {
            if self.next < 9 || !body.get(at).is_some_and(|key| (9..0x80).contains(key)) {
                return false;
            }
            if left > 1 {
                let Some(end) = end_of_objects(body, at + 1, 1) else {
                    return false;
                };
                at = end;
            }
        }
        true
    }
}

impl<'b> From<&Data<'b>> for Peek<'b> {
    fn from(data: &Data<'b>) -> Peek<'b> {
        Peek {
            glance: Glance::from(data),
            dropped: data.dropped.unwrap_or(0),
            backtrace: data.backtrace,
        }
    }
}

/// The unsigned integer behind the key at `at`, which moves behind it.
#[inline]
fn uint(body: &[u8], at: &mut usize) -> Option<u64> {
    let value = body.get(*at + 1..)?;
    let (len, number) = match *value.first()? {
        small @ 0..=0x7f => (1, small as u64),
        0xcc => (2, *value.get(1)? as u64),
        0xcd => (3, u16::from_be_bytes(*value[1..].first_chunk()?) as u64),
        0xce => (5, u32::from_be_bytes(*value[1..].first_chunk()?) as u64),
        0xcf => (9, u64::from_be_bytes(*value[1..].first_chunk()?)),
        _ => return None,
    };
    *at += 1 + len;
    Some(number)
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
        let late: &[u8] = &[
            0x7f, 0x8b, 0, 1, 1, 1, 2, 1, 3, 1, 4, 1, 5, 1, 6, 1, 7, 1, 8, 1, 9, 0x91, 1, 2, 42,
        ];
        let nil: &[u8] = &[0x7f, 0x82, 2, 0xc0, 8, 1];
        let missing: &[u8] = &[0x7f, 0x83, 2, 42, 9, 0x91, 1, 10, 0x91, 2];
        let odd_key: &[u8] = &[0x7f, 0x82, 0xa1, b'k', 1, 8, 5];
        for body in [ordered, shuffled, twice, late, nil, missing, odd_key] {
            let Ok(Record::Data(data)) = Record::decode_any(body) else {
                panic!("{body:02x?}");
            };
            assert_eq!(Glance::of(body), Some(Glance::from(&data)), "{body:02x?}");
        }
        assert_eq!(Glance::of(&[0x06, 0x80]), None);
    }

    #[test]
    fn a_peek_agrees_with_the_decoder_or_leaves_it_to_it() {
        let bodies: [&[u8]; 6] = [
            &[0x7f, 0x84, 2, 42, 3, 0x30, 8, 0xcd, 1, 0, 9, 0x91, 1],
            &[
                0x7f, 0x83, 5, 0xcf, 0, 0, 0, 0, 0, 0, 0, 9, 13, 0xcc, 200, 15, 0x81, 0xa1, b'k',
                0xc3,
            ],
            &[
                0x7f, 0x81, 9, 0x94, 0xa2, b'h', b'i', 0xda, 0, 1, b'x', 0xcb, 1, 2, 3, 4, 5, 6, 7,
                8, 0xd1, 9, 9,
            ],
            &[
                0x7f, 0x82, 9, 0xdc, 0, 2, 1, 2, 10, 0x92, 0xce, 1, 2, 3, 4, 0x80,
            ],
            &[0x7f, 0xde, 0, 1, 2, 42],
            &[0x7f, 0x82, 3, 0xcd, 1, 0, 2, 7],
        ];
        let (mut agreed, mut quick) = (0, 0);
        for body in bodies {
            for len in 0..=body.len() {
                for byte in [None, Some(0xc1), Some(0x91), Some(0xdf), Some(0x0d)] {
                    for at in 0..len {
                        let mut body = body[..len].to_vec();
                        body[at] = byte.unwrap_or(body[at]);
                        let Some(peek) = Peek::of(&body) else {
                            continue;
                        };
                        let Ok(Record::Data(data)) = Record::decode_any(&body) else {
                            panic!("{body:02x?} is malformed");
                        };
                        assert_eq!(peek, Peek::from(&data), "{body:02x?}");
                        assert!(Data::of_fields_in_order(&body).is_none_or(|quick| quick == data));
                        quick += u32::from(Data::of_fields_in_order(&body).is_some());
                        agreed += 1;
                    }
                }
            }
        }
        assert!(agreed > 100 && quick > 50, "{agreed}, {quick}");
    }
}
