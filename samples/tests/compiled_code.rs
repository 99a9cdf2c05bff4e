//! Backtraces through code that a program compiled while it ran: it lies in no image, and has the
//! names that its compiler left in a list.

use logdef_samples::workshop::{Workshop, run};
use std::fs;
use std::path::Path;
use std::process::Command;

/// What `view` prints with some options.
fn view(log: &Path, options: &[&str]) -> String {
    let mut command = Workshop::open().command("logdef");
    let output = run(command.arg("view").args(options).arg(log));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn functions_compiled_while_a_program_ran_have_the_names_of_its_list() {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("compiler");
    Workshop::open().compile(&["samples/tests/sites/compiler.c"], &program, &[]);
    let log = folder.path().join("log");
    let lists = folder.path().join("lists");
    fs::create_dir(&lists).unwrap();
    run(Command::new(&program).arg(&log).arg(&lists));

    let without = view(&log, &[]);
    assert!(!without.contains("refuse"), "{without}");
    let shown = view(&log, &["--image-dir", lists.to_str().unwrap()]);
    let frames: Vec<_> = shown.lines().filter(|it| it.contains('#')).collect();
    // Names alone: the folder of the sources may be called like one of them.
    let names: Vec<_> = frames.iter().map(|it| it.split(" at ").next()).collect();
    let at = |name: &str| names.iter().position(|it| it.unwrap().contains(name));
    let (complain, refuse, main) = (at("complain"), at("refuse /srv/app.js:12:3"), at("main"));
    assert!(
        complain.is_some() && complain < refuse && refuse < main,
        "{shown}"
    );
    // A name in a list is a stranger's.
    assert!(!shown.contains('\x1b'), "{shown}");
    let json = view(
        &log,
        &["-o", "json", "--image-dir", lists.to_str().unwrap()],
    );
    assert!(json.contains("refuse /srv/app.js:12:3"), "{json}");

    // The list of another process is not used for this one.
    let list = fs::read_dir(&lists)
        .unwrap()
        .next()
        .unwrap()
        .unwrap()
        .path();
    fs::rename(&list, lists.join("perf-1.map")).unwrap();
    assert_eq!(
        view(&log, &["--image-dir", lists.to_str().unwrap()]),
        without
    );
}
