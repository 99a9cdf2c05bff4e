//! Which calls of a thread are in progress: one, and those beneath it that signal
//! handlers interrupted. Knows stacks, and nothing of what the calls do.
//!
//! A call need not end: a handler can jump out of it. So each leaves a mark on its
//! stack, a word that holds its own address until the call ends. A call is gone for
//! certain when its mark was overwritten. When the mark lies below a later one's, the
//! call is taken for gone, since what was interrupted lies above; but a program can
//! have more stacks than one for a thread, and come back. Memory is not taken from under
//! such a call: it stays in doubt until its mark changes.

use crate::sys::{self, Errno};
use core::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};

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

    /// Clears the word when its call returns.
    #[inline(always)]
    fn clear(&self) {
        self.0.store(0, Ordering::Relaxed);
    }

    /// Whether the mark that was at another address is gone. To ask makes a system
    /// call.
    fn outlives(&self, other: usize) -> bool {
        other == self.address() || is_overwritten(other)
    }
}

/// Whether a mark was overwritten, or its stack given back.
fn is_overwritten(mark: usize) -> bool {
    match sys::peek(mark) {
        Ok(word) => word != mark,
        Err(errno) => errno == Errno(libc::EFAULT),
    }
}

/// The calls of one thread that are in progress.
pub(crate) struct Calls {
    innermost: AtomicUsize,
    /// By its level, what each call interrupted.
    interrupted: [AtomicUsize; Call::LEVELS],
    doubts: [Doubt; DOUBTS],
    /// While one call interrupts another: how many chunks the thread had when this was
    /// first asked, so that what is interrupted may store in none that came later.
    interrupted_in: AtomicU32,
    /// Of which interruption that holds: one more than the calls that had returned
    /// before; 0 for none.
    interruption: AtomicU64,
}

/// A call that was taken for gone and may come back.
struct Doubt {
    /// Its mark; 0 for none.
    mark: AtomicUsize,
    /// How many chunks the thread had, in one of which it may store. 0: not asked yet.
    chunks: AtomicU32,
}

/// Calls in doubt that can be distinguished. The last place is for all others together.
const DOUBTS: usize = 8;
/// A call in doubt is given up when its thread has had this many more chunks: a program
/// that jumps out of handlers leaves any number of calls behind.
const PATIENCE: u32 = 8;
/// In the place of a mark: calls that cannot be distinguished, any of which may return at
/// any later time.
const MANY: usize = 1;

