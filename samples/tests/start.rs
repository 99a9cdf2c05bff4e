//! README's start for a Rust programmer, from an empty package: its blocks are copied,
//! built, run, and the log is read.

use logdef_samples::workshop::{Workshop, cargo, run};
use std::fs;
use std::path::Path;

const PROJECT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/..");

/// The first block of README in a language.
fn block(language: &str) -> String {
    let readme = fs::read_to_string(Path::new(PROJECT).join("README.md")).unwrap();
    let start = format!("```{language}\n");
    let (_, rest) = readme.split_once(&start).expect("a block of this language");
    let (code, _) = rest.split_once("```").expect("the end of the block");
    code.to_owned()
}

#[test]
fn the_start_of_the_readme_leads_from_an_empty_package_to_records() {
    let workshop = Workshop::open();
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path();
    fs::create_dir(place.join("src")).unwrap();
    let dependencies = block("toml").replace("path/to/this/repository", PROJECT);
    let package = "[package]\nname = \"start\"\nedition = \"2024\"\n\n[workspace]\n\n";
    fs::write(place.join("Cargo.toml"), format!("{package}{dependencies}")).unwrap();
    fs::write(place.join("src/main.rs"), block("rust")).unwrap();
    fs::copy(
        Path::new(PROJECT).join("Cargo.lock"),
        place.join("Cargo.lock"),
    )
    .unwrap();
    let mut build = cargo();
    build
        .current_dir(place)
        .args(["build", "--quiet", "--offline", "--target-dir"]);
    build.arg(workshop.built.parent().unwrap());
    run(&mut build);
    run(workshop.command("start").current_dir(place));
    let mut view = workshop.command("logdef");
    let output = run(view.current_dir(place).arg("app.log"));
    let shown = String::from_utf8(output.stdout).unwrap();
    let lines: Vec<&str> = shown.lines().collect();
    let [braces, printf] = lines[..] else {
        panic!("{shown}");
    };
    assert!(
        braces.ends_with(" src/main.rs:6: accepted example.org in 2.500 ms"),
        "{shown}"
    );
    assert!(
        printf.ends_with(" src/main.rs:7: accepted example.org:443 in 2.500 ms"),
        "{shown}"
    );
}
