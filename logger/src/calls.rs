//! Which calls of a thread are in progress: one, and those beneath it that signal
//! handlers interrupted. Knows stacks, and nothing of what the calls do.
//!
//! A call need not end: a handler can jump out of it. So each leaves a mark on its
//! stack, a word that holds its own address. A call is gone when its mark lies below
//! a later one's on the same stack, or was overwritten; where that cannot be told, it
//! counts as interrupted.

use crate::sys::{self, Errno};
use core::sync::atomic::{AtomicUsize, Ordering};

/// A stack word that identifies a call in progress.
#[repr(align(16))]
pub(crate) struct Mark(AtomicUsize);

impl Mark {
    #[inline(always)]
    pub const fn new() -> Mark {
        Mark(AtomicUsize::new(0))
    }

    #[inline(always)]
    fn address(&self) -> usize {
        // Exposed: it is read by its address.
        core::ptr::from_ref(self).expose_provenance()
    }

    /// Makes the mark hold its own address, and returns that.
    #[inline(always)]
    fn set(&self) -> usize {
        let address = self.address();
        self.0.store(address, Ordering::Relaxed);
        address
    }

    /// Whether the mark that was at another address is gone. To ask makes a system
    /// call.
    fn outlives(&self, other: usize) -> bool {
        other == self.address()
            || match sys::peek(other) {
                Ok(word) => word != other,
                // The stack of a handler was given back.
                Err(errno) => errno == Errno(libc::EFAULT),
            }
    }
}

/// See the module.
pub(crate) struct Calls {
    innermost: AtomicUsize,
    /// By its level, what each call interrupted.
    interrupted: [AtomicUsize; Call::LEVELS],
}

/// A call in progress: the address of its mark, and how many calls it interrupted in
/// the bits that are zero there. 0 is none.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Call(usize);

impl Call {
    const NONE: Call = Call(0);
    const LEVELS: usize = align_of::<Mark>();

    /// How many calls it interrupted.
    fn level(self) -> usize {
        self.0 % Call::LEVELS
    }

    fn mark(self) -> usize {
        self.0 - self.level()
    }

    /// Whether there is none.
    #[inline(always)]
    pub fn is_none(self) -> bool {
        self == Call::NONE
    }
}

impl Calls {
    /// A call begins. What it interrupted, for [`Calls::end`].
    #[inline(always)]
    pub fn begin(&self, mark: &Mark) -> Call {
        let outer = self.innermost.load(Ordering::Relaxed);
        if outer != 0 {
            return self.begin_inside(mark);
        }
        self.innermost.store(mark.set(), Ordering::Release);
        Call::NONE
    }

    /// The call that interrupted `outer` ends.
    #[inline(always)]
    pub fn end(&self, outer: Call) {
        self.innermost.store(outer.0, Ordering::Release);
    }

    /// Whether the call that is in progress interrupted another. From other threads
    /// a guess, which is right about calls that are in progress for long.
    pub fn are_nested(&self) -> bool {
        Call(self.innermost.load(Ordering::Acquire)).level() > 0
    }

    /// The memory goes to another thread.
    pub fn reset(&self) {
        self.innermost.store(0, Ordering::Relaxed);
    }

    #[cold]
    #[inline(never)]
    fn begin_inside(&self, mark: &Mark) -> Call {
        let outer = self.living(mark);
        let level = match outer {
            Call::NONE => 0,
            // More than can be told apart: this one is not.
            _ if outer.level() + 1 == Call::LEVELS => return outer,
            _ => outer.level() + 1,
        };
        // A handler that comes before the last store stores the same here.
        self.interrupted[level].store(outer.0, Ordering::Relaxed);
        let innermost = mark.set() | level;
        self.innermost.store(innermost, Ordering::Release);
        outer
    }

    /// The innermost call that is not gone.
    fn living(&self, mark: &Mark) -> Call {
        let mut call = Call(self.innermost.load(Ordering::Relaxed));
        // What was interrupted has its stack frame above this one's, but for a handler
        // that was given a stack of its own.
        let is_below = |other| other < mark.address() && !sys::is_on_signal_stack();
        let is_gone = |other| is_below(other) || mark.outlives(other);
        while !call.is_none() && is_gone(call.mark()) {
            call = match call.level() {
                0 => Call::NONE,
                level => Call(self.interrupted[level].load(Ordering::Relaxed)),
            };
        }
        call
    }
}

/// Something that one user at a time has, who may be gone without giving it back.
pub(crate) struct Holder(AtomicUsize);

impl Holder {
    /// Takes it for as long as `mark` is there, unless somebody has it. For the one
    /// thread that it belongs to.
    pub fn take(&self, mark: &Mark) -> bool {
        let holder = self.0.load(Ordering::Relaxed);
        if holder != 0 && !mark.outlives(holder) {
            return false;
        }
        self.0.store(mark.set(), Ordering::Relaxed);
        core::sync::atomic::compiler_fence(Ordering::SeqCst);
        true
    }

