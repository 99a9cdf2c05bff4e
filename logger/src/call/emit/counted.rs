//! What a call counts: its sequence, and the calls that were lost before it. A record that
//! is not written gives back what it took. Knows no bytes of a record.

use crate::call::body::Backtrace;
use crate::calls::{Call, Mark};
use crate::context::{self, Context};
use crate::note;
use crate::process::{Process, process};
use crate::thread::{Dropped, Thread, own_add};
use core::sync::atomic::Ordering;
use logdef_wire::Sequence;

/// A call's record, once its thread is known.
pub struct Record<'r> {
    pub process: &'r Process,
    pub thread: &'r Thread,
    pub sequence: Sequence,
    /// Calls that were lost before it.
    pub dropped: u64,
    pub backtrace: Backtrace<'r>,
    pub context: Option<&'r Context>,
}

impl<'r> Record<'r> {
    /// Takes the count of the calls that were lost before this one, so that a handler
    /// which interrupts it does not write the count down as well.
    #[inline(always)]
    pub fn of(
        process: &'r Process,
        thread: &'r Thread,
        sequence: Sequence,
        backtrace: Backtrace<'r>,
    ) -> Record<'r> {
        Record {
            process,
            thread,
            sequence,
            dropped: take_dropped(process, thread),
            backtrace,
            context: context::current(),
        }
    }

    pub fn max_string(&self) -> usize {
        self.process.shared.settings.max_string()
    }

    /// Gives the count back if the record was not written.
    #[inline(always)]
    pub fn end(&self, written: Result<(), Dropped>) -> Result<(), Dropped> {
        if written.is_err() {
            own_add(&self.thread.dropped, self.dropped);
        }
        written
    }
}

/// Takes the count of the calls of the thread that were lost.
#[inline]
fn take_dropped(process: &Process, thread: &Thread) -> u64 {
    let mut dropped = 0;
    if thread.dropped.load(Ordering::Relaxed) > 0 {
        dropped = thread.dropped.swap(0, Ordering::Relaxed);
    }
    if process.shared.run.missed.load(Ordering::Relaxed) > 0 {
        dropped += process.shared.run.take_missed();
        // This record may be the last one that has a count.
        process.shared.drops_are_due();
    }
    dropped
}

/// A call that has its sequence.
#[derive(Clone, Copy)]
pub struct Counted<'t> {
    pub thread: &'t Thread,
    mark: &'t Mark,
    pub sequence: Sequence,
    /// The call that it interrupted.
    outer: Call,
}

impl<'t> Counted<'t> {
    #[inline(always)]
    pub fn begin(thread: &'t Thread, mark: &'t Mark) -> Counted<'t> {
        let outer = thread.lasting().calls.begin(mark);
        Counted {
            thread,
            mark,
            sequence: thread.count(),
            outer,
        }
    }

    #[inline(always)]
    pub fn end(self, written: Result<(), Dropped>) {
        let thread = self.thread;
        if written.is_err() {
            count_drop(thread);
        }
        thread.lasting().calls.end(self.mark, self.outer);
        if self.outer.is_none() {
            // All calls that this one interrupted or was interrupted by are
            // over.
            let next = thread.next.load(Ordering::Relaxed);
            thread.returned.store(next, Ordering::Release);
        }
    }
}

/// A call was dropped.
#[cold]
#[inline(never)]
fn count_drop(thread: &Thread) {
    own_add(&thread.dropped, 1);
    let process = process();
    if process.shared.run.drops.add(1) {
        note::drops(process);
    } else {
        note::keep_count(process);
    }
}
