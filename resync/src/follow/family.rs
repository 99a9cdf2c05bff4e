//! Which files are a log's: by their names beside it, and by their first bytes.

use crate::read::compression::SUFFIXES as COMPRESSED;
use logdef_wire::frame;
use rustix::fs::SeekFrom::Data;
use std::ffi::OsStr;
use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};

/// The files of the log at `path`: itself, and in its folder those whose names are its
/// name, a dot and numbers (rotated files, and those of forked children), or a dot and
/// anything else if they begin as a log does or are compressed. The file at `path` comes
/// first, whether or not it is there.
pub fn family(path: &Path) -> Vec<PathBuf> {
    let mut files = vec![path.to_owned()];
    let folder = match path.parent() {
        Some(folder) if folder != Path::new("") => folder,
        _ => Path::new("."),
    };
    let Some(name) = path.file_name().map(|name| name.as_encoded_bytes()) else {
        return files;
    };
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    for entry in entries {
        let other = entry.file_name();
        let rest = other.as_encoded_bytes().strip_prefix(name);
        let Some([b'.', more @ ..]) = rest else {
            continue;
        };
        let path = entry.path();
        // A file begins with zeros until the thread that has its first chunk comes to run.
        let is_numbered = || is_numbered(more);
        if may_be_file(&path) && (is_numbered() || is_compressed(&path) || begins_as_log(&path)) {
            files.push(path);
        }
    }
    files[1..].sort();
    files
}

fn is_numbered(end: &[u8]) -> bool {
    let mut bytes = end.iter();
    bytes.all(|byte| matches!(byte, b'0'..=b'9' | b'-' | b'.'))
}

/// Whether a path leads to a plain file, or to what cannot be examined: a reader that left that out
/// would show less than there is and not know it, and opening it says why it cannot be read.
pub fn may_be_file(path: &Path) -> bool {
    match path.metadata() {
        Ok(about) => about.is_file(),
        Err(error) => error.kind() != ErrorKind::NotFound || leads_nowhere(path),
    }
}

/// Whether a path is a link to nothing, and not because its log was rotated. The link of a rotated log
/// leads to the newest file: if `keep` is small, that may be removed in the moment between two names that
/// are read of the folder, and all that the log still has is in the other files.
fn leads_nowhere(path: &Path) -> bool {
    let (Ok(target), Some(name)) = (path.read_link(), path.file_name()) else {
        // It was removed meanwhile.
        return false;
    };
    let own = path.parent().unwrap_or(Path::new(""));
    let folder = |path: &Path| path.parent().and_then(|it| it.canonicalize().ok());
    let of_target = target.file_name().unwrap_or_default().as_encoded_bytes();
    let rest = of_target.strip_prefix(name.as_encoded_bytes());
    let is_rotated = matches!(rest, Some([b'.', more @ ..]) if is_numbered(more));
    let is_beside =
        target.parent() == Some(Path::new("")) || folder(&own.join(&target)) == folder(path);
    !(is_rotated && is_beside)
}

pub(super) fn is_compressed(path: &Path) -> bool {
    let name = path
        .file_name()
        .map_or(&b""[..], |name| name.as_encoded_bytes());
    COMPRESSED.iter().any(|end| name.ends_with(end.as_bytes()))
}

/// Whether a file of a folder is a log: if it has the name of one, though its first bytes may be damaged, or
/// begins as one, whatever it is called, or is one of the files of a log that does so. Pipes and devices are
/// no logs. A file that has the name of a log and [cannot be examined](may_be_file) is a log.
pub fn is_log(path: &Path) -> bool {
    let Some(name) = path.file_name() else {
        return false;
    };
    may_be_file(path) && (has_name_of_log(name) || begins_as_log(path) || is_of_log_beside(path))
}

fn has_name_of_log(name: &OsStr) -> bool {
    let name = name.to_string_lossy();
    let base = without_numbers(&name);
    base.ends_with(".log") || base.ends_with(".logdef")
}

/// Whether a file has the name of another, and numbers after it, and that is a log or a link to this file, as
/// a rotated log has one to its newest: its own first bytes may be damaged.
fn is_of_log_beside(path: &Path) -> bool {
    let Some(name) = path.file_name().and_then(OsStr::to_str) else {
        return false;
    };
    let base = without_numbers(name);
    if base.is_empty() || base == name {
        return false;
    }
    let log = path.with_file_name(base);
    let leads_here =
        std::fs::read_link(&log).is_ok_and(|target| target.file_name() == path.file_name());
    leads_here || begins_as_log(&log)
}

