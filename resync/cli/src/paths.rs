//! What the command line names: files, directories of logs, patterns.

use crate::archived;
use std::collections::HashSet;
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// The files that the words stand for, in their order, each file once however many names
/// lead to it; standard input if there is no word. What stands for nothing is a problem,
/// in a line.
pub fn of(words: &[PathBuf]) -> Vec<Result<PathBuf, String>> {
    if words.is_empty() {
        return vec![Ok(PathBuf::from("-"))];
    }
    let mut files: Vec<_> = words.iter().flat_map(|word| files(word)).collect();
    let mut known = HashSet::new();
    files.retain(|file| {
        let metadata = file.as_ref().ok().and_then(|path| path.metadata().ok());
        let is_file = |metadata: &Metadata| metadata.is_file();
        metadata
            .filter(is_file)
            .is_none_or(|metadata| known.insert((metadata.dev(), metadata.ino())))
    });
    files
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
        .filter(|path| !path.as_ref().is_ok_and(|path| path.is_dir()))
        .collect();
    if files.is_empty() {
        files.push(Err(format!("no file matches {pattern}")));
    }
    files
}

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
        problems.push(Err(format!("no log in directory {}", path.display())));
    }
    files.append(&mut problems);
    files
}
