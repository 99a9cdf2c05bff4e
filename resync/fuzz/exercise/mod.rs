//! What is done to bytes of any kind, one file for each way in, and what must hold
//! whatever they are. The fuzz targets and the test that replays their corpus share it.

#![allow(dead_code, missing_docs, unreachable_pub)]

pub mod merge;
pub mod record;
pub mod recover;
pub mod render;
pub mod scan;
