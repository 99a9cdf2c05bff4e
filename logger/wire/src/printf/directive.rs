//! Directives: from the `%` to the conversion letter, found one after the other.
//! The grammar is glibc's, oddities included, because the text of a log line has
//! to be what glibc would have printed. Nothing is rejected here: `check` does.

use super::conversion::{Class, Conversion, Form, Length};

/// The most arguments a format may name, as in glibc (`NL_ARGMAX`).
pub const MAX_ARGUMENTS: u16 = 4096;

/// One directive of a format.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Directive {
    /// Where its `%` stands in the format.
    pub start: usize,
    /// Where the text after it begins.
    pub end: usize,
    /// Which of the caller's arguments holds the value, counted from 0. None if
    /// the directive takes no value (`%%`, `%m`, faults).
    pub argument: Option<u16>,
    /// Which of `-`, `+`, space, `#`, `0`, `'` and `I` stand there.
    pub flags: Flags,
    /// How many bytes are printed at least.
    pub width: Count,
    /// Digits; of texts, how many bytes are printed at most.
    pub precision: Count,
    /// The length modifier.
    pub length: Length,
    /// The conversion letter; NUL if the format ends before one.
    pub conversion: Conversion,
    /// What is wrong with it.
    pub fault: Option<Fault>,
}

impl Directive {
    /// What the directive takes and logs; none for `%%` and for faults.
    pub const fn form(&self) -> Option<&'static Form> {
        match self.fault {
            None => self.conversion.form(self.length),
            Some(_) => None,
        }
    }

    /// What the value's class on the wire is; none for `%%` and for faults.
    pub const fn class(&self) -> Option<Class> {
        match self.form() {
            Some(form) => Some(form.class),
            None => None,
        }
    }
}

/// A width or a precision.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Count {
    /// The directive does not say.
    None,
    /// Written in the format, saturated at `u32::MAX`; a `.` alone is 0.
    Fixed(u32),
    /// Taken from this argument of the caller, counted from 0.
    Argument(u16),
}

/// The flags of a directive, each at most once.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Flags(pub u8);

impl Flags {
    /// `-`: pad on the right.
    pub const LEFT: Self = Self(1);
    /// `+`: a sign on positive numbers too.
    pub const PLUS: Self = Self(2);
    /// A space in place of the sign of a positive number.
    pub const SPACE: Self = Self(4);
    /// `#`: the alternative form.
    pub const ALTERNATIVE: Self = Self(8);
    /// `0`: pad with zeros.
    pub const ZERO: Self = Self(16);
    /// `'`: group thousands; the C locale has no separator for it.
    pub const GROUP: Self = Self(32);
    /// `I`: the locale's own digits; the C locale has no others.
    pub const LOCALE_DIGITS: Self = Self(64);

    /// Whether all flags of `other` are set.
    pub const fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    const fn of(byte: u8) -> Option<Self> {
        match byte {
            b'-' => Some(Self::LEFT),
            b'+' => Some(Self::PLUS),
            b' ' => Some(Self::SPACE),
            b'#' => Some(Self::ALTERNATIVE),
            b'0' => Some(Self::ZERO),
            b'\'' => Some(Self::GROUP),
            b'I' => Some(Self::LOCALE_DIGITS),
            _ => None,
        }
    }
}

/// Why a directive is malformed.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Fault {
    /// The format ends inside it. It takes no arguments, not even for a `*`.
    Truncated,
    /// No C library knows its conversion letter. It takes the arguments of its
    /// `*`s but no value, as in glibc.
    UnknownConversion,
    /// It names an argument beyond [`MAX_ARGUMENTS`]. It takes no arguments.
    TooManyArguments,
}

/// The directives of a format, in order.
///
/// An iterator whose [`advance`](Self::advance) also works in a `const`.
#[derive(Clone, Debug)]
pub struct Directives<'f> {
    format: &'f [u8],
    at: usize,
    /// The next argument for a directive that names none.
    next_argument: u16,
    positional: bool,
}

impl<'f> Directives<'f> {
    /// The directives of `format`, which has no NUL at its end.
    pub const fn new(format: &'f [u8]) -> Self {
        Self {
            format,
            at: 0,
            next_argument: 0,
            positional: false,
        }
    }

    /// Whether a directive so far named an argument by its number.
    pub const fn is_positional(&self) -> bool {
        self.positional
    }

    /// Whether directives so far named arguments both ways.
    pub const fn is_mixed(&self) -> bool {
        self.positional && self.next_argument > 0
    }

    /// The next directive, `None` after the last; for constants, where `next` cannot be called.
    pub const fn advance(&mut self) -> Option<Directive> {
        while self.peek() != b'%' {
            if self.at >= self.format.len() {
                return None;
            }
            self.at += 1;
        }
        let before = (self.next_argument, self.positional);
        let mut directive = self.directive();
        if directive.fault.is_none() && directive.conversion.row().is_none() {
            directive.fault = Some(Fault::UnknownConversion);
        }
        if let Some(Fault::Truncated | Fault::TooManyArguments) = directive.fault {
            (self.next_argument, self.positional) = before;
            directive.argument = None;
            directive.width = Count::None;
            directive.precision = Count::None;
        }
        Some(directive)
    }

