//! Whether the calling code runs in a signal handler. What takes long, such as
//! reading a whole file, is left alone there.

use logdef_unwind::{FrameKind, StackFrame};

/// Whether one of the calling functions is a signal handler: the thread is on
/// its alternate stack, or there is a stack frame that was interrupted, not
/// called. Takes some hundred nanoseconds.
#[cold]
pub(crate) fn is_running() -> bool {
    if crate::sys::is_on_signal_stack() {
        return true;
    }
    let mut frames = [StackFrame::default(); 64];
    let len = logdef_unwind::capture_frames(&mut frames, 0);
    frames[..len]
        .iter()
        .any(|frame| frame.kind == FrameKind::Exact)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicBool, Ordering};

    static SEEN: AtomicBool = AtomicBool::new(false);

    extern "C" fn on_signal(_: i32) {
        SEEN.store(is_running(), Ordering::Relaxed);
    }

    #[test]
    fn a_handler_knows_that_it_is_one_and_other_code_that_it_is_not() {
        assert!(!is_running());
        // SAFETY: the handler has the right form and only walks the stack.
        unsafe {
            libc::signal(libc::SIGUSR2, on_signal as *const () as usize);
            libc::raise(libc::SIGUSR2);
        }
        assert!(SEEN.load(Ordering::Relaxed));
        assert!(!is_running());
    }
}
