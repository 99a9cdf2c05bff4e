//! The reader of crash-resilient binary logs.
#![forbid(unsafe_code)]

mod crc;
mod gap;
mod input;
mod item;
pub mod render;
mod scan;
mod tables;
mod window;

pub use gap::{Damage, Gap, GapKind, Torn};
pub use input::{Error, Input};
pub use item::{FrameItem, Item, Items};
pub use scan::Work;
pub use tables::{
    BacktraceEntry, Conflict, Image, ModuleEntry, Place, Provenance, RunInfo, StringId,
    StringLookup, Tables, Thread,
};
