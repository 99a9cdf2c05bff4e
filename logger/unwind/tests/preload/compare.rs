//! A library to be preloaded into any program: five thousand times a second it
//! interrupts the program and compares the stack as we and as libgcc see it. A
//! thread that is where it was last time is waiting; then another one is
//! interrupted. When the program ends, a line of counts is appended to the file
//! that `LOGDEF_TEST_REPORT` names. Used by `tests/real_programs.rs`.

#[path = "../oracle/interrupted.rs"]
mod interrupted;

use interrupted::Verdict;
use std::ffi::c_void;
use std::io::Write;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

const PERIOD: i64 = 200_000;

/// A signal that no program here handles, and that is ignored by default, as after an
/// `exec` with one pending.
const SIGNAL: i32 = libc::SIGURG;

static SAME: AtomicUsize = AtomicUsize::new(0);
static GUESSED: AtomicUsize = AtomicUsize::new(0);
/// The stack frame before the guess.
static GUESSED_AT: AtomicUsize = AtomicUsize::new(0);
static IN_LIBGCC: AtomicUsize = AtomicUsize::new(0);
static DIFFERENT: AtomicUsize = AtomicUsize::new(0);
static TOLD: AtomicBool = AtomicBool::new(false);

#[used]
#[unsafe(link_section = ".init_array")]
static START: extern "C" fn() = start;
#[used]
#[unsafe(link_section = ".fini_array")]
static END: extern "C" fn() = end;

extern "C" fn start() {
    if std::env::var_os("LOGDEF_TEST_REPORT").is_none() {
        return;
    }
    logdef_unwind::warm_up();
    // SAFETY: the handler has the right form, and structures are zeroed and
    // filled as the calls demand.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = on_signal as *const () as usize;
        action.sa_flags = libc::SA_SIGINFO | libc::SA_RESTART;
        libc::sigaction(SIGNAL, &action, std::ptr::null_mut());
        let mut event: libc::sigevent = std::mem::zeroed();
        event.sigev_notify = libc::SIGEV_THREAD_ID;
        event.sigev_signo = SIGNAL;
        event.sigev_notify_thread_id = libc::gettid();
        let mut timer = std::mem::zeroed();
        libc::timer_create(libc::CLOCK_MONOTONIC, &mut event, &mut timer);
        let period = libc::timespec {
            tv_sec: 0,
            tv_nsec: PERIOD,
        };
        let every = libc::itimerspec {
            it_interval: period,
            it_value: period,
        };
        libc::timer_settime(timer, 0, &every, std::ptr::null_mut());
    }
}

extern "C" fn on_signal(_: i32, _: *mut libc::siginfo_t, context: *mut c_void) {
    // SAFETY: the location is this thread's own.
    let errno = unsafe { *libc::__errno_location() };
    // SAFETY: the kernel passes the interrupted context.
    let context = unsafe { &*context.cast::<libc::ucontext_t>() };
    if is_waiting(context) {
        interrupt_another();
    } else {
        compare(context);
    }
    // SAFETY: the location of `errno` is this thread's own.
    unsafe { *libc::__errno_location() = errno };
}

/// Whether the last signal came at the same place.
fn is_waiting(context: &libc::ucontext_t) -> bool {
    static LAST: AtomicUsize = AtomicUsize::new(0);
    let (pc, sp) = pc_and_sp(context);
    let place = pc ^ sp.rotate_left(32);
    LAST.swap(place, Ordering::Relaxed) == place
}

#[cfg(target_arch = "x86_64")]
fn pc_and_sp(context: &libc::ucontext_t) -> (usize, usize) {
    let register = |number: i32| context.uc_mcontext.gregs[number as usize] as usize;
    (register(libc::REG_RIP), register(libc::REG_RSP))
}

#[cfg(target_arch = "aarch64")]
fn pc_and_sp(context: &libc::ucontext_t) -> (usize, usize) {
    let registers = &context.uc_mcontext;
    (registers.pc as usize, registers.sp as usize)
}

/// Sends the signal on to a thread of the process, each in turn.
fn interrupt_another() {
    static TURN: AtomicUsize = AtomicUsize::new(0);
    // Entries of a directory as the kernel gives them: inode, offset, length of
    // the entry, type, name.
    let mut entries = [0u8; 4096];
    // SAFETY: all of it is plain system calls on memory and a descriptor of our
    // own.
    let len = unsafe {
        let fd = libc::open(
            c"/proc/self/task".as_ptr(),
            libc::O_RDONLY | libc::O_DIRECTORY,
        );
        let len = libc::syscall(
            libc::SYS_getdents64,
            fd,
            entries.as_mut_ptr(),
            entries.len(),
        );
        libc::close(fd);
        len.max(0) as usize
    };
    let mut threads = [0; 64];
    let (mut count, mut at) = (0, 0);
    while at < len && count < threads.len() {
        let entry = &entries[at..len];
        at += usize::from(u16::from_ne_bytes([entry[16], entry[17]]));
        let name = entry[19..]
            .split(|byte| *byte == 0)
            .next()
            .unwrap_or_default();
        let number = str::from_utf8(name)
            .ok()
            .and_then(|name| name.parse::<i32>().ok());
        if let Some(thread) = number {
            threads[count] = thread;
            count += 1;
        }
    }
    let turn = TURN.fetch_add(1, Ordering::Relaxed);
    if count > 1 {
        // SAFETY: the signal is handled here, or ignored.
        unsafe {
            libc::syscall(
                libc::SYS_tgkill,
                libc::getpid(),
                threads[turn % count],
                SIGNAL,
            )
        };
    }
}

#[inline(always)]
fn compare(context: &libc::ucontext_t) {
    let (verdict, views) = interrupted::compare(context);
    let count = match verdict {
        Verdict::Same => &SAME,
        Verdict::SameUntilGuessed => {
            GUESSED_AT.store(views.last_sure(), Ordering::Relaxed);
            &GUESSED
        }
        Verdict::InLibgcc => &IN_LIBGCC,
        Verdict::Different(problem) => {
            // Once: formatting allocates, which the program may have been doing.
            if !TOLD.swap(true, Ordering::Relaxed) {
                eprintln!("{problem}");
                views.print();
            }
            &DIFFERENT
        }
    };
    count.fetch_add(1, Ordering::Relaxed);
}

extern "C" fn end() {
    let Some(report) = std::env::var_os("LOGDEF_TEST_REPORT") else {
        return;
    };
    // SAFETY: nothing of ours runs in the program from here on.
    unsafe { libc::signal(SIGNAL, libc::SIG_IGN) };
    let program = std::env::current_exe().unwrap_or_default();
    let [same, guessed, in_libgcc, different] =
        [&SAME, &GUESSED, &IN_LIBGCC, &DIFFERENT].map(|count| count.load(Ordering::Relaxed));
    let guessed_at = match GUESSED_AT.load(Ordering::Relaxed) {
        0 => String::new(),
        address => format!(" guessed beyond {}", interrupted::describe(address)),
    };
    let line = format!(
        "{same} {guessed} {in_libgcc} {different} {}{guessed_at}\n",
        program.display()
    );
    let file = std::fs::OpenOptions::new().append(true).open(report);
    _ = file.and_then(|mut file| file.write_all(line.as_bytes()));
}
