//! File systems by the kernel's magic numbers, and by what they answer.

use crate::sys::Errno;

/// The name of a file system, where it is known.
pub(crate) fn name(magic: i64) -> Option<&'static [u8]> {
    Some(match magic {
        0xef53 => b"ext4",
        0x5846_5342 => b"xfs",
        0x0102_1994 => b"tmpfs",
        0x9123_683e => b"btrfs",
        0x6969 => b"nfs",
        0x6573_5546 => b"fuse",
        0x794c_7630 => b"overlay",
        0x0102_1997 => b"9p",
        0x2fc1_2fc1 => b"zfs",
        0xf2f5_2010 => b"f2fs",
        _ => return None,
    })
}

/// Whether a log may be mapped there: where blocks that were reserved are kept,
/// so that no store to them can fail. Copy-on-write and network file systems
/// do not promise that.
pub(crate) fn may_be_mapped(magic: i64) -> bool {
    matches!(name(magic), Some(b"ext4" | b"xfs" | b"tmpfs"))
}

/// Whether space was refused for good: by a file system without a way to reserve it, or by a
/// filter of system calls.
pub(crate) fn is_never_reserved(reserved: Result<(), Errno>) -> bool {
    let refusals = [libc::EOPNOTSUPP, libc::ENOSYS, libc::EPERM];
    reserved.is_err_and(|Errno(errno)| refusals.contains(&errno))
}

/// Whether blocks that are reserved after the end of a file there are worth it. Those of Btrfs would not be
/// compressed, others may promise more than they keep.
pub(crate) fn keeps_what_is_reserved(magic: i64) -> bool {
    !matches!(name(magic), Some(b"btrfs" | b"zfs" | b"nfs" | b"9p"))
}

/// Whether a file there may be on another machine, which refuses later what `write(2)` took, and
/// whether one that is open gets a hidden name when its own is removed.
pub(crate) fn is_nfs(magic: i64) -> bool {
    name(magic) == Some(b"nfs")
}

/// Why a log there is appended, in words.
pub(crate) fn why_appended(magic: i64) -> &'static str {
    match name(magic) {
        Some(b"btrfs") => "appended: btrfs may not keep what is reserved",
        Some(b"zfs") => "appended: ZFS may not keep what is reserved",
        Some(b"f2fs") => "appended: F2FS may not keep what is reserved",
        Some(b"nfs") => "appended: NFS may not keep what is reserved",
        Some(b"fuse") => "appended: FUSE may not keep what is reserved",
        Some(b"9p") => "appended: 9P may not keep what is reserved",
        _ => "appended: the file system may not keep what is reserved",
    }
}

/// Whether pages are had more cheaply by writing zeros than by touching them.
pub(crate) fn likes_writes(magic: i64) -> bool {
    matches!(name(magic), Some(b"ext4" | b"xfs"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_system_that_is_not_mapped_says_why_by_its_name() {
        for (magic, name) in [
            (0x9123_683e, "btrfs"),
            (0x6969, "NFS"),
            (0x6573_5546, "FUSE"),
        ] {
            assert!(!may_be_mapped(magic));
            let why = why_appended(magic);
            assert_eq!(
                why,
                format!("appended: {name} may not keep what is reserved")
            );
        }
        assert_eq!(why_appended(1).find("btrfs"), None);
    }
}
