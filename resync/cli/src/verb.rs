//! The verbs, one file for each.

#[cfg(feature = "archive")]
pub(crate) mod archive;
#[cfg(feature = "browse")]
pub(crate) mod browse;
pub(crate) mod check;
pub(crate) mod core;
pub(crate) mod ctl;
pub(crate) mod dump;
pub(crate) mod export;
pub(crate) mod fxt;
pub(crate) mod import;
pub(crate) mod manual;
pub(crate) mod push;
pub(crate) mod recover;
pub(crate) mod report;
pub(crate) mod send;
pub(crate) mod serve;
pub(crate) mod sites;
pub(crate) mod sql;
pub(crate) mod stats;
pub(crate) mod stream;
pub(crate) mod symbolize;
pub(crate) mod view;
