//! Where unsafe code may live: the front page of each package that has some lists the modules
//! that may hold it, and the compiler refuses it elsewhere.

use super::source::{files, known_to_cargo, workspace};
use serde::Deserialize;
use std::collections::BTreeSet;
use std::path::PathBuf;

const PACKAGES: [&str; 4] = [
    "logger",
    "logger/capi",
    "logger/unwind",
    "resync/fuchsia/serve",
];
/// Programs that are run by tests, and do what programs of others do.
const UNCHECKED: &str = "samples";

/// The modules that may hold it as the front page lists them, between back quotes.
fn listed(front: &str) -> BTreeSet<String> {
    let (_, list) = front.split_once("//! # Unsafe code\n").unwrap();
    let (list, _) = list.split_once("\n#![deny(unsafe_code)]\n").unwrap();
    let names = list.split('`').skip(1).step_by(2);
    names.map(str::to_owned).collect()
}

/// The modules that may hold it for the compiler, of those in a folder of the workspace.
fn allowed(source: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for (path, text) in files() {
        let within = path
            .strip_prefix(source)
            .and_then(|path| path.strip_suffix(".rs"));
        let Some(parent) = within else { continue };
        for item in text.split("[allow(unsafe_code)]\n").skip(1) {
            let item = item.lines().find(|line| !line.starts_with("#[")).unwrap();
            let (_, name) = item.split_once("mod ").expect(item);
            let name = name.strip_suffix(';').expect(name);
            found.insert(match parent {
                "lib" => name.to_owned(),
                parent => format!("{parent}/{name}"),
            });
        }
    }
    found
}

#[test]
fn unsafe_code_lives_in_the_modules_that_the_front_page_lists() {
    for package in PACKAGES {
        let source = format!("{package}/src/");
        let front = std::fs::read_to_string(workspace().join(&source).join("lib.rs")).unwrap();
        let found = allowed(&source);
        assert_eq!(found, listed(&front), "{package}: left by the compiler");
    }
}

#[derive(Deserialize)]
struct Package {
    name: String,
    manifest_path: PathBuf,
    targets: Vec<Target>,
}

#[derive(Deserialize)]
struct Target {
    kind: Vec<String>,
    src_path: PathBuf,
}

impl Package {
    /// The folder in the workspace.
    fn folder(&self) -> &str {
        let folder = self.manifest_path.parent().unwrap();
        folder.strip_prefix(workspace()).unwrap().to_str().unwrap()
    }

    /// The first files of its libraries and programs.
    fn fronts(&self) -> impl Iterator<Item = String> {
        const OTHERS: [&str; 4] = ["bench", "custom-build", "example", "test"];
        let is_shipped = |target: &&Target| !OTHERS.contains(&target.kind[0].as_str());
        let shipped = self.targets.iter().filter(is_shipped);
        shipped.map(|target| std::fs::read_to_string(&target.src_path).unwrap())
    }
}

#[test]
fn every_package_without_such_a_list_forbids_unsafe_code() {
    let packages: Vec<Package> = known_to_cargo();
    let is_checked = |package: &&Package| package.folder() != UNCHECKED;
    let (mut forbids, mut denies) = (BTreeSet::new(), BTreeSet::new());
    for package in packages.iter().filter(is_checked) {
        let (lint, names) = if PACKAGES.contains(&package.folder()) {
            ("\n#![deny(unsafe_code)]\n", &mut denies)
        } else {
            ("\n#![forbid(unsafe_code)]\n", &mut forbids)
        };
        names.insert(package.name.as_str());
        let is_right = package.fronts().all(|text| text.contains(lint));
        assert!(is_right, "{}: no line{lint}", package.name);
    }
    assert!(forbids.len() > 8, "{forbids:?}");
    assert_eq!(denies.len(), PACKAGES.len(), "{denies:?}");
    let text = std::fs::read_to_string(workspace().join("ARCHITECTURE.md")).unwrap();
    let (_, section) = text
        .split_once("\n## Where unsafe code may live\n")
        .unwrap();
    let (forbidding, section) = section.split_once(" forbid it").unwrap();
    let (denying, _) = section.split_once(" deny it").unwrap();
    assert_eq!(quoted(forbidding), forbids, "left by ARCHITECTURE.md");
    assert_eq!(quoted(denying), denies, "left by ARCHITECTURE.md");
}

/// The packages that a text names between back quotes.
fn quoted(text: &str) -> BTreeSet<&str> {
    let names = text.split('`').skip(1).step_by(2);
    names.filter(|name| name.starts_with("logdef")).collect()
}

/// The same in the workspaces beside this one, whose manifests say it for all their code.
#[test]
fn the_other_workspaces_forbid_unsafe_code() {
    for manifest in ["fleet/Cargo.toml", "python/Cargo.toml"] {
        let text = std::fs::read_to_string(workspace().join(manifest)).unwrap();
        let lint = "\nunsafe_code = \"forbid\"\n";
        assert!(text.contains(lint), "{manifest}");
    }
}
