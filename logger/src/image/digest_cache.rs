//! Digests of image files that were read before, so that starting a large
//! program again does not read all of it again. One small text file in the
//! user's cache directory, of one line for each image:
//!
//! ```text
//! <SHA-1> <device> <inode> <size> <mtime> <ctime> <build ID>
//! ```
//!
//! Whatever cannot be read, written or trusted is as if it were not there: the
//! digest is computed. The file is replaced as a whole by renaming, so that a
//! reader never sees half of it; of two writers at the same moment the later
//! wins, and one line is lost until the next start. Nothing is allocated.

use crate::published::Published;
use crate::{environment, sys};
use core::ffi::{CStr, c_int};
use core::num::NonZeroUsize;
use std::ffi::CString;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

/// Where the file is; set once, at the first opening of a log.
static PLACE: Published<CacheDirectory> = Published::new();

struct CacheDirectory {
    /// The user's directory for caches, in which there is one of ours.
    cache: CString,
}

const DIRECTORY: &CStr = c"logdef";
const FILE: &CStr = c"digests";

/// Room for the file: the newest hundred lines or more.
const ROOM: usize = 32 << 10;
const HEX: usize = 40;
/// A file that was changed less than this many seconds ago may be changed again
/// without a new time stamp.
const SETTLED: i64 = 2;

/// What distinguishes one state of a file from another: the part of a line after the
/// digest.
#[derive(Clone, Copy)]
pub(crate) struct Key {
    text: [u8; 320],
    len: usize,
}

impl PartialEq for Key {
    fn eq(&self, other: &Key) -> bool {
        self.text() == other.text()
    }
}

impl Key {
    /// The key of a file in its present state.
    pub fn of(stat: &libc::stat, build_id: Option<&[u8]>) -> Key {
        let mut key = Key {
            text: [0; 320],
            len: 0,
        };
        for number in [stat.st_dev, stat.st_ino, stat.st_size as u64] {
            key.push(b" ");
            key.push_decimal(number);
        }
        for (seconds, nanoseconds) in [
            (stat.st_mtime, stat.st_mtime_nsec),
            (stat.st_ctime, stat.st_ctime_nsec),
        ] {
            key.push(b" ");
            key.push_decimal(seconds as u64);
            key.push(b".");
            key.push_decimal(nanoseconds as u64);
        }
        key.push(b" ");
        for byte in build_id.unwrap_or_default() {
            key.push(&hex(*byte));
        }
        key
    }

    fn text(&self) -> &[u8] {
        &self.text[..self.len]
    }

    fn push_decimal(&mut self, number: u64) {
        let mut digits = [0; 20];
        let mut at = digits.len();
        let mut rest = number;
        loop {
            at -= 1;
            digits[at] = b'0' + (rest % 10) as u8;
            rest /= 10;
            if rest == 0 {
                break;
            }
        }
        self.push(&digits[at..]);
    }

    /// Seven numbers and a build ID of 64 bytes fit.
    fn push(&mut self, text: &[u8]) {
        if let Some(room) = self.text.get_mut(self.len..self.len + text.len()) {
            room.copy_from_slice(text);
            self.len += text.len();
        }
    }
}

/// Finds the user's cache directory, by the environment. Not for handlers.
pub(crate) fn find_place() {
    if PLACE.get().is_none()
        && let Some(place) = place_of_environment()
    {
        PLACE.publish_first(Box::leak(Box::new(place)));
    }
}

fn place_of_environment() -> Option<CacheDirectory> {
    let variable = |name| {
        let value = environment::variable(name).map(PathBuf::from);
        value.filter(|path: &PathBuf| path.is_absolute())
    };
    let cache = match variable("XDG_CACHE_HOME") {
        Some(cache) => cache,
        None => variable("HOME")?.join(".cache"),
    };
    let cache = CString::new(cache.as_os_str().as_bytes()).ok()?;
    Some(CacheDirectory { cache })
}

/// The digest of a file, if it was taken in this state.
pub(crate) fn look_up(key: &Key) -> Option<[u8; 20]> {
    let mut buffer = sys::Temporary::new(const { NonZeroUsize::new(ROOM).unwrap() }).ok()?;
    let len = load(PLACE.get()?, buffer.bytes())?;
    find(&buffer.bytes()[..len], key)
}

