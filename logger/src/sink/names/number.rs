//! The numbers in the names of rotated files: at least six digits after the log's name.

use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// The number of the file that stands under the path itself.
pub(crate) const UNNUMBERED: u32 = 0;

/// Names that other processes may take before this one gets one.
pub(super) const ATTEMPTS: u32 = 4096;

/// The number in the name of a log's file, if it is one of `log`'s.
pub(super) fn number_of(name: &[u8], log: &[u8]) -> Option<u32> {
    number_in(name.strip_prefix(log)?.strip_prefix(b".")?)
}

/// The number that these digits are, as names have it.
pub(super) fn number_in(digits: &[u8]) -> Option<u32> {
    let are_ours = digits.iter().all(u8::is_ascii_digit)
        && (digits.len() == 6 || digits.len() > 6 && digits[0] != b'0');
    let digits = core::str::from_utf8(digits).ok().filter(|_| are_ours)?;
    digits.parse().ok().filter(|number| *number != UNNUMBERED)
}

/// Whether a name is that of a numbered file of `log`.
pub(crate) fn is_numbered(name: &[u8], log: &[u8]) -> bool {
    number_of(name, log).is_some()
}

/// The names in the directory of `path` that begin with its own.
pub(super) fn beside(path: &Path) -> Vec<OsString> {
    let (Some(directory), Some(log)) = (path.parent(), path.file_name()) else {
        return Vec::new();
    };
    let Ok(entries) = std::fs::read_dir(directory) else {
        return Vec::new();
    };
    let names = entries.flatten().map(|entry| entry.file_name());
    names
        .filter(|name| name.as_bytes().starts_with(log.as_bytes()))
        .collect()
}

/// The numbers of the log's files among these names, in their order.
pub(super) fn numbers_in_use(names: &[OsString], log: &[u8]) -> Vec<u32> {
    let names = names.iter();
    let mut numbers: Vec<u32> = names
        .filter_map(|name| number_of(name.as_bytes(), log))
        .collect();
    numbers.sort_unstable();
    numbers
}
