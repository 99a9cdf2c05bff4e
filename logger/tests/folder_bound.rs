//! A bound on the bytes of a folder in which many logs stay, since processes write to them: all others go, the
//! oldest first, until the bound holds.

use common::in_child;
use logdef::{Sink, logdef};
use std::fs::File;
use std::os::fd::AsRawFd;
use std::path::Path;

mod common;

/// More than one look at the folder finds.
const LOGS: usize = 300;

/// A log of one block, whose process ended.
fn a_log(path: &Path) {
    in_child(|| {
        logdef::options().sink(Sink::Append).open(path).unwrap();
        logdef!(Info, "%s", "x".repeat(2000));
    });
}

/// Of the oldest logs the first `used` are in use. How many are left after one was opened.
fn left_of_them(used: usize) -> usize {
    let directory = tempfile::tempdir().unwrap();
    let first = tempfile::tempdir().unwrap().keep().join("first");
    a_log(&first);
    let mut held = Vec::new();
    for number in 0..LOGS {
        let path = directory.path().join(format!("other{number}"));
        std::fs::copy(&first, &path).unwrap();
        let file = File::open(&path).unwrap();
        let written =
            std::time::SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(number as u64 + 1);
        File::options()
            .write(true)
            .open(&path)
            .unwrap()
            .set_modified(written)
            .unwrap();
        if number < used {
            // SAFETY: takes numbers.
            assert_eq!(unsafe { libc::flock(file.as_raw_fd(), libc::LOCK_SH) }, 0);
            held.push(file);
        }
    }
    in_child(|| {
        let options = logdef::options().sink(Sink::Append).folder_bytes(40 << 10);
        options
            .rotate(1 << 20)
            .open(directory.path().join("log"))
            .unwrap();
    });
    std::fs::remove_dir_all(first.parent().unwrap()).unwrap();
    let entries = std::fs::read_dir(directory.path()).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.filter(|name| name.starts_with("other")).count()
}

/// The oldest 64 were looked at; once one of them stayed, no others were.
#[test]
fn logs_that_stay_keep_no_other_from_being_removed() {
    let block = 4096;
    let fit = (40 << 10) / block;
    assert!(left_of_them(0) <= fit);
    assert!(left_of_them(1) <= fit);
    assert_eq!(left_of_them(100), 100);
}

/// A file that another process had begun, which has ended, was removed from under one that added to it.
#[test]
fn a_log_that_a_living_process_adds_to_stays() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("service");
    a_log(&path);
    in_child(|| {
        logdef::options().sink(Sink::Append).open(&path).unwrap();
        logdef!(Info, "%s", "y".repeat(2000));
        in_child(|| {
            logdef::close();
            let options = logdef::options().sink(Sink::Append).rotate(1 << 20);
            let other = directory.path().join("other");
            options.folder_bytes(4 << 10).open(other).unwrap();
            logdef!(Info, "%s", "z".repeat(9000));
        });
        assert!(path.exists());
    });
}
