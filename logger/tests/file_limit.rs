//! A process whose files may have a size and no more (RLIMIT_FSIZE): a log that is rotated
//! continues in another file, though its own files were to be larger; one that is not uses most of
//! what it may have. With a helper as without, mapped and appended.

use logdef::{Options, Sink, logdef};
use std::collections::HashSet;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

mod common;
#[path = "common/interrupts.rs"]
mod interrupts;

const LIMIT: u64 = (5 << 20) + (100 << 10);

/// Logs numbers with 1 KiB each.
fn log(numbers: Range<u64>) {
    let text = "x".repeat(1024);
    for number in numbers {
        logdef!(Info, "%u %s", number, text);
    }
}

fn ways() -> [(&'static str, Options); 3] {
    let mapped = logdef::options().sink(Sink::Mapped);
    [
        ("mapped", mapped.clone()),
        ("mapped, with a helper", mapped.helper()),
        ("appended", logdef::options().sink(Sink::Append)),
    ]
}

/// Appends to a log whose files may have fewer bytes than they were to have.
fn append_limited(limit: u64, more: impl FnOnce(Options) -> Options, directory: &Path) {
    common::limit_files(limit);
    let rotated = logdef::options().sink(Sink::Append).rotate(64 << 20);
    more(rotated).open(directory.join("log")).unwrap();
}

fn sizes(directory: &Path) -> Vec<u64> {
    let entries = std::fs::read_dir(directory).unwrap();
    let paths = entries.map(|entry| entry.unwrap().path());
    paths
        .filter(|path| path.is_file() && !path.is_symlink())
        .map(|path| path.metadata().unwrap().len())
        .collect()
}

#[test]
fn a_rotated_log_continues_in_another_file() {
    for (way, options) in ways() {
        let directory = tempfile::tempdir().unwrap();
        common::in_child(|| {
            common::limit_files(LIMIT);
            let path = directory.path().join("log");
            options.rotate(64 << 20).open(path).unwrap();
            log(0..14_000);
            let state = logdef::state();
            assert_eq!(state.dropped, 0, "{way}");
            logdef::close();
        });
        let (seen, _) = common::numbers(directory.path());
        assert_eq!(seen, (0..14_000).collect::<HashSet<_>>(), "{way}");
        let sizes = sizes(directory.path());
        assert!(sizes.len() <= 6, "{way} {sizes:?}");
        assert!(sizes.iter().all(|size| *size <= LIMIT), "{way} {sizes:?}");
    }
}

/// Waits until the helper, if there is one, has done what it had begun: it sleeps then.
fn wait_for_helper() {
    let threads = std::fs::read_dir("/proc/self/task").unwrap();
    let mut threads = threads.map(|thread| thread.unwrap().path());
    let is_helper = |thread: &PathBuf| read(thread, "comm").trim_end() == "logdef";
    let Some(helper) = threads.find(is_helper) else {
        return;
    };
    common::until("the helper does not sleep", || {
        read(&helper, "stat").contains(") S ")
    });
}

fn read(thread: &Path, file: &str) -> String {
    std::fs::read_to_string(thread.join(file)).unwrap()
}

/// What the helper was at work on when the file was full was left for a second, and calls dropped.
#[test]
fn a_log_in_one_file_uses_most_of_what_it_may_have() {
    for (way, options) in ways() {
        for _ in 0..10 {
            let directory = tempfile::tempdir().unwrap();
            common::in_child(|| {
                common::limit_files(LIMIT);
                let options = options.clone();
                options.open(directory.path().join("log")).unwrap();
                log(0..8_000);
                assert!(logdef::state().dropped > 0);
                wait_for_helper();
                log(8_000..16_000);
                logdef::close();
            });
            let (seen, _) = common::numbers(directory.path());
            // Chunks start at multiples of their size, a quarter of it at most, behind smaller ones.
            let most = LIMIT / 1104;
            let seen = seen.len() as u64;
            let is_near = (most / 2..=most).contains(&seen);
            assert!(is_near, "{way}: {seen} of {most}");
        }
    }
}

/// Each call with a record that has no room in an empty file began eight files.
#[test]
fn no_file_is_begun_for_a_record_that_has_no_room_in_one() {
    for (way, options) in ways() {
        let directory = tempfile::tempdir().unwrap();
        common::in_child(|| {
            common::limit_files(16 << 10);
            let path = directory.path().join("log");
            options.rotate(64 << 20).open(path).unwrap();
            log(0..10);
            let text = "x".repeat(65_000);
            for _ in 0..100 {
                logdef!(Info, "%s", text);
            }
            assert!(logdef::state().dropped >= 100, "{way}");
            logdef::close();
        });
        let sizes = sizes(directory.path());
        assert!(sizes.len() <= 2, "{way} {sizes:?}");
    }
}

/// Calls between those that have no room were dropped for a second, or began a file each.
#[test]
fn records_that_have_room_are_written_between_others_that_have_none() {
    let directory = tempfile::tempdir().unwrap();
    common::in_child(|| {
        append_limited(16 << 10, |rotated| rotated, directory.path());
        let text = "x".repeat(65_000);
        for number in 0..8 {
            log(number..number + 1);
            logdef!(Info, "%s", text);
        }
        assert_eq!(logdef::state().dropped, 8);
        logdef::close();
    });
    let sizes = sizes(directory.path());
    assert_eq!(sizes.len(), 1, "{sizes:?}");
}

/// Threads that found a file full while another one began the next dropped their calls for a second.
#[test]
fn threads_wait_for_the_next_file_where_none_may_grow() {
    const CALLS: u64 = 10_000;
    // Where no thread waits for a disk, if there is such a file system.
    let directory = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir());
    let directory = directory.unwrap();
    common::in_child(|| {
        append_limited(64 << 10, |rotated| rotated.keep(3), directory.path());
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| log(0..CALLS));
            }
        });
        // A thread waits for a while only: another may get no time of a core for longer.
        let dropped = logdef::state().dropped;
        assert!(dropped <= 4 * CALLS / 100, "{dropped}");
    });
}

