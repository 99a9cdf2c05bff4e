//! A format and its arguments. See `exercise/render.rs` for what must hold.
//!
//! ```text
//! resync/fuzz/run.sh 60 render
//! ```

#![no_main]

#[path = "../exercise/render.rs"]
mod exercise;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| exercise::exercise(bytes));
