//! What stands at the paths that were named: parts of archives, and logs. Reads names and first
//! bytes only.

use crate::error;
use crate::remote::{self, Copies};
use datafusion::error::Result;
use std::collections::HashSet;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Files to read.
#[derive(Debug, Default)]
pub(crate) struct Found {
    /// Folders with tables.
    pub(crate) parts: Vec<PathBuf>,
    pub(crate) logs: Vec<PathBuf>,
    /// What was copied from elsewhere.
    pub(crate) copies: Copies,
}

impl Found {
    /// What some paths lead to; each file once, however often it is named.
    pub(crate) fn at(paths: &[String]) -> Result<Found> {
        let mut found = Found::default();
        for path in paths {
            if remote::is_remote(path) {
                found.add_copies(path)?;
            } else {
                found.add(&local(path)?)?;
            }
        }
        let mut seen = HashSet::new();
        let mut is_new = |path: &PathBuf| {
            // What cannot be examined says so when it is opened.
            fs::metadata(path).map_or(true, |about| seen.insert((about.dev(), about.ino())))
        };
        // The link of a log leads to another file soon.
        found.logs.sort_by_key(|path| path.is_symlink());
        found.parts.retain(&mut is_new);
        found.logs.retain(&mut is_new);
        Ok(found)
    }

    fn add_copies(&mut self, path: &str) -> Result<()> {
        let copied = self.copies.add(path)?;
        self.parts.extend(copied.parts);
        self.logs.extend(copied.logs);
        Ok(())
    }

    fn add(&mut self, path: &Path) -> Result<()> {
        let about = fs::metadata(path).map_err(|error| error::at(path, error))?;
        if !about.is_dir() {
            self.logs.push(path.to_owned());
            return Ok(());
        }
        if logdef_archive::is_part(path) {
            self.parts.push(path.to_owned());
            return Ok(());
        }
        let parts = logdef_archive::parts(path);
        if !parts.is_empty() {
            self.parts.extend(parts);
            return Ok(());
        }
        let entries = fs::read_dir(path).map_err(|error| error::at(path, error))?;
        let mut logs: Vec<_> = entries
            .flatten()
            .map(|entry| entry.path())
            .filter(|path| logdef_resync::is_log(path))
            .collect();
        if logs.is_empty() {
            return Err(error::at(path, "neither an archive nor a folder of logs"));
        }
        logs.sort();
        self.logs.extend(logs);
        Ok(())
    }
}

/// The path of a file of this machine.
fn local(path: &str) -> Result<PathBuf> {
    match path.split_once("://") {
        Some(("file", rest)) => Ok(PathBuf::from(rest)),
        Some((scheme, _)) if scheme.bytes().all(|byte| byte.is_ascii_alphanumeric()) => {
            let why = format!("{path}: {scheme}:// is not read, but http://, https:// and s3://");
            Err(error::plain(why))
        }
        _ => Ok(PathBuf::from(path)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_read_by_its_own_name_rather_than_by_a_link() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("app.log.000001");
        fs::write(&file, "a log").unwrap();
        std::os::unix::fs::symlink(&file, folder.path().join("app.log")).unwrap();
        let found = Found::at(&[folder.path().display().to_string()]).unwrap();
        assert_eq!(found.logs, [file]);
    }

    /// Its records were left out of an answer without a word.
    #[test]
    fn a_log_that_cannot_be_examined_is_not_left_out() {
        let folder = tempfile::tempdir().unwrap();
        let link = folder.path().join("app.log");
        std::os::unix::fs::symlink("/nowhere/app.log", &link).unwrap();
        let found = Found::at(&[folder.path().display().to_string()]).unwrap();
        assert_eq!(found.logs, [link]);
    }
}
