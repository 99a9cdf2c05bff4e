//! Where a path leads. Asked once, when a log is opened; allocates.
//!
//! A link of the user's is followed, and the log lives where it leads; a link of a
//! rotated log's, to the newest of its files, is the log's own. `/dev/stdout` and the
//! like are streams that the process has already: nothing is opened or made there.

use super::{file_system, names};
use crate::sys::{self, Errno};
use core::ffi::c_int;
use std::ffi::CString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

/// Where a path leads.
#[derive(Debug, Eq, PartialEq)]
pub(crate) enum Target {
    /// A file, or nothing yet.
    File(PathBuf),
    /// A pipe, a socket or a device.
    Special(PathBuf),
    /// A descriptor of the process.
    Stream(c_int),
}

/// As many links are followed as the kernel follows.
const LINKS: u32 = 40;

/// Where `path` leads.
pub(crate) fn find(path: &Path) -> Result<Target, Errno> {
    let mut path = std::path::absolute(path).map_err(errno_of)?;
    for _ in 0..LINKS {
        if let Some(fd) = stream(&path) {
            return Ok(Target::Stream(fd));
        }
        let Ok(target) = std::fs::read_link(&path) else {
            return of_file(path);
        };
        if is_own_link(&path, &target) {
            return Ok(Target::File(path));
        }
        let directory = directory_of(&path);
        if file_system_of(directory) == Some(libc::PROC_SUPER_MAGIC) {
            // Another process's: what the text says does not lead there.
            return Ok(Target::Special(path));
        }
        path = directory.join(target);
    }
    Err(Errno(libc::ELOOP))
}

fn of_file(path: PathBuf) -> Result<Target, Errno> {
    match std::fs::metadata(&path) {
        Ok(found) if found.is_dir() => Err(Errno(libc::EISDIR)),
        Ok(found) if !found.is_file() => Ok(Target::Special(path)),
        _ => Ok(Target::File(path)),
    }
}

/// The descriptor of this process that a path is a name of.
fn stream(path: &Path) -> Option<c_int> {
    let number = |text: &str| text.parse().ok().filter(|fd| *fd >= 0);
    match path.to_str()? {
        "/dev/stdin" => return Some(0),
        "/dev/stdout" => return Some(1),
        "/dev/stderr" => return Some(2),
        _ => {}
    }
    let fd = number(path.file_name()?.to_str()?)?;
    let directory = path.parent()?;
    let own = ["/dev/fd", "/proc/self/fd", "/proc/thread-self/fd"];
    if own.iter().any(|own| directory == Path::new(own)) {
        return Some(fd);
    }
    let of_process = format!("/proc/{}/fd", sys::process_id());
    (std::fs::canonicalize(directory).ok()? == Path::new(&of_process)).then_some(fd)
}

/// Whether a link leads to a numbered file of the log beside it.
fn is_own_link(path: &Path, target: &Path) -> bool {
    path.file_name()
        .is_some_and(|name| names::is_numbered(target.as_os_str().as_bytes(), name.as_bytes()))
}

/// How a new file is best written to, and why.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Advice {
    pub map: bool,
    /// In words, if it is not plain.
    pub why: Option<&'static str>,
}

/// Whether a new file at `path` is to be mapped: its file system keeps what was
/// reserved, so that no store can fail.
pub(crate) fn advice(path: &Path) -> Advice {
    let directory = directory_of(path);
    let no = |why| Advice {
        map: false,
        why: Some(why),
    };
    match file_system_of(directory) {
        Some(libc::OVERLAYFS_SUPER_MAGIC) if keeps_what_is_reserved(directory) => Advice {
            map: true,
            why: Some("mapped: overlayfs above a file system that keeps what is reserved"),
        },
        Some(libc::OVERLAYFS_SUPER_MAGIC) => {
            no("appended: overlayfs above a file system that may not keep what is reserved")
        }
        Some(magic) if !file_system::may_be_mapped(magic) => no(file_system::why_appended(magic)),
        Some(_) if !can_reserve(path) => no("appended: the file system cannot reserve space"),
        Some(_) => Advice {
            map: true,
            why: None,
        },
        None => no("appended: the file system is not known"),
    }
}

/// Bytes that are reserved to see what becomes of them.
const PROBE: u64 = 64 << 10;

