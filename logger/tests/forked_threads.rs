//! The threads of a forked child make their first calls at once: one of them begins the child's
//! run, and the calls of the others wait for it. They were counted as dropped before, and two
//! threads could begin the run, one after the other, while a third wrote.

mod common;

use logdef::{Sink, logdef};
use std::ops::Range;
use std::path::Path;
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering};

const THREADS: u64 = 6;
const HEADER: u64 = 0xc1ce_0102_0304_c1da;

/// Logs numbers from some threads, `each` from every one, all at once.
fn log_at_once(first: u64, each: u64) {
    let ready = Barrier::new(THREADS as usize);
    std::thread::scope(|scope| {
        let threads = (0..THREADS).map(|thread| {
            let ready = &ready;
            let from = first + thread * each;
            scope.spawn(move || {
                ready.wait();
                log(from..from + each);
            })
        });
        let threads: Vec<_> = threads.collect();
        // The scope waits until they have logged; a thread that still ends holds a lock of the
        // standard library, which a child that is forked then would wait for in vain.
        threads
            .into_iter()
            .for_each(|thread| thread.join().unwrap());
    });
    let state = logdef::state();
    assert_eq!((state.dropped, state.unreported), (0, 0), "from {first} on");
}

fn log(numbers: Range<u64>) {
    for number in numbers {
        // Some are written masked, as their bytes hold what begins a frame.
        let word = if number % 7 == 0 { HEADER } else { 0 };
        let text = "a text that takes some room in a file";
        logdef!(Info, "%lu %lx %s", number, word, text);
    }
}

fn open(sink: Sink, directory: &Path) {
    let log = directory.join("log");
    logdef::options()
        .sink(sink)
        .rotate(256 << 10)
        .open(&log)
        .unwrap();
}

fn assert_whole(directory: &Path, expected: u64, context: &str) {
    logdef::close();
    let (seen, _) = common::numbers(directory);
    let lost: Vec<_> = (0..expected).filter(|it| !seen.contains(it)).collect();
    assert!(lost.is_empty(), "{context}: {lost:?}");
}

/// Children whose first calls come from several threads.
fn first_calls(sink: Sink) {
    let directory = tempfile::tempdir().unwrap();
    open(sink, directory.path());
    let children = 60;
    for child in 0..children {
        common::in_child(|| log_at_once(child * THREADS, 1));
    }
    assert_whole(directory.path(), children * THREADS, "first calls");
}

/// Ends the thread of the parent, also where a child failed.
struct Over<'o>(&'o AtomicBool);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Children and grandchildren with threads, forked while the threads of their parents log.
fn generations(sink: Sink) {
    let directory = tempfile::tempdir().unwrap();
    open(sink, directory.path());
    let (each, children) = (100, 12);
    let of_child = 2 * THREADS * each;
    let is_over = AtomicBool::new(false);
    // A thread that begins holds that lock, too.
    let has_begun = Barrier::new(2);
    let last = std::thread::scope(|scope| {
        let _over = Over(&is_over);
        let parents = scope.spawn(|| {
            has_begun.wait();
            let mut next = children * of_child;
            while !is_over.load(Ordering::Relaxed) {
                log(next..next + 10);
                next += 10;
            }
            next
        });
        has_begun.wait();
        for child in 0..children {
            common::in_child(|| {
                let first = child * of_child;
                log_at_once(first, each);
                common::in_child(|| log_at_once(first + of_child / 2, each));
            });
        }
        is_over.store(true, Ordering::Relaxed);
        parents.join().unwrap()
    });
    assert_whole(directory.path(), last, "generations");
}

#[test]
fn threads_of_forked_children_lose_no_record() {
    for sink in [Sink::Mapped, Sink::Append] {
        first_calls(sink);
        generations(sink);
    }
}
