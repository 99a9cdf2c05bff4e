//! The modules of a package's `src`, and which uses which, read from the paths that the files
//! name. Tests of several packages include this file by its path.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Module by module, what each file's code is, without comments, strings and tests.
pub fn modules(source: &Path) -> BTreeMap<String, String> {
    let (mut modules, mut folders) = (BTreeMap::new(), vec![source.to_owned()]);
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path: PathBuf = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let name = path.strip_prefix(source).unwrap().with_extension("");
                let name = name.to_str().unwrap().replace('/', "::");
                let name = name.strip_suffix("::mod").unwrap_or(&name).to_owned();
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
    let mut found = Vec::new();
    for start in ["crate::", "super::", "self::"] {
        for (at, _) in code.match_indices(start) {
            let before = code[..at].chars().next_back();
            if before.is_some_and(|c| c.is_alphanumeric() || "_$:".contains(c)) {
                continue;
            }
            let mut rest = &code[at..];
            let mut base = if start == "crate::" { "" } else { module };
            rest = rest
                .trim_start_matches("crate::")
                .trim_start_matches("self::");
            while let Some(above) = rest.strip_prefix("super::") {
                base = base.rsplit_once("::").map_or("", |(parent, _)| parent);
                rest = above;
            }
            follow(base, rest, &mut found);
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

/// Which module uses which. A module uses those in it; what they use of it does not count.
pub fn arrows(modules: &BTreeMap<String, String>) -> BTreeMap<&str, BTreeSet<&str>> {
    let arrows_of = |(module, code): (&String, &String)| {
        let used = paths(module, code);
        let used = used.iter().filter_map(|path| module_of(modules, path));
        let inner = modules.keys().map(String::as_str);
        let inner = inner.filter(|inner| inner.rsplit_once("::").is_some_and(|m| m.0 == module));
        used.chain(inner)
            .filter(|used| !is_within(module, used))
            .collect()
    };
    let names = modules.keys().map(String::as_str);
    names.zip(modules.iter().map(arrows_of)).collect()
}

/// A circle of modules, if there is one: from each to the next, and from the last to the
/// first.
pub fn circle<'m>(arrows: &BTreeMap<&'m str, BTreeSet<&'m str>>) -> Option<Vec<&'m str>> {
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
