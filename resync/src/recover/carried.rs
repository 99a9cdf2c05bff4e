//! What a file that was made of others says of their losses: numbers, and the text of a note that has
//! them. Knows neither inputs nor how losses are counted.

use std::fmt;

/// What a file made from damaged ones says of them, in the text of a note.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(crate) struct Carried {
    pub(crate) damaged: u64,
    pub(crate) torn: u64,
    pub(crate) missing: u64,
    pub(crate) rejected: u64,
    pub(crate) broken_off: u64,
    pub(crate) rebuilt: u64,
    /// Whether more may be missing than sequences show.
    pub(crate) may_hide_records: bool,
}

/// What the numbers stand for, in the order in which they are written.
const WORDS: [&str; 6] = [
    " damaged bytes, ",
    " torn bytes, ",
    " missing records, ",
    " rejected frames, ",
    " files broken off, ",
    " strings rebuilt",
];
const BEGIN: &str = "made from: ";

impl Carried {
    /// Whether a note must say it. What is missing, the threads' counts say.
    pub(crate) fn is_news(&self) -> bool {
        self.damaged + self.torn + self.rejected + self.broken_off + self.rebuilt > 0
    }

    /// Reads the text of a note.
    pub(crate) fn parse(text: &[u8]) -> Option<Carried> {
        let mut rest = std::str::from_utf8(text).ok()?.strip_prefix(BEGIN)?;
        let mut numbers = [0; WORDS.len()];
        for (number, word) in numbers.iter_mut().zip(WORDS) {
            let (digits, behind) = rest.split_once(word)?;
            *number = digits.parse().ok()?;
            rest = behind;
        }
        let [damaged, torn, missing, rejected, broken_off, rebuilt] = numbers;
        rest.is_empty().then_some(Carried {
            damaged,
            torn,
            missing,
            rejected,
            broken_off,
            rebuilt,
            may_hide_records: damaged | rejected | broken_off > 0,
        })
    }

    /// Adds what another file says. Hostile numbers stop at the largest.
    pub(crate) fn add(&mut self, other: &Carried) {
        self.with(other, |sum, number| {
            sum.saturating_add(number).min(u64::MAX >> 8)
        });
        self.may_hide_records |= other.may_hide_records;
    }

    /// Leaves out what another says already.
    pub(crate) fn leave_out(&mut self, said: &Carried) {
        self.with(said, u64::saturating_sub);
    }

    fn with(&mut self, other: &Carried, of: impl Fn(u64, u64) -> u64) {
        let pairs = [
            (&mut self.damaged, other.damaged),
            (&mut self.torn, other.torn),
            (&mut self.missing, other.missing),
            (&mut self.rejected, other.rejected),
            (&mut self.broken_off, other.broken_off),
            (&mut self.rebuilt, other.rebuilt),
        ];
        for (own, number) in pairs {
            *own = of(*own, number);
        }
    }
}

impl fmt::Display for Carried {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(BEGIN)?;
        let numbers = [
            self.damaged,
            self.torn,
            self.missing,
            self.rejected,
            self.broken_off,
            self.rebuilt,
        ];
        for (number, word) in numbers.iter().zip(WORDS) {
            write!(f, "{number}{word}")?;
        }
        Ok(())
    }
}
