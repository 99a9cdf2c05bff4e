//! The one log of the process: its run, its settings, its tables. Everything
//! that calls from all threads share, and nothing that is on their way more
//! than a load.
//!
//! A forked child shares nothing with its parent but the memory it was given a
//! copy of. It finds that out when it meets a page that the kernel wipes on
//! fork, and becomes a process of its own, with a run and threads of its own,
//! before its first record.

pub(crate) mod calls;
pub(crate) mod guard;
pub(crate) mod handler;
pub(crate) mod meeting;
pub(crate) mod thread;
pub(crate) mod tls;

use crate::call::filter::{FIRST_GATE, Filter};
use crate::image::Images;
use crate::mirror::{self, Mirror};
use crate::note::trouble::Trouble;
use crate::observer::Observer;
use crate::process::thread::{Thread, Threads};
use crate::sink::Sink;
use crate::sys;
use core::num::NonZeroUsize;
use core::sync::atomic::{
    AtomicBool, AtomicI32, AtomicPtr, AtomicU8, AtomicU32, AtomicU64, Ordering,
};
use logdef_wire::{Level, Run, ThreadNumber};

/// Set if the kernel cannot wipe memory on fork; then a fork handler does.
pub(crate) static WIPE_ON_FORK_MISSING: AtomicBool = AtomicBool::new(false);

/// See the module.
pub(crate) struct Process {
    /// See [`crate::call::filter`].
    pub gate: AtomicU32,
    phase: AtomicU32,
    run: AtomicU64,
    /// Points to a word that is the run, and zero in a forked child.
    token: AtomicPtr<AtomicU64>,
    pub pid: AtomicU32,
    pub realtime: AtomicU64,
    pub monotonic: AtomicU64,
    level: AtomicU8,
    backtrace_level: AtomicU8,
    notable_level: AtomicU8,
    backtrace_depth: AtomicU8,
    max_string: AtomicU32,
    notes_signals: AtomicBool,
    filter: AtomicPtr<Filter>,
    /// Calls while no log was open.
    pub missed: AtomicU64,
    next_thread: AtomicU64,
    next_site: AtomicU32,
    pub threads: Threads,
    pub images: Images,
    pub code: crate::image::code::Code,
    pub sink: Sink,
    pub clock: crate::clock::Clock,
    pub mirror: Mirror,
    pub trouble: Trouble,
    about: About,
    /// Its destructor runs when a thread that logged ends. -1 before.
    exit_key: AtomicI32,
}

/// No log is open: calls are counted.
const CLOSED: u32 = 0;
/// A log is being opened, or a forked child is finding itself.
const CHANGING: u32 = 1;
/// Records are written.
const OPEN: u32 = 2;

/// Of the sequence's 24 bits.
const MAX_THREADS: u64 = 1 << 24;
/// A thread takes a new number when fewer calls than this are left to it.
pub(crate) const SEQUENCE_MARGIN: u64 = 1 << 16;

static PROCESS: Process = Process::new();

/// The process.
#[inline(always)]
pub(crate) const fn process() -> &'static Process {
    &PROCESS
}

impl Process {
    const fn new() -> Process {
        Process {
            gate: AtomicU32::new(FIRST_GATE),
            phase: AtomicU32::new(CLOSED),
            run: AtomicU64::new(0),
            token: AtomicPtr::new(core::ptr::null_mut()),
            pid: AtomicU32::new(0),
            realtime: AtomicU64::new(0),
            monotonic: AtomicU64::new(0),
            level: AtomicU8::new(Level::TRACE.0),
            backtrace_level: AtomicU8::new(Level::ERROR.0),
            notable_level: AtomicU8::new(Level::ERROR.0),
            backtrace_depth: AtomicU8::new(32),
            max_string: AtomicU32::new(16 << 10),
            notes_signals: AtomicBool::new(false),
            filter: AtomicPtr::new(core::ptr::null_mut()),
            missed: AtomicU64::new(0),
            next_thread: AtomicU64::new(0),
            next_site: AtomicU32::new(crate::call::site::FIRST_ID),
            threads: Threads::new(),
            images: Images::new(),
            code: crate::image::code::Code::new(),
            sink: Sink::new(),
            clock: crate::clock::Clock::new(),
            mirror: Mirror::new(),
            trouble: Trouble::new(),
            about: About::new(),
            exit_key: AtomicI32::new(-1),
        }
    }

