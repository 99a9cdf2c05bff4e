//! The C ABI of `logdef`: what `include/logdef.h` declares. Thin: each function
//! checks what C can get wrong and calls the logger. Knows nothing of records and
//! files.
//!
//! No panic leaves it: [`calls`] has none, and [`control`] stops those of the
//! logger. The library that is installed is of the profile `capi`, in which a panic
//! ends the process: there no function has a handler of exceptions, so that a thread
//! which is cancelled at any instruction is unwound through them.
//!
//! Functions are only ever added, and structs that callers fill begin with their size.
//!
//! # Unsafe code
//!
//! Only these modules may hold it, and each block says which fact it relies on:
//!
//! - `calls`, `context`, `control`, `limit`, `write`: names that are exported, and what C passes by pointer

#![deny(unsafe_code)]

#[allow(unsafe_code)]
mod calls;
#[allow(unsafe_code)]
mod context;
#[allow(unsafe_code)]
mod control;
#[allow(unsafe_code)]
mod limit;
#[allow(unsafe_code)]
mod write;
