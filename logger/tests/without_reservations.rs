//! Where the file system cannot reserve space, as ext2 and ext3 cannot, whose magic number is that of ext4.

use logdef::{Sink, logdef};
use std::ffi::CString;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

mod common;
#[path = "common/seccomp.rs"]
mod seccomp;
#[path = "common/tmpfs.rs"]
mod tmpfs;

/// A chunk has room for twice as many.
const RECORDS: u64 = 50;

/// Data records in the files of a folder.
fn records(folder: &Path) -> u64 {
    let mut found = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_file() && !path.is_symlink() {
            common::data(&std::fs::read(path).unwrap(), |_| found += 1);
        }
    }
    found
}

fn log() {
    for number in 0..RECORDS {
        logdef!(Info, "number %lu", number);
    }
}

/// The log was mapped, and all its calls were dropped: none of its file could be had. The reader
/// called it clean.
fn it_is_appended() {
    for rotates in [false, true] {
        let folder = tempfile::tempdir().unwrap();
        common::in_child(|| {
            seccomp::fail(&[libc::SYS_fallocate], libc::EOPNOTSUPP);
            // A directory of ext4 says that it is one.
            seccomp::fail(&[libc::SYS_ioctl], libc::ENOTTY);
            let options = || {
                let plain = logdef::options();
                if rotates {
                    plain.rotate(1 << 20)
                } else {
                    plain
                }
            };
            let path = folder.path().join("log");
            let refused = options().sink(Sink::Mapped).open(&path).unwrap_err();
            assert_eq!(refused.raw_os_error(), Some(libc::EOPNOTSUPP));
            assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);

            options().open(&path).unwrap();
            log();
            let state = logdef::state();
            assert!(!state.is_mapped);
            let why = "appended: the file system cannot reserve space";
            assert_eq!(state.why.as_deref(), Some(why));
            assert_eq!(state.dropped, 0);
        });
        assert_eq!(records(folder.path()), RECORDS);
    }
}

/// Another file system is mounted where the log's path leads, and the log is opened again: it went on
/// there, and every call was dropped.
fn a_mapped_log_goes_to_no_other_file_system_that_cannot() {
    for can in [true, false] {
        let folder = tempfile::tempdir().unwrap();
        common::in_child(|| {
            let Some(small) = tmpfs::mount(folder.path(), 8) else {
                return;
            };
            let options = logdef::options().sink(Sink::Mapped);
            options.open(small.join("log")).unwrap();
            log();
            let at = CString::new(small.as_os_str().as_bytes()).unwrap();
            let tmpfs = c"tmpfs".as_ptr();
            // SAFETY: C strings that outlive the call.
            let mounted = unsafe { libc::mount(tmpfs, at.as_ptr(), tmpfs, 0, std::ptr::null()) };
            assert_eq!(mounted, 0);
            if !can {
                seccomp::fail(&[libc::SYS_fallocate], libc::EOPNOTSUPP);
            }
            logdef::reopen().unwrap();
            // What is left of the thread's chunk takes them.
            log();
            let state = logdef::state();
            assert_eq!(state.dropped, 0);
            assert_eq!(records(&small), if can { RECORDS - 1 } else { 0 });
            // SAFETY: a C string that outlives the call.
            assert_eq!(unsafe { libc::umount2(at.as_ptr(), libc::MNT_DETACH) }, 0);
            assert_eq!(records(&small), if can { RECORDS + 1 } else { 2 * RECORDS });
        });
    }
}

/// One test: each forks.
#[test]
fn a_log_whose_space_cannot_be_reserved_loses_no_call() {
    if !seccomp::is_here() {
        return;
    }
    it_is_appended();
    a_mapped_log_goes_to_no_other_file_system_that_cannot();
}
