//! In-process backtraces and loaded modules, for code that may run anywhere:
//! in a signal handler, in a forked child, while the loader holds its lock.
//!
//! Nothing on these paths allocates, locks or makes a lazy first call. What
//! needs the loader's lock or memory says so in its documentation and is meant
//! for start-up or a background thread.
//!
//! # Supported
//!
//! 64-bit Linux. glibc 2.35 or newer answers [`modules::find`] by itself; with an older
//! glibc, or musl, it answers from the list that [`modules::refresh`] last took.
//!
//! # Unloading
//!
//! A [`Module`] describes memory that the loader mapped. Calling `dlclose` is
//! the unsafe act: whoever unloads a library vouches that nobody still uses
//! its code, its constants, or a `Module` that describes them.

mod cache;
mod capture;
mod exports;
mod loader;
pub mod modules;
mod note;
#[cfg(target_arch = "x86_64")]
#[path = "x86_64/mod.rs"]
mod processor;
#[cfg(target_arch = "aarch64")]
#[path = "aarch64/mod.rs"]
mod processor;
#[cfg(not(all(
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64")
)))]
compile_error!("logdef-unwind supports Linux on x86_64 and aarch64");
mod snapshot;
mod stack;

pub use capture::{
    FrameKind, StackFrame, capture, capture_frames, capture_interrupted, forget, warm_up,
};
pub use exports::ExportedSymbol;
pub use modules::Module;
pub use stack::register_thread;
