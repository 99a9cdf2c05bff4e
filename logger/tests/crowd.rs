//! Many threads that share the smallest files: a new one begins every few hundred
//! calls, and each time all threads want to be the one who makes it. No call is
//! dropped for that, and as many files stay as are to be kept.

use logdef::{Sink, logdef};
use std::path::{Path, PathBuf};

mod common;

const THREADS: u64 = 200;
const CALLS: u64 = 1000;

fn files(directory: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(directory).unwrap();
    let paths = entries.map(|entry| entry.unwrap().path());
    paths.filter(|path| !path.is_symlink()).collect()
}

fn log() {
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            scope.spawn(move || {
                for call in 0..CALLS {
                    logdef!(Info, "call %lu of thread %lu", call, thread);
                }
            });
        }
    });
}

#[test]
fn a_crowd_loses_no_call_and_keeps_as_many_files_as_it_should() {
    let options = || logdef::options().sink(Sink::Mapped).rotate(128 << 10);
    let all = tempfile::tempdir().unwrap();
    options().open(all.path().join("log")).unwrap();
    log();
    assert_eq!(logdef::unwritten(), 0);
    logdef::close();
    let mut seen = vec![0; THREADS as usize];
    for file in files(all.path()) {
        let bytes = std::fs::read(file).unwrap();
        common::records(&bytes, |record| {
            if let logdef_wire::Record::Data(data) = record {
                assert_eq!(data.dropped, None);
                let thread = data.args.unwrap().iter().nth(1).unwrap();
                seen[thread.as_uint().unwrap() as usize] += 1;
            }
        });
    }
    assert_eq!(seen, vec![CALLS; THREADS as usize]);

    let newest = tempfile::tempdir().unwrap();
    options().keep(8).open(newest.path().join("log")).unwrap();
    log();
    assert_eq!(files(newest.path()).len(), 8);
}
