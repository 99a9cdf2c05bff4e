//! Records as large as they can be, in files as small as they can be: each takes a file at
//! most, or is dropped and counted, and no record causes hundreds of files.

mod common;

use logdef::{Sink, logdef};
use std::path::Path;

/// The largest number in a file's name.
fn highest(directory: &Path) -> u32 {
    let entries = std::fs::read_dir(directory).unwrap();
    let numbers = entries.filter_map(|entry| {
        let path = entry.unwrap().path();
        path.extension()?.to_str()?.parse().ok()
    });
    numbers.max().unwrap()
}

#[test]
fn the_largest_records_fit_the_smallest_files() {
    let directory = tempfile::tempdir().unwrap();
    let options = logdef::options().sink(Sink::Mapped);
    let options = options.rotate(128 << 10).keep(2).max_string(60_000);
    options.open(directory.path().join("log")).unwrap();
    let text = "x".repeat(60_000);
    const CALLS: u32 = 40;
    for number in 0..CALLS {
        // Up to, and beyond, the most that a record can have.
        let rest = &text[..5_300 + number as usize * 10];
        logdef!(Warn, "%u %s %s", number, text, rest);
        assert_eq!(logdef::unwritten(), 0, "{number}");
    }
    assert!(highest(directory.path()) <= CALLS + 1);
    let (_, seen) = common::numbers(directory.path());
    assert!(seen.contains(&u64::from(CALLS - 1)));

    // Beside threads that take a part of each new file.
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                for number in 0..200u32 {
                    logdef!(Info, "%u %s", number, &text[..1000]);
                }
            });
        }
        scope.spawn(|| {
            for number in 0..40u32 {
                logdef!(Warn, "%u %s %s", number, text, &text[..5_400]);
            }
        });
    });
    let state = logdef::state();
    let files = highest(directory.path());
    println!("{files} files, {} dropped", state.dropped);
    assert!(files < 40 * 10 + 200, "{files} files");
}
