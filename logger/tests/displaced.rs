//! A process opens a log at the path of another one, which opens it, logs for the first time or ends at the worst
//! moment: its record stays.

mod common;

use logdef::{Existing, Sink, logdef};
use std::ffi::{CStr, c_char, c_int};
use std::io::stdin;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;

const NAME: &str = "records_of_processes_whose_path_another_one_takes_stay";

/// When something is done, and what.
enum Step {
    None,
    /// Lets the process end that has the file with this inode, when that is seen to be empty.
    End(Child, u64),
    /// Starts a process, when the link at the path was read once more than so often.
    Start(Command, usize),
}

static STEP: Mutex<Step> = Mutex::new(Step::None);

/// In the place of the C library's.
#[unsafe(no_mangle)]
extern "C" fn fstat(fd: c_int, stat: *mut libc::stat) -> c_int {
    // SAFETY: the caller's memory is for what is found.
    let asked = unsafe { libc::syscall(libc::SYS_fstat, fd, stat) } as c_int;
    // SAFETY: the caller's memory holds one, before it is filled in too.
    let found = unsafe { &*stat };
    let mut step = STEP.lock().unwrap();
    if let Step::End(process, inode) = &mut *step
        && asked == 0
        && (found.st_ino, found.st_size) == (*inode, 0)
    {
        drop(process.stdin.take());
        assert!(process.wait().unwrap().success());
        *step = Step::None;
    }
    asked
}

/// In the place of the C library's.
#[unsafe(no_mangle)]
extern "C" fn readlink(path: *const c_char, into: *mut c_char, len: usize) -> isize {
    // SAFETY: the caller's string ends in a NUL, and its memory is for what is found.
    let (path, read) = unsafe {
        let read = libc::readlinkat(libc::AT_FDCWD, path, into, len);
        (CStr::from_ptr(path), read)
    };
    let mut step = STEP.lock().unwrap();
    if let Step::Start(process, before) = &mut *step
        && path.to_bytes().ends_with(b"/log")
    {
        if *before == 0 {
            assert!(process.status().unwrap().success());
            *step = Step::None;
        } else {
            *before -= 1;
        }
    }
    read
}

#[test]
fn records_of_processes_whose_path_another_one_takes_stay() {
    if let Some(path) = std::env::var_os("OTHER_PATH") {
        open(path.as_ref());
        std::io::copy(&mut stdin(), &mut std::io::sink()).unwrap();
        logdef!(Info, "number %d", 7);
        return;
    }
    one_that_ends();
    one_that_begins();
}

fn open(path: &Path) {
    logdef::options().sink(Sink::Mapped).open(path).unwrap();
}

fn process(path: &Path) -> Command {
    let mut process = Command::new(std::env::current_exe().unwrap());
    process.args(["--exact", NAME]).env("OTHER_PATH", path);
    process.stdin(Stdio::null()).stdout(Stdio::null());
    process
}

/// The file was empty when it was looked at, and in no use any more when that was asked: it was removed. So
/// one of 200 processes that started at once lost its record now and then.
fn one_that_ends() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log");
    let process = process(&path).stdin(Stdio::piped()).spawn().unwrap();
    common::until("no log", || path.exists());
    let inode = path.metadata().unwrap().ino();
    *STEP.lock().unwrap() = Step::End(process, inode);
    open(&path);
    assert!(matches!(*STEP.lock().unwrap(), Step::None), "not looked at");
    stays(&path.with_extension("000001"));
}

/// The path was a link when that was asked, and the other process's file when the link was removed.
fn one_that_begins() {
    let mut reads = 0;
    while begins_after(reads) {
        reads += 1;
    }
    assert!(reads > 0, "no link was read");
}

/// `false` if the link is not read as often.
fn begins_after(reads: usize) -> bool {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log");
    std::os::unix::fs::symlink("log.000007", &path).unwrap();
    *STEP.lock().unwrap() = Step::Start(process(&path), reads);
    open(&path);
    if let Step::Start(..) = std::mem::replace(&mut *STEP.lock().unwrap(), Step::None) {
        logdef::close();
        return false;
    }
    stays(&path.with_extension("000001"));
    true
}

/// The record of the process that had the path is there.
fn stays(previous: &Path) {
    let state = logdef::state();
    logdef::close();
    assert_eq!(state.existing, Existing::Renamed);
    assert_eq!(state.previous.as_deref(), Some(previous));
    assert_eq!(common::whole_records(&std::fs::read(previous).unwrap()), 1);
}
