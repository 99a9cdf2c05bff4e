//! What the log takes of addresses and of the disk: a few windows, and what is kept.

use logdef::{Sink, logdef};
use std::collections::HashSet;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

mod common;
#[path = "common/tmpfs.rs"]
mod tmpfs;

/// Bytes in use on the file system that holds a directory.
fn used(directory: &Path) -> u64 {
    use std::os::unix::ffi::OsStrExt;
    let path = std::ffi::CString::new(directory.as_os_str().as_bytes()).unwrap();
    // SAFETY: a C string and a struct to be filled.
    let stat = unsafe {
        let mut stat: libc::statvfs = std::mem::zeroed();
        assert_eq!(libc::statvfs(path.as_ptr(), &raw mut stat), 0);
        stat
    };
    (stat.f_blocks - stat.f_bfree) * stat.f_frsize
}

/// Mappings of the process that lead to files of a directory.
fn mappings(directory: &Path) -> usize {
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    let directory = directory.to_str().unwrap();
    maps.lines().filter(|line| line.contains(directory)).count()
}

/// Bytes of addresses that the process has.
fn addresses() -> u64 {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap();
    let pages: u64 = statm.split(' ').next().unwrap().parse().unwrap();
    pages * 4096
}

/// Lets the process have no more addresses than this.
fn limit_addresses(bytes: u64) {
    // SAFETY: valid structs.
    unsafe {
        let mut limit: libc::rlimit = std::mem::zeroed();
        libc::getrlimit(libc::RLIMIT_AS, &raw mut limit);
        limit.rlim_cur = bytes;
        assert_eq!(libc::setrlimit(libc::RLIMIT_AS, &raw const limit), 0);
    }
}

/// A log that was closed leaves nothing mapped.
fn opens_for_nothing(sink: Sink, path: impl Fn(u32) -> PathBuf) {
    let open_and_close = |time| {
        logdef::options().sink(sink).open(path(time)).unwrap();
        logdef!(Info, "opened");
        logdef::close();
        std::fs::remove_file(path(time)).unwrap();
    };
    (0..20).for_each(open_and_close);
    let before = addresses();
    (20..320).for_each(open_and_close);
    let more = addresses().saturating_sub(before);
    assert!(more < 300 * 4096 / 4, "{more} bytes of addresses");
}

/// How often the file is removed under the log: it once had places for 767 that were.
const REMOVALS: usize = 800;

/// Logs until the log has a file: until the thread has filled the chunk of the one that was removed. Its chunks
/// grow to 2 MiB.
fn log_until_there(path: &Path, text: &str) {
    const MOST: u32 = 400;
    let is_there = (0..MOST).any(|call| {
        logdef!(Info, "%u %s", call, text);
        assert_eq!(logdef::unwritten(), 0, "no file after {call} calls");
        path.exists()
    });
    assert!(is_there, "no file after {MOST} calls");
}

/// Removes the log's file, by all its names, as another program does; returns how many files that were.
fn remove_file_of(path: &Path, text: &str) -> usize {
    log_until_there(path, text);
    let removed = std::fs::read_dir(path.parent().unwrap())
        .unwrap()
        .map(|entry| {
            let path = entry.unwrap().path();
            let file = std::fs::metadata(&path).map(|file| file.ino());
            std::fs::remove_file(path).unwrap();
            file.ok()
        });
    removed.flatten().collect::<HashSet<_>>().len()
}

#[test]
fn a_log_takes_a_few_windows_and_what_it_keeps_of_the_disk() {
    let all = tempfile::tempdir().unwrap();
    let before = addresses();
    let path = all.path().join("log");
    let options = || logdef::options().sink(Sink::Mapped);

    // It opens, time and again, under other names too, and continues when its file is removed,
    // time and again.
    let same = |_: u32| path.clone();
    let other = |time: u32| all.path().join(format!("log-{time}"));
    opens_for_nothing(Sink::Mapped, same);
    opens_for_nothing(Sink::Mapped, other);
    opens_for_nothing(Sink::Append, same);
    options().open(&path).unwrap();
    let text = "x".repeat(16 << 10);
    let removed: usize = (0..REMOVALS).map(|_| remove_file_of(&path, &text)).sum();
    assert_eq!(removed, REMOVALS);
    log_until_there(&path, &text);
    for call in 0..300 {
        logdef!(Info, "%u %s", call, text);
    }
    assert_eq!(logdef::state().dropped, 0);
    assert!(std::fs::read_dir(all.path()).unwrap().count() > 0);
    logdef::close();
    let grown = addresses() - before;
    assert!(grown < 64 << 20, "{grown} bytes of addresses");

    // What is removed gives its space back, though a thread stays in the first file.
    let directory = tmpfs::mount(all.path(), 200).unwrap_or_else(|| all.path().join("disk"));
    std::fs::create_dir_all(&directory).unwrap();
    let (go, wait) = std::sync::mpsc::channel::<()>();
    let before = used(&directory);
    let log = directory.join("log");
    options().rotate(1 << 20).keep(4).open(&log).unwrap();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            logdef!(Info, "idle");
            wait.recv().unwrap();
        });
        for call in 0..12_800u32 {
            logdef!(Info, "%u %s", call, text);
        }
        let taken = used(&directory).saturating_sub(before);
        if directory.ends_with("small") {
            assert!(taken <= 5 << 20, "{taken} bytes of the disk");
        }
        let mapped = mappings(&directory);
        assert!(mapped <= 3, "{mapped} mappings");
        go.send(()).unwrap();
    });
    assert_eq!(logdef::unwritten(), 0);
    logdef::close();

    // A flight recorder too, which was given more than the disk has.
    for entry in std::fs::read_dir(&directory).unwrap() {
        std::fs::remove_file(entry.unwrap().path()).unwrap();
    }
    let before = used(&directory);
    options().flight_recorder(16 << 20).open(&log).unwrap();
    for call in 0..20_000u32 {
        logdef!(Info, "%u %s", call, text);
        if call % 1_000 == 999 && directory.ends_with("small") {
            let taken = used(&directory).saturating_sub(before);
            assert!(taken <= 18 << 20, "{taken} bytes after {call} calls");
        }
    }
    assert_eq!(logdef::unwritten(), 0);
    logdef::close();
    let newest = std::fs::read(&log).unwrap();
    let mut last = 0;
    common::data(&newest, |data| {
        last = data.args.unwrap().iter().next().unwrap().as_uint().unwrap();
    });
    assert_eq!(last, 19_999);

    // Under a limit there is a log, and most of the addresses are the program's.
    limit_addresses(addresses() + (200 << 20));
    options().open(&path).unwrap();
    for call in 0..2_000u32 {
        logdef!(Info, "%u %s", call, text);
    }
    assert_eq!(logdef::unwritten(), 0);
    let half = Vec::<u8>::with_capacity(120 << 20);
    assert!(half.capacity() >= 120 << 20);
}
