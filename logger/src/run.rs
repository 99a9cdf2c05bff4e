//! The run that the process writes: whether a log is open, under which number its
//! records go, when and where it began. Knows neither threads' memory nor files.
//!
//! A forked child shares nothing with its parent but the memory it was given a copy
//! of. It finds that out by a page that the kernel wipes on fork.

use crate::clock;
use crate::published::Published;
use crate::sys::{self, Errno};
use core::sync::atomic::{AtomicU8, AtomicU32, AtomicU64, Ordering};
use logdef_wire::{Run, ThreadNumber};

/// The state of the run that the process writes.
pub(crate) struct RunState {
    phase: AtomicU32,
    /// The thread that opens or closes the log, or begins a child's run; 0 if it is not known yet.
    changer: AtomicU64,
    id: AtomicU64,
    /// Points to a word that is the run, and zero in a forked child.
    token: Published<AtomicU64>,
    pub pid: AtomicU32,
    /// The run that opened the log, and the one that this process was forked in; zero
    /// for none.
    family: AtomicU64,
    parent: AtomicU64,
    pub realtime: AtomicU64,
    pub monotonic: AtomicU64,
    /// Calls while no log was open, or the thread had no memory.
    pub missed: AtomicU64,
    pub drops: Drops,
    next_thread: AtomicU64,
    pub host: HostIdentity,
}

/// No log is open: calls are counted.
const CLOSED: u32 = 0;
/// A thread opens a log.
const OPENING: u32 = 1;
/// Records are written.
const OPEN: u32 = 2;
/// A thread of a forked child begins the child's run in the log that the parent opened.
const BEGINNING_CHILD: u32 = 3;
/// A thread lets go of the log that it closes: no other one is opened meanwhile.
const CLOSING: u32 = 4;

/// Of the sequence's 24 bits; few in unit tests, of which one uses them up.
const MAX_THREADS: u64 = if cfg!(test) { 500 } else { 1 << 24 };

/// The thread numbers of a run are used up.
pub(crate) struct NumbersUsedUp {
    /// Whether the calling thread is the first that learns it.
    pub first: bool,
}

impl RunState {
    pub const fn new() -> RunState {
        RunState {
            phase: AtomicU32::new(CLOSED),
            changer: AtomicU64::new(0),
            id: AtomicU64::new(0),
            token: Published::new(),
            pid: AtomicU32::new(0),
            family: AtomicU64::new(0),
            parent: AtomicU64::new(0),
            realtime: AtomicU64::new(0),
            monotonic: AtomicU64::new(0),
            missed: AtomicU64::new(0),
            drops: Drops::new(),
            next_thread: AtomicU64::new(0),
            host: HostIdentity::new(),
        }
    }

    /// The run; zero before the first.
    #[inline(always)]
    pub fn id(&self) -> Run {
        Run(self.id.load(Ordering::Relaxed))
    }

    /// The run that opened the log.
    pub fn family(&self) -> Run {
        match self.family.load(Ordering::Relaxed) {
            0 => self.id(),
            family => Run(family),
        }
    }

    /// The run that this process was forked in, if it was.
    pub fn parent(&self) -> Option<Run> {
        let parent = self.parent.load(Ordering::Relaxed);
        (parent != 0).then_some(Run(parent))
    }

    /// What was dropped before a fork, the parent reports.
    pub fn leave_drops_to_parent(&self) {
        self.missed.store(0, Ordering::Relaxed);
        self.drops.take_unnoted();
    }

    /// The next run is that of a forked child.
    pub fn descend(&self) {
        self.leave_drops_to_parent();
        self.family.store(self.family().0, Ordering::Relaxed);
        self.parent.store(self.id().0, Ordering::Relaxed);
    }

    /// The next run is the first of its family.
    pub fn found(&self) {
        self.family.store(0, Ordering::Relaxed);
        self.parent.store(0, Ordering::Relaxed);
    }

    /// Whether a log is open. Waits for the thread that begins the run of this forked child, for
    /// a second at most: a call made meanwhile belongs to that run.
    pub fn is_open(&self) -> bool {
        self.is_ready() || self.wait_for_another(&[BEGINNING_CHILD]) == OPEN
    }

    /// Whether a log is open, and no thread is beginning the run of this forked child.
    #[inline(always)]
    pub fn is_ready(&self) -> bool {
        self.phase.load(Ordering::Acquire) == OPEN
    }

