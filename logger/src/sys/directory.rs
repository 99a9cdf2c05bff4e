//! Directories; numbers, flags and locks of descriptors; rights and places of files; small files
//! as a whole. Part of the room for unsafe.

use super::{Errno, checked, close, open, read_link};
use crate::fixed_text::FixedText;
use core::ffi::{CStr, c_int};
use core::fmt::Write;
use core::sync::atomic::{AtomicU32, Ordering};

/// Descriptors of the log are numbered from here: programs that close 0, 1 and 2, or
/// count on the lowest free number, do not meet them.
const HIGH: c_int = 64;
/// Each is looked for from another number on, this many in turn. A program may close one at any moment: its
/// number is not soon that of another file of the log, where a thread is about to use it.
const TURNS: u32 = 64;

fn high() -> c_int {
    static TURN: AtomicU32 = AtomicU32::new(0);
    HIGH + (TURN.fetch_add(1, Ordering::Relaxed) % TURNS) as c_int
}

/// A second descriptor, numbered high, if the limit on open files allows one.
fn duplicate_in_turn(fd: c_int) -> Result<c_int, Errno> {
    duplicate(fd, high()).or_else(|_| duplicate(fd, HIGH))
}

/// Gives a descriptor that was just opened a high number; where the limit on open files
/// allows none, one that is at least not 0, 1 or 2.
pub(crate) fn lift(fd: c_int) -> Result<c_int, Errno> {
    if fd >= HIGH {
        return Ok(fd);
    }
    let lifted = duplicate_in_turn(fd).or_else(|errno| match fd {
        0..=2 => duplicate(fd, 3),
        3.. => Ok(fd),
        _ => Err(errno),
    });
    if lifted != Ok(fd) {
        close(fd);
    }
    lifted
}

/// A second descriptor of what `fd` leads to, numbered high.
pub(crate) fn duplicate_high(fd: c_int) -> Result<c_int, Errno> {
    duplicate_in_turn(fd).or_else(|_| duplicate(fd, 3))
}

/// Lets `number`, which is open, lead to what `fd` leads to.
pub(crate) fn duplicate_to(fd: c_int, number: c_int) -> Result<(), Errno> {
    // SAFETY: touches none of our memory.
    let made = unsafe { libc::syscall(libc::SYS_dup3, fd, number, libc::O_CLOEXEC) };
    checked(made as isize).map(drop)
}

fn duplicate(fd: c_int, from: c_int) -> Result<c_int, Errno> {
    // SAFETY: touches none of our memory.
    let new = unsafe { libc::syscall(libc::SYS_fcntl, fd, libc::F_DUPFD_CLOEXEC, from) };
    checked(new as isize).map(|fd| fd as c_int)
}

/// The status flags of what a descriptor leads to.
pub(crate) fn status_flags(fd: c_int) -> Result<c_int, Errno> {
    // SAFETY: touches none of our memory.
    let flags = unsafe { libc::syscall(libc::SYS_fcntl, fd, libc::F_GETFL, 0) };
    checked(flags as isize).map(|flags| flags as c_int)
}

/// Sets the status flags of what a descriptor leads to.
pub(crate) fn set_status_flags(fd: c_int, flags: c_int) -> Result<(), Errno> {
    // SAFETY: touches none of our memory.
    let set = unsafe { libc::syscall(libc::SYS_fcntl, fd, libc::F_SETFL, flags) };
    checked(set as isize).map(drop)
}

/// Marks a file as one that this process, or a child of it, has open. The mark goes
/// with the last descriptor. `false` if it is not marked, since others ask all the time whether it is.
pub(crate) fn mark_in_use(fd: c_int) -> bool {
    // Refused as long as another process asks whether it is marked.
    let is_decided = || {
        // SAFETY: touches none of our memory.
        let marked = unsafe { libc::syscall(libc::SYS_flock, fd, libc::LOCK_SH | libc::LOCK_NB) };
        marked != -1 || Errno::last() != Errno(libc::EWOULDBLOCK)
    };
    // That process may have the CPU taken away.
    let is_decided_later = || {
        super::pause(1);
        is_decided()
    };
    super::let_others_run_until(MARKS, is_decided) || (0..LATER_MARKS).any(|_| is_decided_later())
}

/// How often it is tried again to mark a file.
const MARKS: u32 = 64;
/// And how often after that, a millisecond each.
const LATER_MARKS: u32 = 16;

/// Whether a process has [marked](mark_in_use) the file that a descriptor of its own
/// was opened on.
pub(crate) fn is_in_use(fd: c_int) -> bool {
    // SAFETY: touches none of our memory.
    let locked = unsafe { libc::syscall(libc::SYS_flock, fd, libc::LOCK_EX | libc::LOCK_NB) };
    match Errno::last() {
        _ if locked != -1 => false,
        Errno(libc::EWOULDBLOCK) => true,
        // NFS locks only what is open for writing.
        Errno(libc::EBADF) => is_locked(fd),
        _ => false,
    }
}

