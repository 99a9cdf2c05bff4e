//! How the rows, the pages and the line at the bottom look. Every text was escaped before; the buffer cuts
//! what is too wide, and leaves out what takes no column. Knows neither keys nor terminals.

use super::app::{App, Page};
use super::keys;
use super::list::{List, Listed};
use super::log::Stage;
use super::look::{self, Line};
use super::prompt::For;
use crate::choose::when::Moment;
use crate::show::escape;
use logdef_wire::Level;
use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;
use ratatui_core::style::{Color, Modifier, Style};
use unicode_width::UnicodeWidthChar;

/// Nanoseconds between two records that are shown as a jump in time.
const JUMP: u64 = 10_000_000_000;
/// On screens narrower than this, rows are without their date: the line at the bottom has it.
const WIDE: u16 = 120;
/// Bytes of a date, and the space after it.
const DATE: usize = "2026-05-01 ".len();
/// Columns before each row: its mark, and whether it is the one that the person is on.
const MARGIN: u16 = 2;

pub fn draw(app: &mut App, buffer: &mut Buffer, has_color: bool) {
    let area = buffer.area;
    if area.height == 0 || area.width == 0 {
        return;
    }
    let mut screen = Screen {
        buffer,
        area,
        has_color,
    };
    let rows = area.height - 1;
    if app.page.is_some() {
        app.height = usize::from(rows.saturating_sub(1)).max(1);
        screen.page(app);
    } else {
        let details = match app.details {
            Some(_) => rows / 2,
            None => 0,
        };
        app.height = usize::from(rows - details).max(1);
        app.clamp();
        screen.rows(app, rows - details);
        if details > 0 {
            screen.details(app, rows - details, details);
        }
    }
    screen.bottom(app);
}

struct Screen<'b> {
    buffer: &'b mut Buffer,
    area: Rect,
    has_color: bool,
}

