//! The short way to text: directives without flags, width and precision, of which
//! most formats consist, over arguments of which nothing is unusual. Whatever else
//! comes goes the long way, which gives the same text for these too.

use logdef_wire::Value;
use logdef_wire::printf::{Class, Count, Directive, Flags};

use super::decimal::Word;
use super::float::short_double;
use super::integer::Bits;

/// What kind of directive takes the short way.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Shortcut {
    None,
    /// `%d` of a number that is less than this from 0.
    Signed(u64),
    Unsigned,
    Double,
    Bytes,
}

impl Shortcut {
    pub fn of(directive: &Directive) -> Self {
        if directive.flags != Flags::default()
            || directive.width != Count::None
            || directive.precision != Count::None
        {
            return Self::None;
        }
        let bits = Bits::of(directive.length);
        match (directive.class(), directive.conversion.0, bits) {
            (Some(Class::Int), b'd' | b'i', Bits::Int) => Self::Signed(1 << 31),
            (Some(Class::Int), b'd' | b'i', Bits::Exactly(64)) => Self::Signed(1 << 63),
            (Some(Class::Int), b'u', Bits::Int | Bits::Exactly(64)) => Self::Unsigned,
            (Some(Class::Float), b'f', _) => Self::Double,
            (Some(Class::Str | Class::WideStr), _, _) => Self::Bytes,
            _ => Self::None,
        }
    }

    /// The text of an argument; none if it has to go the long way.
    #[inline(always)]
    fn word(self, arg: &Value<'_>) -> Option<Word> {
        match (self, arg) {
            (Self::Signed(limit), Value::Uint(value)) if *value < limit => Word::decimal(*value),
            (Self::Signed(limit), Value::Int(value)) if value.unsigned_abs() < limit => {
                Some(Word::decimal(value.unsigned_abs())?.signed(true))
            }
            (Self::Unsigned, Value::Uint(value)) => Word::decimal(*value),
            (Self::Double, Value::Float(value)) => short_double(*value),
            (Self::Bytes, Value::Raw(bytes)) if bytes.len() <= Word::SIZE => Some(Word::of(bytes)),
            _ => None,
        }
    }
}

/// How much room a short text and an argument take at most.
pub(super) const ROOM: usize = 2 * Word::SIZE;

/// Text in a buffer of which the rest is still to be written.
///
/// Unlike a vector, it keeps its length in a register while it is filled.
#[derive(Debug)]
pub(super) struct Line<'o> {
    bytes: &'o mut [u8],
    length: usize,
}

impl<'o> Line<'o> {
    /// A line of which `length` bytes are written.
    pub fn new(bytes: &'o mut [u8], length: usize) -> Self {
        Self { bytes, length }
    }

    pub fn len(&self) -> usize {
        self.length
    }

    /// Appends `lead` and then an argument; false, and nothing, if that has to go
    /// the long way or does not fit.
    #[inline(always)]
    pub fn push(&mut self, lead: Word, shortcut: Shortcut, arg: &Value<'_>) -> bool {
        let Some(word) = shortcut.word(arg) else {
            return self.push_string(lead, shortcut, arg);
        };
        let rest = self.bytes.get_mut(self.length..);
        let Some(room) = rest.and_then(|rest| rest.first_chunk_mut::<ROOM>()) else {
            return false;
        };
        let at = lead.length.min(Word::SIZE);
        room[..Word::SIZE].copy_from_slice(&lead.bytes.to_le_bytes());
        room[at..at + Word::SIZE].copy_from_slice(&word.bytes.to_le_bytes());
        self.length += at + word.length;
        true
    }

    fn push_string(&mut self, lead: Word, shortcut: Shortcut, arg: &Value<'_>) -> bool {
        let (Shortcut::Bytes, Value::Raw(bytes)) = (shortcut, arg) else {
            return false;
        };
        let start = self.length;
        let is_whole =
            self.push_slice(&lead.bytes.to_le_bytes()[..lead.length]) && self.push_slice(bytes);
        if !is_whole {
            self.length = start;
        }
        is_whole
    }

    /// Appends bytes; false, and nothing, if there is no room for them.
    pub fn push_slice(&mut self, bytes: &[u8]) -> bool {
        let Some(end) = self.length.checked_add(bytes.len()) else {
            return false;
        };
        let Some(room) = self.bytes.get_mut(self.length..end) else {
            return false;
        };
        room.copy_from_slice(bytes);
        self.length = end;
        true
    }
}
