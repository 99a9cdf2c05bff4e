//! The C ABI of `logdef`: what `include/logdef.h` declares. Thin: each function
//! checks what C can get wrong and calls the logger. A room for unsafe; knows
//! nothing of records and files.
//!
//! No panic leaves it: [`calls`] has none, and [`control`] stops those of the
//! logger.
//!
//! Functions are only ever added, and structs that callers fill tell their size.

mod calls;
mod control;
mod limit;
