//! What stands in the text of a format whatever the arguments are: its own text, and which bytes an
//! argument can print as. For those who look for a text, and render only where it may be.

use logdef_wire::Value;
use logdef_wire::printf::{Class, Count};

use super::braces::Plain;
use super::compiled::{CompiledFormat, Piece};

/// Values of a format whose parts are known: so few that its text is never cut.
const VALUES: usize = 16;
/// The largest width or precision of them.
const WIDTH: u32 = 256;

/// A part of a text.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum Part<'f> {
    /// Text of the format.
    Text(&'f [u8]),
    /// An argument, by its place on the wire.
    Value(usize, Prints),
    /// As many blanks as a width asks for.
    Blanks,
}

/// What an argument prints as.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum Prints {
    /// An integer, of [`NUMERALS`](Prints::NUMERALS).
    Integer,
    /// A floating point number, of [`NUMERALS`](Prints::NUMERALS).
    Float,
    /// A string: bytes of it that follow each other.
    Bytes,
    /// A number or a string, each as above.
    Either,
}

impl Prints {
    /// All bytes that numbers print as.
    pub const NUMERALS: &'static [u8] = b" +-.0123456789abcdefABCDEFxXpPoOinNIytY";

    /// The string of a value that prints as one; `Some(None)` if it prints as a number, and `None`
    /// where it stands in the wrong place: then it may print as anything.
    #[inline]
    pub fn string_of(self, value: Value<'_>) -> Option<Option<&[u8]>> {
        match (self, value) {
            (Prints::Bytes | Prints::Either, Value::Raw(bytes)) => Some(Some(bytes)),
            (Prints::Integer | Prints::Either, Value::Uint(_) | Value::Int(_))
            | (Prints::Float | Prints::Either, Value::Float(_)) => Some(None),
            _ => None,
        }
    }
}

impl CompiledFormat {
    /// The parts of the text in order; `None` for formats of which no more is known than that they
    /// print. It holds for records each of whose arguments is one that the part
    /// [takes](Prints::string_of).
    ///
    /// ```
    /// use logdef_resync::render::{CompiledFormat, Part, Prints};
    ///
    /// let format = CompiledFormat::new(b"took %d ms");
    /// let parts = format.parts().unwrap();
    /// assert_eq!(parts, [Part::Text(b"took "), Part::Value(0, Prints::Integer), Part::Text(b" ms")]);
    /// assert_eq!(CompiledFormat::new(b"open: %m").parts(), None);
    /// ```
    pub fn parts(&self) -> Option<Vec<Part<'_>>> {
        if let Some(template) = &self.template {
            return template.plain_parts().map(|parts| {
                let part = |part| match part {
                    Plain::Text(text) => Part::Text(text),
                    Plain::Value(arg) => Part::Value(arg, Prints::Either),
                };
                parts.map(part).collect()
            });
        }
        if self.pieces.len() > VALUES {
            return None;
        }
        let mut parts = Vec::with_capacity(2 * self.pieces.len() + 1);
        for piece in &self.pieces {
            parts.push(Part::Text(&self.literals[piece.text.clone()]));
            let value = Part::Value(piece.arg, prints(piece)?);
            match piece.width {
                Count::None => parts.push(value),
                _ => parts.extend([Part::Blanks, value, Part::Blanks]),
            }
        }
        parts.push(Part::Text(&self.literals[self.tail..]));
        parts.retain(|part| *part != Part::Text(b""));
        Some(parts)
    }
}

/// What a directive prints, if it prints nothing unusual.
fn prints(piece: &Piece) -> Option<Prints> {
    let is_small = |count: Count| match count {
        Count::None => true,
        Count::Fixed(count) => count <= WIDTH,
        Count::Argument(_) => false,
    };
    if !is_small(piece.width) || !is_small(piece.precision) {
        return None;
    }
    match piece.class? {
        Class::Int => Some(Prints::Integer),
        Class::Float => Some(Prints::Float),
        Class::Str => Some(Prints::Bytes),
        _ => None,
    }
}
