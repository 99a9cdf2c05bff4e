//! Signals: handlers, their stacks, and how a call raises none. Part of the room for
//! unsafe.

use super::errno::{Errno, checked};
use super::limit::Limit;
use core::ffi::c_int;
use core::ptr;
use core::sync::atomic::{AtomicBool, AtomicPtr, Ordering};

/// Bytes of a signal set as the kernel counts them.
pub(super) const KERNEL_SIGSET: usize = 8;

/// Does what may raise SIGPIPE or SIGXFSZ beside its error: the signal is taken away before
/// it is delivered.
pub(crate) fn without_signals<T>(work: impl FnOnce() -> Result<T, Errno>) -> Result<T, Errno> {
    // SAFETY: the sets are valid, and filled before they are used; the mask is
    // put back as it was.
    unsafe {
        let mut set: libc::sigset_t = core::mem::zeroed();
        let mut before: libc::sigset_t = core::mem::zeroed();
        let mut pending: libc::sigset_t = core::mem::zeroed();
        libc::sigemptyset(&mut set);
        libc::sigaddset(&mut set, libc::SIGPIPE);
        libc::sigaddset(&mut set, libc::SIGXFSZ);
        libc::sigpending(&mut pending);
        libc::pthread_sigmask(libc::SIG_BLOCK, &set, &mut before);
        let done = work();
        let raised = match done {
            Err(Errno(libc::EPIPE)) => Some(libc::SIGPIPE),
            Err(Errno(libc::EFBIG)) => Some(libc::SIGXFSZ),
            _ => None,
        };
        if let Some(signal) = raised
            && libc::sigismember(&pending, signal) != 1
        {
            let now = libc::timespec {
                tv_sec: 0,
                tv_nsec: 0,
            };
            libc::sigemptyset(&mut set);
            libc::sigaddset(&mut set, signal);
            libc::syscall(
                libc::SYS_rt_sigtimedwait,
                &set,
                ptr::null_mut::<u8>(),
                &now,
                KERNEL_SIGSET,
            );
        }
        libc::pthread_sigmask(libc::SIG_SETMASK, &before, ptr::null_mut());
        done
    }
}

/// Does what may make a file larger than files may be, without SIGXFSZ.
pub(crate) fn without_sigxfsz<T>(work: impl FnOnce() -> Result<T, Errno>) -> Result<T, Errno> {
    match Limit::FileSize.granted() {
        Some(_) => without_signals(work),
        None => work(),
    }
}

/// A handler of a signal that gets the kernel's description of it.
pub(crate) type Handler = extern "C" fn(c_int, *mut libc::siginfo_t, *mut libc::c_void);

/// What a signal did before [`handle_first`].
struct Before {
    /// Null before the first time. An action is never given back.
    action: AtomicPtr<libc::sigaction>,
    /// Since then [`handle_as_before`] was not called.
    is_handled: AtomicBool,
}

/// The action of a signal that has none of the program's.
// SAFETY: zeros are a valid action, SIG_DFL without flags.
static DEFAULT: libc::sigaction = unsafe { core::mem::zeroed() };

static BEFORE: [Before; 32] = [const {
    Before {
        action: AtomicPtr::new(ptr::null_mut()),
        is_handled: AtomicBool::new(false),
    }
}; 32];

/// Handles a signal before the handler that is installed now. Once: a handler that the program installed
/// since may call this one. Again if the signal has had its default action, or been ignored, since, or the
/// action that it had before. Not for handlers.
pub(crate) fn handle_first(signal: c_int, handler: Handler) -> Result<(), Errno> {
    let known = &BEFORE[signal as usize];
    // SAFETY: zeros are a valid action, and the calls fill or read it; the
    // handler is a function of this program, which is never unloaded.
    unsafe {
        let mut now: libc::sigaction = core::mem::zeroed();
        checked(libc::sigaction(signal, ptr::null(), &mut now) as isize)?;
        let is_function = ![libc::SIG_DFL, libc::SIG_IGN].contains(&now.sa_sigaction);
        if is_function && known.is_handled.load(Ordering::Acquire) {
            return Ok(());
        }
        let before = Box::into_raw(Box::new(now));
        known.action.store(before, Ordering::Release);
        // First: the signal may come once the handler is installed.
        known.is_handled.store(true, Ordering::Release);
        let mut action: libc::sigaction = core::mem::zeroed();
        action.sa_sigaction = handler as *const () as usize;
        action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK | libc::SA_NODEFER;
        libc::sigemptyset(&mut action.sa_mask);
        let installed = checked(libc::sigaction(signal, &action, ptr::null_mut()) as isize);
        let failed = |_: &Errno| known.is_handled.store(false, Ordering::Release);
        installed.inspect_err(failed).map(drop)
    }
}

/// Gives a signal the action again that it had before [`handle_first`].
pub(crate) fn handle_as_before(signal: c_int) {
    let known = &BEFORE[signal as usize];
    known.is_handled.store(false, Ordering::Release);
    let before = known.action.load(Ordering::Acquire);
    // SAFETY: null, which only asks, or set in `handle_first` to an action that
    // the program had.
    unsafe { libc::sigaction(signal, before, ptr::null_mut()) };
}