    /// Whether a thread opens a log.
    pub fn is_opening(&self) -> bool {
        self.phase.load(Ordering::Acquire) == OPENING
    }

    /// Takes the right to open a log, which [`RunState::set_open`] or
    /// [`RunState::abandon_open`] gives back. `false` if one is open.
    pub fn begin_open(&self) -> bool {
        self.wait_for_another(&[CLOSING]);
        self.change(CLOSED, OPENING)
    }

    /// Takes the right to re-initialize a forked child. `false` if another thread
    /// has it.
    pub fn begin_reinit(&self) -> bool {
        self.change(OPEN, BEGINNING_CHILD)
    }

    fn change(&self, from: u32, to: u32) -> bool {
        let taken = self
            .phase
            .compare_exchange(from, to, Ordering::Acquire, Ordering::Relaxed);
        if taken.is_ok() {
            self.changer.store(sys::thread_self(), Ordering::Release);
        }
        taken.is_ok()
    }

    /// Waits while another thread opens or closes the log, for a second at most: it may hold a
    /// lock of the dynamic linker, which a child forked meanwhile would wait for in vain.
    pub fn wait_for_others_change(&self) {
        self.wait_for_another(&[OPENING, BEGINNING_CHILD, CLOSING]);
    }

    /// Waits while another thread is in one of `phases`, for a second at most; returns the phase
    /// that it saw then.
    #[cold]
    fn wait_for_another(&self, phases: &[u32]) -> u32 {
        for _ in 0..1000 {
            let (phase, by_another) = self.phase_and_changer();
            if !by_another || !phases.contains(&phase) {
                return phase;
            }
            sys::wait_while(&self.phase, phase, 1);
        }
        self.phase.load(Ordering::Acquire)
    }

    /// The phase, and whether it is one that another thread ends.
    fn phase_and_changer(&self) -> (u32, bool) {
        let phase = self.phase.load(Ordering::Acquire);
        let by_another = self.changer.load(Ordering::Acquire) != sys::thread_self();
        (
            phase,
            matches!(phase, OPENING | BEGINNING_CHILD | CLOSING) && by_another,
        )
    }

    /// The process is a forked child: what another thread was changing, which does not
    /// exist here, is as it was before.
    pub fn abandon_others_change(&self) {
        match self.phase_and_changer() {
            (OPENING | CLOSING, true) => self.end_change(CLOSED),
            (BEGINNING_CHILD, true) => self.end_change(OPEN),
            _ => {}
        }
    }

    /// Records are written from now on.
    pub fn set_open(&self) {
        self.end_change(OPEN);
    }

    /// Gives up opening.
    pub fn abandon_open(&self) {
        self.end_change(CLOSED);
    }

    fn end_change(&self, phase: u32) {
        // Before the phase: a thread that changes it next is not taken for this one.
        self.changer.store(0, Ordering::Relaxed);
        self.phase.store(phase, Ordering::Release);
    }

    /// Ends the log: later calls are counted. `false` if none was open; else [`RunState::finish_close`] follows.
    pub fn begin_close(&self) -> bool {
        self.wait_for_another(&[BEGINNING_CHILD]);
        self.change(OPEN, CLOSING)
    }

    /// The log that was closed has let go of what it had.
    pub fn finish_close(&self) {
        self.end_change(CLOSED);
    }

    /// Makes the word by which a forked child is recognized, unless it exists already.
    pub fn prepare(&self) -> Result<(), Errno> {
        if self.token.get().is_none() {
            self.token.publish_first(sys::allocate_wiped_on_fork()?);
        }
        self.host.look();
        Ok(())
    }

    /// Forgets the threads of the run before, and looks at the clocks: the wall clock
    /// and the monotonic one. Drops of that run which no note has reported are for this one to
    /// report. [`RunState::publish_next`] follows.
    pub fn prepare_next(&self) -> (u64, u64) {
        let unnoted = self.drops.take_unnoted();
        self.missed.fetch_add(unnoted, Ordering::Relaxed);
        self.pid.store(sys::process_id(), Ordering::Relaxed);
        let looks = (0..8).find_map(|_| clock::both());
        let (realtime, monotonic) =
            looks.unwrap_or_else(|| (clock::realtime(), clock::monotonic()));
        self.realtime.store(realtime, Ordering::Relaxed);
        self.monotonic.store(monotonic, Ordering::Relaxed);
        (realtime, monotonic)
    }

