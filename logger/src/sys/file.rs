//! Files: bytes, names, and which file a descriptor leads to. Part of the room for
//! unsafe.

use super::errno::{Errno, checked};
use super::lift;
use super::signal::{without_signals, without_sigxfsz};
use core::ffi::{CStr, c_int};
use core::ptr;
use core::sync::atomic::AtomicU8;

/// Opens a file, close-on-exec, under a number that is high: never 0, 1 or 2.
pub(crate) fn open(path: &CStr, flags: c_int, mode: libc::mode_t) -> Result<c_int, Errno> {
    // SAFETY: the path ends in a NUL; open writes to none of our memory.
    let fd = unsafe {
        libc::syscall(
            libc::SYS_openat,
            libc::AT_FDCWD,
            path.as_ptr(),
            flags | libc::O_CLOEXEC,
            mode as libc::c_uint,
        )
    };
    lift(checked(fd as isize)? as c_int)
}

/// Closes a descriptor.
pub(crate) fn close(fd: c_int) {
    // SAFETY: `close` takes a number and touches no memory.
    unsafe { libc::syscall(libc::SYS_close, fd) };
}

/// Writes once.
pub(crate) fn write(fd: c_int, bytes: &[u8]) -> Result<usize, Errno> {
    // SAFETY: the slice is valid for its length.
    checked(unsafe { libc::syscall(libc::SYS_write, fd, bytes.as_ptr(), bytes.len()) } as isize)
}

/// Writes once, without the SIGPIPE or the SIGXFSZ that would go with an error.
pub(crate) fn write_without_signals(fd: c_int, bytes: &[u8]) -> Result<usize, Errno> {
    without_signals(|| write(fd, bytes))
}

/// Writes once to a file, which may have `most` bytes if files are [limited](Limit::FileSize).
pub(crate) fn write_within(most: Option<u64>, fd: c_int, bytes: &[u8]) -> Result<usize, Errno> {
    match most {
        Some(_) => write_without_signals(fd, bytes),
        None => write(fd, bytes),
    }
}

/// Writes once, at an offset of a file, without SIGXFSZ.
pub(crate) fn write_at(fd: c_int, bytes: &[u8], offset: u64) -> Result<usize, Errno> {
    let offset = libc::off64_t::try_from(offset).map_err(|_| Errno(libc::EFBIG))?;
    without_sigxfsz(|| {
        // SAFETY: the slice is valid for its length.
        let written =
            unsafe { libc::syscall(libc::SYS_pwrite64, fd, bytes.as_ptr(), bytes.len(), offset) };
        checked(written as isize)
    })
}

/// Sends once, without SIGPIPE.
pub(crate) fn send(fd: c_int, bytes: &[u8], flags: c_int) -> Result<usize, Errno> {
    // SAFETY: the slice is valid for its length.
    let sent = unsafe {
        libc::syscall(
            libc::SYS_sendto,
            fd,
            bytes.as_ptr(),
            bytes.len(),
            libc::MSG_NOSIGNAL | flags,
            ptr::null::<u8>(),
            0,
        )
    };
    checked(sent as isize)
}

/// Reads once.
pub(crate) fn read(fd: c_int, into: &mut [u8]) -> Result<usize, Errno> {
    // SAFETY: the slice is valid for its length.
    checked(unsafe { libc::syscall(libc::SYS_read, fd, into.as_mut_ptr(), into.len()) } as isize)
}

/// What `fstat` says.
pub(crate) fn stat(fd: c_int) -> Result<libc::stat, Errno> {
    // SAFETY: all zeros is a valid `stat`, and the call fills it.
    let mut stat = unsafe { core::mem::zeroed() };
    // SAFETY: `stat` is valid for writes.
    checked(unsafe { libc::fstat(fd, &mut stat) } as isize)?;
    Ok(stat)
}

/// Which file a descriptor leads to, and how large it is.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Identity {
    /// Device and inode.
    pub file: (u64, u64),
    pub size: u64,
    /// How many names it has.
    pub names: u32,
    /// What kind of file: `S_IFREG` and the like.
    kind: libc::mode_t,
}

/// Which file a descriptor leads to.
///
/// `fstat` looks at the times too, and what was looked at the kernel must change
/// at the next write: that would double the cost of writing.
pub(crate) fn identity(fd: c_int) -> Result<Identity, Errno> {
    identity_by(fd, 0)
}

/// What stands under a path, a link by itself.
pub(crate) fn found_at(path: &CStr) -> Result<Identity, Errno> {
    statx(libc::AT_FDCWD, path, libc::AT_SYMLINK_NOFOLLOW)
}

/// Whether a path, or where that leads to, is the name of the file that a descriptor leads to.
pub(crate) fn leads_to(path: &CStr, fd: c_int) -> bool {
    let named = statx(libc::AT_FDCWD, path, 0);
    named.is_ok_and(|named| identity(fd).is_ok_and(|found| found.file == named.file))
}

