//! The sink that appends, in families of processes: forked children, children of theirs, and
//! those that gave up their rights write to the log that they inherited, rotated or not.

mod common;

use logdef::{Options, Sink, logdef};
use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// How often each number was logged, how many records of others each record counts as lost,
/// and the number of files.
fn read(directory: &Path) -> (BTreeMap<u64, u32>, u64, usize) {
    let (mut numbers, mut dropped, mut files) = (BTreeMap::new(), 0, 0);
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_symlink() {
            continue;
        }
        files += 1;
        common::data(&std::fs::read(&path).unwrap(), |data| {
            let number = data.args.unwrap().iter().next().unwrap();
            *numbers.entry(number.as_uint().unwrap()).or_default() += 1;
            dropped += data.dropped.unwrap_or(0);
        });
    }
    (numbers, dropped, files)
}

fn log(numbers: std::ops::Range<u64>) {
    let text = "x".repeat(1000);
    for number in numbers {
        logdef!(Info, "%llu %s", number, text);
    }
}

fn once(numbers: std::ops::Range<u64>) -> BTreeMap<u64, u32> {
    numbers.map(|number| (number, 1)).collect()
}

fn generation(nth: u64, last: u64) {
    log(nth * 100..nth * 100 + 100);
    if nth < last {
        common::in_child(|| generation(nth + 1, last));
    }
}

/// Runs `work` in a child and hands it an empty directory, which belongs to the caller alone.
fn in_directory(options: Options, work: impl Fn(&Path)) -> (BTreeMap<u64, u32>, u64, usize) {
    let directory = tempfile::tempdir().unwrap();
    common::in_child(|| {
        options.open(directory.path().join("log")).unwrap();
        work(directory.path());
        logdef::close();
    });
    read(directory.path())
}

#[test]
fn children_append_to_the_log_of_their_parent() {
    let options = || logdef::options().sink(Sink::Append);
    let generations = |_: &Path| generation(0, 29);
    let (numbers, dropped, files) = in_directory(options(), generations);
    assert_eq!((numbers, dropped, files), (once(0..3_000), 0, 1));
    // 3 MB in files of 256 KiB, and one more file for each process that found one full.
    let rotated = |directory: &Path| {
        generations(directory);
        for entry in std::fs::read_dir(directory).unwrap() {
            let size = entry.unwrap().metadata().unwrap().len();
            assert!(size <= 256 << 10, "{size} bytes");
        }
    };
    let (numbers, dropped, files) = in_directory(options().rotate(256 << 10), rotated);
    assert_eq!((numbers, dropped), (once(0..3_000), 0));
    assert!((10..=30).contains(&files), "{files} files");

    // Several at a time.
    let at_once = |_: &Path| {
        std::thread::scope(|scope| {
            for child in 0..8 {
                scope.spawn(move || {
                    common::in_child(|| log(child * 1_000..child * 1_000 + 300));
                });
            }
        });
    };
    let (numbers, dropped, _) = in_directory(options().rotate(256 << 10), at_once);
    assert_eq!(dropped, 0);
    assert_eq!(numbers.values().sum::<u32>(), 8 * 300);
    assert!(numbers.values().all(|times| *times == 1));

    // However many there are, the family keeps what one process would.
    let crowd = |directory: &Path| {
        let children: Vec<_> = (0..20u64)
            .map(|child| {
                // SAFETY: the child logs and leaves.
                let pid = unsafe { libc::fork() };
                if pid == 0 {
                    log(child * 1_000..child * 1_000 + 500);
                    // SAFETY: leaves without running what the parent will run.
                    unsafe { libc::_exit(i32::from(logdef::state().dropped > 0)) };
                }
                pid
            })
            .collect();
        log(20_000..20_500);
        for child in children {
            let mut status = 0;
            // SAFETY: waits for a child of this process.
            assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
            assert_eq!(status, 0, "dropped");
        }
        // The parent follows to the newest file.
        log(30_000..30_001);
        assert_eq!(logdef::state().dropped, 0);
        let newest = std::fs::read(directory.join("log")).unwrap();
        let mut last = 0;
        common::data(&newest, |data| {
            let number = data.args.unwrap().iter().next().unwrap();
            last = number.as_uint().unwrap();
        });
        assert_eq!(last, 30_000);
    };
    let (numbers, dropped, files) = in_directory(options().rotate(256 << 10).keep(3), crowd);
    assert_eq!((dropped, files), (0, 3));
    assert!(numbers.len() > 400, "{}", numbers.len());

    // A child that does not log has what was removed open, and holds no space of it.
    let idle = |_: &Path| {
        log(0..100);
        common::in_child(|| {
            common::in_child(|| log(100..2_000));
            let deleted: Vec<_> = std::fs::read_dir("/proc/self/fd")
                .unwrap()
                .map(|entry| entry.unwrap().path())
                .filter(|path| std::fs::metadata(path).is_ok_and(|found| found.nlink() == 0))
                .filter(|path| {
                    std::fs::read_link(path)
                        .unwrap()
                        .to_string_lossy()
                        .contains("/log.")
                })
                .collect();
            let [open] = &deleted[..] else {
                panic!("{deleted:?}");
            };
            assert_eq!(std::fs::metadata(open).unwrap().blocks(), 0);
            log(2_000..2_001);
        });
    };
    let (numbers, dropped, files) = in_directory(options().rotate(256 << 10).keep(3), idle);
    assert_eq!((dropped, files), (0, 3));
    assert!(numbers.contains_key(&2_000));

    // SAFETY: has no preconditions.
    if unsafe { libc::geteuid() } != 0 {
        return;
    }
    // A child that may not create files stays in the one that it has.
    let without_rights = |_: &Path| {
        log(0..100);
        common::in_child(|| {
            // SAFETY: gives up rights, in a child that only logs.
            assert_eq!(unsafe { libc::setuid(65_534) }, 0);
            log(100..1_000);
            assert_eq!(logdef::state().dropped, 0);
        });
        log(1_000..1_100);
    };
    for rotated in [options(), options().rotate(256 << 10)] {
        let (numbers, dropped, _) = in_directory(rotated, without_rights);
        assert_eq!((numbers, dropped), (once(0..1_100), 0));
    }
    // Where the bytes are bounded it may not: it counts, and says what it could not write.
    let bounded = |_: &Path| {
        log(0..100);
        common::in_child(|| {
            // SAFETY: gives up rights, in a child that only logs.
            assert_eq!(unsafe { libc::setuid(65_534) }, 0);
            log(100..1_000);
            let state = logdef::state();
            assert!(state.dropped > 500, "{state:?}");
            assert_eq!(state.errno, Some(libc::EACCES));
        });
    };
    let (numbers, ..) = in_directory(options().rotate(256 << 10).keep(3), bounded);
    assert!(numbers.len() < 300, "{}", numbers.len());
}
