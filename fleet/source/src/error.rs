//! What goes wrong with files, as the engine says it.

use datafusion::error::DataFusionError;
use std::path::Path;

/// What happened to a file.
pub(crate) fn at(path: &Path, error: impl std::fmt::Display) -> DataFusionError {
    DataFusionError::External(format!("{}: {error}", path.display()).into())
}

/// What happened, in a line.
pub(crate) fn plain(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> DataFusionError {
    DataFusionError::External(error.into())
}
