//! Single-steps real programs and compares backtraces with libgcc's at their
//! instructions: prologues, epilogues, linkage stubs, the loader's lazy binding,
//! the C library, the machinery of C++ exceptions and Rust panics.
//!
//! The processor's trap flag raises SIGTRAP after each instruction. The handler
//! runs on an alternate stack, so that every walk crosses from one stack to
//! another. `LOGDEF_SLOW=1` compares at 100,000 points, else at some hundred in
//! each program.

#![cfg(target_arch = "x86_64")]

mod compiled;
mod oracle;

use std::ffi::c_void;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

use compiled::Library;
use logdef_unwind::{FrameKind, StackFrame};

const TRAP_FLAG: i64 = 0x100;
const MAX_DEPTH: usize = 128;

/// Whether to go on stepping.
static STEPPING: AtomicBool = AtomicBool::new(false);
/// One instruction in so many is compared, on average.
static ONE_IN: AtomicU64 = AtomicU64::new(1);
static STEPS: AtomicUsize = AtomicUsize::new(0);
static COMPARED: AtomicUsize = AtomicUsize::new(0);
/// Points where libgcc stopped for want of call frame information, and we
/// guessed.
static GUESSED: AtomicUsize = AtomicUsize::new(0);
/// Points inside libgcc's unwinder, which it cannot look at itself.
static IN_LIBGCC: AtomicUsize = AtomicUsize::new(0);
static RANDOM: AtomicU64 = AtomicU64::new(0x2545_F491_4F6C_DD1D);

/// Marsaglia's xorshift; only the stepped thread uses it.
fn random() -> u64 {
    let mut word = RANDOM.load(Ordering::Relaxed);
    word ^= word << 13;
    word ^= word >> 7;
    word ^= word << 17;
    RANDOM.store(word, Ordering::Relaxed);
    word
}

extern "C" fn on_trap(_: i32, _: *mut libc::siginfo_t, context: *mut c_void) {
    // SAFETY: the kernel passes the interrupted context.
    let context = unsafe { &mut *context.cast::<libc::ucontext_t>() };
    let flags = &mut context.uc_mcontext.gregs[libc::REG_EFL as usize];
    if !STEPPING.load(Ordering::Relaxed) {
        *flags &= !TRAP_FLAG;
        return;
    }
    *flags |= TRAP_FLAG;
    STEPS.fetch_add(1, Ordering::Relaxed);
    if random().is_multiple_of(ONE_IN.load(Ordering::Relaxed)) && !compare(context) {
        STEPPING.store(false, Ordering::Relaxed);
    }
}

#[inline(never)]
fn compare(context: &libc::ucontext_t) -> bool {
    let mut from_here = [StackFrame::default(); MAX_DEPTH];
    let len = logdef_unwind::capture_frames(&mut from_here, 1);
    let from_here = &from_here[..len];
    let mut interrupted = [StackFrame::default(); MAX_DEPTH];
    let len = logdef_unwind::capture_interrupted(context, &mut interrupted);
    let interrupted = &interrupted[..len];
    if interrupted
        .iter()
        .take(4)
        .any(|frame| is_in_libgcc(frame.address))
    {
        // About to jump into a handler, libgcc overwrites the saved registers of
        // its own stack frames, and would follow them into the void.
        IN_LIBGCC.fetch_add(1, Ordering::Relaxed);
        return true;
    }
    COMPARED.fetch_add(1, Ordering::Relaxed);
    let mut theirs = [0; MAX_DEPTH];
    let mut their_len = 0;
    // SAFETY: nothing but addresses is asked for.
    unsafe {
        backtrace::trace_unsynchronized(|frame| {
            if !frame.ip().is_null() {
                theirs[their_len] = frame.ip() as usize;
                their_len += 1;
            }
            their_len < MAX_DEPTH
        });
    }
    let theirs = &theirs[..their_len];

    let sure = |frames: &[StackFrame]| {
        let guess = frames
            .iter()
            .position(|frame| frame.kind == FrameKind::Guessed);
        guess.unwrap_or(frames.len())
    };
    if sure(from_here) < from_here.len() {
        GUESSED.fetch_add(1, Ordering::Relaxed);
    }
    let ours = &from_here[..sure(from_here)];
    let Some(exact) = ours.iter().position(|frame| frame.kind == FrameKind::Exact) else {
        return report("no interrupted frame", ours, theirs);
    };
    // What comes before the handler is libgcc's own way into it.
    let theirs_from_handler = theirs
        .iter()
        .position(|address| *address == ours[0].address)
        .map_or(&theirs[..0], |handler| &theirs[handler..]);
    if !ours
        .iter()
        .map(|frame| frame.address)
        .eq(theirs_from_handler.iter().copied())
    {
        return report("not as libgcc", ours, theirs);
    }
    if ours[exact..] != interrupted[..sure(interrupted)] {
        return report("not as from the context", interrupted, theirs);
    }
    true
}