/// The name of the log that a file may be of.
fn without_numbers(name: &str) -> &str {
    let unpacked = COMPRESSED.iter();
    let name = unpacked
        .filter_map(|end| name.strip_suffix(end))
        .next()
        .unwrap_or(name);
    // Rotated files have a number, those of forked children a process and a number.
    let is_numbers = |end: &str| {
        end.bytes()
            .all(|byte| byte.is_ascii_digit() || byte == b'-')
    };
    let mut base = name;
    while let Some((rest, end)) = base.rsplit_once('.')
        && is_numbers(end)
    {
        base = rest;
    }
    base
}

/// Whether a file begins with a frame, after a hole if it begins with that: a full disk refused its first
/// chunk then. Only plain files are opened: others might wait for a writer, or give no end of bytes.
pub fn begins_as_log(path: &Path) -> bool {
    if !std::fs::metadata(path).is_ok_and(|metadata| metadata.is_file()) {
        return false;
    }
    let begins = |file: File| {
        let mut head = start(&file)?;
        if head == [0; frame::PATTERN_LEN] {
            rustix::fs::seek(&file, Data(0))?;
            head = start(&file)?;
        }
        Ok(frame::starts_with_pattern(&head))
    };
    File::open(path).and_then(begins).unwrap_or(false)
}

/// The next bytes of a file, as many as show a frame.
fn start(file: &File) -> std::io::Result<Vec<u8>> {
    let mut head = Vec::new();
    file.take(frame::PATTERN_LEN as u64)
        .read_to_end(&mut head)?;
    Ok(head)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::FileExt;

    #[test]
    fn a_link_to_a_rotated_file_that_is_gone_is_no_log_and_other_links_are() {
        let folder = tempfile::tempdir().unwrap();
        let own = folder.path().join("app.log.7").display().to_string();
        for (target, is_kept) in [
            ("app.log.000003", false),
            ("./app.log.000003", false),
            (&*own, false),
            ("app.log.012-345.6", false),
            ("app.log.old", true),
            ("b.log.000003", true),
            ("/elsewhere/app.log.000003", true),
            ("app.log", true),
        ] {
            let link = folder.path().join("app.log");
            std::os::unix::fs::symlink(target, &link).unwrap();
            assert_eq!(is_log(&link), is_kept, "{target}");
            std::fs::remove_file(link).unwrap();
        }
        assert!(!is_log(&folder.path().join("app.log")));
    }

    /// Such a log was left out of its folder unless it had the name of one.
    #[test]
    fn a_log_whose_first_chunk_was_refused_is_recognized() {
        let folder = tempfile::tempdir().unwrap();
        let put = |name: &str, bytes: &[u8]| {
            let path = folder.path().join(name);
            let file = File::create(&path).unwrap();
            file.set_len(1 << 20).unwrap();
            file.write_all_at(bytes, 64 << 10).unwrap();
            path
        };
        let frame = [0xc1, 0xce, 1, 2, 3, 4, 0xc1, 0xda, 0, 1];
        assert!(is_log(&put("spool", &frame)));
        assert!(!is_log(&put("text", b"a text behind a hole")));
        assert!(!is_log(&put("hole", b"")));
    }

    /// `check` of a folder left such a file out, and said that no record was missing.
    #[test]
    fn a_rotated_file_whose_first_bytes_are_zeros_is_of_the_log_beside_it() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let frame = [0xc1, 0xce, 1, 2, 3, 4, 0xc1, 0xda, 0, 1];
        std::fs::write(at("spool.000001"), [&[0; 512][..], &frame].concat()).unwrap();
        std::fs::write(at("spool.000002"), frame).unwrap();
        assert!(!is_log(&at("spool.000001")), "nothing says that it is one");
        std::os::unix::fs::symlink("spool.000002", at("spool")).unwrap();
        assert!(is_log(&at("spool.000001")));
        std::fs::write(at("spool.txt"), "a text").unwrap();
        assert!(!is_log(&at("spool.txt")));
        // The link alone says it, too.
        std::fs::remove_file(at("spool")).unwrap();
        std::os::unix::fs::symlink("spool.000001", at("spool")).unwrap();
        assert!(is_log(&at("spool.000001")));
    }

    #[test]
    fn logs_are_recognized_by_their_names() {
        for name in [
            "a.log",
            "a.logdef",
            "a.log.1",
            "a.log.gz",
            "a.log.022332-648927393.022335-873586087",
            "a.logdef.12.zst",
            "a.log.3.xz",
            "a.log.bz2",
        ] {
            assert!(has_name_of_log(OsStr::new(name)), "{name}");
        }
        for name in ["a.txt", "log", "a.log.old", "alog.1", "a.1"] {
            assert!(!has_name_of_log(OsStr::new(name)), "{name}");
        }
    }
}
