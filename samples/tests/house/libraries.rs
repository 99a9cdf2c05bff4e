//! The libraries of others that come with ours: their licences, their versions, and which of
//! them get into a program that logs. `deny.toml` has the lists.

use super::source::{known_to_cargo, workspace};
use serde::Deserialize;
use std::collections::BTreeSet;
use std::process::Command;

#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
    resolve: Resolve,
}

#[derive(Deserialize)]
struct Package {
    id: String,
    name: String,
    license: Option<String>,
    /// Nothing for a package of this workspace.
    source: Option<String>,
}

#[derive(Deserialize)]
struct Resolve {
    nodes: Vec<Node>,
}

#[derive(Deserialize)]
struct Node {
    id: String,
}

/// The libraries that get into a program that logs through the C interface.
const IN_THE_PROCESS: [&str; 11] = [
    "block-buffer",
    "cfg-if",
    "cpufeatures",
    "crc32fast",
    "crypto-common",
    "digest",
    "gimli",
    "hybrid-array",
    "libc",
    "sha1",
    "typenum",
];

fn cargo(arguments: &[&str]) -> Vec<u8> {
    let mut cargo = Command::new(env!("CARGO"));
    let output = cargo.args(arguments).current_dir(workspace()).output();
    let output = output.unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    output.stdout
}

/// The libraries that are built for this machine.
fn libraries() -> Vec<Package> {
    let platform = format!("{}-unknown-linux-gnu", std::env::consts::ARCH);
    let metadata = cargo(&[
        "metadata",
        "--offline",
        "--format-version=1",
        "--filter-platform",
        &platform,
    ]);
    let metadata: Metadata = serde_json::from_slice(&metadata).unwrap();
    let used: BTreeSet<_> = metadata.resolve.nodes.iter().map(|node| &node.id).collect();
    let packages = metadata.packages.into_iter();
    packages
        .filter(|package| package.source.is_some() && used.contains(&package.id))
        .collect()
}

/// The licences that `deny.toml` allows.
fn allowed_licences() -> Vec<String> {
    let text = std::fs::read_to_string(workspace().join("deny.toml")).unwrap();
    let (_, rest) = text.split_once("\nallow = [\n").unwrap();
    let (entries, _) = rest.split_once("\n]").unwrap();
    let entries = entries.lines().filter_map(|line| line.split('"').nth(1));
    entries.map(str::to_owned).collect()
}

/// Whether a licence expression is met: of all parts joined by AND, one alternative each.
fn is_allowed(expression: &str, allowed: &[String]) -> bool {
    expression.split(" AND ").all(|part| {
        let part = part.trim_matches(['(', ')', ' ']).replace('/', " OR ");
        part.split(" OR ")
            .any(|licence| allowed.iter().any(|allowed| allowed == licence.trim()))
    })
}

#[test]
fn every_library_comes_from_the_registry_under_a_licence_that_suits() {
    let allowed = allowed_licences();
    let libraries = libraries();
    assert!(libraries.len() > 100, "only {} libraries", libraries.len());
    for library in libraries {
        let (name, licence) = (&library.name, library.license.unwrap_or_default());
        assert!(is_allowed(&licence, &allowed), "{name} is under {licence}");
        let source = library.source.unwrap();
        assert!(source.starts_with("registry+"), "{name} is from {source}");
    }
    assert!(!is_allowed("GPL-3.0-only", &allowed));
    assert!(!is_allowed("MIT AND GPL-3.0-only", &allowed));
}

/// Versions that may stand beside another, as `cargo tree` begins them.
fn skipped() -> Vec<String> {
    let manifest = std::fs::read_to_string(workspace().join("deny.toml")).unwrap();
    let skipped = manifest.split("{ crate = \"").skip(1);
    let names = skipped.filter_map(|entry| entry.split('"').next()?.split_once('@'));
    names
        .map(|(name, version)| format!("{name} v{version}."))
        .collect()
}

#[test]
fn no_library_comes_in_two_versions() {
    // Also lists a library that is built twice with other features. Those of tests alone
    // are left out.
    let trees = cargo(&[
        "tree",
        "--offline",
        "--workspace",
        "--duplicates",
        "--edges=normal,build",
        "--prefix=depth",
    ]);
    let trees = String::from_utf8(trees).unwrap();
    let roots = trees.lines().filter_map(|line| line.strip_prefix('0'));
    let skipped = skipped();
    let is_skipped = |root: &&str| skipped.iter().any(|skipped| root.starts_with(skipped));
    let versions: BTreeSet<_> = roots.filter(|root| !is_skipped(root)).collect();
    let names = versions.iter().map(|root| root.split(' ').next());
    let mut names: Vec<_> = names.collect();
    let all = names.len();
    names.dedup();
    assert_eq!(names.len(), all, "{versions:?}");
}

#[test]
fn a_program_that_logs_gets_these_libraries_only() {
    let target = format!("--target={}-unknown-linux-gnu", std::env::consts::ARCH);
    let tree = cargo(&[
        "tree",
        "--offline",
        "--package=logdef-capi",
        "--edges=normal",
        "--prefix=none",
        &target,
    ]);
    let tree = String::from_utf8(tree).unwrap();
    let names = tree.lines().filter_map(|line| line.split(' ').next());
    let others: BTreeSet<_> = names.filter(|name| !name.starts_with("logdef")).collect();
    assert_eq!(others, BTreeSet::from(IN_THE_PROCESS));
}

/// The lines of the manifest that name a package which members may depend on.
fn entries() -> Vec<String> {
    let manifest = std::fs::read_to_string(workspace().join("Cargo.toml")).unwrap();
    let (_, section) = manifest.split_once("[workspace.dependencies]\n").unwrap();
    let (section, _) = section.split_once("\n[").unwrap();
    let entries = section.lines().filter(|line| line.contains(" = "));
    entries.map(str::to_owned).collect()
}

#[test]
fn the_manifest_says_what_each_library_is_for() {
    let entries = entries().into_iter();
    for entry in entries.filter(|entry| !entry.contains("path = ")) {
        assert!(entry.contains(" # "), "{entry}");
    }
}

#[test]
fn each_entry_of_the_manifest_is_used_by_a_member() {
    #[derive(Deserialize)]
    struct Member {
        dependencies: Vec<Dependency>,
    }

    #[derive(Deserialize)]
    struct Dependency {
        name: String,
    }

    let members: Vec<Member> = known_to_cargo();
    let used = members.into_iter().flat_map(|member| member.dependencies);
    let used: BTreeSet<String> = used.map(|dependency| dependency.name).collect();
    let entries = entries();
    let names = entries.iter().filter_map(|entry| entry.split(" = ").next());
    let unused: Vec<_> = names.filter(|name| !used.contains(*name)).collect();
    assert_eq!(unused, [""; 0]);
}
