//! Bytes as a log, against a slow search. See `exercise/scan.rs` for what must hold.
//!
//! ```text
//! resync/fuzz/run.sh 60 scan
//! ```

#![no_main]

#[path = "../exercise/scan.rs"]
mod exercise;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| exercise::exercise(bytes));
