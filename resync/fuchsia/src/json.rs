//! JSON that a terminal may show: what any of the formats here is written as for people and for programs.

use std::fmt::Write;

/// JSON with escapes for the characters that drive a terminal and that JSON takes as they are:
/// C1 controls, ends of lines, and marks that turn text around. They stand in strings only.
#[inline]
pub fn harmless_json(json: String) -> String {
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
}
