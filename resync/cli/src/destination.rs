//! Files that verbs make. One that is there already is never written over: it
//! may be an input, and may be all that is left. One that is not complete has no name: what stands
//! in it would look whole, also after the command was killed.

use crate::failure::Failure;
use rustix::fs::{AtFlags, CWD, Mode, OFlags};
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::os::fd::AsRawFd;
use std::path::Path;

/// Makes the file, or writes to standard output for `-`.
pub fn write<T>(
    path: &Path,
    with: impl FnOnce(&mut dyn Write) -> Result<T, Failure>,
) -> Result<T, Failure> {
    if path == Path::new("-") {
        let mut out = BufWriter::new(io::stdout().lock());
        let result = with(&mut out)?;
        out.flush()?;
        return Ok(result);
    }
    // Said before the work is done, too.
    if path.symlink_metadata().is_ok() {
        return Err(Failure::Exists(path.to_owned()));
    }
    match unnamed(path) {
        Some(file) => {
            let result = written(path, &file, with)?;
            name(&file, path).map_err(|error| failed(path, error))?;
            Ok(result)
        }
        None => {
            let file = File::create_new(path).map_err(|error| failed(path, error))?;
            written(path, &file, with).inspect_err(|_| {
                let _ = std::fs::remove_file(path);
            })
        }
    }
}

fn written<T>(
    path: &Path,
    file: &File,
    with: impl FnOnce(&mut dyn Write) -> Result<T, Failure>,
) -> Result<T, Failure> {
    let mut out = BufWriter::new(file);
    let result = with(&mut out)?;
    out.flush().map_err(|error| failed(path, error))?;
    Ok(result)
}

fn failed(path: &Path, error: io::Error) -> Failure {
    match error.kind() {
        io::ErrorKind::AlreadyExists => Failure::Exists(path.to_owned()),
        _ => Failure::output(path, error),
    }
}

/// A file without a name in the folder of `path`; `None` where the file system has none, or
/// nothing can give it one later.
fn unnamed(path: &Path) -> Option<File> {
    let folder = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty());
    let flags = OFlags::TMPFILE | OFlags::WRONLY | OFlags::CLOEXEC;
    let folder = folder.unwrap_or(Path::new("."));
    let file = rustix::fs::open(folder, flags, Mode::from_raw_mode(0o666)).ok()?;
    let file = File::from(file);
    Path::new(&link_to(&file)).exists().then_some(file)
}

fn link_to(file: &File) -> String {
    format!("/proc/self/fd/{}", file.as_raw_fd())
}

fn name(file: &File, path: &Path) -> io::Result<()> {
    let link = link_to(file);
    Ok(rustix::fs::linkat(
        CWD,
        &*link,
        CWD,
        path,
        AtFlags::SYMLINK_FOLLOW,
    )?)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A command that was killed left the beginning of a log under the name of the whole, and `check`
    /// called it clean.
    #[test]
    fn a_file_has_its_name_when_it_is_complete() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out");
        let mut had_a_name = Vec::new();
        let mut make = |end: Result<(), Failure>| {
            write(&path, |out| {
                out.write_all(&[7; 100_000]).unwrap();
                had_a_name.push(path.exists());
                end
            })
        };
        assert!(make(Err(Failure::OutputClosed)).is_err());
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
        make(Ok(())).unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), [7; 100_000]);
        assert_eq!(had_a_name, [unnamed(&path).is_none(); 2]);
    }

    #[test]
    fn a_file_that_comes_meanwhile_stays_as_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out");
        let made = write(&path, |out| {
            let _ = std::fs::write(&path, "another's");
            out.write_all(b"ours").unwrap();
            Ok(())
        });
        if unnamed(&path).is_some() {
            assert!(matches!(made, Err(Failure::Exists(at)) if at == path));
            assert_eq!(std::fs::read(&path).unwrap(), b"another's");
        }
    }
}
