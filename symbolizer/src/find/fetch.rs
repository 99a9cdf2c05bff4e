//! Files from elsewhere, by build ID. What a server sends is checked like any file found on disk.

use std::fmt::Debug;
use std::io;

/// A file that belongs to a build ID.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Artifact {
    /// The executable or library itself.
    Executable,
    /// Its separate debug file.
    DebugInfo,
}

/// Somewhere to ask for files that are in none of the directories, such as a debuginfod server.
/// Off unless a [`Locator`](crate::Locator) is given one: build IDs reveal to the server
/// which programs run here.
pub trait Fetch: Debug + Send + Sync {
    /// The bytes of the file, or `None` if it is not known there. `limit` is the most bytes worth
    /// sending.
    fn fetch(&self, build_id: &[u8], what: Artifact, limit: u64) -> io::Result<Option<Vec<u8>>>;
}
