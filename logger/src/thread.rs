//! What the logger keeps for each thread that logs: its place in the log, its
//! number and count, and what the chunk it writes to already defines.
//!
//! A thread's memory is its own, and everything in it may be met half-changed
//! by a signal handler of the same thread that logs.
//!
//! The memory reads as zeros in a forked child. Zero is no run, so a child
//! finds that it has to start again at the price of a comparison that is made
//! anyway. What a call needs that the fork interrupted is kept beside it, in memory
//! that a child has a copy of ([`Lasting`]).

mod fields;
mod marks;
mod owner;
mod region;

use crate::calls::{Calls, Holder, Mark};
use crate::sys;
use crate::tls;
use crate::window::{Windows, count};
use core::num::NonZeroUsize;
use core::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use logdef_wire::{Run, Sequence, ThreadNumber};

use marks::Marks;
use owner::Owner;

pub(crate) use fields::Fields;
pub(crate) use region::Threads;

/// The stack on which a fatal signal is noted: the unwinder alone takes more than
/// the stacks that runtimes lay aside for such handlers.
const SIGNAL_STACK: usize = 64 << 10;
/// Room for the frames of one call that do not fit the stack.
const SCRATCH: usize = 80 << 10;
/// A call takes up to two of them, a handler that interrupts it another.
const SCRATCHES: usize = 3;

/// A thread's memory.
#[repr(C, align(64))]
pub(crate) struct Thread {
    /// The run for which all this holds.
    pub run: AtomicU64,
    /// Where the thread writes; the sink's business.
    pub place: AtomicU64,
    /// A run in which the thread is to leave its chunk before its next call.
    sent_away: AtomicU64,
    /// How many chunks the thread has had.
    pub chunks: AtomicU32,
    /// The sequence of the next call.
    pub next: AtomicU64,
    /// How many calls before which all have returned, or never will.
    pub returned: AtomicU64,
    /// Records that could not be written since the last that could.
    pub dropped: AtomicU64,
    /// The family's count of evictions that the thread knows of; the sink's business.
    pub evictions: AtomicU64,
    /// Set while the thread takes a chunk.
    takes_chunk: AtomicBool,
    /// How many chunks the owners had before the thread got its number.
    chunks_before: AtomicU32,
    /// The fields run and thread, encoded.
    fields: [AtomicU64; 3],
    /// How many bytes they take, and above that what the checksum has to know of
    /// them.
    fields_about: AtomicU64,
    /// While the owner is given a number: one more than those that were given before.
    begins: AtomicU64,
    tid: AtomicU32,
    pub clock: crate::clock::Anchor,
    marks: Marks,
}

/// The part of a thread's memory of which a forked child has a copy: a call that a
/// handler interrupted and forked in continues there, and needs it.
#[repr(C, align(64))]
pub(crate) struct Lasting {
    /// First, where a call finds it without adding an offset.
    pub calls: Calls,
    pub windows: Windows,
    owner: Owner,
    scratch_holders: [Holder; SCRATCHES],
    scratch: [core::cell::UnsafeCell<[u8; SCRATCH]>; SCRATCHES],
    signal_stack: core::cell::UnsafeCell<[u8; SIGNAL_STACK]>,
}

// SAFETY: all but the scratch memory and the signal stack is atomic. The one is
// lent to its own thread only, one call at a time, by `Scratch`; the other is
// given to the kernel, for the same thread.
unsafe impl Sync for Lasting {}

/// A call's record could not be written.
pub(crate) struct Dropped;

