//! Links to source lines, for terminals that follow them: the escape sequence
//! OSC 8 around the text of a place.

use std::io::Write;
use std::sync::OnceLock;

/// What links say.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Link {
    /// Output has no links.
    None,
    /// `file://`, for the terminal to open.
    File,
    /// What an editor understands: text around `{path}` and `{line}`.
    Editor(String),
}

impl Link {
    /// Understands `none`, `file`, `vscode` and what holds `{path}`.
    pub fn parse(text: &str) -> Result<Link, String> {
        match text {
            "none" => Ok(Link::None),
            "file" => Ok(Link::File),
            "vscode" => Ok(Link::Editor("vscode://file{path}:{line}".into())),
            text if !text.contains("{path}") => Err(
                "try none, file, vscode, or a link with {path} and {line}: idea://open?file={path}&line={line}"
                    .into(),
            ),
            text if text.bytes().any(|byte| !(b' '..=b'~').contains(&byte)) => {
                Err("a link has printable ASCII characters only".into())
            }
            text => Ok(Link::Editor(text.to_owned())),
        }
    }

    /// Appends what `text` appends, as a link to a line of a file. Terminals open
    /// absolute paths only, so other files get no link.
    #[inline]
    pub fn push(
        &self,
        file: &[u8],
        line: Option<u64>,
        out: &mut Vec<u8>,
        text: impl FnOnce(&mut Vec<u8>),
    ) {
        if matches!(self, Link::None) || file.first() != Some(&b'/') {
            return text(out);
        }
        self.push_link(file, line, out, text);
    }

    fn push_link(
        &self,
        file: &[u8],
        line: Option<u64>,
        out: &mut Vec<u8>,
        text: impl FnOnce(&mut Vec<u8>),
    ) {
        out.extend_from_slice(b"\x1b]8;;");
        match self {
            Link::Editor(link) => push_editor(link, file, line.unwrap_or(1), out),
            _ => push_file(file, line, out),
        }
        out.extend_from_slice(b"\x1b\\");
        text(out);
        out.extend_from_slice(b"\x1b]8;;\x1b\\");
    }
}

fn push_file(file: &[u8], line: Option<u64>, out: &mut Vec<u8>) {
    out.extend_from_slice(b"file://");
    push_path(host().as_bytes(), out);
    push_path(file, out);
    if let Some(line) = line {
        // Writing to a vector does not fail.
        let _ = write!(out, "#{line}");
    }
}

fn push_editor(link: &str, file: &[u8], line: u64, out: &mut Vec<u8>) {
    for (index, part) in link.split("{path}").enumerate() {
        if index > 0 {
            push_path(file, out);
        }
        out.extend(part.replace("{line}", &line.to_string()).bytes());
    }
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
        let link = |link: &Link, file: &[u8], line| {
            let mut out = Vec::new();
            link.push(file, line, &mut out, |out| out.extend(b"x"));
            String::from_utf8(out).unwrap()
        };
        let hostile = b"/src/a b\x1b\\\n.c";
        let host = host();
        let wanted = format!("\x1b]8;;file://{host}/src/a%20b%1B%5C%0A.c#7\x1b\\x\x1b]8;;\x1b\\");
        assert_eq!(link(&Link::File, hostile, Some(7)), wanted);
        let editor = Link::parse("vscode").unwrap();
        assert_eq!(
            link(&editor, hostile, None),
            "\x1b]8;;vscode://file/src/a%20b%1B%5C%0A.c:1\x1b\\x\x1b]8;;\x1b\\"
        );
        let editor = Link::parse("ed://{line}?{path}&{line}").unwrap();
        assert_eq!(
            link(&editor, b"/{line}", Some(9)),
            "\x1b]8;;ed://9?/%7Bline%7D&9\x1b\\x\x1b]8;;\x1b\\"
        );
        assert_eq!(link(&Link::File, b"src/a.c", Some(7)), "x");
        assert_eq!(link(&Link::None, b"/src/a.c", Some(7)), "x");
    }

    #[test]
    fn what_is_no_link_is_refused() {
        for text in ["", "vim", "a{line}", "\x1b{path}", "é{path}"] {
            assert!(Link::parse(text).is_err(), "{text}");
        }
    }
}
