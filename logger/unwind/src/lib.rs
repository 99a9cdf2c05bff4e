//! In-process backtraces and loaded modules, for code that may run anywhere:
//! in a signal handler, in a forked child, while the loader holds its lock.
//!
//! Nothing on these paths allocates, locks or makes a lazy first call. A function that
//! needs the loader's lock or memory is for start-up or a background thread: its line *Signal
//! safety* says so.
//!
//! ```
//! use logdef_unwind::{StackFrame, capture_frames, modules};
//!
//! logdef_unwind::warm_up();
//! let mut frames = [StackFrame::default(); 16];
//! let len = capture_frames(&mut frames, 0);
//! for frame in &frames[..len] {
//!     let module = modules::find(frame.address).expect("code of a module");
//!     let offset = frame.address - module.load_bias();
//!     println!("{:?} + {offset:#x}", module.name());
//! }
//! ```
//!
//! # How a stack is walked
//!
//! For each code address there is a rule that says where the caller's stack frame
//! is. Rules are evaluated once, from the call frame information that every
//! module carries for C++ exceptions, and remembered in a cache that all threads
//! and handlers share: a stack frame costs about 5 ns when its rule is known, and
//! about a microsecond when it is not. Whatever the stack holds, no load can
//! fault.
//!
//! Code that has no call frame information, such as code made at run time, is
//! crossed by its frame pointer, and what comes after is marked
//! [`FrameKind::Guessed`].
//!
//! # Duties of the caller
//!
//! - [`warm_up`] once, at start-up.
//! - [`register_thread`] once per thread, outside of handlers. A walk on another
//!   stack is as correct, and costs one system call per page.
//! - [`modules::refresh`] from time to time, outside of handlers, and after `dlclose`
//!   if the program sees that call, or [`forget`] when another library is found at an
//!   address: an unloaded library's rules would be applied to the one that is mapped
//!   there now.
//! - A program that calls `dlclose` makes sure that no thread still uses the library: its
//!   code, its constants, or a [`Module`] that describes them.
//!
//! # Supported
//!
//! 64-bit Linux on x86_64 and aarch64, there with signed return addresses too. glibc 2.35 or
//! newer answers [`modules::find`] by itself; with an older glibc, or musl, the
//! answer comes from the list that [`modules::refresh`] last took.
//!
//! # Unsafe code
//!
//! Only these modules may hold it, and each block says which fact it relies on:
//!
//! - `processor`: registers and the instructions that read them
//! - `stack`: a thread's stack, and what can be read of others
//! - `capture`: what is handed through that code
//! - `loader`, `snapshot`: the loader's lists
//! - `modules`, `exports`: what is mapped of an image

#![deny(unsafe_code)]

mod cache;
#[allow(unsafe_code)]
mod capture;
#[cfg_attr(test, allow(unsafe_code))]
mod cfi;
#[allow(unsafe_code)]
mod exports;
#[allow(unsafe_code)]
mod loader;
#[allow(unsafe_code)]
pub mod modules;
mod note;
mod origin;
#[cfg(target_arch = "x86_64")]
#[allow(unsafe_code)]
#[path = "x86_64/mod.rs"]
mod processor;
#[cfg(target_arch = "aarch64")]
#[allow(unsafe_code)]
#[path = "aarch64/mod.rs"]
mod processor;
#[cfg(not(all(
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64")
)))]
compile_error!("logdef-unwind supports Linux on x86_64 and aarch64");
#[allow(unsafe_code)]
mod snapshot;
#[allow(unsafe_code)]
mod stack;

pub use capture::{
    FrameKind, StackFrame, capture, capture_frames, capture_interrupted, forget, warm_up,
};
pub use exports::ExportedSymbol;
pub use modules::Module;
pub use stack::register_thread;