impl Thread {
    /// The calling thread's memory, if it has any.
    #[inline(always)]
    pub fn mine() -> Option<&'static Thread> {
        let mine: *const Thread = tls::get();
        // SAFETY: null, or set by `make_mine` to a reference that is valid for ever.
        unsafe { mine.as_ref() }
    }

    /// Makes this the calling thread's memory.
    pub fn make_mine(&'static self) {
        tls::set(core::ptr::from_ref(self).cast_mut());
    }

    /// The calling thread has no memory from now on.
    pub fn forget_mine() {
        tls::clear();
    }

    /// Takes the next sequence. One instruction on x86_64, so that a handler
    /// of this thread takes another.
    #[inline]
    pub fn count(&self) -> Sequence {
        Sequence(own_add(&self.next, 1))
    }

    /// The thread's number in its run.
    pub fn number(&self) -> ThreadNumber {
        Sequence(self.next.load(Ordering::Relaxed)).number()
    }

    /// The fields run and thread of the thread's records.
    #[inline(always)]
    pub fn fields(&self) -> Fields {
        let about = self.fields_about.load(Ordering::Relaxed);
        Fields {
            words: self
                .fields
                .each_ref()
                .map(|word| word.load(Ordering::Relaxed)),
            len: (about as u8 as usize).min(Fields::ROOM),
            may_begin_header: about & Fields::MAY_BEGIN_HEADER != 0,
            crc: (about >> 32) as u32,
        }
    }

    /// The kernel's id of the thread.
    pub fn tid(&self) -> u32 {
        self.tid.load(Ordering::Relaxed)
    }

    /// Scratch memory of the thread, unless this call and those that were interrupted
    /// have all there is. It is lent for as long as the mark, on the caller's stack, is
    /// there.
    pub fn scratch<'t>(&'t self, mark: &'t Mark) -> Option<Scratch<'t>> {
        let lasting = self.lasting();
        let mut all = lasting.scratch_holders.iter().zip(&lasting.scratch);
        let (holder, memory) = all.find(|(holder, _)| holder.take(mark))?;
        Some(Scratch { holder, memory })
    }
}

/// Adds to a word that only its own thread and that thread's signal handlers
/// write. On x86_64 one instruction without a lock prefix: a handler comes
/// before or after it, never between its load and its store.
#[inline(always)]
pub(crate) fn own_add(word: &AtomicU64, add: u64) -> u64 {
    #[cfg(target_arch = "x86_64")]
    {
        let mut value = add;
        // SAFETY: the word is valid and aligned; other threads only read it,
        // and an aligned eight-byte store is seen whole.
        unsafe {
            core::arch::asm!(
                "xadd qword ptr [{word}], {value}",
                word = in(reg) word.as_ptr(),
                value = inout(reg) value,
                options(nostack),
            );
        }
        value
    }
    #[cfg(not(target_arch = "x86_64"))]
    {
        word.fetch_add(add, Ordering::Relaxed)
    }
}

/// The loan of a thread's scratch memory.
pub(crate) struct Scratch<'t> {
    holder: &'t Holder,
    memory: &'t core::cell::UnsafeCell<[u8; SCRATCH]>,
}

impl Scratch<'_> {
    /// The memory; what it holds is of no meaning.
    pub fn bytes(&mut self) -> &mut [u8] {
        // SAFETY: `Holder::take` lends to one call of the thread that owns the memory, and
        // again only when that call has released it or a handler jumped out of it: then
        // its stack frames, and the borrow in them, are never used again.
        unsafe { &mut *self.memory.get() }
    }
}

impl Drop for Scratch<'_> {
    fn drop(&mut self) {
        self.holder.release();
    }
}

/// Lends scratch memory of the thread; what is interrupted too often gets memory
/// of its own.
pub(crate) fn with_scratch<T>(
    thread: &Thread,
    work: impl FnOnce(&mut [u8]) -> Result<T, Dropped>,
) -> Result<T, Dropped> {
    let mark = Mark::new();
    if let Some(mut scratch) = thread.scratch(&mark) {
        return work(scratch.bytes());
    }
    let len = const { NonZeroUsize::new(SCRATCH).unwrap() };
    let mut memory = sys::Temporary::new(len).map_err(|_| Dropped)?;
    work(memory.bytes())
}

impl Lasting {
    /// The memory is another thread's: what calls of the last owner left behind is gone
    /// with its stack.
    fn begin(&self) {
        self.calls.reset();
        self.scratch_holders.iter().for_each(Holder::release);
    }
}

impl Thread {
    /// The part of which a forked child has a copy.
    #[inline(always)]
    pub fn lasting(&self) -> &Lasting {
        let address = core::ptr::from_ref(self).addr() + region::Region::WIPED;
        // SAFETY: all threads are in regions, of which the whole was exposed, and both
        // parts take the same room.
        unsafe { &*core::ptr::with_exposed_provenance(address) }
    }

    /// Takes the memory, unless it is another thread's.
    pub fn take(&self) -> bool {
        self.lasting().owner.take()
    }

