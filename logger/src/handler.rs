//! Whether the calling code runs in a signal handler, and a stack for one that was
//! given too small a one. What takes long, such as reading a whole file, is left alone
//! there. A room for unsafe: this is where stacks are switched.

use crate::sys;
use core::cell::UnsafeCell;
use core::ffi::c_void;
use core::sync::atomic::{AtomicBool, Ordering};
use logdef_unwind::{FrameKind, StackFrame};

/// Whether one of the calling functions is a signal handler: the thread is on
/// its alternate stack, or there is a stack frame that was interrupted, not
/// called. Takes some hundred nanoseconds.
#[cold]
pub(crate) fn is_running() -> bool {
    if sys::is_on_signal_stack() || EMERGENCY_STACK.is_in_use_here() {
        return true;
    }
    let mut frames = [StackFrame::default(); 64];
    let len = logdef_unwind::capture_frames(&mut frames, 0);
    frames[..len]
        .iter()
        .any(|frame| frame.kind == FrameKind::Exact)
}

/// A stack where the one that a thread has for its handlers is too small: that which a
/// runtime lays aside is little more than the kernel itself needs, and a thread that
/// never logged has no other. One for the process: a thread that finds it taken does without.
struct EmergencyStack {
    is_taken: AtomicBool,
    memory: Memory,
}

#[repr(C, align(16))]
struct Memory {
    stack: UnsafeCell<[u8; EmergencyStack::SIZE]>,
    /// Zeros, where an unwinder that comes to the end of the stack finds no caller.
    end: UnsafeCell<[u8; 4096]>,
}

// SAFETY: the memory is used as the stack of the one thread that took it.
unsafe impl Sync for EmergencyStack {}

static EMERGENCY_STACK: EmergencyStack = EmergencyStack {
    is_taken: AtomicBool::new(false),
    memory: Memory {
        stack: UnsafeCell::new([0; EmergencyStack::SIZE]),
        end: UnsafeCell::new([0; 4096]),
    },
};

impl EmergencyStack {
    const SIZE: usize = 64 << 10;
    /// What a note takes of a thread that has not logged, doubled.
    const NEEDED: usize = 24 << 10;

    fn is_in_use_here(&self) -> bool {
        let here = 0u8;
        let from = self.memory.stack.get().addr();
        (from..from + Self::SIZE).contains(&(&raw const here).addr())
    }
}

/// Does work that takes some 10 KiB of stack or more, in a signal handler on any stack.
pub(crate) fn with_room(mut work: impl FnMut()) {
    let emergency = &EMERGENCY_STACK;
    let is_enough = sys::signal_stack_left().is_none_or(|left| left >= EmergencyStack::NEEDED);
    if is_enough || emergency.is_taken.swap(true, Ordering::Acquire) {
        return work();
    }
    // The kernel would take the alternate stack for unused, and let the next handler begin at its top.
    let mut before = None;
    let mut work = || {
        before =
            sys::exchange_signal_stack(emergency.memory.stack.get().cast(), EmergencyStack::SIZE);
        work();
    };
    let call = entry_of(&work);
    call_on(
        emergency.memory.end.get().cast(),
        call,
        (&raw mut work).cast(),
    );
    if let Some((at, len)) = before {
        sys::exchange_signal_stack(at, len);
    }
    emergency.is_taken.store(false, Ordering::Release);
}

/// How to call a closure by its address.
fn entry_of<W: FnMut()>(_: &W) -> extern "C" fn(*mut c_void) {
    extern "C" fn call<W: FnMut()>(work: *mut c_void) {
        // SAFETY: it is the `work` of `with_room`, which waits for this to return.
        unsafe { (*work.cast::<W>())() }
    }
    call::<W>
}