    /// Gives it back.
    pub fn release(&self) {
        self.0.store(0, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn calls() -> Calls {
        Calls {
            innermost: AtomicUsize::new(0),
            interrupted: [const { AtomicUsize::new(0) }; Call::LEVELS],
        }
    }

    /// A call that is never ended, some way down the stack.
    #[inline(never)]
    fn leave_behind(calls: &Calls, depth: u32) -> u8 {
        let room = core::hint::black_box([0x55u8; 256]);
        if depth > 0 {
            return leave_behind(calls, depth - 1) ^ room[7];
        }
        let mark = Mark::new();
        calls.begin(&mark);
        core::hint::black_box(&mark).0.load(Ordering::Relaxed) as u8
    }

    /// What other functions do to the stack.
    #[inline(never)]
    fn overwrite(depth: u32) -> u8 {
        let room = core::hint::black_box([0xaau8; 256]);
        match depth {
            0 => room[3],
            _ => overwrite(depth - 1) ^ room[9],
        }
    }

    /// A call that is interrupted by something.
    #[inline(never)]
    fn interrupted(calls: &Calls, by: &mut dyn FnMut(usize)) -> Call {
        let mark = Mark::new();
        let outer = calls.begin(&mark);
        by(mark.address());
        calls.end(outer);
        outer
    }

    fn begun(calls: &Calls) -> Call {
        interrupted(calls, &mut |_| ())
    }

    #[test]
    fn calls_that_end_are_no_longer_there() {
        let calls = calls();
        let outer = interrupted(&calls, &mut |first| {
            assert!(!calls.are_nested());
            let outer = interrupted(&calls, &mut |second| {
                assert!(calls.are_nested());
                let outer = begun(&calls);
                assert_eq!((outer.mark(), outer.level()), (second, 1));
                assert!(calls.are_nested());
            });
            assert_eq!((outer.mark(), outer.level()), (first, 0));
            assert!(!calls.are_nested());
        });
        assert!(outer.is_none() && begun(&calls).is_none());
    }

    #[test]
    fn a_call_that_was_left_is_gone() {
        for depth in 1..20 {
            let calls = calls();
            leave_behind(&calls, depth);
            assert!(begun(&calls).is_none(), "{depth} deep");
        }
    }

    #[test]
    fn a_call_that_was_left_is_gone_when_its_stack_is_used_again() {
        /// From further down the stack than what was left.
        #[inline(never)]
        fn begun_at(calls: &Calls, depth: u32) -> Call {
            let room = core::hint::black_box([0x66u8; 256]);
            match depth {
                0 => begun(calls),
                _ => Call(begun_at(calls, depth - 1).0 ^ (room[5] - 0x66) as usize),
            }
        }
        let calls = calls();
        leave_behind(&calls, 5);
        overwrite(10);
        assert!(begun_at(&calls, 12).is_none());
    }

    #[test]
    fn a_call_beneath_one_that_was_left_is_still_there() {
        let calls = calls();
        interrupted(&calls, &mut |first| {
            leave_behind(&calls, 4);
            assert!(calls.are_nested());
            overwrite(8);
            let outer = interrupted(&calls, &mut |_| assert!(calls.are_nested()));
            assert_eq!((outer.mark(), outer.level()), (first, 0));
            assert!(!calls.are_nested());
        });
    }

    /// A page above the calling thread's stack: what lies below counts as left.
    fn page_above() -> *mut usize {
        let here = 0u8;
        let here = (&raw const here).addr() & !0xfff;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED_NOREPLACE;
        let mut pages = (1..1 << 20).map(|n| {
            let at = core::ptr::without_provenance_mut(here + (n << 20));
            // SAFETY: takes the place of nothing.
            unsafe { libc::mmap(at, 4096, libc::PROT_READ | libc::PROT_WRITE, flags, -1, 0) }
        });
        let page = pages.find(|page| *page != libc::MAP_FAILED);
        page.unwrap().cast()
    }

    #[test]
    fn a_mark_in_memory_that_was_given_back_is_gone() {
        let calls = calls();
        let page = page_above();
        let address = page.expose_provenance();
        // SAFETY: mapped above.
        unsafe { page.write(address) };
        calls.end(Call(address));
        assert_eq!(begun(&calls), Call(address));
        // SAFETY: nobody uses it any more.
        unsafe { libc::munmap(page.cast(), 4096) };
        assert!(begun(&calls).is_none());
    }

    #[test]
    fn calls_too_deep_to_be_told_apart_are_interrupted_all_the_same() {
        fn deeper(calls: &Calls, depth: usize) {
            interrupted(calls, &mut |_| {
                assert_eq!(calls.are_nested(), depth > 0);
                if depth < 2 * Call::LEVELS {
                    deeper(calls, depth + 1);
                }
                assert_eq!(calls.are_nested(), depth > 0);
            });
        }
        let calls = calls();
        deeper(&calls, 0);
        assert!(begun(&calls).is_none());
    }

    #[test]
    fn what_somebody_holds_who_is_gone_is_to_be_had() {
        let holder = Holder(AtomicUsize::new(0));
        let (first, second) = (Mark::new(), Mark::new());
        assert!(holder.take(&first) && !holder.take(&second));
        first.0.store(0, Ordering::Relaxed);
        assert!(holder.take(&second));
        holder.release();
        assert!(holder.take(&first));
    }
}
