//! Archives among what is named. Knows no records.

use std::path::{Path, PathBuf};

/// The parts of the archive in a folder; none if it is no archive.
pub fn parts(folder: &Path) -> Vec<PathBuf> {
    if logdef_archive::is_part(folder) {
        return vec![folder.to_owned()];
    }
    logdef_archive::parts(folder)
}
