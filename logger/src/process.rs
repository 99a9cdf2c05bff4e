//! The one log of the process: what its calls share, and how threads and forked
//! children come to it. The global itself is asked for by those above this floor only:
//! those below are handed what they need.
//!
//! A forked child becomes a process of its own, with a run and threads of its own,
//! before its first record.

use crate::captured::Capture;
use crate::clock::Time;
use crate::control::Control;
use crate::early::Early;
use crate::handler;
use crate::image::Images;
use crate::image::code::Code;
use crate::mirror::Mirror;
use crate::observer::Observer;
use crate::shared::Shared;
use crate::sink::Sink;
use crate::sys;
use crate::thread::{Thread, Threads};
use core::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use logdef_wire::{Level, Sequence};

/// Everything that the log calls of the process share.
pub(crate) struct Process {
    pub shared: Shared,
    pub images: &'static Images,
    pub code: Code,
    pub sink: Sink,
    pub mirror: Mirror,
    pub control: Control,
    pub early: &'static Early,
    /// Its destructor runs when a thread that logged ends. -1 before.
    exit_key: AtomicI32,
}

/// A thread takes a new number when fewer calls than this are left to it.
const SEQUENCE_MARGIN: u64 = 1 << 16;

static PROCESS: Process = Process::new();
/// Beside the process, whose file would hold their zeros otherwise.
static EARLY: Early = Early::new();
static IMAGES: Images = Images::new();
static THREADS: Threads = Threads::new();

#[inline(always)]
pub(crate) const fn process() -> &'static Process {
    &PROCESS
}

impl Process {
    const fn new() -> Process {
        Process {
            shared: Shared::new(&THREADS),
            images: &IMAGES,
            code: Code::new(),
            sink: Sink::new(),
            mirror: Mirror::new(),
            control: Control::new(),
            early: &EARLY,
            exit_key: AtomicI32::new(-1),
        }
    }

    /// Records of this level and above carry a backtrace from now on.
    pub fn set_backtrace_level(&self, level: Level) {
        self.shared.settings.set_backtrace_level(level);
        self.shared.update_slow_path_level();
    }

    /// Shows records of this level and above in the mirror.
    pub fn set_mirror_level(&self, level: Option<Level>) {
        self.mirror.set(level);
        self.update_shown_level();
    }

    /// Calls an observer with each record of this level or above.
    pub fn set_observer(&self, observer: Option<(Level, &'static dyn Observer)>) {
        self.mirror.set_observer(observer);
        self.update_shown_level();
    }

    /// Copies records into a capture from now on.
    pub fn begin_capture(&self, capture: &'static Capture) {
        self.mirror.captures.begin(capture);
        self.update_shown_level();
        // Calls that were off are logged from now on.
        self.shared.settings.listeners.call_all();
    }

    /// The capture wants no more records.
    pub fn end_capture(&self) {
        self.mirror.captures.end();
        self.update_shown_level();
        self.shared.settings.listeners.call_all();
    }

    /// Threads may do this at the same time: the one that stores the level last has looked since
    /// at what it follows from.
    fn update_shown_level(&self) {
        loop {
            let shown = self.mirror.lowest_level();
            self.shared.settings.set_shown_level(shown);
            self.shared.update_slow_path_level();
            if self.mirror.lowest_level() == shown {
                return;
            }
        }
    }

    /// Now, by the wall clock, for a thread.
    #[inline(always)]
    pub fn now(&self, thread: &Thread) -> u64 {
        let passing = Passing {
            process: self,
            thread,
        };
        thread.clock.now(&self.shared.clock, &passing)
    }

    /// Learns of forks from now on, those in the middle of an opening included.
    pub fn notice_forks(&self) {
        install_fork_handler();
    }

    /// Opens for good, after the sink was set, as a new run.
    pub fn finish_open(&self) -> Result<(), sys::Errno> {
        self.prepare_thread_exit();
        self.shared.threads.prepare()?;
        self.shared.run.prepare()?;
        self.shared.run.found();
        self.shared.reports.begin_log();
        self.shared.begin_run();
        self.shared.run.set_open();
        self.shared.settings.move_gate();
        Ok(())
    }

    /// Ends the log: later calls are counted. `false` if none was open.
    pub fn close(&self) -> bool {
        let closed = self.shared.run.begin_close();
        if closed {
            self.control.end();
            self.sink.stop_helper(&self.shared);
            self.sink.let_go(&self.shared);
            self.shared.run.finish_close();
        }
        self.shared.settings.move_gate();
        closed
    }

    /// The calling thread's memory, after it was found to have none or one of
    /// another run. `None` if the log is closed or there is no memory: the call
    /// is dropped. Waits for the thread that begins the run of a forked child.
    #[cold]
    pub fn attach(&'static self) -> Option<&'static Thread> {
        let Shared { run, settings, .. } = &self.shared;
        // No handler comes in the middle of it, to log, fork or jump away.
        let _blocked = loop {
            if !run.is_open() {
                return None;
            }
            let blocked = sys::SignalsBlocked::new();
            let is_ready = if run.needs_reinit_after_fork() {
                self.become_child()
            } else {
                run.is_ready()
            };
            if is_ready {
                break blocked;
            }
        };
        let thread = match Thread::mine() {
            Some(mine) if mine.come_back(run.id()) => return Some(mine),
            Some(mine) => mine,
            None => {
                let new = self.shared.threads.claim()?;
                new.make_mine();
                self.notice_exit(new);
                new
            }
        };
        let previous = thread.begin(run.threads_begun());
        match run.number_thread() {
            Ok((id, number)) => {
                thread.adopt(id, number, settings.notes_signals());
                thread.finish_begin(previous);
                Some(thread)
            }
            Err(used_up) => {
                // What a thread before it was is not what it is.
                thread.run.store(0, Ordering::Relaxed);
                thread.finish_begin(previous);
                // This process continues as another run. One thread begins it; the
                // others are attached to it next time.
                if used_up.first {
                    self.shared.begin_run();
                }
                None
            }
        }
    }

    /// A forked child becomes a process of its own. `false` while another
    /// thread is at it.
    fn become_child(&self) -> bool {
        let run = &self.shared.run;
        if !run.begin_reinit() {
            return false;
        }
        // Another thread did it after this one looked and before it had the right to.
        if !run.needs_reinit_after_fork() {
            run.set_open();
            return true;
        }
        self.sink.become_child(&self.shared, Thread::mine());
        run.descend();
        self.shared.begin_run();
        run.set_open();
        true
    }

    fn prepare_thread_exit(&self) {
        if self.exit_key.load(Ordering::Relaxed) >= 0 {
            return;
        }
        let mut key = 0;
        // SAFETY: `key` is valid for writes; the destructor outlives every thread, since
        // the copy that leads stays loaded (`sys::keep_loaded`).
        if unsafe { libc::pthread_key_create(&mut key, Some(thread_exits)) } == 0 {
            self.exit_key.store(key as i32, Ordering::Release);
        }
    }

    fn notice_exit(&self, thread: &'static Thread) {
        // The C library allocates for the values of further keys, and what a handler interrupted may hold the
        // allocator's lock. The memory of a thread that leaves none is found when another needs some.
        const WITHOUT_ALLOCATION: i32 = 32;
        let key = self.exit_key.load(Ordering::Acquire);
        if key >= 0 && (key < WITHOUT_ALLOCATION || !handler::is_running()) {
            let value = core::ptr::from_ref(thread).cast();
            // SAFETY: the key was created.
            unsafe { libc::pthread_setspecific(key as libc::pthread_key_t, value) };
        }
    }
}

/// What is done for a thread as time passes.
struct Passing<'p> {
    process: &'p Process,
    thread: &'p Thread,
}

impl Time for Passing<'_> {
    fn was_set(&self) -> bool {
        self.process.shared.clock_was_set()
    }

