//! The main job: the demo of the README does what it says.

use logdef_samples::workshop::{Workshop, run};
use std::process::Command;

#[test]
fn the_demo_shows_records_backtraces_and_damage() {
    // Another run of the same tests may be at it in the usual folder.
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path().join("two words");
    let output = run(Workshop::open().command("demo").arg(&folder));
    let text = String::from_utf8(output.stdout).unwrap();
    for part in [
        "signal: 9 (SIGKILL)",
        // Records of the C program, its library and the Rust program.
        "samples/c/server.c:",
        "samples/c/compress.c:",
        "samples/src/bin/orders.rs:",
        // The backtrace of an error, named.
        "open_file at ",
        "samples/c/server.c:47",
        // What was lost, and where.
        "one bit flipped",
        "): damage: ",
        " missing of ",
        "The reader found every one.",
    ] {
        assert!(text.contains(part), "no {part:?} in:\n{text}");
    }
    // The command that it ends with, as a person pastes it.
    let pasted = text
        .lines()
        .last()
        .and_then(|line| line.strip_prefix("#   "));
    let shown = run(Command::new("sh").arg("-c").arg(pasted.unwrap()));
    let shown = String::from_utf8(shown.stdout).unwrap();
    assert!(text.contains(&shown) && !shown.is_empty(), "{shown}");
}
