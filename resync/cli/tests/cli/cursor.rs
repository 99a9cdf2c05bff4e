//! `view --cursor-file`: each record once, whatever comes between two views.

use crate::fixture::*;
use logdef_wire::Run;
use std::path::Path;

/// The messages that a view with the folder's cursor shows.
fn new_in(files: &Files, words: &str, file: &Path) -> Vec<String> {
    let cursor = files.path().join("cursor").display().to_string();
    let done = logdef(
        &format!("view -o raw --cursor-file {cursor} {words} {{}}"),
        file,
    );
    assert_eq!((done.status, &*done.err), (0, ""), "{words}");
    done.lines().into_iter().map(str::to_owned).collect()
}

/// The first records of a log.
fn cut(log: &Log, frames: usize) -> &[u8] {
    &log.bytes[..log.frames[frames].start]
}

#[test]
fn each_record_is_shown_by_one_view() {
    let (files, log) = (Files::new(), example());
    let whole = files.put("whole.log", &log.bytes);
    let all: Vec<_> = logdef("view -o raw {}", &whole)
        .lines()
        .into_iter()
        .map(String::from)
        .collect();
    let mut shown = Vec::new();
    for frames in (0..log.frames.len()).step_by(3).skip(3) {
        let path = files.put("app.log", cut(&log, frames));
        shown.extend(new_in(&files, "", &path));
    }
    shown.extend(new_in(&files, "", &whole));
    assert_eq!(shown, all);
    assert!(new_in(&files, "", &whole).is_empty());
    // Another run's are new, in the same file or in another.
    let both = [
        &log.bytes[..],
        &example_of(Run(77), 9, EPOCH + 60 * SECOND).bytes,
    ]
    .concat();
    let both = files.put("both.log", &both);
    assert_eq!(new_in(&files, "", &both), all);
    assert!(new_in(&files, "", &whole).is_empty());
}

#[test]
fn a_view_that_stops_early_leaves_the_rest_to_the_next() {
    let (files, log) = (Files::new(), example());
    let path = files.put("app.log", &log.bytes);
    let all = new_in(&files, "", &path);
    for words in ["-n 1", "-n 1 -A 1", "-n 2 --early-from 1"] {
        std::fs::remove_file(files.path().join("cursor")).unwrap();
        let mut firsts = Vec::new();
        loop {
            let new = new_in(&files, words, &path);
            if new.is_empty() {
                break;
            }
            let matches = if words.starts_with("-n 2") { 2 } else { 1 };
            firsts.extend(new.into_iter().take(matches));
        }
        assert_eq!(firsts, all, "{words}");
    }
    std::fs::remove_file(files.path().join("cursor")).unwrap();
    assert!(new_in(&files, "-n 0", &path).is_empty());
    assert_eq!(new_in(&files, "", &path), all);
}

#[test]
fn what_was_looked_at_and_not_wanted_is_not_new_later() {
    let (files, log) = (Files::new(), example());
    let path = files.put("app.log", &log.bytes);
    assert_eq!(new_in(&files, "-l error", &path).len(), 1);
    assert!(new_in(&files, "", &path).is_empty());
}

#[test]
fn a_file_that_is_no_cursor_is_refused_and_left_alone() {
    let (files, log) = (Files::new(), example());
    let path = files.put("app.log", &log.bytes);
    for text in [
        "",
        "hello",
        "{}",
        r#"{"logdef_cursor":2,"runs":{}}"#,
        r#"{"logdef_cursor":1,"runs":{"x":{}}}"#,
    ] {
        let cursor = files.put("cursor", text.as_bytes());
        let done = logdef(
            &format!("view --cursor-file {} {{}}", cursor.display()),
            &path,
        );
        assert_eq!((done.status, &*done.out), (2, ""), "{text}");
        assert!(
            done.err.contains("name another --cursor-file"),
            "{}",
            done.err
        );
        assert_eq!(std::fs::read(cursor).unwrap(), text.as_bytes());
    }
    let done = logdef("view --cursor-file /nowhere/cursor {}", &path);
    assert_eq!(done.status, 1);
    assert!(
        done.err.contains("cannot write /nowhere/cursor: "),
        "{}",
        done.err
    );
}

/// Of a thread the cursor keeps one number: records of a file that could not be read were passed over for
/// good once later ones of another file had been shown.
#[test]
fn what_could_not_be_read_is_shown_when_it_can_be() {
    let (files, log) = (Files::new(), example());
    let half = log.frames.len() / 2;
    let later = files.put("app.log.2", &log.bytes[log.frames[half].start..]);
    let earlier = files.path().join("app.log.1");
    let cursor = files.path().join("cursor");
    let view = || {
        let mut command = command();
        command.args(["view", "-o", "raw", "--cursor-file"]);
        run(command.args([&cursor, &earlier, &later]), b"")
    };
    let done = view();
    assert_eq!(done.status, 4);
    assert!(!done.out.is_empty());
    let held = "stays as it is while a file cannot be read";
    assert!(done.err.contains(held), "{}", done.err);
    files.put("app.log.1", cut(&log, half));
    let (all, whole) = (view(), files.put("whole.log", &log.bytes));
    assert_eq!(all.status, 0, "{}", all.err);
    assert_eq!(all.out, logdef("view -o raw {}", &whole).out);
    assert_eq!(view().out, "");
}
