//! Whose a log file is, by the preamble that it begins with: what is no log is never
//! removed, and what a process that lives writes to is never removed by another.

use super::children;
use crate::sys::{self, Errno};
use core::ffi::{CStr, c_int};
use core::num::NonZeroUsize;
use core::sync::atomic::{AtomicU64, Ordering};
use logdef_wire::record::Preamble;
use logdef_wire::{Record, frame};
use std::ffi::OsStr;
use std::fs::{File, Metadata, OpenOptions};
use std::io::Read;
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

/// What stands under a name.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Owner {
    /// No log, or nothing.
    NoLog,
    /// A log, by another process that may still write to it or remove it.
    Other,
    /// A log of this process, or of one that has ended, to which no other writes, and no child.
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

/// Whose the file at `path` is. May be called in a signal handler.
pub(crate) fn of(path: &CStr) -> Owner {
    let found = sys::open(path, FLAGS, 0).and_then(find);
    found.ok().flatten().map_or(Owner::NoLog, |log| log.owner)
}

/// Finds the log under a name of a directory; `None` if that is not a log. May be
/// called in a signal handler.
pub(crate) fn at(directory: c_int, name: &CStr) -> Option<Log> {
    let fd = sys::open_at(directory, name, FLAGS, 0).ok()?;
    find(fd).ok()?
}

/// Whether the file at `path`, or where that leads to, is a log that another process maps and may write to:
/// what is appended to it would be overwritten.
pub(crate) fn is_mapped_by_another(path: &CStr) -> bool {
    let Ok(fd) = sys::open(path, FLAGS & !libc::O_NOFOLLOW, 0) else {
        return false;
    };
    // Before its first record nothing in the file says so.
    let is_marked = sys::is_marked_mapped(fd);
    match find(fd) {
        Ok(Some(log)) => log.is_mapped && log.owner == Owner::Other,
        _ => is_marked,
    }
}

/// What the file system says of what stands under a path, and whether a process has it in use. May be called
/// in a signal handler.
pub(crate) fn stat(path: &CStr) -> Result<(libc::stat, bool), Errno> {
    let fd = sys::open(path, FLAGS, 0)?;
    // First: its process may write to it and end meanwhile.
    let in_use = sys::is_in_use(fd);
    let stat = sys::stat(fd);
    sys::close(fd);
    Ok((stat?, in_use))
}

/// Whether it is a file that holds nothing.
pub(crate) fn is_empty_file(stat: &libc::stat) -> bool {
    stat.st_mode & libc::S_IFMT == libc::S_IFREG && stat.st_size == 0
}

/// Whether the file at `path` begins as a log does.
pub(crate) fn is_log(path: &CStr) -> bool {
    of(path) != Owner::NoLog
}

/// Whether the file at `path` is this user's, no process has it open, and it holds nothing: as a
/// process leaves it that is killed once it has made a file and before it writes to it. Allocates.
pub(crate) fn holds_nothing(path: &CStr) -> bool {
    let path = Path::new(OsStr::from_bytes(path.to_bytes()));
    let open = OpenOptions::new().read(true).custom_flags(FLAGS).open(path);
    let Ok(file) = open else { return false };
    let is_own = |found: &Metadata| {
        found.is_file() && found.uid() == sys::effective_user() && found.len() <= NOTHING
    };
    // Last, since the file cannot be marked while this has it open.
    file.metadata().is_ok_and(|found| is_own(&found))
        && has_zeros_only(&file)
        && !sys::is_in_use(file.as_raw_fd())
}

/// More bytes are not looked at.
const NOTHING: u64 = 64 << 20;

fn has_zeros_only(mut file: &File) -> bool {
    let mut piece = vec![0; 64 << 10];
    loop {
        match file.read(&mut piece) {
            Ok(0) => return true,
            Ok(len) if piece[..len].iter().all(|byte| *byte == 0) => {}
            _ => return false,
        }
    }
}

/// Finds the log that a descriptor leads to, and closes the descriptor.
fn find(fd: c_int) -> Result<Option<Log>, Errno> {
    let memory = sys::Temporary::new(const { NonZeroUsize::new(FRONT).unwrap() });
    let looked = memory.and_then(|memory| look(fd, memory));
    sys::close(fd);
    looked
}