    /// Takes the memory of a thread that ended without leaving it.
    fn take_from_the_dead(&self) -> bool {
        self.lasting().owner.take_from_the_dead()
    }

    /// The memory stays the calling thread's, in a forked child.
    fn keep(&self) {
        self.lasting().owner.set();
    }

    /// The owner is about to be given a number, none of those below `from`. What is to
    /// be handed to [`Thread::finish_begin`]: a handler may have interrupted the same.
    pub fn begin(&self, from: u64) -> u64 {
        let before = self.begins.load(Ordering::Relaxed);
        self.begins.store(from + 1, Ordering::SeqCst);
        before
    }

    /// The owner has its number.
    pub fn finish_begin(&self, previous: u64) {
        self.begins.store(previous, Ordering::Release);
    }

    /// A number that no thread's is below which may have begun and does not show yet
    /// what it has logged.
    pub fn begins_from(&self) -> u64 {
        match self.begins.load(Ordering::SeqCst) {
            0 => u64::MAX,
            begins => begins - 1,
        }
    }

    /// Makes the memory that of the calling thread, under a new number. What a
    /// thread of the run before it could not write, it takes with it. With `signal_stack`, the
    /// thread handles signals on a stack that is large enough to note a fatal one.
    pub fn adopt(&self, run: Run, number: ThreadNumber, signal_stack: bool) {
        if !self.is_of(run) {
            // Notes report it, or the first record of the run.
            self.dropped.store(0, Ordering::Relaxed);
        }
        let sent_away = self.sent_away.swap(0, Ordering::Relaxed) != 0;
        if sent_away || self.run.load(Ordering::Relaxed) != run.0 {
            // Of an earlier run: its chunk is in another file.
            self.place.store(0, Ordering::Relaxed);
        }
        if self.run.load(Ordering::Relaxed) != run.0 {
            // Or it is in the same one, which defines nothing of this run.
            self.marks.forget();
        }
        let lasting = self.lasting();
        lasting.owner.set();
        lasting.calls.forget_interruption();
        // One of them stays with the owner, if it keeps its place.
        let goes_on = self.place.load(Ordering::Relaxed) != 0;
        let chunks = lasting.windows.count().0 - u32::from(goes_on);
        self.chunks_before.store(chunks, Ordering::Relaxed);
        self.marks.forget_thread();
        let first = Sequence::new(number, 0).0;
        self.next.store(first, Ordering::Relaxed);
        self.returned.store(first, Ordering::Relaxed);
        self.tid.store(sys::thread_id(), Ordering::Relaxed);
        self.clock.reset();
        if signal_stack {
            sys::set_signal_stack(lasting.signal_stack.get().cast(), SIGNAL_STACK);
        }
        let fields = Fields::of(run, sys::thread_self());
        for (to, from) in self.fields.iter().zip(fields.words) {
            to.store(from, Ordering::Relaxed);
        }
        let begins = if fields.may_begin_header {
            Fields::MAY_BEGIN_HEADER
        } else {
            0
        };
        let about = u64::from(fields.crc) << 32 | begins | fields.len as u64;
        self.fields_about.store(about, Ordering::Relaxed);
        self.run.store(run.0, Ordering::Release);
    }

    /// Makes the thread leave its chunk before its next call: the file is given up.
    /// By any thread, and in a signal handler.
    pub fn send_away(&self) {
        let run = self.run.load(Ordering::Acquire);
        if run != 0 {
            self.sent_away.store(run, Ordering::Release);
            // To find that it has no run brings the thread to `come_back`.
            self.run.store(0, Ordering::Release);
        }
    }

    /// Continues without a chunk, if the thread was sent away in this run and may take
    /// more sequences. `false` for any other thread.
    pub fn come_back(&self, run: Run) -> bool {
        let sent = self.sent_away.swap(0, Ordering::AcqRel) == run.0 && run.0 != 0;
        if sent {
            self.place.store(0, Ordering::Relaxed);
            self.run.store(run.0, Ordering::Release);
        }
        sent
    }

    /// Whose a call's record is that found the thread in a chunk, where the process's run is
    /// `run` now.
    pub fn call_of(&self, run: Run, chunk: u32) -> CallOf {
        if self.is_of(run) && count(chunk).0 > self.chunks_before.load(Ordering::Relaxed) {
            return CallOf::Thread;
        }
        // In a forked child the thread's memory is wiped, or has a number of the child's run.
        let mine = self.run.load(Ordering::Acquire);
        if mine != 0 && mine != run.0 {
            CallOf::EarlierRun
        } else {
            CallOf::Parent
        }
    }

