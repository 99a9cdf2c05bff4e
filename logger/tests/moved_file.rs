//! Files that the log no longer keeps give their space back, and lose what they hold. Not those that
//! another program keeps: under a name of its own, or as the log before this one.

use common::in_child;
use logdef::{Options, Sink, logdef};
use std::path::Path;
use std::sync::mpsc::channel;

mod common;

fn log(records: u32) {
    for number in 0..records {
        logdef!(Info, "number %u", number);
    }
}

/// Keeps the first file of a rotated log, by `keeps`, which is handed its path and another one.
fn a_file_that_is_kept(options: Options, keeps: fn(&Path, &Path) -> std::io::Result<()>) {
    let directory = tempfile::tempdir().unwrap();
    let [path, first, second, kept] =
        ["log", "log.000001", "log.000002", "kept"].map(|name| directory.path().join(name));
    in_child(|| {
        let options = options.rotate(256 << 10).keep(2);
        options.open(&path).unwrap();
        while !second.exists() {
            log(100);
        }
        keeps(&first, &kept).unwrap();
        let before = std::fs::read(&kept).unwrap();
        assert!(before.len() > 200 << 10);
        log(30_000);
        logdef::close();
        let now = std::fs::read(&kept).unwrap();
        assert!(now == before, "the file was cleared");
    });
    // The link, two files, and the one that was kept.
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 4);
}

/// A thread comes back to log after the log was closed and another one has removed files: the
/// memory that it leaves is of the log before.
fn a_log_that_was_closed() {
    let directory = tempfile::tempdir().unwrap();
    let [closed, path] = ["closed", "log"].map(|name| directory.path().join(name));
    in_child(|| {
        logdef::options().sink(Sink::Mapped).open(&closed).unwrap();
        let ((logged, has_logged), (go, wait)) = (channel(), channel());
        std::thread::scope(|scope| {
            scope.spawn(move || {
                log(500);
                logged.send(()).unwrap();
                wait.recv().unwrap();
                log(1);
            });
            has_logged.recv().unwrap();
            logdef::close();
            let before = std::fs::read(&closed).unwrap();
            let options = logdef::options().sink(Sink::Mapped);
            options.rotate(256 << 10).keep(2).open(&path).unwrap();
            log(30_000);
            go.send(()).unwrap();
            log(1_000);
            assert!(std::fs::read(&closed).unwrap() == before);
        });
        assert_eq!(common::whole_records(&std::fs::read(&closed).unwrap()), 500);
    });
}

#[test]
fn what_another_program_keeps_is_not_cleared() {
    let mapped = || logdef::options().sink(Sink::Mapped);
    let all = [
        mapped(),
        mapped().helper(),
        logdef::options().sink(Sink::Append),
    ];
    for options in all {
        a_file_that_is_kept(options.clone(), |from, to| std::fs::hard_link(from, to));
        a_file_that_is_kept(options, |from, to| std::fs::rename(from, to));
    }
    a_log_that_was_closed();
}