/// A call in progress: the address of its mark, and how many calls it interrupted in
/// the bits that are zero there. 0 means no call.
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

    /// Whether this stands for no call.
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

    /// The call with this mark, which interrupted `outer`, ends.
    #[inline(always)]
    pub fn end(&self, mark: &Mark, outer: Call) {
        let innermost = self.innermost.load(Ordering::Relaxed);
        mark.clear();
        if innermost == mark.address() {
            self.innermost.store(outer.0, Ordering::Release);
        } else {
            self.end_inside(mark, outer);
        }
    }

    /// Whether a call may be in progress.
    pub fn are_begun(&self) -> bool {
        self.innermost.load(Ordering::Acquire) != 0
    }

    /// Whether the call that is in progress interrupted another.
    pub fn are_nested(&self) -> bool {
        Call(self.innermost.load(Ordering::Acquire)).level() > 0
    }

    /// Makes a call whose return is not counted: a note.
    pub fn uncounted<T>(&self, call: impl FnOnce() -> T) -> T {
        let mark = Mark::new();
        let outer = self.begin(&mark);
        self.forget_interruption();
        let made = call();
        self.end(&mark, outer);
        self.forget_interruption();
        made
    }

    /// What is interrupted next is another call than before, though as many returned.
    pub fn forget_interruption(&self) {
        self.interruption.store(0, Ordering::Relaxed);
    }

    /// Finds out where calls may store that are in progress beside the innermost: for
    /// [`Calls::may_store`]. The thread has had `chunks` chunks, and `returned` calls
    /// have returned.
    pub fn look(&self, chunks: u32, returned: u64) {
        for doubt in &self.doubts {
            let mark = doubt.mark.load(Ordering::Relaxed);
            if mark > MANY && is_overwritten(mark) {
                doubt.mark.store(0, Ordering::Relaxed);
            } else if doubt.chunks.load(Ordering::Relaxed) == 0 {
                doubt.chunks.store(chunks, Ordering::Relaxed);
            }
        }
        let interruption = returned.wrapping_add(1);
        match Call(self.innermost.load(Ordering::Relaxed)).level() {
            0 => self.interrupted_in.store(0, Ordering::Relaxed),
            1 if self.interruption.load(Ordering::Relaxed) == interruption => {}
            1 => {
                self.interrupted_in.store(chunks, Ordering::Relaxed);
                self.interruption.store(interruption, Ordering::Relaxed);
            }
            _ => {
                self.interrupted_in.store(u32::MAX, Ordering::Relaxed);
                self.interruption.store(0, Ordering::Relaxed);
            }
        }
    }

    /// Whether a call beside the innermost may store in the thread's chunk with this
    /// count, of `chunks`. [`Calls::look`] was just called.
    pub fn may_store(&self, chunk: u32, chunks: u32) -> bool {
        let in_doubt = || {
            self.doubts.iter().any(|doubt| {
                doubt.mark.load(Ordering::Relaxed) != 0
                    && chunk <= doubt.chunks.load(Ordering::Relaxed)
            })
        };
        chunk <= self.interrupted_in.load(Ordering::Relaxed)
            || chunks.saturating_sub(chunk) <= PATIENCE && in_doubt()
    }

    /// The memory goes to another thread.
    pub fn reset(&self) {
        self.innermost.store(0, Ordering::Relaxed);
        self.forget_interruption();
        for doubt in &self.doubts {
            doubt.mark.store(0, Ordering::Relaxed);
        }
    }

    #[cold]
    #[inline(never)]
    fn begin_inside(&self, mark: &Mark) -> Call {
        let outer = self.living(mark);
        let level = match outer {
            Call::NONE => 0,
            // More than can be distinguished: this one is not.
            _ if outer.level() + 1 == Call::LEVELS => return outer,
            _ => outer.level() + 1,
        };
        if level == 0 {
            self.forget_interruption();
        }
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
        while !call.is_none() {
            if !mark.outlives(call.mark()) {
                if !is_below(call.mark()) {
                    break;
                }
                self.doubt(call.mark());
            }
            call = self.interrupted_by(call);
        }
        call
    }

    fn interrupted_by(&self, call: Call) -> Call {
        match call.level() {
            0 => Call::NONE,
            level => Call(self.interrupted[level].load(Ordering::Relaxed)),
        }
    }

    /// A call ends that is not the innermost, or that is one of a handler.
    #[cold]
    #[inline(never)]
    fn end_inside(&self, mark: &Mark, outer: Call) {
        let innermost = Call(self.innermost.load(Ordering::Relaxed));
        let mut call = innermost;
        while !call.is_none() && call.mark() != mark.address() {
            call = self.interrupted_by(call);
        }
        if call.is_none() {
            return;
        }
        // What interrupted this call has not ended: it is on another stack, or was left.
        let mut later = innermost;
        while later.mark() != mark.address() {
            self.doubt(later.mark());
            later = self.interrupted_by(later);
        }
        self.innermost.store(outer.0, Ordering::Release);
    }

    /// A call is taken for gone, and its mark is as it was.
    fn doubt(&self, mark: usize) {
        let (last, others) = self.doubts.split_last().expect("there are some");
        let is = |doubt: &&Doubt, mark| doubt.mark.load(Ordering::Relaxed) == mark;
        let known = others.iter().find(|doubt| is(doubt, mark));
        let free = || others.iter().find(|doubt| is(doubt, 0));
        let (doubt, mark) = match known.or_else(free) {
            Some(doubt) => (doubt, mark),
            None => (last, MANY),
        };
        doubt.chunks.store(0, Ordering::Relaxed);
        doubt.mark.store(mark, Ordering::Relaxed);
    }
}

/// Something that one user at a time has, who may be gone without giving it back.
pub(crate) struct Holder(AtomicUsize);

impl Holder {
    /// Takes it for as long as `mark` is there, unless another call has it. For the one
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
            doubts: [const {
                Doubt {
                    mark: AtomicUsize::new(0),
                    chunks: AtomicU32::new(0),
                }
            }; DOUBTS],
            interrupted_in: AtomicU32::new(0),
            interruption: AtomicU64::new(0),
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
        calls.end(&mark, outer);
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
        calls.innermost.store(address, Ordering::Relaxed);
        assert_eq!(begun(&calls), Call(address));
        // SAFETY: all its users have returned.
        unsafe { libc::munmap(page.cast(), 4096) };
        assert!(begun(&calls).is_none());
    }

    #[test]
    fn calls_too_deep_to_be_distinguished_are_interrupted_all_the_same() {
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
    fn what_an_ended_thread_holds_can_be_taken() {
        let holder = Holder(AtomicUsize::new(0));
        let (first, second) = (Mark::new(), Mark::new());
        assert!(holder.take(&first) && !holder.take(&second));
        first.0.store(0, Ordering::Relaxed);
        assert!(holder.take(&second));
        holder.release();
        assert!(holder.take(&first));
    }
}
