//! Codecs of Fuchsia's formats for traces and logs. They know nothing of logdefs.

#![forbid(unsafe_code)]

pub mod fxt;
