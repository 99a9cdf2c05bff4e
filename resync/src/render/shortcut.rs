//! The short way to text: directives without flags, width and precision, of which
//! most formats consist, over arguments of which nothing is unusual. Whatever else
//! comes goes the long way, which gives the same text for these too.

use logdef_wire::printf::{Class, Count, Directive, Flags, Length};
use logdef_wire::{Grammar, Value};

use super::decimal::Word;
use super::float::short_double;

/// A directive and the text before it, as far as they go the short way.
#[derive(Clone, Copy, Debug)]
pub(super) struct Step {
    lead: Word,
    arg: usize,
    shortcut: Shortcut,
}

/// What kind of directive takes the short way.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Shortcut {
    None,
    Signed32,
    Signed64,
    Unsigned,
    Double,
    Bytes,
}

/// Appends the text of steps as long as nothing is unusual, and returns how many
/// these were: none if the first one has to go the long way.
pub(super) fn push_steps(steps: &[Step], args: &[Value<'_>], out: &mut Vec<u8>) -> usize {
    if steps
        .first()
        .is_none_or(|step| step.shortcut == Shortcut::None)
    {
        return 0;
    }
    // Filled in a block of known size, which costs neither a call nor, at each
    // step, a look at the vector.
    let start = out.len();
    out.extend_from_slice(&[0; BLOCK]);
    let Some(block) = out[start..].first_chunk_mut() else {
        return 0;
    };
    let mut line = Line { block, length: 0 };
    let mut taken = 0;
    for step in steps {
        match args.get(step.arg) {
            Some(arg) if line.push(step, arg) => taken += 1,
            _ => break,
        }
    }
    let end = start + line.length;
    out.truncate(end);
    taken
}

/// Bytes that are filled at a time.
const BLOCK: usize = 256;
/// The longest string that is copied in two pieces of fixed size.
const SHORT: usize = 64;
/// How much room a step takes at most, a long string apart.
const ROOM: usize = Word::SIZE + SHORT;

impl Step {
    /// The way for a directive with the text `lead` before it, which takes the
    /// argument `arg` on the wire.
    pub fn of(directive: &Directive, grammar: Grammar, lead: &[u8], arg: usize) -> Self {
        if lead.len() > Word::SIZE {
            return Self {
                lead: Word::default(),
                arg,
                shortcut: Shortcut::None,
            };
        }
        Self {
            lead: Word::of(lead),
            arg,
            shortcut: Shortcut::of(directive, grammar),
        }
    }
}

impl Shortcut {
    fn of(directive: &Directive, grammar: Grammar) -> Self {
        if directive.flags != Flags::default()
            || directive.width != Count::None
            || directive.precision != Count::None
        {
            return Self::None;
        }
        // What no length modifier narrows has the short way of 64 bits.
        let length = match grammar {
            Grammar::Printf => directive.length,
            _ => Length::Long,
        };
        match (directive.class(), directive.conversion.0, length) {
            (Some(Class::Int), b'd' | b'i', Length::None) => Self::Signed32,
            (Some(Class::Int), b'd' | b'i', length) if has_64_bits(length) => Self::Signed64,
            (Some(Class::Int), b'u', length) if length == Length::None || has_64_bits(length) => {
                Self::Unsigned
            }
            (Some(Class::Float), b'f', _) => Self::Double,
            (Some(Class::Str | Class::WideStr), _, _) => Self::Bytes,
            _ => Self::None,
        }
    }
}

/// Whether C's type of this length has 64 bits.
fn has_64_bits(length: Length) -> bool {
    !matches!(
        length,
        Length::None
            | Length::Char
            | Length::Short
            | Length::W8
            | Length::W16
            | Length::W32
            | Length::Wf8
    )
}

/// Text in a block of which the rest is still to be written.
///
/// Unlike a vector, it keeps its length in a register while it is filled.
struct Line<'o> {
    block: &'o mut [u8; BLOCK],
    length: usize,
}

impl Line<'_> {
    /// Appends a step's text; false, and nothing, if that has to go the long way or
    /// does not fit.
    #[inline(always)]
    fn push(&mut self, step: &Step, arg: &Value<'_>) -> bool {
        let rest = self.block.get_mut(self.length..);
        let Some(room) = rest.and_then(|rest| rest.first_chunk_mut::<ROOM>()) else {
            return false;
        };
        let at = step.lead.length.min(Word::SIZE);
        room[..Word::SIZE].copy_from_slice(&step.lead.bytes.to_le_bytes());
        let word = match (step.shortcut, arg) {
            (Shortcut::Signed32, Value::Uint(value)) if *value < 1 << 31 => Word::decimal(*value),
            (Shortcut::Signed64, Value::Uint(value)) if *value < 1 << 63 => Word::decimal(*value),
            (Shortcut::Unsigned, Value::Uint(value)) => Word::decimal(*value),
            (Shortcut::Signed32, Value::Int(value)) if (-1 << 31..0).contains(value) => {
                Word::negative(*value)
            }
            (Shortcut::Signed64, Value::Int(value)) if *value < 0 => Word::negative(*value),
            (Shortcut::Double, Value::Float(value)) => short_double(*value),
            (Shortcut::Bytes, Value::Raw(bytes)) => {
                if !copy_short(&mut room[at..], bytes) {
                    return self.push_long(at, bytes);
                }
                self.length += at + bytes.len();
                return true;
            }
            _ => None,
        };
        let Some(word) = word else {
            return false;
        };
        room[at..at + Word::SIZE].copy_from_slice(&word.bytes.to_le_bytes());
        self.length += at + word.length;
        true
    }

    /// Appends a string after the `at` bytes of its lead, which stand already.
    fn push_long(&mut self, at: usize, bytes: &[u8]) -> bool {
        let start = self.length + at;
        let Some(room) = self.block.get_mut(start..start + bytes.len()) else {
            return false;
        };
        room.copy_from_slice(bytes);
        self.length = start + bytes.len();
        true
    }
}

/// Copies a string of at most [`SHORT`] bytes to the front of `room`, in two pieces
/// that may overlap: a copy of any length would be a call. False, and nothing, if it
/// is longer.
#[inline(always)]
fn copy_short(room: &mut [u8], bytes: &[u8]) -> bool {
    let Some(room) = room.first_chunk_mut::<SHORT>() else {
        return false;
    };
    let length = bytes.len();
    if length > SHORT {
        return false;
    }
    if let (Some(first), Some(last)) = (bytes.first_chunk::<32>(), bytes.last_chunk::<32>()) {
        room[..32].copy_from_slice(first);
        room[length - 32..length].copy_from_slice(last);
    } else if let (Some(first), Some(last)) = (bytes.first_chunk::<16>(), bytes.last_chunk::<16>())
    {
        room[..16].copy_from_slice(first);
        room[length - 16..length].copy_from_slice(last);
    } else if let (Some(first), Some(last)) = (bytes.first_chunk::<8>(), bytes.last_chunk::<8>()) {
        room[..8].copy_from_slice(first);
        room[length - 8..length].copy_from_slice(last);
    } else {
        let word = Word::of(bytes).bytes as u64;
        room[..8].copy_from_slice(&word.to_le_bytes());
    }
    true
}
