//! What is done to bytes of any kind, one file for each way in, and what must hold
//! whatever they are. The fuzz targets and the tests that replay their corpus share it.

#![allow(dead_code, missing_docs, unreachable_pub)]

pub mod import;
pub mod merge;
pub mod record;
pub mod recover;
pub mod render;
pub mod scan;
