//! An appended log whose file another program copies and cuts, as logrotate's `copytruncate` does: what
//! the rest of its records refer to stands in the rest.

use logdef::{Sink, logdef};
use logdef_wire::Record;
use std::collections::HashSet;
use std::path::Path;
use std::sync::mpsc::channel;

mod common;

/// Numbers of records in a file. What each refers to is there: its format, the name of its source file, the
/// preamble of its run, and its thread.
fn numbers_with_all_they_refer_to(path: &Path) -> Vec<u64> {
    let bytes = std::fs::read(path).unwrap();
    let (mut strings, mut runs, mut threads) = (HashSet::new(), HashSet::new(), HashSet::new());
    let mut records = Vec::new();
    common::records(&bytes, |record| match record {
        Record::StringLogdef(string) => _ = strings.insert(string.address.unwrap()),
        Record::Preamble(preamble) => _ = runs.insert(preamble.run.unwrap()),
        Record::ThreadLogdef(thread) => {
            _ = threads.insert((thread.run.unwrap(), thread.number.unwrap()))
        }
        Record::Data(data) => {
            let number = data.args.unwrap().iter().next().unwrap().as_uint().unwrap();
            let sequence = data.sequence.unwrap();
            let refers = (data.format.unwrap(), data.file.unwrap());
            records.push((number, data.run.unwrap(), sequence.number(), refers));
        }
        _ => {}
    });
    for (number, run, thread, (format, file)) in &records {
        assert!(strings.contains(format), "format of {number}");
        assert!(strings.contains(file), "file of {number}");
        assert!(runs.contains(run), "run of {number}");
        assert!(threads.contains(&(*run, *thread)), "thread of {number}");
    }
    records.iter().map(|(number, ..)| *number).collect()
}

fn log(number: u32) {
    logdef!(Info, "record %u", number);
}

#[test]
fn what_records_refer_to_is_written_again_after_a_cut() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("log");
    let copy = directory.path().join("log.1");
    logdef::options().sink(Sink::Append).open(&path).unwrap();
    let (go, wait) = channel::<u32>();
    let (logged, has_logged) = channel::<()>();
    let other = std::thread::spawn(move || {
        for number in wait {
            log(number);
            logged.send(()).unwrap();
        }
    });
    let log_in_other = |number| {
        go.send(number).unwrap();
        has_logged.recv().unwrap();
    };
    let copy_and_cut = || {
        std::fs::copy(&path, &copy).unwrap();
        let file = std::fs::File::options().write(true).open(&path).unwrap();
        file.set_len(0).unwrap();
    };
    log(1);
    log_in_other(2);
    copy_and_cut();
    assert_eq!(numbers_with_all_they_refer_to(&copy), [1, 2]);
    // Each of them had all that it refers to in what was cut off.
    log(3);
    log_in_other(4);
    log(5);
    assert_eq!(numbers_with_all_they_refer_to(&path), [3, 4, 5]);
    copy_and_cut();
    log_in_other(6);
    log(7);
    drop(go);
    other.join().unwrap();
    logdef::close();
    assert_eq!(numbers_with_all_they_refer_to(&path), [6, 7]);
}
