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
const IN_THE_PROCESS: [&str; 5] = [
    "logdef",
    "logdef-capi",
    "logdef-macros",
    "logdef-unwind",
    "logdef-wire",
];
/// What is used inside the program and by the reader.
const SHARED: &str = "logdef-wire";
/// What reads logs.
const AFTERWARDS: [&str; 3] = ["logdef-cli", "logdef-resync", "logdef-symbolizer"];

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

/// All that a package depends on.
fn reached(arrows: &Arrows, package: &str) -> BTreeSet<String> {
    let (mut reached, mut next) = (BTreeSet::new(), vec![package]);
    while let Some(package) = next.pop() {
        for used in &arrows[package] {
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
            let mut used = reached(&arrows, package);
            used.remove(SHARED);
            // The command also runs the log service, which is a program that logs.
            if *package == "logdef-cli" {
                let direct = &arrows[*package];
                assert!(
                    direct
                        .iter()
                        .all(|used| used == SHARED || !other.contains(&used.as_str()))
                );
                continue;
            }
            assert!(
                used.iter().all(|used| !other.contains(&used.as_str())),
                "{package}: {used:?}"
            );
        }
    }
}
