//! A bound on the bytes of all logs in a directory, by whatever program. The oldest go
//! first; what is no log stays, and so does what a process that lives writes to. Works
//! without allocation, since a rotation may happen in a signal handler.

use super::owner::{self, Left};
use crate::sys::{self, Errno, Temporary};
use core::ffi::{CStr, c_int};
use core::num::NonZeroUsize;

/// A log that was found in the directory.
pub(crate) struct Found<'f> {
    directory: c_int,
    pub name: &'f CStr,
    /// Unless a process has it.
    left: Option<Left>,
}

impl Found<'_> {
    /// Removes its name, unless a process has it.
    pub fn remove(&self) -> bool {
        self.left.is_some() && sys::unlink_at(self.directory, self.name).is_ok()
    }
}

/// Logs that one look at the directory can find to be removed.
const CANDIDATES: usize = 64;
/// Looks at most: each costs some 20 us for each file.
const LOOKS: u32 = 16;
/// Bytes for a name and its entry.
const CANDIDATE: usize = 24 + LONGEST_NAME + 1;
/// Bytes of the longest name on most file systems.
const LONGEST_NAME: usize = 255;
const ENTRIES: usize = 16 << 10;

/// Removes the oldest logs of a directory, by `remove`, until all of them together have at
/// most `bytes` bytes, or no other may be removed.
pub(crate) fn keep_within(
    directory: &CStr,
    bytes: u64,
    mut remove: impl FnMut(&Found<'_>) -> bool,
) {
    let open = || sys::open(directory, libc::O_RDONLY | libc::O_DIRECTORY, 0);
    let mut after = (0, 0);
    for _ in 0..LOOKS {
        let Ok(fd) = open() else { return };
        let looked = look(fd, bytes, after, &mut remove);
        sys::close(fd);
        // Those that stayed are not looked at again.
        match looked {
            Ok(Some(last)) => after = last,
            _ => return,
        }
    }
}

/// The same in one look, of logs after one. The last of them, if there may be more to be removed.
fn look(
    directory: c_int,
    bytes: u64,
    after: (u64, u64),
    remove: &mut impl FnMut(&Found<'_>) -> bool,
) -> Result<Option<(u64, u64)>, Errno> {
    let room = const { NonZeroUsize::new(ENTRIES + CANDIDATES * CANDIDATE).unwrap() };
    let mut memory = Temporary::new(room)?;
    let (entries, candidates) = memory.bytes().split_at_mut(ENTRIES);
    let mut oldest = Oldest {
        candidates,
        len: 0,
        total: 0,
        after,
    };
    sys::each_entry(directory, entries, |name| oldest.look_at(directory, name))?;
    let mut total = oldest.total;
    for index in 0..oldest.len {
        if total <= bytes {
            return Ok(None);
        }
        let (_, size, name) = oldest.candidate(index);
        let log = Found {
            directory,
            name,
            left: Left::in_directory(directory, name)
                .ok()
                .filter(Left::is_log),
        };
        if remove(&log) {
            total = total.saturating_sub(size);
        }
    }
    let is_all = oldest.len < CANDIDATES || total <= bytes;
    Ok((!is_all).then(|| oldest.candidate(CANDIDATES - 1).0))
}

/// The oldest logs of those that were looked at, the oldest first.
struct Oldest<'m> {
    candidates: &'m mut [u8],
    len: usize,
    /// Bytes of all logs.
    total: u64,
    /// When the last was written to of those that were looked at before, and its inode.
    after: (u64, u64),
}

impl Oldest<'_> {
    fn look_at(&mut self, directory: c_int, name: &CStr) {
        // Some file systems have names for which there is no room here.
        if name.count_bytes() > LONGEST_NAME {
            return;
        }
        let Some(log) = owner::at(directory, name) else {
            return;
        };
        self.total += log.bytes;
        let at = (log.modified, log.inode);
        if at <= self.after {
            return;
        }
        let later = |index: &usize| self.candidate(*index).0 > at;
        let place = (0..self.len).find(later).unwrap_or(self.len);
        if place == CANDIDATES {
            return;
        }
        self.len = (self.len + 1).min(CANDIDATES);
        let (from, end) = (place * CANDIDATE, self.len * CANDIDATE);
        self.candidates
            .copy_within(from..end - CANDIDATE, from + CANDIDATE);
        let candidate = &mut self.candidates[from..from + CANDIDATE];
        candidate[..8].copy_from_slice(&log.modified.to_ne_bytes());
        candidate[8..16].copy_from_slice(&log.bytes.to_ne_bytes());
        candidate[16..24].copy_from_slice(&log.inode.to_ne_bytes());
        let name = name.to_bytes_with_nul();
        candidate[24..24 + name.len()].copy_from_slice(name);
    }

    /// When it was written to and its inode, its bytes, and its name.
    fn candidate(&self, index: usize) -> ((u64, u64), u64, &CStr) {
        let (numbers, name) = self.candidates[index * CANDIDATE..][..CANDIDATE].split_at(24);
        let number = |at: usize| {
            let mut bytes = [0; 8];
            bytes.copy_from_slice(&numbers[at..at + 8]);
            u64::from_ne_bytes(bytes)
        };
        let name = CStr::from_bytes_until_nul(name).unwrap_or_default();
        ((number(0), number(16)), number(8), name)
    }
}
