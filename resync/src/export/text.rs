//! Texts for formats that take UTF-8 of bounded length.

use std::borrow::Cow;
use std::fmt::Write;

/// Put where text was cut.
pub(crate) const CUT: &str = "…";

/// Bytes as text: as they are where they are UTF-8.
#[inline]
pub(crate) fn lossy(bytes: &[u8]) -> Cow<'_, str> {
    match std::str::from_utf8(bytes) {
        Ok(text) => Cow::Borrowed(text),
        Err(_) => String::from_utf8_lossy(bytes),
    }
}

/// At most `most` bytes of a text, whole characters, with a mark if it was cut.
#[inline]
pub(crate) fn cut(text: &str, most: usize) -> Cow<'_, str> {
    if text.len() <= most {
        return Cow::Borrowed(text);
    }
    let end = boundary(text, most - CUT.len());
    Cow::Owned([&text[..end], CUT].concat())
}

/// Does the same for a text that may be owned.
#[inline]
pub(crate) fn whole(text: Cow<'_, str>, most: usize) -> Cow<'_, str> {
    if text.len() <= most {
        return text;
    }
    Cow::Owned(cut(&text, most).into_owned())
}

/// The last place at or before `most` where a character starts.
#[inline]
pub(crate) fn boundary(text: &str, most: usize) -> usize {
    if text.len() <= most {
        return text.len();
    }
    let starts = (0..=most).rev().find(|at| text.is_char_boundary(*at));
    starts.unwrap_or(0)
}

/// JSON with escapes for the characters that drive a terminal and that JSON takes as they are:
/// C1 controls, ends of lines, and marks that turn text around. They stand in strings only.
#[inline]
pub(crate) fn harmless_json(json: String) -> String {
    if json.bytes().all(|byte| byte < 0x7f) {
        return json;
    }
    let mut out = String::with_capacity(json.len() + 16);
    for c in json.chars() {
        if is_unruly(c) {
            // All of them have four digits. Writing to a string does not fail.
            let _ = write!(out, "\\u{:04x}", c as u32);
        } else {
            out.push(c);
        }
    }
    out
}

fn is_unruly(c: char) -> bool {
    matches!(
        c,
        '\u{7f}'..='\u{9f}' | '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2066}'..='\u{2069}' | '\u{feff}'
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_drives_a_terminal_is_escaped_in_json() {
        let text = "a\u{9b}31m\u{7f}\u{202e}ä\u{2028}\u{feff}";
        let json = harmless_json(serde_json::to_string(text).unwrap());
        assert_eq!(json, r#""a\u009b31m\u007f\u202eä\u2028\ufeff""#);
        assert_eq!(serde_json::from_str::<String>(&json).unwrap(), text);
    }

    #[test]
    fn text_is_cut_between_characters_and_marked() {
        assert_eq!(cut("abc", 3), "abc");
        assert_eq!(cut("abcdefgh", 7), "abcd…");
        // Each takes two bytes.
        assert_eq!(cut("ääää", 7), "ää…");
        assert_eq!(whole(Cow::Borrowed("ääää"), 6), "ä…");
        assert_eq!(boundary("ää", 3), 2);
        assert_eq!(boundary("ää", 9), 4);
    }

    #[test]
    fn bytes_that_are_no_text_are_replaced() {
        assert_eq!(lossy(b"a\xffb"), "a\u{fffd}b");
    }
}
