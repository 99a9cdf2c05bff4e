//! What each package has that goes to a registry, and what it leaves at home.

use super::source::{known_to_cargo, workspace};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

#[derive(Deserialize)]
struct Package {
    name: String,
    manifest_path: PathBuf,
    description: Option<String>,
    documentation: Option<String>,
    license: Option<String>,
    readme: Option<PathBuf>,
    rust_version: Option<String>,
    keywords: Vec<String>,
    categories: Vec<String>,
    /// Empty for a package that is not published.
    publish: Option<Vec<String>>,
    features: BTreeMap<String, Vec<String>>,
    metadata: Option<serde_json::Value>,
}

impl Package {
    fn folder(&self) -> &Path {
        self.manifest_path.parent().unwrap()
    }
}

fn published() -> Vec<Package> {
    let mut packages: Vec<Package> = known_to_cargo();
    packages.retain(|package| package.publish.is_none());
    assert!(packages.len() > 10, "packages are not found");
    packages
}

#[test]
fn a_package_says_what_a_registry_asks_for() {
    for package in published() {
        let name = &package.name;
        assert!(package.description.is_some(), "{name}");
        assert_eq!(
            package.license.as_deref(),
            Some("MIT OR Apache-2.0"),
            "{name}"
        );
        let documentation = format!("https://docs.rs/{name}");
        assert_eq!(package.documentation, Some(documentation), "{name}");
        assert!(package.rust_version.is_some(), "{name}");
        assert!(
            !package.keywords.is_empty() && package.keywords.len() <= 5,
            "{name}"
        );
        assert!(!package.categories.is_empty(), "{name}");
        let readme = fs::read_to_string(package.folder().join(package.readme.as_ref().unwrap()));
        assert!(
            readme.unwrap().starts_with(&format!("# {name}")) || name == "logdef-capi",
            "{name}"
        );
        let docs = &package.metadata.unwrap()["docs"]["rs"];
        assert_eq!(docs["default-target"], "x86_64-unknown-linux-gnu", "{name}");
    }
}

#[test]
fn a_package_has_the_texts_of_its_licences_and_no_file_that_needs_the_workspace() {
    for package in published() {
        let output = Command::new(env!("CARGO"))
            .args([
                "package",
                "--list",
                "--allow-dirty",
                "--offline",
                "-p",
                &package.name,
            ])
            .current_dir(workspace())
            .output()
            .unwrap();
        let files = String::from_utf8(output.stdout).unwrap();
        for licence in ["LICENSE-MIT", "LICENSE-APACHE"] {
            assert!(
                files.lines().any(|file| file == licence),
                "{}: {licence}",
                package.name
            );
            let text = |folder: &Path| fs::read(folder.join(licence)).unwrap();
            assert!(
                text(package.folder()) == text(workspace()),
                "{}",
                package.name
            );
        }
        let left_out = ["tests/", "benches/", "fuzz/"];
        let stray = files
            .lines()
            .find(|file| left_out.iter().any(|dir| file.starts_with(dir)));
        assert_eq!(stray, None, "{}", package.name);
    }
}

#[test]
fn every_feature_is_documented() {
    for package in published() {
        let readme = fs::read_to_string(package.folder().join("README.md")).unwrap();
        let library = fs::read_to_string(package.folder().join("src/lib.rs")).unwrap_or_default();
        for feature in package.features.keys().filter(|name| *name != "default") {
            let named = format!("`{feature}`");
            let is_named = readme.contains(&named) || library.contains(&named);
            assert!(is_named, "{}: {feature}", package.name);
        }
    }
}
