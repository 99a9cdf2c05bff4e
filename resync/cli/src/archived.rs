//! Archives as inputs: what the command line names may be one. Without the feature `archive`
//! nothing is, and nothing of Parquet is built.

use logdef_resync::Input;
use std::io;
use std::path::{Path, PathBuf};

/// The parts of the archive in a folder; none if it is no archive.
#[cfg(feature = "archive")]
pub fn parts(folder: &Path) -> Vec<PathBuf> {
    if logdef_archive::is_part(folder) {
        return vec![folder.to_owned()];
    }
    logdef_archive::parts(folder)
}

/// The log in a part of an archive; `None` if the path names something else.
#[cfg(feature = "archive")]
pub fn open(path: &Path, most: u64) -> Option<io::Result<Input>> {
    logdef_archive::is_part(path).then(|| logdef_archive::open(path, most))
}

/// Parts of archives as records in their order, if nothing has to be found out about them; `None` if a path
/// names something else.
#[cfg(feature = "archive")]
pub fn ordered(paths: &[PathBuf]) -> Option<logdef_archive::Ordered> {
    if !paths.iter().all(|path| logdef_archive::is_part(path)) {
        return None;
    }
    // What is wrong with them is said when they are read as logs.
    logdef_archive::Ordered::open(paths).ok().flatten()
}

/// Whether a panic of this thread will be an error of the file that is read.
#[cfg(feature = "archive")]
pub fn catches_panics() -> bool {
    logdef_archive::catches_panics()
}

#[cfg(not(feature = "archive"))]
pub fn parts(_: &Path) -> Vec<PathBuf> {
    Vec::new()
}

#[cfg(not(feature = "archive"))]
pub fn open(_: &Path, _: u64) -> Option<io::Result<Input>> {
    None
}

#[cfg(not(feature = "archive"))]
pub fn catches_panics() -> bool {
    false
}
