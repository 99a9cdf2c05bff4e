//! The numbers in the names of rotated files: at least six digits behind the log's name.

use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// The number of the file that stands under the path itself.
pub(crate) const UNNUMBERED: u32 = 0;

/// The number in the name of a log's file, if it is one of `log`'s.
pub(super) fn number_of(name: &[u8], log: &[u8]) -> Option<u32> {
    let digits = name.strip_prefix(log)?.strip_prefix(b".")?;
    let are_ours = digits.iter().all(u8::is_ascii_digit)
        && (digits.len() == 6 || digits.len() > 6 && digits[0] != b'0');
    let digits = core::str::from_utf8(digits).ok().filter(|_| are_ours)?;
    digits.parse().ok().filter(|number| *number != UNNUMBERED)
}

/// Whether a name is that of a numbered file of `log`.
pub(crate) fn is_numbered(name: &[u8], log: &[u8]) -> bool {
    number_of(name, log).is_some()
}

/// The numbers after `path` in its directory, in their order.
pub(super) fn numbers_in_use(path: &Path) -> Vec<u32> {
    let (Some(directory), Some(name)) = (path.parent(), path.file_name()) else {
        return Vec::new();
    };
    let Ok(entries) = std::fs::read_dir(directory) else {
        return Vec::new();
    };
    let entries = entries.flatten();
    let mut numbers: Vec<u32> = entries
        .filter_map(|entry| number_of(entry.file_name().as_bytes(), name.as_bytes()))
        .collect();
    numbers.sort_unstable();
    numbers
}
