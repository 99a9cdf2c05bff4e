//! Fuchsia diagnostics on Linux: sockets, shared memory and storage around the codecs of
//! [`logdef_fuchsia`].
//!
//! | module | what it does |
//! |---|---|
//! | [`service`] | takes records of many processes, keeps them in a file, answers queries in JSON |
//! | [`client`] | logs to the service, one call for a record |
//! | [`stream`] | a source of records in shared memory that others read live and that outlives a crash |
//!
//! # Unsafe code
//!
//! Only these modules may hold it, and each block says which fact it relies on:
//!
//! - `memory`: the mapping of shared memory
//! - `receive`: socket calls that have no safe face elsewhere

#![deny(unsafe_code)]

pub mod client;
mod clock;
#[allow(unsafe_code)]
mod memory;
#[allow(unsafe_code)]
mod receive;
pub mod service;
mod socket;
pub mod stream;

pub use clock::Clock;
