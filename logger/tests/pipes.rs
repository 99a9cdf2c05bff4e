//! The append sink on a pipe: what is logged is read at the other end, and a pipe without a
//! reader does not kill the program.

mod common;

use logdef::{Level, logdef};
use std::io::Read;
use std::os::fd::OwnedFd;

#[test]
fn a_pipe_carries_a_log_and_its_end_kills_no_program() {
    let (mut reader, writer) = std::io::pipe().unwrap();
    logdef::options()
        .backtrace_level(Level::FATAL)
        .open_fd(OwnedFd::from(writer))
        .unwrap();
    logdef!(Info, "through a pipe: %d", 1);
    let mut bytes = vec![0; 1 << 16];
    let len = reader.read(&mut bytes).unwrap();
    let mut seen = 0;
    common::data(&bytes[..len], |_| seen += 1);
    assert_eq!(seen, 1);
    drop(reader);
    // SAFETY: makes a SIGPIPE kill this process, which the Rust runtime had
    // prevented.
    unsafe { libc::signal(libc::SIGPIPE, libc::SIG_DFL) };
    logdef!(Info, "nobody reads this: %d", 2);
    logdef!(Info, "nor this: %d", 3);
    logdef::close();
    // The drops are noted in the next log.
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("log");
    logdef::open(&path).unwrap();
    logdef!(Info, "again");
    let mut dropped = Vec::new();
    common::data(&std::fs::read(&path).unwrap(), |data| {
        dropped.push(data.dropped)
    });
    assert_eq!(dropped, [Some(2)]);
}
