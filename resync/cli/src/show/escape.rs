//! Text from a log, made harmless: a log can hold what anybody sent to the
//! program that wrote it, and must not drive the terminal that shows it.

/// Appends bytes with everything escaped that is not plain text: control
/// characters, line and paragraph separators, characters that change the
/// direction of text, and bytes that are not UTF-8.
#[inline]
pub fn push(bytes: &[u8], out: &mut Vec<u8>) {
    if is_plain(bytes) {
        return out.extend_from_slice(bytes);
    }
    for chunk in bytes.utf8_chunks() {
        push_text(chunk.valid(), out, is_harmless, push_odd);
        for byte in chunk.invalid() {
            push_hex(b"\\x", u32::from(*byte), 2, out);
        }
    }
}

/// Appends a text: what `stays` is copied, a run at a time, and `odd` appends what stands for each
/// other character.
#[inline]
pub fn push_text(
    text: &str,
    out: &mut Vec<u8>,
    stays: impl Fn(char) -> bool,
    odd: impl Fn(char, &mut Vec<u8>),
) {
    let mut begins = 0;
    for (at, c) in text.char_indices() {
        if !stays(c) {
            out.extend_from_slice(&text.as_bytes()[begins..at]);
            odd(c, out);
            begins = at + c.len_utf8();
        }
    }
    out.extend_from_slice(&text.as_bytes()[begins..]);
}

/// Appends a mark and the last hexadecimal digits of a number.
pub fn push_hex(mark: &[u8], number: u32, digits: u32, out: &mut Vec<u8>) {
    out.extend_from_slice(mark);
    for digit in (0..digits).rev() {
        let value = (number >> (4 * digit)) & 0xf;
        out.push(b"0123456789abcdef"[value as usize]);
    }
}

/// Escapes what `text` appends to `out`. Most texts are plain and stay where they
/// were put.
#[inline]
pub fn push_with(out: &mut Vec<u8>, text: impl FnOnce(&mut Vec<u8>)) {
    let start = out.len();
    text(out);
    if !is_plain(&out[start..]) {
        let odd = out.split_off(start);
        push(&odd, out);
    }
}

/// Appends a line of a text that is no log. Tabs and changes of colour stay: they move nothing.
pub fn push_line(line: &[u8], out: &mut Vec<u8>) {
    let mut rest = line;
    while let Some(at) = rest.iter().position(|byte| matches!(byte, b'\t' | 0x1b)) {
        let (before, behind) = rest.split_at(at);
        push(before, out);
        let kept = harmless_control(behind);
        out.extend_from_slice(&behind[..kept]);
        if kept == 0 {
            push(&behind[..1], out);
        }
        rest = &behind[kept.max(1)..];
    }
    push(rest, out);
}

/// The length of the tab or the change of colour that `bytes` begin with; 0 if they begin with neither.
fn harmless_control(bytes: &[u8]) -> usize {
    let Some(parameters) = bytes.strip_prefix(b"\x1b[") else {
        return usize::from(bytes[0] == b'\t');
    };
    let is_parameter = |byte: &&u8| byte.is_ascii_digit() || **byte == b';';
    let len = parameters.iter().take_while(is_parameter).count();
    match parameters.get(len) {
        Some(b'm') => len + 3,
        _ => 0,
    }
}

/// Whether bytes are printable ASCII. Looks at all of them, which is quicker than to
/// stop at the first that is not.
#[inline]
pub fn is_plain(bytes: &[u8]) -> bool {
    let is_odd = |byte: &u8| byte.wrapping_sub(b' ') > b'~' - b' ';
    !bytes.iter().fold(false, |odd, byte| odd | is_odd(byte))
}

/// Whether a character does nothing to a terminal but to appear.
pub fn is_harmless(c: char) -> bool {
    !c.is_control() && !is_unruly(c)
}

fn push_odd(c: char, out: &mut Vec<u8>) {
    match c {
        '\n' => out.extend_from_slice(b"\\n"),
        '\t' => out.extend_from_slice(b"\\t"),
        '\r' => out.extend_from_slice(b"\\r"),
        c if c.is_control() => push_hex(b"\\x", c.into(), 2, out),
        c => {
            push_hex(b"\\u{", c.into(), hex_digits(c), out);
            out.push(b'}');
        }
    }
}

/// How many hexadecimal digits a character's number has.
fn hex_digits(c: char) -> u32 {
    (u32::from(c).ilog2()) / 4 + 1
}

/// Separators that end lines, and marks that turn text around.
pub fn is_unruly(c: char) -> bool {
    matches!(
        c,
        '\u{2028}' | '\u{2029}' | '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}'
            | '\u{2066}'..='\u{2069}' | '\u{feff}'
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn escaped(bytes: &[u8]) -> String {
        let mut out = Vec::new();
        push(bytes, &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn a_line_of_a_text_keeps_tabs_and_colours_alone() {
        let mut out = Vec::new();
        push_line(b"\ta \x1b[1;31mred\x1b[m \x1b[2J\x1b]0;x\x07\x1b", &mut out);
        let expected = "\ta \x1b[1;31mred\x1b[m \\x1b[2J\\x1b]0;x\\x07\\x1b";
        assert_eq!(String::from_utf8(out).unwrap(), expected);
    }

    #[test]
    fn nothing_that_moves_a_terminal_gets_through() {
        assert_eq!(escaped(b"\x1b]0;owned\x07"), "\\x1b]0;owned\\x07");
        assert_eq!(escaped("a\u{9b}31mb".as_bytes()), "a\\x9b31mb");
        assert_eq!(
            escaped("\u{202e}txt\u{2028}".as_bytes()),
            "\\u{202e}txt\\u{2028}"
        );
        assert_eq!(escaped(b"line\nfake"), "line\\nfake");
        assert_eq!(escaped(b"\xff\xfeok"), "\\xff\\xfeok");
    }

    /// A log of one long string once took nine nanoseconds a byte of the output.
    #[test]
    fn every_character_is_escaped_as_one_by_one() {
        use std::io::Write;

        for c in ('\0'..='\u{ffff}').chain(['\u{10348}', '\u{e0001}']) {
            let mut one = Vec::new();
            match c {
                '\n' => one.extend(b"\\n"),
                '\t' => one.extend(b"\\t"),
                '\r' => one.extend(b"\\r"),
                c if c.is_control() => write!(one, "\\x{:02x}", c as u32).unwrap(),
                c if is_unruly(c) => write!(one, "\\u{{{:x}}}", c as u32).unwrap(),
                c => write!(one, "{c}").unwrap(),
            }
            let one = String::from_utf8(one).unwrap();
            let text = format!("a{c}{c}bä{c}");
            assert_eq!(
                escaped(text.as_bytes()),
                format!("a{one}{one}bä{one}"),
                "{:x}",
                c as u32
            );
        }
    }

    #[test]
    fn text_stays_as_it_is() {
        assert_eq!(escaped("größer → 漢字".as_bytes()), "größer → 漢字");
    }
}
