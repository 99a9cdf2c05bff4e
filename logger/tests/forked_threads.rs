//! The threads of a forked child make their first calls at once: one of them begins the child's
//! run, and the calls of the others wait for it. They were counted as dropped before.

mod common;

use logdef::{Sink, logdef};
use std::sync::Barrier;

const CHILDREN: u64 = 100;
const THREADS: u64 = 8;

/// Logs a number from each thread, all at once.
fn log_at_once(child: u64) {
    let ready = Barrier::new(THREADS as usize);
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let ready = &ready;
            scope.spawn(move || {
                ready.wait();
                logdef!(Info, "%lu", child * THREADS + thread);
            });
        }
    });
    let state = logdef::state();
    assert_eq!(
        (state.dropped, state.unreported),
        (0, 0),
        "in child {child}"
    );
}

#[test]
fn no_thread_of_a_forked_child_loses_its_first_record() {
    for sink in [Sink::Mapped, Sink::Append] {
        let directory = tempfile::tempdir().unwrap();
        let log = directory.path().join("log");
        logdef::options().sink(sink).open(&log).unwrap();
        for child in 0..CHILDREN {
            common::in_child(|| log_at_once(child));
        }
        logdef::close();
        let (seen, _) = common::numbers(directory.path());
        let lost = (0..CHILDREN * THREADS).filter(|number| !seen.contains(number));
        let lost: Vec<_> = lost.collect();
        assert!(lost.is_empty(), "{sink:?}: {lost:?}");
    }
}
