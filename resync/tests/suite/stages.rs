//! The stages of the reader, each of which uses only those before it: read here from
//! the imports, so that a new arrow that points backwards fails.

use std::fs;
use std::path::{Path, PathBuf};

/// In the order of `lib.rs`. `render` knows nothing of logs, so that it may be used
/// from anywhere.
const STAGES: [&str; 10] = [
    "read", "render", "recover", "merge", "resolve", "records", "export", "rewrite", "import",
    "follow",
];

fn rank(stage: &str) -> Option<usize> {
    STAGES.iter().position(|other| *other == stage)
}

/// All Rust files in a folder and below.
fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files(&path, found);
        } else if path.extension().is_some_and(|end| end == "rs") {
            found.push(path);
        }
    }
}

/// What a file is without its comments and its tests.
fn code(path: &Path) -> String {
    let text = fs::read_to_string(path).unwrap();
    let text = text.split("#[cfg(test)]").next().unwrap();
    let lines = text.lines().filter(|line| !line.trim().starts_with("//"));
    lines.collect::<Vec<_>>().join("\n")
}

/// The names that follow `crate::` in some code.
fn used(code: &str) -> impl Iterator<Item = &str> {
    code.split("crate::").skip(1).map(|rest| {
        let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_');
        &rest[..end.unwrap_or(rest.len())]
    })
}

/// The stage that a file of the library belongs to.
fn stage_of<'p>(path: &'p Path, source: &Path) -> &'p str {
    let inside = path.strip_prefix(source).unwrap();
    let first = inside.components().next().unwrap();
    let name = Path::new(first.as_os_str()).file_stem().unwrap();
    name.to_str().unwrap()
}

#[test]
fn no_stage_uses_a_later_one() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut found = Vec::new();
    files(&source, &mut found);
    let (mut arrows, mut wrong) = (0, Vec::new());
    for path in found {
        let stage = stage_of(&path, &source);
        if stage == "lib" {
            continue;
        }
        let Some(from) = rank(stage) else {
            panic!("{} is of no stage", path.display());
        };
        for name in used(&code(&path)) {
            arrows += 1;
            if rank(name).is_none_or(|to| to > from) {
                wrong.push(format!("{} uses {name}", path.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(arrows > 50, "only {arrows} imports were found");
}

#[test]
fn imports_are_found() {
    let code = "use crate::read::gap;\nlet x = crate::merge::Merge;";
    assert_eq!(used(code).collect::<Vec<_>>(), ["read", "merge"]);
}

/// No file of a folder imports, over however many others, itself.
#[test]
fn no_files_of_a_stage_use_each_other_in_a_circle() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    for stage in STAGES {
        let folder = source.join(stage);
        if !folder.is_dir() {
            continue;
        }
        let mut found = Vec::new();
        files(&folder, &mut found);
        let name = |path: &Path| path.file_stem().unwrap().to_str().unwrap().to_owned();
        // A parent and its children are one house.
        let found: Vec<_> = found
            .iter()
            .filter(|path| name(path) != "mod" && path.parent() == Some(&folder))
            .collect();
        let uses: Vec<Vec<usize>> = found
            .iter()
            .map(|path| {
                let code = code(path);
                let in_stage = |other: &&PathBuf| {
                    let other = name(other);
                    let ways = [
                        format!("crate::{stage}::{other}"),
                        format!("super::{other}"),
                    ];
                    ways.iter().any(|way| {
                        code.split(way.as_str()).skip(1).any(|rest| {
                            !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_')
                        })
                    })
                };
                let others = found.iter().enumerate();
                let others = others.filter(|(_, other)| in_stage(other));
                others.map(|(index, _)| index).collect()
            })
            .collect();
        // What is left after those that use nothing are taken away, again and again.
        let mut left: Vec<usize> = (0..found.len()).collect();
        while let Some(at) = left.iter().position(|file| {
            let mut uses = uses[*file].iter();
            !uses.any(|used| left.contains(used))
        }) {
            left.remove(at);
        }
        let left: Vec<_> = left.iter().map(|file| name(found[*file])).collect();
        assert!(left.is_empty(), "a circle in {stage}: {left:?}");
    }
}
