//! Templates with the braces of Rust's `format!` or C++'s `std::format`: text, and placeholders for values.
//! Nothing here prints. Works in a `const`, and takes any bytes: what is no placeholder
//! is text.

use crate::description::Grammar;

/// What stands next in a template.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Piece {
    /// The text from here to there.
    Text(usize, usize),
    /// What an argument is printed in place of.
    Placeholder(Placeholder),
}

/// One placeholder: `{name:>+#08.3x}`.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Placeholder {
    /// Where its `{` stands.
    pub start: usize,
    /// Where the text after its `}` begins.
    pub end: usize,
    /// Which value it prints.
    pub argument: Argument,
    /// From where to where in the template its fill character stands; nowhere for a
    /// blank.
    pub fill: (usize, usize),
    /// `<`, `^` or `>`; 0 if the value decides.
    pub align: u8,
    /// `+`: a sign on positive numbers too.
    pub plus: bool,
    /// A blank in the sign's place; C++'s.
    pub space: bool,
    /// `#`: the alternative form.
    pub alternate: bool,
    /// `0`: zeros between sign and digits.
    pub zero: bool,
    /// How many characters are printed at least.
    pub width: Count,
    /// Digits after the point; of texts, how many characters are printed at most.
    pub precision: Count,
    /// What it prints the value as.
    pub style: Style,
}

impl Placeholder {
    /// What stands before the digits of a number.
    pub const fn sign(&self, is_negative: bool) -> &'static str {
        if is_negative {
            "-"
        } else if self.plus {
            "+"
        } else if self.space {
            " "
        } else {
            ""
        }
    }
}

/// A value of the caller.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Argument {
    /// By its place, counted from 0; those that name none count by themselves.
    Index(u16),
    /// By its name, which stands from here to there.
    Name(usize, usize),
}

/// A width or a precision.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Count {
    /// The format does not say.
    None,
    /// Written in the template, saturated.
    Fixed(u32),
    /// The value of an argument.
    Argument(Argument),
}

/// What a value is printed as.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Style {
    /// `{}`.
    Display,
    /// `{:?}`, `{:x?}`, `{:X?}`.
    Debug,
    /// `{:x}`, `{:X}`, `{:o}`, `{:b}`, `{:e}`, `{:E}`, `{:p}`, by its letter; C++ has more.
    Letter(u8),
}

/// The pieces of a template, in order. An iterator whose [`advance`](Self::advance)
/// also works in a `const`.
#[derive(Clone, Debug)]
pub struct Pieces<'t> {
    template: &'t [u8],
    at: usize,
    next_argument: u16,
    is_std: bool,
}

impl<'t> Pieces<'t> {
    /// The pieces of `template`, which has no NUL at its end.
    pub const fn new(template: &'t [u8]) -> Self {
        Self::of(template, Grammar::Braces)
    }

    /// The pieces of a template in this grammar.
    pub const fn of(template: &'t [u8], grammar: Grammar) -> Self {
        Pieces {
            template,
            at: 0,
            next_argument: 0,
            is_std: matches!(grammar, Grammar::StdFormat),
        }
    }

    /// The next piece. Doubled braces give a text of one.
    pub const fn advance(&mut self) -> Option<Piece> {
        let start = self.at;
        if start == self.template.len() {
            return None;
        }
        let first = self.peek();
        if matches!(first, b'{' | b'}') {
            self.at += 1;
            if self.peek() == first {
                self.at += 1;
                return Some(Piece::Text(start, start + 1));
            }
            if first == b'{' {
                let before = self.next_argument;
                if let Some(placeholder) = self.placeholder(start) {
                    return Some(Piece::Placeholder(placeholder));
                }
                self.next_argument = before;
                self.at = start + 1;
            }
        }
        while !matches!(self.peek(), b'{' | b'}') && self.at < self.template.len() {
            self.at += 1;
        }
        Some(Piece::Text(start, self.at))
    }

    /// The placeholder whose inside begins here; none if it is malformed.
    const fn placeholder(&mut self, start: usize) -> Option<Placeholder> {
        let named = self.argument();
        let mut this = Placeholder {
            start,
            end: 0,
            argument: Argument::Index(0),
            fill: (start, start),
            align: 0,
            plus: false,
            space: false,
            alternate: false,
            zero: false,
            width: Count::None,
            precision: Count::None,
            style: Style::Display,
        };
        if self.is_std {
            return self.std_placeholder(this, named);
        }
        let mut star = false;
        if self.takes(b':') {
            self.fill_and_align(&mut this);
            this.plus = self.takes(b'+') || {
                self.takes(b'-');
                false
            };
            this.alternate = self.takes(b'#');
            if self.peek() == b'0' && self.peek_at(1) != b'$' {
                this.zero = true;
                self.at += 1;
            }
            this.width = self.count();
            if self.takes(b'.') {
                star = self.takes(b'*');
                if !star {
                    this.precision = self.count();
                }
            }
            this.style = self.style();
        }
        while self.takes(b' ') {}
        if !self.takes(b'}') {
            return None;
        }
        // The precision's value comes before the one that is printed.
        if star {
            this.precision = Count::Argument(self.next());
        }
        this.argument = self.or_next(named);
        this.end = self.at;
        Some(this)
    }