/// A handler that interrupted the opening of the next file dropped its record, one of four.
#[test]
fn handlers_find_the_next_file_where_none_may_grow() {
    let directory = tempfile::tempdir().unwrap();
    common::in_child(|| {
        append_limited(64 << 10, |rotated| rotated.keep(3), directory.path());
        interrupts::each(200);
        log(0..10_000);
        interrupts::each(0);
        assert!(interrupts::HANDLED.load(Ordering::Relaxed) > 100);
        assert_eq!(logdef::state().dropped, 0);
    });
}

/// SIGXFSZ ended a program whose digest could not be kept.
#[test]
fn a_program_whose_files_may_have_no_byte_is_not_ended() {
    for (way, options) in ways() {
        let directory = tempfile::tempdir().unwrap();
        common::in_child(|| {
            // SAFETY: this process has no other thread.
            unsafe { std::env::set_var("XDG_CACHE_HOME", directory.path()) };
            common::limit_files(0);
            options
                .rotate(1 << 20)
                .open(directory.path().join("log"))
                .unwrap();
            log(0..10);
            assert_eq!(logdef::state().dropped, 10, "{way}");
            logdef::close();
        });
        assert_eq!(sizes(directory.path()).iter().sum::<u64>(), 0, "{way}");
    }
}

/// Nothing opened the path again as long as the file before took no record: all calls were dropped, though the file
/// had been renamed and the path was free.
#[test]
fn a_full_file_is_left_where_the_log_is_to_be_opened_again() {
    for (way, options) in ways() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("log");
        common::in_child(|| {
            common::limit_files(256 << 10);
            options.open(&path).unwrap();
            while logdef::state().dropped == 0 {
                log(0..1);
            }
            std::fs::rename(&path, directory.path().join("moved")).unwrap();
            logdef::reopen().unwrap();
            let dropped = logdef::state().dropped;
            log(1..2);
            log(2..12);
            // The first of them finds out, at most.
            let more = logdef::state().dropped - dropped;
            assert!(more <= 1, "{way}: {more} more");
        });
        let mut numbers = HashSet::new();
        common::data(&std::fs::read(&path).unwrap(), |data| {
            numbers.insert(data.args.unwrap().iter().next().unwrap().as_uint());
        });
        assert!(
            (2..12).all(|number| numbers.contains(&Some(number))),
            "{way}: {numbers:?}"
        );
    }
}
