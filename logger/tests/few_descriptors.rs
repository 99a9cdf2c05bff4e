//! Old files of a rotated log stay open while threads have chunks of them: where descriptors are few, the
//! log continues in its newest file, and no call is dropped for it.

mod common;

use common::skip;
use logdef::{Sink, logdef};
use std::io::{Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::Duration;

const THREADS: u64 = 200;
const CALLS: u64 = 500;

/// Logs from many threads through the smallest files that are rotated, with room for `limit` descriptors.
fn log(folder: &Path, limit: u64, keep: Option<u32>) {
    common::in_child(|| {
        common::limit_descriptors(limit);
        let options = logdef::options().sink(Sink::Mapped).rotate(128 << 10);
        let options = match keep {
            Some(files) => options.keep(files),
            None => options,
        };
        options.open(folder.join("log")).unwrap();
        std::thread::scope(|scope| {
            for thread in 0..THREADS {
                scope.spawn(move || {
                    for call in 0..CALLS {
                        logdef!(Info, "call %lu of thread %lu", call, thread);
                    }
                });
            }
        });
        assert_eq!(logdef::unwritten(), 0);
    });
}

fn more_threads_than_descriptors_lose_no_call() {
    for limit in [100, 12] {
        let all = tempfile::tempdir().unwrap();
        log(all.path(), limit, None);
        let mut seen = vec![0; THREADS as usize];
        for entry in std::fs::read_dir(all.path()).unwrap() {
            let path = entry.unwrap().path();
            if path.is_symlink() {
                continue;
            }
            common::data(&std::fs::read(path).unwrap(), |data| {
                assert_eq!(data.dropped, None, "{limit}");
                let thread = data.args.unwrap().iter().nth(1).unwrap();
                seen[thread.as_uint().unwrap() as usize] += 1;
            });
        }
        assert_eq!(seen, vec![CALLS; THREADS as usize], "{limit}");
        log(tempfile::tempdir().unwrap().path(), limit, Some(8));
    }
}

/// An appended log holds on to files that no `sync` has reached, and dropped every call once they took all
/// descriptors.
fn an_appended_log_lets_go_of_files_before_it_drops_a_call() {
    let folder = tempfile::tempdir().unwrap();
    common::in_child(|| {
        common::limit_descriptors(30);
        let options = logdef::options()
            .sink(Sink::Append)
            .rotate(16 << 10)
            .keep(1000);
        options.open(folder.path().join("log")).unwrap();
        let text = "x".repeat(1000);
        for call in 0..1000 {
            logdef!(Info, "call %u %s", call, &text);
        }
        assert_eq!(logdef::state().dropped, 0);
    });
}

/// It dropped the calls of a second at least, where it has to keep a bound.
fn a_short_lack_of_descriptors_costs_an_appended_log_little() {
    let folder = tempfile::tempdir().unwrap();
    common::in_child(|| {
        let options = logdef::options()
            .sink(Sink::Append)
            .rotate(16 << 10)
            .keep(4);
        options.open(folder.path().join("log")).unwrap();
        let text = "x".repeat(1000);
        let before = common::limit_descriptors(0);
        let is_refused = |call: u32| {
            let dropped = logdef::state().dropped;
            logdef!(Info, "call %u %s", call, &text);
            logdef::state().dropped > dropped
        };
        assert!((0..100).any(is_refused));
        common::limit_descriptors(before);
        let mut calls = 0;
        while is_refused(calls) {
            std::thread::sleep(Duration::from_millis(1));
            calls += 1;
        }
        assert!(calls < 500, "{calls} calls of a millisecond each or more");
    });
}

/// A process that logs now and then holds what leads to each file that it wrote to, until another of them needs
/// the place. When it might have no more descriptors it came to no newer file, and every call was dropped; none of them
/// was counted in the log.
fn a_child_that_logs_now_and_then_follows_its_parent() {
    const ROUNDS: u32 = 60;
    /// Calls that fill a file, or two.
    const FILLS: u32 = 200;
    let text = "x".repeat(1000);
    let folder = tempfile::tempdir().unwrap();
    common::in_child(|| {
        let options = logdef::options().sink(Sink::Mapped);
        let options = options.rotate(128 << 10).keep(8);
        options.open(folder.path().join("log")).unwrap();
        let (mut begun, mut begin) = std::io::pipe().unwrap();
        let (mut done, mut is_done) = std::io::pipe().unwrap();
        // Three more, or fewer where the test began with some of these.
        let free = std::fs::File::open("/dev/null").unwrap().as_raw_fd();
        common::limit_descriptors(free as u64 + 3);
        // SAFETY: the child logs and leaves.
        if unsafe { libc::fork() } == 0 {
            // Else it would wait for a parent that failed.
            drop((begin, done));
            for round in 0..ROUNDS {
                begun.read_exact(&mut [0]).unwrap();
                logdef!(Info, "round %u of the child", round);
                is_done.write_all(&[0]).unwrap();
            }
            let is_fine = logdef::state().dropped == 0;
            // SAFETY: leaves without running what its parent will run.
            unsafe { libc::_exit(i32::from(!is_fine)) };
        }
        for _ in 0..ROUNDS {
            let before = logdef::state().path;
            (0..FILLS).for_each(|_| logdef!(Info, "%s", &text));
            assert_ne!(logdef::state().path, before, "another file is begun");
            begin.write_all(&[0]).unwrap();
            done.read_exact(&mut [0]).unwrap();
        }
        let mut status = 0;
        // SAFETY: waits for a child of this process.
        unsafe { libc::wait(&raw mut status) };
        assert_eq!((status, logdef::state().dropped), (0, 0));
    });
}

/// The log gave up a file whose directory it could not open: it had no other, and every call after
/// the sync was dropped.
fn a_sync_without_a_descriptor_fails_and_the_log_continues() {
    let folder = tempfile::tempdir().unwrap();
    common::in_child(|| {
        common::limit_descriptors(80);
        let options = logdef::options().sink(Sink::Mapped);
        options.open(folder.path().join("log")).unwrap();
        logdef!(Info, "before");
        let all: Vec<_> = std::iter::from_fn(|| std::fs::File::open("/dev/null").ok()).collect();
        let refused = logdef::sync().unwrap_err();
        assert_eq!(refused.raw_os_error(), Some(libc::EMFILE));
        for call in 0..100 {
            logdef!(Info, "call %d", call);
        }
        assert_eq!(logdef::unwritten(), 0);
        drop(all);
        logdef::sync().unwrap();
    });
    let mut found = 0;
    common::data(&std::fs::read(folder.path().join("log")).unwrap(), |data| {
        assert_eq!(data.dropped, None);
        found += 1;
    });
    assert_eq!(found, 101);
}

/// Bytes on disk of each file that is removed, and of which this process maps a part.
fn bytes_of_removed_files() -> Vec<u64> {
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    let removed = maps.lines().filter(|line| line.contains("/log."));
    let removed = removed.filter(|line| line.ends_with(" (deleted)"));
    let range = |line: &str| line.split(' ').next().unwrap().to_owned();
    let file = |range| std::fs::metadata(format!("/proc/self/map_files/{range}")).unwrap();
    removed
        .map(range)
        .map(|range| file(range).blocks() * 512)
        .collect()
}

/// A thread that pauses has a chunk in a file that is removed. What led to that file was closed where descriptors are
/// few, and without it nothing of the file's space came back before the thread had left it.
fn a_removed_file_takes_no_more_than_what_is_mapped_of_it() {
    const FILE: u64 = 128 << 10;
    // SAFETY: has no preconditions.
    if unsafe { libc::geteuid() } != 0 {
        return skip::skip("only root may look at removed files");
    }
    let folder = tempfile::tempdir().unwrap();
    common::in_child(|| {
        let free = std::fs::File::open("/dev/null").unwrap().as_raw_fd();
        let before = common::limit_descriptors(free as u64 + 3);
        let options = logdef::options().sink(Sink::Mapped).rotate(FILE).keep(4);
        options.open(folder.path().join("log")).unwrap();
        logdef!(Info, "the first of this thread, in the first file");
        let text = "x".repeat(1000);
        let fills = || (0..20 * FILE / 1000).for_each(|_| logdef!(Info, "%s", &text));
        std::thread::scope(|scope| {
            scope.spawn(fills);
        });
        common::limit_descriptors(before);
        let removed = bytes_of_removed_files();
        assert!(!removed.is_empty(), "the first file is mapped");
        assert!(
            removed.iter().all(|bytes| *bytes <= FILE / 2),
            "{removed:?}"
        );
    });
}

/// Bytes on disk of the first 400 files of a log. Needs no descriptor, as a look into its directory would.
fn bytes_in_use(log: &Path) -> u64 {
    let names = (1..=400).map(|number| format!("{}.{number:06}", log.display()));
    let files = names.filter_map(|name| std::fs::metadata(name).ok());
    files.map(|file| file.blocks()).sum::<u64>() * 512
}

/// What led to files that are kept was closed to make place for newer ones. While no other file could be made nor opened,
/// the newest grew and those stayed, or parts of them, beyond what the log may take.
fn a_log_that_can_open_nothing_keeps_its_bound() {
    const FILE: u64 = 128 << 10;
    const KEEP: u64 = 10;
    let folder = tempfile::tempdir().unwrap();
    common::in_child(|| {
        let free = std::fs::File::open("/dev/null").unwrap().as_raw_fd();
        let few = free as u64 + KEEP;
        common::limit_descriptors(few);
        let options = logdef::options().sink(Sink::Mapped).rotate(FILE);
        let options = options.keep(KEEP as u32);
        let log = folder.path().join("log");
        options.open(&log).unwrap();
        let text = "x".repeat(1000);
        let fill = |what: &str| {
            (0..FILE / 1000).for_each(|_| logdef!(Info, "%s", &text));
            let bytes = bytes_in_use(&log);
            assert!(bytes <= (KEEP + 1) * FILE, "{bytes} bytes, {what}");
        };
        let mut taken = Vec::new();
        for _ in 0..KEEP {
            fill("at first");
            taken.extend(std::fs::File::open("/dev/null"));
        }
        for lack in 1..2 * KEEP {
            (0..lack % 4).for_each(|_| fill("before a lack"));
            common::limit_descriptors(0);
            (0..lack).for_each(|_| fill("while descriptors lack"));
            common::limit_descriptors(few);
        }
        assert_eq!(logdef::unwritten(), 0);
        drop(taken);
    });
}

/// One test: a forked child that makes threads may wait for ever for a lock of the standard library which a thread of
/// another test has.
#[test]
fn few_descriptors_lose_no_call() {
    more_threads_than_descriptors_lose_no_call();
    an_appended_log_lets_go_of_files_before_it_drops_a_call();
    a_short_lack_of_descriptors_costs_an_appended_log_little();
    a_child_that_logs_now_and_then_follows_its_parent();
    a_removed_file_takes_no_more_than_what_is_mapped_of_it();
    a_log_that_can_open_nothing_keeps_its_bound();
    a_sync_without_a_descriptor_fails_and_the_log_continues();
}
