//! Finding files: the image that a log means, and what completes it. Whatever stands
//! at a path is looked at before it is believed; nothing in here knows what is done
//! with a file once it was taken.

pub(crate) mod build_ids;
pub(crate) mod debug_files;
#[cfg(feature = "debuginfod")]
pub(crate) mod debuginfod;
pub(crate) mod digests;
pub(crate) mod fetch;
pub(crate) mod locator;
pub(crate) mod parts;
