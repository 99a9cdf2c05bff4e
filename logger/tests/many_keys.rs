//! The first call of a thread allocates nothing in a handler, though the program has more keys of thread-specific data
//! than those whose values the C library keeps in the thread itself: what the handler interrupted may hold a lock of
//! the allocator.

#![cfg(target_env = "gnu")]

use logdef::{Sink, logdef};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

static COUNTS: AtomicBool = AtomicBool::new(false);
static ALLOCATIONS: AtomicUsize = AtomicUsize::new(0);

unsafe extern "C" {
    fn __libc_calloc(count: usize, size: usize) -> *mut libc::c_void;
}

/// In place of the C library's, also for its own calls.
// SAFETY: does what the C library's does.
#[unsafe(no_mangle)]
unsafe extern "C" fn calloc(count: usize, size: usize) -> *mut libc::c_void {
    if COUNTS.load(Ordering::Relaxed) {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
    }
    // SAFETY: as the caller has it.
    unsafe { __libc_calloc(count, size) }
}

extern "C" fn logs(_: i32) {
    logdef!(Info, "the first call of this thread");
}

/// How often what is done in another thread allocates.
fn allocations(work: fn()) -> usize {
    let counted = move || {
        ALLOCATIONS.store(0, Ordering::Relaxed);
        COUNTS.store(true, Ordering::Relaxed);
        work();
        COUNTS.store(false, Ordering::Relaxed);
        ALLOCATIONS.load(Ordering::Relaxed)
    };
    std::thread::spawn(counted).join().unwrap()
}

#[test]
fn a_first_call_in_a_handler_allocates_nothing() {
    let mut last = 0;
    for _ in 0..40 {
        // SAFETY: a place for a key, without a destructor.
        assert_eq!(unsafe { libc::pthread_key_create(&raw mut last, None) }, 0);
    }
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("log");
    logdef::options().sink(Sink::Mapped).open(&path).unwrap();
    // SAFETY: the handler takes one argument, and `raise` takes a number.
    unsafe { libc::signal(libc::SIGUSR1, logs as *const () as usize) };
    // SAFETY: takes a number.
    let raise = || assert_eq!(unsafe { libc::raise(libc::SIGUSR1) }, 0);
    assert_eq!(allocations(raise), 0);
    assert_eq!(logdef::state().dropped, 0);
    // The library does allocate for such a key, and is seen to.
    let allocates = || {
        let mut key = 0;
        let value = (&raw const COUNTS).cast();
        // SAFETY: a place for a key, and a value that nothing looks at.
        unsafe {
            assert_eq!(libc::pthread_key_create(&raw mut key, None), 0);
            assert_eq!(libc::pthread_setspecific(key, value), 0);
        }
    };
    assert!(allocations(allocates) > 0, "none is seen");
}
