//! A program that closes all its descriptors, as daemons do, and then opens others
//! under the same numbers: nothing of the log is lost, and nothing of it gets into
//! the others. What is full is not mapped any more.

use logdef::{Sink, logdef};
use std::collections::HashSet;
use std::fs::File;
use std::path::Path;

mod common;

const CALLS: u64 = 20_000;

fn numbers(path: &Path) -> HashSet<u64> {
    let mut numbers = HashSet::new();
    common::data(&std::fs::read(path).unwrap(), |data| {
        assert_eq!(data.dropped, None);
        let number = data.args.unwrap().iter().next().unwrap();
        assert!(numbers.insert(number.as_uint().unwrap()));
    });
    numbers
}

/// Files that take the lowest free numbers.
fn strangers(directory: &Path) -> Vec<File> {
    let create = |n| File::create(directory.join(format!("stranger{n}"))).unwrap();
    (0..8).map(create).collect()
}

#[test]
fn closed_descriptors_cost_nothing_and_their_numbers_are_left_alone() {
    for sink in [Sink::Mapped, Sink::Append] {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("log");
        logdef::options().sink(sink).open(&path).unwrap();
        logdef!(Info, "%u", 0);
        // SAFETY: no code of this process, which has one test, holds any of them.
        let done = unsafe { libc::syscall(libc::SYS_close_range, 3, libc::c_uint::MAX, 0) };
        assert_eq!(done, 0);
        let strangers = strangers(directory.path());
        for call in 1..CALLS {
            logdef!(Info, "%u", call);
        }
        logdef::sync().unwrap();
        for (n, stranger) in strangers.iter().enumerate() {
            let len = stranger.metadata().unwrap().len();
            assert_eq!(len, 0, "{sink:?}: stranger {n}");
        }
        assert!(numbers(&path).into_iter().all(|number| number < CALLS));
        assert_eq!(numbers(&path).len() as u64, CALLS);
        if sink == Sink::Mapped {
            let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
            let of_log: Vec<_> = maps
                .lines()
                .filter(|line| line.ends_with(path.to_str().unwrap()))
                .map(|line| line.split(' ').nth(1).unwrap())
                .collect();
            // The window of one thread, and the start of the file.
            assert_eq!(of_log, ["rw-s", "rw-s"], "{maps}");
        }
        logdef::close();
    }
}
