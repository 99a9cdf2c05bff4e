//! The files of `src` are floors: each uses only those below it, so that one can be read,
//! tested and replaced without those above. Read from the paths that the files name.

#[path = "../../samples/src/imports.rs"]
mod imports;

use imports::{arrows, circle, modules};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// The files that may ask for the global `process()`. All others are handed what they
/// need of it.
const MAY_ASK_FOR_THE_PROCESS: [&str; 11] = [
    "api::here",
    "call::emit",
    "call::emit::at_level",
    "call::emit::counted",
    "call::emit::pairs",
    "call::emit::text",
    "call::gate",
    "copies::serve",
    "fatal",
    "note",
    "process",
];

fn source() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src")
}

#[test]
fn no_files_use_each_other_in_a_circle() {
    let modules = modules(&source());
    let arrows = arrows(&modules);
    assert!(
        arrows["api::here"].contains("process"),
        "paths are not found"
    );
    assert!(arrows["call::emit"].contains("sink"), "paths are not found");
    if let Some(circle) = circle(&arrows) {
        panic!("{} -> {}", circle.join(" -> "), circle[0]);
    }
}

#[test]
fn only_the_upper_floors_ask_for_the_process() {
    let modules = modules(&source());
    let asking = modules
        .iter()
        .filter(|(_, code)| code.contains("process()"));
    let asking: Vec<&str> = asking.map(|(name, _)| name.as_str()).collect();
    assert_eq!(asking, MAY_ASK_FOR_THE_PROCESS);
}

#[test]
fn a_circle_is_found() {
    let modules = [
        (
            "a",
            "use crate::b::{self, Thing, c::{Other as Another, d}};",
        ),
        ("b", "fn f() { super::e::g() }"),
        ("b::c", "use crate::b::Inner;"),
        ("e", "/* nothing */"),
        ("f", "use crate::e; $crate::a::x"),
        (
            "g::h::i",
            "use super::super::j; use super::super::super::e; use self::k;",
        ),
        ("g::j", ""),
    ];
    let modules = modules.map(|(name, code)| (name.to_owned(), code.to_owned()));
    let mut modules = BTreeMap::from(modules);
    assert_eq!(arrows(&modules)["a"], BTreeSet::from(["b", "b::c"]));
    assert_eq!(arrows(&modules)["b"], BTreeSet::from(["b::c", "e"]));
    assert_eq!(arrows(&modules)["b::c"], BTreeSet::new());
    assert_eq!(arrows(&modules)["g::h::i"], BTreeSet::from(["e", "g::j"]));
    assert_eq!(circle(&arrows(&modules)), None);
    modules.insert("b::c".to_owned(), "use crate::a;".to_owned());
    assert_eq!(circle(&arrows(&modules)), Some(vec!["a", "b", "b::c"]));
    modules.insert("b::c".to_owned(), String::new());
    modules.insert("e".to_owned(), "use crate::a;".to_owned());
    assert_eq!(circle(&arrows(&modules)), Some(vec!["a", "b", "e"]));
}