    /// The rest of a placeholder of C++'s, whose value stands before its width and precision.
    const fn std_placeholder(
        &mut self,
        mut this: Placeholder,
        named: Option<Argument>,
    ) -> Option<Placeholder> {
        this.argument = self.or_next(named);
        if self.takes(b':') {
            self.fill_and_align(&mut this);
            this.plus = self.takes(b'+');
            this.space = self.takes(b' ');
            self.takes(b'-');
            this.alternate = self.takes(b'#');
            this.zero = self.takes(b'0');
            this.width = match self.std_count() {
                Ok(count) => count,
                Err(Malformed) => return None,
            };
            if self.takes(b'.') {
                this.precision = match self.std_count() {
                    Ok(count) => count,
                    Err(Malformed) => return None,
                };
            }
            if self.peek().is_ascii_alphabetic() {
                this.style = Style::Letter(self.peek());
                self.at += 1;
            }
        }
        if !self.takes(b'}') {
            return None;
        }
        this.end = self.at;
        Some(this)
    }

    /// A number, or a value in braces.
    const fn std_count(&mut self) -> Result<Count, Malformed> {
        if self.takes(b'{') {
            let named = self.argument();
            let argument = self.or_next(named);
            if !self.takes(b'}') {
                return Err(Malformed);
            }
            return Ok(Count::Argument(argument));
        }
        Ok(match self.number() {
            Some(n) => Count::Fixed(n),
            None => Count::None,
        })
    }

    const fn or_next(&mut self, named: Option<Argument>) -> Argument {
        match named {
            Some(argument) => argument,
            None => self.next(),
        }
    }

    const fn fill_and_align(&mut self, this: &mut Placeholder) {
        // A character of UTF-8 before the alignment is the fill.
        let mut len = 1;
        while self.peek_at(len) & 0xc0 == 0x80 {
            len += 1;
        }
        if is_align(self.peek_at(len)) && self.at < self.template.len() {
            this.fill = (self.at, self.at + len);
            self.at += len;
        }
        if is_align(self.peek()) {
            this.align = self.peek();
            self.at += 1;
        }
    }

    const fn style(&mut self) -> Style {
        match (self.peek(), self.peek_at(1)) {
            (b'?', _) => {
                self.at += 1;
                Style::Debug
            }
            (b'x' | b'X', b'?') => {
                self.at += 2;
                Style::Debug
            }
            (letter @ (b'x' | b'X' | b'o' | b'b' | b'e' | b'E' | b'p'), _) => {
                self.at += 1;
                Style::Letter(letter)
            }
            _ => Style::Display,
        }
    }

    /// A number, a number and `$`, or a name and `$`.
    const fn count(&mut self) -> Count {
        let start = self.at;
        if let Some(argument) = self.argument() {
            if self.takes(b'$') {
                return Count::Argument(argument);
            }
            self.at = start;
        }
        match self.number() {
            Some(n) => Count::Fixed(n),
            None => Count::None,
        }
    }

    /// A place or a name, if one stands here.
    const fn argument(&mut self) -> Option<Argument> {
        let start = self.at;
        if let Some(n) = self.number() {
            let n = if n > u16::MAX as u32 {
                u16::MAX
            } else {
                n as u16
            };
            return Some(Argument::Index(n));
        }
        while matches!(self.peek(), b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'_' | 0x80..) {
            self.at += 1;
        }
        if self.at == start {
            return None;
        }
        Some(Argument::Name(start, self.at))
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

    const fn next(&mut self) -> Argument {
        let index = self.next_argument;
        self.next_argument = index.saturating_add(1);
        Argument::Index(index)
    }

    const fn takes(&mut self, byte: u8) -> bool {
        let is_there = self.at < self.template.len() && self.peek() == byte;
        if is_there {
            self.at += 1;
        }
        is_there
    }

    /// The byte at hand; at the end NUL, which means nothing in a template.
    const fn peek(&self) -> u8 {
        self.peek_at(0)
    }

    const fn peek_at(&self, ahead: usize) -> u8 {
        if ahead < self.template.len() - self.at {
            self.template[self.at + ahead]
        } else {
            0
        }
    }
}

/// What is no placeholder.
struct Malformed;

const fn is_align(byte: u8) -> bool {
    matches!(byte, b'<' | b'^' | b'>')
}

impl Iterator for Pieces<'_> {
    type Item = Piece;

