//! Whose a log file is, by the preamble that it begins with: what is no log is never
//! removed, and what a process that lives writes to is never removed by another.

use super::children;
use crate::sys::{self, Errno};
use core::ffi::{CStr, c_int};
use core::num::NonZeroUsize;
use core::sync::atomic::{AtomicU64, Ordering};
use logdef_wire::record::Preamble;
use logdef_wire::{Record, frame};

/// Whose a log is.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Owner {
    /// Of another process that may still write to it or remove it.
    Other,
    /// Of this process, or of one that has ended, to which no other writes, and no child.
    Nobody,
}

/// When the program opened its first log since it was executed; 0 if it did not yet.
static FIRST_OPENED: AtomicU64 = AtomicU64::new(0);

/// The program opens a log.
pub(crate) fn note_opening() {
    let (now, order) = (crate::clock::monotonic(), Ordering::Relaxed);
    let _ = FIRST_OPENED.compare_exchange(0, now, order, order);
    children::prepare();
}

/// A preamble is shorter: its longest part is a path.
const FRONT: usize = 8 << 10;

/// A log: its writer, by its preamble, and what the file system says of its file.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Log {
    pub owner: Owner,
    /// It has chunks of threads, which may write anywhere in it.
    pub is_mapped: bool,
    /// Bytes that it takes of the file system.
    pub bytes: u64,
    /// When it was last written to, in nanoseconds.
    pub modified: u64,
    pub inode: u64,
}

const FLAGS: c_int = libc::O_RDONLY | libc::O_NOFOLLOW | libc::O_NONBLOCK | libc::O_NOCTTY;

/// Finds the log under a name of a directory; `None` if that is not a log. May be
/// called in a signal handler.
pub(crate) fn at(directory: c_int, name: &CStr) -> Option<Log> {
    Look::at(directory, name, FLAGS).ok()?.log
}

/// Whether the file at `path`, or where that leads to, is a log that another process maps and may write to:
/// what is appended to it would be overwritten.
pub(crate) fn is_mapped_by_another(path: &CStr) -> bool {
    let flags = FLAGS & !libc::O_NOFOLLOW;
    Look::at(libc::AT_FDCWD, path, flags).is_ok_and(|look| match look.log {
        Some(log) => log.is_mapped && log.owner == Owner::Other,
        // Before its first record nothing in the file says so.
        None => sys::is_marked_mapped(look.fd),
    })
}

/// Whether the file at `path` begins as a log does. May be called in a signal handler.
pub(crate) fn is_log(path: &CStr) -> bool {
    at(libc::AT_FDCWD, path).is_some()
}

/// A file that was left: no process writes to it, and none can mark it as in use as long as this is there. May be
/// made in a signal handler.
pub(crate) struct Left(Look);

impl Left {
    /// The file at a path. EBUSY if a process has it, or asks for it too.
    pub fn at(path: &CStr) -> Result<Left, Errno> {
        Left::in_directory(libc::AT_FDCWD, path)
    }

    /// The file under a name of a directory.
    pub fn in_directory(directory: c_int, name: &CStr) -> Result<Left, Errno> {
        let look = Look::at(directory, name, FLAGS)?;
        let is_left = match look.log {
            Some(log) => log.owner == Owner::Nobody,
            None => !look.is_in_use,
        };
        is_left.then_some(Left(look)).ok_or(Errno(libc::EBUSY))
    }

    pub fn is_log(&self) -> bool {
        self.0.log.is_some()
    }

    /// Whether it is a file of no bytes.
    pub fn is_empty(&self) -> bool {
        self.0.is_file() && self.0.stat.st_size == 0
    }

    /// Whether it is this user's, and of zeros only, as a process leaves it that is killed once it has made a file and
    /// before it writes to it.
    pub fn holds_nothing(&self) -> bool {
        let Look { fd, stat, .. } = &self.0;
        let is_own = self.0.is_file() && stat.st_uid == sys::effective_user();
        is_own && stat.st_size <= NOTHING && has_zeros_only(*fd)
    }

