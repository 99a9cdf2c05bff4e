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