    /// Parses the directive whose `%` stands at `self.at`.
    const fn directive(&mut self) -> Directive {
        let mut directive = Directive {
            start: self.at,
            end: 0,
            argument: None,
            flags: Flags(0),
            width: Count::None,
            precision: Count::None,
            length: Length::None,
            conversion: Conversion(0),
            fault: None,
        };
        self.at += 1;
        let position = self.position();
        while let Some(flag) = Flags::of(self.peek()) {
            directive.flags.0 |= flag.0;
            self.at += 1;
        }
        directive.width = self.count();
        if self.peek() == b'.' {
            self.at += 1;
            directive.precision = match self.count() {
                Count::None => Count::Fixed(0),
                count => count,
            };
        }
        directive.length = self.length();
        if self.at >= self.format.len() {
            directive.end = self.at;
            directive.fault = Some(Fault::Truncated);
            return directive;
        }
        directive.conversion = Conversion(self.format[self.at]);
        self.at += 1;
        directive.end = self.at;
        let passed = match directive.conversion.form(directive.length) {
            Some(form) => !matches!(form.class, Class::Errno),
            None => false,
        };
        if passed {
            directive.argument = Some(match position {
                Some(n) => n,
                None => self.take_argument(),
            });
        }
        if beyond(directive.argument)
            || matches!(directive.width, Count::Argument(n) if n >= MAX_ARGUMENTS)
            || matches!(directive.precision, Count::Argument(n) if n >= MAX_ARGUMENTS)
        {
            directive.fault = Some(Fault::TooManyArguments);
        }
        directive
    }

    /// Reads `n$`, as an index from 0; stays where it is if there is none.
    const fn position(&mut self) -> Option<u16> {
        let start = self.at;
        if let Some(n) = self.number()
            && n != 0
            && self.peek() == b'$'
        {
            self.at += 1;
            self.positional = true;
            return Some(if n > MAX_ARGUMENTS as u32 {
                MAX_ARGUMENTS
            } else {
                (n - 1) as u16
            });
        }
        self.at = start;
        None
    }

    /// Reads a number, `*` or `*n$`.
    const fn count(&mut self) -> Count {
        if self.peek() == b'*' {
            self.at += 1;
            return Count::Argument(match self.position() {
                Some(n) => n,
                None => self.take_argument(),
            });
        }
        match self.number() {
            Some(n) => Count::Fixed(n),
            None => Count::None,
        }
    }

    const fn number(&mut self) -> Option<u32> {
        if !self.peek().is_ascii_digit() {
            return None;
        }
        let mut n = 0u32;
        while self.peek().is_ascii_digit() {
            n = n
                .saturating_mul(10)
                .saturating_add((self.peek() - b'0') as u32);
            self.at += 1;
        }
        Some(n)
    }

    const fn length(&mut self) -> Length {
        let (length, size) = match self.peek() {
            b'h' if self.peek_at(1) == b'h' => (Length::Char, 2),
            b'h' => (Length::Short, 1),
            b'l' if self.peek_at(1) == b'l' => (Length::LongLong, 2),
            b'l' => (Length::Long, 1),
            b'q' => (Length::Quad, 1),
            b'L' => (Length::LongDouble, 1),
            b'j' => (Length::IntMax, 1),
            b'z' => (Length::Size, 1),
            b'Z' => (Length::OldSize, 1),
            b't' => (Length::Ptrdiff, 1),
            b'w' => self.width_length(),
            _ => (Length::None, 0),
        };
        self.at += size;
        length
    }

    /// `w8` to `wf64`, and how many bytes it takes. A `w` before another number
    /// is no modifier but an unknown conversion.
    const fn width_length(&self) -> (Length, usize) {
        let fast = self.peek_at(1) == b'f';
        let digits = if fast { 2 } else { 1 };
        let pair = (self.peek_at(digits), self.peek_at(digits + 1));
        let (exact, fastest, size) = match pair {
            (b'8', b'0'..=b'9') => return (Length::None, 0),
            (b'8', _) => (Length::W8, Length::Wf8, 1),
            _ if self.peek_at(digits + 2).is_ascii_digit() => return (Length::None, 0),
            (b'1', b'6') => (Length::W16, Length::Wf16, 2),
            (b'3', b'2') => (Length::W32, Length::Wf32, 2),
            (b'6', b'4') => (Length::W64, Length::Wf64, 2),
            _ => return (Length::None, 0),
        };
        (if fast { fastest } else { exact }, digits + size)
    }

    const fn take_argument(&mut self) -> u16 {
        let n = self.next_argument;
        self.next_argument = n.saturating_add(1);
        n
    }

    /// The byte at hand; at the end NUL, which means nothing in a directive.
    const fn peek(&self) -> u8 {
        self.peek_at(0)
    }

    const fn peek_at(&self, ahead: usize) -> u8 {
        if ahead < self.format.len() - self.at {
            self.format[self.at + ahead]
        } else {
            0
        }
    }
}

