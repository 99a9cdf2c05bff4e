//! Reading the stack without ever faulting: which part of it is surely mapped,
//! and how to find out about the rest. Knows nothing of registers or rules.
//!
//! A load inside the [`Window`] is one compare and one move. Outside it, the
//! kernel is asked whether the address can be read, and the window follows. A
//! thread that called [`register_thread`] is never asked about its own stack;
//! any other stack (of a thread that did not, an alternate signal stack, that of
//! a coroutine) costs one question per page and walk.

use core::arch::{asm, naked_asm};
use core::mem::MaybeUninit;
use core::sync::atomic::{AtomicUsize, Ordering};

/// The smallest page of any supported system.
const PAGE: usize = 4096;

const WORD: usize = size_of::<usize>();

/// The addresses that a thread's stack may occupy; empty if it never
/// registered.
#[repr(C)]
#[derive(Clone, Copy)]
struct Bounds {
    low: usize,
    high: usize,
}

impl Bounds {
    #[inline]
    fn contain(self, address: usize) -> bool {
        self.low <= address && address < self.high
    }
}

/// Records the bounds of the calling thread's stack, so that walks on it need no system
/// call. To be called once per thread.
///
/// Signal safety: not async-signal-safe: the C library may allocate, and on the main thread
/// it reads a file (about 70 us).
pub fn register_thread() {
    let Some(bounds) = thread_bounds() else {
        return;
    };
    // SAFETY: the slot is this thread's own. A handler that interrupts the two
    // stores sees an empty or a smaller range, since it began as zeros.
    unsafe {
        let slot = bounds_slot();
        (&raw mut (*slot).low).write_volatile(bounds.low);
        (&raw mut (*slot).high).write_volatile(bounds.high);
    }
}

/// Whether the calling thread has registered.
pub(crate) fn is_registered() -> bool {
    // SAFETY: the slot is this thread's own and always readable.
    unsafe { (*bounds_slot()).high != 0 }
}

fn thread_bounds() -> Option<Bounds> {
    let mut attributes = MaybeUninit::<libc::pthread_attr_t>::uninit();
    // SAFETY: the C library fills the attributes when it returns 0; they are
    // read only then, and destroyed exactly once.
    unsafe {
        if libc::pthread_getattr_np(libc::pthread_self(), attributes.as_mut_ptr()) != 0 {
            return None;
        }
        let (mut low, mut len) = (core::ptr::null_mut(), 0);
        let status = libc::pthread_attr_getstack(attributes.as_ptr(), &mut low, &mut len);
        libc::pthread_attr_destroy(attributes.as_mut_ptr());
        let low = low.expose_provenance();
        let high = low.checked_add(len)?;
        (status == 0).then_some(Bounds { low, high })
    }
}

/// This thread's bounds.
///
/// A plain thread-local of Rust would be allocated on first use in a library
/// that was loaded by `dlopen`, perhaps in a handler that interrupted the
/// allocator. The initial-exec model takes its 16 bytes from the static block that
/// every thread has from its birth.
#[cfg(target_arch = "x86_64")]
#[unsafe(naked)]
#[allow(
    named_asm_labels,
    reason = "the body of a naked function is emitted once; Rust 1.88 does not know that"
)]
extern "C" fn bounds_slot() -> *mut Bounds {
    naked_asm!(
        ".pushsection .tbss.logdef_unwind,\"awT\",@nobits",
        ".p2align 3",
        ".type logdef_unwind_bounds, @object",
        "logdef_unwind_bounds:",
        ".zero 16",
        ".size logdef_unwind_bounds, 16",
        ".popsection",
        ".cfi_startproc",
        "mov rax, qword ptr [rip + logdef_unwind_bounds@GOTTPOFF]",
        "add rax, qword ptr fs:[0]",
        "ret",
        ".cfi_endproc",
    )
}

