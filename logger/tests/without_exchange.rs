//! A file system that cannot exchange names, as NFS and most of FUSE: a rotated log that is appended to
//! knows its file when its descriptors were closed.

use common::in_child;
use logdef::{Sink, logdef};

mod common;
#[path = "common/seccomp.rs"]
mod seccomp;

/// It opened the name with the highest number, which no file had.
#[test]
fn a_log_is_found_again_where_names_cannot_be_exchanged() {
    if !seccomp::is_here() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("log");
    in_child(|| {
        seccomp::fail(&[libc::SYS_renameat2], libc::EINVAL);
        let options = logdef::options().sink(Sink::Append);
        options.rotate(64 << 10).open(&path).unwrap();
        logdef!(Info, "number %u", 0u32);
        assert_eq!(logdef::state().path, directory.path().join("log.000001"));
        for descriptor in 3..1024 {
            // SAFETY: as daemons do.
            unsafe { libc::close(descriptor) };
        }
        for number in 1..2_000u32 {
            logdef!(Info, "number %u", number);
        }
        assert_eq!(logdef::state().dropped, 0);
    });
    let (numbers, _) = common::numbers(directory.path());
    assert_eq!(numbers, (0..2_000).collect());
}
