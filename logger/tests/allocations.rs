//! A log call allocates nothing: not the first of a site, not one with a
//! backtrace, not one that needs another chunk, not the first of a thread.

use counting::count;
use logdef::{Sink, logdef};

#[path = "common/counting.rs"]
mod counting;

#[test]
fn a_call_allocates_nothing() {
    let directory = tempfile::tempdir().unwrap();
    logdef::options()
        .sink(Sink::Mapped)
        .rotate(1 << 20)
        .open(directory.path().join("log"))
        .unwrap();
    let long = "x".repeat(5000);
    let calls = || {
        logdef!(Info, "the first call of this site: %d", 1);
        logdef!(Error, "with a backtrace: %s", "as well");
        for n in 0..40_000 {
            logdef!(
                Info,
                "chunks and files come and go: %d %f %s",
                n,
                0.5,
                "text"
            );
        }
        logdef!(Info, "a long string: %s", long);
    };
    assert_eq!(count(calls), 0);
    // Counted inside the thread, since starting one allocates.
    let other =
        std::thread::spawn(move || count(|| logdef!(Info, "the first call of a thread: %u", 7u32)));
    assert_eq!(other.join().unwrap(), 0);
    // Optimized, one that nothing looks at is left out.
    let allocate = || drop(std::hint::black_box(Box::new(1)));
    assert!(count(allocate) > 0, "the counter counts");
}
