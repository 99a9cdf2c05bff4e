//! Bytes as a record. See `exercise/record.rs` for what must hold.
//!
//! ```text
//! resync/fuzz/run.sh 60 record
//! ```

#![no_main]

#[path = "../exercise/record.rs"]
mod exercise;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| exercise::exercise(bytes));
