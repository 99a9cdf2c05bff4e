//! What the command line names: files, directories of logs, patterns.

use crate::archived;
use std::collections::HashMap;
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// The files that the words stand for, in their order, each file once however many names
/// lead to it, by one that is no link if there is any; standard input if there is no word.
/// What stands for nothing is a problem, in a line.
pub fn of(words: &[PathBuf]) -> Vec<Result<PathBuf, String>> {
    if words.is_empty() {
        return vec![Ok(PathBuf::from("-"))];
    }
    let files = words.iter().flat_map(|word| files(word));
    // Where each file stands in the list.
    let mut known = HashMap::new();
    let mut once: Vec<Result<PathBuf, String>> = Vec::new();
    for file in files {
        let metadata = file.as_ref().ok().and_then(|path| path.metadata().ok());
        let metadata = metadata.filter(Metadata::is_file);
        let identity = metadata.map(|metadata| (metadata.dev(), metadata.ino()));
        match identity.and_then(|identity| known.get(&identity)) {
            // The link of a log leads to another file soon.
            Some(&at) if is_link(&once[at]) => once[at] = file,
            Some(_) => {}
            None => {
                known.extend(identity.map(|identity| (identity, once.len())));
                once.push(file);
            }
        }
    }
    once
}

fn is_link(file: &Result<PathBuf, String>) -> bool {
    file.as_ref().is_ok_and(|path| path.is_symlink())
}

/// Whether a word is a pattern. A file of that very name goes before what its name would
/// match.
pub fn is_pattern(word: &Path) -> bool {
    let text = word.to_str();
    text.is_some_and(|text| text.contains(['*', '?', '['])) && !word.exists()
}

fn files(word: &Path) -> Vec<Result<PathBuf, String>> {
    if word.is_dir() {
        let parts = archived::parts(word);
        if !parts.is_empty() {
            return parts.into_iter().map(Ok).collect();
        }
        return directory(word);
    }
    let Some(pattern) = word.to_str().filter(|_| is_pattern(word)) else {
        return vec![Ok(word.to_owned())];
    };
    let found = match glob::glob(pattern) {
        Ok(found) => found,
        Err(error) => return vec![Err(format!("pattern {pattern}: {error}"))],
    };
    let mut files: Vec<_> = found
        .map(|path| path.map_err(|error| error.to_string()))
        .filter(|path| {
            path.as_ref()
                .map_or(true, |path| logdef_resync::may_be_file(path))
        })
        .collect();
    if files.is_empty() {
        files.push(Err(format!("no file matches {pattern}")));
    }
    files
}

/// How the problem begins that there is nothing to read in a directory, and not something that cannot
/// be read.
pub const NO_LOG: &str = "no log in directory";

/// The logs of a directory, by name, whatever they are called. Pipes and devices are left
/// alone: reading them might never end.
fn directory(path: &Path) -> Vec<Result<PathBuf, String>> {
    let cannot = |error| format!("cannot read {}: {error}", path.display());
    let entries = match std::fs::read_dir(path) {
        Ok(entries) => entries,
        Err(error) => return vec![Err(cannot(error))],
    };
    let mut files = Vec::new();
    let mut problems = Vec::new();
    for entry in entries {
        match entry {
            Ok(entry) if logdef_resync::is_log(&entry.path()) => files.push(Ok(entry.path())),
            Ok(_) => {}
            Err(error) => problems.push(Err(cannot(error))),
        }
    }
    files.sort();
    if files.is_empty() && problems.is_empty() {
        problems.push(Err(format!("{NO_LOG} {}", path.display())));
    }
    files.append(&mut problems);
    files
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::symlink;

    /// The link once hid the file that it led to when it was asked, and led to another when it was
    /// opened.
    #[test]
    fn a_file_is_read_by_its_own_name_rather_than_by_a_link() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        for name in ["app.log.1", "app.log.2"] {
            fs::write(at(name), name).unwrap();
        }
        symlink("app.log.2", at("app.log")).unwrap();
        fs::hard_link(at("app.log.1"), at("b.log")).unwrap();
        let found = |words: &[PathBuf]| {
            let found = of(words).into_iter();
            found.collect::<Result<Vec<_>, _>>().unwrap()
        };
        let own = [at("app.log.2"), at("app.log.1")];
        assert_eq!(found(&[folder.path().to_owned()]), own);
        assert_eq!(found(&[at("app.log*")]), own);
        assert_eq!(found(&[at("app.log"), at("app.log.2")]), own[..1]);
        assert_eq!(found(&[at("app.log.2"), at("app.log")]), own[..1]);
        assert_eq!(found(&[at("app.log")]), [at("app.log")]);
    }
}
