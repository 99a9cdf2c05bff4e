//! The words that Tab completes, tables, views, columns and functions, and where a question ends.

use crate::escape;
use datafusion::catalog::SchemaProvider;
use datafusion::prelude::SessionContext;
use datafusion::sql::sqlparser::dialect::GenericDialect;
use datafusion::sql::sqlparser::tokenizer::{Token, Tokenizer};
use futures::FutureExt;
use rustyline::completion::{Completer, Pair};
use rustyline::highlight::Highlighter;
use rustyline::hint::Hinter;
use rustyline::validate::{ValidationContext, ValidationResult, Validator};
use rustyline::{Context, Helper, Result};
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

/// What is known of a session's names.
pub struct Words {
    context: SessionContext,
    functions: Vec<String>,
}

impl Words {
    pub fn of(context: &SessionContext) -> Words {
        let state = context.state();
        let functions = state.scalar_functions().keys();
        let functions = functions.chain(state.aggregate_functions().keys());
        let functions: BTreeSet<_> = functions.chain(state.window_functions().keys()).collect();
        Words {
            context: context.clone(),
            functions: functions.into_iter().cloned().collect(),
        }
    }

    /// What may stand for the word before the cursor, and where that begins.
    fn at(&self, line: &str, cursor: usize) -> (usize, Vec<String>) {
        let before = &line[..cursor];
        if before.trim_start().starts_with('.') {
            let start = before.len() - before.trim_start().len();
            let commands = [".help", ".quit", ".tables"];
            return (
                start,
                matching(&before[start..], commands.map(String::from)),
            );
        }
        let start = word(before);
        let typed = &before[start..];
        let tables = tables(&self.context);
        let columns = self.columns(&tables, line);
        let names = columns.into_iter().chain(names(&tables));
        let mut found = matching(typed, names.map(|name| quoted(&name)));
        if found.is_empty() {
            // The whole path of a place.
            found = matching(typed, tables.iter().map(|name| quoted(name)));
        }
        if !typed.is_empty() {
            let functions = self.functions.iter().map(|name| format!("{name}("));
            found.extend(matching(typed, functions));
        }
        (start, found)
    }

    /// The columns of the tables that a question names, or else of the records.
    fn columns(&self, tables: &[String], line: &str) -> Vec<String> {
        let short = names(tables);
        let named = words(line).into_iter().filter(|word| {
            let mut all = tables.iter().chain(&short);
            all.any(|table| table == word)
        });
        let mut named: Vec<_> = named.collect();
        if named.is_empty() {
            named.push("records".to_owned());
        }
        let Some(schema) = schema(&self.context) else {
            return Vec::new();
        };
        let mut columns = BTreeSet::new();
        for name in named {
            // Tables that must wait for something are passed over.
            if let Some(Ok(Some(table))) = schema.table(&name).now_or_never() {
                let schema = table.schema();
                columns.extend(schema.fields().iter().map(|field| field.name().clone()));
            }
        }
        columns.into_iter().collect()
    }
}

impl Completer for Words {
    type Candidate = Pair;

    fn complete(&self, line: &str, cursor: usize, _: &Context<'_>) -> Result<(usize, Vec<Pair>)> {
        let (start, found) = self.at(line, cursor);
        let pair = |name: String| Pair {
            display: name.clone(),
            replacement: name,
        };
        Ok((start, found.into_iter().map(pair).collect()))
    }
}

impl Validator for Words {
    /// A question that does not end yet gets another line.
    fn validate(&self, context: &mut ValidationContext) -> Result<ValidationResult> {
        let text = context.input().trim();
        if text.is_empty() || text.starts_with('.') || ends(text) {
            return Ok(ValidationResult::Valid(None));
        }
        Ok(ValidationResult::Incomplete)
    }
}

impl Hinter for Words {
    type Hint = String;
}

impl Highlighter for Words {}
impl Helper for Words {}

/// The names of the tables, sorted.
pub fn tables(context: &SessionContext) -> Vec<String> {
    let mut names = schema(context).map_or_else(Vec::new, |schema| schema.table_names());
    names.sort();
    names
}

fn schema(context: &SessionContext) -> Option<Arc<dyn SchemaProvider>> {
    let config = context.copied_config();
    let default = &config.options().catalog;
    let catalog = context.catalog(&default.default_catalog)?;
    catalog.schema(&default.default_schema)
}

