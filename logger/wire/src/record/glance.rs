//! The front of a data record: the nine integers that every writer of ours puts
//! first, and in this order. They say where a record belongs and its level: enough to merge
//! and to filter without a look at its arguments.

use super::{Data, Glance, Record, Tag, field};
use crate::msgpack::{Array, Decoder, end_of_objects};
use crate::{Level, Magic, Run, Sequence, Svma};

impl Glance {
    /// Looks at the body of a data record that is not masked. `None` if it is not a data
    /// record, or breaks the grammar in the part that was read.
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
            Ok(Record::Data(data)) => Some(data.front),
            _ => None,
        }
    }
}

/// A glance, and what else must be known to count the records of a log.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Peek<'b> {
    /// The fields in front of the arguments.
    pub glance: Glance,
    /// Records of the thread that were dropped just before this one.
    pub dropped: u64,
    /// The printf arguments in order.
    pub args: Option<Array<'b>>,
    /// Return addresses, innermost first.
    pub backtrace: Option<Array<'b>>,
    /// Whether it may have fields beside these.
    pub has_more: bool,
}

impl<'b> Peek<'b> {
    /// Looks at the whole body of a data record that stands as writers write it:
    /// its fields in order, nothing but integers in the first nine. `None` where
    /// it is anything else: then the decoder has to look.
    #[inline]
    pub fn of(body: &'b [u8]) -> Option<Peek<'b>> {
        Peek::behind(Front::of(body)?, body)
    }

    /// Looks at a body that has all fields of a glance, as nearly all have. `false` means: use the general
    /// path; it does not mean that the body is no data record, and what stands here then has no meaning.
    ///
    /// What it sees is written into its place: a core waits long where it moves in wide pieces what was
    /// just written in narrow ones.
    #[inline(always)]
    pub fn look(&mut self, body: &'b [u8]) -> bool {
        let rest = all_fields(&mut self.glance, body);
        rest.is_some_and(|rest| self.look_at_rest(rest, body))
    }

    /// Looks at what stands after the glance, which is there already.
    #[inline(always)]
    pub fn look_at_rest(&mut self, Rest { fields, at }: Rest, body: &'b [u8]) -> bool {
        // Of most records the arguments are all that is left.
        let args = match fields {
            1 => only_arguments(body, at),
            _ => None,
        };
        if args.is_some() {
            (self.args, self.backtrace) = (args, None);
            (self.dropped, self.has_more) = (0, false);
            return true;
        }
        self.look_behind(fields, at, body)
    }

    #[inline(never)]
    fn look_behind(&mut self, fields: u32, at: usize, body: &'b [u8]) -> bool {
        let front = Front {
            glance: self.glance,
            fields,
            at,
            next: field::ARGS,
        };
        Peek::behind(front, body).is_some_and(|peek| {
            *self = peek;
            true
        })
    }

    fn behind(front: Front, body: &'b [u8]) -> Option<Peek<'b>> {
        let Front {
            glance,
            mut fields,
            mut at,
            mut next,
        } = front;
        let (mut dropped, mut args, mut backtrace, mut has_more) = (0, None, None, false);
        while fields > 0 {
            let key = *body.get(at)?;
            if key < next || key > 0x7f {
                return None;
            }
            match key {
                field::DROPPED => dropped = uint(body, &mut at)?,
                field::ARGS => args = Some(array(body, &mut at)?),
                field::BACKTRACE => backtrace = Some(array(body, &mut at)?),
                _ => {
                    has_more = true;
                    at = end_of_objects(body, at + 1, 1)?;
                }
            }
            next = key + 1;
            fields -= 1;
        }
        (at == body.len()).then_some(Peek {
            glance,
            dropped,
            args,
            backtrace,
            has_more,
        })
    }
}

/// The fields of a record after those of a glance.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rest {
    pub(super) fields: u32,
    /// Offset of the first.
    pub(super) at: usize,
}

impl Rest {
    /// Whether nothing but arguments is there, whole or not.
    #[inline(always)]
    pub fn is_arguments(self, body: &[u8]) -> bool {
        self.fields == 1 && body.get(self.at) == Some(&field::ARGS)
    }
}

/// The fields of a glance, and where the fields after them begin.
#[derive(Clone, Copy, Debug, PartialEq)]
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
        match Front::of_all_fields(body) {
            Some(front) => Some(front),
            None => Front::of_some_fields(body),
        }
    }

    /// The front of a body that has all nine fields, as those of our loggers have:
    /// which comes next need not be found out.
    #[inline(always)]
    fn of_all_fields(body: &[u8]) -> Option<Front> {
        let mut glance = Glance::default();
        let Rest { fields, at } = all_fields(&mut glance, body)?;
        Some(Front {
            glance,
            fields,
            at,
            next: field::ARGS,
        })
    }

    #[inline(never)]
    fn of_some_fields(body: &[u8]) -> Option<Front> {
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
            if key < next || key > field::TIME {
                break;
            }
            let value = uint(body, &mut at)?;
            match key {
                field::MAGIC => glance.magic = Some(Magic(value)),
                field::FILE => glance.file = Some(Svma(value)),
                field::LINE => glance.line = Some(value),
                field::LEVEL => glance.level = Some(Level(value.try_into().ok()?)),
                field::FORMAT => glance.format = Some(Svma(value)),
                field::RUN => glance.run = Some(Run(value)),
                field::THREAD => glance.thread = Some(value),
                field::SEQUENCE => glance.sequence = Some(Sequence(value)),
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
            if self.next < field::ARGS
                || !body
                    .get(at)
                    .is_some_and(|key| (field::ARGS..0x80).contains(key))
            {
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
            glance: data.front,
            dropped: data.dropped.unwrap_or(0),
            args: data.args,
            backtrace: data.backtrace,
            has_more: data.has_more_than_a_peek(),
        }
    }
}