/// What kind of file stands under a path: `S_IFREG`, `S_IFLNK` and the like.
pub(crate) fn kind_of(path: &CStr) -> Result<libc::mode_t, Errno> {
    found_at(path).map(|found| found.kind)
}

/// Whether a file has no name any more where it is kept, which may be another machine.
pub(crate) fn is_unlinked(fd: c_int) -> bool {
    identity_by(fd, libc::AT_STATX_FORCE_SYNC).is_ok_and(|file| file.names == 0)
}

fn identity_by(fd: c_int, flags: c_int) -> Result<Identity, Errno> {
    statx(fd, c"", libc::AT_EMPTY_PATH | flags)
}

fn statx(directory: c_int, path: &CStr, flags: c_int) -> Result<Identity, Errno> {
    // SAFETY: all zeros is a valid `statx`.
    let mut stat: libc::statx = unsafe { core::mem::zeroed() };
    let wanted = libc::STATX_TYPE | libc::STATX_INO | libc::STATX_SIZE | libc::STATX_NLINK;
    let (name, into) = (path.as_ptr(), &raw mut stat);
    // Older C libraries have no function for it.
    // SAFETY: the path ends in a NUL, and `stat` is valid for writes.
    let done = unsafe { libc::syscall(libc::SYS_statx, directory, name, flags, wanted, into) };
    match checked(done as isize) {
        Err(Errno(libc::ENOSYS | libc::EPERM)) => return stat_before_statx(directory, path, flags),
        done => done?,
    };
    let device = libc::makedev(stat.stx_dev_major, stat.stx_dev_minor);
    Ok(Identity {
        file: (device, stat.stx_ino),
        size: stat.stx_size,
        names: stat.stx_nlink,
        kind: libc::mode_t::from(stat.stx_mode) & libc::S_IFMT,
    })
}

/// The same where the kernel has no `statx` (before Linux 4.11), or a filter of system calls that does not know
/// it denies it.
#[cold]
fn stat_before_statx(directory: c_int, path: &CStr, flags: c_int) -> Result<Identity, Errno> {
    let flags = flags & (libc::AT_EMPTY_PATH | libc::AT_SYMLINK_NOFOLLOW);
    // SAFETY: all zeros is a valid `stat`.
    let mut stat: libc::stat = unsafe { core::mem::zeroed() };
    // SAFETY: the path ends in a NUL, and `stat` is valid for writes.
    let done = unsafe { libc::fstatat(directory, path.as_ptr(), &raw mut stat, flags) };
    checked(done as isize)?;
    Ok(Identity {
        file: (stat.st_dev, stat.st_ino),
        size: stat.st_size as u64,
        names: stat.st_nlink as u32,
        kind: stat.st_mode & libc::S_IFMT,
    })
}

/// The magic number of the file system that holds a file.
pub(crate) fn file_system(fd: c_int) -> Result<i64, Errno> {
    // SAFETY: all zeros is a valid `statfs`, and the call fills it.
    let mut statfs: libc::statfs = unsafe { core::mem::zeroed() };
    // SAFETY: `statfs` is valid for writes.
    checked(unsafe { libc::fstatfs(fd, &mut statfs) } as isize)?;
    #[allow(clippy::unnecessary_cast, reason = "the type differs between targets")]
    Ok(statfs.f_type as i64)
}

/// Waits until a file's bytes and size are on stable storage.
pub(crate) fn sync_data(fd: c_int) -> Result<(), Errno> {
    // SAFETY: touches none of our memory.
    checked(unsafe { libc::syscall(libc::SYS_fdatasync, fd) } as isize).map(drop)
}

/// Waits until all files of the file system that holds a file are on stable storage.
pub(crate) fn sync_file_system(fd: c_int) -> Result<(), Errno> {
    // SAFETY: touches none of our memory.
    checked(unsafe { libc::syscall(libc::SYS_syncfs, fd) } as isize).map(drop)
}

/// Waits until the names in a directory are on stable storage.
pub(crate) fn sync_directory(path: &CStr) -> Result<(), Errno> {
    let fd = open(path, libc::O_RDONLY | libc::O_DIRECTORY, 0)?;
    // SAFETY: touches none of our memory.
    let synced = checked(unsafe { libc::syscall(libc::SYS_fsync, fd) } as isize);
    close(fd);
    synced.map(drop)
}

/// Reads a symbolic link into `into`; what is longer is cut.
pub(crate) fn read_link<'b>(path: &CStr, into: &'b mut [u8]) -> Result<&'b [u8], Errno> {
    // SAFETY: the path ends in a NUL, the buffer is valid for its length.
    let len =
        checked(unsafe { libc::readlink(path.as_ptr(), into.as_mut_ptr().cast(), into.len()) })?;
    Ok(&into[..len])
}