/// Calls a function on the stack that ends below `top`.
fn call_on(top: *mut u8, function: extern "C" fn(*mut c_void), argument: *mut c_void) {
    // SAFETY: `top` is aligned to 16 bytes and has a stack below it that nothing else uses,
    // by `with_room`. The register that keeps the old stack pointer is one that called
    // functions restore.
    #[cfg(target_arch = "x86_64")]
    unsafe {
        core::arch::asm!(
            "xchg rsp, r12",
            "call {function}",
            "mov rsp, r12",
            function = in(reg) function,
            inlateout("rdi") argument => _,
            inout("r12") top => _,
            clobber_abi("C"),
        );
    }
    // SAFETY: `top` is aligned to 16 bytes and has a stack below it that nothing else uses,
    // by `with_room`. `x20` keeps the old stack pointer: called functions restore it.
    #[cfg(target_arch = "aarch64")]
    unsafe {
        core::arch::asm!(
            "mov x20, sp",
            "mov sp, {top}",
            "blr {function}",
            "mov sp, x20",
            top = in(reg) top,
            function = in(reg) function,
            inlateout("x0") argument => _,
            out("x20") _,
            clobber_abi("C"),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicBool, Ordering};

    static SEEN: AtomicBool = AtomicBool::new(false);

    extern "C" fn on_signal(_: i32) {
        SEEN.store(is_running(), Ordering::Relaxed);
    }

    #[test]
    fn work_is_done_on_another_stack_and_returns_to_this_one() {
        let mut memory = vec![0_u128; 4096];
        let stack = memory.as_mut_ptr_range();
        let mut place = 0;
        let mut work = || {
            let here = 0_u8;
            place = (&raw const here).addr();
        };
        let call = entry_of(&work);
        for _ in 0..2 {
            call_on(stack.end.cast(), call, (&raw mut work).cast());
        }
        assert!((stack.start.addr()..stack.end.addr()).contains(&place));
    }

    #[test]
    fn a_handler_knows_that_it_is_one_and_other_code_that_it_is_not() {
        logdef_unwind::modules::refresh();
        assert!(!is_running());
        // SAFETY: the handler has the right form and only walks the stack.
        unsafe {
            libc::signal(libc::SIGUSR2, on_signal as *const () as usize);
            libc::raise(libc::SIGUSR2);
        }
        assert!(SEEN.load(Ordering::Relaxed));
        assert!(!is_running());
    }

    static IS_WHOLE: AtomicBool = AtomicBool::new(false);

    extern "C" fn outer(_: i32) {
        let mine = std::hint::black_box([7_u8; 4096]);
        with_room(|| sys::raise(libc::SIGWINCH));
        let is_whole = std::hint::black_box(&mine).iter().all(|&byte| byte == 7);
        IS_WHOLE.store(is_whole, Ordering::Relaxed);
    }

    extern "C" fn inner(_: i32) {
        std::hint::black_box([9_u8; 8192]);
    }

    /// The kernel took the alternate stack for unused and began at its top again.
    #[test]
    fn a_handler_that_interrupts_work_on_the_emergency_stack_leaves_the_alternate_one_alone() {
        let work = || {
            let mut memory = vec![0_u128; 1024];
            let stack = libc::stack_t {
                ss_sp: memory.as_mut_ptr().cast(),
                ss_flags: 0,
                ss_size: 16 << 10,
            };
            // SAFETY: the handlers have the right form, and the stack is given back before its memory.
            unsafe {
                let mut before: libc::stack_t = core::mem::zeroed();
                libc::sigaltstack(&stack, &mut before);
                for (signal, handler) in [
                    (libc::SIGURG, outer as *const ()),
                    (libc::SIGWINCH, inner as *const ()),
                ] {
                    let mut action: libc::sigaction = core::mem::zeroed();
                    action.sa_sigaction = handler as usize;
                    action.sa_flags = libc::SA_ONSTACK;
                    libc::sigaction(signal, &action, core::ptr::null_mut());
                }
                libc::raise(libc::SIGURG);
                libc::sigaltstack(&before, core::ptr::null_mut());
            }
        };
        std::thread::spawn(work).join().unwrap();
        assert!(IS_WHOLE.load(Ordering::Relaxed));
    }
}