/// Reads all fields of a glance, if all are there, and returns what is left.
#[inline(always)]
pub(super) fn all_fields(glance: &mut Glance, body: &[u8]) -> Option<Rest> {
    let rest = fields_to_sequence(glance, body)?;
    sequence_and_time(glance, body, rest)
}

/// Reads the fields before the sequence, if all of a glance can be there, and returns how many fields stand
/// after the glance, with the place of the sequence.
#[inline(always)]
pub(super) fn fields_to_sequence(glance: &mut Glance, body: &[u8]) -> Option<Rest> {
    let (&[127, head @ 0x89..=0x8f], mut rest) = body.split_first_chunk()? else {
        return None;
    };
    let mut next = |key| uint_behind(&mut rest, key);
    glance.magic = Some(Magic(next(field::MAGIC)?));
    glance.file = Some(Svma(next(field::FILE)?));
    glance.line = Some(next(field::LINE)?);
    glance.level = Some(Level(next(field::LEVEL)?.try_into().ok()?));
    glance.format = Some(Svma(next(field::FORMAT)?));
    glance.run = Some(Run(next(field::RUN)?));
    glance.thread = Some(next(field::THREAD)?);
    Some(Rest {
        fields: (head - 0x89) as u32,
        at: body.len() - rest.len(),
    })
}

/// Reads the sequence, which stands at the place of the rest, and the time, and returns what is left.
#[inline(always)]
pub(super) fn sequence_and_time(glance: &mut Glance, body: &[u8], rest: Rest) -> Option<Rest> {
    let mut bytes = &body[rest.at..];
    glance.sequence = Some(Sequence(uint_behind(&mut bytes, field::SEQUENCE)?));
    glance.time = Some(uint_behind(&mut bytes, field::TIME)?);
    let at = body.len() - bytes.len();
    Some(Rest { at, ..rest })
}

/// The arguments, if they are the field at `at` and reach to the end of the body.
#[inline(always)]
pub(super) fn only_arguments(body: &[u8], at: usize) -> Option<Array<'_>> {
    if body.get(at) != Some(&field::ARGS) {
        return None;
    }
    let mut decoder = Decoder::new(&body[at + 1..]);
    let array = decoder.array()?;
    decoder.is_empty().then_some(array)
}

/// The array after the key at `at`, which moves after it.
#[inline(always)]
fn array<'b>(body: &'b [u8], at: &mut usize) -> Option<Array<'b>> {
    let mut decoder = Decoder::new(body.get(*at + 1..)?);
    let array = decoder.array()?;
    *at += 1 + decoder.position();
    Some(array)
}

/// The unsigned integer after the key at `at`, which moves after it.
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

