//! The debug files that complete an image. `find` looks for them.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::error::Refusal;
use crate::image::elf::Elf;
use crate::limits::Limits;

/// Finds the files that complete an image.
pub(crate) trait DebugFiles: Send + Sync {
    /// The files that together name the code of `image`, which was read from `path`.
    fn find(&self, image: &Arc<Elf>, path: &Path) -> Found;

    /// Files that may hold the rest of a split unit, which was compiled to `path` in `comp_dir` and
    /// linked into the image at `image`.
    fn split_units(&self, image: &Path, comp_dir: &[u8], path: &[u8]) -> Vec<PathBuf>;

    /// A file that was found so.
    fn read(&self, path: &Path) -> Result<Elf, Refusal>;

    /// What one file may cost.
    fn limits(&self) -> &Limits;
}

/// The files that together name the code of one image.
pub(crate) struct Found {
    /// Holds `.debug_info` or at least a symbol table: the image itself or its debug file.
    pub main: Arc<Elf>,
    /// What `.gnu_debugaltlink` or `.debug_sup` of `main` refers to.
    pub supplementary: Option<Elf>,
    /// A `.dwp` file beside the image.
    pub package: Option<Elf>,
    /// Files that exist under the right names but do not match.
    pub refused: Vec<(PathBuf, Refusal)>,
    /// Files that the image or its debug file names, and that are nowhere.
    pub missing: Vec<PathBuf>,
}
