//! One pointer for each thread, readable in a signal handler and in a library
//! that was loaded with `dlopen`. A room for unsafe; knows nothing of what the
//! pointer leads to.
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
        ".pushsection .tbss.logdef_thread_v1,\"awT\",%nobits",
        ".weak logdef_thread_v1",
        ".hidden logdef_thread_v1",
        ".type logdef_thread_v1, %object",
        ".size logdef_thread_v1, 8",
        ".balign 8",
        "logdef_thread_v1:",
        ".zero 8",
        ".popsection",
    );

    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    pub(super) fn slot() -> *const Cell<*mut ()> {
        let slot;
        // SAFETY: loads the offset of the variable above and adds the thread
        // pointer, which stands at fs:0.
        unsafe {
            asm!(
                "mov {slot}, qword ptr [rip + logdef_thread_v1@gottpoff]",
                "add {slot}, qword ptr fs:[0]",
                slot = out(reg) slot,
                options(nostack, pure, readonly),
            );
        }
        slot
    }

    #[cfg(target_arch = "aarch64")]
    #[inline(always)]
    pub(super) fn slot() -> *const Cell<*mut ()> {
        let slot;
        // SAFETY: loads the offset of the variable above and adds the thread
        // pointer.
        unsafe {
            asm!(
                "mrs {slot}, tpidr_el0",
                "adrp {offset}, :gottprel:logdef_thread_v1",
                "ldr {offset}, [{offset}, :gottprel_lo12:logdef_thread_v1]",
                "add {slot}, {slot}, {offset}",
                slot = out(reg) slot,
                offset = out(reg) _,
                options(nostack, pure, readonly),
            );
        }
        slot
    }
}

/// This thread's pointer; null until [`set`].
#[inline(always)]
pub(crate) fn get<T>() -> *mut T {
    // SAFETY: the slot is this thread's own and lives as long as the thread.
    unsafe { (*slot::slot()).get() }.cast()
}

/// Sets this thread's pointer.
pub(crate) fn set<T>(pointer: *mut T) {
    // SAFETY: as in `get`.
    let slot: &Cell<*mut ()> = unsafe { &*slot::slot() };
    slot.set(pointer.cast());
}

/// Forgets this thread's pointer.
pub(crate) fn clear() {
    set::<()>(ptr::null_mut());
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
