//! Texts of which every match of `--grep` begins or ends with one, and where in a message such a text
//! can stand: a message that cannot hold one need not be rendered. Knows formats by their parts only.

use logdef_resync::render::{Part, Prints};
use memchr::memmem::Finder;
use regex::bytes::Regex;
use regex_syntax::hir::literal::{ExtractKind, Extractor};

/// Texts that are looked for at most, and bytes of all of them together.
const TEXTS: usize = 64;
const BYTES: usize = 256;
/// Bytes of the longest text: shorter ones are fewer where case does not count.
const LONGEST: [usize; 3] = [64, 6, 3];
/// Bytes of the longest format that is looked at.
const FORMAT: usize = 4096;

/// What has to be in a message that matches.
#[derive(Clone, Debug)]
pub struct Needles {
    /// None of them is empty.
    texts: Vec<Vec<u8>>,
    search: Search,
    /// Whether a number may be one, or hold one.
    are_in_numbers: bool,
}

/// Looks for any of some texts.
#[derive(Clone, Debug)]
enum Search {
    One(Box<Finder<'static>>),
    Any(Regex),
}

impl Search {
    fn of(texts: &[Vec<u8>]) -> Option<Search> {
        if let [only] = texts {
            return Some(Search::One(Box::new(Finder::new(only).into_owned())));
        }
        let escaped = |text: &Vec<u8>| text.iter().map(|byte| format!("\\x{byte:02x}")).collect();
        let escaped: Vec<String> = texts.iter().map(escaped).collect();
        let any = Regex::new(&format!("(?-u:{})", escaped.join("|")));
        Some(Search::Any(any.ok()?))
    }

    /// The same as [`Needles::bare`].
    #[inline]
    fn bare(&self, bytes: &[u8]) -> usize {
        let found = match self {
            Search::One(finder) => finder.find(bytes),
            Search::Any(any) => any.find(bytes).map(|found| found.start()),
        };
        found.unwrap_or(bytes.len())
    }

    #[inline]
    fn finds(&self, bytes: &[u8]) -> bool {
        match self {
            Search::One(finder) => finder.find(bytes).is_some(),
            Search::Any(any) => any.is_match(bytes),
        }
    }
}

/// Where in the messages of a format a needle can be.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Held {
    /// It may be anywhere.
    Anywhere,
    /// Within one of its strings, in the order of the arguments, if all values are as the format takes them.
    InStrings(Box<[(usize, Prints)]>),
}

impl Needles {
    /// Those of an expression; `None` where a match may begin and end with anything.
    pub fn of(grep: &Regex) -> Option<Needles> {
        let mut parser = regex_syntax::ParserBuilder::new().utf8(false).build();
        let tree = parser.parse(grep.as_str()).ok()?;
        let all_of = |kind, most| {
            let found = Extractor::new()
                .kind(kind)
                .limit_literal_len(most)
                .extract(&tree);
            let texts = found
                .literals()?
                .iter()
                .map(|text| text.as_bytes().to_vec());
            let texts: Vec<_> = texts.collect();
            let shortest = texts.iter().map(Vec::len).min()?;
            (shortest > 0 && texts.len() <= TEXTS).then_some((shortest, texts))
        };
        let kinds = [ExtractKind::Prefix, ExtractKind::Suffix];
        let found = kinds
            .iter()
            .flat_map(|kind| LONGEST.map(|most| all_of(kind.clone(), most)));
        let (_, mut texts) = found.flatten().max_by_key(|(shortest, _)| *shortest)?;
        let longest = BYTES / texts.len();
        texts.iter_mut().for_each(|text| text.truncate(longest));
        Some(Needles {
            search: Search::of(&texts)?,
            are_in_numbers: texts.iter().any(|text| text.iter().all(is_numeral)),
            texts,
        })
    }

    /// The offset of the first needle in some bytes, or how many bytes they are if no needle is there.
    pub fn bare(&self, bytes: &[u8]) -> usize {
        self.search.bare(bytes)
    }

    /// Where one can be in the messages of a format.
    pub fn within(&self, parts: &[Part<'_>]) -> Held {
        let len = |part: &Part<'_>| match part {
            Part::Text(text) => text.len(),
            _ => 1,
        };
        let spots: Vec<Spot> = parts.iter().flat_map(Spot::of).collect();
        if parts.iter().map(len).sum::<usize>() > FORMAT
            || self.texts.iter().any(|text| crosses(text, &spots))
        {
            return Held::Anywhere;
        }
        let values = parts.iter().filter_map(|part| match part {
            Part::Value(arg, prints) => Some((*arg, *prints)),
            _ => None,
        });
        let mut values: Vec<_> = values.collect();
        values.sort_by_key(|(arg, _)| *arg);
        Held::InStrings(values.into())
    }

    /// Whether one can be in a value of a message that holds none elsewhere.
    #[inline]
    pub fn may_be_in(&self, prints: Prints, value: Option<logdef_wire::Value<'_>>) -> bool {
        match value.and_then(|value| prints.string_of(value)) {
            Some(Some(bytes)) => self.search.finds(bytes),
            Some(None) => prints == Prints::Either && self.are_in_numbers,
            None => true,
        }
    }
}

fn is_numeral(byte: &u8) -> bool {
    Prints::NUMERALS.contains(byte)
}

/// What one byte of a message, or any number of them, can be.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Spot {
    Byte(u8),
    Numerals,
    Blanks,
    /// Bytes of a string.
    Any,
}

impl Spot {
    fn of<'p>(part: &'p Part<'_>) -> impl Iterator<Item = Spot> + use<'p> {
        let (text, spot) = match part {
            Part::Text(text) => (*text, None),
            Part::Value(_, Prints::Integer | Prints::Float) => (&b""[..], Some(Spot::Numerals)),
            Part::Blanks => (&b""[..], Some(Spot::Blanks)),
            _ => (&b""[..], Some(Spot::Any)),
        };
        text.iter().map(|byte| Spot::Byte(*byte)).chain(spot)
    }

