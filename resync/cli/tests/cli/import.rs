//! `import`: traces as logs, and back.

use crate::fixture::*;

fn lines(log: &std::path::Path) -> Vec<String> {
    let shown = logdef("view --time utc {}", log);
    assert_eq!(shown.status, 0, "{}", shown.err);
    shown.out.lines().map(str::to_owned).collect()
}

#[test]
fn an_exported_log_comes_back_with_the_same_lines() {
    let files = Files::new();
    let log = files.put("app.log", &example().bytes);
    let (trace, back) = (files.path().join("app.fxt"), files.path().join("back.log"));
    for form in ["log", "instant", "log,instant", "all"] {
        let export = format!("export --to fxt --as {form} -o {} {{}}", trace.display());
        assert_eq!(logdef(&export, &log).status, 0);
        let import = format!("import --from fxt -o {} {{}}", back.display());
        let done = logdef(&import, &trace);
        assert_eq!(done.status, 0, "{}", done.err);
        assert!(done.err.contains("back.log: 10 records\n"), "{}", done.err);
        let check = logdef("check {}", &back);
        assert_eq!(check.status, 0, "{}", check.out);
        let (before, after) = (lines(&log), lines(&back));
        assert_eq!(before.len(), after.len());
        for (before, after) in before.iter().zip(&after) {
            let message = |line: &str| line.split(": ").nth(1).map(str::to_owned);
            assert_eq!(before[..26], after[..26], "the time");
            let (before, after) = (message(before).unwrap(), message(after).unwrap());
            // Printf arguments come back as keys.
            assert!(after.starts_with(&before), "{after:?} for {before:?}");
        }
        std::fs::remove_file(&trace).unwrap();
        std::fs::remove_file(&back).unwrap();
    }
}

#[test]
fn what_is_no_trace_makes_no_log() {
    let files = Files::new();
    let junk = files.put("junk.fxt", &[0xff; 4096]);
    let back = files.path().join("back.log");
    let done = logdef(
        &format!("import --from fxt -o {} {{}}", back.display()),
        &junk,
    );
    assert_eq!(done.status, 4, "{}", done.err);
    assert_eq!(done.err.lines().count(), 1, "{}", done.err);
    assert!(!back.exists());
    let done = logdef(
        &format!("import --from fxt -o {} {{}}.none", back.display()),
        &junk,
    );
    assert_eq!(done.status, 4, "{}", done.err);
}

#[test]
fn a_cut_trace_gives_what_is_left_and_says_so() {
    let files = Files::new();
    let log = files.put("app.log", &example().bytes);
    let trace = files.path().join("app.fxt");
    logdef(
        &format!("export --to fxt --as log -o {} {{}}", trace.display()),
        &log,
    );
    let bytes = std::fs::read(&trace).unwrap();
    let cut = files.put("cut.fxt", &bytes[..bytes.len() - 3]);
    let back = files.path().join("back.log");
    let words = format!("import --from fxt --strict -o {} {{}}", back.display());
    let done = logdef(&words, &cut);
    assert_eq!(done.status, 3, "{}", done.err);
    assert!(done.err.contains("back.log: 9 records"), "{}", done.err);
    assert!(
        done.err.contains("in 1 place could not be read"),
        "{}",
        done.err
    );
}