    #[inline]
    fn passes(&self) {
        self.process.shared.time_passes();
        self.process.control.time_passes(&self.process.shared);
        self.process.sink.heed_evictions(self.thread);
    }
}

/// The calling thread's memory, if it has any and it can be used.
#[inline(always)]
pub(crate) fn attached(process: &'static Process) -> Option<&'static Thread> {
    let thread = Thread::mine()?;
    let fresh = thread.run.load(Ordering::Relaxed) == process.shared.run.id().0;
    let next = Sequence(thread.next.load(Ordering::Relaxed)).count();
    let usable = fresh
        && next < (1 << Sequence::COUNT_BITS) - SEQUENCE_MARGIN
        && process.shared.run.is_ready();
    usable.then_some(thread)
}

/// The calling thread's memory.
pub(crate) fn current(process: &'static Process) -> Option<&'static Thread> {
    attached(process).or_else(|| process.attach())
}

unsafe extern "C" fn thread_exits(thread: *mut libc::c_void) {
    Thread::forget_mine();
    // SAFETY: the value is what `notice_exit` set: memory that is never given
    // back.
    let thread = unsafe { &*thread.cast::<Thread>() };
    thread.release();
}

/// A child whose `fork` stood in a signal handler returns into the call that
/// was interrupted; there must be memory where that call writes. And where the
/// kernel did not wipe memory on fork, the handler does it.
fn install_fork_handler() {
    static INSTALLED: AtomicBool = AtomicBool::new(false);
    if !INSTALLED.swap(true, Ordering::Relaxed) {
        // SAFETY: the handlers are never unloaded: the copy that leads stays loaded
        // (`sys::keep_loaded`), and only that one opens a log.
        unsafe { libc::pthread_atfork(Some(about_to_fork), None, Some(forked)) };
    }
}

unsafe extern "C" fn about_to_fork() {
    process().shared.run.wait_for_others_change();
}

unsafe extern "C" fn forked() {
    let Process {
        shared,
        sink,
        control,
        ..
    } = process();
    let mine = Thread::mine();
    shared.run.abandon_others_change();
    sink.leave_to_parent(shared, mine);
    control.leave_to_parent();
    shared.run.leave_drops_to_parent();
    if shared.run.is_left_by_parent() {
        shared.run.note_fork();
        shared.threads.iter().for_each(Thread::wipe);
    }
    shared.threads.keep_only(mine);
}
