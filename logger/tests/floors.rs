//! The modules of `src` stand on floors, which ARCHITECTURE.md draws: each uses only those of lower ones, so that one can
//! be read, tested and replaced without those above. Read from the paths that the files name.

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

/// The lines `floor 3: a, b` of ARCHITECTURE.md: each module that is named, and its floor.
fn drawn() -> Vec<(String, usize)> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../ARCHITECTURE.md");
    let text = std::fs::read_to_string(path).unwrap();
    let section = text.split("\n## Floors of the logger\n").nth(1);
    let block = section.expect("no such section").split("```").nth(1);
    let lines = block.expect("no drawing").lines();
    lines.filter_map(floor).flatten().collect()
}

fn floor(line: &str) -> Option<Vec<(String, usize)>> {
    let (number, names) = line.trim().strip_prefix("floor ")?.split_once(": ")?;
    let number = number.parse().unwrap();
    let names = names.split(", ").map(|name| (name.to_owned(), number));
    Some(names.collect())
}

/// The module that is drawn and that another is, or stands in: of several the innermost.
fn place<'f>(floors: &'f [(String, usize)], module: &str) -> Option<&'f (String, usize)> {
    let is_around = |name: &str| {
        let rest = module.strip_prefix(name);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with("::"))
    };
    let around = floors.iter().filter(|(name, _)| is_around(name));
    around.max_by_key(|(name, _)| name.len())
}

/// What is wrong with a drawing of these modules.
fn faults(floors: &[(String, usize)], modules: &BTreeMap<String, String>) -> Vec<String> {
    let mut faults = Vec::new();
    let names: BTreeSet<&str> = floors.iter().map(|(name, _)| name.as_str()).collect();
    if names.len() != floors.len() {
        faults.push("a module stands on two floors".to_owned());
    }
    let unknown = names.iter().filter(|name| !modules.contains_key(**name));
    faults.extend(unknown.map(|name| format!("{name} is no module")));
    let homeless = modules.keys().filter(|name| place(floors, name).is_none());
    faults.extend(homeless.map(|name| format!("{name} stands on no floor")));
    for (module, used) in arrows(modules) {
        for used in used {
            if let (Some(from), Some(to)) = (place(floors, module), place(floors, used))
                && from.0 != to.0
                && from.1 <= to.1
            {
                let (from, to) = (from.1, to.1);
                faults.push(format!(
                    "{module} on floor {from} uses {used} on floor {to}"
                ));
            }
        }
    }
    faults
}

#[test]
fn the_floors_are_as_the_architecture_draws_them() {
    let (floors, modules) = (drawn(), modules(&source()));
    let tops = modules.keys().filter(|name| !name.contains("::")).count();
    assert!(
        floors.len() >= tops,
        "only {} modules are drawn",
        floors.len()
    );
    assert_eq!(faults(&floors, &modules), [""; 0]);
}

#[test]
fn a_module_that_uses_one_above_it_or_beside_it_is_found() {
    let of = |lines: &[&str]| -> Vec<_> {
        lines
            .iter()
            .filter_map(|line| floor(line))
            .flatten()
            .collect()
    };
    let modules = [
        ("a", "use crate::b::c;"),
        ("b", ""),
        ("b::c", "use crate::e;"),
        ("e", ""),
    ];
    let modules = BTreeMap::from(modules.map(|(name, code)| (name.to_owned(), code.to_owned())));
    let faults = |lines: &[&str]| faults(&of(lines), &modules);
    assert_eq!(
        faults(&["  floor 2: a", "  floor 1: b", "  floor 0: e"]),
        [""; 0]
    );
    assert_eq!(
        faults(&["floor 3: a, b", "floor 1: b::c", "floor 0: e"]),
        [""; 0]
    );
    assert_eq!(
        faults(&["floor 1: a, b", "floor 0: e"]),
        ["a on floor 1 uses b::c on floor 1"]
    );
    assert_eq!(
        faults(&["floor 2: a", "floor 0: b, e"]),
        ["b::c on floor 0 uses e on floor 0"]
    );
    assert_eq!(
        faults(&["floor 2: a, f", "floor 1: b"]),
        ["f is no module", "e stands on no floor"]
    );
    let twice = faults(&["floor 2: a", "floor 1: b, a", "floor 0: e"]);
    assert_eq!(twice[0], "a module stands on two floors");
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
