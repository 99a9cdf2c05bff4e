//! Signals that end a process: one handler for all of them, which gives the guard of the log's own
//! memory the first say, and leaves a note.

use crate::guard;
use crate::handler;
use crate::note;
use crate::process::process;
use crate::sys::{self, Errno};
use core::ffi::c_int;
use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Signals that end a process, and whose senders are in it.
const FATAL: [c_int; 6] = [
    libc::SIGSEGV,
    libc::SIGBUS,
    libc::SIGILL,
    libc::SIGFPE,
    libc::SIGABRT,
    libc::SIGTRAP,
];

/// Whether the guard is asked for.
static IS_GUARDED: AtomicBool = AtomicBool::new(false);

/// The thread that leaves its note, as the C library names it; 0 while none does.
static NOTING: AtomicU64 = AtomicU64::new(0);

/// Leaves a note at the first of these signals, before the handler that had it until
/// now: in a Rust program the runtime, which looks for stack overflows.
pub(crate) fn note_signals() -> Result<(), Errno> {
    process().shared.settings.note_signals();
    let mut signals = FATAL.into_iter();
    signals.try_for_each(|signal| sys::handle_first(signal, handle))
}

/// Guards the log's own memory against SIGBUS.
pub(crate) fn guard() -> Result<(), Errno> {
    IS_GUARDED.store(true, Ordering::Relaxed);
    sys::handle_first(libc::SIGBUS, handle)
}

/// Runs in the thread that the signal hit, on its alternate stack if it has
/// one.
extern "C" fn handle(signal: c_int, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    let process = process();
    let errno = Errno::last();
    // A note is guarded in any case: its signal is to end the process, and no other.
    let is_guarded =
        IS_GUARDED.load(Ordering::Relaxed) || NOTING.load(Ordering::Relaxed) == sys::thread_self();
    let is_ours = signal == libc::SIGBUS && is_guarded && guard::replace_page(process, info);
    errno.restore();
    if is_ours || sys::is_ignored(signal, info) {
        return;
    }
    if !process.shared.settings.notes_signals() {
        return sys::pass_on(signal, info, context);
    }
    // Once: what fails here must not come here again. The handler before this one
    // gets the signal when this returns and the same instruction fails again.
    sys::handle_as_before(signal);
    let (address, interrupted) = sys::signal_details(info, context);
    NOTING.store(sys::thread_self(), Ordering::Relaxed);
    handler::with_room(|| note::note_signal(signal, address, interrupted));
    NOTING.store(0, Ordering::Relaxed);
    if !sys::comes_again(signal, info) {
        sys::raise(signal);
    }
}
