//! `export`, and the traces it makes under `fxt`.

use crate::fixture::*;

#[test]
fn a_trace_has_every_record_and_is_strictly_right() {
    let files = Files::new();
    let log = files.put("app.log", &example().bytes);
    let trace = files.path().join("app.fxt");
    let done = run(
        command()
            .args(["export", "--to", "fxt", "-o"])
            .arg(&trace)
            .arg(&log),
        b"",
    );
    assert_eq!((done.status, &*done.out), (0, ""), "{}", done.err);
    assert!(done.err.ends_with("app.fxt: 10 records\n"), "{}", done.err);

    let check = logdef("fxt check {}", &trace);
    assert_eq!((check.status, &*check.out), (0, ""), "{}", check.err);
    let dump = logdef("fxt dump {}", &trace).out;
    assert!(dump.contains("accepted alpha:0"), "{dump}");
    assert!(dump.contains("worker"), "{dump}");
    let stat = logdef("fxt stat --json {}", &trace).out;
    let last = stat.lines().last().unwrap();
    serde_json::from_str::<serde_json::Value>(last).unwrap();
}

#[test]
fn a_broken_trace_is_status_3_and_a_missing_one_4() {
    let files = Files::new();
    let log = files.put("app.log", &example().bytes);
    let trace = files.path().join("app.fxt");
    logdef(
        &format!("export --to fxt -o {} {{}}", trace.display()),
        &log,
    );
    let mut bytes = std::fs::read(&trace).unwrap();
    bytes.truncate(bytes.len() - 3);
    let cut = files.put("cut.fxt", &bytes);
    let done = logdef("fxt check {}", &cut);
    assert_eq!(done.status, 3);
    assert!(!done.out.is_empty());
    let done = logdef("fxt dump {}.none", &cut);
    assert_eq!(done.status, 4);
    assert_eq!(done.err.lines().count(), 1);
}

#[test]
fn a_slice_of_a_log_can_be_exported() {
    let files = Files::new();
    let log = files.put("app.log", &example().bytes);
    let trace = files.path().join("slice.fxt");
    let words = format!(
        "export --to fxt --thread main --grep alpha -o {} {{}}",
        trace.display()
    );
    assert!(logdef(&words, &log).err.ends_with("slice.fxt: 4 records\n"));
}

#[test]
fn folded_stacks_count_records_by_backtrace_and_site() {
    let log = example();
    let done = on(&log, "export --to folded -o - {}");
    assert_eq!(
        done.lines(),
        [
            "DEBUG src/net.c:20 4",
            "ERROR db/wal.c:30 1",
            "INFO src/net.c:10 5",
        ]
    );
}
