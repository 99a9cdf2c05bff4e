//! The mapped log of one process, with threads, rotation and a forked child,
//! read back with the wire format's own decoder.

mod common;

use logdef::{Sink, logdef};
use logdef_wire::{Record, Run, frame};
use std::collections::{HashMap, HashSet};
use std::path::Path;

/// What a file of an undamaged log holds: by thread number, its counts.
#[derive(Debug, Default)]
struct Contents {
    runs: HashSet<Run>,
    counts: HashMap<(Run, u64), Vec<u64>>,
    /// Bytes between frames that are not zero.
    strays: usize,
}

/// Walks frames and zeros, and checks that every record finds in its chunk
/// what it refers to.
fn read(path: &Path, contents: &mut Contents) {
    let bytes = std::fs::read(path).unwrap();
    let mut at = 0;
    let mut strings = HashSet::new();
    let mut threads = HashSet::new();
    let mut chunk_end = 0;
    while at < bytes.len() {
        if bytes[at] == 0 {
            at += 1;
            continue;
        }
        let Ok(found) = frame::decode(&bytes[at..]) else {
            contents.strays += 1;
            at += 1;
            continue;
        };
        match common::record(found.body, &mut vec![0; found.body.len()]) {
            Record::Preamble(preamble) => {
                if let Some(size) = preamble.chunk {
                    assert!(at >= chunk_end, "a chunk begins inside another");
                    chunk_end = at + size as usize;
                    strings.clear();
                    threads.clear();
                }
                contents.runs.insert(preamble.run.unwrap());
            }
            Record::StringLogdef(logdef) => {
                strings.insert(logdef.address.unwrap());
            }
            Record::ThreadLogdef(logdef) => {
                threads.insert(logdef.number.unwrap());
            }
            Record::Data(data) => {
                assert!(at + found.len <= chunk_end, "a record leaves its chunk");
                assert!(strings.contains(&data.format.unwrap()), "format at {at:x}");
                assert!(strings.contains(&data.file.unwrap()), "file at {at:x}");
                let sequence = data.sequence.unwrap();
                assert!(threads.contains(&sequence.number()), "thread at {at:x}");
                let key = (data.run.unwrap(), sequence.number().0);
                contents
                    .counts
                    .entry(key)
                    .or_default()
                    .push(sequence.count());
            }
            _ => {}
        }
        at += found.len;
    }
}

fn log_some(tag: &str, calls: u32) {
    for call in 0..calls {
        logdef!(Info, "%s says %u: %f", tag, call, f64::from(call) / 3.0);
    }
}

#[test]
fn each_thread_and_the_child_leave_what_they_logged() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("log");
    logdef::options()
        .sink(Sink::Mapped)
        .rotate(4 << 20)
        .open(&path)
        .unwrap();
    const CALLS: u32 = 60_000;
    std::thread::scope(|scope| {
        for name in ["a", "b", "c"] {
            scope.spawn(move || log_some(name, CALLS));
        }
    });
    // SAFETY: the child only logs and leaves.
    let child = unsafe { libc::fork() };
    if child == 0 {
        log_some("child", 100);
        // SAFETY: leaves at once.
        unsafe { libc::_exit(0) };
    }
    let mut status = 0;
    // SAFETY: waits for the child just made.
    unsafe { libc::waitpid(child, &mut status, 0) };
    assert_eq!(status, 0);
    log_some("parent", 100);
    logdef::sync().unwrap();

    let mut contents = Contents::default();
    let mut files = 0;
    for entry in std::fs::read_dir(directory.path()).unwrap() {
        let path = entry.unwrap().path();
        if !path.is_symlink() {
            read(&path, &mut contents);
            files += 1;
        }
    }
    assert_eq!(contents.strays, 0);
    assert_eq!(contents.runs.len(), 2, "the child is a run of its own");
    assert!(files > 3, "{files} files");
    let mut lengths: Vec<_> = contents.counts.values().map(Vec::len).collect();
    lengths.sort();
    assert_eq!(lengths, [100, 100, 60_000, 60_000, 60_000]);
    for counts in contents.counts.values_mut() {
        counts.sort();
        assert!(counts.iter().copied().eq(0..counts.len() as u64));
    }
}