/// Does, in a handler, what a signal did before [`handle_first`].
pub(crate) fn pass_on(signal: c_int, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    let known = &BEFORE[signal as usize];
    let before = known.action.load(Ordering::Acquire);
    // SAFETY: null, or set in `handle_first` to an action that the program had, and not given back. What
    // it had for a handler takes one argument or three, as its flags say.
    unsafe {
        let Some(before) = before.as_ref() else {
            return;
        };
        if before.sa_flags & libc::SA_RESETHAND != 0 {
            let once = (&raw const DEFAULT).cast_mut();
            known.action.store(once, Ordering::Release);
        }
        match before.sa_sigaction {
            // Nor does the kernel ignore an instruction that fails.
            libc::SIG_DFL | libc::SIG_IGN => {
                // The same instruction fails again when this returns, and what
                // should have happened happens.
                handle_as_before(signal);
                if info.as_ref().is_none_or(|info| info.si_code <= 0) {
                    libc::raise(signal);
                }
            }
            handler if before.sa_flags & libc::SA_SIGINFO != 0 => {
                let handler: Handler = core::mem::transmute(handler);
                handler(signal, info, context);
            }
            handler => {
                let handler: extern "C" fn(c_int) = core::mem::transmute(handler);
                handler(signal);
            }
        }
    }
}

/// The alternate signal stack of this thread, as the kernel describes it.
fn signal_stack() -> Option<libc::stack_t> {
    // SAFETY: zeros are a valid answer buffer, which the call fills.
    unsafe {
        let mut now: libc::stack_t = core::mem::zeroed();
        let asked = libc::sigaltstack(ptr::null(), &mut now);
        (asked == 0).then_some(now)
    }
}

fn stack_at(at: *mut u8, len: usize) -> libc::stack_t {
    libc::stack_t {
        ss_sp: at.cast(),
        ss_flags: 0,
        ss_size: len,
    }
}

/// Gives this thread a larger stack for handlers that ask for one of their own,
/// unless it is on that stack now.
pub(crate) fn set_signal_stack(at: *mut u8, len: usize) {
    let is_small = |now: libc::stack_t| now.ss_flags & libc::SS_DISABLE != 0 || now.ss_size < len;
    if signal_stack().is_some_and(is_small) {
        // SAFETY: `at` is the thread's own memory, which is not unmapped while the thread lives.
        unsafe { libc::sigaltstack(&stack_at(at, len), ptr::null_mut()) };
    }
}

/// Gives this thread another stack for handlers that ask for one of their own, for a time in which
/// it runs on neither; the one that it had, if it had one and has this now. The memory has to last until the stack
/// is exchanged again.
pub(crate) fn exchange_signal_stack(at: *mut u8, len: usize) -> Option<(*mut u8, usize)> {
    // SAFETY: zeros are a valid answer buffer, which the call fills; the memory is the caller's to lend.
    let before = unsafe {
        let mut before: libc::stack_t = core::mem::zeroed();
        let exchanged = libc::sigaltstack(&stack_at(at, len), &mut before);
        (exchanged == 0 && before.ss_flags & libc::SS_DISABLE == 0).then_some(before)?
    };
    Some((before.ss_sp.cast(), before.ss_size))
}

/// Whether this thread is on its alternate signal stack.
pub(crate) fn is_on_signal_stack() -> bool {
    signal_stack().is_some_and(|now| now.ss_flags & libc::SS_ONSTACK != 0)
}

/// Bytes that are left of the alternate signal stack that this thread runs on; none if
/// it runs on its own.
pub(crate) fn signal_stack_left() -> Option<usize> {
    let now = signal_stack().filter(|now| now.ss_flags & libc::SS_ONSTACK != 0)?;
    let here = (&raw const now).addr();
    Some(here.saturating_sub(now.ss_sp.addr()))
}

/// Whether a signal comes again if its handler returns: an instruction that failed is
/// tried again, where what was sent has been received.
pub(crate) fn comes_again(signal: c_int, info: *mut libc::siginfo_t) -> bool {
    // SAFETY: as in `signal_details`.
    let code = unsafe { info.as_ref() }.map_or(0, |info| info.si_code);
    code > 0 && signal != libc::SIGABRT && signal != libc::SIGTRAP
}

/// Whether a signal was sent by a process, and had been ignored before [`handle_first`]: its receiver lives on. But for
/// that of `abort`, which comes a second time then, and is not ignored.
pub(crate) fn is_ignored(signal: c_int, info: *mut libc::siginfo_t) -> bool {
    let before = BEFORE[signal as usize].action.load(Ordering::Acquire);
    // SAFETY: null, or as in `pass_on` and `signal_details`.
    let (before, info) = unsafe { (before.as_ref(), info.as_ref()) };
    let is_sent = info.is_none_or(|info| info.si_code <= 0) && signal != libc::SIGABRT;
    is_sent && before.is_some_and(|before| before.sa_sigaction == libc::SIG_IGN)
}

/// Sends a signal to this thread.
pub(crate) fn raise(signal: c_int) {
    // SAFETY: takes a number, and touches no memory of ours.
    unsafe { libc::raise(signal) };
}

/// The address of a fault that the kernel reports; `None` for a signal that a process sent.
pub(crate) fn fault_address(info: *mut libc::siginfo_t) -> Option<usize> {
    // SAFETY: the kernel passes a valid pointer, and null to a handler that is called by hand.
    unsafe {
        let by_kernel = info.as_ref().filter(|info| info.si_code > 0)?;
        Some(by_kernel.si_addr().addr())
    }
}

/// The address that a fault concerns, and the registers of what it interrupted.
pub(crate) fn signal_details<'c>(
    info: *mut libc::siginfo_t,
    context: *mut libc::c_void,
) -> (usize, Option<&'c libc::ucontext_t>) {
    // SAFETY: the kernel passes valid pointers to a handler that was installed
    // with SA_SIGINFO, and they stay valid until it returns.
    unsafe {
        let address = info.as_ref().map_or(0, |info| info.si_addr().addr());
        (address, context.cast::<libc::ucontext_t>().as_ref())
    }
}
