//! Counts every allocation of a thread, Rust's and C's, while backtraces are
//! captured. A program of its own, since it replaces the allocator.

#![cfg(target_env = "gnu")]

use std::cell::Cell;
use std::ffi::c_void;
use std::hint::black_box;
use std::sync::atomic::{AtomicUsize, Ordering};

thread_local! {
    /// Of this thread alone: the test harness has one that allocates.
    static ALLOCATIONS: Cell<usize> = const { Cell::new(0) };
}

unsafe extern "C" {
    fn __libc_malloc(size: usize) -> *mut c_void;
    fn __libc_calloc(count: usize, size: usize) -> *mut c_void;
    fn __libc_realloc(old: *mut c_void, size: usize) -> *mut c_void;
    fn __libc_memalign(alignment: usize, size: usize) -> *mut c_void;
}

// The C library and the loader call these in place of their own.

#[unsafe(no_mangle)]
extern "C" fn malloc(size: usize) -> *mut c_void {
    ALLOCATIONS.set(ALLOCATIONS.get() + 1);
    // SAFETY: the same contract.
    unsafe { __libc_malloc(size) }
}

#[unsafe(no_mangle)]
extern "C" fn calloc(count: usize, size: usize) -> *mut c_void {
    ALLOCATIONS.set(ALLOCATIONS.get() + 1);
    // SAFETY: the same contract.
    unsafe { __libc_calloc(count, size) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn realloc(old: *mut c_void, size: usize) -> *mut c_void {
    ALLOCATIONS.set(ALLOCATIONS.get() + 1);
    // SAFETY: the same contract.
    unsafe { __libc_realloc(old, size) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn aligned_alloc(alignment: usize, size: usize) -> *mut c_void {
    ALLOCATIONS.set(ALLOCATIONS.get() + 1);
    // SAFETY: the same contract.
    unsafe { __libc_memalign(alignment, size) }
}

fn allocations(work: impl FnOnce()) -> usize {
    let before = ALLOCATIONS.get();
    work();
    ALLOCATIONS.get() - before
}

#[inline(never)]
fn descend(depth: usize) -> usize {
    let room = black_box([depth; 5]);
    let len = if depth == 0 {
        capture_all()
    } else {
        descend(depth - 1)
    };
    black_box(room);
    len
}

fn capture_all() -> usize {
    let mut addresses = [0; 64];
    let mut frames = [logdef_unwind::StackFrame::default(); 64];
    let len = logdef_unwind::capture(&mut addresses, 0);
    assert_eq!(logdef_unwind::capture_frames(&mut frames, 0), len);
    frames[3].set_tag(1);
    for frame in &frames[..len] {
        let Some(module) = logdef_unwind::modules::find(frame.address) else {
            // An emulator's signal trampoline is in none.
            if cfg!(target_arch = "x86_64") {
                panic!("{:x} is in no module", frame.address);
            }
            continue;
        };
        module.build_id();
        module.is_read_only(frame.address, 1);
        module.exported_symbol(frame.address);
    }
    len
}

/// A handler, on a stack of its own.
extern "C" fn on_signal(_: i32) {
    FRAMES.store(descend(10), Ordering::Relaxed);
}

static FRAMES: AtomicUsize = AtomicUsize::new(0);

#[test]
fn nothing_is_allocated_by_captures_cold_or_warm_registered_or_not() {
    // The counter counts.
    assert!(allocations(|| drop(black_box(vec![1u8; 100]))) > 0);
    // SAFETY: frees what was allocated.
    assert!(allocations(|| unsafe { libc::free(black_box(libc::malloc(1))) }) > 0);

    // Cold, without any preparation, and on a thread that never registered.
    assert_eq!(allocations(|| assert!(descend(20) > 20)), 0);
    logdef_unwind::warm_up();
    logdef_unwind::modules::index_exports();
    assert_eq!(allocations(|| assert!(descend(20) > 20)), 0);
    logdef_unwind::forget();
    assert_eq!(allocations(|| assert!(descend(30) > 30)), 0);

    let mut room = vec![0u8; 1 << 16];
    // SAFETY: the alternate stack outlives the signal.
    let counted = unsafe {
        let stack = libc::stack_t {
            ss_sp: room.as_mut_ptr().cast(),
            ss_flags: 0,
            ss_size: room.len(),
        };
        assert_eq!(libc::sigaltstack(&stack, std::ptr::null_mut()), 0);
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = on_signal as *const () as usize;
        action.sa_flags = libc::SA_ONSTACK;
        libc::sigaction(libc::SIGUSR1, &action, std::ptr::null_mut());
        allocations(|| _ = libc::raise(libc::SIGUSR1))
    };
    assert_eq!(counted, 0);
    // SAFETY: disables the alternate stack before it is freed.
    unsafe {
        let mut stack: libc::stack_t = std::mem::zeroed();
        stack.ss_flags = libc::SS_DISABLE;
        libc::sigaltstack(&stack, std::ptr::null_mut());
    }
    assert!(FRAMES.load(Ordering::Relaxed) > 12);
}