#[cfg(target_arch = "aarch64")]
#[unsafe(naked)]
#[allow(
    named_asm_labels,
    reason = "the body of a naked function is emitted once; Rust 1.88 does not know that"
)]
extern "C" fn bounds_slot() -> *mut Bounds {
    naked_asm!(
        ".pushsection .tbss.logdef_unwind,\"awT\",@nobits",
        ".p2align 3",
        ".type logdef_unwind_bounds, @object",
        "logdef_unwind_bounds:",
        ".zero 16",
        ".size logdef_unwind_bounds, 16",
        ".popsection",
        ".cfi_startproc",
        "adrp x0, :gottprel:logdef_unwind_bounds",
        "ldr x0, [x0, :gottprel_lo12:logdef_unwind_bounds]",
        "mrs x1, tpidr_el0",
        "add x0, x0, x1",
        "ret",
        ".cfi_endproc",
    )
}

/// A range of addresses that are known to be mapped: at least one word, and
/// aligned to words at both ends.
#[derive(Clone, Copy)]
pub(crate) struct Mapped {
    low: usize,
    /// Words after the first.
    more: usize,
}

impl Mapped {
    fn new(low: usize, high: usize) -> Self {
        let more = (high - low) / WORD - 1;
        Self { low, more }
    }

    fn high(self) -> usize {
        self.low + (self.more + 1) * WORD
    }

    /// The word at `address`, if it lies in the range and is aligned.
    #[inline]
    pub(crate) fn load(self, address: usize) -> Option<usize> {
        // What is below, beyond or between words becomes a very large index.
        let index = address.wrapping_sub(self.low).rotate_right(WORD.ilog2());
        if index > self.more {
            return None;
        }
        let word = core::ptr::with_exposed_provenance::<AtomicUsize>(address);
        // SAFETY: the whole word lies in the range, which is mapped. Atomic,
        // because it may be a variable that another thread writes.
        Some(unsafe { &*word }.load(Ordering::Relaxed))
    }
}

/// The part of a stack that a walk may read, and how to extend it.
pub(crate) struct Window {
    mapped: Mapped,
    bounds: Bounds,
}

impl Window {
    /// The window that the calling function's own stack opens.
    #[inline]
    pub(crate) fn here() -> Self {
        // SAFETY: the slot is this thread's own and always readable.
        let bounds = unsafe { *bounds_slot() };
        let anchor = 0usize;
        let low = (&raw const anchor).expose_provenance();
        let high = if bounds.contain(low) {
            bounds.high
        } else {
            page_end(low)
        };
        Self {
            mapped: Mapped::new(low, high),
            bounds,
        }
    }

    /// What can be read without asking.
    #[cfg(target_arch = "x86_64")]
    #[inline]
    pub(crate) fn mapped(&self) -> Mapped {
        self.mapped
    }

    /// The word at `address`, or `None` if it cannot be read.
    #[inline]
    pub(crate) fn load(&mut self, address: usize) -> Option<usize> {
        self.mapped
            .load(address)
            .or_else(|| self.load_elsewhere(address))
    }

    #[cold]
    #[inline(never)]
    fn load_elsewhere(&mut self, address: usize) -> Option<usize> {
        let first = address & !(WORD - 1);
        if self.mapped.load(first).is_none() {
            self.move_to(first)?;
        }
        let low = self.mapped.load(first)?;
        let shift = (address - first) as u32 * 8;
        if shift == 0 {
            return Some(low);
        }
        // Interrupted code may have pushed half a word.
        let high = self.load(first.checked_add(WORD)?)?;
        Some(low >> shift | high << (usize::BITS - shift))
    }

    /// Makes the window include the aligned word at `address`.
    fn move_to(&mut self, address: usize) -> Option<()> {
        if !is_readable(address) {
            return None;
        }
        let (low, high) = (address & !(PAGE - 1), page_end(address));
        let old = self.mapped;
        self.mapped = if self.bounds.contain(address) {
            // A thread's own stack has no holes above a page that is mapped.
            Mapped::new(low, self.bounds.high.max(high))
        } else if old.low <= high && low <= old.high() {
            Mapped::new(low.min(old.low), high.max(old.high()))
        } else {
            Mapped::new(low, high)
        };
        Some(())
    }
}

