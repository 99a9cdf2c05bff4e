//! The keys: one table, which the help page shows, the documentation has, and each key is looked up in.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

/// What a person wants.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Command {
    Down,
    Up,
    HalfDown,
    HalfUp,
    PageDown,
    PageUp,
    First,
    Last,
    Percent,
    Left,
    Right,
    Search,
    SearchBack,
    Next,
    Previous,
    Filter,
    RaiseLevel,
    LowerLevel,
    Fold,
    Follow,
    Details,
    DetailsDown,
    DetailsUp,
    NextError,
    PreviousError,
    NextGap,
    PreviousGap,
    Time,
    Mark,
    ToMark,
    Sites,
    Losses,
    CopyText,
    CopyJson,
    Write,
    Help,
    Back,
    Redraw,
    Stop,
    Quit,
}

/// The keys of a command, and what it does.
pub struct Key {
    pub names: &'static [&'static str],
    pub command: Command,
    pub what: &'static str,
}

const fn key(names: &'static [&'static str], command: Command, what: &'static str) -> Key {
    Key {
        names,
        command,
        what,
    }
}

/// A number before a key repeats it, or names a row or a percentage.
pub const KEYS: [Key; 40] = [
    key(&["j", "Down"], Command::Down, "next row"),
    key(&["k", "Up"], Command::Up, "previous row"),
    key(
        &["Space", "f", "PgDn", "^F"],
        Command::PageDown,
        "next page",
    ),
    key(&["b", "PgUp", "^B"], Command::PageUp, "previous page"),
    key(&["d", "^D"], Command::HalfDown, "half a page down"),
    key(&["u", "^U"], Command::HalfUp, "half a page up"),
    key(
        &["g", "Home", "<"],
        Command::First,
        "first row; with a number, that row",
    ),
    key(
        &["G", "End", ">"],
        Command::Last,
        "last row; with a number, that row",
    ),
    key(
        &["%"],
        Command::Percent,
        "with a number: that far into the log",
    ),
    key(&["Right"], Command::Right, "scroll right"),
    key(&["Left"], Command::Left, "scroll left"),
    key(
        &["/"],
        Command::Search,
        "search forward for a regular expression",
    ),
    key(&["?"], Command::SearchBack, "search backward"),
    key(&["n"], Command::Next, "search again"),
    key(
        &["N"],
        Command::Previous,
        "search again in the other direction",
    ),
    key(
        &["&"],
        Command::Filter,
        "show only what matches, as you type",
    ),
    key(&["+"], Command::RaiseLevel, "raise the lowest level shown"),
    key(&["-"], Command::LowerLevel, "lower the lowest level shown"),
    key(
        &["r"],
        Command::Fold,
        "fold repeats of a call site, or unfold",
    ),
    key(
        &["F"],
        Command::Follow,
        "follow: new records as they are written",
    ),
    key(
        &["Enter"],
        Command::Details,
        "details of the row, or close them",
    ),
    key(&["J"], Command::DetailsDown, "scroll the details down"),
    key(&["K"], Command::DetailsUp, "scroll the details up"),
    key(&["e"], Command::NextError, "next record at ERROR or above"),
    key(&["E"], Command::PreviousError, "the one before"),
    key(&["]"], Command::NextGap, "next gap or damage"),
    key(&["["], Command::PreviousGap, "the one before"),
    key(
        &["t"],
        Command::Time,
        "go to a time: 10:30, -15m, 2026-05-01",
    ),
    key(&["m"], Command::Mark, "mark the row with a letter"),
    key(&["'"], Command::ToMark, "go to a mark; '' goes back"),
    key(
        &["s"],
        Command::Sites,
        "call sites with their rates; Enter shows one",
    ),
    key(&["L"], Command::Losses, "what the log lost"),
    key(&["y"], Command::CopyText, "copy the row as text"),
    key(&["Y"], Command::CopyJson, "copy the row as JSON"),
    key(
        &["w"],
        Command::Write,
        "write the rows to a file; .json for JSON",
    ),
    key(&["h"], Command::Help, "this page"),
    key(&["Esc"], Command::Back, "close, stop, show all again"),
    key(&["^L"], Command::Redraw, "draw the screen again"),
    key(&["^Z"], Command::Stop, "stop, until the shell's fg"),
    key(&["q", "Q", "^C"], Command::Quit, "leave"),
];

/// What a key is for.
pub fn command(name: &str) -> Option<Command> {
    let mut keys = KEYS.iter();
    let key = keys.find(|key| key.names.contains(&name))?;
    Some(key.command)
}

/// What a key is called here.
pub fn name(event: &KeyEvent) -> Option<String> {
    let is_control = event.modifiers.contains(KeyModifiers::CONTROL);
    Some(match event.code {
        KeyCode::Char(' ') => "Space".into(),
        KeyCode::Char(letter) if is_control => format!("^{}", letter.to_ascii_uppercase()),
        KeyCode::Char(letter) => letter.into(),
        KeyCode::Down => "Down".into(),
        KeyCode::Up => "Up".into(),
        KeyCode::Left => "Left".into(),
        KeyCode::Right => "Right".into(),
        KeyCode::PageDown => "PgDn".into(),
        KeyCode::PageUp => "PgUp".into(),
        KeyCode::Home => "Home".into(),
        KeyCode::End => "End".into(),
        KeyCode::Enter => "Enter".into(),
        KeyCode::Esc => "Esc".into(),
        KeyCode::Backspace => "Backspace".into(),
        _ => return None,
    })
}

/// The help page, a line for each command.
pub fn page() -> Vec<String> {
    let line = |key: &Key| format!("  {:<18} {}", key.names.join("  "), key.what);
    KEYS.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn each_key_has_one_meaning_and_fits_a_narrow_screen() {
        let mut names = HashSet::new();
        for key in &KEYS {
            for name in key.names {
                assert!(names.insert(*name), "{name}");
                assert_eq!(command(name), Some(key.command));
            }
        }
        assert!(page().iter().all(|line| line.chars().count() <= 80));
    }

    /// The table of docs/browse.md is the help page.
    #[test]
    fn the_documentation_has_the_same_keys() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/browse.md");
        let text = std::fs::read_to_string(path).unwrap();
        let rows = text.lines().filter(|line| line.starts_with("| `"));
        let documented: Vec<_> = rows.map(str::to_owned).collect();
        let row = |key: &Key| {
            let names: Vec<_> = key.names.iter().map(|name| format!("`{name}`")).collect();
            format!("| {} | {} |", names.join(" "), key.what)
        };
        assert_eq!(documented, KEYS.iter().map(row).collect::<Vec<_>>());
    }
}
