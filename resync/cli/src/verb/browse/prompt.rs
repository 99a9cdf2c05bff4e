//! What a person types at the bottom of the screen, and what it means. Knows nothing of the rows.

use crate::args::Filters;
use clap::Parser;
use jiff::tz::TimeZone;
use regex::bytes::Regex;

/// Characters that can be typed.
const LONGEST: usize = 4096;

/// What the text is for.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum For {
    Search,
    SearchBack,
    Filter,
    Time,
    Write,
}

/// A text that is being typed.
#[derive(Clone, Debug)]
pub struct Prompt {
    pub purpose: For,
    pub text: String,
}

impl Prompt {
    pub fn new(purpose: For, text: &str) -> Prompt {
        let text = text.to_owned();
        Prompt { purpose, text }
    }

    /// What stands before the text.
    pub fn sign(&self) -> &'static str {
        match self.purpose {
            For::Search => "/",
            For::SearchBack => "?",
            For::Filter => "&",
            For::Time => "time: ",
            For::Write => "write to: ",
        }
    }

    /// A key that edits the text; `false` if it does not.
    pub fn key(&mut self, name: &str) -> bool {
        match name {
            "Backspace" | "^H" => {
                self.text.pop();
            }
            "^U" => self.text.clear(),
            "^W" => {
                let kept = self.text.trim_end();
                let end = kept.rfind(' ').map_or(0, |at| at + 1);
                self.text.truncate(end);
            }
            "Space" => self.push(' '),
            _ => {
                let mut chars = name.chars();
                match (chars.next(), chars.next()) {
                    (Some(letter), None) => self.push(letter),
                    _ => return false,
                }
            }
        }
        true
    }

    fn push(&mut self, letter: char) {
        if self.text.len() < LONGEST && !letter.is_control() {
            self.text.push(letter);
        }
    }
}

/// Options that filter, as on the command line.
#[derive(Parser)]
#[command(
    no_binary_name = true,
    disable_help_flag = true,
    disable_version_flag = true
)]
struct Words {
    #[command(flatten)]
    filters: Filters,
}

/// What a filter means: options as those of `view` if it begins with one, else a regular expression for the
/// message; `None` if it is empty. An error is one line.
pub fn filters(text: &str, zone: &TimeZone) -> Result<Option<Filters>, String> {
    let text = text.trim();
    if text.is_empty() {
        return Ok(None);
    }
    let words = if text.starts_with('-') {
        words(text)?
    } else {
        vec![format!("--grep={text}")]
    };
    let parsed = Words::try_parse_from(words).map_err(|error| line(&error.to_string()))?;
    Ok(Some(parsed.filters.or_in_zone(zone.clone())))
}

/// A regular expression, or what is wrong with it.
pub fn regex(text: &str) -> Result<Regex, String> {
    Regex::new(text).map_err(|error| {
        let text = error.to_string();
        let last = text.lines().last().unwrap_or_default();
        last.trim_start_matches("error: ").to_owned()
    })
}

/// The first line of a message, and of a regular expression what is wrong with it.
fn line(message: &str) -> String {
    let mut lines = message.lines();
    let why = message
        .lines()
        .rev()
        .find_map(|line| line.trim().strip_prefix("error: "));
    let first = lines.next().unwrap_or_default();
    why.unwrap_or(first)
        .trim_start_matches("error: ")
        .to_owned()
}

/// Words as a shell takes them apart, where quotation marks keep spaces.
fn words(text: &str) -> Result<Vec<String>, String> {
    let mut words = Vec::new();
    let mut word = None::<String>;
    let mut quote = None;
    for letter in text.chars() {
        match quote {
            Some(end) if letter == end => quote = None,
            Some(_) => word.get_or_insert_default().push(letter),
            None if letter == '\'' || letter == '"' => {
                quote = Some(letter);
                word.get_or_insert_default();
            }
            None if letter == ' ' => words.extend(word.take()),
            None => word.get_or_insert_default().push(letter),
        }
    }
    words.extend(word);
    match quote {
        Some(quote) => Err(format!("{quote} is not closed")),
        None => Ok(words),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_taken_apart_as_by_a_shell() {
        let apart = |text: &str| words(text).unwrap();
        assert_eq!(
            apart("-w 'ms>500 and x=1'  -l warn"),
            ["-w", "ms>500 and x=1", "-l", "warn"]
        );
        assert_eq!(apart("-g \"a'b\"c ''"), ["-g", "a'bc", ""]);
        assert!(words("-g 'x").is_err());
    }

    #[test]
    fn a_filter_is_a_regular_expression_or_options() {
        let understood = |text: &str| filters(text, &TimeZone::UTC);
        assert!(understood("  ").unwrap().is_none());
        let grep = |text: &str| understood(text).unwrap().unwrap().grep.unwrap().to_string();
        assert_eq!(grep("took [0-9]+ ms"), "took [0-9]+ ms");
        assert_eq!(grep("-l warn -g 'a b'"), "a b");
        for wrong in ["(", "-l", "-x", "-l loud", "-g '", "-w ms", "--since then"] {
            let why = understood(wrong).map(|_| ()).unwrap_err();
            assert!(!why.is_empty() && !why.contains('\n'), "{wrong}: {why}");
        }
    }

    #[test]
    fn a_text_is_edited_at_its_end() {
        let mut prompt = Prompt::new(For::Search, "");
        for key in ["a", "b", "Space", "c", "Backspace", "d", "e", "^W", "x"] {
            assert!(prompt.key(key));
        }
        assert_eq!(prompt.text, "ab x");
        assert!(!prompt.key("Enter") && prompt.key("^U"));
        assert_eq!(prompt.text, "");
    }
}
