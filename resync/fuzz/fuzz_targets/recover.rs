//! Bytes as logs that are recovered. See `exercise/recover.rs` for what must hold.
//!
//! ```text
//! resync/fuzz/run.sh 60 recover
//! ```

#![no_main]

#[path = "../exercise/recover.rs"]
mod exercise;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| exercise::exercise(bytes));
