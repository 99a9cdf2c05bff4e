//! What processes that were killed left beside a log: files that hold nothing, and links that were
//! to become the log's path.

use super::number::{is_numbered, number_in};
use super::unfinished::is_young;
use crate::sink::owner::Left;
use crate::sys;
use core::ffi::CStr;
use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// What stands at a path, if it is an ended log or a file that holds nothing.
pub(super) fn file_at(path: &CStr) -> Option<Left> {
    let left = Left::at(path).ok()?;
    (left.is_log() || left.holds_nothing()).then_some(left)
}

/// Removes the links among these names, in the directory of the log at `path`, that were to become its
/// path, and whose threads have ended.
pub(super) fn remove_links(path: &Path, names: &[OsString]) {
    let log = path.file_name().unwrap_or_default().as_bytes();
    for name in names {
        let maker = maker_of(name.as_bytes(), log);
        if maker.is_none_or(sys::is_alive) {
            continue;
        }
        let at = path.with_file_name(name);
        if is_left_link(&at, log) {
            let _ = std::fs::remove_file(at);
        }
    }
}

/// The thread that made a link of this name, which [`Names`](super::Names) gives it before it has the
/// log's.
fn maker_of(name: &[u8], log: &[u8]) -> Option<u32> {
    let name = name.strip_prefix(log)?.strip_prefix(b".")?;
    let parts = name.strip_suffix(b".link")?.split(|byte| *byte == b'.');
    let numbers: Option<Vec<u32>> = parts.map(number_in).collect();
    match numbers?[..] {
        [_number, thread] | [_number, thread, _] => Some(thread),
        _ => None,
    }
}

/// Whether a link leads to a file of the log, and has for a while.
fn is_left_link(at: &Path, log: &[u8]) -> bool {
    let leads_to_log =
        std::fs::read_link(at).is_ok_and(|target| is_numbered(target.as_os_str().as_bytes(), log));
    // Threads of other PID namespaces cannot be seen.
    let found = at.symlink_metadata();
    leads_to_log && found.is_ok_and(|found| !is_young(found.mtime()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    /// A thread that does not exist.
    const ENDED: u32 = 0x7fff_fff0;

    /// Each process that was killed between making a link and giving it the log's path left it for good.
    #[test]
    fn links_of_threads_that_have_ended_go() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("log");
        let own = sys::thread_id();
        let goes = [
            format!("log.000001.{ENDED}.link"),
            format!("log.1000000.{ENDED}.000007.link"),
        ];
        let stays = [
            format!("log.000001.{own:06}.link"),
            format!("log.000001.{ENDED}.000001.000001.link"),
            format!("log.000001.{ENDED}.links"),
            format!("log.1.{ENDED}.link"),
            format!("logs.000001.{ENDED}.link"),
        ];
        for name in goes.iter().chain(&stays) {
            symlink("log.000001", directory.path().join(name)).unwrap();
        }
        let foreign = format!("log.000002.{ENDED}.link");
        symlink("elsewhere", directory.path().join(&foreign)).unwrap();
        let file = format!("log.000003.{ENDED}.link");
        std::fs::write(directory.path().join(&file), "mine").unwrap();
        let names: Vec<OsString> = list(directory.path());
        remove_links(&path, &names);
        assert_eq!(list(directory.path()), names, "too young");
        let mut touch = std::process::Command::new("touch");
        touch.args(["--no-dereference", "--date", "2 minutes ago"]);
        let status = touch.args(&names).current_dir(directory.path()).status();
        assert!(status.unwrap().success());
        remove_links(&path, &names);
        let gone = names
            .iter()
            .filter(|name| !directory.path().join(name).is_symlink());
        let gone: Vec<_> = gone.filter(|name| **name != *file).collect();
        assert_eq!(gone, [&OsString::from(&goes[0]), &OsString::from(&goes[1])]);
        assert_eq!(list(directory.path()).len(), names.len() - goes.len());
    }

    fn list(directory: &Path) -> Vec<OsString> {
        let entries = std::fs::read_dir(directory).unwrap();
        let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        names
    }
}