fn look(fd: c_int, mut memory: sys::Temporary) -> Result<Option<Log>, Errno> {
    let stat = sys::stat(fd)?;
    if stat.st_mode & libc::S_IFMT != libc::S_IFREG {
        return Ok(None);
    }
    let mut read = sys::read_whole(fd, memory.bytes())?;
    // The first chunk was refused, when threads had claimed chunks behind it.
    if begins_with_zeros(&memory.as_slice()[..read]) && sys::seek_data(fd) {
        read = sys::read_whole(fd, memory.bytes())?;
    }
    let in_use = sys::is_in_use(fd);
    let front = &memory.as_slice()[..read];
    let Ok(Record::Preamble(preamble)) = frame::decode(front)
        .map_err(|_| ())
        .and_then(|frame| Record::decode(frame.body).map_err(|_| ()))
    else {
        return Ok(None);
    };
    let pid = preamble.pid.and_then(|pid| u32::try_from(pid).ok());
    let is_own = pid == Some(sys::process_id()) && lives(&preamble, sys::process_id());
    // What the process mapped before it executed this program is unmapped: who uses it now is
    // a child.
    let first = FIRST_OPENED.load(Ordering::Relaxed);
    let is_ours = is_own && preamble.monotonic.is_none_or(|at| at >= first);
    let other_lives = || !is_own && pid.is_some_and(|pid| lives(&preamble, pid));
    // A log of this process that was closed stays in use as long as threads have windows of it.
    let is_childs = || in_use && children::may_live();
    let owner = if is_ours && is_childs() || !is_ours && (in_use || other_lives()) {
        Owner::Other
    } else {
        Owner::Nobody
    };
    Ok(Some(Log {
        owner,
        is_mapped: preamble.chunk.is_some(),
        bytes: stat.st_blocks as u64 * 512,
        inode: stat.st_ino,
        modified: (stat.st_mtime as u64)
            .wrapping_mul(1_000_000_000)
            .wrapping_add(stat.st_mtime_nsec as u64),
    }))
}

fn begins_with_zeros(front: &[u8]) -> bool {
    !front.is_empty() && front.iter().all(|byte| *byte == 0)
}

/// Whether process `pid` of this machine is the one that wrote the preamble: it had
/// started by then. Where the kernel does not show it, it counts as ended: a process that
/// logs holds a lock too.
fn lives(preamble: &Preamble<'_>, pid: u32) -> bool {
    let mut boot_id = [0; 36];
    let same_boot = preamble.boot_id.is_none_or(|named| {
        sys::read_start(c"/proc/sys/kernel/random/boot_id", &mut boot_id) != Ok(named.len())
            || boot_id == named
    });
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
    use std::os::unix::fs::FileExt;

    /// Its front is a hole for good then: `keep` did not count it among the files of earlier runs.
    #[test]
    fn a_log_whose_first_chunk_was_refused_is_a_log() {
        let directory = tempfile::tempdir().unwrap();
        let found = |name: &str, bytes: &[u8]| {
            let path = directory.path().join(name);
            let file = File::create(&path).unwrap();
            file.set_len(1 << 20).unwrap();
            file.write_all_at(bytes, 64 << 10).unwrap();
            of(&CString::new(path.to_str().unwrap()).unwrap())
        };
        let mut frame = [0; 64];
        let preamble = Preamble {
            // No process has it.
            pid: Some(0x7fff_fff0),
            ..Preamble::default()
        };
        frame::encode(&mut frame, |encoder| preamble.encode(encoder)).unwrap();
        assert_eq!(found("log", &frame), Owner::Nobody);
        assert_eq!(found("text", b"a text behind a hole"), Owner::NoLog);
        assert_eq!(found("hole", b""), Owner::NoLog);
    }

    #[test]
    fn the_kernel_says_when_this_process_started() {
        let at = started(sys::process_id()).unwrap();
        assert!(at > 0 && at <= sys::clock(libc::CLOCK_BOOTTIME));
        assert_eq!(started(u32::MAX), None);
        assert_eq!(started(0), None);
    }
}