/// Gives up what [`is_in_use`] has locked, in forked children too.
pub(crate) fn unlock(fd: c_int) {
    // SAFETY: touches none of our memory.
    unsafe { libc::syscall(libc::SYS_flock, fd, libc::LOCK_UN) };
}

/// Whether another has a lock of any byte of a file, without taking one.
fn is_locked(fd: c_int) -> bool {
    is_range_locked(fd, 0, 0)
}

/// The byte of a file whose lock says that a process maps it. No file is as long.
const MAPPED: libc::off_t = libc::off_t::MAX - 1;

/// Marks a file as one that this process, or a child of it, maps. The mark goes with the last descriptor and
/// mapping.
pub(crate) fn mark_mapped(fd: c_int) {
    let lock = lock_of(libc::F_RDLCK, MAPPED, 1);
    // SAFETY: the lock is valid for reads.
    unsafe { libc::syscall(libc::SYS_fcntl, fd, libc::F_OFD_SETLK, &raw const lock) };
}

/// Whether a process has [marked](mark_mapped) the file that a descriptor of its own was opened on.
pub(crate) fn is_marked_mapped(fd: c_int) -> bool {
    is_range_locked(fd, MAPPED, 1)
}

fn is_range_locked(fd: c_int, start: libc::off_t, len: libc::off_t) -> bool {
    let mut lock = lock_of(libc::F_WRLCK, start, len);
    // SAFETY: the lock is valid for reads and writes.
    let asked = unsafe { libc::syscall(libc::SYS_fcntl, fd, libc::F_OFD_GETLK, &raw mut lock) };
    asked == 0 && lock.l_type != libc::F_UNLCK as libc::c_short
}

/// A lock of some bytes; a length of 0 means all that follow.
fn lock_of(kind: c_int, start: libc::off_t, len: libc::off_t) -> libc::flock {
    // SAFETY: all zeros is a valid `flock`.
    let mut lock: libc::flock = unsafe { core::mem::zeroed() };
    lock.l_type = kind as libc::c_short;
    lock.l_whence = libc::SEEK_SET as libc::c_short;
    lock.l_start = start;
    lock.l_len = len;
    lock
}

/// Whether the last name of an open file was removed on NFS by this machine: it has a hidden
/// one then, until it is closed. `false` where `/proc` is out of reach, or the path is longer than 1 KiB.
pub(crate) fn is_hidden_by_nfs(fd: c_int) -> bool {
    let mut link = FixedText::<32>::new();
    let mut path = [0; 1024];
    if write!(link, "/proc/self/fd/{fd}").is_err() {
        return false;
    }
    let path = read_link(link.as_c_str(), &mut path).unwrap_or_default();
    let name = path.rsplit(|byte| *byte == b'/').next();
    let number = name.and_then(|name| name.strip_prefix(b".nfs"));
    number.is_some_and(|number| !number.is_empty() && number.iter().all(u8::is_ascii_hexdigit))
}

/// Gives a file of the log's a mode, unless that is 0: it has the one that only the user
/// may read and write with then, and where the system says no.
pub(crate) fn set_mode(fd: c_int, mode: libc::mode_t) {
    if mode != 0 {
        // SAFETY: touches none of our memory.
        unsafe { libc::syscall(libc::SYS_fchmod, fd, mode) };
    }
}

/// Gives a file another group.
pub(crate) fn set_group(fd: c_int, group: libc::gid_t) -> Result<(), Errno> {
    let same_user = libc::uid_t::MAX;
    // SAFETY: touches none of our memory.
    let set = unsafe { libc::syscall(libc::SYS_fchown, fd, same_user, group) };
    checked(set as isize).map(drop)
}

/// The mask that the process takes from the modes of new files, without changing it; 077 if
/// the kernel does not say.
pub(crate) fn file_mode_mask() -> libc::mode_t {
    const NAME: &[u8] = b"\nUmask:\t";
    let mut status = [0; 256];
    let len = read_start(c"/proc/self/status", &mut status).unwrap_or(0);
    let found = status[..len].windows(NAME.len()).position(|at| at == NAME);
    let digits = found.map_or(&[][..], |at| &status[at + NAME.len()..len]);
    let digits = digits.split(|byte| *byte == b'\n').next();
    let digits = digits.and_then(|digits| core::str::from_utf8(digits).ok());
    digits
        .and_then(|digits| libc::mode_t::from_str_radix(digits, 8).ok())
        .unwrap_or(0o077)
}

