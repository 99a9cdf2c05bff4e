//! Which package may use which: ARCHITECTURE.md draws it, and Cargo must agree. What runs
//! inside a program never depends on what reads its log, nor the other way round.

use super::source::{known_to_cargo, workspace};
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};

#[derive(Deserialize)]
struct Package {
    name: String,
    dependencies: Vec<Dependency>,
}

#[derive(Deserialize)]
struct Dependency {
    name: String,
    /// `dev`, `build`, or nothing.
    kind: Option<String>,
}

type Arrows = BTreeMap<String, BTreeSet<String>>;

/// What runs inside the program.
const IN_THE_PROCESS: [&str; 7] = [
    "logdef",
    "logdef-capi",
    "logdef-log",
    "logdef-macros",
    "logdef-tracing",
    "logdef-unwind",
    "logdef-wire",
];
/// What is used inside the program and by the reader.
const SHARED: &str = "logdef-wire";
/// What reads logs.
const AFTERWARDS: [&str; 4] = [
    "logdef-archive",
    "logdef-cli",
    "logdef-resync",
    "logdef-symbolizer",
];
/// The log service: a program that logs, and that the command runs too.
const SERVICE: &str = "logdef-serve";
/// What is of neither side: codecs, which know nothing of logs, the service, which speaks them, and the tests.
const OTHERS: [&str; 3] = ["logdef-fuchsia", "logdef-samples", SERVICE];

/// The packages of the workspace and those of them that each depends on.
fn of_cargo() -> Arrows {
    let packages: Vec<Package> = known_to_cargo();
    let ours: BTreeSet<String> = packages.iter().map(|p| p.name.clone()).collect();
    let arrows_of = |package: Package| {
        let any_kind = package.name != env!("CARGO_PKG_NAME");
        let used = package.dependencies.into_iter();
        let used = used.filter(|used| any_kind || used.kind.as_deref() != Some("dev"));
        let used = used.map(|used| used.name);
        (
            package.name,
            used.filter(|name| ours.contains(name)).collect(),
        )
    };
    packages.into_iter().map(arrows_of).collect()
}

/// The same as ARCHITECTURE.md draws it: lines `a -> b, c` in a block called `arrows`.
fn as_drawn() -> Arrows {
    let text = std::fs::read_to_string(workspace().join("ARCHITECTURE.md")).unwrap();
    let (_, block) = text
        .split_once("\n```arrows\n")
        .expect("no block of arrows");
    let (block, _) = block.split_once("\n```").unwrap();
    let arrow = |line: &str| {
        let (package, used) = line.split_once(" ->").expect(line);
        let used = used
            .split(',')
            .map(str::trim)
            .filter(|used| !used.is_empty());
        (package.to_owned(), used.map(str::to_owned).collect())
    };
    block.lines().map(arrow).collect()
}

/// All that a package depends on, without what it reaches only through `but`.
fn reached(arrows: &Arrows, package: &str, but: Option<&str>) -> BTreeSet<String> {
    let (mut reached, mut next) = (BTreeSet::new(), vec![package]);
    while let Some(package) = next.pop() {
        for used in arrows[package]
            .iter()
            .filter(|used| Some(used.as_str()) != but)
        {
            if reached.insert(used.clone()) {
                next.push(used);
            }
        }
    }
    reached
}

#[test]
fn packages_depend_on_each_other_as_the_architecture_says() {
    assert_eq!(
        of_cargo(),
        as_drawn(),
        "left by Cargo, right by ARCHITECTURE.md"
    );
}

#[test]
fn what_runs_in_the_program_and_what_reads_its_log_share_the_format_only() {
    let arrows = as_drawn();
    for (side, other) in [
        (&IN_THE_PROCESS[..], &AFTERWARDS[..]),
        (&AFTERWARDS, &IN_THE_PROCESS),
    ] {
        for package in side {
            let service = (*package == "logdef-cli").then_some(SERVICE);
            let mut used = reached(&arrows, package, service);
            used.remove(SHARED);
            assert!(
                used.iter().all(|used| !other.contains(&used.as_str())),
                "{package}: {used:?}"
            );
        }
    }
}

#[test]
fn every_package_has_its_side() {
    let sides = [&IN_THE_PROCESS[..], &AFTERWARDS, &OTHERS].concat();
    let names: Vec<_> = of_cargo().into_keys().collect();
    let mut sides: Vec<_> = sides.into_iter().map(str::to_owned).collect();
    sides.sort();
    assert_eq!(names, sides);
}

#[test]
fn what_is_reached_only_through_one_package_is_left_out() {
    let arrows = [("a", "b c"), ("b", "d"), ("c", "e"), ("d", ""), ("e", "d")];
    let words = |text: &str| text.split_whitespace().map(str::to_owned).collect();
    let arrows = arrows.map(|(package, used)| (package.to_owned(), words(used)));
    let mut arrows = Arrows::from(arrows);
    assert_eq!(reached(&arrows, "a", None), words("b c d e"));
    assert_eq!(reached(&arrows, "a", Some("b")), words("c d e"));
    arrows.insert("e".to_owned(), BTreeSet::new());
    assert_eq!(reached(&arrows, "a", Some("b")), words("c e"));
}