/// The unsigned integer at the front of `rest`, after this key; then `rest` begins
/// after it. A short one at the very end is left to [`uint`].
#[inline(always)]
pub(super) fn uint_behind(rest: &mut &[u8], key: u8) -> Option<u64> {
    let [first, head, digits @ ..] = *rest.first_chunk::<10>()?;
    if first != key {
        return None;
    }
    let digits = u64::from_be_bytes(digits);
    let (len, number) = match head {
        0xcf => (10, digits),
        0..=0x7f => (2, head as u64),
        0xce => (6, digits >> 32),
        0xcd => (4, digits >> 48),
        0xcc => (3, digits >> 56),
        _ => return None,
    };
    *rest = &rest[len..];
    Some(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Fails unless a quick look says what the decoder says. It counts a field without a look at its value,
    /// and the decoder leaves out a field whose value is of another kind.
    fn agrees(quick: &Peek<'_>, data: &Data<'_>, body: &[u8]) {
        let slow = Peek::from(data);
        assert!(quick.has_more || !slow.has_more, "{body:02x?}");
        let has_more = slow.has_more;
        assert_eq!(Peek { has_more, ..*quick }, slow, "{body:02x?}");
    }

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
            assert_eq!(Glance::of(body), Some(data.front), "{body:02x?}");
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
                        agrees(&peek, &data, &body);
                        assert!(Data::of_fields_in_order(&body).is_none_or(|quick| quick == data));
                        quick += u32::from(Data::of_fields_in_order(&body).is_some());
                        agreed += 1;
                    }
                }
            }
        }
        assert!(agreed > 100 && quick > 50, "{agreed}, {quick}");
    }

    /// All nine fields, integers of all widths, arguments, a backtrace, dropped records.
    const WHOLE: &[u8] = &[
        0x7f, 0x8c, 0, 0xcf, 1, 2, 3, 4, 5, 6, 7, 8, 1, 0xcd, 0x20, 0, 2, 0xcc, 200, 3, 0x30, 4,
        0xce, 1, 2, 3, 4, 5, 0xcf, 9, 8, 7, 6, 5, 4, 3, 2, 6, 0x7f, 7, 0xcf, 0, 0, 1, 0, 0, 0, 0,
        5, 8, 0xcf, 24, 121, 159, 60, 0, 0, 0, 1, 9, 0x93, 7, 0xff, 0xa2, b'h', b'i', 10, 0x91,
        0xcd, 1, 2, 13, 3,
    ];

    /// What a look at another record has left behind.
    fn stale() -> Peek<'static> {
        Peek {
            glance: Glance {
                magic: Some(Magic(99)),
                ..Glance::default()
            },
            dropped: 99,
            args: Some(Array::default()),
            backtrace: Some(Array::default()),
            has_more: true,
        }
    }

    #[test]
    fn the_quick_look_at_all_fields_is_the_slow_one_wherever_it_answers() {
        let heads = [
            0, 1, 5, 13, 0x7f, 0x80, 0x90, 0xa1, 0xc0, 0xc1, 0xcc, 0xcd, 0xce, 0xcf, 0xd0, 0xff,
        ];
        let mut answers = 0;
        for len in 0..=WHOLE.len() {
            for at in 0..len {
                for head in heads.into_iter().chain([WHOLE[at]]) {
                    let mut body = WHOLE[..len].to_vec();
                    body[at] = head;
                    let slow = Front::of_some_fields(&body);
                    if let Some(quick) = Front::of_all_fields(&body) {
                        let is_cut = quick.at == len && quick.fields > 0 && slow.is_none();
                        assert!(is_cut || Some(quick) == slow, "{body:02x?}");
                    }
                    let mut quick = stale();
                    if quick.look(&body) {
                        let Ok(Record::Data(data)) = Record::decode_any(&body) else {
                            panic!("{body:02x?} is malformed");
                        };
                        agrees(&quick, &data, &body);
                        answers += 1;
                    }
                }
            }
        }
        assert!(answers > 100, "{answers}");
        let mut quick = stale();
        assert!(quick.look(WHOLE));
        assert_eq!(Some(quick), Peek::of(WHOLE));
        assert_eq!(quick.dropped, 3);
    }

    #[test]
    fn where_nothing_follows_the_arguments_a_look_leaves_nothing_of_the_one_before() {
        let mut body = WHOLE[..WHOLE.len() - 7].to_vec();
        body[1] = 0x8a;
        let mut quick = stale();
        assert!(quick.look(&body));
        assert_eq!(Some(quick), Peek::of(&body));
        assert_eq!(quick.args.map(|args| args.len()), Some(3));
    }
}
