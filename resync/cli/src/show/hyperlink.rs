//! Links to source lines, for terminals that follow them: the escape sequence
//! OSC 8 around the text of a place.

use std::io::Write;
use std::sync::OnceLock;

/// Appends what `text` appends, as a link to a line of a file. Terminals open
/// absolute paths only, so other files get no link.
pub fn push(file: &[u8], line: Option<u64>, out: &mut Vec<u8>, text: impl FnOnce(&mut Vec<u8>)) {
    if file.first() != Some(&b'/') {
        return text(out);
    }
    out.extend_from_slice(b"\x1b]8;;file://");
    push_path(host().as_bytes(), out);
    push_path(file, out);
    if let Some(line) = line {
        // Writing to a vector does not fail.
        let _ = write!(out, "#{line}");
    }
    out.extend_from_slice(b"\x1b\\");
    text(out);
    out.extend_from_slice(b"\x1b]8;;\x1b\\");
}

/// Appends a path with everything escaped that is not plain in a URI.
fn push_path(path: &[u8], out: &mut Vec<u8>) {
    for byte in path {
        match byte {
            b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z' | b'/' | b'-' | b'.' | b'_' | b'~' => {
                out.push(*byte);
            }
            byte => {
                let _ = write!(out, "%{byte:02X}");
            }
        }
    }
}

/// This machine's name: terminals at other machines cannot open the file.
fn host() -> &'static str {
    static HOST: OnceLock<String> = OnceLock::new();
    HOST.get_or_init(|| {
        let name = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
        name.trim().to_owned()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn absolute_paths_are_linked_and_nothing_in_them_gets_out() {
        let mut out = Vec::new();
        push(b"/src/a b\x1b\\\n.c", Some(7), &mut out, |out| {
            out.extend(b"x")
        });
        let host = host();
        let wanted = format!("\x1b]8;;file://{host}/src/a%20b%1B%5C%0A.c#7\x1b\\x\x1b]8;;\x1b\\");
        assert_eq!(String::from_utf8(out).unwrap(), wanted);

        let mut out = Vec::new();
        push(b"src/a.c", Some(7), &mut out, |out| out.extend(b"x"));
        assert_eq!(out, b"x");
    }
}