    /// Takes a chunk, with the thread's signals blocked: no handler logs, forks or jumps
    /// away in the middle of it. `None` in a handler that comes all the same, since an
    /// instruction raised its signal or another process sent one that cannot be blocked.
    pub fn take_chunk<T>(&self, take: impl FnOnce() -> T) -> Option<T> {
        let _blocked = sys::SignalsBlocked::new();
        if self.takes_chunk.swap(true, Ordering::Relaxed) {
            return None;
        }
        let taken = take();
        self.takes_chunk.store(false, Ordering::Relaxed);
        Some(taken)
    }

    /// Forgets what chunks define, and which were an earlier owner's: their names start again.
    pub fn forget_marks(&self) {
        self.chunks_before.store(0, Ordering::Relaxed);
        self.marks.forget();
    }

    /// Whether the thread has logged in a run.
    pub fn is_of(&self, run: Run) -> bool {
        self.run.load(Ordering::Acquire) == run.0 || self.sent_away.load(Ordering::Acquire) == run.0
    }

    /// Forgets the run: what the kernel does in a forked child, where it can.
    pub fn wipe(&self) {
        self.run.store(0, Ordering::Relaxed);
        self.place.store(0, Ordering::Relaxed);
        self.chunks.store(0, Ordering::Relaxed);
    }

    /// Leaves the memory to the next thread.
    pub fn release(&self) {
        self.lasting().owner.clear();
    }
}

/// Whose a call's record is, after the call was interrupted.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum CallOf {
    /// That of the thread, which has the number under which the call was counted.
    Thread,
    /// That of a run of this process which has ended, since its threads' numbers were used
    /// up: no file is open for it any more.
    EarlierRun,
    /// That of the parent of this process: a handler forked in the middle of the call.
    Parent,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::window::Range;
    use std::collections::BTreeSet;

    pub(super) fn thread() -> &'static Thread {
        static THREADS: Threads = Threads::new();
        THREADS.claim().unwrap()
    }

    #[test]
    fn a_call_that_a_new_run_of_the_process_overtakes_is_not_taken_for_the_parent_s() {
        let thread = thread();
        let (before, after) = (Run(1), Run(2));
        thread.adopt(before, ThreadNumber(5), false);
        let range = Range {
            turn: 1,
            offset: 0,
            len: 1,
        };
        let (chunk, _) = thread
            .lasting()
            .windows
            .put(range, core::ptr::dangling_mut())
            .unwrap();
        assert_eq!(thread.call_of(before, chunk), CallOf::Thread);
        assert_eq!(thread.call_of(after, chunk), CallOf::EarlierRun);
        thread.send_away();
        assert_eq!(thread.call_of(before, chunk), CallOf::Thread);
        // What a forked child finds, before its first call and after it.
        thread.wipe();
        assert_eq!(thread.call_of(after, chunk), CallOf::Parent);
        thread.adopt(after, ThreadNumber(1), false);
        assert_eq!(thread.call_of(after, chunk), CallOf::Parent);
    }

    #[test]
    fn scratch_is_lent_once() {
        let thread = thread();
        let marks = [const { Mark::new() }; SCRATCHES + 1];
        let (last, firsts) = marks.split_last().unwrap();
        let mut lent: Vec<_> = firsts
            .iter()
            .map(|mark| thread.scratch(mark).unwrap())
            .collect();
        let places = lent.iter_mut().map(|scratch| scratch.bytes().as_ptr());
        assert_eq!(BTreeSet::from_iter(places).len(), SCRATCHES);
        assert!(thread.scratch(last).is_none());
        drop(lent);
        assert!(thread.scratch(last).is_some());
    }

    #[test]
    fn memory_of_an_ended_thread_is_used_again() {
        static THREADS: Threads = Threads::new();
        let all: Vec<_> = (0..region::REGION_THREADS + 1)
            .map(|_| THREADS.claim().unwrap())
            .collect();
        all[3].release();
        assert!(core::ptr::eq(THREADS.claim().unwrap(), all[3]));
        assert_eq!(THREADS.iter().count(), 2 * region::REGION_THREADS);
    }
}
