//! Exporters: one file for each format that other tools read, each fed with
//! resolved records and knowing nothing of frames.
//!
//! Those of log stores start from the same place: [`diagnostics::logs_data`] says
//! what a record is in terms that all of them share.

mod attributes;
pub mod diagnostics;
pub mod entry;
pub mod fuchsia;
pub mod fxt;
pub(crate) mod imported;
pub mod journal;
mod json;
pub mod loki;
pub mod lost;
pub mod otlp;
pub mod otlp_request;
mod perfetto;
mod protobuf;
mod series;
pub(crate) mod text;
