//! A rotated log of which some files are kept, with a helper: it gives back the space of those
//! that are not, so that no call waits for that.

mod common;
#[path = "common/tmpfs.rs"]
mod tmpfs;

use logdef::{Sink, logdef};
use std::path::Path;

const FILE: u64 = 4 << 20;
const KEPT: u32 = 2;
/// Two files, one that is on its way out, what is ready of the next, and a thread's chunk.
const DISK_MIB: u32 = 24;

/// Files that are not kept, and have their names still.
fn too_many(directory: &Path) -> usize {
    let entries = std::fs::read_dir(directory).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name());
    let files = names.filter(|name| name.len() == "log.000000".len());
    files.count().saturating_sub(KEPT as usize)
}

/// Files that this process can still reach, though they have no name.
fn removed(directory: &Path) -> usize {
    let entries = std::fs::read_dir("/proc/self/fd").unwrap();
    let paths = entries.filter_map(|entry| std::fs::read_link(entry.unwrap().path()).ok());
    let is_removed = |path: &std::path::PathBuf| {
        path.starts_with(directory) && path.to_string_lossy().ends_with(" (deleted)")
    };
    paths.filter(is_removed).count()
}

fn log(numbers: std::ops::Range<u32>) {
    let text = "x".repeat(1000);
    for number in numbers {
        logdef!(Info, "%u %s", number, text);
    }
}

#[test]
fn the_helper_gives_back_the_space_of_files_that_are_not_kept() {
    let directory = tempfile::tempdir().unwrap();
    let Some(disk) = tmpfs::mount(directory.path(), DISK_MIB) else {
        return;
    };
    let options = logdef::options().sink(Sink::Mapped).helper();
    let options = options.rotate(FILE).keep(KEPT);
    options.open(disk.join("log")).unwrap();
    // A file and more each time.
    for round in 0..50 {
        log(round * 5_000..(round + 1) * 5_000);
        common::until("the helper has not come", || {
            too_many(&disk) + removed(&disk) == 0
        });
    }
    assert_eq!(logdef::state().dropped, 0);
    let (seen, _) = common::numbers(&disk);
    assert!(seen.contains(&249_999) && seen.len() as u64 * 1000 > FILE / 2);
    logdef::close();
    assert_eq!(too_many(&disk) + removed(&disk), 0);
}
