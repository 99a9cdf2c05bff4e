//! Turns of phrase that CONTRIBUTING.md asks not to use: they leave out who does what, how
//! many, or which.

use super::source;

const AVOIDED: [&str; 8] = [
    "anew",
    "by the caller",
    "just asked for",
    "likewise",
    "no answer",
    "see the module",
    "so many",
    "whoever",
];

/// In documents also these.
const AVOIDED_IN_DOCUMENTS: [&str; 5] = [
    " goes on ",
    " is none",
    " nobody",
    " tells ",
    "what is there",
];

#[test]
fn documents_name_the_actor_and_the_number() {
    let documents = source::documents();
    assert!(documents.len() > 15, "only {} documents", documents.len());
    let avoided: Vec<&str> = AVOIDED
        .into_iter()
        .chain(AVOIDED_IN_DOCUMENTS)
        // A document may speak of a module or of an answer.
        .filter(|turn| !["see the module", "no answer", "by the caller"].contains(turn))
        .collect();
    for (file, text) in documents {
        for (at, line) in text.lines().enumerate() {
            // What stands in quotes is spoken of.
            let line: String = line.to_lowercase().split('"').step_by(2).collect();
            let found = avoided.iter().find(|turn| line.contains(*turn));
            assert_eq!(found, None, "{file}:{}: {}", at + 1, line.trim());
        }
    }
}

#[test]
fn comments_name_the_actor_and_the_number() {
    for (file, text) in source::files() {
        for (at, line) in text.lines().enumerate() {
            let line = line.to_lowercase();
            let words = line.split("//").nth(1).unwrap_or_default();
            let found = AVOIDED.iter().find(|turn| words.contains(*turn));
            assert_eq!(found, None, "{file}:{}: {}", at + 1, line.trim());
        }
    }
}