impl Iterator for Directives<'_> {
    type Item = Directive;

    fn next(&mut self) -> Option<Directive> {
        self.advance()
    }
}

const fn beyond(argument: Option<u16>) -> bool {
    matches!(argument, Some(n) if n >= MAX_ARGUMENTS)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::vec::Vec;

    fn parse(format: &[u8]) -> Vec<Directive> {
        Directives::new(format).collect()
    }

    fn one(format: &[u8]) -> Directive {
        let directives = parse(format);
        assert_eq!(directives.len(), 1, "{}", format.escape_ascii());
        directives[0]
    }

    #[test]
    fn a_directive_with_everything_is_taken_apart() {
        assert_eq!(
            parse(b"ab %+-#0' I12.34llx cd"),
            [Directive {
                start: 3,
                end: 19,
                argument: Some(0),
                flags: Flags(127),
                width: Count::Fixed(12),
                precision: Count::Fixed(34),
                length: Length::LongLong,
                conversion: Conversion(b'x'),
                fault: None,
            }]
        );
    }

    #[test]
    fn every_length_modifier_is_known_by_its_spelling() {
        for row in super::super::TABLE {
            for form in row.forms {
                let mut format = std::vec![b'%'];
                format.extend(form.length.spelling().bytes());
                format.push(row.conversion.0);
                let directive = one(&format);
                assert_eq!(directive.length, form.length, "{}", format.escape_ascii());
                assert_eq!(directive.conversion, row.conversion);
                assert_eq!(directive.form(), Some(form));
                assert_eq!(directive.end, format.len());
                assert_eq!(directive.fault, None);
            }
        }
    }

    #[test]
    fn arguments_are_counted_in_order_width_first() {
        let d = parse(b"%*.*d %% %m %s %y %-*y %c");
        let uses: Vec<_> = d
            .iter()
            .map(|d| (d.width, d.precision, d.argument))
            .collect();
        assert_eq!(
            uses,
            [
                (Count::Argument(0), Count::Argument(1), Some(2)),
                (Count::None, Count::None, None),
                (Count::None, Count::None, None),
                (Count::None, Count::None, Some(3)),
                (Count::None, Count::None, None),
                (Count::Argument(4), Count::None, None),
                (Count::None, Count::None, Some(5)),
            ]
        );
    }

    #[test]
    fn numbered_arguments_are_found() {
        let d = one(b"%3$*1$.*2$d");
        assert_eq!(d.argument, Some(2));
        assert_eq!(d.width, Count::Argument(0));
        assert_eq!(d.precision, Count::Argument(1));
        assert_eq!(one(b"%007$d").argument, Some(6));
    }

    #[test]
    fn what_only_looks_like_a_number_reads_as_in_glibc() {
        // "%0$d" prints "%0$d": the 0 is a flag, the $ an unknown conversion.
        let d = one(b"%0$d");
        assert_eq!((d.end, d.conversion), (3, Conversion(b'$')));
        assert_eq!(d.fault, Some(Fault::UnknownConversion));
        // "%*5d" with 3 prints "%35d".
        let d = one(b"%*5d");
        assert_eq!((d.end, d.conversion), (3, Conversion(b'5')));
        assert_eq!(d.width, Count::Argument(0));
        // "%.-5d" prints "%.0-5d".
        let d = one(b"%.-5d");
        assert_eq!((d.end, d.conversion), (3, Conversion(b'-')));
        assert_eq!(d.precision, Count::Fixed(0));
        assert_eq!(one(b"%-1$d").conversion, Conversion(b'$'));
        assert_eq!(one(b"%w7d").conversion, Conversion(b'w'));
        assert_eq!(one(b"%w81d").conversion, Conversion(b'w'));
        assert_eq!(one(b"%w164d").conversion, Conversion(b'w'));
        assert_eq!(one(b"%hhhd").conversion, Conversion(b'h'));
    }

    #[test]
    fn faults_take_no_value() {
        for format in [
            &b"%"[..],
            b"%-",
            b"%*",
            b"%*.*",
            b"%1$",
            b"%5.",
            b"%ll",
            b"%w32",
        ] {
            let d = one(format);
            assert_eq!(d.fault, Some(Fault::Truncated), "{}", format.escape_ascii());
            assert_eq!((d.width_is_argument(), d.argument), (false, None));
            assert_eq!(d.end, format.len());
        }
        let d = one(b"%4097$d");
        assert_eq!((d.fault, d.argument), (Some(Fault::TooManyArguments), None));
        assert_eq!(one(b"%4096$d").argument, Some(4095));
        assert_eq!(one(b"%99999999999$d").fault, Some(Fault::TooManyArguments));
    }

    #[test]
    fn arguments_beyond_the_most_are_faults_one_by_one() {
        let format = b"%d".repeat(10_000);
        let d = parse(&format);
        assert_eq!(d.len(), 10_000);
        assert_eq!(d[4095].argument, Some(4095));
        assert!(
            d[4096..]
                .iter()
                .all(|d| d.fault == Some(Fault::TooManyArguments))
        );
    }

    impl Directive {
        fn width_is_argument(&self) -> bool {
            matches!(self.width, Count::Argument(_))
        }
    }
}
