//! Paths that documents name, targets of the commands of Cargo in them, and the switches of
//! tests: that each is there.

use super::source::{self, known_to_cargo, workspace};
use serde::Deserialize;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// The targets of a document's links into this repository.
fn links(text: &str) -> Vec<&str> {
    let targets = text.split("](").skip(1);
    let targets = targets.filter_map(|rest| rest.split([')', '#', ' ', '\n']).next());
    let is_ours = |target: &&str| !target.is_empty() && !target.contains(':');
    targets.filter(is_ours).collect()
}

/// What stands in single back quotes and looks like a path of this repository.
fn quoted(text: &str) -> Vec<&str> {
    let ends = [".rs", ".md", ".h", ".toml", ".sh", ".c", ".txt"];
    let tops = [
        ".ci/",
        "docs/",
        "logger/",
        "peers/",
        "resync/",
        "samples/",
        "symbolizer/",
    ];
    let is_path = |word: &&str| {
        let is_plain = |c: char| c.is_alphanumeric() || "_-./".contains(c);
        let has_top = tops.iter().any(|top| word.starts_with(top));
        let has_end = word.contains('/') && ends.iter().any(|end| word.ends_with(end));
        word.chars().all(is_plain) && !word.starts_with('/') && (has_top || has_end)
    };
    // In a table or a list, each line has its quotes in pairs.
    let lines = text
        .lines()
        .filter(|line| line.matches('`').count() % 2 == 0);
    let words = lines.flat_map(|line| line.split('`').skip(1).step_by(2));
    let words = words.flat_map(|words| words.split(' '));
    // Such names stand for what a contributor will choose.
    words
        .filter(is_path)
        .filter(|word| !word.contains("NAME"))
        .collect()
}

/// Where a path may stand that a document names.
fn places(document: &str, path: &str) -> [PathBuf; 3] {
    let beside = Path::new(document).parent().unwrap();
    let crate_of = beside.join("..");
    [beside.to_owned(), PathBuf::new(), crate_of].map(|base| workspace().join(base).join(path))
}

#[test]
fn what_documents_name_is_there() {
    let (mut named, mut missing) = (0, Vec::new());
    for (document, text) in source::documents() {
        for path in links(&text).into_iter().chain(quoted(&text)) {
            named += 1;
            if !places(&document, path).iter().any(|place| place.exists()) {
                missing.push(format!("{document}: {path}"));
            }
        }
    }
    assert!(missing.is_empty(), "{}", missing.join("\n"));
    assert!(named > 150, "only {named} paths");
}

/// The names of variables that begin with `LOGDEF_` in some text, those of macros of C left out.
fn switches<'t>(text: &'t str, before: &str) -> BTreeSet<&'t str> {
    let found = text.match_indices(before).map(|(at, _)| {
        let name = &text[at + before.len()..];
        let end = name.find(|c: char| !c.is_ascii_uppercase() && c != '_');
        &name[..end.unwrap_or(name.len())]
    });
    found.filter(|name| name.starts_with("LOGDEF_")).collect()
}

#[test]
fn each_switch_of_the_tests_is_read_by_one() {
    let contributing = source::documents();
    let contributing = contributing
        .iter()
        .find(|(name, _)| name == "CONTRIBUTING.md");
    let documented = switches(&contributing.unwrap().1, "| `");
    assert!(documented.len() > 5, "{documented:?}");
    let files = source::with_comments();
    for switch in documented {
        let quoted = format!("\"{switch}\"");
        let is_read = files.iter().any(|(_, text)| text.contains(&quoted));
        assert!(is_read, "no test reads {switch}");
    }
}

/// What scripts or tests of ours set for the programs that they start.
const SET_FOR_CHILDREN: [&str; 2] = ["LOGDEF_REAL_RUST", "LOGDEF_TEST_"];

/// The variables `LOGDEF_…` that tests read, in the ways in which they do.
fn read_switches(text: &str) -> BTreeSet<&str> {
    let ways = ["var", "var_os", "wanted", "number", "variable"];
    let read = ways.map(|way| format!("{way}(\""));
    let found = read.iter().flat_map(|before| switches(text, before));
    let is_set = |name: &&str| SET_FOR_CHILDREN.iter().any(|set| name.starts_with(set));
    found.filter(|name| !is_set(name)).collect()
}

