//! Reads any bytes as a trace. See `exercise/fxt_read.rs` for what must hold.
//!
//! ```text
//! resync/fuzz/run.sh 60 fxt_read
//! ```

#![no_main]

#[path = "../exercise/fxt_read.rs"]
mod exercise;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| exercise::exercise(bytes));
