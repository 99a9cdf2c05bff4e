//! Exporters: one file for each format that other tools read, each fed with
//! resolved records and knowing nothing of frames.

pub mod fxt;
mod perfetto;
mod series;
pub(crate) mod text;
