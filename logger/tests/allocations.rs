//! A log call allocates nothing: not the first of a site, not one with a
//! backtrace, not one that needs another chunk, not the first of a thread.

use logdef::{Sink, logdef};
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

struct Counting;

thread_local! {
    /// Of this thread: the test harness has threads that allocate when they like.
    static ALLOCATIONS: Cell<usize> = const { Cell::new(0) };
}

// SAFETY: the system's allocator, counted.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let _ = ALLOCATIONS.try_with(|count| count.set(count.get() + 1));
        // SAFETY: as the caller promised.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        // SAFETY: as the caller promised.
        unsafe { System.dealloc(at, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn count(work: impl FnOnce()) -> usize {
    let before = ALLOCATIONS.get();
    work();
    ALLOCATIONS.get() - before
}

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
    assert!(count(|| drop(Box::new(1))) > 0, "the counter counts");
}
