//! What is done when the process exits. Part of the room for unsafe. Not for handlers.

/// Has `work` called when the process ends by `exit` or by returning from `main`, or when the library it is
/// in is unloaded. Allocates; where there is no memory for that, it is not called.
pub(crate) fn at_exit(work: extern "C" fn()) {
    // SAFETY: the function lives as long as the program or library that registers it.
    unsafe { libc::atexit(work) };
}
