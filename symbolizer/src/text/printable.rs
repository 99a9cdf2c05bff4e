//! Text out of logs and images, made harmless for a terminal and for programs that read line by line.

use std::fmt;

/// Shows text with control characters, line separators and marks that turn the writing direction
/// replaced by escapes.
pub(crate) struct Printable<'a>(pub &'a str);

impl fmt::Display for Printable<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut rest = self.0;
        while let Some(at) = rest.find(is_harmful) {
            let (harmless, from) = rest.split_at(at);
            f.write_str(harmless)?;
            let mut characters = from.chars();
            if let Some(character) = characters.next() {
                write!(f, "{}", character.escape_unicode())?;
            }
            rest = characters.as_str();
        }
        f.write_str(rest)
    }
}

fn is_harmful(character: char) -> bool {
    character.is_control()
        || matches!(
            character,
            '\u{061c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
        )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_moves_the_cursor_is_escaped_and_the_rest_is_kept() {
        for (text, shown) in [
            ("naïve <T as U>::f", "naïve <T as U>::f"),
            ("\x1b[31m", "\\u{1b}[31m"),
            ("a\nb\r\u{9b}c", "a\\u{a}b\\u{d}\\u{9b}c"),
            ("\u{202e}txt\u{2066}", "\\u{202e}txt\\u{2066}"),
            ("", ""),
        ] {
            assert_eq!(Printable(text).to_string(), shown);
        }
    }
}