    /// What does not change while the machine runs.
    pub fn about(&self) -> &About {
        &self.about
    }

    /// The run; zero before the first.
    #[inline(always)]
    pub fn run(&self) -> Run {
        Run(self.run.load(Ordering::Relaxed))
    }

    /// Whether records are written.
    pub fn is_open(&self) -> bool {
        self.phase.load(Ordering::Acquire) == OPEN
    }

    /// The level from which calls are on that no filter mentions.
    pub fn level(&self) -> Level {
        Level(self.level.load(Ordering::Relaxed))
    }

    /// Sets that level.
    pub fn set_level(&self, level: Level) {
        self.level.store(level.0, Ordering::Relaxed);
        self.move_gate();
    }

    /// The filter, if one was set.
    pub fn filter(&self) -> Option<&Filter> {
        // SAFETY: null, or a filter that is never freed: a site may be reading
        // it at any time, in a signal handler too, so that an old one stays.
        unsafe { self.filter.load(Ordering::Acquire).as_ref() }
    }

    /// Sets the filter.
    pub fn set_filter(&self, filter: Filter) {
        let filter = Box::into_raw(Box::new(filter));
        self.filter.store(filter, Ordering::Release);
        self.move_gate();
    }

    /// Makes every site decide anew whether it is on.
    fn move_gate(&self) {
        let moved = self.gate.fetch_add(2, Ordering::AcqRel).wrapping_add(2);
        if moved == 0 {
            self.gate.fetch_add(FIRST_GATE, Ordering::AcqRel);
        }
    }

    /// Records of this level and above carry a backtrace.
    pub fn backtrace_level(&self) -> Level {
        Level(self.backtrace_level.load(Ordering::Relaxed))
    }

    /// Sets that level.
    pub fn set_backtrace_level(&self, level: Level) {
        self.backtrace_level.store(level.0, Ordering::Relaxed);
        self.note_levels();
    }

    /// Shows records of this level and above in the mirror.
    pub fn set_mirror_level(&self, level: Option<Level>) {
        self.mirror.set(level);
        self.note_levels();
    }

