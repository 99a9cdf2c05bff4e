//! README's start for a Rust programmer, from an empty folder: its lines and its program are copied,
//! run, and the logs are read.

use logdef_samples::workshop::{Workshop, run};
use std::env;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

const PROJECT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/..");

/// The first block of a language in README's start for Rust.
fn block(language: &str) -> String {
    let readme = fs::read_to_string(Path::new(PROJECT).join("README.md")).unwrap();
    let (_, rust) = readme.split_once("\n### Rust\n").expect("a start for Rust");
    let start = format!("```{language}\n");
    let (_, rest) = rust.split_once(&start).expect("a block of this language");
    let (code, _) = rest.split_once("```").expect("the end of the block");
    code.to_owned()
}

/// Runs commands in a folder, with the command `logdef` and such versions of libraries as were fetched for
/// this project, and returns what they print.
fn shell(commands: &str, folder: &Path) -> String {
    let workshop = Workshop::open();
    let path = env::var_os("PATH").unwrap_or_default();
    let path = [workshop.built.clone()]
        .into_iter()
        .chain(env::split_paths(&path));
    let mut shell = Command::new("sh");
    shell.args(["-e", "-c", commands]).current_dir(folder);
    shell.env("PATH", env::join_paths(path).unwrap());
    shell.env("CARGO_NET_OFFLINE", "true");
    shell.env_remove("CARGO_TARGET_DIR");
    String::from_utf8(run(&mut shell).stdout).unwrap()
}

#[test]
fn five_lines_lead_from_an_empty_folder_to_a_record() {
    let folder = tempfile::tempdir().unwrap();
    symlink(PROJECT, folder.path().join("logdef")).unwrap();
    let lines = block("sh");
    assert_eq!(lines.lines().count(), 5, "{lines}");
    let shown = shell(&lines, folder.path());
    assert!(
        shown.trim_end().ends_with(" src/main.rs:3: hello 42"),
        "{shown}"
    );
    assert_eq!(shown.lines().count(), 1, "{shown}");

    let app = folder.path().join("app");
    fs::remove_file(app.join("app.log")).unwrap();
    fs::write(app.join("src/main.rs"), block("rust")).unwrap();
    let shown = shell("cargo run --quiet\nlogdef app.log", &app);
    let lines: Vec<&str> = shown.lines().collect();
    let [braces, printf] = lines[..] else {
        panic!("{shown}");
    };
    let expected = " src/main.rs:6: accepted example.org in 2.500 ms";
    assert!(braces.ends_with(expected), "{shown}");
    let expected = " src/main.rs:7: accepted example.org:443 in 2.500 ms";
    assert!(printf.ends_with(expected), "{shown}");
}