    /// Threads that find the new run take numbers in it.
    pub fn publish_next(&self) {
        let id = sys::random();
        self.id.store(id, Ordering::Release);
        // After it: who gets one of the new numbers finds the new run.
        self.next_thread.store(0, Ordering::SeqCst);
        self.set_token(id);
    }

    /// Whether this is a forked child that was not re-initialized yet.
    pub fn needs_reinit_after_fork(&self) -> bool {
        let token = self.token.get();
        token.is_some_and(|token| token.load(Ordering::Acquire) == 0)
    }

    /// Whether this is a forked child that still has its parent's word: the kernel did not wipe
    /// it, and the child did not begin its own run.
    pub fn is_left_by_parent(&self) -> bool {
        !self.needs_reinit_after_fork() && self.pid.load(Ordering::Relaxed) != sys::process_id()
    }

    /// The process is a forked child, and the kernel did not wipe the word that says so.
    pub fn note_fork(&self) {
        self.set_token(0);
    }

    fn set_token(&self, value: u64) {
        if let Some(token) = self.token.get() {
            token.store(value, Ordering::Release);
        }
    }

    /// A number for a thread, and the run that it is of.
    pub fn number_thread(&self) -> Result<(Run, ThreadNumber), NumbersUsedUp> {
        loop {
            let run = self.id();
            let number = self.next_thread.fetch_add(1, Ordering::SeqCst);
            if number >= MAX_THREADS {
                return Err(NumbersUsedUp {
                    first: number == MAX_THREADS,
                });
            }
            // Else another run began in between.
            if self.id() == run {
                return Ok((run, ThreadNumber(number)));
            }
        }
    }

    /// Counts as dropped the calls that no thread counts. How many they were.
    #[cold]
    pub fn take_missed(&self) -> u64 {
        let missed = self.missed.swap(0, Ordering::Relaxed);
        if missed > 0 {
            self.drops.add(missed);
        }
        missed
    }

    /// How many threads of the run have got a number.
    pub fn threads_begun(&self) -> u64 {
        self.next_thread.load(Ordering::SeqCst)
    }
}

/// How many calls of the run were dropped, those included that a record counts.
pub(crate) struct Drops {
    count: AtomicU64,
    /// How many of them a note has reported.
    noted: AtomicU64,
    /// When the first was dropped that no note has reported; 0 if all are reported.
    since: AtomicU64,
}

impl Drops {
    const fn new() -> Drops {
        Drops {
            count: AtomicU64::new(0),
            noted: AtomicU64::new(0),
            since: AtomicU64::new(0),
        }
    }

    /// Starts again from zero. How many no note has reported.
    fn take_unnoted(&self) -> u64 {
        let count = self.count.swap(0, Ordering::Relaxed);
        let noted = self.noted.swap(0, Ordering::Relaxed);
        self.since.store(0, Ordering::Relaxed);
        count.saturating_sub(noted)
    }

    /// Counts calls that were dropped. `true` if that is to be noted at once: now and
    /// then, so that the log of a program that is killed has a sixteenth of the number at least.
    pub fn add(&self, calls: u64) -> bool {
        if self.since.load(Ordering::Relaxed) == 0 {
            self.since.store(clock::realtime(), Ordering::Relaxed);
        }
        let count = self.count.fetch_add(calls, Ordering::Relaxed) + calls;
        count.is_power_of_two() && count.trailing_zeros().is_multiple_of(4)
    }

    /// How many calls were dropped.
    pub fn count(&self) -> u64 {
        self.count.load(Ordering::Relaxed)
    }

    /// How many calls were dropped and since when, if a note has not reported all of them.
    pub fn to_note(&self) -> Option<(u64, u64)> {
        let count = self.count();
        let since = self.since.load(Ordering::Relaxed);
        (count > self.noted.load(Ordering::Relaxed)).then_some((count, since))
    }

    /// How many of them no note has reported.
    pub fn unnoted(&self) -> u64 {
        let noted = self.noted.load(Ordering::Relaxed);
        self.count().saturating_sub(noted)
    }

    /// A note has reported `count` of them.
    pub fn note(&self, count: u64) {
        self.noted.fetch_max(count, Ordering::Relaxed);
        self.since.store(0, Ordering::Relaxed);
    }
}

/// Host name and boot ID.
pub(crate) struct HostIdentity {
    name: [AtomicU8; 64],
    boot_id: [AtomicU8; 36],
}

