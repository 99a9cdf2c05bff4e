//! Reads any bytes as a trace. See `exercise.rs` for what must hold.
//!
//! ```text
//! cargo +nightly fuzz run fxt_read
//! ```

#![no_main]

#[path = "../exercise.rs"]
mod exercise;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| exercise::exercise(bytes));