/// Writes a digest down for later. `stat` says when the file was last changed.
pub(crate) fn remember(key: &Key, stat: &libc::stat, digest: &[u8; 20]) {
    let now = (crate::clock::realtime() / 1_000_000_000) as i64;
    if let Some(place) = PLACE.get()
        && stat.st_ctime + SETTLED <= now
        && stat.st_mtime + SETTLED <= now
    {
        // What could not be remembered is computed again.
        let _ = add(place, key, digest);
    }
}

/// Reads the file, if only the user can have written it, and returns its length in bytes.
fn load(place: &CacheDirectory, into: &mut [u8]) -> Option<usize> {
    let directory = place.open()?;
    let len = load_from(directory, into);
    sys::close(directory);
    len
}

fn load_from(directory: c_int, into: &mut [u8]) -> Option<usize> {
    let flags = libc::O_RDONLY | libc::O_NONBLOCK | libc::O_NOCTTY;
    let fd = open_checked(directory, FILE, flags, Trust::OwnFile)?;
    let read = sys::read_whole(fd, into);
    sys::close(fd);
    read.ok()
}

impl CacheDirectory {
    /// Opens our directory, if only the user or root can have put it there, and everything
    /// above it. No link is followed.
    fn open(&self) -> Option<c_int> {
        let cache = self.open_cache()?;
        let flags = libc::O_RDONLY | libc::O_DIRECTORY;
        let directory = open_checked(cache, DIRECTORY, flags, Trust::OwnDirectory);
        sys::close(cache);
        directory
    }

    /// Makes our directory, if the one for caches is there.
    fn make(&self) -> Option<()> {
        let cache = self.open_cache()?;
        let _ = sys::make_directory_at(cache, DIRECTORY, 0o700);
        sys::close(cache);
        Some(())
    }

    fn open_cache(&self) -> Option<c_int> {
        let flags = libc::O_PATH | libc::O_DIRECTORY;
        let mut directory = sys::open(c"/", flags, 0).ok()?;
        let parts = self.cache.to_bytes().split(|byte| *byte == b'/');
        for part in parts.filter(|part| !part.is_empty()) {
            let next = open_part(directory, part, flags);
            sys::close(directory);
            directory = next?;
        }
        Some(directory)
    }
}

fn open_part(directory: c_int, part: &[u8], flags: c_int) -> Option<c_int> {
    let mut name = [0; 256];
    name.get_mut(..part.len())?.copy_from_slice(part);
    let name = CStr::from_bytes_until_nul(&name).ok()?;
    open_checked(directory, name, flags, Trust::Directory)
}

/// What must hold of something for it to be used.
#[derive(Clone, Copy, Eq, PartialEq)]
enum Trust {
    /// Root's or the user's, and others cannot put anything of theirs in the place of
    /// what is in it.
    Directory,
    /// The user's, and writable only by the user.
    OwnDirectory,
    OwnFile,
}

fn open_checked(directory: c_int, name: &CStr, flags: c_int, trust: Trust) -> Option<c_int> {
    let fd = sys::open_at(directory, name, flags | libc::O_NOFOLLOW, 0).ok()?;
    let trusted = sys::stat(fd).is_ok_and(|stat| {
        let kind = match trust {
            Trust::OwnFile => libc::S_IFREG,
            Trust::Directory | Trust::OwnDirectory => libc::S_IFDIR,
        };
        let is_own = stat.st_uid == sys::effective_user();
        let is_shared = stat.st_mode & 0o022 != 0;
        let is_safe = match trust {
            Trust::Directory => {
                (is_own || stat.st_uid == 0) && (!is_shared || stat.st_mode & libc::S_ISVTX != 0)
            }
            Trust::OwnDirectory | Trust::OwnFile => is_own && !is_shared,
        };
        stat.st_mode & libc::S_IFMT == kind && is_safe
    });
    if !trusted {
        sys::close(fd);
    }
    trusted.then_some(fd)
}

/// The digest on the line that ends in the key.
fn find(text: &[u8], key: &Key) -> Option<[u8; 20]> {
    let mut lines = text.split(|byte| *byte == b'\n');
    let line = lines.find(|line| line.get(HEX..) == Some(key.text()))?;
    let mut digest = [0; 20];
    for (byte, digits) in digest.iter_mut().zip(line[..HEX].chunks_exact(2)) {
        *byte = digit(digits[0])? << 4 | digit(digits[1])?;
    }
    Some(digest)
}

