//! A command line as a person types it into a shell: its words, and the one that is not finished. Knows
//! quotation marks and backslashes, and nothing else of what shells do.

/// The words of a line.
#[derive(Debug, Default)]
pub struct Line {
    /// Without quotation marks; the last one is typed, and may be empty.
    pub words: Vec<String>,
    /// What stands open around the end.
    pub quote: Quote,
}

/// A quotation mark.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Quote {
    #[default]
    None,
    Single,
    Double,
}

impl Line {
    pub fn parse(text: &str) -> Line {
        let mut line = Line::default();
        let mut word = String::new();
        let mut characters = text.chars();
        while let Some(character) = characters.next() {
            match (line.quote, character) {
                (Quote::None, '\'') => line.quote = Quote::Single,
                (Quote::None, '"') => line.quote = Quote::Double,
                (Quote::Single, '\'') | (Quote::Double, '"') => line.quote = Quote::None,
                (Quote::None | Quote::Double, '\\') => word.extend(characters.next()),
                (Quote::None, ' ' | '\t' | '\n') => {
                    line.words
                        .extend(Some(std::mem::take(&mut word)).filter(|it| !it.is_empty()));
                }
                _ => word.push(character),
            }
        }
        line.words.push(word);
        line
    }
}

/// Where in a condition the name begins that is typed; `None` where an operator stands after it already.
pub fn name_at(typed: &str) -> Option<usize> {
    let joins = [" and ", " or ", "not ", "("];
    let ends = joins
        .iter()
        .filter_map(|join| Some(typed.rfind(join)? + join.len()));
    let begin = ends.max().unwrap_or(0);
    let name = typed[begin..].trim_start();
    let is_complete = name.contains(['=', '<', '>', '~', '!', '"']) || name.contains(" in ");
    (!is_complete).then(|| typed.len() - name.len())
}

/// A word as a shell takes it for itself.
pub fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "_./:=,@%+-".contains(c);
    let mut quoted = String::new();
    for character in word.chars() {
        if !is_plain(character) {
            quoted.push('\\');
        }
        quoted.push(character);
    }
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_taken_apart_as_a_shell_does() {
        let line = Line::parse("logdef  view a\\ b.log 'c d' --x=\"e\\\"f\" -w 'ms>5 an");
        let words = [
            "logdef", "view", "a b.log", "c d", "--x=e\"f", "-w", "ms>5 an",
        ];
        assert_eq!(line.words, words);
        assert_eq!(line.quote, Quote::Single);
        assert_eq!(Line::parse("").words, [""]);
        assert_eq!(Line::parse("a ").words, ["a", ""]);
        assert_eq!(Line::parse("a\\").words, ["a"]);
    }

    #[test]
    fn a_condition_is_completed_where_a_name_is_typed() {
        for (typed, name) in [
            ("", Some("")),
            ("us", Some("us")),
            ("ms>5 and us", Some("us")),
            ("ms>5 or not (us", Some("us")),
            ("not us", Some("us")),
            ("ms>5", None),
            ("ms in 5", None),
        ] {
            assert_eq!(name_at(typed).map(|at| &typed[at..]), name, "{typed}");
        }
    }
}
