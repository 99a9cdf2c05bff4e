//! Where unsafe code may live: the front page of each package that has some lists the modules
//! that may hold it, and the compiler refuses it elsewhere.

use super::source::{files, workspace};
use std::collections::BTreeSet;

const PACKAGES: [&str; 4] = [
    "logger",
    "logger/capi",
    "logger/unwind",
    "resync/fuchsia/serve",
];

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
