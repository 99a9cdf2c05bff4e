//! The files of `src` are floors: each uses only those below it, so that one can be read,
//! tested and replaced without those above. Read from the paths that the files name;
//! arrows between a module and those inside it are not checked.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// The files that may ask for the global `process()`. All others are handed what they
/// need of it.
const MAY_ASK_FOR_THE_PROCESS: [&str; 11] = [
    "api::here",
    "call::emit",
    "call::emit::counted",
    "call::emit::pairs",
    "call::emit::text",
    "call::gate",
    "copies::serve",
    "guard",
    "note",
    "private",
    "process",
];

/// Module by module, what each file's code is, without comments, strings and tests.
fn modules() -> BTreeMap<String, String> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let (mut modules, mut folders) = (BTreeMap::new(), vec![source.clone()]);
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path: PathBuf = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let name = path.strip_prefix(&source).unwrap().with_extension("");
                let name = name.to_str().unwrap().replace('/', "::");
                modules.insert(name, code(&std::fs::read_to_string(&path).unwrap()));
            }
        }
    }
    modules.remove("lib");
    modules.retain(|name, _| !name.contains("::model"));
    modules
}

/// A file without its tests, comments and strings.
fn code(text: &str) -> String {
    let text = text.split("#[cfg(test)]\nmod tests").next().unwrap();
    let lines = text.lines().map(|line| {
        let line = line.split("//").next().unwrap();
        let parts = line.split('"');
        // Every second part stands between quotes.
        parts.step_by(2).collect::<String>()
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// The paths that begin at the crate or at the parent, those in braces one by one.
fn paths(module: &str, code: &str) -> Vec<String> {
    let parent = module.rsplit_once("::").map_or("", |(parent, _)| parent);
    let mut found = Vec::new();
    for (start, base) in [("crate::", ""), ("super::", parent)] {
        for (at, _) in code.match_indices(start) {
            let before = code[..at].chars().next_back();
            if before.is_some_and(|c| c.is_alphanumeric() || "_$:".contains(c)) {
                continue;
            }
            follow(base, &code[at + start.len()..], &mut found);
        }
    }
    found
}

/// Adds the paths that `rest` starts with, and returns how many bytes they take.
fn follow(base: &str, rest: &str, found: &mut Vec<String>) -> usize {
    if rest.starts_with('{') {
        let mut at = 1;
        while !rest[at..].starts_with('}') {
            at += follow(base, &rest[at..], found);
            at += rest[at..]
                .find(|c: char| c != ',' && !c.is_whitespace())
                .unwrap();
        }
        return at + 1;
    }
    let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_' && c != '*');
    let end = end.unwrap_or(rest.len());
    let path = match base {
        "" => rest[..end].to_owned(),
        base => format!("{base}::{}", &rest[..end]),
    };
    if rest[end..].starts_with("::") {
        return end + 2 + follow(&path, &rest[end + 2..], found);
    }
    found.push(path);
    let renamed = rest[end..].strip_prefix(" as ");
    let name = renamed.and_then(|rest| rest.find(|c: char| !c.is_alphanumeric() && c != '_'));
    end + name.map_or(0, |len| " as ".len() + len)
}

/// The module that a path leads into.
fn module_of<'m>(modules: &'m BTreeMap<String, String>, path: &str) -> Option<&'m str> {
    let mut path = path;
    loop {
        if let Some((name, _)) = modules.get_key_value(path) {
            return Some(name);
        }
        path = path.rsplit_once("::")?.0;
    }
}

fn is_within(inner: &str, outer: &str) -> bool {
    inner == outer
        || inner
            .strip_prefix(outer)
            .is_some_and(|rest| rest.starts_with("::"))
}

/// Which module uses which.
fn arrows(modules: &BTreeMap<String, String>) -> BTreeMap<&str, BTreeSet<&str>> {
    let arrows_of = |(module, code): (&String, &String)| {
        let used = paths(module, code);
        let used = used.iter().filter_map(|path| module_of(modules, path));
        let used = used.filter(|used| !is_within(used, module) && !is_within(module, used));
        used.collect()
    };
    let names = modules.keys().map(String::as_str);
    names.zip(modules.iter().map(arrows_of)).collect()
}

/// A circle of modules, if there is one: from each to the next, and from the last to the
/// first.
fn circle<'m>(arrows: &BTreeMap<&'m str, BTreeSet<&'m str>>) -> Option<Vec<&'m str>> {
    let mut left = arrows.clone();
    loop {
        let before = left.len();
        let names: BTreeSet<&str> = left.keys().copied().collect();
        left.retain(|_, used| used.iter().any(|used| names.contains(used)));
        if left.len() == before {
            break;
        }
    }
    // Each module that is left uses another that is left.
    let mut way = vec![*left.keys().next()?];
    loop {
        let next = left[way[way.len() - 1]]
            .iter()
            .find(|used| left.contains_key(*used));
        let next = *next.unwrap();
        if let Some(at) = way.iter().position(|module| *module == next) {
            return Some(way.split_off(at));
        }
        way.push(next);
    }
}

#[test]
fn no_files_use_each_other_in_a_circle() {
    let modules = modules();
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
    let modules = modules();
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
    ];
    let modules = modules.map(|(name, code)| (name.to_owned(), code.to_owned()));
    let mut modules = BTreeMap::from(modules);
    assert_eq!(arrows(&modules)["a"], BTreeSet::from(["b", "b::c"]));
    assert_eq!(arrows(&modules)["b"], BTreeSet::from(["e"]));
    assert_eq!(arrows(&modules)["b::c"], BTreeSet::new());
    assert_eq!(circle(&arrows(&modules)), None);
    modules.insert("e".to_owned(), "use crate::a;".to_owned());
    assert_eq!(circle(&arrows(&modules)), Some(vec!["a", "b", "e"]));
}