/// Whether a new file at `path` can have space reserved, as those of ext2 and ext3 cannot, which
/// have the magic number of ext4. Where that is not found out, the opening will fail.
pub(crate) fn can_reserve(path: &Path) -> bool {
    let directory = directory_of(path);
    // Takes a microsecond, where to see it takes a hundred.
    if ask_directory(directory, |fd| Ok(sys::is_in_extents(fd))) == Ok(true) {
        return true;
    }
    let Ok(fd) = unnamed_file(directory) else {
        return true;
    };
    let reserved = sys::reserve_blocks(fd, 0, sys::page_size());
    sys::close(fd);
    !file_system::is_never_reserved(reserved)
}

/// Whether a file in this directory of an overlay is on a file system that keeps what is
/// reserved: it counts its files, as btrfs does not, and says that a reserved range is
/// one extent which was not written, as tmpfs and ZFS do not.
fn keeps_what_is_reserved(directory: &Path) -> bool {
    let Ok(fd) = unnamed_file(directory) else {
        return false;
    };
    let keeps = sys::counts_files(fd)
        && sys::reserve_blocks(fd, 0, PROBE).is_ok()
        && sys::is_one_unwritten_extent(fd, PROBE);
    sys::close(fd);
    keeps
}

/// A file without a name.
fn unnamed_file(directory: &Path) -> Result<c_int, Errno> {
    let at = c_path(directory.to_owned())?;
    sys::open(&at, libc::O_TMPFILE | libc::O_RDWR, 0o600).or_else(|_| {
        // Overlays have had these since Linux 6.3.
        let name = c_path(directory.join(format!(".logdef-{:016x}", sys::random())))?;
        let flags = libc::O_RDWR | libc::O_CREAT | libc::O_EXCL | libc::O_NOFOLLOW;
        let fd = sys::open(&name, flags, 0o600)?;
        sys::unlink(&name)
            .map(|()| fd)
            .inspect_err(|_| sys::close(fd))
    })
}

/// The magic number of the file system that holds a directory.
fn file_system_of(directory: &Path) -> Option<i64> {
    ask_directory(directory, sys::file_system).ok()
}

/// What a directory answers.
fn ask_directory<T>(
    directory: &Path,
    question: impl FnOnce(c_int) -> Result<T, Errno>,
) -> Result<T, Errno> {
    let directory = c_path(directory.to_owned())?;
    let fd = sys::open(&directory, libc::O_RDONLY | libc::O_DIRECTORY, 0)?;
    let answer = question(fd);
    sys::close(fd);
    answer
}

fn directory_of(path: &Path) -> &Path {
    path.parent().unwrap_or(Path::new("/"))
}

/// A path for system calls.
pub(crate) fn c_path(path: PathBuf) -> Result<CString, Errno> {
    CString::new(path.into_os_string().into_vec()).map_err(|_| Errno(libc::EINVAL))
}

fn errno_of(error: std::io::Error) -> Errno {
    Errno(error.raw_os_error().unwrap_or(libc::EINVAL))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn names_of_descriptors_are_streams() {
        for (path, fd) in [
            ("/dev/stdout", 1),
            ("/dev/stderr", 2),
            ("/dev/fd/17", 17),
            ("/proc/self/fd/1", 1),
            ("/proc/thread-self/fd/4", 4),
            ("/proc/self/../self/fd/5", 5),
        ] {
            assert_eq!(find(Path::new(path)), Ok(Target::Stream(fd)), "{path}");
        }
        let own = format!("/proc/{}/fd/2", std::process::id());
        assert_eq!(find(Path::new(&own)), Ok(Target::Stream(2)));
    }

    #[test]
    fn a_users_link_is_followed_and_the_logs_own_is_not() {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        std::fs::create_dir(at("data")).unwrap();
        symlink("data/app.log", at("app.log")).unwrap();
        assert_eq!(find(&at("app.log")), Ok(Target::File(at("data/app.log"))));
        symlink(at("data/app.log"), at("absolute")).unwrap();
        assert_eq!(find(&at("absolute")), Ok(Target::File(at("data/app.log"))));
        symlink("/dev/stdout", at("standard")).unwrap();
        assert_eq!(find(&at("standard")), Ok(Target::Stream(1)));
        symlink("rotated.000007", at("rotated")).unwrap();
        assert_eq!(find(&at("rotated")), Ok(Target::File(at("rotated"))));
        symlink("round", at("round")).unwrap();
        assert_eq!(find(&at("round")), Err(Errno(libc::ELOOP)));
        assert_eq!(find(&at("data")), Err(Errno(libc::EISDIR)));
        let null = Path::new("/dev/null");
        assert_eq!(find(null), Ok(Target::Special(null.to_owned())));
    }
}
