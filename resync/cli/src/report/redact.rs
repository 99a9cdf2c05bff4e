//! What of a log is left out where it goes to other people.

use crate::redact::MARK;
use logdef_resync::Resolved;
use regex::bytes::{NoExpand, Regex};

#[derive(Clone, Debug, Default)]
pub enum Redact {
    #[default]
    Nothing,
    /// Arguments, keys and texts of panics: of a message its format is left.
    Arguments,
    /// Whatever matches, in messages, names and paths.
    Matches(Regex),
}

impl Redact {
    /// `--redact` as it was given: without an expression, or with one.
    pub fn of(option: Option<&Option<Regex>>) -> Redact {
        match option {
            None => Redact::Nothing,
            Some(None) => Redact::Arguments,
            Some(Some(pattern)) => Redact::Matches(pattern.clone()),
        }
    }

    /// A text that the program chose when it ran: a name, a path.
    pub fn text(&self, text: &[u8]) -> Vec<u8> {
        match self {
            Redact::Matches(pattern) => pattern.replace_all(text, NoExpand(MARK)).into_owned(),
            Redact::Nothing | Redact::Arguments => text.into(),
        }
    }

    /// A text that an argument or a panic may have become a part of.
    pub fn spoken(&self, text: &[u8]) -> Vec<u8> {
        match self {
            Redact::Arguments => MARK.into(),
            _ => self.text(text),
        }
    }

    /// The message of a record, after its standing in brackets.
    pub fn message(&self, record: &Resolved<'_>) -> Vec<u8> {
        let mut message = Vec::new();
        if let Redact::Arguments = self {
            if let Some(word) = record.standing.word() {
                message.extend_from_slice(format!("[{word}] ").as_bytes());
            }
            // A text that is logged without a format has been made of arguments.
            let format = record.format.bytes.filter(|_| record.data.format.is_some());
            message.extend_from_slice(format.unwrap_or(MARK));
            return message;
        }
        record.marked_message(&mut message);
        self.text(&message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_match_is_replaced_wherever_it_stands() {
        let redact = Redact::of(Some(&Some(Regex::new("al[a-z]+e").unwrap())));
        assert_eq!(redact.text(b"/home/alice/$1"), b"/home/[redacted]/$1");
        assert_eq!(redact.spoken(b"alice"), b"[redacted]");
        assert_eq!(Redact::of(Some(&None)).spoken(b"alice"), MARK);
        assert_eq!(Redact::of(Some(&None)).text(b"worker"), b"worker");
        assert_eq!(Redact::of(None).spoken(b"alice"), b"alice");
    }
}
