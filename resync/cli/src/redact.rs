//! `--redact`: what of a log is left out where it goes to other people.

use logdef_resync::rewrite::Redaction;
use regex::bytes::{NoExpand, Regex};

/// What stands in place of a match.
pub const MARK: &[u8] = b"[redacted]";

/// What to leave out.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct Redact {
    /// Leave values of calls, of keys and contexts, and texts of panics and notes out; with an expression,
    /// replace what matches in values, messages, names and paths. Filters see what is left
    #[arg(long, value_name = "REGEX", num_args = 0..=1, require_equals = true)]
    pub redact: Option<Option<Regex>>,
}

impl Redact {
    /// The same for records; `None` if all is wanted.
    pub fn of_records(&self) -> Option<Redaction> {
        let Some(pattern) = self.redact.clone()? else {
            return Some(Redaction::Values);
        };
        Some(Redaction::Matches(Box::new(move |text| {
            let is_match = pattern.is_match(text);
            is_match.then(|| pattern.replace_all(text, NoExpand(MARK)).into_owned())
        })))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_matches_is_replaced_and_nothing_else() {
        assert!(Redact::default().of_records().is_none());
        let redact = Redact {
            redact: Some(Some(Regex::new("al[a-z]+e").unwrap())),
        };
        let records = redact.of_records().unwrap();
        assert_eq!(&*records.text(b"/home/alice/$1"), b"/home/[redacted]/$1");
        assert_eq!(&*records.text(b"/home/bob"), b"/home/bob");
    }
}