impl Screen<'_> {
    fn put(&mut self, column: u16, line: u16, text: &str, style: Style) -> u16 {
        if column >= self.area.width || line >= self.area.height {
            return column;
        }
        let width = usize::from(self.area.width - column);
        let (x, y) = (self.area.x + column, self.area.y + line);
        let (end, _) = self.buffer.set_stringn(x, y, text, width, style);
        end - self.area.x
    }

    /// A line from edge to edge.
    fn bar(&mut self, line: u16, text: &str) {
        let style = Style::new().add_modifier(Modifier::REVERSED);
        let row = Rect::new(self.area.x, self.area.y + line, self.area.width, 1);
        self.buffer.set_style(row, style);
        self.put(0, line, text, style);
    }

    fn rows(&mut self, app: &mut App, height: u16) {
        let shown = app.rows();
        let is_all = matches!(app.list, List::All);
        let mut lines = Vec::new();
        let mut before = None;
        for (listed, row) in &shown {
            if let Some(jump) = jump(before, row.time).filter(|_| is_all) {
                lines.push((None, jump));
            }
            before = row.time.or(before);
            lines.push((Some((listed, row)), String::new()));
        }
        // The row that the person is on stays on the screen.
        let is_on = |line: &(Option<(&Listed, &Line)>, String)| {
            line.0
                .is_some_and(|(listed, _)| listed.position == app.cursor)
        };
        let cursor = lines.iter().position(is_on).unwrap_or(0);
        let skipped = (cursor + 1).saturating_sub(usize::from(height));
        for (line, shown) in (0..height).zip(lines.into_iter().skip(skipped)) {
            match shown {
                (Some((listed, row)), _) => self.row(app, line, listed, row),
                (None, jump) => {
                    let style = Style::new().add_modifier(Modifier::DIM);
                    self.put(0, line, &jump, style);
                }
            }
        }
    }

    fn row(&mut self, app: &App, line: u16, listed: &Listed, row: &Line) {
        let mut style = self.style(row);
        let is_on = listed.position == app.cursor;
        if is_on {
            style = style.add_modifier(Modifier::REVERSED);
        }
        let mark = app.mark_of(listed.number).unwrap_or(' ');
        let sign = if is_on { '>' } else { ' ' };
        self.put(0, line, &format!("{mark}{sign}"), Style::new());
        let mut text = &row.text[..];
        if self.area.width < WIDE && begins_with_date(text) {
            text = &text[DATE..];
        }
        let end = self.put(MARGIN, line, behind(text, app.left), style);
        if listed.folded > 0 {
            let more = format!(" (+{} more)", listed.folded);
            let width = more.len() as u16;
            let column = end.min(self.area.width.saturating_sub(width));
            self.put(column, line, &more, style.add_modifier(Modifier::BOLD));
        }
    }

    fn style(&self, row: &Line) -> Style {
        let (color, modifier) = match row.level {
            _ if row.is_gap => (Color::Magenta, Modifier::BOLD),
            Some(level) if level >= Level::ERROR => (Color::Red, Modifier::BOLD),
            Some(level) if level >= Level::WARN => (Color::Yellow, Modifier::empty()),
            Some(level) if level < Level::INFO => (Color::Reset, Modifier::DIM),
            _ => (Color::Reset, Modifier::empty()),
        };
        let style = Style::new().add_modifier(modifier);
        if self.has_color {
            style.fg(color)
        } else {
            style
        }
    }

    fn details(&mut self, app: &mut App, first: u16, height: u16) {
        self.bar(first, " J and K scroll, Enter closes");
        let width = usize::from(self.area.width).max(1);
        let lines = app.detail_lines();
        let lines: Vec<_> = lines.iter().flat_map(|line| wrapped(line, width)).collect();
        let shown = usize::from(height - 1);
        let last = lines.len().saturating_sub(shown);
        let top = app.details.unwrap_or(0).min(last);
        app.details = Some(top);
        for (line, text) in (first + 1..first + height).zip(&lines[top..]) {
            self.put(0, line, text, Style::new());
        }
    }

    fn page(&mut self, app: &mut App) {
        let (title, lines, chosen) = match &app.page {
            Some(Page::Help) => ("keys; a number before one repeats it", keys::page(), None),
            Some(Page::Losses(lines)) => ("what the log lost", lines.clone(), None),
            Some(Page::Sites(sites, chosen)) => {
                let lines = sites.iter().map(|site| site.line.clone()).collect();
                ("records, share, rate, call site", lines, Some(*chosen))
            }
            None => return,
        };
        self.bar(0, &format!(" {title}: Esc closes"));
        let height = self.area.height.saturating_sub(2);
        let shown = lines.iter().enumerate().skip(app.page_top);
        for (line, (number, text)) in (1..=height).zip(shown) {
            let mut harmless = Vec::new();
            escape::push(text.as_bytes(), &mut harmless);
            let style = match chosen {
                Some(chosen) if chosen == number => Style::new().add_modifier(Modifier::REVERSED),
                _ => Style::new(),
            };
            let text = String::from_utf8_lossy(&harmless);
            self.put(0, line, behind(&text, app.left), style);
        }
    }

    /// What is typed or to be said, or where the person is.
    fn bottom(&mut self, app: &App) {
        let line = self.area.height - 1;
        let message = escaped(&app.message);
        if let Some(prompt) = &app.prompt {
            let text = escaped(&format!("{}{}", prompt.sign(), prompt.text));
            // The end of a long text is what is being typed.
            let width: usize = text.chars().map(width_of).sum();
            let left = (width + 2).saturating_sub(usize::from(self.area.width));
            let end = self.put(0, line, behind(&text, left), Style::new());
            let end = self.put(
                end,
                line,
                "_",
                Style::new().add_modifier(Modifier::REVERSED),
            );
            let beside = match (&message[..], prompt.purpose) {
                ("", For::Filter) => chosen(app).unwrap_or_default(),
                _ => message,
            };
            let style = Style::new().add_modifier(Modifier::DIM);
            self.put(end + 2, line, &beside, style);
            return;
        }
        let text = match (&app.message[..], app.progress()) {
            ("", Some(progress)) if app.page.is_some() => format!(" {progress}"),
            ("", Some(progress)) => format!(" {progress}: Esc stops"),
            ("", None) => status(app),
            _ => format!(" {message}"),
        };
        self.bar(line, &text);
    }
}

