//! Programs in other languages log by the function for bindings, with places, types and names, and
//! lose nothing when they are killed.

use logdef_samples::skip::skip;
use logdef_samples::workshop::{Workshop, run};
use std::path::Path;
use std::process::Command;

#[test]
fn a_program_in_python_logs_by_logging_and_is_killed() {
    if Command::new("python3").arg("--version").output().is_err() {
        return skip(format_args!("python3 is not installed"));
    }
    let workshop = Workshop::open();
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("log");
    let bindings = Path::new(env!("CARGO_MANIFEST_DIR")).join("bindings/python");
    let mut command = Command::new("python3");
    command.env("LOGDEF_LIBRARY", workshop.library.join("liblogdef.so"));
    command.env("PYTHONDONTWRITEBYTECODE", "1");
    let status = command.arg(bindings.join("victim.py")).arg(&log).status();
    assert!(!status.unwrap().success(), "it kills itself");

    let view = |words: &[&str]| {
        let mut command = workshop.command("logdef");
        let output = run(command.arg("view").args(words).arg(&log));
        String::from_utf8(output.stdout).unwrap()
    };
    let text = view(&[]);
    let records: Vec<_> = text.lines().filter(|line| line.starts_with('2')).collect();
    assert_eq!(records.len(), 1002);
    let [.., order, bytes, last] = &records[..] else {
        panic!("{text}");
    };
    assert!(order.contains("victim.py:18: order 999 of anna"), "{order}");
    assert!(
        bytes.contains(r"bytes \xff and a NUL\x00 inside"),
        "{bytes}"
    );
    assert!(
        last.contains(r"made/up.py:7: {not} a %s format text=a ☃ raw=\x80"),
        "{last}"
    );
    let found = view(&["-o", "json", "-w", "number=7 and logger=shop"]);
    assert_eq!(found.lines().count(), 1, "{found}");
    for part in [
        r#""number":7"#,
        r#""ratio":1.75"#,
        r#""even":false"#,
        r#""big":9223372036854775815"#,
        r#""function":"serve""#,
    ] {
        assert!(found.contains(part), "{part} in {found}");
    }
}
