//! A disk that is full but for what a helper has made ready.

mod common;
#[path = "common/tmpfs.rs"]
mod tmpfs;

use logdef::{Sink, logdef};

/// How long the log is when one chunk is ready, and the helper is at another.
const READY: u64 = 12 << 20;

/// Threads want small chunks first. There was no room for one, though the helper held megabytes of
/// the disk: their calls were dropped.
#[test]
fn threads_take_what_is_ready_where_a_disk_is_full() {
    let directory = tempfile::tempdir().unwrap();
    let Some(disk) = tmpfs::mount(directory.path(), 40) else {
        return;
    };
    let log = disk.join("log");
    let options = logdef::options().sink(Sink::Mapped).helper();
    options.open(&log).unwrap();
    logdef!(Info, "first");
    common::until("nothing is ready", || {
        std::fs::metadata(&log).unwrap().len() >= READY
    });
    tmpfs::fill(&disk);
    for thread in 0..3 {
        std::thread::spawn(move || logdef!(Info, "thread %d", thread))
            .join()
            .unwrap();
        assert_eq!(logdef::unwritten(), 0, "{thread}");
    }
    let mut found = 0;
    common::data(&std::fs::read(&log).unwrap(), |_| found += 1);
    assert_eq!(found, 4);
    logdef::close();
}
