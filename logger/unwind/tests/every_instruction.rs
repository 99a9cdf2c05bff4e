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
#[path = "oracle/interrupted.rs"]
mod interrupted;

use std::ffi::c_void;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

use compiled::Library;
use interrupted::{Verdict, Views};

const TRAP_FLAG: i64 = 0x100;

/// Whether to continue stepping.
static STEPPING: AtomicBool = AtomicBool::new(false);
/// Of this many instructions one is compared, on average.
static ONE_IN: AtomicU64 = AtomicU64::new(1);
static STEPS: AtomicUsize = AtomicUsize::new(0);
static COMPARED: AtomicUsize = AtomicUsize::new(0);
static GUESSED: AtomicUsize = AtomicUsize::new(0);
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
    if random().is_multiple_of(ONE_IN.load(Ordering::Relaxed)) {
        let (verdict, views) = interrupted::compare(context);
        let count = match verdict {
            Verdict::Same => &COMPARED,
            Verdict::SameUntilGuessed => {
                GUESSED.fetch_add(1, Ordering::Relaxed);
                &COMPARED
            }
            Verdict::InLibgcc => &IN_LIBGCC,
            Verdict::Different(problem) => {
                STEPPING.store(false, Ordering::Relaxed);
                // Reported after the handler has returned.
                if let Ok(mut failure) = FAILURE.try_lock() {
                    *failure = Some((problem, views));
                }
                return;
            }
        };
        count.fetch_add(1, Ordering::Relaxed);
    }
}

static FAILURE: Mutex<Option<(&'static str, Views)>> = Mutex::new(None);

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
    if let Some((problem, views)) = FAILURE.lock().unwrap().take() {
        _ = std::panic::take_hook();
        views.print();
        panic!("{problem} at step {STEPS:?}");
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
    if compiled::skip::has("clang") {
        let shapes = Library::of("clang", "shapes.c", &["-O2", omit]);
        step_through(amount, || {
            shapes.call(c"everything", visit);
        });
    }
    if compiled::skip::has("g++") {
        let exceptions = Library::of("g++", "exceptions.cc", &["-O2", omit]);
        step_through(amount, || {
            exceptions.call(c"one_exception", visit);
        });
    }
    step_through(amount, || {
        let caught = std::panic::catch_unwind(|| {
            let items: Vec<String> = (0..3).map(|item| format!("item {item}")).collect();
            items[std::hint::black_box(3)].len()
        });
        assert!(caught.is_err());
    });
    _ = std::panic::take_hook();
}
