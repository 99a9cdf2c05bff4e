//! Old spellings of the command line, which scripts have: where `-o` was the file, and is the form now. What
//! an alias can say stands beside the option.

use std::ffi::{OsStr, OsString};

/// Puts what is said today in place of what was. `export --to FORM -o FILE` is `export -o FORM -O FILE`.
pub fn of_today(words: &mut [OsString]) {
    let is_to = |word: &OsString| word == "--to" || word.as_encoded_bytes().starts_with(b"--to=");
    let Some(export) = words.iter().position(|word| word == "export") else {
        return;
    };
    let options = &mut words[export..];
    if !options.iter().any(is_to) {
        return;
    }
    for word in options {
        if word == "--" {
            return;
        }
        let text = word.as_encoded_bytes();
        let new: &OsStr = match text {
            b"-o" => "-O".as_ref(),
            b"--output" => "--out".as_ref(),
            _ => {
                let rest = word.to_str().and_then(|word| {
                    let long = word
                        .strip_prefix("--output=")
                        .map(|file| format!("--out={file}"));
                    long.or_else(|| Some(format!("-O{}", word.strip_prefix("-o")?)))
                });
                if let Some(rest) = rest {
                    *word = rest.into();
                }
                continue;
            }
        };
        *word = new.to_owned();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::Args;
    use clap::CommandFactory;

    /// All verbs, and what some have below them.
    fn verbs(command: &clap::Command) -> Vec<&clap::Command> {
        let below = command.get_subcommands().flat_map(verbs);
        std::iter::once(command).chain(below).collect()
    }

    #[test]
    fn one_letter_is_the_form_in_every_verb_and_another_the_file() {
        let command = Args::command();
        let mut seen = 0;
        for verb in verbs(&command) {
            for argument in verb.get_arguments() {
                let long = argument.get_long();
                let is_form = argument.get_short() == Some('o');
                let is_file = argument.get_short() == Some('O');
                assert_eq!(is_form, long == Some("output"), "{}", verb.get_name());
                assert_eq!(is_file, long == Some("out"), "{}", verb.get_name());
                let names = argument.get_value_names().unwrap_or_default();
                assert!(
                    !is_form || names == ["FORM"],
                    "{}: {names:?}",
                    verb.get_name()
                );
                seen += usize::from(is_form || is_file);
            }
        }
        assert!(seen > 14, "{seen}");
    }

    #[test]
    fn where_the_form_is_named_in_the_old_way_so_is_the_file() {
        for (said, today) in [
            (
                "logdef export --to fxt -o a.fxt b.log",
                "logdef export --to fxt -O a.fxt b.log",
            ),
            (
                "logdef export -o- --to=fxt b.log",
                "logdef export -O- --to=fxt b.log",
            ),
            (
                "logdef export --to fxt --output=a",
                "logdef export --to fxt --out=a",
            ),
            (
                "logdef export -o fxt -O a b.log",
                "logdef export -o fxt -O a b.log",
            ),
            ("logdef merge -o a export", "logdef merge -o a export"),
        ] {
            let mut words: Vec<_> = said.split(' ').map(OsString::from).collect();
            of_today(&mut words);
            assert_eq!(words.join(OsStr::new(" ")), today);
        }
    }
}
