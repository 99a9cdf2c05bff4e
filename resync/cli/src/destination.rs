//! Files that verbs make. One that is there already is never written over: it
//! may be an input, and may be all that is left. One that is not complete has no name: what stands
//! in it would look whole, also after the command was killed.

use crate::failure::Failure;
use rustix::fs::{AtFlags, CWD, Mode, OFlags};
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};

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
    let failed = |error| failed(path, error);
    let mut file = Unfinished::begin(path).map_err(failed)?;
    let result = with(&mut file)?;
    file.finish().map_err(failed)?;
    Ok(result)
}

/// A file that is not complete: without a name, if the file system has such files. It is gone with this.
pub struct Unfinished {
    out: BufWriter<File>,
    path: PathBuf,
    /// Until it is complete.
    is_named: bool,
}

impl Unfinished {
    /// Begins one that is to have a path, at which nothing is yet.
    pub fn begin(path: &Path) -> io::Result<Unfinished> {
        let unnamed = unnamed(path);
        let is_named = unnamed.is_none();
        if path.symlink_metadata().is_ok() {
            return Err(rustix::io::Errno::EXIST.into());
        }
        let file = unnamed.map_or_else(|| File::create_new(path), Ok)?;
        Ok(Unfinished {
            out: BufWriter::new(file),
            path: path.to_owned(),
            is_named,
        })
    }

    /// It is complete.
    pub fn finish(&mut self) -> io::Result<()> {
        self.out.flush()?;
        if !self.is_named {
            name(self.out.get_ref(), &self.path)?;
        }
        self.is_named = false;
        Ok(())
    }
}

impl Write for Unfinished {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.out.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        if self.is_named {
            let _ = std::fs::remove_file(&self.path);
        }
    }
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

    /// Rows that a person stopped to write were left under the name of all.
    #[test]
    fn a_file_that_is_given_up_is_gone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out");
        let mut file = Unfinished::begin(&path).unwrap();
        file.write_all(&[7; 100_000]).unwrap();
        drop(file);
        assert!(!path.exists());
        let mut file = Unfinished::begin(&path).unwrap();
        file.write_all(b"ours").unwrap();
        file.finish().unwrap();
        drop(file);
        assert_eq!(std::fs::read(&path).unwrap(), b"ours");
        assert!(Unfinished::begin(&path).is_err());
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
