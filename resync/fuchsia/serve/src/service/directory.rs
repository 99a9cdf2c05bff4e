//! The directory of the sockets: whoever can put files there can pose as the service.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::Path;

/// Makes sure that the directory is there and is this user's: in `/tmp` another could have made it.
pub(super) fn own_directory(directory: &Path) -> io::Result<()> {
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(directory)?;
    let owner = fs::metadata(directory)?.uid();
    if owner != rustix::process::getuid().as_raw() {
        let message = format!("{} belongs to user {owner}", directory.display());
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, message));
    }
    Ok(())
}
