//! How the arguments of a record are called: by the description of its format, or, where that
//! says nothing, by a guess from a printf format. Knows no tables.

use super::resolved::Resolved;
use logdef_wire::printf::{Directives, Order};
use logdef_wire::{Description, Value};
use std::collections::HashSet;
use std::{iter, mem};

/// As many arguments as a call has: more names say nothing.
const MOST_GUESSES: usize = 64;
/// Names are guessed for that many directives at most, so that no format takes long.
const MOST_DIRECTIVES: usize = 256;

impl<'a> Resolved<'a> {
    /// The names that the program gave to arguments, in their order on the wire; `None` for each argument
    /// without one, and for as many more as are asked for.
    pub fn argument_names(&self) -> impl Iterator<Item = Option<&'a [u8]>> + use<'a> {
        self.description.names().chain(iter::repeat(None))
    }

    /// The names that are guessed for arguments, in their order on the wire, as those that the program
    /// [gave](Self::argument_names): see [`guesses`](Self::guesses).
    pub fn argument_guesses(&self) -> impl Iterator<Item = Option<&'a [u8]>> + use<'a> {
        let mut names = Vec::new();
        for (name, place) in guesses(self.format.bytes.unwrap_or_default(), self.description) {
            names.resize(names.len().max(place + 1), None);
            names[place].get_or_insert(name);
        }
        names.into_iter().chain(iter::repeat(None))
    }

    /// The names of arguments, in their order on the wire: those that the program
    /// [gave](Self::argument_names), and where it gave none those that are [guessed](Self::argument_guesses).
    pub fn names_or_guesses(&self) -> impl Iterator<Item = Option<&'a [u8]>> + use<'a> {
        let both = self.argument_names().zip(self.argument_guesses());
        both.map(|(given, guess)| given.or(guess))
    }

    /// The names that are guessed from `key=%d` or `key: %d` in a printf format, a word after which
    /// nothing else stands, each with the place of its value on the wire. A name that another argument
    /// has already, given or guessed, is left out.
    pub fn guesses(&self) -> Vec<(&'a [u8], usize)> {
        let format = self.format.bytes.unwrap_or_default();
        let mut all: Vec<(&[u8], usize)> = Vec::new();
        for (name, index) in guesses(format, self.description).take(MOST_DIRECTIVES) {
            if all.len() == MOST_GUESSES {
                break;
            }
            let is_taken = self.description.index_of(name).is_some()
                || self.description.name(index).is_some()
                || all.iter().any(|(known, _)| *known == name);
            if !is_taken {
                all.push((name, index));
            }
        }
        all
    }

    /// The places on the wire of the arguments that a printf format prints as numbers without sign.
    pub fn unsigned_places(&self) -> HashSet<usize> {
        let is_printf = !self.description.grammar().is_template();
        let format = self.format.bytes.filter(|_| is_printf).unwrap_or_default();
        let mut order = Order::of(format);
        let mut printed = HashSet::new();
        let mut unsigned = HashSet::new();
        for directive in Directives::new(format) {
            let place = order.place(&directive).value.map(usize::from);
            // How it is printed first is what counts.
            if let Some(place) = place.filter(|place| printed.insert(*place))
                && b"uxXobBp".contains(&directive.conversion.0)
            {
                unsigned.insert(place);
            }
        }
        unsigned
    }

    /// The arguments that have names.
    pub fn named(&self) -> impl Iterator<Item = (&'a [u8], Value<'a>)> + use<'a> {
        let args = self.data.args.into_iter().flatten();
        let pairs = self.description.names().zip(args);
        pairs.filter_map(|(name, value)| Some((name?, value)))
    }

    /// The named arguments that the text does not print: `key = value` of the call.
    pub fn attached(&self) -> impl Iterator<Item = (&'a [u8], Value<'a>)> + use<'a> {
        let printed = self.printed();
        let args = self.data.args.into_iter().flatten();
        let pairs = self.description.names().zip(args).enumerate();
        pairs.filter_map(move |(index, (name, value))| {
            let is_attached = printed.is_some_and(|printed| !printed.prints(index));
            Some((name.filter(|_| is_attached)?, value))
        })
    }

    /// The argument of a name: one that the program gave, else one that is guessed from
    /// `key=%d` or `key: %d` in the format.
    pub fn argument_called(&self, name: &[u8]) -> Option<Value<'a>> {
        // Names that the program gave may be known of a format that is not.
        let format = self.format.bytes.unwrap_or_default();
        let index = place_called(format, self.description, name)?;
        self.data.args?.iter().nth(index)
    }
}

/// The place on the wire of the argument that has a name, given or guessed.
pub(super) fn place_called(
    format: &[u8],
    description: Description<'_>,
    name: &[u8],
) -> Option<usize> {
    let given = description.index_of(name);
    given.or_else(|| guessed(format, description, name))
}

/// The place on the wire of the value for which a name is guessed.
fn guessed(format: &[u8], description: Description<'_>, name: &[u8]) -> Option<usize> {
    let mut guesses = guesses(format, description);
    guesses.find_map(|(guess, index)| (guess == name).then_some(index))
}

/// The words right after which a printf format prints a value, by `word=` or `word: `, with the places of
/// the values on the wire.
fn guesses<'f>(
    format: &'f [u8],
    description: Description<'_>,
) -> impl Iterator<Item = (&'f [u8], usize)> + use<'f> {
    let is_printf = !description.grammar().is_template();
    let format = if is_printf { format } else { b"" };
    let mut order = Order::of(format);
    let mut end_of_last = 0;
    Directives::new(format).filter_map(move |directive| {
        let placed = order.place(&directive);
        let begin = mem::replace(&mut end_of_last, directive.end);
        let before = format.get(begin..directive.start)?;
        let before = before
            .strip_suffix(b"=")
            .or_else(|| before.strip_suffix(b": "))?;
        let other = before.iter().rposition(|byte| !is_of_name(*byte));
        let name = &before[other.map_or(0, |at| at + 1)..];
        // A word that begins in another directive is no name: `%dms=%d`.
        let is_whole = other.is_some() || begin == 0;
        let index = placed.value.filter(|_| is_whole && !name.is_empty())?;
        Some((name, usize::from(index)))
    })
}

fn is_of_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'-' | 0x80..)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_guessed_only_where_nothing_else_stands_between() {
        let find = |format: &str, name: &str| {
            guessed(format.as_bytes(), Description::default(), name.as_bytes())
        };
        assert_eq!(find("took ms=%d of total: %*u", "ms"), Some(0));
        assert_eq!(find("took ms=%d of total: %*u", "total"), Some(2));
        for (format, name) in [
            ("took ms=%d", "s"),
            ("took ms = %d", "ms"),
            ("took ms=(%d)", "ms"),
            ("took %d", "took"),
            ("=%d", ""),
            ("ms=%%", "ms"),
            ("%dms=%d", "ms"),
            ("%dms=%d", "dms"),
        ] {
            assert_eq!(find(format, name), None, "{format}");
        }
        let braces = Description::of(b"b");
        assert_eq!(guessed(b"ms=%d", braces, b"ms"), None);
    }
}