/// The names, those of places without the folders that they can do without.
fn names(tables: &[String]) -> Vec<String> {
    let ends = |name: &String| -> Vec<String> {
        let folders = name.match_indices('/').rev();
        let ends = folders.map(|(at, _)| name[at + 1..].to_owned());
        ends.chain([name.clone()]).collect()
    };
    let mut counts: HashMap<String, usize> = HashMap::new();
    for end in tables.iter().flat_map(ends) {
        *counts.entry(end).or_default() += 1;
    }
    let short = |name: &String| ends(name).into_iter().find(|end| counts[end] == 1);
    let shorts = tables
        .iter()
        .map(|name| short(name).unwrap_or_else(|| name.clone()));
    shorts.collect()
}

/// A name as it stands in SQL.
pub fn quoted(name: &str) -> String {
    let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    if name.starts_with(|c: char| !c.is_ascii_digit()) && name.chars().all(is_plain) {
        return name.to_owned();
    }
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// Those that begin with what was typed, quoted or not. Names that could drive a terminal are left out.
fn matching(typed: &str, names: impl IntoIterator<Item = String>) -> Vec<String> {
    let typed = typed.trim_start_matches('"').to_lowercase();
    let begins = |name: &String| {
        let plain = name.trim_start_matches('"').to_lowercase();
        plain.starts_with(&typed) && name.chars().all(escape::is_harmless)
    };
    names.into_iter().filter(begins).collect()
}

/// Where the word at the end of a text begins: a quoted name that is open, or letters and the like.
fn word(text: &str) -> usize {
    let mut quotes = text.match_indices('"').map(|(at, _)| at);
    if text.matches('"').count() % 2 == 1 {
        return quotes.next_back().unwrap_or(0);
    }
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    text.trim_end_matches(is_part).len()
}

/// The names in a question, as far as it can be taken apart.
fn words(line: &str) -> Vec<String> {
    let mut tokens = Vec::new();
    // What was found before an open quote stays.
    let _ = Tokenizer::new(&GenericDialect {}, line).tokenize_with_location_into_buf(&mut tokens);
    let tokens = tokens.into_iter();
    tokens
        .filter_map(|token| match token.token {
            Token::Word(word) => Some(word.value),
            _ => None,
        })
        .collect()
}

/// Whether the last that stands in a text is a semicolon, and not one of a text or comment.
fn ends(text: &str) -> bool {
    let Ok(tokens) = Tokenizer::new(&GenericDialect {}, text).tokenize() else {
        return false;
    };
    let is_blank = |token: &&Token| matches!(token, Token::Whitespace(_) | Token::EOF);
    tokens.iter().rev().find(|token| !is_blank(token)) == Some(&Token::SemiColon)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_ends_with_its_semicolon() {
        for text in ["select 1;", "select ';' ; -- that is all", "a;\nb;"] {
            assert!(ends(text), "{text}");
        }
        for text in [
            "select 1",
            "select ';",
            "select 1 -- ;",
            "select 1; select",
            "/* ;",
        ] {
            assert!(!ends(text), "{text}");
        }
    }

    #[test]
    fn a_word_begins_behind_the_last_break() {
        assert_eq!(word("select le"), 7);
        assert_eq!(word("select max(f"), 11);
        assert_eq!(word("select * from \"server.c:"), 14);
        assert_eq!(word("select * from \"server.c:7\" wh"), 27);
        assert_eq!(word(""), 0);
    }

    #[test]
    fn places_are_named_by_as_little_as_is_clear() {
        let tables = ["a/x/main.c:3", "a/y/main.c:3", "a/y/main.c:4", "records"];
        let tables = tables.map(String::from);
        assert_eq!(
            names(&tables),
            ["x/main.c:3", "y/main.c:3", "main.c:4", "records"]
        );
        assert_eq!(quoted("main.c:4"), "\"main.c:4\"");
        assert_eq!(quoted("first_time"), "first_time");
        assert_eq!(quoted("7a"), "\"7a\"");
    }

    #[test]
    fn names_that_drive_a_terminal_are_not_offered() {
        let names = ["\"a\u{1b}[2J.c:1\"", "\"a.c:1\"", "\"b.c:1\""];
        let names = || names.map(String::from);
        assert_eq!(matching("\"a", names()), ["\"a.c:1\""]);
        assert_eq!(matching("A", names()), ["\"a.c:1\""]);
    }
}
