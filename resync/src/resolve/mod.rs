//! From numbers to meaning: the texts and functions after a record's addresses, and
//! the spans of time that records open and close.

pub(crate) mod call_site;
pub(crate) mod images;
mod loaded_images;
mod names;
pub(crate) mod resolved;
pub(crate) mod resolver;
pub(crate) mod spans;
pub(crate) mod stack;
mod texts;

/// Strings read from images, images and load biases that are remembered.
const REMEMBERED: usize = 1 << 16;
