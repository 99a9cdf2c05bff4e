//! Fuchsia diagnostics on Linux: sockets, shared memory and storage around the codecs of
//! [`logdef_fuchsia`].
//!
//! | module | what it does |
//! |---|---|
//! | [`stream`] | a source of records in shared memory that others read live and that outlives a crash |
//!
//! `unsafe` lives in two files: the mapping of shared memory and the shims over socket calls.

mod memory;
mod socket;
pub mod stream;
