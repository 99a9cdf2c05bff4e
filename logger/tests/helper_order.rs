//! What a helper has made ready of a file is for threads that have not begun a later one.

mod common;

use logdef::{Sink, logdef};
use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// The helper is in the middle of a chunk, most likely, when the threads begin another file.
const ROUNDS: usize = 5;
const THREADS: u32 = 4;
const CALLS: u32 = 20_000;

fn log_in_threads(path: &Path) {
    let options = logdef::options().sink(Sink::Mapped).helper();
    options.rotate(4 << 20).open(path).unwrap();
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            scope.spawn(move || {
                for number in 0..CALLS {
                    logdef!(Info, "%u of %u", number, thread);
                }
            });
        }
    });
    logdef::close();
}

/// The numbered files of a directory, the oldest first.
fn files(directory: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(directory).unwrap();
    let paths = entries.map(|entry| entry.unwrap().path());
    let mut files: Vec<_> = paths.filter(|path| !path.is_symlink()).collect();
    files.sort();
    files
}

/// A thread took a chunk of the file before the one in which it had logged: `check` took the zeros
/// around its later records for damage, and rotation removed these before earlier ones.
#[test]
fn what_a_thread_logs_later_stands_in_no_earlier_file() {
    for round in 0..ROUNDS {
        let directory = tempfile::tempdir().unwrap();
        log_in_threads(&directory.path().join("log"));
        let (mut last, mut found) = (HashMap::new(), 0);
        for file in files(directory.path()) {
            let mut highest = last.clone();
            common::data(&std::fs::read(&file).unwrap(), |data| {
                let sequence = data.sequence.unwrap();
                let thread = (data.run, sequence.number().0);
                let before = last.get(&thread).copied();
                assert!(before < Some(sequence.0), "round {round}: {file:?}");
                let highest = highest.entry(thread).or_insert(sequence.0);
                *highest = sequence.0.max(*highest);
                found += 1;
            });
            last = highest;
        }
        assert_eq!(found, THREADS * CALLS, "round {round}");
    }
}
