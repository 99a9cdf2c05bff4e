//! A log that was written by a wrong clock shows, with `--clock-offset`, as the same log written by a right one.

use crate::browse::terminal::Terminal;
use crate::fixture::*;
use crate::stores::Store;
use logdef_wire::Run;
use std::path::Path;

const OFF: u64 = 3 * SECOND;

/// A log with records, notes and a masked record, of a clock that shows an epoch.
fn written_at(epoch: u64) -> Log {
    let mut log = example_of(Run(0x22), 22, epoch);
    log.note(Run(0x22), epoch + 20 * SECOND, b"panicked");
    log.data(Run(0x22), 0, epoch + 22 * SECOND, &ACCEPTED, |args| {
        args.raw(b"\xc1\xce\x01\x02\x03\x04\xc1\xda\x00\x02")
            .unwrap();
        args.uint(2).unwrap();
        2
    });
    log
}

/// The other log, and the one in question.
fn put(files: &Files, bytes: &[u8]) {
    files.put(
        "a.log",
        &example_of(Run(0x11), 11, EPOCH + SECOND / 2).bytes,
    );
    files.put("b.log", bytes);
}

fn ran(folder: &Path, words: &str, more: &[&str]) -> (i32, String, String) {
    let mut command = command();
    command
        .current_dir(folder)
        .args(words.split(' '))
        .args(more);
    let done = run(command.args(["a.log", "b.log"]), b"");
    (done.status, done.out, done.err)
}

#[test]
fn a_log_of_a_wrong_clock_is_as_one_of_a_right_clock() {
    for damage in [None, Some(40), Some(60)] {
        let [right, wrong] = [EPOCH, EPOCH - OFF].map(|epoch| {
            let mut bytes = written_at(epoch).bytes;
            if let Some(percent) = damage {
                let at = bytes.len() * percent / 100;
                bytes[at..][..9].fill(7);
            }
            let files = Files::new();
            put(&files, &bytes);
            files
        });
        for words in [
            "view --time utc",
            "view -o json",
            "view --since 2027-01-15T08:00:04Z --until 2027-01-15T08:00:07Z -o csv",
            "view --level error -C 2 --time delta",
            "view --tail 3 -o json",
            "check -o json",
            "stats -o json",
            "export --to otlp-json -o -",
        ] {
            let offset = ["--clock-offset", "b.log=+3s"];
            let expected = ran(right.path(), words, &[]);
            assert!(!expected.1.is_empty(), "{words}");
            assert_eq!(
                ran(wrong.path(), words, &offset),
                expected,
                "{words}, {damage:?}"
            );
            // The clock is wrong indeed.
            assert!(
                words.starts_with("check") || ran(wrong.path(), words, &[]) != expected,
                "{words}"
            );
        }
    }
}

#[test]
fn an_offset_names_a_file_that_is_read() {
    let files = Files::new();
    put(&files, &written_at(EPOCH).bytes);
    let (status, _, err) = ran(files.path(), "view --clock-offset c.log=1s", &[]);
    assert_eq!(status, 2);
    assert!(
        err.contains("no file that is read is called c.log"),
        "{err}"
    );
    let (status, _, err) = ran(files.path(), "view --clock-offset b.log=3", &[]);
    assert_eq!(status, 2);
    assert!(err.contains("b.log=3") && err.contains("FILE=+3s"), "{err}");
    let words = "view -f --clock-offset c.log=3s";
    let (status, _, err) = ran(files.path(), words, &[]);
    assert_eq!(status, 2);
    assert!(
        err.contains("no file that is read is called c.log"),
        "{err}"
    );
}

/// As long as it is followed, also in the files that it goes to, and among others: those of a right clock.
#[test]
fn a_log_of_a_wrong_clock_is_followed_as_one_of_a_right_clock() {
    let [right, wrong] = [EPOCH, EPOCH - OFF].map(|epoch| {
        let files = Files::new();
        put(&files, &written_at(epoch).bytes);
        let bytes = example_of(Run(0x33), 33, epoch + 30 * SECOND).bytes;
        files.put("b.log.000002", &bytes);
        files
    });
    for form in ["full --time utc", "json"] {
        let words = format!("view --follow -n 31 -o {form}");
        let (status, expected, err) = ran(right.path(), &words, &[]);
        assert_eq!(status, 0, "{err}");
        let offset = ["--clock-offset", "b.log=+3s"];
        let shown = ran(wrong.path(), &words, &offset);
        assert_eq!(shown, (0, expected.clone(), String::new()), "{form}");
        assert!(ran(wrong.path(), &words, &[]).1 != expected);
    }
}

/// The requests that a store gets of a push.
fn pushed(folder: &Path, more: &[&str]) -> Vec<String> {
    let store = Store::new();
    let words = format!("push --loki http://{}", store.address());
    let (status, _, err) = ran(folder, &words, more);
    assert_eq!(status, 0, "{err}");
    let bodies = store.taken().into_iter();
    bodies
        .map(|request| String::from_utf8(request.body).unwrap())
        .collect()
}

#[test]
fn a_log_of_a_wrong_clock_is_pushed_as_one_of_a_right_clock() {
    let [right, wrong] = [EPOCH, EPOCH - OFF].map(|epoch| {
        let files = Files::new();
        put(&files, &written_at(epoch).bytes);
        files
    });
    let expected = pushed(right.path(), &[]);
    assert!(!expected.is_empty());
    let offset = ["--clock-offset", "b.log=+3s"];
    assert_eq!(pushed(wrong.path(), &offset), expected);
    assert!(pushed(wrong.path(), &[]) != expected);
}

#[test]
fn a_log_of_a_wrong_clock_is_browsed_as_one_of_a_right_clock() {
    let screen = |epoch, offset| {
        let files = Files::new();
        put(&files, &written_at(epoch).bytes);
        let line = format!("logdef browse{offset} a.log b.log");
        let terminal = Terminal::new(files, (100, 40), &line)?;
        Some(terminal.wait_at_rest("1/"))
    };
    let Some(expected) = screen(EPOCH, "") else {
        return;
    };
    assert!(expected.contains("08:00:22.000000"), "{expected}");
    assert_eq!(
        screen(EPOCH - OFF, " --clock-offset b.log=+3s"),
        Some(expected.clone())
    );
    assert!(screen(EPOCH - OFF, "") != Some(expected));
}
