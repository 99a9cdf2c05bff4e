//! A log that was closed keeps no descriptor and no mapping of its files, though threads that logged live on, nor
//! does asking for its state open one: the space of a file that is removed comes back.

mod common;

use logdef::{Options, Sink, logdef};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// What the process has open in the folder.
fn open_files(folder: &Path) -> BTreeSet<PathBuf> {
    let links = std::fs::read_dir("/proc/self/fd").unwrap();
    let open = links.filter_map(|link| link.unwrap().path().read_link().ok());
    open.filter(|path| path.starts_with(folder)).collect()
}

/// Files in the folder that the process maps.
fn mapped_files(folder: &Path) -> usize {
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    let folder = folder.to_str().unwrap();
    maps.lines().filter(|line| line.contains(folder)).count()
}

fn ways() -> [(&'static str, Options); 5] {
    let [mapped, appended] = [Sink::Mapped, Sink::Append].map(|sink| logdef::options().sink(sink));
    [
        ("appended", appended.clone()),
        ("appended, rotated", appended.rotate(16 << 10)),
        ("mapped", mapped.clone()),
        ("mapped, rotated", mapped.clone().rotate(64 << 10)),
        ("with a helper", mapped.rotate(64 << 10).helper()),
    ]
}

fn a_log_that_was_closed_has_no_open_file() {
    for (way, options) in ways() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        common::in_child(|| {
            for round in 0..3 {
                options.clone().open(&path).unwrap();
                let log = || {
                    for number in 0..5000 {
                        logdef!(Info, "%u of %u", number, round);
                    }
                };
                std::thread::scope(|threads| threads.spawn(log).join().unwrap());
                // This thread lives on.
                log();
                assert!(!open_files(folder.path()).is_empty(), "{way}");
                logdef::close();
                // The helper may be in the middle of something.
                common::until(way, || {
                    open_files(folder.path()).is_empty() && mapped_files(folder.path()) == 0
                });
                let state = logdef::state();
                assert!(!state.is_open);
                assert_eq!(open_files(folder.path()), BTreeSet::new(), "{way}, asked");
                logdef!(Info, "dropped");
                assert_eq!(open_files(folder.path()), BTreeSet::new(), "{way}, a call");
                assert_eq!(mapped_files(folder.path()), 0, "{way}, a call");
            }
        });
    }
}

/// Bytes of addresses that the process has.
fn addresses() -> usize {
    let pages = std::fs::read_to_string("/proc/self/statm").unwrap();
    let pages: usize = pages.split(' ').next().unwrap().parse().unwrap();
    pages * 4096
}

/// A program names its log after the hour.
fn logs_of_ever_other_names_take_no_memory() {
    // A helper that ends late has its stack beside that of the next one.
    let without_helper = ways()
        .into_iter()
        .filter(|(way, _)| *way != "with a helper");
    for (way, options) in without_helper {
        let folder = tempfile::tempdir().unwrap();
        common::in_child(|| {
            let log = |from: u32| {
                for number in from..from + 100 {
                    let path = folder.path().join(format!("log-{number:08}"));
                    options.clone().open(path).unwrap();
                    logdef!(Info, "%u", number);
                    logdef::close();
                }
            };
            log(0);
            let before = addresses();
            log(100);
            log(200);
            let more = addresses().saturating_sub(before);
            // A path has a page of its own.
            assert!(more < 100 * 4096, "{way}: {more} bytes more");
        });
    }
}

/// One test: a forked child that makes threads may wait for ever for a lock of the standard library which a thread of
/// another test has.
#[test]
fn a_closed_log_holds_nothing() {
    a_log_that_was_closed_has_no_open_file();
    logs_of_ever_other_names_take_no_memory();
}
