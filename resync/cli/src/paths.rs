//! What the command line names: files, directories of logs, patterns.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// The files that the words stand for, in their order; standard input if there
/// is no word. What stands for nothing is a problem, in a line.
pub fn of(words: &[PathBuf]) -> Vec<Result<PathBuf, String>> {
    match words {
        [] => vec![Ok(PathBuf::from("-"))],
        words => words.iter().flat_map(|word| files(word)).collect(),
    }
}

fn files(word: &Path) -> Vec<Result<PathBuf, String>> {
    if word.is_dir() {
        return directory(word);
    }
    let pattern = word.to_str().filter(|word| word.contains(['*', '?', '[']));
    // A file of that very name goes before what its name would match.
    let Some(pattern) = pattern.filter(|_| !word.exists()) else {
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

/// The logs of a directory, by name; rotated ones with their numbers too.
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
            Ok(entry) if is_log(&entry.file_name()) && !entry.path().is_dir() => {
                files.push(Ok(entry.path()));
            }
            Ok(_) => {}
            Err(error) => problems.push(Err(cannot(error))),
        }
    }
    files.sort();
    if files.is_empty() && problems.is_empty() {
        problems.push(Err(format!(
            "no log in directory {}: logs are called *.log or *.logdef; name others one by one",
            path.display()
        )));
    }
    files.append(&mut problems);
    files
}

fn is_log(name: &OsStr) -> bool {
    let name = name.to_string_lossy();
    let name = name
        .strip_suffix(".gz")
        .or(name.strip_suffix(".zst"))
        .unwrap_or(&name);
    let base = match name.rsplit_once('.') {
        Some((base, number)) if number.bytes().all(|byte| byte.is_ascii_digit()) => base,
        _ => name,
    };
    base.ends_with(".log") || base.ends_with(".logdef")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logs_are_told_by_their_names() {
        for name in [
            "a.log",
            "a.logdef",
            "a.log.1",
            "a.log.gz",
            "a.logdef.12.zst",
        ] {
            assert!(is_log(OsStr::new(name)), "{name}");
        }
        for name in ["a.txt", "log", "a.log.old", "alog.1", "a.1"] {
            assert!(!is_log(OsStr::new(name)), "{name}");
        }
    }
}
