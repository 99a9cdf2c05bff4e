//! What was reserved can be written by a program that may do next to nothing.

use logdef::{Sink, logdef};

mod common;
#[path = "common/seccomp.rs"]
mod seccomp;

#[test]
fn what_was_reserved_is_written_without_opening_or_growing_anything() {
    if !seccomp::is_here() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("log");
    assert!(logdef::reserve(1).is_err(), "no log is open");
    logdef::options().sink(Sink::Mapped).open(&path).unwrap();
    // The first call of a site reads its image.
    let log = |calls| {
        for call in 0..calls {
            logdef!(Info, "%d: %s", call, "some text to fill the file with");
        }
    };
    log(1);
    logdef::reserve(16 << 20).unwrap();
    std::thread::spawn(move || {
        let calls = [
            libc::SYS_openat,
            libc::SYS_fallocate,
            libc::SYS_ftruncate,
            libc::SYS_pwritev,
            libc::SYS_write,
            libc::SYS_fstat,
            libc::SYS_newfstatat,
        ];
        seccomp::fail(&calls, libc::EPERM);
        log(60_000);
    })
    .join()
    .unwrap();
    let (mut found, mut dropped) = (0, 0);
    common::data(&std::fs::read(&path).unwrap(), |data| {
        found += 1;
        dropped += data.dropped.unwrap_or(0);
    });
    assert_eq!((found, dropped), (60_001, 0));
    let size = std::fs::metadata(&path).unwrap().len();
    assert!((6 << 20..=24 << 20).contains(&size), "{size}");

    let too_much = logdef::reserve(1 << 50).unwrap_err();
    assert_eq!(too_much.kind(), std::io::ErrorKind::FileTooLarge);
}
