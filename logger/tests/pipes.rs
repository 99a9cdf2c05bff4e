//! The append sink on a pipe: what is logged is read at the other end, and a pipe without a
//! reader does not kill the program.

mod common;

use logdef::{Level, logdef};
use std::fs::File;
use std::io::Read;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

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

/// Makes a pipe with a name, and opens it for reading.
fn named_pipe(path: &Path) -> File {
    let name = std::ffi::CString::new(path.to_str().unwrap()).unwrap();
    // SAFETY: a string of C.
    assert_eq!(unsafe { libc::mkfifo(name.as_ptr(), 0o600) }, 0);
    let mut options = File::options();
    let options = options.read(true).custom_flags(libc::O_NONBLOCK);
    options.open(path).unwrap()
}

/// The request was never looked at: each call got EPIPE, for good.
fn a_pipe_that_was_made_again_is_opened_again() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("pipe");
    common::in_child(|| {
        let first = named_pipe(&path);
        logdef::open(&path).unwrap();
        logdef!(Info, "%u", 1);
        drop(first);
        std::fs::remove_file(&path).unwrap();
        let mut second = named_pipe(&path);
        logdef::reopen().unwrap();
        for number in 2..12 {
            logdef!(Info, "%u", number);
        }
        // The first of them finds out, and the one that comes after it looks.
        assert!(logdef::state().dropped <= 2);
        let mut bytes = vec![0; 1 << 16];
        let len = second.read(&mut bytes).unwrap();
        let mut seen = 0;
        common::data(&bytes[..len], |_| seen += 1);
        assert!(seen >= 8, "{seen}");
    });
}

/// It stayed open, since a call of the parent was in progress, in another thread.
fn a_child_that_closes_the_log_has_no_descriptor_of_it() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("pipe");
    let opened = || {
        let descriptors = std::fs::read_dir("/proc/self/fd").unwrap();
        let leads = descriptors.filter_map(|entry| entry.unwrap().path().read_link().ok());
        leads.filter(|to| *to == path).count()
    };
    common::in_child(|| {
        let mut reader = named_pipe(&path);
        logdef::open(&path).unwrap();
        let text = "x".repeat(16_000);
        std::thread::scope(|scope| {
            // More than the pipe holds.
            let writer = scope.spawn(|| (0..10).for_each(|_| logdef!(Info, "%s", text)));
            common::until("the pipe is not full", || held(&reader) > 48_000);
            common::in_child(|| {
                assert_eq!(opened(), 2);
                logdef::close();
                assert_eq!(opened(), 1);
            });
            let mut bytes = vec![0; 1 << 16];
            while !writer.is_finished() {
                let _ = reader.read(&mut bytes);
            }
        });
    });
}

/// How many bytes a pipe holds.
fn held(pipe: &File) -> i32 {
    let mut bytes = 0;
    // SAFETY: a place for the answer.
    let asked = unsafe { libc::ioctl(pipe.as_raw_fd(), libc::FIONREAD, &raw mut bytes) };
    assert_eq!(asked, 0);
    bytes
}

/// One test: each has the log of the process.
#[test]
fn pipes() {
    a_pipe_that_was_made_again_is_opened_again();
    a_child_that_closes_the_log_has_no_descriptor_of_it();
    a_pipe_carries_a_log_and_its_end_kills_no_program();
}
