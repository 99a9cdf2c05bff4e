//! A log that another program removes or renames, again and again: the process holds on to no file that is
//! gone, whose space would not come back.

mod common;

use logdef::{Sink, logdef};
use std::path::Path;

const ROUNDS: u32 = 8;

/// More than the chunks that a thread has in a file.
fn log() {
    let text = "x".repeat(16_000);
    for number in 0..300 {
        logdef!(Info, "%u %s", number, &text);
    }
}

/// Removed files of the directory that the process has open or mapped.
fn held(directory: &Path) -> usize {
    let is_held =
        |name: &str| name.contains(directory.to_str().unwrap()) && name.ends_with("(deleted)");
    let open = std::fs::read_dir("/proc/self/fd").unwrap();
    let open = open.filter_map(|entry| entry.unwrap().path().read_link().ok());
    let open = open.filter(|path| is_held(path.to_str().unwrap())).count();
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    open + maps.lines().filter(|line| is_held(line)).count()
}

/// `most` files that are gone may still be held at the end.
fn check(sink: Sink, most: usize, take_away: impl Fn(&Path)) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("log");
    common::in_child(|| {
        logdef::options().sink(sink).open(&path).unwrap();
        for _ in 0..ROUNDS {
            // Threads that end leave their memory, and their chunks, to later ones.
            std::thread::spawn(log).join().unwrap();
            log();
            take_away(&path);
            log();
        }
        let held = held(directory.path());
        assert!(held <= most, "{sink:?}: {held}");
        assert_eq!(logdef::state().dropped, 0);
    });
}

#[test]
fn a_log_that_is_removed_gives_its_space_back() {
    // Threads may still have chunks in the last file of a mapped log.
    for (sink, most) in [(Sink::Mapped, 3), (Sink::Append, 0)] {
        check(sink, most, |path| {
            // The path leads to the file that followed one before.
            std::fs::remove_file(logdef::state().path).unwrap();
            let _ = std::fs::remove_file(path);
        });
        check(sink, most, |path| {
            std::fs::rename(path, path.with_extension("old")).unwrap();
            logdef::reopen().unwrap();
        });
    }
}