/// Gives a range of a file blocks, and the file that size at least.
pub(crate) fn reserve_blocks(fd: c_int, offset: u64, len: u64) -> Result<(), Errno> {
    let reserve = |_| {
        // SAFETY: touches none of our memory.
        let done = unsafe { libc::syscall(libc::SYS_fallocate, fd, 0, offset, len) };
        checked(done as isize).map(drop)
    };
    // tmpfs of older kernels gives up for a signal that is blocked, or one that stops the process.
    let interrupted = Err(Errno(libc::EINTR));
    let mut tries = (0..INTERRUPTIONS).map(reserve);
    tries
        .find(|reserved| *reserved != interrupted)
        .unwrap_or(interrupted)
}

/// How often a call is made again that a signal interrupted.
const INTERRUPTIONS: u32 = 1000;

/// Gives a range after the end of a file blocks, and leaves its size.
pub(crate) fn reserve_behind(fd: c_int, offset: u64, len: u64) -> Result<(), Errno> {
    let keep = libc::FALLOC_FL_KEEP_SIZE;
    // Some file systems look at the limit of a file's size.
    without_sigxfsz(|| {
        // SAFETY: touches none of our memory.
        let done = unsafe { libc::syscall(libc::SYS_fallocate, fd, keep, offset, len) };
        checked(done as isize).map(drop)
    })
}

/// Gives a file, by its name, a size.
pub(crate) fn set_size(path: &CStr, size: u64) -> Result<(), Errno> {
    // SAFETY: the path ends in a NUL.
    let set = unsafe { libc::syscall(libc::SYS_truncate, path.as_ptr(), size) };
    checked(set as isize).map(drop)
}

/// Writes zeros to a range of a file; in pieces, between which others may have the lock that
/// the kernel keeps on the file. Before each, `may` says whether the descriptor still leads there;
/// `false` if not.
pub(crate) fn write_zeros(
    fd: c_int,
    offset: u64,
    len: u64,
    may: impl Fn() -> bool,
) -> Result<bool, Errno> {
    // Memory that could be written to needs no room in the program's file.
    static ZEROS: [AtomicU8; 64 << 10] = [const { AtomicU8::new(0) }; 64 << 10];
    const MOST: usize = 4;
    let (mut at, end) = (offset, offset + len);
    while at < end {
        if !may() {
            return Ok(false);
        }
        let mut vectors = [libc::iovec {
            iov_base: ptr::null_mut(),
            iov_len: 0,
        }; MOST];
        let mut count = 0;
        let mut left = end - at;
        for vector in &mut vectors {
            let len = left.min(ZEROS.len() as u64);
            if len == 0 {
                break;
            }
            vector.iov_base = ZEROS.as_ptr().cast_mut().cast();
            vector.iov_len = len as usize;
            left -= len;
            count += 1;
        }
        // SAFETY: the vectors lead to memory that is only read. The offset is
        // passed in two halves of the kernel's choosing; on 64-bit machines the
        // second is unused.
        let written =
            unsafe { libc::syscall(libc::SYS_pwritev, fd, vectors.as_ptr(), count, at, 0) };
        match checked(written as isize) {
            Ok(0) => return Err(Errno(libc::ENOSPC)),
            Ok(len) => at += len as u64,
            Err(Errno(libc::EINTR)) => {}
            Err(errno) => return Err(errno),
        }
    }
    Ok(true)
}

/// Removes a name.
pub(crate) fn unlink(path: &CStr) -> Result<(), Errno> {
    // SAFETY: the path ends in a NUL.
    checked(unsafe { libc::unlink(path.as_ptr()) } as isize).map(drop)
}

/// Gives a file another name, in place of what has it.
pub(crate) fn rename(from: &CStr, to: &CStr) -> Result<(), Errno> {
    // SAFETY: both paths end in a NUL.
    checked(unsafe { libc::rename(from.as_ptr(), to.as_ptr()) } as isize).map(drop)
}

/// Gives a file another name that nothing has yet.
pub(crate) fn rename_without_replacing(from: &CStr, to: &CStr) -> Result<(), Errno> {
    // SAFETY: both paths end in a NUL.
    let renamed = unsafe {
        libc::syscall(
            libc::SYS_renameat2,
            libc::AT_FDCWD,
            from.as_ptr(),
            libc::AT_FDCWD,
            to.as_ptr(),
            libc::RENAME_NOREPLACE,
        )
    };
    checked(renamed as isize).map(drop)
}

/// Gives a file one more name that nothing has yet.
pub(crate) fn link(from: &CStr, to: &CStr) -> Result<(), Errno> {
    // SAFETY: both paths end in a NUL.
    checked(unsafe { libc::link(from.as_ptr(), to.as_ptr()) } as isize).map(drop)
}

/// Makes a symbolic link at `at` to `target`.
pub(crate) fn symlink(target: &CStr, at: &CStr) -> Result<(), Errno> {
    // SAFETY: both paths end in a NUL.
    checked(unsafe { libc::symlink(target.as_ptr(), at.as_ptr()) } as isize).map(drop)
}

/// Whether a descriptor leads to a terminal.
pub(crate) fn is_terminal(fd: c_int) -> bool {
    // SAFETY: takes a number; the kernel writes to a buffer of the C library's.
    unsafe { libc::isatty(fd) == 1 }
}
