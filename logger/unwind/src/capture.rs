//! Backtraces as callers ask for them: addresses alone, or with the module and the
//! confidence of each. The walk itself is the processor's own folder.

use crate::cache::{self, Epoch};
use crate::processor::{self, AtCall};
use crate::{modules, stack};

/// Stores the return addresses of the calling function and its callers in
/// `out`, innermost first, leaving out the first `skip`; returns how many there
/// are.
///
/// The first is the address to which this call returns, inside the calling
/// function (this function is inlined into it, and adds no stack frame of its own).
/// Where the walk crosses a signal handler, the address after the kernel's
/// trampoline is that of the interrupted instruction; [`capture_frames`] marks
/// that one, and those that were guessed.
///
/// Signal safety: async-signal-safe; no lock, no allocation, no load that could fault. A thread
/// that has called [`register_thread`](crate::register_thread) needs no system
/// call. On an alternate signal stack there should be 7 KiB left for addresses
/// never seen before (10 KiB on aarch64); when their rules are known, 2 KiB are
/// enough (3 KiB).
///
/// ```
/// let mut addresses = [0; 32];
/// let len = logdef_unwind::capture(&mut addresses, 0);
/// assert!(len > 1);
/// ```
#[inline(always)]
pub fn capture(out: &mut [usize], skip: usize) -> usize {
    let mut addresses = Sink::new(out, skip);
    // SAFETY: `fill_addresses` takes what is passed here.
    unsafe { processor::with_registers((&raw mut addresses).cast(), fill_addresses) };
    addresses.len()
}

/// Like [`capture`], with the kind and the tag of each stack frame.
///
/// Signal safety: async-signal-safe.
#[inline(always)]
pub fn capture_frames(out: &mut [StackFrame], skip: usize) -> usize {
    let mut frames = Sink::new(out, skip);
    // SAFETY: `fill_frames` takes what is passed here.
    unsafe { processor::with_registers((&raw mut frames).cast(), fill_frames) };
    frames.len()
}

/// Stores the stack frames of the code that a signal interrupted in `out`,
/// innermost first, given the third argument of the handler; returns how many
/// there are.
///
/// Unlike a walk from within the handler it does not depend on how the handler
/// was entered, and shows no stack frames of the handler. A damaged stack or context yields
/// fewer stack frames, never a fault.
///
/// Signal safety: async-signal-safe.
pub fn capture_interrupted(context: &libc::ucontext_t, out: &mut [StackFrame]) -> usize {
    let mut frames = Sink::new(out, 0);
    if !frames.out.is_empty() {
        processor::walk_from_context(context, |frame| frames.push(frame));
    }
    frames.len()
}

/// Where a stack frame is in its function.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FrameKind {
    /// The address is the one that a call returns to: the call is before it.
    #[default]
    Return,
    /// The address is that of the interrupted instruction itself.
    Exact,
    /// A return address found by following frame pointers, here or further in:
    /// code without call frame information gives no better, and stack frames may
    /// be missing or wrong.
    Guessed,
}

/// One stack frame of a backtrace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StackFrame {
    /// The code address (AVMA).
    pub address: usize,
    /// Where in its function the address is, and whether it was guessed.
    pub kind: FrameKind,
    /// The tag that [`set_tag`](Self::set_tag) last stored for this address; 0 if none was
    /// stored, or it was forgotten.
    pub tag: u32,
    /// When the stack was walked: a tag must not be stored for another module that was mapped
    /// at the address since.
    pub(crate) epoch: Epoch,
}

impl StackFrame {
    /// Stores `tag` for this address, for all threads, in the cache entry that
    /// the next walk reads anyway.
    ///
    /// This is a cache: the tag may be forgotten at any time, and always is when
    /// modules change.
    ///
    /// Signal safety: async-signal-safe.
    pub fn set_tag(&self, tag: u32) {
        processor::set_tag(self, tag);
    }
}

/// Does once what would otherwise happen in the first capture: lists the
/// modules where the C library cannot, registers the calling thread, and walks
/// its stack.
///
/// Signal safety: not async-signal-safe: it takes the loader's lock and may allocate. To be
/// called at start-up.
pub fn warm_up() {
    modules::refresh();
    if !stack::is_registered() {
        stack::register_thread();
    }
    capture(&mut [0; 64], 0);
}

/// Forgets everything that was cached about code addresses. A program that unloads modules
/// calls this, or [`modules::refresh`], before other code can run at the same
/// addresses.
///
/// Signal safety: async-signal-safe.
pub fn forget() {
    cache::start_epoch();
}

/// A slice being filled, after the first few items were left out.
struct Sink<'out, T> {
    out: &'out mut [T],
    /// Where the next item goes; wraps around from far below zero as long as
    /// items are to be left out.
    next: usize,
}

impl<'out, T> Sink<'out, T> {
    #[inline]
    fn new(out: &'out mut [T], skip: usize) -> Self {
        let next = 0usize.wrapping_sub(skip.min(MAX_SKIP));
        Self { out, next }
    }

    #[inline]
    fn len(&self) -> usize {
        if self.next <= self.out.len() {
            self.next
        } else {
            0
        }
    }

    #[inline]
    fn fill(&mut self, at_call: &AtCall, item: impl Fn(StackFrame) -> T) {
        if self.out.is_empty() {
            return;
        }
        // A sink of its own, for the sake of registers.
        let mut sink = Sink {
            out: &mut *self.out,
            next: self.next,
        };
        processor::walk_from_call(at_call, |frame| sink.push(item(frame)));
        self.next = sink.next;
    }

    /// Takes one item and says whether there is room for another.
    #[inline]
    fn push(&mut self, item: T) -> bool {
        if let Some(place) = self.out.get_mut(self.next) {
            *place = item;
        }
        self.next = self.next.wrapping_add(1);
        self.next != self.out.len()
    }
}

/// More than any stack has.
const MAX_SKIP: usize = 1 << 32;

/// # Safety
///
/// `sink` points to a `Sink<usize>` that is not used otherwise during the call.
unsafe extern "C" fn fill_addresses(at_call: &AtCall, sink: *mut ()) {
    // SAFETY: `sink` points to a `Sink<usize>` that only this call uses (contract above).
    unsafe { &mut *sink.cast::<Sink<'_, usize>>() }.fill(at_call, |frame| frame.address);
}

/// # Safety
///
/// `sink` points to a `Sink<StackFrame>` that is not used otherwise during the call.
unsafe extern "C" fn fill_frames(at_call: &AtCall, sink: *mut ()) {
    // SAFETY: `sink` points to a `Sink<StackFrame>` that only this call uses (contract above).
    unsafe { &mut *sink.cast::<Sink<'_, StackFrame>>() }.fill(at_call, |frame| frame);
}
