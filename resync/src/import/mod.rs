//! Importers: one file for each format that other programs write, each giving
//! [`Entry`] after [`Entry`] to a [`LogWriter`], which makes a log of them. Nothing
//! here reads logs.

mod addresses;
pub mod diagnostics;
mod entry;
pub mod fxt;
mod log_writer;
mod losses;
mod order;

pub use entry::{Entry, literal};
pub use log_writer::{LogWriter, Origin, Written};