/// One past the page; the last page of all, which no program has, is cut short.
fn page_end(address: usize) -> usize {
    (address | (PAGE - 1))
        .checked_add(1)
        .unwrap_or(usize::MAX & !(WORD - 1))
}

/// Whether the word at `address` can be read, without reading it.
///
/// The kernel copies the signal set from the address before it looks at the
/// operation, and rejects this one: EINVAL when it could read, EFAULT when not.
/// It changes nothing, needs no permission, and leaves `errno` alone.
fn is_readable(address: usize) -> bool {
    let result: isize;
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a system call that writes nothing; clobbers are named.
    unsafe {
        asm!(
            "syscall",
            inlateout("rax") libc::SYS_rt_sigprocmask as isize => result,
            in("rdi") -1isize,
            in("rsi") address,
            in("rdx") 0,
            in("r10") WORD,
            out("rcx") _,
            out("r11") _,
            options(nostack),
        );
    }
    #[cfg(target_arch = "aarch64")]
    // SAFETY: a system call that writes nothing; it clobbers `x0` alone.
    unsafe {
        asm!(
            "svc 0",
            in("x8") libc::SYS_rt_sigprocmask as isize,
            inlateout("x0") -1isize => result,
            in("x1") address,
            in("x2") 0,
            in("x3") WORD,
            options(nostack),
        );
    }
    result == -(libc::EINVAL as isize)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pages(count: usize) -> usize {
        // SAFETY: a fresh private mapping.
        let map = unsafe {
            libc::mmap(
                core::ptr::null_mut(),
                count * PAGE,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
                -1,
                0,
            )
        };
        assert_ne!(map, libc::MAP_FAILED);
        map.expose_provenance()
    }

    fn protect(address: usize) {
        // SAFETY: a page of a mapping that this test made.
        let status = unsafe {
            libc::mprotect(
                core::ptr::with_exposed_provenance_mut(address),
                PAGE,
                libc::PROT_NONE,
            )
        };
        assert_eq!(status, 0);
    }

    #[test]
    fn words_are_loaded_from_mapped_pages_and_from_no_others() {
        let map = pages(4);
        protect(map + 2 * PAGE);
        let mut window = Window::here();
        let local = 0x1234_5678usize;
        for _ in 0..2 {
            assert_eq!(
                window.load((&raw const local).expose_provenance()),
                Some(local)
            );
            assert_eq!(window.load(map), Some(0));
            assert_eq!(window.load(map + PAGE - 4), Some(0));
            assert_eq!(window.load(map + 2 * PAGE - 8), Some(0));
            assert_eq!(window.load(map + 2 * PAGE - 7), None);
            assert_eq!(window.load(map + 2 * PAGE), None);
            assert_eq!(window.load(map + 3 * PAGE - 1), None);
            assert_eq!(window.load(map + 3 * PAGE), Some(0));
            assert_eq!(window.load(map), Some(0));
            assert_eq!(window.load(0), None);
            assert_eq!(window.load(usize::MAX), None);
            assert_eq!(window.load(usize::MAX - 7), None);
            assert_eq!(window.load(1 << 63), None);
        }
    }

    #[test]
    fn a_window_that_moved_up_over_a_hole_does_not_cover_the_hole() {
        let map = pages(5);
        protect(map + PAGE);
        protect(map + 3 * PAGE);
        let mut window = Window::here();
        for order in [[0, 2, 4, 1, 3], [4, 2, 0, 3, 1], [2, 1, 0, 3, 4]] {
            for page in order {
                let word = window.load(map + page * PAGE + 16);
                assert_eq!(word.is_some(), page % 2 == 0, "page {page}");
            }
        }
    }

    #[test]
    fn a_registered_thread_knows_its_stack_and_asks_no_more() {
        std::thread::spawn(|| {
            assert!(!is_registered());
            register_thread();
            assert!(is_registered());
            let local = 0usize;
            // SAFETY: this thread's own slot.
            let bounds = unsafe { *bounds_slot() };
            assert!(bounds.contain((&raw const local).expose_provenance()));
            let window = Window::here();
            assert_eq!(window.mapped.high(), bounds.high);
        })
        .join()
        .unwrap();
    }
}