    /// Tells an observer of records of this level and above.
    pub fn set_observer(&self, observer: Option<(Level, &'static dyn Observer)>) {
        self.mirror.set_observer(observer);
        self.note_levels();
    }

    /// Records of this level and above need more than to be written.
    #[inline(always)]
    pub fn notable_level(&self) -> Level {
        Level(self.notable_level.load(Ordering::Relaxed))
    }

    /// Looks anew which records need more than to be written: all while the log has
    /// something to say about itself.
    pub fn note_levels(&self) {
        let level = match self.trouble.is_due() {
            true => 0,
            false => mirror::notable_level(self).0,
        };
        self.notable_level.store(level, Ordering::Relaxed);
    }

    /// How many return addresses a backtrace has at most.
    pub fn backtrace_depth(&self) -> usize {
        self.backtrace_depth.load(Ordering::Relaxed) as usize
    }

    /// Sets that depth.
    pub fn set_backtrace_depth(&self, depth: usize) {
        let depth = depth.min(crate::call::emit::MAX_BACKTRACE) as u8;
        self.backtrace_depth.store(depth, Ordering::Relaxed);
    }

    /// Longer strings are cut.
    #[inline]
    pub fn max_string(&self) -> usize {
        self.max_string.load(Ordering::Relaxed) as usize
    }

    /// Sets that bound.
    pub fn set_max_string(&self, bytes: usize) {
        let bytes = bytes.min(60_000) as u32;
        self.max_string.store(bytes, Ordering::Relaxed);
    }

    /// Whether threads are to be ready for fatal signals.
    pub fn notes_signals(&self) -> bool {
        self.notes_signals.load(Ordering::Relaxed)
    }

    /// Readies threads for fatal signals when they log first.
    pub fn note_signals(&self) {
        self.notes_signals.store(true, Ordering::Relaxed);
    }

    /// A number for a call site.
    pub fn next_site(&self) -> u32 {
        self.next_site.fetch_add(1, Ordering::Relaxed)
    }

    /// Leaves all to another copy of the logger: a gate that no site has, so that
    /// each call asks.
    pub fn follow(&self) {
        self.gate.store(u32::MAX, Ordering::Release);
    }

    /// Takes the right to open a log. `false` if one is open.
    pub fn begin_open(&self) -> bool {
        let taken =
            self.phase
                .compare_exchange(CLOSED, CHANGING, Ordering::Acquire, Ordering::Relaxed);
        taken.is_ok()
    }

    /// Opens for good, after the sink was set, as a new run.
    pub fn finish_open(&self) -> Result<(), sys::Errno> {
        self.prepare_thread_exit();
        if self.token.load(Ordering::Relaxed).is_null() {
            let (page, wiped) = sys::allocate_wiped_on_fork(NonZeroUsize::new(4096).unwrap())?;
            if !wiped {
                WIPE_ON_FORK_MISSING.store(true, Ordering::Relaxed);
            }
            self.token.store(page.as_ptr().cast(), Ordering::Release);
        }
        install_fork_handler();
        self.about.look();
        self.begin_run();
        self.phase.store(OPEN, Ordering::Release);
        self.move_gate();
        Ok(())
    }

    /// Gives up opening.
    pub fn abandon_open(&self) {
        self.phase.store(CLOSED, Ordering::Release);
    }

    /// Ends the log: later calls are counted. `false` if none was open.
    pub fn end(&self) -> bool {
        let ended = self
            .phase
            .compare_exchange(OPEN, CLOSED, Ordering::AcqRel, Ordering::Relaxed);
        self.move_gate();
        ended.is_ok()
    }

    fn begin_run(&self) {
        self.next_thread.store(0, Ordering::Relaxed);
        self.pid.store(sys::process_id(), Ordering::Relaxed);
        let (realtime, monotonic) = (crate::clock::realtime(), crate::clock::monotonic());
        self.realtime.store(realtime, Ordering::Relaxed);
        self.monotonic.store(monotonic, Ordering::Relaxed);
        self.trouble.begin(realtime, monotonic);
        self.note_levels();
        let run = sys::random();
        self.run.store(run, Ordering::Release);
        // SAFETY: set in `finish_open` before any run begins, never given back.
        if let Some(token) = unsafe { self.token.load(Ordering::Acquire).as_ref() } {
            token.store(run, Ordering::Release);
        }
    }

    /// Whether this is a forked child that has not found itself yet.
    pub fn is_orphan(&self) -> bool {
        // SAFETY: as in `begin_run`.
        let token = unsafe { self.token.load(Ordering::Acquire).as_ref() };
        token.is_some_and(|token| token.load(Ordering::Acquire) == 0)
    }

    /// The calling thread's memory, after it was found to have none or one of
    /// another run. `None` if the log is closed or there is no memory: the call
    /// is dropped.
    #[cold]
    pub fn attach(&self) -> Option<&'static Thread> {
        if !self.is_open() {
            return None;
        }
        if self.is_orphan() && !self.become_child() {
            return None;
        }
        let mine: *mut Thread = tls::get();
        // SAFETY: null, or set below to memory that is never given back.
        if let Some(mine) = unsafe { mine.as_ref() }
            && mine.come_back(self.run())
        {
            return Some(mine);
        }
        // SAFETY: set below, to memory that is never given back.
        let thread = match unsafe { mine.as_ref() } {
            Some(mine) => mine,
            None => {
                let new = process().threads.claim()?;
                tls::set(core::ptr::from_ref(new).cast_mut());
                self.notice_exit(new);
                new
            }
        };
        let before = thread.begin(self.threads_begun());
        let number = self.next_thread.fetch_add(1, Ordering::SeqCst);
        if number >= MAX_THREADS {
            // What a thread before it was is not what it is.
            thread.run.store(0, Ordering::Relaxed);
            thread.has_begun(before);
            // The thread numbers are used up: this process goes on as another
            // run. One thread begins it; the others are attached to it next
            // time.
            if number == MAX_THREADS {
                self.begin_run();
            }
            return None;
        }
        thread.adopt(self, ThreadNumber(number));
        thread.has_begun(before);
        Some(thread)
    }

    /// How many threads of the run have got a number.
    pub fn threads_begun(&self) -> u64 {
        self.next_thread.load(Ordering::SeqCst)
    }