#[test]
fn each_switch_that_a_test_reads_is_documented() {
    let contributing = std::fs::read_to_string(workspace().join("CONTRIBUTING.md")).unwrap();
    let (mut count, mut missing) = (0, BTreeSet::new());
    for (file, text) in source::with_comments() {
        let is_program = file.starts_with("samples/src/bin/");
        let is_test = file.contains("/tests/") || file.starts_with("samples/src/");
        if !is_test || is_program || file.ends_with("house/paths.rs") {
            continue;
        }
        for switch in read_switches(&text) {
            count += 1;
            // A longer name that begins so is another switch.
            let mut named = contributing.split(switch).skip(1);
            let is_named =
                named.any(|rest| !rest.starts_with(|c: char| c == '_' || c.is_alphabetic()));
            if !is_named {
                missing.insert(format!("{switch}, which {file} reads"));
            }
        }
    }
    let missing: Vec<_> = missing.into_iter().collect();
    assert!(
        missing.is_empty(),
        "CONTRIBUTING.md lacks\n{}",
        missing.join("\n")
    );
    assert!(count > 30, "only {count} switches are read");
}

#[derive(Deserialize)]
struct Package {
    name: String,
    targets: Vec<Target>,
}

#[derive(Deserialize)]
struct Target {
    kind: Vec<String>,
    name: String,
}

/// The package and the target that a command of Cargo names, as `("logdef", "bench", "emit")`.
fn targets(text: &str) -> Vec<(&str, &str, &str)> {
    let commands = text.split("cargo ").skip(1);
    let found = commands.flat_map(|rest| {
        let line = rest.split(['`', '\n', '#']).next().unwrap();
        let words: Vec<&str> = line.split_whitespace().collect();
        let after = |option: &str| {
            let at = words.iter().position(|word| *word == option)?;
            words.get(at + 1).copied()
        };
        let package = after("-p").unwrap_or_default();
        let kinds = ["test", "bench", "bin"];
        let named = kinds.map(|kind| Some((package, kind, after(&format!("--{kind}"))?)));
        let all: Vec<_> = named.into_iter().flatten().collect();
        match &all[..] {
            [] if !package.is_empty() => vec![(package, "", "")],
            _ => all,
        }
    });
    found.collect()
}

#[test]
fn commands_of_cargo_in_documents_name_what_there_is() {
    let packages: Vec<Package> = known_to_cargo();
    let is_there = |(package, kind, name): (&str, &str, &str)| {
        let mut packages = packages.iter().filter(|other| other.name == package);
        packages.any(|package| {
            let mut targets = package.targets.iter();
            kind.is_empty() || targets.any(|t| t.name == name && t.kind == [kind])
        })
    };
    let mut count = 0;
    for (document, text) in source::documents() {
        for target in targets(&text) {
            // A sentence may leave the package out, or stand for any.
            if target.0.is_empty() || target.0.chars().any(char::is_uppercase) {
                continue;
            }
            count += 1;
            assert!(is_there(target), "{document}: {target:?}");
        }
    }
    assert!(count > 15, "only {count} commands");
}

#[test]
fn links_and_paths_are_found() {
    let text = "[a](docs/rust.md#b) [c](https://d) `logger/src/lib.rs` and `view --tail`\n\
        | `.ci/fuzz FOLDER` | `a/b.rs` | `resync/cli/src/verb/NAME.rs` |\n";
    assert_eq!(links(text), ["docs/rust.md"]);
    assert_eq!(quoted(text), ["logger/src/lib.rs", ".ci/fuzz", "a/b.rs"]);
    let text = "`cargo bench -p logdef --bench emit` or `cargo test -p logdef-wire`";
    let expected = [("logdef", "bench", "emit"), ("logdef-wire", "", "")];
    assert_eq!(targets(text), expected);
    assert!(switches("| `LOGDEF_SLOW=1` | x", "| `").contains("LOGDEF_SLOW"));
    let text = "env::var_os(\"LOGDEF_SLOW\"), number(\"LOGDEF_KILLS\"), env(\"LOGDEF_CTL\", 1), \
        env::var(\"LOGDEF_TEST_LOG\")";
    assert_eq!(
        read_switches(text),
        BTreeSet::from(["LOGDEF_KILLS", "LOGDEF_SLOW"])
    );
}
