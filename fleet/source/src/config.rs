//! What is asked about, and where programs may be found. Knows no files.

use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// What the tables are made from.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Config {
    /// Archives, logs, and folders of logs.
    pub paths: Vec<String>,
    /// Bytes of a log that are read as one piece; by default some megabytes.
    pub split: Option<u64>,
    /// Bytes that a log must have, so that only what has the times is read of it that a query asks for; by
    /// default those that are read in a moment.
    pub excerpt_from: Option<u64>,
    /// Where programs and libraries are looked for.
    pub image_dirs: Vec<PathBuf>,
    /// Where debug files are looked for.
    pub debug_dirs: Vec<PathBuf>,
    /// Whether files are not opened at the paths that logs name.
    pub no_logged_paths: bool,
}

impl Config {
    /// The tables of some paths.
    pub fn of<P: Into<String>>(paths: impl IntoIterator<Item = P>) -> Config {
        Config {
            paths: paths.into_iter().map(Into::into).collect(),
            ..Config::default()
        }
    }

    /// The same, reading logs in pieces of that many bytes.
    pub fn split_by(mut self, bytes: u64) -> Config {
        self.split = Some(bytes.max(1));
        self
    }
}
