//! Turns of phrase that CONTRIBUTING.md asks not to use: they leave out who does what, how
//! many, or which.

use super::{comments, source};

/// Phrases of whole words for documents, comments of every language, and names of functions,
/// whose words are divided by `_`.
const AVOIDED: [&str; 22] = [
    "anew",
    "go on",
    "goes on",
    "graver",
    "gravest",
    "hear",
    "heard",
    "hears",
    "how grave",
    "is none",
    "just asked for",
    "likewise",
    "nobody",
    "none of printf's",
    "so many",
    "somebody",
    "tell",
    "tells",
    "those who doubt",
    "told",
    "what is there",
    "whoever",
];

/// In comments also these. A document may speak of a module or of an answer. Each unsafe block
/// states its own fact.
const AVOIDED_IN_COMMENTS: [&str; 4] = [
    "by the caller",
    "no answer",
    "safety: as above",
    "see the module",
];

/// Uses of such words that name what they speak of.
const ALLOWED: [&str; 3] = ["go on the wire", "goes on the wire", "there is none"];

/// The first of some phrases that stands in a text.
fn found(phrases: &[&'static str], text: &str) -> Option<&'static str> {
    let text = ALLOWED.iter().fold(text.to_lowercase(), |text, allowed| {
        text.replace(allowed, "")
    });
    let is_letter = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
    let is_whole = |(at, phrase): (usize, &str)| {
        let behind = &text[at + phrase.len()..];
        !is_letter(text[..at].chars().next_back()) && !is_letter(behind.chars().next())
    };
    let stands = |phrase: &&&str| text.match_indices(**phrase).any(is_whole);
    phrases.iter().find(stands).copied()
}

/// Fails with all places that use a phrase.
fn assert_none(found: Vec<String>) {
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn documents_name_the_actor_and_the_number() {
    let documents = source::documents();
    assert!(documents.len() > 15, "only {} documents", documents.len());
    let mut all = Vec::new();
    for (file, text) in documents {
        for (at, line) in text.lines().enumerate() {
            // What stands in quotes is spoken of.
            let words: String = line.split('"').step_by(2).collect();
            let phrase = found(&AVOIDED, &words);
            all.extend(phrase.map(|phrase| format!("{file}:{}: {phrase}: {line}", at + 1)));
        }
    }
    assert_none(all);
}

#[test]
fn comments_name_the_actor_and_the_number() {
    let phrases = [&AVOIDED[..], &AVOIDED_IN_COMMENTS].concat();
    let files = source::with_comments();
    assert!(files.len() > 700, "only {} files", files.len());
    let mut all = Vec::new();
    for (file, text) in files {
        for (line, comment) in comments::of(&file, &text) {
            // Names of the code are looked at where they stand.
            let words: String = comment.split('`').step_by(2).collect();
            let phrase = found(&phrases, &words);
            all.extend(phrase.map(|phrase| format!("{file}:{line}: {phrase}: {comment}")));
        }
    }
    assert_none(all);
}

#[test]
fn names_of_functions_say_what_they_do() {
    let mut all = Vec::new();
    for (file, text) in source::with_comments() {
        let names = text.split("fn ").skip(1);
        let names = names.filter_map(|rest| rest.split(['(', '<']).next());
        for name in names.filter(|name| !name.contains(char::is_whitespace)) {
            // Those of an `Option`.
            let is_usual = ["is_none", "is_none_or"].contains(&name);
            let phrase = found(&AVOIDED, &name.replace('_', " ")).filter(|_| !is_usual);
            all.extend(phrase.map(|phrase| format!("{file}: {phrase}: {name}")));
        }
    }
    assert_none(all);
}

#[test]
fn phrases_are_found_as_whole_words() {
    let phrase = |text| found(&AVOIDED, text);
    assert_eq!(phrase("Nobody writes."), Some("nobody"));
    assert_eq!(phrase("it goes on"), Some("goes on"));
    assert_eq!(phrase("it goes on the wire, if there is none"), None);
    assert_eq!(phrase("foretold by a teller"), None);
}
