//! File systems by the kernel's magic numbers.

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

/// Whether pages are had more cheaply by writing zeros than by touching them.
pub(crate) fn likes_writes(magic: i64) -> bool {
    matches!(name(magic), Some(b"ext4" | b"xfs"))
}
