//! The reader of crash-resilient binary logs.
#![forbid(unsafe_code)]

mod account;
mod crc;
pub mod export;
mod follow;
mod gap;
mod glance;
mod images;
mod input;
mod item;
mod lane;
mod merge;
mod recover;
pub mod render;
mod resolve;
pub mod rewrite;
mod scan;
mod sequences;
pub mod split;
mod suspect;
mod tables;
mod unmask;
mod window;

pub use account::{Account, GapReport, HoleReport, Malformed, Tally, ThreadReport, Times};
pub use follow::{Follow, News};
pub use gap::{Damage, Gap, GapKind, Torn};
pub use glance::Glance;
pub use images::{Function, Images, LocatedImages, NoImages};
pub use input::{Error, Input};
pub use item::{FrameItem, Item, Items};
pub use merge::{Event, Merge, MergeOptions, MergedFrame};
pub use recover::{Options, Recovery};
pub use resolve::{Resolved, Resolver, StackEntry, Text, push_value};
pub use scan::Work;
pub use tables::{
    BacktraceEntry, Conflict, Image, ModuleEntry, Place, Provenance, RunInfo, StringId,
    StringLookup, Tables, Thread,
};
pub use unmask::decode;
