//! Each log of the corpus reads as the text beside it.

use logdef_samples::corpus;
use logdef_samples::workshop::{Workshop, run};
use std::fs;

#[test]
fn every_log_reads_as_its_text() {
    let workshop = Workshop::open();
    let mut logs = 0;
    for entry in fs::read_dir(corpus::folder()).unwrap() {
        let log = entry.unwrap().path();
        if log.extension().is_some_and(|extension| extension == "log") {
            let expected = fs::read_to_string(log.with_extension("txt")).unwrap();
            assert_eq!(corpus::text(workshop, &log), expected, "{}", log.display());
            logs += 1;
        }
    }
    assert_eq!(logs, 9);
}

/// `samples/c/crash.c`, compiled for aarch64 and dead of its fault there, with names from its
/// executable, which lies beside the log.
#[test]
fn a_log_of_another_machine_reads_with_names() {
    let folder = corpus::folder().join("aarch64");
    let mut command = Workshop::open().command("logdef");
    command.current_dir(&folder).env("TZ", "UTC");
    command.args(["view", "--no-logged-paths", "--image-dir", "."]);
    let output = run(command.arg("crash.log"));
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(text, fs::read_to_string(folder.join("crash.txt")).unwrap());
}
