//! `sync` while other threads append to a rotated log: it took the file that had just become the one
//! which is written to for one that is not any more, and closed it. Calls were dropped, and their bytes
//! could have gone to another file that had got the number of the descriptor.

mod common;

use logdef::{Sink, logdef};
use logdef_wire::record::Record;
use std::sync::atomic::{AtomicU32, Ordering};

const THREADS: u32 = 4;
const RECORDS: u32 = 10_000;

static AT_WORK: AtomicU32 = AtomicU32::new(THREADS);

#[test]
fn a_sync_closes_no_file_that_is_written_to() {
    let directory = tempfile::tempdir().unwrap();
    let options = logdef::options().sink(Sink::Append);
    let options = options.rotate(16 << 10).keep(8);
    options.open(directory.path().join("log")).unwrap();
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            scope.spawn(move || {
                for number in 0..RECORDS {
                    logdef!(Info, "thread %u record %u", thread, number);
                }
                AT_WORK.fetch_sub(1, Ordering::Relaxed);
            });
        }
        for _ in 0..2 {
            scope.spawn(|| {
                while AT_WORK.load(Ordering::Relaxed) > 0 {
                    logdef::sync().unwrap();
                }
            });
        }
    });
    assert_eq!(logdef::state().dropped, 0);
    // A `sync` that fills a file with its own note begins another, and leaves the full one to the next.
    let mut path = logdef::state().path;
    loop {
        logdef::sync().unwrap();
        let newest = logdef::state().path;
        if std::mem::replace(&mut path, newest) == path {
            break;
        }
    }
    let open = std::fs::read_dir("/proc/self/fd").unwrap();
    let open = open.filter_map(|entry| entry.unwrap().path().read_link().ok());
    let open: Vec<_> = open
        .filter(|path| path.starts_with(directory.path()))
        .collect();
    assert_eq!(open.len(), 1, "left open: {open:?}");
    logdef::close();
    // A note of a `sync` began some files. Such a one was no log to what reads its front: neither to the next
    // opening, which is to remove it, nor to the bound of a folder.
    for entry in std::fs::read_dir(directory.path()).unwrap() {
        let path = entry.unwrap().path();
        let mut first = None;
        common::records(&std::fs::read(&path).unwrap(), |record| {
            first.get_or_insert(matches!(record, Record::Preamble(_)));
        });
        assert_eq!(first, Some(true), "{path:?}");
    }
}
