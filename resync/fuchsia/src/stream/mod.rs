#![doc = include_str!("LAYOUT.md")]
//!
//! # In this module
//!
//! [`Message`] and [`BufferHeader`] are the two formats; [`Source`] and [`Retriever`] are the two state
//! machines. They do no I/O: events go in, [`Action`]s and byte ranges come out, and the caller owns the
//! memory, the sockets and the clock.

mod header;
mod message;
mod retriever;
mod source;

pub use header::{BufferHeader, HeaderError};
pub use message::{Message, MessageError};
pub use retriever::{Corruption, Retriever, split_record};
pub use source::{Action, BufferIndex, Closed, Reservation, RetrieverId, Slot, Source, Totals};

use std::fmt;

/// The number that names a buffer in messages; unique within a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Koid(pub u64);

impl fmt::Display for Koid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
