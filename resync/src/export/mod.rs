//! Exporters: one file for each format that other tools read, each fed with
//! resolved records and knowing nothing of frames.
//!
//! Those of log stores start from the same place: [`diagnostics::logs_data`] says
//! what a record is in terms that all of them share.

pub mod diagnostics;
pub mod fuchsia;
pub mod fxt;
pub(crate) mod imported;
pub mod journal;
pub mod lost;
pub mod otlp;
mod perfetto;
mod series;
pub(crate) mod text;
