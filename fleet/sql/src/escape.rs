//! Text of a log, made harmless: what could drive a terminal is escaped.

use std::fmt::Write;

/// The text with control characters, and those that change the direction of text, escaped.
pub fn text(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            '\r' => out.push_str("\\r"),
            c if is_harmless(c) => out.push(c),
            c => {
                // Writing to a text does not fail.
                let _ = write!(out, "\\u{{{:x}}}", u32::from(c));
            }
        }
    }
    out
}

/// The same, as a line of a message: tabs and line ends become spaces.
pub fn line(line: &str) -> String {
    text(&line.replace(['\n', '\t', '\r'], " "))
}

/// Whether a character moves nothing but the cursor, by its width.
pub fn is_harmless(c: char) -> bool {
    let is_direction =
        matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    let is_break = matches!(c, '\u{2028}' | '\u{2029}');
    !c.is_control() && !is_direction && !is_break
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_drives_the_terminal() {
        assert_eq!(text("a\u{1b}[2Jb\u{9b}c\nd"), "a\\u{1b}[2Jb\\u{9b}c\\nd");
        assert_eq!(text("é 漢 \u{202e}x"), "é 漢 \\u{202e}x");
        assert_eq!(line("one\ntwo"), "one two");
    }
}