/// Rewrites the file: this line, and as many of the others as fit.
fn add(place: &CacheDirectory, key: &Key, digest: &[u8; 20]) -> Option<()> {
    let mut buffer = sys::Temporary::new(const { NonZeroUsize::new(2 * ROOM).unwrap() }).ok()?;
    let (new, old) = buffer.bytes().split_at_mut(ROOM);
    place.make()?;
    let old_len = load(place, old).unwrap_or(0);
    let mut len = 0;
    let mut push = |text: &[u8]| {
        let room = new.get_mut(len..len + text.len());
        room.map(|room| {
            room.copy_from_slice(text);
            len += text.len();
        })
    };
    for byte in digest {
        push(&hex(*byte))?;
    }
    push(key.text())?;
    push(b"\n")?;
    let lines = old[..old_len].split_inclusive(|byte| *byte == b'\n');
    let whole = lines.filter(|line| line.len() > HEX && line.ends_with(b"\n"));
    // The line of a file that was rebuilt in place is never looked up again.
    let others = whole.filter(|line| !is_of_same_file(&line[HEX..], key.text()));
    for line in others {
        if push(line).is_none() {
            break;
        }
    }
    replace(place, &new[..len])
}

/// Whether two keys begin with the same device and inode.
fn is_of_same_file(one: &[u8], other: &[u8]) -> bool {
    let names = |key| -> [_; 3] {
        let mut words = <[u8]>::split(key, |byte| *byte == b' ');
        [(); 3].map(|()| words.next())
    };
    names(one) == names(other)
}

fn replace(place: &CacheDirectory, bytes: &[u8]) -> Option<()> {
    let mut name = *b"digests.................\0";
    let digits = name[FILE.count_bytes() + 1..].chunks_exact_mut(2);
    for (two, byte) in digits.zip(sys::random().to_be_bytes()) {
        two.copy_from_slice(&hex(byte));
    }
    let name = CStr::from_bytes_until_nul(&name).ok()?;
    let directory = place.open()?;
    let replaced = replace_in(directory, name, bytes);
    sys::close(directory);
    replaced
}

/// Writes a file under a name of its own, and renames it.
fn replace_in(directory: c_int, name: &CStr, bytes: &[u8]) -> Option<()> {
    let flags = libc::O_WRONLY | libc::O_CREAT | libc::O_EXCL | libc::O_NOFOLLOW;
    let fd = sys::open_at(directory, name, flags, 0o600).ok()?;
    let written = sys::without_sigxfsz(|| sys::write(fd, bytes));
    sys::close(fd);
    if written != Ok(bytes.len()) || sys::rename_at(directory, name, FILE).is_err() {
        let _ = sys::unlink_at(directory, name);
        return None;
    }
    Some(())
}

fn hex(byte: u8) -> [u8; 2] {
    const DIGITS: [u8; 16] = *b"0123456789abcdef";
    [byte >> 4, byte & 15].map(|digit| DIGITS[digit as usize])
}

fn digit(digit: u8) -> Option<u8> {
    (digit as char).to_digit(16).map(|digit| digit as u8)
}