/// What went wrong, told after the handler is done: it may have interrupted
/// the allocator.
struct Failure {
    problem: &'static str,
    ours: [StackFrame; MAX_DEPTH],
    theirs: [usize; MAX_DEPTH],
}

static FAILURE: Mutex<Option<Failure>> = Mutex::new(None);

#[cold]
fn report(problem: &'static str, our_frames: &[StackFrame], their_addresses: &[usize]) -> bool {
    let mut ours = [StackFrame::default(); MAX_DEPTH];
    ours[..our_frames.len()].copy_from_slice(our_frames);
    let mut theirs = [0; MAX_DEPTH];
    theirs[..their_addresses.len()].copy_from_slice(their_addresses);
    if let Ok(mut failure) = FAILURE.try_lock() {
        *failure = Some(Failure {
            problem,
            ours,
            theirs,
        });
    }
    false
}

impl Failure {
    fn tell(&self) -> ! {
        for frame in self.ours.iter().take_while(|frame| frame.address != 0) {
            eprintln!("ours {frame:x?} {}", describe(frame.address));
        }
        for address in self.theirs.iter().take_while(|address| **address != 0) {
            eprintln!("theirs {address:#x} {}", describe(*address));
        }
        panic!("{} at step {STEPS:?}", self.problem);
    }
}

fn is_in_libgcc(address: usize) -> bool {
    logdef_unwind::modules::find(address).is_some_and(|module| {
        let name = module.name().to_bytes();
        name.windows(8).any(|part| part == b"libgcc_s")
    })
}

fn describe(address: usize) -> String {
    logdef_unwind::modules::find(address).map_or_else(String::new, |module| {
        format!("{:?} {:#x}", module.name(), address - module.load_bias())
    })
}

extern "C" fn visit() {}

/// Steps through `work` until `points` instructions have been compared, one in
/// `one_in`.
fn step_through(Amount { points, one_in }: Amount, work: impl Fn()) {
    ONE_IN.store(one_in, Ordering::Relaxed);
    COMPARED.store(0, Ordering::Relaxed);
    while COMPARED.load(Ordering::Relaxed) < points {
        stepped(&work);
        assert!(STEPS.load(Ordering::Relaxed) > 1000);
    }
    eprintln!(
        "{} points compared, {} with a guess at the end, {} passed over in libgcc",
        COMPARED.load(Ordering::Relaxed),
        GUESSED.swap(0, Ordering::Relaxed),
        IN_LIBGCC.swap(0, Ordering::Relaxed),
    );
}

#[derive(Clone, Copy)]
struct Amount {
    points: usize,
    one_in: u64,
}

fn stepped(work: &impl Fn()) {
    STEPS.store(0, Ordering::Relaxed);
    STEPPING.store(true, Ordering::Relaxed);
    // SAFETY: our handler takes it, and sets the trap flag.
    unsafe { libc::raise(libc::SIGTRAP) };
    work();
    STEPPING.store(false, Ordering::Relaxed);
    if let Some(failure) = FAILURE.lock().unwrap().take() {
        _ = std::panic::take_hook();
        failure.tell();
    }
}

fn handle_traps() {
    // SAFETY: the stack lives for ever; the handler has the right form.
    unsafe {
        let stack = libc::stack_t {
            ss_sp: Box::leak(vec![0u8; 1 << 20].into_boxed_slice())
                .as_mut_ptr()
                .cast(),
            ss_flags: 0,
            ss_size: 1 << 20,
        };
        assert_eq!(libc::sigaltstack(&stack, std::ptr::null_mut()), 0);
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = on_trap as *const () as usize;
        action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK | libc::SA_RESTART;
        assert_eq!(
            libc::sigaction(libc::SIGTRAP, &action, std::ptr::null_mut()),
            0
        );
    }
}

#[test]
fn every_kind_of_instruction_has_the_callers_that_libgcc_finds() {
    let amount = if std::env::var_os("LOGDEF_SLOW").is_some() {
        Amount {
            points: 20_000,
            one_in: 3,
        }
    } else {
        Amount {
            points: 100,
            one_in: 50,
        }
    };
    let omit = "-fomit-frame-pointer";
    logdef_unwind::register_thread();
    handle_traps();
    std::panic::set_hook(Box::new(|_| ()));

    for options in [["-O2", omit], ["-O0", omit]] {
        let shapes = Library::of("gcc", "shapes.c", &options);
        step_through(amount, || {
            shapes.call(c"everything", visit);
        });
    }
    let shapes = Library::of("clang", "shapes.c", &["-O2", omit]);
    step_through(amount, || {
        shapes.call(c"everything", visit);
    });
    let exceptions = Library::of("g++", "exceptions.cc", &["-O2", omit]);
    step_through(amount, || {
        exceptions.call(c"one_exception", visit);
    });
    step_through(amount, || {
        let caught = std::panic::catch_unwind(|| {
            let items: Vec<String> = (0..3).map(|item| format!("item {item}")).collect();
            items[std::hint::black_box(3)].len()
        });
        assert!(caught.is_err());
    });
    _ = std::panic::take_hook();
}
