//! JSON that another program wrote, made harmless while it passes. Knows nothing of keys: what
//! drives a terminal stands in strings only, where an escape means the same.

use super::object;
use crate::show::escape;

/// JSON that comes in pieces, which may end in the middle of a character.
#[derive(Default)]
pub struct Foreign {
    /// The bytes of a character that has not come whole.
    begun: Vec<u8>,
}

impl Foreign {
    /// Appends a piece to `out`, with escapes for what drives a terminal. Bytes that are no UTF-8
    /// become U+FFFD.
    pub fn push(&mut self, piece: &[u8], out: &mut Vec<u8>) {
        let mut bytes = std::mem::take(&mut self.begun);
        bytes.extend_from_slice(piece);
        let mut chunks = bytes.utf8_chunks().peekable();
        while let Some(chunk) = chunks.next() {
            escape::push_text(chunk.valid(), out, stays, object::push_control);
            if chunks.peek().is_none() && is_begun(chunk.invalid()) {
                self.begun = chunk.invalid().to_vec();
            } else if !chunk.invalid().is_empty() {
                out.extend_from_slice("\u{fffd}".as_bytes());
            }
        }
    }
}

/// Whether bytes begin a character that more bytes may end.
fn is_begun(bytes: &[u8]) -> bool {
    str::from_utf8(bytes).is_err_and(|error| error.error_len().is_none())
}

/// Whether a character is left as it is: JSON has white space between its tokens.
fn stays(c: char) -> bool {
    matches!(c, '\n' | '\r' | '\t') || escape::is_harmless(c)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn foreign_json_is_the_same_and_harmless_wherever_it_is_cut() {
        let json = "[{\"a\": \"x\u{9b}31m\u{202e}ä\u{7f}\u{10348}\"}]\n";
        let harmless = "[{\"a\": \"x\\u009b31m\\u202eä\\u007f\u{10348}\"}]\n";
        for cut in 0..=json.len() {
            let (mut foreign, mut out) = (Foreign::default(), Vec::new());
            foreign.push(&json.as_bytes()[..cut], &mut out);
            foreign.push(&json.as_bytes()[cut..], &mut out);
            assert_eq!(str::from_utf8(&out), Ok(harmless), "{cut}");
        }
        let value = |text| serde_json::from_str::<serde_json::Value>(text).unwrap();
        assert_eq!(value(json), value(harmless));
    }

    #[test]
    fn what_is_no_json_drives_no_terminal_either() {
        let (mut foreign, mut out) = (Foreign::default(), Vec::new());
        for byte in b"\x1b]0;x\x07\xff\xf0\x9f\"\xc2" {
            foreign.push(&[*byte], &mut out);
        }
        let shown = "\\u001b]0;x\\u0007\u{fffd}\u{fffd}\"";
        assert_eq!(str::from_utf8(&out), Ok(shown));
    }
}
