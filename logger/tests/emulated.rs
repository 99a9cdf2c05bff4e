//! A kernel that says it wipes memory on fork and does not, as qemu's emulation of programs of
//! another processor does: a forked child is a run of its own all the same.

use common::in_child;
use logdef::{Sink, logdef};
use logdef_wire::Record;
use std::collections::{BTreeMap, BTreeSet};

mod common;
#[path = "common/seccomp.rs"]
mod seccomp;

fn log_some(first: u32) {
    for number in first..first + 1000 {
        logdef!(Info, "number %u", number);
    }
}

#[test]
fn a_forked_child_is_a_run_of_its_own_where_nothing_is_wiped() {
    // Says 0 and does nothing. An emulator has no filters, and needs none for that.
    if seccomp::is_here() {
        seccomp::fail(&[libc::SYS_madvise], 0);
    }
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("log");
    logdef::options().sink(Sink::Mapped).open(&path).unwrap();
    log_some(0);
    in_child(|| {
        log_some(1000);
        in_child(|| log_some(2000));
        // Its parent never logged.
        in_child(|| in_child(|| log_some(3000)));
        log_some(4000);
    });
    log_some(5000);
    logdef::close();

    let mut numbers = BTreeSet::new();
    let mut runs = BTreeMap::<_, BTreeSet<_>>::new();
    let mut smallest = BTreeMap::new();
    for entry in std::fs::read_dir(directory.path()).unwrap() {
        let path = entry.unwrap().path();
        if path.is_symlink() {
            continue;
        }
        common::records(&std::fs::read(path).unwrap(), |record| match record {
            Record::Data(data) => {
                let number = data.args.unwrap().iter().next().unwrap().as_uint().unwrap();
                assert!(numbers.insert(number), "{number} twice");
                let run = runs.entry(data.run.unwrap()).or_default();
                assert!(run.insert(data.sequence.unwrap()), "a sequence twice");
            }
            Record::Preamble(preamble) => {
                let chunk = preamble.chunk.unwrap();
                let smallest = smallest.entry(preamble.run.unwrap()).or_insert(chunk);
                *smallest = chunk.min(*smallest);
            }
            _ => {}
        });
    }
    let missing: Vec<_> = (0..6000)
        .filter(|number| !numbers.contains(number))
        .take(9)
        .collect();
    assert_eq!(missing, [], "the first that are missing");
    assert_eq!(runs.len(), 4);
    // A child that logs little takes little of the disk, whatever its parent logged.
    let begins_small = smallest.values().all(|size| *size <= 16 << 10);
    assert!(begins_small, "bytes of the smallest chunks: {smallest:?}");
}