    /// When it was last written to, in seconds since the Unix epoch.
    pub fn modified_s(&self) -> i64 {
        self.0.stat.st_mtime
    }
}

/// More bytes are not looked at.
const NOTHING: libc::off_t = 64 << 20;

fn has_zeros_only(fd: c_int) -> bool {
    sys::rewind(fd) && pass_zeros(fd) == Ok(false)
}

/// Reads the zeros that come next. Whether another byte comes after them: it is read next. EFBIG where there
/// are too many.
fn pass_zeros(fd: c_int) -> Result<bool, Errno> {
    const PIECE: NonZeroUsize = NonZeroUsize::new(64 << 10).unwrap();
    let mut piece = sys::Temporary::new(PIECE)?;
    for _ in 0..=NOTHING as usize / PIECE {
        let read = sys::read_whole(fd, piece.bytes())?;
        if read == 0 {
            return Ok(false);
        }
        let mut bytes = piece.as_slice()[..read].iter();
        if let Some(zeros) = bytes.position(|byte| *byte != 0) {
            return sys::seek_back(fd, read - zeros).map(|()| true);
        }
    }
    Err(Errno(libc::EFBIG))
}

/// What stands under a name. A process that would mark it as in use waits as long as this is there.
struct Look {
    fd: c_int,
    stat: libc::stat,
    is_in_use: bool,
    log: Option<Log>,
}

impl Drop for Look {
    fn drop(&mut self) {
        // A child that was forked meanwhile has the descriptor too.
        sys::unlock(self.fd);
        sys::close(self.fd);
    }
}

impl Look {
    fn at(directory: c_int, name: &CStr, flags: c_int) -> Result<Look, Errno> {
        let fd = sys::open_at(directory, name, flags, 0)?;
        let stat = sys::stat(fd).inspect_err(|_| sys::close(fd))?;
        let mut look = Look {
            fd,
            stat,
            is_in_use: false,
            log: None,
        };
        if look.is_file() {
            // First: its process may write to it and end meanwhile.
            look.is_in_use = sys::is_in_use(fd);
            look.stat = sys::stat(fd)?;
            look.log = look.find_log();
        }
        Ok(look)
    }

    fn is_file(&self) -> bool {
        self.stat.st_mode & libc::S_IFMT == libc::S_IFREG
    }

    fn find_log(&self) -> Option<Log> {
        let front = const { NonZeroUsize::new(FRONT).unwrap() };
        let mut memory = sys::Temporary::new(front).ok()?;
        let mut read = sys::read_whole(self.fd, memory.bytes()).ok()?;
        // When threads had claimed chunks after the first, that was refused, or its thread was killed before
        // it came to write there.
        let is_empty = read > 0 && is_zeros(&memory.as_slice()[..read]);
        if is_empty && sys::seek_data(self.fd) && pass_zeros(self.fd) == Ok(true) {
            read = sys::read_whole(self.fd, memory.bytes()).ok()?;
        }
        let frame = frame::decode(&memory.as_slice()[..read]).ok()?;
        let Ok(Record::Preamble(preamble)) = Record::decode(frame.body) else {
            return None;
        };
        let stat = &self.stat;
        Some(Log {
            owner: self.owner(&preamble),
            is_mapped: preamble.chunk.is_some(),
            bytes: stat.st_blocks as u64 * 512,
            inode: stat.st_ino,
            modified: (stat.st_mtime as u64)
                .wrapping_mul(1_000_000_000)
                .wrapping_add(stat.st_mtime_nsec as u64),
        })
    }

    /// Whose it is, by the preamble that it begins with.
    fn owner(&self, preamble: &Preamble<'_>) -> Owner {
        let pid = preamble.pid.and_then(|pid| u32::try_from(pid).ok());
        let is_own = pid == Some(sys::process_id()) && lives(preamble, sys::process_id());
        // What the process mapped before it executed this program is unmapped: who uses it now is
        // a child.
        let first = FIRST_OPENED.load(Ordering::Relaxed);
        let is_ours = is_own && preamble.monotonic.is_none_or(|at| at >= first);
        let other_lives = || !is_own && pid.is_some_and(|pid| lives(preamble, pid));
        // A log of this process that was closed stays in use as long as threads have windows of it.
        let is_childs = || self.is_in_use && children::may_live();
        if is_ours && is_childs() || !is_ours && (self.is_in_use || other_lives()) {
            Owner::Other
        } else {
            Owner::Nobody
        }
    }
}

