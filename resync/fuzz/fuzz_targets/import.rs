//! Bytes as a trace that a log is made of. See `exercise/import.rs` for what must hold.
//!
//! ```text
//! resync/fuzz/run.sh 60 import
//! ```

#![no_main]

#[path = "../exercise/import.rs"]
mod exercise;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| exercise::exercise(bytes));
