//! A rotated log: how many files stay and how large they are, where the newest is,
//! and that a thread which logs little still writes to a file that stays.

use logdef::{Sink, logdef};
use std::collections::HashSet;
use std::path::{Path, PathBuf};

mod common;

/// The log's own files, the link to the newest not among them.
fn files(directory: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(directory).unwrap();
    let mut files: Vec<_> = entries
        .map(|entry| entry.unwrap().path())
        .filter(|path| !path.is_symlink())
        .collect();
    files.sort();
    files
}

/// The second arguments of a file's records, each of which is defined in its file.
fn read(path: &Path) -> Vec<u64> {
    let mut numbers = Vec::new();
    let mut strings = HashSet::new();
    let bytes = std::fs::read(path).unwrap();
    common::records(&bytes, |record| match record {
        logdef_wire::Record::StringLogdef(logdef) => {
            strings.insert(logdef.address.unwrap());
        }
        logdef_wire::Record::Data(data) => {
            assert!(strings.contains(&data.format.unwrap()), "{path:?}");
            let number = data.args.unwrap().iter().nth(1).unwrap();
            numbers.push(number.as_uint().unwrap());
        }
        _ => {}
    });
    numbers
}

/// Bytes of mapped files that are resident.
fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("RssFile:"));
    let kib = line.unwrap().split_whitespace().nth(1).unwrap();
    kib.parse::<u64>().unwrap() << 10
}

#[test]
fn the_newest_files_stay_and_memory_stays_flat() {
    let slow = std::env::var_os("LOGDEF_SLOW").is_some_and(|value| value == "1");
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("log");
    let options = logdef::options().sink(Sink::Mapped);
    options.rotate(1 << 20).keep(3).open(&path).unwrap();
    let idle = 1_000_000u32;
    std::thread::scope(|scope| {
        let (go, wait) = std::sync::mpsc::channel::<()>();
        let (logged, has_logged) = std::sync::mpsc::channel::<()>();
        scope.spawn(move || {
            logdef!(Info, "%s %u", "idle", idle);
            logged.send(()).unwrap();
            wait.recv().unwrap();
            logdef!(Info, "%s %u", "idle", idle + 1);
        });
        has_logged.recv().unwrap();
        let text = "x".repeat(200);
        for call in 0..40_000u32 {
            logdef!(Info, "%s %u", text, call);
        }
        go.send(()).unwrap();
    });
    let kept = files(directory.path());
    assert_eq!(kept.len(), 3, "{kept:?}");
    for file in &kept {
        let size = std::fs::metadata(file).unwrap().len();
        assert!(size <= 1 << 20, "{file:?} has {size} bytes");
    }
    let newest = std::fs::canonicalize(&path).unwrap();
    assert_eq!(newest, std::fs::canonicalize(&kept[2]).unwrap());
    let mut numbers: Vec<_> = kept.iter().flat_map(|file| read(file)).collect();
    numbers.sort();
    // Of the idle thread, the later call; of the other, an end without a gap.
    assert_eq!(numbers.pop(), Some(idle as u64 + 1));
    assert_eq!(numbers.last(), Some(&39_999));
    assert!(numbers.windows(2).all(|pair| pair[1] == pair[0] + 1));
    assert!(numbers.len() > 2000, "{}", numbers.len());
    logdef::close();

    // Another log there takes the numbers after those in use, and removes what
    // it does not keep.
    let options = logdef::options().sink(Sink::Mapped);
    options.flight_recorder(8 << 20).open(&path).unwrap();
    let text = "x".repeat(16 << 10);
    let log = |mebibytes: u32| {
        for call in 0..mebibytes * 64 {
            logdef!(Info, "%s %u", text, call);
        }
    };
    log(16);
    let kept = files(directory.path());
    let size = |file: &PathBuf| std::fs::metadata(file).unwrap().len();
    assert_eq!(kept.len(), 8, "{kept:?}");
    assert!(kept.iter().map(size).sum::<u64>() <= 8 << 20);
    logdef::close();

    // One file that grows: what is full of it is given back.
    let path = directory.path().join("large");
    logdef::options().sink(Sink::Mapped).open(&path).unwrap();
    let (few, many) = if slow { (64, 512) } else { (16, 128) };
    log(few);
    let after_few = resident();
    log(many - few);
    let after_many = resident();
    println!("resident after {few} MiB: {after_few}, after {many} MiB: {after_many}");
    assert!(after_many < after_few + (2 << 20));
    assert!(after_many < 32 << 20);
    assert!(size(&path) > u64::from(many) << 20);
}