fn is_zeros(bytes: &[u8]) -> bool {
    bytes.iter().all(|byte| *byte == 0)
}

/// Whether process `pid` of this machine is the one that wrote the preamble: it had
/// started by then. Where the kernel does not show it, it counts as ended: a process that
/// logs holds a lock too.
fn lives(preamble: &Preamble<'_>, pid: u32) -> bool {
    let is_this_boot = |named: &[u8]| sys::boot_id().is_none_or(|boot_id| boot_id == named);
    let same_boot = preamble.boot_id.is_none_or(is_this_boot);
    let suspended = sys::clock(libc::CLOCK_BOOTTIME).saturating_sub(crate::clock::monotonic());
    let by = preamble
        .monotonic
        .unwrap_or(u64::MAX)
        .saturating_add(suspended);
    same_boot && started(pid).is_some_and(|started| started <= by)
}

/// When a process started, in nanoseconds since the machine did; `None` if no process has
/// this id.
fn started(pid: u32) -> Option<u64> {
    let mut path = *b"/proc/0000000000/stat\0";
    let mut rest = pid;
    for digit in path[6..16].iter_mut().rev() {
        *digit = b'0' + (rest % 10) as u8;
        rest /= 10;
    }
    // The kernel knows no number with zeros before it.
    let first = path[6..16].iter().position(|digit| *digit != b'0')?;
    path.copy_within(6 + first.., 6);
    let mut stat = [0; 1024];
    let len = sys::read_start(CStr::from_bytes_until_nul(&path).ok()?, &mut stat).ok()?;
    // The second word is a name in parentheses, and may hold anything.
    let name_ends = stat[..len].iter().rposition(|byte| *byte == b')')?;
    let mut words = stat[name_ends + 1..len].split(|byte| *byte == b' ');
    let ticks = core::str::from_utf8(words.nth(20)?).ok()?;
    // A tick is a hundredth of a second wherever the kernel shows one.
    ticks.parse::<u64>().ok()?.checked_mul(10_000_000)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::CString;
    use std::fs::File;
    use std::os::unix::fs::FileExt;

    /// Its front is a hole for good then, or zeros that take space: `keep` did not count it among the files of
    /// earlier runs.
    #[test]
    fn a_log_in_whose_first_chunk_nothing_stands_is_a_log() {
        let directory = tempfile::tempdir().unwrap();
        let found = |name: &str, zeros: usize, bytes: &[u8]| {
            let path = directory.path().join(name);
            let file = File::create(&path).unwrap();
            file.set_len(1 << 20).unwrap();
            file.write_all_at(&vec![0; zeros], 0).unwrap();
            file.write_all_at(bytes, 256 << 10).unwrap();
            let path = CString::new(path.to_str().unwrap()).unwrap();
            at(libc::AT_FDCWD, &path).map(|log| log.owner)
        };
        let mut frame = [0; 64];
        let preamble = Preamble {
            // No process has it.
            pid: Some(0x7fff_fff0),
            ..Preamble::default()
        };
        frame::encode(&mut frame, |encoder| preamble.encode(encoder)).unwrap();
        for zeros in [0, 16 << 10, 64 << 10, 256 << 10] {
            assert_eq!(found("log", zeros, &frame), Some(Owner::Nobody), "{zeros}");
            assert_eq!(found("text", zeros, b"a text behind zeros"), None);
            assert_eq!(found("zeros", zeros, b""), None);
        }
    }

    #[test]
    fn the_kernel_says_when_this_process_started() {
        let at = started(sys::process_id()).unwrap();
        assert!(at > 0 && at <= sys::clock(libc::CLOCK_BOOTTIME));
        assert_eq!(started(u32::MAX), None);
        assert_eq!(started(0), None);
    }
}