/// Exchanges what two names of one file system stand for.
pub(crate) fn exchange(one: &CStr, other: &CStr) -> Result<(), Errno> {
    // SAFETY: both paths end in a NUL.
    let exchanged = unsafe {
        libc::syscall(
            libc::SYS_renameat2,
            libc::AT_FDCWD,
            one.as_ptr(),
            libc::AT_FDCWD,
            other.as_ptr(),
            libc::RENAME_EXCHANGE,
        )
    };
    checked(exchanged as isize).map(drop)
}

/// Reads a file from its start until `into` is full or the file ends, and returns how
/// many bytes it read.
pub(crate) fn read_start(path: &CStr, into: &mut [u8]) -> Result<usize, Errno> {
    let flags = libc::O_RDONLY | libc::O_NOFOLLOW | libc::O_NONBLOCK | libc::O_NOCTTY;
    let fd = open(path, flags, 0)?;
    let read = read_whole(fd, into);
    close(fd);
    read
}

/// The random name that the kernel gives itself when the machine starts.
pub(crate) fn boot_id() -> Option<[u8; 36]> {
    let mut id = [0; 36];
    let read = read_start(c"/proc/sys/kernel/random/boot_id", &mut id);
    (read == Ok(id.len())).then_some(id)
}

/// Reads until `into` is full or the file ends, and returns how many bytes it read.
pub(crate) fn read_whole(fd: c_int, into: &mut [u8]) -> Result<usize, Errno> {
    let mut len = 0;
    loop {
        match super::read(fd, &mut into[len..]) {
            Ok(0) => return Ok(len),
            Ok(more) => len += more,
            Err(Errno(libc::EINTR)) => {}
            Err(errno) => return Err(errno),
        }
    }
}

/// Lets [`read_whole`] read from where the first hole of a file ends. `false` if the file is all hole, or the
/// file system does not know of holes.
pub(crate) fn seek_data(fd: c_int) -> bool {
    // SAFETY: touches none of our memory.
    unsafe { libc::lseek(fd, 0, libc::SEEK_DATA) != -1 }
}

/// Lets [`read_whole`] read from the start again.
pub(crate) fn rewind(fd: c_int) -> bool {
    // SAFETY: touches none of our memory.
    unsafe { libc::lseek(fd, 0, libc::SEEK_SET) == 0 }
}

/// Lets [`read_whole`] read the last `bytes` bytes again.
pub(crate) fn seek_back(fd: c_int, bytes: usize) -> Result<(), Errno> {
    // SAFETY: touches none of our memory.
    let at = unsafe { libc::lseek(fd, -(bytes as libc::off_t), libc::SEEK_CUR) };
    checked(at as isize).map(drop)
}

/// Opens what a directory holds under a name, close-on-exec and numbered high.
pub(crate) fn open_at(
    directory: c_int,
    name: &CStr,
    flags: c_int,
    mode: libc::mode_t,
) -> Result<c_int, Errno> {
    let flags = flags | libc::O_CLOEXEC;
    // SAFETY: the name ends in a NUL; openat writes to none of our memory.
    let fd = unsafe {
        libc::syscall(
            libc::SYS_openat,
            directory,
            name.as_ptr(),
            flags,
            mode as libc::c_uint,
        )
    };
    lift(checked(fd as isize)? as c_int)
}

/// Makes a directory in another.
pub(crate) fn make_directory_at(
    directory: c_int,
    name: &CStr,
    mode: libc::mode_t,
) -> Result<(), Errno> {
    // SAFETY: the name ends in a NUL.
    checked(unsafe { libc::mkdirat(directory, name.as_ptr(), mode) } as isize).map(drop)
}

/// Gives a file of a directory another name there, in place of what has it.
pub(crate) fn rename_at(directory: c_int, from: &CStr, to: &CStr) -> Result<(), Errno> {
    // SAFETY: both names end in a NUL.
    let renamed = unsafe { libc::renameat(directory, from.as_ptr(), directory, to.as_ptr()) };
    checked(renamed as isize).map(drop)
}

/// Calls `each` with the names in a directory that may be those of files.
pub(crate) fn each_entry(
    directory: c_int,
    memory: &mut [u8],
    mut each: impl FnMut(&CStr),
) -> Result<(), Errno> {
    /// Before the name stand inode, offset, length and kind: `struct linux_dirent64`.
    const NAME: usize = 19;
    loop {
        // SAFETY: the buffer is valid for its length.
        let read = checked(unsafe {
            libc::syscall(
                libc::SYS_getdents64,
                directory,
                memory.as_mut_ptr(),
                memory.len(),
            )
        } as isize)?;
        if read == 0 {
            return Ok(());
        }
        let mut rest = &memory[..read];
        while rest.len() > NAME {
            let len = usize::from(u16::from_ne_bytes([rest[16], rest[17]]));
            let (entry, next) = rest.split_at(len.clamp(NAME + 1, rest.len()));
            let kind = entry[18];
            if let Ok(name) = CStr::from_bytes_until_nul(&entry[NAME..])
                && matches!(kind, libc::DT_REG | libc::DT_UNKNOWN)
            {
                each(name);
            }
            rest = next;
        }
    }
}

