//! Accidents that happen to a log, against an oracle. See `exercise/merge.rs` for what must hold.
//!
//! ```text
//! resync/fuzz/run.sh 60 merge
//! ```

#![no_main]

#[path = "../exercise/merge.rs"]
mod exercise;
#[path = "../../tests/mutant/mod.rs"]
mod mutant;
#[path = "../../tests/synth/mod.rs"]
mod synth;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| exercise::exercise(bytes));