    fn takes(self, byte: u8) -> bool {
        match self {
            Spot::Byte(own) => own == byte,
            Spot::Numerals => is_numeral(&byte),
            Spot::Blanks => byte == b' ',
            Spot::Any => true,
        }
    }
}

/// How much of a text lies before a spot.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
enum So {
    /// Nothing of it.
    Begins,
    /// All in the string of the spot.
    InOneString,
    /// Some outside of strings, or in two.
    Crosses,
}

/// Whether a text can stand in a message other than within one of its strings.
fn crosses(text: &[u8], spots: &[Spot]) -> bool {
    let mut at: Vec<(usize, So)> = (0..spots.len()).map(|spot| (spot, So::Begins)).collect();
    let mut next = Vec::new();
    for (index, byte) in text.iter().enumerate() {
        let mut reached = 0;
        while let Some(&(spot, so)) = at.get(reached) {
            reached += 1;
            let Some(&kind) = spots.get(spot) else {
                continue;
            };
            let is_repeated = !matches!(kind, Spot::Byte(_));
            if kind.takes(*byte) {
                let so = match (kind, so) {
                    (Spot::Any, So::Begins | So::InOneString) => So::InOneString,
                    _ => So::Crosses,
                };
                next.push((spot + usize::from(!is_repeated), so));
            }
            // Nothing more of a repeated one, if not all begin here anyway.
            if is_repeated && index > 0 {
                at.push((spot + 1, So::Crosses));
            }
        }
        next.sort_unstable();
        next.dedup();
        std::mem::swap(&mut at, &mut next);
        next.clear();
    }
    at.iter().any(|(_, so)| *so == So::Crosses)
}

#[cfg(test)]
mod tests {
    use super::*;
    use logdef_resync::render::CompiledFormat;
    use logdef_wire::{Description, Value};

    const FORMATS: [(&[u8], &[u8]); 14] = [
        (b"to %s in %d ms", b""),
        (b"%s%d%s", b""),
        (b"[%8s|%-9s]", b""),
        (b"%5.2s, %x %f", b""),
        (b"no value", b""),
        (b"%d%% ab %e", b""),
        (b"ab%sab", b""),
        (b"%*d %s", b""),
        (b"%2$s %1$s", b""),
        (b"%m", b""),
        (b"{} ab {}", b"b"),
        (b"{:>7}{:?}", b"b"),
        (b"{:08.3} {}{}", b"b"),
        (b"%ls", b"r"),
    ];
    const STRINGS: [&[u8]; 9] = [b"", b"a", b"ab", b"b a", b"aab", b"12", b" ", b"ms", b"a.b"];
    const GREPS: [&str; 16] = [
        "ab",
        "aa",
        "a b",
        " ",
        "  ",
        "a1",
        "2a",
        "ms",
        "in [0-9]+ ms",
        "(?i)AB",
        "a.b",
        "^ab",
        "0x",
        "=",
        "1",
        "ba?",
    ];

    /// What a needle rules out, rendering rules out too, over all of these and values of all types.
    #[test]
    fn a_message_without_a_needle_does_not_match() {
        let mut state = 1_u64;
        let mut below = |bound: usize| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            (state >> 33) as usize % bound
        };
        let greps = GREPS.map(|grep| Regex::new(grep).unwrap());
        let greps = greps.map(|grep| (Needles::of(&grep), grep));
        let (mut refused, mut matched) = (0, 0);
        for round in 0..6_000 {
            let (format, description) = FORMATS[round % FORMATS.len()];
            let format = CompiledFormat::described(format, Description::of(description)).unwrap();
            let (needles, grep) = &greps[below(greps.len())];
            let mut value = |_| match below(9) {
                0..4 => Value::Raw(STRINGS[below(STRINGS.len())]),
                4 => Value::Uint(below(20) as u64),
                5 => Value::Int(-12),
                6 => Value::Float([0.5, f64::INFINITY, 1e200][below(3)]),
                7 => Value::Bool(true),
                _ => Value::Nil,
            };
            let values: Vec<_> = (0..round % 4).map(&mut value).collect();
            let mut message = Vec::new();
            format.render(&values, &mut message);
            let Some(needles) = needles else { continue };
            let Some(parts) = format.parts() else {
                continue;
            };
            let may = match needles.within(&parts) {
                Held::Anywhere => true,
                Held::InStrings(strings) => strings
                    .iter()
                    .any(|(arg, prints)| needles.may_be_in(*prints, values.get(*arg).copied())),
            };
            let text = String::from_utf8_lossy(&message);
            assert!(
                may || !grep.is_match(&message),
                "{grep} in {text:?} of {parts:?}"
            );
            refused += u32::from(!may);
            matched += u32::from(grep.is_match(&message));
        }
        assert!(refused > 400 && matched > 400, "{refused}, {matched}");
    }

    #[test]
    fn what_may_begin_and_end_with_anything_has_no_needle() {
        let texts =
            |grep: &str| Needles::of(&Regex::new(grep).unwrap()).map(|needles| needles.texts);
        for grep in ["", ".*", "a*", "a?b?", "(a|)"] {
            assert_eq!(texts(grep), None, "{grep}");
        }
        assert_eq!(texts("cat.*").unwrap(), [b"cat"]);
        assert_eq!(texts(".*dog").unwrap(), [b"dog"]);
        assert_eq!(texts("cat|dog").unwrap(), [b"cat", b"dog"]);
        assert!(texts("(?i)timeout").unwrap().len() <= TEXTS);
    }
}
