//! What the samples and their tests share: a workshop that builds the C, C++
//! and Rust programs, tools to smash logs, and a reader of frames that shares
//! no code with the writer or the other reader.
//!
//! The samples themselves are in `c/`, `cpp/` and `src/bin/`; `corpus/` holds
//! small logs, good and damaged, each beside the text it reads as.

pub mod copy;
pub mod corpus;
pub mod disk;
pub mod frames;
pub mod sights;
pub mod skip;
pub mod smash;
pub mod story;
pub mod witness;
pub mod workshop;

/// The examples of the documents, which are compiled with the crate's own; that of a test is run.
#[cfg(doctest)]
#[doc = include_str!("../../docs/rust.md")]
struct ForRust;