    /// A forked child becomes a process of its own. `false` while another
    /// thread is at it.
    fn become_child(&self) -> bool {
        let taken =
            self.phase
                .compare_exchange(OPEN, CHANGING, Ordering::Acquire, Ordering::Relaxed);
        if taken.is_err() {
            return false;
        }
        self.missed.store(0, Ordering::Relaxed);
        self.sink.become_child();
        self.begin_run();
        self.phase.store(OPEN, Ordering::Release);
        true
    }

    fn prepare_thread_exit(&self) {
        if self.exit_key.load(Ordering::Relaxed) >= 0 {
            return;
        }
        let mut key = 0;
        // SAFETY: `key` is valid for writes; the destructor outlives every
        // thread, since nothing unloads the logger.
        if unsafe { libc::pthread_key_create(&mut key, Some(thread_exits)) } == 0 {
            self.exit_key.store(key as i32, Ordering::Release);
        }
    }

    fn notice_exit(&self, thread: &'static Thread) {
        let key = self.exit_key.load(Ordering::Acquire);
        if key >= 0 {
            let value = core::ptr::from_ref(thread).cast();
            // SAFETY: the key was created. Keys made early, as ours is, need no
            // allocation to be set.
            unsafe { libc::pthread_setspecific(key as libc::pthread_key_t, value) };
        }
    }
}

/// Names of the machine.
pub(crate) struct About {
    host: [AtomicU8; 64],
    boot_id: [AtomicU8; 36],
}

impl About {
    const fn new() -> About {
        About {
            host: [const { AtomicU8::new(0) }; 64],
            boot_id: [const { AtomicU8::new(0) }; 36],
        }
    }

    fn look(&self) {
        let store = |to: &[AtomicU8], from: &[u8]| {
            for (to, from) in to.iter().zip(from) {
                to.store(*from, Ordering::Relaxed);
            }
        };
        store(&self.host, sys::host_name(&mut [0; 64]));
        if let Ok(fd) = sys::open(c"/proc/sys/kernel/random/boot_id", libc::O_RDONLY, 0) {
            let mut boot_id = [0; 36];
            if sys::read(fd, &mut boot_id) == Ok(36) {
                store(&self.boot_id, &boot_id);
            }
            sys::close(fd);
        }
    }

    /// Copies a name; `None` if it is not known.
    fn name<'b>(from: &[AtomicU8], into: &'b mut [u8; 64]) -> Option<&'b [u8]> {
        for (to, from) in into.iter_mut().zip(from) {
            *to = from.load(Ordering::Relaxed);
        }
        let name = sys::until_nul(into);
        (!name.is_empty()).then_some(name)
    }

    /// The host's name.
    pub fn host<'b>(&self, into: &'b mut [u8; 64]) -> Option<&'b [u8]> {
        About::name(&self.host, into)
    }

    /// The identity of the boot.
    pub fn boot_id<'b>(&self, into: &'b mut [u8; 64]) -> Option<&'b [u8]> {
        About::name(&self.boot_id, into)
    }
}

unsafe extern "C" fn thread_exits(thread: *mut libc::c_void) {
    tls::clear();
    // SAFETY: the value is what `notice_exit` set: memory that is never given
    // back.
    let thread = unsafe { &*thread.cast::<Thread>() };
    thread.release();
}

/// A child whose `fork` stood in a signal handler returns into the call that
/// was interrupted; there must be memory where that call writes. And where the
/// kernel cannot wipe memory on fork, the handler does it.
fn install_fork_handler() {
    static INSTALLED: AtomicBool = AtomicBool::new(false);
    if !INSTALLED.swap(true, Ordering::Relaxed) {
        // SAFETY: the handler is a function of this program that touches
        // atomics and makes system calls only.
        unsafe { libc::pthread_atfork(None, None, Some(forked)) };
    }
}

unsafe extern "C" fn forked() {
    let process = process();
    process.sink.leave_to_parent();
    if !WIPE_ON_FORK_MISSING.load(Ordering::Relaxed) {
        return;
    }
    // SAFETY: as in `begin_run`.
    if let Some(token) = unsafe { process.token.load(Ordering::Relaxed).as_ref() } {
        token.store(0, Ordering::Relaxed);
    }
    for thread in process.threads.iter() {
        thread.run.store(0, Ordering::Relaxed);
        thread.place.store(0, Ordering::Relaxed);
        thread.release();
    }
}