/// Where the person is, how far the log is read, and what of it is shown.
fn status(app: &App) -> String {
    let positions = app.list.positions(&app.log);
    let mut parts = Vec::new();
    let all = app.log.found().rows.len();
    if let Some(current) = app.current {
        parts.push(format!("{}/{all}", current.number + 1));
    } else {
        parts.push(format!("{all} rows"));
    }
    if let Some(time) = app.time.filter(|_| app.page.is_none()) {
        parts.push(look::time(time, &app.zone));
    }
    if let Some(chosen) = chosen(app) {
        parts.push(chosen);
    } else if positions.end > 0 {
        parts.push(format!("{} %", (app.cursor + 1) * 100 / positions.end));
    }
    match app.log.stage() {
        Stage::Begun => parts.push("opening".into()),
        Stage::Checking(bytes) => {
            let percent = bytes.min(app.log.bytes) * 100 / app.log.bytes.max(1);
            parts.push(format!("the beginning; {percent} % read"));
        }
        Stage::Reading => parts.push("reading".into()),
        Stage::Done => {}
        Stage::Following => parts.push("following".into()),
        Stage::Failed => parts.push("not all read".into()),
    }
    if app.sticks {
        parts.push("at the end".into());
    }
    if let Some(level) = app.level {
        parts.push(format!("{level} and up"));
    }
    if !app.filter.is_empty() {
        parts.push(format!("&{}", escaped(&app.filter)));
    }
    match app.log.losses().len() {
        0 => {}
        _ => parts.push("lossy: L".into()),
    }
    parts.push("h: keys".into());
    format!(" {}", parts.join("  "))
}

/// How many rows were chosen, and of how much of the log; `None` where all are shown.
fn chosen(app: &App) -> Option<String> {
    let List::Chosen(scan) = &app.list else {
        return None;
    };
    let all = app.log.found().rows.len();
    let chosen = scan.chosen();
    if let Some(problem) = &chosen.problem {
        return Some(escaped(problem));
    }
    let looked = chosen.looked.end - chosen.looked.start;
    let matches = match chosen.count {
        1 => "1 match".into(),
        count => format!("{count} matches"),
    };
    Some(match looked * 100 / all.max(1) {
        percent @ 0..100 if all > 0 => format!("{matches} at {percent} %"),
        _ => matches,
    })
}

fn escaped(text: &str) -> String {
    let mut out = Vec::new();
    escape::push(text.as_bytes(), &mut out);
    String::from_utf8_lossy(&out).into_owned()
}

/// What is said between two rows that are far apart in time.
fn jump(before: Option<u64>, time: Option<u64>) -> Option<String> {
    let (Moment(before), Moment(time)) = (Moment(before?), Moment(time?));
    let length = time.abs_diff(before);
    (length >= JUMP).then(|| {
        let which = if time < before { "earlier" } else { "later" };
        format!("  -- {} {which} --", look::duration(length))
    })
}

fn begins_with_date(text: &str) -> bool {
    let bytes = text.as_bytes();
    bytes.len() > DATE
        && bytes[..DATE].is_ascii()
        && bytes[4] == b'-'
        && bytes[DATE - 1] == b' '
        && bytes[0].is_ascii_digit()
}

fn width_of(letter: char) -> usize {
    letter.width().unwrap_or(0)
}

/// A text without its first columns.
fn behind(text: &str, columns: usize) -> &str {
    let mut left = columns;
    for (at, letter) in text.char_indices() {
        if left == 0 {
            return &text[at..];
        }
        left = left.saturating_sub(width_of(letter));
    }
    if columns == 0 { text } else { "" }
}

/// A text in pieces that fit a width.
fn wrapped(text: &str, width: usize) -> Vec<&str> {
    let mut pieces = Vec::new();
    let (mut begin, mut column) = (0, 0);
    for (at, letter) in text.char_indices() {
        let wide = width_of(letter);
        if column + wide > width && at > begin {
            pieces.push(&text[begin..at]);
            (begin, column) = (at, 0);
        }
        column += wide;
    }
    pieces.push(&text[begin..]);
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_cut_by_columns() {
        assert_eq!(behind("abc", 0), "abc");
        assert_eq!(behind("abc", 2), "c");
        assert_eq!(behind("漢字a", 2), "字a");
        assert_eq!(behind("漢字a", 9), "");
        assert_eq!(wrapped("abcde", 2), ["ab", "cd", "e"]);
        assert_eq!(wrapped("漢字a", 3), ["漢", "字a"]);
        assert_eq!(wrapped("漢字", 1), ["漢", "字"]);
        assert_eq!(wrapped("", 5), [""]);
    }

    #[test]
    fn jumps_in_time_are_said() {
        let second = 1_000_000_000;
        assert_eq!(jump(Some(0), Some(9 * second)), None);
        assert_eq!(jump(None, Some(second)), None);
        let later = jump(Some(second), Some(13 * second)).unwrap();
        assert_eq!(later, "  -- 12.000 s later --");
        let earlier = jump(Some(13 * second), Some(second)).unwrap();
        assert_eq!(earlier, "  -- 12.000 s earlier --");
    }
}