/// Removes a name from a directory.
pub(crate) fn unlink_at(directory: c_int, name: &CStr) -> Result<(), Errno> {
    // SAFETY: the name ends in a NUL.
    checked(unsafe { libc::unlinkat(directory, name.as_ptr(), 0) } as isize).map(drop)
}

/// Whether the file system that holds a file counts its files. Those that make room for
/// them as they go, as btrfs does, do not.
pub(crate) fn counts_files(fd: c_int) -> bool {
    // SAFETY: all zeros is a valid `statfs`, which the call fills.
    unsafe {
        let mut statfs: libc::statfs = core::mem::zeroed();
        libc::fstatfs(fd, &mut statfs) == 0 && statfs.f_files != 0
    }
}

/// Whether a file or a directory is in extents, as those of ext4 are, and of ext2 and ext3 are not. `false` where
/// the file system does not say.
pub(crate) fn is_in_extents(fd: c_int) -> bool {
    /// `FS_EXTENT_FL`, from `linux/fs.h`.
    const IN_EXTENTS: libc::c_long = 0x0008_0000;
    let mut flags: libc::c_long = 0;
    // SAFETY: room for the flags, of which the kernel writes an `int`.
    let asked = unsafe { libc::ioctl(fd, libc::FS_IOC_GETFLAGS, &raw mut flags) };
    asked == 0 && flags & IN_EXTENTS != 0
}

/// Whether the first `len` bytes of a file are one extent that was reserved and not
/// written. `false` where the file system does not say.
pub(crate) fn is_one_unwritten_extent(fd: c_int, len: u64) -> bool {
    /// `FS_IOC_FIEMAP` and its bits, from `linux/fiemap.h`.
    const FIEMAP: libc::c_ulong = 0xc020_660b;
    const UNWRITTEN: u32 = 0x800;
    #[repr(C)]
    struct Map {
        start: u64,
        len: u64,
        flags: u32,
        mapped: u32,
        room: u32,
        reserved: u32,
        extents: [Extent; 2],
    }
    #[repr(C)]
    #[derive(Clone, Copy)]
    struct Extent {
        logical: u64,
        physical: u64,
        len: u64,
        reserved: [u64; 2],
        flags: u32,
        more: [u32; 3],
    }
    let extent = Extent {
        logical: 0,
        physical: 0,
        len: 0,
        reserved: [0; 2],
        flags: 0,
        more: [0; 3],
    };
    let mut map = Map {
        start: 0,
        len,
        flags: 0,
        mapped: 0,
        room: 2,
        reserved: 0,
        extents: [extent; 2],
    };
    // SAFETY: the kernel writes to the record, which has the room that it says.
    let asked = unsafe { libc::ioctl(fd, FIEMAP as _, &raw mut map) };
    let first = map.extents[0];
    asked == 0
        && map.mapped == 1
        && first.logical == 0
        && first.len >= len
        && first.flags & UNWRITTEN != 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::AsRawFd;

    /// NFS does not let a file that is open for reading be locked: over it, files of another
    /// machine's running program were removed.
    #[test]
    fn a_lock_that_cannot_be_had_is_asked_for() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let (one, other) = (file.reopen().unwrap(), file.reopen().unwrap());
        assert!(!is_locked(other.as_raw_fd()));
        // SAFETY: all zeros is a valid `flock`.
        let mut lock: libc::flock = unsafe { core::mem::zeroed() };
        lock.l_type = libc::F_RDLCK as libc::c_short;
        // SAFETY: the lock is valid for reads.
        let set = unsafe { libc::fcntl(one.as_raw_fd(), libc::F_OFD_SETLK, &lock) };
        assert_eq!(set, 0);
        assert!(is_locked(other.as_raw_fd()));
        assert!(!is_locked(one.as_raw_fd()));
    }

    #[test]
    fn the_name_that_nfs_gives_a_removed_file_is_known() {
        let directory = tempfile::tempdir().unwrap();
        for (name, is_hidden) in [
            (".nfs000000000000002400000001", true),
            (".nfs", false),
            (".nfs-log", false),
            ("app.log", false),
        ] {
            let file = std::fs::File::create(directory.path().join(name)).unwrap();
            assert_eq!(is_hidden_by_nfs(file.as_raw_fd()), is_hidden, "{name}");
        }
    }
}
