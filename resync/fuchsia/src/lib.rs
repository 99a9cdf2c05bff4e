//! Codecs and state machines of Fuchsia's formats for traces, logs and diagnostics: bytes in, values out.
//!
//! Nothing here opens a file, a socket or a clock, and nothing here knows of logdefs: the crate can be
//! used alone by anyone who has to read or write these formats on Linux.
//!
//! | module | what it speaks |
//! |---|---|
//! | [`fxt`] | the trace format: every record and argument, damage included |
//! | [`structured`] | structured log records: one record, typed key/value arguments |
//! | [`json`] | JSON that does not drive a terminal |
//! | [`legacy`] | the older fixed-header log packets |
//! | [`diagnostics`] | the JSON in which stored logs and inspect data are answered, its batches and its text |
//! | [`stream`] | the shared-memory stream source: messages, buffer layout, both state machines |

#![forbid(unsafe_code)]

pub mod diagnostics;
pub mod fxt;
pub mod json;
pub mod legacy;
pub mod stream;
pub mod structured;