    fn next(&mut self) -> Option<Piece> {
        self.advance()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::vec::Vec;

    /// The text pieces, and what the placeholders print.
    fn pieces(template: &str) -> (Vec<&str>, Vec<Placeholder>) {
        let (mut texts, mut placeholders) = (Vec::new(), Vec::new());
        for piece in Pieces::new(template.as_bytes()) {
            match piece {
                Piece::Text(from, to) => texts.push(&template[from..to]),
                Piece::Placeholder(placeholder) => placeholders.push(placeholder),
            }
        }
        (texts, placeholders)
    }

    #[test]
    fn text_and_doubled_braces_are_text() {
        assert_eq!(pieces("a {{b}} c").0, ["a ", "{", "b", "}", " c"]);
        for template in ["{", "}", "{ x", "{a b}", "{:>", "{:y}", "{:.}}", "a{"] {
            let (texts, _) = pieces(template);
            assert!(!texts.is_empty(), "{template}");
        }
        assert_eq!(pieces("").0, [""; 0]);
    }

    /// It is a flag of the language's that does nothing.
    #[test]
    fn a_minus_is_passed_over() {
        let (_, with) = pieces("{:-5}");
        let (_, without) = pieces("{:5}");
        assert_eq!((with.len(), with[0].width), (1, without[0].width));
        assert!(!with[0].plus);
    }

    #[test]
    fn a_placeholder_has_all_its_parts() {
        let (_, found) = pieces("{name:é^+#08.3x} {:a$} {:.*} {2:1$?} {x:.w$e}");
        let first = found[0];
        assert_eq!(first.argument, Argument::Name(1, 5));
        assert_eq!((first.fill, first.align), ((6, 8), b'^'));
        assert!(first.plus && first.alternate && first.zero);
        assert_eq!(
            (first.width, first.precision),
            (Count::Fixed(8), Count::Fixed(3))
        );
        assert_eq!(first.style, Style::Letter(b'x'));
        assert_eq!(found[1].argument, Argument::Index(0));
        assert!(matches!(
            found[1].width,
            Count::Argument(Argument::Name(..))
        ));
        // The star takes one before the value.
        assert_eq!(found[2].precision, Count::Argument(Argument::Index(1)));
        assert_eq!(found[2].argument, Argument::Index(2));
        assert_eq!(found[3].argument, Argument::Index(2));
        assert_eq!(found[3].width, Count::Argument(Argument::Index(1)));
        assert_eq!(
            (found[3].style, found[4].style),
            (Style::Debug, Style::Letter(b'e'))
        );
    }

    #[test]
    fn a_placeholder_of_cpp_takes_its_value_first() {
        let of = |template: &'static str| {
            let pieces = Pieces::of(template.as_bytes(), Grammar::StdFormat);
            let only = pieces.filter_map(|piece| match piece {
                Piece::Placeholder(placeholder) => Some(placeholder),
                Piece::Text(..) => None,
            });
            only.collect::<Vec<_>>()
        };
        let found = of("{:{}.{}f} {} {{}} {2:*^ #0{w}X}");
        assert_eq!(found[0].argument, Argument::Index(0));
        assert_eq!(found[0].width, Count::Argument(Argument::Index(1)));
        assert_eq!(found[0].precision, Count::Argument(Argument::Index(2)));
        assert_eq!(found[0].style, Style::Letter(b'f'));
        assert_eq!(found[1].argument, Argument::Index(3));
        assert_eq!(found[2].argument, Argument::Index(2));
        assert!(found[2].space && found[2].alternate && found[2].zero);
        assert!(matches!(
            found[2].width,
            Count::Argument(Argument::Name(..))
        ));
        assert_eq!(
            (found[2].align, found[2].style),
            (b'^', Style::Letter(b'X'))
        );
        // What is malformed is text; a placeholder inside it is found.
        assert_eq!(of("{:.{} {").len(), 1);
    }

    #[test]
    fn any_bytes_are_a_template() {
        let alphabet = b"{}:09a$.*?x#+<\xc3\xa9 ";
        let mut state = 1u64;
        for _ in 0..50_000 {
            let template: Vec<u8> = (0..12)
                .map(|_| {
                    state = state.wrapping_mul(6364136223846793005).wrapping_add(1);
                    alphabet[(state >> 33) as usize % alphabet.len()]
                })
                .collect();
            let mut end = 0;
            let grammar = match state >> 63 {
                0 => Grammar::Braces,
                _ => Grammar::StdFormat,
            };
            for piece in Pieces::of(&template, grammar) {
                let (from, to) = match piece {
                    Piece::Text(from, to) => (from, to),
                    Piece::Placeholder(placeholder) => (placeholder.start, placeholder.end),
                };
                assert!(from >= end && to > from && to <= template.len());
                end = to;
            }
        }
    }
}
