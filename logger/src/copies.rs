//! One process, one log, also if it holds several copies of the logger: a Rust
//! program beside `liblogdef.so`, a plugin with a copy of its own. A room for
//! unsafe.
//!
//! The copy that is loaded first *leads*: it has the run, the file, the threads.
//! Each later one *follows*: it passes every call on to the leader, which resolves
//! and writes it as if it were one of its own. Nothing on the way of the leader's
//! calls knows of it. A follower's call costs a few nanoseconds more, also one that
//! is off in Rust; C and C++ sites look at the leader's gate themselves.
//!
//! The leader is elected while a copy's image is initialized, which the dynamic linker
//! lets only one thread do at a time:
//!
//! 1. `liblogdef.so` exports a function that says whom it follows or that it leads.
//! 2. Programs export nothing, and plugins are loaded out of each other's sight. So
//!    the leader maps a page of a memory file whose name others find in
//!    `/proc/self/maps`. The page is private: a forked child has its own, with the
//!    same content, which is right for it too.
//!
//! Copies share the leader's table of functions, and the call site's record and state
//! ([`crate::call::site`]), which were made for other compilers in the first place. The
//! name and the symbol carry the version of all that: copies of different versions do
//! not find each other, and each has a log of its own.
//!
//! The leader stays in memory for good.
//!
//! `leader` is the table and the follower's side, at the bottom of the house: all code
//! that asks whether another copy leads asks there. `serve` is the leader's side, above
//! everything that a leader does for others.

#[allow(unsafe_code)]
pub(crate) mod crossing;
#[allow(unsafe_code)]
pub(crate) mod leader;
#[allow(unsafe_code)]
pub(crate) mod observer;
#[allow(unsafe_code)]
pub(crate) mod request;
#[allow(unsafe_code)]
pub(crate) mod serve;
