//! `recover` and `merge`: files made of what survives.

use crate::fixture::*;
use logdef_wire::Run;

fn damaged() -> Log {
    let mut log = example();
    let at = log.frames[11].start + 20;
    log.bytes[at] ^= 1;
    log
}

#[test]
fn what_is_recovered_shows_the_same_and_says_what_it_lacks() {
    let files = Files::new();
    let log = files.put("app.log", &damaged().bytes);
    let clean = files.path().join("clean.log");
    let done = run(
        command().arg("recover").arg(&log).arg("-o").arg(&clean),
        b"",
    );
    assert_eq!(done.status, 0, "{}", done.err);
    assert!(done.err.contains("1 record missing"), "{}", done.err);
    // A copy of a damaged log is no clean log, and one of that is the same.
    let check = logdef("check {}", &clean);
    assert_eq!(check.status, 3, "{}", check.out);
    assert!(check.out.contains("1 record missing"), "{}", check.out);
    let before = logdef("view -o json {}", &log);
    let after = logdef("view -o json {}", &clean);
    assert_eq!(before.out, after.out);
    assert!(!after.err.contains("checksum"), "{}", after.err);

    let again = files.path().join("again.log");
    let done = run(
        command().arg("recover").arg(&clean).arg("-o").arg(&again),
        b"",
    );
    assert_eq!(done.status, 0);
    assert_eq!(std::fs::read(clean).unwrap(), std::fs::read(again).unwrap());
}

#[test]
fn a_file_that_is_there_is_never_written_over() {
    let files = Files::new();
    let log = files.put("app.log", &damaged().bytes);
    for words in [
        "recover {} -o {}",
        "merge {} -o {}",
        "export --to fxt {} -o {}",
    ] {
        let done = logdef(words, &log);
        assert_eq!((done.status, &*done.out), (2, ""), "{words}");
        let name = log.display();
        assert_eq!(
            done.err,
            format!("logdef: {name} exists already: name another file, or remove it\n")
        );
        assert_eq!(std::fs::read(&log).unwrap(), damaged().bytes);
    }
}

#[test]
fn a_file_that_cannot_be_made_is_named() {
    let files = Files::new();
    let log = files.put("app.log", &example().bytes);
    let done = logdef("recover {} -o /nowhere/at/all.log", &log);
    assert_eq!(done.status, 1);
    assert_eq!(done.err.lines().count(), 1);
    assert!(
        done.err.contains("cannot write /nowhere/at/all.log"),
        "{}",
        done.err
    );
}

#[test]
fn merged_files_show_as_they_do_side_by_side() {
    let files = Files::new();
    let one = files.put("1.log", &example_of(Run(1), 11, EPOCH).bytes);
    let two = files.put("2.log", &example_of(Run(2), 22, EPOCH + SECOND / 2).bytes);
    let both = run(command().arg(&one).arg(&two), b"").out;
    let merged = files.path().join("merged.log");
    let done = run(
        command()
            .arg("merge")
            .arg(&one)
            .arg(&two)
            .arg("-o")
            .arg(&merged),
        b"",
    );
    assert_eq!(done.status, 0, "{}", done.err);
    assert_eq!(logdef("{}", &merged).out, both);
    assert_eq!(logdef("check {}", &merged).status, 0);
}
