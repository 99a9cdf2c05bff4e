//! Fuchsia diagnostics on Linux: sockets, shared memory and storage around the codecs of
//! [`logdef_fuchsia`].
//!
//! | module | what it does |
//! |---|---|
//! | [`service`] | takes records of many processes, keeps them in a file, answers queries in JSON |
//! | [`client`] | logs to the service, one call for a record |
//! | [`stream`] | a source of records in shared memory that others read live and that outlives a crash |
//!
//! `unsafe` lives in two files: the mapping of shared memory and the shims over socket calls.

pub mod client;
mod clock;
mod memory;
mod receive;
pub mod service;
mod socket;
pub mod stream;

pub use clock::Clock;