impl HostIdentity {
    const fn new() -> HostIdentity {
        HostIdentity {
            name: [const { AtomicU8::new(0) }; 64],
            boot_id: [const { AtomicU8::new(0) }; 36],
        }
    }

    fn look(&self) {
        let store = |to: &[AtomicU8], from: &[u8]| {
            for (to, from) in to.iter().zip(from) {
                to.store(*from, Ordering::Relaxed);
            }
        };
        store(&self.name, sys::host_name(&mut [0; 64]));
        if let Some(boot_id) = sys::boot_id() {
            store(&self.boot_id, &boot_id);
        }
    }

    /// Copies a name; `None` if it is not known.
    fn copy<'b>(from: &[AtomicU8], into: &'b mut [u8; 64]) -> Option<&'b [u8]> {
        for (to, from) in into.iter_mut().zip(from) {
            *to = from.load(Ordering::Relaxed);
        }
        let name = sys::until_nul(into);
        (!name.is_empty()).then_some(name)
    }

    /// The host's name.
    pub fn name<'b>(&self, into: &'b mut [u8; 64]) -> Option<&'b [u8]> {
        HostIdentity::copy(&self.name, into)
    }

    /// The identity of the boot.
    pub fn boot_id<'b>(&self, into: &'b mut [u8; 64]) -> Option<&'b [u8]> {
        HostIdentity::copy(&self.boot_id, into)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Level, NewCallSite, Sink, value};
    use logdef_wire::{Record, frame};
    use std::collections::HashSet;

    /// Calls `each` with the records of a log.
    fn records(bytes: &[u8], mut each: impl FnMut(Record<'_>)) {
        let mut rest = bytes;
        while let Some(start) = rest.iter().position(|byte| *byte != 0) {
            let found = frame::decode(&rest[start..]).unwrap();
            match Record::decode(found.body).unwrap() {
                Record::Masked(masked) => {
                    let mut plain = vec![0; found.body.len()];
                    each(Record::decode(masked.unmask(&mut plain).unwrap()).unwrap());
                }
                plain => each(plain),
            }
            rest = &rest[start + found.len..];
        }
    }

    #[test]
    fn a_process_continues_as_another_run_when_the_thread_numbers_are_used_up() {
        // One that was appended to continued without what its new run refers to.
        continue_as_others(Sink::Mapped);
        continue_as_others(Sink::Append);
    }

    fn continue_as_others(sink: Sink) {
        const THREADS: u64 = 2 * MAX_THREADS + 10;
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("log");
        crate::options().sink(sink).open(&path).unwrap();
        let site = NewCallSite::new(Level::INFO, "{}", 1).register();
        for thread in 0..THREADS {
            let logs = move || {
                site.log(&[value(&(2 * thread))]);
                site.log(&[value(&(2 * thread + 1))]);
            };
            std::thread::spawn(logs).join().unwrap();
        }
        crate::close();
        let (mut numbers, mut sequences) = (HashSet::new(), HashSet::new());
        let (mut runs, mut counted) = (HashSet::new(), 0);
        let mut described = HashSet::new();
        records(&std::fs::read(&path).unwrap(), |record| {
            if let Record::TextLogdef(text) = &record {
                described.insert(text.run);
            }
            if let Record::Data(data) = record {
                assert!(described.contains(&data.run), "{sink:?}: {data:?}");
                numbers.insert(data.args.unwrap().iter().next().unwrap().as_uint());
                assert!(sequences.insert((data.run, data.sequence)), "{data:?}");
                runs.insert(data.run);
                counted += data.dropped.unwrap_or(0);
            }
        });
        // A call each time that a run follows another.
        assert!(counted <= 2, "{counted}");
        assert_eq!(numbers.len() as u64 + counted, 2 * THREADS);
        assert_eq!(runs.len(), 3);
    }

    #[test]
    fn drops_are_noted_now_and_then_until_all_are_reported() {
        let drops = Drops::new();
        assert_eq!(drops.to_note(), None);
        let at_once = (1..=1000).filter(|_| drops.add(1)).count();
        assert_eq!(at_once, 3, "at 1, 16 and 256");
        let (count, since) = drops.to_note().unwrap();
        assert!(count == 1000 && since > 0);
        drops.note(256);
        assert_eq!(drops.to_note().unwrap().0, 1000);
        drops.note(1000);
        assert_eq!(drops.to_note(), None);
        drops.add(7);
        assert_eq!(drops.take_unnoted(), 7);
        assert_eq!((drops.count(), drops.take_unnoted()), (0, 0));
    }
}
