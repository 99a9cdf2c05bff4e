//! From bytes to items: inputs of any kind, the frames in them, and the gaps between.
//! Knows what a frame is and nothing of what a record means.

pub(crate) mod compression;
pub(crate) mod crc;
pub(crate) mod framing;
pub(crate) mod freeze;
pub(crate) mod frozen;
pub(crate) mod gap;
pub(crate) mod input;
pub(crate) mod item;
pub(crate) mod known_bodies;
pub(crate) mod moved;
pub(crate) mod reopened;
pub(crate) mod reserved;
pub(crate) mod scan;
pub mod split;
pub(crate) mod spool;
pub(crate) mod temporary;
pub(crate) mod unmask;
pub(crate) mod window;
mod zstd;
