//! Importers: one file for each format that other programs write, each giving
//! [`Entry`] after [`Entry`] to a [`LogWriter`], which makes a log of them. Nothing
//! here reads logs.

pub mod diagnostics;
pub mod fxt;
mod log_writer;
mod order;

pub use log_writer::{Entry, LogWriter, Origin, Written, literal};
