//! What shells complete from the logs at hand: sites, threads, names, modules, processes and runs, for the
//! option that the person types a value of. The scripts of shells ask for it at each press of a key, so
//! it is bounded: what was not found soon is left out.

mod line;
mod names;
mod script;

use crate::paths;
use clap_complete::Shell;
use line::{Line, Quote};
pub use script::script;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::time::{Duration, Instant};

/// Values that are offered at most.
const MOST: usize = 1000;

/// What an option names.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Wanted {
    Site,
    Thread,
    Module,
    Pid,
    Run,
    /// An argument or a key in a condition.
    Name,
}

/// Options with values from logs.
const OPTIONS: [(&str, Wanted); 8] = [
    ("--site", Wanted::Site),
    ("--thread", Wanted::Thread),
    ("--module", Wanted::Module),
    ("--pid", Wanted::Pid),
    ("--run", Wanted::Run),
    ("--where", Wanted::Name),
    ("-w", Wanted::Name),
    ("--not", Wanted::Name),
];

/// The values for the last word of a command line that are found in a time, as the shell puts them in its
/// place; `word` is what the shell takes for that word. There are none where it is no value of such an option.
pub fn values(shell: Shell, text: &str, word: &str, within: Duration) -> Vec<String> {
    let begun = Instant::now();
    let line = Line::parse(text);
    let Some((wanted, typed)) = wanted(&line) else {
        return Vec::new();
    };
    let at = match wanted {
        Wanted::Name => line::name_at(typed),
        _ => Some(0),
    };
    let Some(at) = at else { return Vec::new() };
    let (before, part) = typed.split_at(at);
    let mut found = BTreeSet::new();
    let (sender, values) = mpsc::sync_channel::<String>(64);
    let files = line.words.clone();
    // It is left behind where it takes too long: a file may be far away.
    std::thread::spawn(move || names::read(files_of(&files), wanted, &sender));
    while found.len() < MOST
        && let Some(left) = within.checked_sub(begun.elapsed())
        && let Ok(value) = values.recv_timeout(left)
    {
        let value = match wanted {
            Wanted::Site | Wanted::Module => last_parts(&value, part),
            _ => Some(&value[..]).filter(|value| value.starts_with(part)),
        };
        found.extend(value.filter(|value| is_offered(value)).map(str::to_owned));
    }
    let shown = found.iter().map(|value| format!("{before}{value}"));
    shown
        .filter_map(|value| match shell {
            Shell::Bash => for_bash(&value, typed, word, line.quote),
            _ => Some(value),
        })
        .collect()
}

/// What the last word of a line is a value of, and as much of the value as was typed.
fn wanted(line: &Line) -> Option<(Wanted, &str)> {
    let (last, before) = line.words.split_last()?;
    let of_option = |word: &str| OPTIONS.iter().find(|(option, _)| *option == word);
    if let Some((_, wanted)) = before.last().and_then(|word| of_option(word)) {
        return Some((*wanted, last));
    }
    let (option, typed) = last.split_once('=')?;
    let (_, wanted) = of_option(option).filter(|(option, _)| option.starts_with("--"))?;
    Some((*wanted, typed))
}

/// A path, or as few of its parts as its end needs to begin with what was typed.
fn last_parts<'p>(path: &'p str, typed: &str) -> Option<&'p str> {
    let mut ends = path.match_indices('/').map(|(at, _)| &path[at + 1..]);
    let whole = Some(path).filter(|path| path.starts_with(typed));
    whole.or_else(|| ends.find(|end| end.starts_with(typed)))
}

/// Names in a log may be hostile: what would move a terminal, or is an option, is not offered.
fn is_offered(value: &str) -> bool {
    let mut escaped = Vec::new();
    crate::show::escape::push(value.as_bytes(), &mut escaped);
    escaped == value.as_bytes() && !value.is_empty() && !value.starts_with('-')
}

/// Bash puts what it is given in place of a part of the word, and runs what stands there: so it is quoted,
/// unless the person began to quote. `None` if it cannot stand between the quotation marks.
fn for_bash(value: &str, typed: &str, word: &str, quote: Quote) -> Option<String> {
    let quotes: &[char] = match quote {
        Quote::None => {
            let word = Line::parse(word).words.pop().unwrap_or_default();
            let left = typed.strip_suffix(&word[..]).map_or(0, str::len);
            return Some(line::quoted(value.get(left..)?));
        }
        Quote::Single => &['\''],
        Quote::Double => &['"', '$', '`', '\\', '!'],
    };
    (!value.contains(quotes)).then(|| value.to_owned())
}

/// The logs that the words of a line name, or else those of the folder.
fn files_of(words: &[String]) -> Vec<PathBuf> {
    let named = words[..words.len() - 1].iter().skip(1).map(PathBuf::from);
    let is_there = |path: &PathBuf| paths::is_pattern(path) || path.is_dir() || path.is_file();
    let mut named: Vec<_> = named.filter(is_there).collect();
    if named.is_empty() {
        named.push(Path::new(".").into());
    }
    let found = paths::of(&named).into_iter().flatten();
    found.filter(|path| path.is_file()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_of(text: &str) -> Option<(Wanted, String)> {
        let line = Line::parse(text);
        wanted(&line).map(|(wanted, typed)| (wanted, typed.to_owned()))
    }

    #[test]
    fn the_last_word_is_a_value_of_an_option() {
        let some = |wanted, typed: &str| Some((wanted, typed.to_owned()));
        assert_eq!(is_of("logdef view --site "), some(Wanted::Site, ""));
        assert_eq!(is_of("logdef --thread=wo"), some(Wanted::Thread, "wo"));
        assert_eq!(is_of("logdef a.log -w 'm"), some(Wanted::Name, "m"));
        assert_eq!(is_of("logdef --not=\"a b"), some(Wanted::Name, "a b"));
        for text in [
            "logdef",
            "logdef ",
            "logdef --site",
            "logdef --level ",
            "logdef --site x ",
        ] {
            assert_eq!(is_of(text), None, "{text}");
        }
    }

    #[test]
    fn bash_is_given_nothing_that_it_would_run() {
        let single = |value| for_bash(value, "", "", Quote::Single);
        let double = |value| for_bash(value, "", "", Quote::Double);
        let none = |value, typed, word| for_bash(value, typed, word, Quote::None);
        assert_eq!(none("$(reboot)", "", "").unwrap(), "\\$\\(reboot\\)");
        assert_eq!(none("a b;c", "a b", "a\\ b").unwrap(), "a\\ b\\;c");
        // It takes a colon for the end of a word.
        assert_eq!(none("wal.c:120", "wal.c:1", "1").unwrap(), "120");
        assert_eq!(single("$(reboot)").unwrap(), "$(reboot)");
        assert_eq!(single("a'b"), None);
        assert_eq!(double("$(reboot)"), None);
        assert_eq!(double("a'b").unwrap(), "a'b");
    }
}
