//! The codecs from outside, in one program: vectors of the specifications, round trips,
//! damage. What counts allocations is a program of its own.

mod common;
mod diagnostics_json;
mod fxt_corpus;
mod fxt_damage;
mod fxt_report;
mod fxt_roundtrip;
mod fxt_tracker;
mod fxt_vectors;
mod fxt_writer;
mod stream_model;
mod structured_damage;
mod structured_vectors;
