//! Two pointers for each thread, readable in a signal handler and in a library
//! that was loaded with `dlopen`. A room for unsafe; knows nothing of what the
//! pointers lead to.
//!
//! Ordinary thread-locals of a shared library are allocated at a thread's
//! first use of them, by `malloc`: not in a signal handler. This variable is of
//! the initial-exec kind, whose place is made when the thread is; the linker
//! turns the access into a constant offset in a program.

use core::cell::Cell;
use core::ptr;

mod slot {
    use core::arch::{asm, global_asm};
    use core::cell::Cell;

    // Hidden, so that each image that holds a logger has its own; weak, so that
    // two objects of one image agree.
    global_asm!(
        ".pushsection .tbss.logdef_thread_v2,\"awT\",%nobits",
        ".weak logdef_thread_v2",
        ".hidden logdef_thread_v2",
        ".type logdef_thread_v2, %object",
        ".size logdef_thread_v2, 16",
        ".balign 8",
        "logdef_thread_v2:",
        ".zero 16",
        ".popsection",
    );

    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    pub(super) fn slot() -> *const [Cell<*mut ()>; 2] {
        let slot;
        // SAFETY: loads the offset of the variable above and adds the thread
        // pointer, which stands at fs:0. Neither ever changes while the thread lives, so
        // that the compiler may ask once where the code asks twice.
        unsafe {
            asm!(
                "mov {slot}, qword ptr [rip + logdef_thread_v2@gottpoff]",
                "add {slot}, qword ptr fs:[0]",
                slot = out(reg) slot,
                options(nostack, pure, nomem),
            );
        }
        slot
    }

    #[cfg(target_arch = "aarch64")]
    #[inline(always)]
    pub(super) fn slot() -> *const [Cell<*mut ()>; 2] {
        let slot;
        // SAFETY: loads the offset of the variable above and adds the thread
        // pointer.
        unsafe {
            asm!(
                "mrs {slot}, tpidr_el0",
                "adrp {offset}, :gottprel:logdef_thread_v2",
                "ldr {offset}, [{offset}, :gottprel_lo12:logdef_thread_v2]",
                "add {slot}, {slot}, {offset}",
                slot = out(reg) slot,
                offset = out(reg) _,
                options(nostack, pure, readonly),
            );
        }
        slot
    }
}

/// The place of a pointer: the logger's memory of the thread, or the context of its calls.
const MEMORY: usize = 0;
const CONTEXT: usize = 1;

/// The two pointers of this thread.
#[inline(always)]
fn mine() -> &'static [Cell<*mut ()>; 2] {
    // SAFETY: the slot is this thread's own and lives as long as the thread; no caller
    // keeps the reference.
    unsafe { &*slot::slot() }
}

/// This thread's pointer; null until [`set`].
#[inline(always)]
pub(crate) fn get<T>() -> *mut T {
    mine()[MEMORY].get().cast()
}

/// Sets this thread's pointer.
pub(crate) fn set<T>(pointer: *mut T) {
    mine()[MEMORY].set(pointer.cast());
}

/// Forgets this thread's pointer.
pub(crate) fn clear() {
    set::<()>(ptr::null_mut());
}

/// The context of this thread's calls; null for none.
#[inline(always)]
pub(crate) fn context<T>() -> *const T {
    mine()[CONTEXT].get().cast()
}

/// Sets the context of this thread's calls and returns the one before.
pub(crate) fn replace_context<T>(context: *const T) -> *const T {
    mine()[CONTEXT].replace(context.cast_mut().cast()).cast()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_thread_has_its_own() {
        let mut mine = 1u8;
        assert!(get::<u8>().is_null());
        set(&raw mut mine);
        std::thread::spawn(|| assert!(get::<u8>().is_null()))
            .join()
            .unwrap();
        assert_eq!(get::<u8>(), &raw mut mine);
        clear();
        assert!(get::<u8>().is_null());
    }
}
