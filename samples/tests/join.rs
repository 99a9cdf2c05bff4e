//! Logs are joined as files are, and read as the sum of their parts.

use logdef_samples::workshop::{Workshop, has_cpp, run};
use std::fs;
use std::path::Path;

/// The lines that `view` prints for a log, sorted, since records of several
/// logs are merged by time.
fn lines(workshop: &Workshop, log: &Path) -> Vec<String> {
    let output = run(workshop
        .command("logdef")
        .args(["view", "-o", "json"])
        .arg(log));
    let text = String::from_utf8(output.stdout).unwrap();
    let mut lines: Vec<_> = text.lines().map(str::to_owned).collect();
    lines.sort();
    lines
}

fn assert_joins(workshop: &Workshop, a: &Path, b: &Path) {
    let joined = a.with_file_name("joined.log");
    fs::write(
        &joined,
        [fs::read(a).unwrap(), fs::read(b).unwrap()].concat(),
    )
    .unwrap();
    let mut sum = [lines(workshop, a), lines(workshop, b)].concat();
    sum.sort();
    assert!(lines(workshop, a).len() > 5 && lines(workshop, b).len() > 5);
    assert_eq!(lines(workshop, &joined), sum);
}

#[test]
fn two_runs_of_one_program_read_as_both() {
    if !has_cpp() {
        return;
    }
    let workshop = Workshop::open();
    let folder = tempfile::tempdir().unwrap();
    let inventory = folder.path().join("inventory");
    workshop.compile(
        &["samples/cpp/inventory.cpp"],
        &inventory,
        &["-pie", "-fPIE"],
    );
    let [a, b] = ["a.log", "b.log"].map(|log| folder.path().join(log));
    // Each with its own load bias.
    for log in [&a, &b] {
        run(std::process::Command::new(&inventory).arg(log));
    }
    assert_joins(workshop, &a, &b);
}

#[test]
fn logs_of_a_c_and_a_rust_program_read_as_both() {
    let workshop = Workshop::open();
    let folder = tempfile::tempdir().unwrap();
    let [a, b] = ["a.log", "b.log"].map(|log| folder.path().join(log));
    let server = workshop.compile_server(folder.path());
    run(std::process::Command::new(server).arg(&a).args(["0", "50"]));
    run(workshop.command("orders").arg(&b).args(["0", "50"]));
    assert_joins(workshop, &a, &b);
}
