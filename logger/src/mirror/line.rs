//! A line of text in a fixed buffer: what does not fit is left out, and what could
//! move a terminal's cursor is written as an escape.

use crate::fixed_text::FixedText;
use core::fmt::{self, Write};
use logdef_wire::Level;

const ROOM: usize = 4096;
/// Bytes that are kept for the end of a colour and for [`CUT`].
const RESERVED: usize = 16;
/// Stands at the end of a line that was longer.
const CUT: &str = "…[cut]\n";

/// A line of text of at most [`ROOM`] bytes.
pub(super) struct Line {
    text: FixedText<ROOM>,
    cut: bool,
    colored: bool,
    /// Text stays as it is.
    raw: bool,
}

/// How a part of a line looks on a terminal.
#[derive(Clone, Copy)]
pub(super) enum Style {
    Dim,
    Plain,
    Info,
    Warn,
    Error,
}

impl Style {
    /// The style of a level's name.
    pub fn of(level: Level) -> Style {
        const ERROR: u8 = Level::ERROR.0;
        const WARN: u8 = Level::WARN.0;
        const INFO: u8 = Level::INFO.0;
        const DEBUG: u8 = Level::DEBUG.0;
        match level.0 {
            ERROR.. => Style::Error,
            WARN.. => Style::Warn,
            INFO.. => Style::Info,
            DEBUG.. => Style::Plain,
            _ => Style::Dim,
        }
    }

    fn sequence(self) -> &'static [u8] {
        match self {
            Style::Dim => b"\x1b[2m",
            Style::Plain => b"",
            Style::Info => b"\x1b[32m",
            Style::Warn => b"\x1b[33m",
            Style::Error => b"\x1b[1;31m",
        }
    }
}

impl Line {
    pub fn new(colored: bool) -> Line {
        Line {
            text: FixedText::new(),
            cut: false,
            colored,
            raw: false,
        }
    }

    /// A line that is no terminal's: what the program logged has no escapes in it.
    pub fn of_raw_text() -> Line {
        Line {
            raw: true,
            ..Line::new(false)
        }
    }

    /// Bytes that are known to be harmless.
    pub fn bytes(&mut self, bytes: &[u8]) {
        self.cut |= bytes.len() > self.room();
        if !self.cut {
            self.put(bytes);
        }
    }

    /// What the program logged, with escapes for control characters, for those
    /// that change the direction of writing, and for bytes that are no UTF-8.
    pub fn text(&mut self, text: &[u8]) {
        if self.raw {
            // As much as there is room for, which stays text if it was.
            let room = self.room();
            if text.len() > room {
                self.bytes(&text[..floor_char_boundary(text, room)]);
            }
            return self.bytes(text);
        }
        for chunk in text.utf8_chunks() {
            for character in chunk.valid().chars() {
                match character {
                    '\n' => self.bytes(b"\\n"),
                    '\r' => self.bytes(b"\\r"),
                    '\t' => self.bytes(b"\\t"),
                    '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{2028}' | '\u{2029}' => {
                        self.print(format_args!("\\u{{{:x}}}", character as u32));
                    }
                    c if c.is_control() => self.print(format_args!("\\x{:02x}", c as u32)),
                    c => self.bytes(c.encode_utf8(&mut [0; 4]).as_bytes()),
                }
            }
            for byte in chunk.invalid() {
                self.print(format_args!("\\x{byte:02x}"));
            }
        }
    }

    /// Harmless text.
    pub fn print(&mut self, text: fmt::Arguments<'_>) {
        let _ = self.write_fmt(text);
    }

    pub fn styled(&mut self, style: Style, write: impl FnOnce(&mut Line)) {
        if !self.colored {
            return write(self);
        }
        self.bytes(style.sequence());
        write(self);
        self.end_style();
    }

    /// The hour of the day and what is below it, of nanoseconds since the Unix
    /// epoch.
    pub fn time_of_day(&mut self, time: u64, ahead: i32) {
        let seconds = (time / 1_000_000_000).wrapping_add_signed(ahead as i64);
        let micros = time / 1000 % 1_000_000;
        let (hours, minutes) = (seconds / 3600 % 24, seconds / 60 % 60);
        let seconds = seconds % 60;
        self.print(format_args!(
            "{hours:02}:{minutes:02}:{seconds:02}.{micros:06}"
        ));
    }

    /// The line, ended.
    pub fn finish(&mut self) -> &[u8] {
        let end = if self.cut { CUT } else { "\n" };
        self.put(end.as_bytes());
        self.text.bytes()
    }

    /// Bytes that still fit, where the end of a colour and the mark of a cut stay free.
    fn room(&self) -> usize {
        self.text.room().saturating_sub(RESERVED)
    }

    fn end_style(&mut self) {
        self.put(b"\x1b[0m");
    }

    /// Bytes for which room was kept.
    fn put(&mut self, bytes: &[u8]) {
        let _ = self.text.push(bytes);
    }
}

/// The end of the last whole character of a text that ends at `end` or before.
fn floor_char_boundary(text: &[u8], end: usize) -> usize {
    let is_inside = |at: &usize| text.get(*at).is_some_and(|byte| byte & 0xc0 == 0x80);
    (0..=end).rev().find(|at| !is_inside(at)).unwrap_or(0)
}

impl Write for Line {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.bytes(text.as_bytes());
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(bytes: &[u8]) -> String {
        let mut line = Line::new(false);
        line.text(bytes);
        String::from_utf8(line.finish().to_vec()).unwrap()
    }

    #[test]
    fn nothing_moves_the_cursor() {
        assert_eq!(text("tÿpe 日本".as_bytes()), "tÿpe 日本\n");
        assert_eq!(text(b"a\x1b[2Jb\nc\r\t\x07"), "a\\x1b[2Jb\\nc\\r\\t\\x07\n");
        assert_eq!(text("\u{9b}1m\u{202e}x".as_bytes()), "\\x9b1m\\u{202e}x\n");
        assert_eq!(text(b"\xff\xc1ok"), "\\xff\\xc1ok\n");
    }

    #[test]
    fn long_lines_are_cut_and_colours_end() {
        let mut line = Line::new(true);
        line.styled(Style::Error, |line| {
            for _ in 0..ROOM {
                line.text("éx".as_bytes());
            }
        });
        let line = line.finish();
        assert!(line.len() <= ROOM);
        assert!(line.ends_with("\u{1b}[0m…[cut]\n".as_bytes()));
    }

    #[test]
    fn times_are_local() {
        let mut line = Line::new(false);
        line.time_of_day(1_000_000_000 * 86_399 + 7_000, 3600);
        assert_eq!(line.finish(), b"00:59:59.000007\n");
    }
}
