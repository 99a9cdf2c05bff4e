//! Files that verbs make. One that is there already is never written over: it
//! may be an input, and may be all that is left.

use crate::failure::Failure;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

/// Makes the file, or writes to standard output for `-`. A file that could not
/// be completed is removed.
pub fn write<T>(
    path: &Path,
    with: impl FnOnce(&mut dyn Write) -> Result<T, Failure>,
) -> Result<T, Failure> {
    let failed = |error| Failure::output(path, error);
    if path == Path::new("-") {
        let mut out = BufWriter::new(io::stdout().lock());
        let result = with(&mut out)?;
        out.flush()?;
        return Ok(result);
    }
    let file = File::create_new(path).map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => Failure::Exists(path.to_owned()),
        _ => failed(error),
    })?;
    let mut out = BufWriter::new(file);
    let result = with(&mut out).and_then(|result| {
        out.flush().map_err(failed)?;
        Ok(result)
    });
    if result.is_err() {
        // What stands in it would look whole.
        let _ = std::fs::remove_file(path);
    }
    result
}
