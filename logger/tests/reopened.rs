//! A log that is opened again, many times, in a forked child, and where its path cannot lead to the new file:
//! no record is lost without being counted, and nothing of the files before is held.

use common::in_child;
use logdef::{Options, Sink, logdef};
use std::collections::HashSet;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

mod common;
#[path = "common/seccomp.rs"]
mod seccomp;

fn log(numbers: std::ops::Range<u64>) {
    for number in numbers {
        logdef!(Info, "number %llu", number);
    }
}

fn rotated(size: u64) -> Options {
    logdef::options().sink(Sink::Mapped).rotate(size)
}

/// How many descriptors the process has, and how many bytes the files take of the disk that only
/// descriptors lead to.
fn held() -> (usize, u64) {
    let descriptors = std::fs::read_dir("/proc/self/fd").unwrap();
    let files: Vec<_> = descriptors
        .map(|entry| std::fs::metadata(entry.unwrap().path()))
        .collect();
    let removed = files.iter().flatten();
    let removed = removed.filter(|file| file.is_file() && file.nlink() == 0);
    (files.len(), removed.map(|file| file.blocks() * 512).sum())
}

/// Each file that was reopened kept its slot, of which there are 128, its descriptor and its space.
fn many_times() {
    let directory = tempfile::tempdir().unwrap();
    in_child(|| {
        let options = rotated(1 << 20).keep(2);
        options.open(directory.path().join("log")).unwrap();
        for round in 0..300 {
            log(round * 1000..round * 1000 + 1000);
            logdef::reopen().unwrap();
        }
        log(300_000..310_000);
        assert_eq!(logdef::state().dropped, 0);
        let (descriptors, bytes) = held();
        assert!(descriptors < 20, "{descriptors} descriptors");
        assert!(bytes < 1 << 20, "{bytes} bytes of removed files");
    });
    assert_eq!(notes(directory.path()), HashSet::new());
}

/// Threads fill files, and each opens the log again after a number of records.
fn fill_and_reopen(options: Options, directory: &Path, threads: u32, after: u32) {
    in_child(|| {
        options.open(directory.join("log")).unwrap();
        let text = "x".repeat(16_000);
        std::thread::scope(|scope| {
            for _ in 0..threads {
                scope.spawn(|| {
                    for number in 0..500 {
                        logdef!(Info, "%u %s", number, &text);
                        if number % after == 0 {
                            logdef::reopen().unwrap();
                        }
                    }
                });
            }
        });
        assert_eq!(logdef::state().dropped, 0);
    });
    assert_eq!(notes(directory), HashSet::new());
}

/// A note said that the log was not opened again, for an error, where another thread had begun the next file.
fn while_threads_fill_its_files() {
    let directory = tempfile::tempdir().unwrap();
    fill_and_reopen(rotated(128 << 10), directory.path(), 3, 3);
}

/// Threads that another one overtook left their files, for good and without a record.
fn while_threads_overtake_each_other() {
    let directory = tempfile::tempdir().unwrap();
    fill_and_reopen(rotated(64 << 10).keep(4), directory.path(), 4, 2);
    let entries = std::fs::read_dir(directory.path()).unwrap();
    let files: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    assert!(files.len() <= 1 + 4, "{files:?}");
}

/// The threads stayed in a file that was removed.
fn where_no_link_can_be_set() {
    let directory = tempfile::tempdir().unwrap();
    in_child(|| {
        let options = rotated(1 << 20).keep(1);
        options.open(directory.path().join("log")).unwrap();
        log(0..1);
        deny_links();
        logdef::reopen().unwrap();
        // The first writes its record to the file before, which is removed then.
        log(1..1000);
        assert_eq!(logdef::state().dropped, 0);
    });
    let (numbers, _) = common::numbers(directory.path());
    assert_eq!(numbers, (2..1000).collect());
    let told = "the path leads to an older file: disk quota exceeded (errno 122)";
    assert_eq!(notes(directory.path()), HashSet::from([told.into()]));
}

/// What a child was asked before its first record was forgotten when it became a run of its own.
fn by_a_child_that_has_not_logged() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("log");
    let moved = directory.path().join("moved");
    in_child(|| {
        logdef::options().sink(Sink::Mapped).open(&path).unwrap();
        log(0..1);
        in_child(|| {
            std::fs::rename(&path, &moved).unwrap();
            logdef::reopen().unwrap();
            log(1..100);
        });
    });
    let mut found = HashSet::new();
    common::data(&std::fs::read(&path).unwrap(), |data| {
        let number = data.args.unwrap().iter().next().unwrap();
        found.insert(number.as_uint().unwrap());
    });
    assert_eq!(found, (2..100).collect());
}

fn deny_links() {
    #[cfg(target_arch = "x86_64")]
    seccomp::fail(&[libc::SYS_symlink], libc::EDQUOT);
    seccomp::fail(&[libc::SYS_symlinkat], libc::EDQUOT);
}

/// The texts of the notes in a log's files.
fn notes(directory: &Path) -> HashSet<String> {
    let mut notes = HashSet::new();
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_symlink() {
            continue;
        }
        common::records(&std::fs::read(path).unwrap(), |record| {
            if let logdef_wire::Record::Note(note) = record {
                let text = note.text.unwrap_or_default();
                notes.insert(String::from_utf8_lossy(text).into_owned());
            }
        });
    }
    notes
}

#[test]
fn a_log_that_is_opened_again_loses_nothing_and_holds_nothing() {
    many_times();
    by_a_child_that_has_not_logged();
    while_threads_fill_its_files();
    while_threads_overtake_each_other();
    if seccomp::is_here() {
        where_no_link_can_be_set();
    }
}