#[cfg(test)]
#[path = "../../../samples/src/skip.rs"]
mod skip;

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::{MetadataExt, PermissionsExt};
    use std::path::Path;

    fn place_in(directory: &Path) -> CacheDirectory {
        let cache = CString::new(directory.as_os_str().as_bytes()).unwrap();
        CacheDirectory { cache }
    }

    fn key(inode: u64, mtime: i64) -> Key {
        // SAFETY: zeros are a valid `stat`.
        let mut stat: libc::stat = unsafe { core::mem::zeroed() };
        stat.st_ino = inode;
        stat.st_mtime = mtime;
        Key::of(&stat, Some(&[0xab, 1]))
    }

    fn look_up_in(place: &CacheDirectory, key: &Key) -> Option<[u8; 20]> {
        let mut bytes = vec![0; ROOM];
        let len = load(place, &mut bytes)?;
        find(&bytes[..len], key)
    }

    #[test]
    fn a_key_says_everything_that_changes_with_a_file() {
        assert_eq!(key(7, 9).text(), b" 0 7 0 9.0 0.0 ab01");
        let file = tempfile::NamedTempFile::new().unwrap();
        let fd = std::os::fd::AsRawFd::as_raw_fd(file.as_file());
        let of = |build_id| Key::of(&sys::stat(fd).unwrap(), build_id);
        let before = of(None);
        assert!(before == of(None));
        assert!(before != of(Some(&[1])));
        fs::write(file.path(), "more").unwrap();
        assert!(before != of(None));
        let longest = Key::of(&sys::stat(fd).unwrap(), Some(&[0xff; 64]));
        assert!(longest.text().ends_with(&[b'f'; 128]));
    }

    #[test]
    fn what_was_added_is_found_and_an_older_state_of_the_file_is_not() {
        let directory = tempfile::tempdir().unwrap();
        let place = place_in(directory.path());
        assert_eq!(look_up_in(&place, &key(1, 1)), None);
        for inode in 1..=3 {
            add(&place, &key(inode, 1), &[inode as u8; 20]).unwrap();
        }
        for inode in 1..=3 {
            assert_eq!(look_up_in(&place, &key(inode, 1)), Some([inode as u8; 20]));
        }
        add(&place, &key(2, 5), &[9; 20]).unwrap();
        assert_eq!(look_up_in(&place, &key(2, 5)), Some([9; 20]));
        assert_eq!(look_up_in(&place, &key(2, 1)), None);
        assert_eq!(look_up_in(&place, &key(3, 1)), Some([3; 20]));
        let path = directory.path().join("logdef/digests");
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o600);
        assert_eq!(fs::read_to_string(path).unwrap().lines().count(), 3);
        // No temporary file stays behind.
        assert_eq!(
            fs::read_dir(directory.path().join("logdef"))
                .unwrap()
                .count(),
            1
        );
    }

    #[test]
    fn the_newest_stay_when_there_is_no_room_for_all() {
        let directory = tempfile::tempdir().unwrap();
        let place = place_in(directory.path());
        for inode in 1..=1000 {
            add(&place, &key(inode, 1), &[inode as u8; 20]).unwrap();
        }
        assert_eq!(look_up_in(&place, &key(1, 1)), None);
        for inode in 900..=1000 {
            assert_eq!(look_up_in(&place, &key(inode, 1)), Some([inode as u8; 20]));
        }
        let size = fs::metadata(directory.path().join("logdef/digests"))
            .unwrap()
            .len();
        assert!(size as usize <= ROOM);
    }

    #[test]
    fn what_others_can_write_or_is_no_file_is_not_believed() {
        let directory = tempfile::tempdir().unwrap();
        let place = place_in(directory.path());
        add(&place, &key(1, 1), &[1; 20]).unwrap();
        let file = directory.path().join("logdef/digests");
        let mode = |path: &Path, mode| {
            fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
        };
        mode(&file, 0o620);
        assert_eq!(look_up_in(&place, &key(1, 1)), None);
        mode(&file, 0o600);
        mode(&directory.path().join("logdef"), 0o777);
        assert_eq!(look_up_in(&place, &key(1, 1)), None);
        assert_eq!(add(&place, &key(2, 1), &[1; 20]), None);
        mode(&directory.path().join("logdef"), 0o700);
        assert_eq!(look_up_in(&place, &key(1, 1)), Some([1; 20]));

        let elsewhere = directory.path().join("elsewhere");
        fs::rename(&file, &elsewhere).unwrap();
        std::os::unix::fs::symlink(&elsewhere, &file).unwrap();
        assert_eq!(look_up_in(&place, &key(1, 1)), None);
        fs::remove_file(&file).unwrap();
        fs::create_dir(&file).unwrap();
        assert_eq!(look_up_in(&place, &key(1, 1)), None);
        assert_eq!(add(&place, &key(1, 1), &[1; 20]), None);
        fs::remove_dir(&file).unwrap();
        // A link anywhere on the way is not followed, not even by root.
        let way = directory.path().join("way");
        std::os::unix::fs::symlink(directory.path(), &way).unwrap();
        assert_eq!(add(&place_in(&way), &key(1, 1), &[1; 20]), None);
        let fifo = CString::new(file.as_os_str().as_bytes()).unwrap();
        // SAFETY: the path ends in a NUL.
        assert_eq!(unsafe { libc::mkfifo(fifo.as_ptr(), 0o600) }, 0);
        assert_eq!(look_up_in(&place, &key(1, 1)), None);
    }

    /// Whether this process can give files to other users.
    fn can_give_files_away() -> bool {
        let can = sys::effective_user() == 0;
        if !can {
            skip::skip("only root gives files away");
        }
        can
    }

    const OTHER: u32 = 65534;

    fn give(path: &Path, user: u32) {
        std::os::unix::fs::chown(path, Some(user), None).unwrap();
    }

    /// Runs some work as another user, in a thread of its own: the other ones stay what they are.
    fn as_other<T: Send>(work: impl FnOnce() -> T + Send) -> T {
        std::thread::scope(|scope| {
            let thread = scope.spawn(|| {
                // SAFETY: the system call changes the calling thread alone.
                let set = unsafe { libc::syscall(libc::SYS_setresuid, -1, OTHER, -1) };
                assert!(set == 0 && sys::effective_user() == OTHER);
                work()
            });
            thread.join().unwrap()
        })
    }

    /// Root could read them.
    #[test]
    fn what_belongs_to_another_user_is_not_believed() {
        if !can_give_files_away() {
            return;
        }
        let directory = tempfile::tempdir().unwrap();
        let at = |path| directory.path().join(path);
        fs::create_dir_all(at("above/cache")).unwrap();
        let place = place_in(&at("above/cache"));
        add(&place, &key(1, 1), &[1; 20]).unwrap();
        let ours = ["above/cache/logdef", "above/cache/logdef/digests"];
        for path in ["above", "above/cache", ours[0], ours[1]] {
            give(&at(path), OTHER);
            assert_eq!(look_up_in(&place, &key(1, 1)), None, "{path}");
            // Another's file is replaced, since the directory is this user's.
            if path != ours[1] {
                assert_eq!(add(&place, &key(2, 1), &[1; 20]), None, "{path}");
            }
            give(&at(path), 0);
            assert_eq!(look_up_in(&place, &key(1, 1)), Some([1; 20]), "{path}");
        }
        // Root may have made the directories above, and only those.
        let mode = |path, mode| {
            fs::set_permissions(at(path), fs::Permissions::from_mode(mode)).unwrap();
        };
        mode("", 0o755);
        mode(ours[0], 0o755);
        mode(ours[1], 0o644);
        let look_up_as_other = || as_other(|| look_up_in(&place, &key(1, 1)));
        assert_eq!(look_up_as_other(), None);
        give(&at(ours[1]), OTHER);
        assert_eq!(look_up_as_other(), None);
        give(&at(ours[0]), OTHER);
        assert_eq!(look_up_as_other(), Some([1; 20]));
        give(&at(ours[1]), 0);
        assert_eq!(look_up_as_other(), None);
    }

    #[test]
    fn hostile_contents_are_passed_over() {
        let directory = tempfile::tempdir().unwrap();
        let place = place_in(directory.path());
        let good = key(1, 1);
        add(&place, &good, &[0x5a; 20]).unwrap();
        let file = directory.path().join("logdef/digests");
        let text = fs::read(&file).unwrap();
        for at in 0..text.len() {
            for flip in [0x01, 0x20, 0x80, 0xff] {
                let mut bytes = text.clone();
                bytes[at] ^= flip;
                fs::write(&file, &bytes).unwrap();
                // A digest with other digits looks like a right one; any other change is
                // seen.
                if at >= HEX && at < text.len() - 1 {
                    assert_eq!(look_up_in(&place, &good), None, "{at} {flip}");
                } else {
                    look_up_in(&place, &good);
                }
            }
            fs::write(&file, &text[..at]).unwrap();
            look_up_in(&place, &good);
        }
        for bytes in [
            vec![b'\n'; 1 << 20],
            vec![0xff; 1 << 20],
            b"\n\n 0 1".to_vec(),
        ] {
            fs::write(&file, bytes).unwrap();
            assert_eq!(look_up_in(&place, &good), None);
            add(&place, &good, &[1; 20]).unwrap();
            assert_eq!(look_up_in(&place, &good), Some([1; 20]));
        }
    }
}
