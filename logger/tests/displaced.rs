//! A process opens a log at the path of another one, or removes an old log for the sake of the folder, and the other
//! opens it, logs for the first time or ends at the worst moment: its record stays.

mod common;

use logdef::{Existing, Sink, logdef};
use std::ffi::{CStr, c_char, c_int};
use std::io::{Read, Write, stdin};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::time::Duration;

const NAME: &str = "records_of_processes_whose_path_another_one_takes_stay";

/// When something is done, and what.
enum Step {
    None,
    /// Lets the process end that has the file with this inode, when that is seen to be empty.
    End(Child, u64),
    /// Starts a process, when the link at the path was read once more than so often.
    Start(Command, usize),
    /// Starts one, when the name of an old log is removed, which is done when the process has ended, or waits.
    Beside(Command, &'static Mutex<Option<Child>>),
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

/// In the place of the C library's.
#[unsafe(no_mangle)]
extern "C" fn unlinkat(directory: c_int, name: *const c_char, flags: c_int) -> c_int {
    let step = std::mem::replace(&mut *STEP.lock().unwrap(), Step::None);
    if let Step::Beside(mut process, started) = step {
        let (mut opens, other_end) = std::io::pipe().unwrap();
        let mut process = process.stderr(other_end).spawn().unwrap();
        opens.read_exact(&mut [0]).unwrap();
        let has_ended = |_: &u32| process.try_wait().unwrap().is_some();
        let mut waits = (0..20).inspect(|_| std::thread::sleep(Duration::from_millis(1)));
        let _ = waits.find(has_ended);
        *started.lock().unwrap() = Some(process);
    }
    // SAFETY: the caller's name ends in a NUL.
    unsafe { libc::syscall(libc::SYS_unlinkat, directory, name, flags) as c_int }
}

#[test]
fn records_of_processes_whose_path_another_one_takes_stay() {
    if let Some(path) = std::env::var_os("APPENDS_TO") {
        return append_to(path.as_ref());
    }
    if let Some(path) = std::env::var_os("OTHER_PATH") {
        open(path.as_ref());
        std::io::copy(&mut stdin(), &mut std::io::sink()).unwrap();
        logdef!(Info, "number %d", 7);
        return;
    }
    one_that_ends();
    one_that_begins();
    one_that_appends();
}

fn open(path: &Path) {
    logdef::options().sink(Sink::Mapped).open(path).unwrap();
}

/// A process that finds the path in an environment variable.
fn process(variable: &str, path: &Path) -> Command {
    let mut process = Command::new(std::env::current_exe().unwrap());
    process.args(["--exact", NAME]).env(variable, path);
    process.stdin(Stdio::null()).stdout(Stdio::null());
    process
}

/// The file was empty when it was looked at, and in no use any more when that was asked: it was removed. So
/// one of 200 processes that started at once lost its record now and then.
fn one_that_ends() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log");
    let process = process("OTHER_PATH", &path)
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
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
    *STEP.lock().unwrap() = Step::Start(process("OTHER_PATH", &path), reads);
    open(&path);
    if let Step::Start(..) = std::mem::replace(&mut *STEP.lock().unwrap(), Step::None) {
        logdef::close();
        return false;
    }
    stays(&path.with_extension("000001"));
    true
}

fn append_to(path: &Path) {
    std::io::stderr().write_all(b"!").unwrap();
    logdef::options().sink(Sink::Append).open(path).unwrap();
    logdef!(Info, "number %d", 7);
}

/// The log was in no use when that was asked, and removed with the record of the process that had opened it since.
fn one_that_appends() {
    static STARTED: Mutex<Option<Child>> = Mutex::new(None);
    let folder = tempfile::tempdir().unwrap();
    let old = folder.path().join("old");
    common::in_child(|| append_to(&old));
    *STEP.lock().unwrap() = Step::Beside(process("APPENDS_TO", &old), &STARTED);
    let options = logdef::options().sink(Sink::Append).rotate(1 << 20);
    let options = options.folder_bytes(1);
    options.open(folder.path().join("log")).unwrap();
    logdef::close();
    let mut process = STARTED.lock().unwrap().take().expect("no log was removed");
    assert!(process.wait().unwrap().success());
    assert_eq!(common::whole_records(&std::fs::read(&old).unwrap()), 1);
}

/// The record of the process that had the path is there.
fn stays(previous: &Path) {
    let state = logdef::state();
    logdef::close();
    assert_eq!(state.existing, Existing::Renamed);
    assert_eq!(state.previous.as_deref(), Some(previous));
    assert_eq!(common::whole_records(&std::fs::read(previous).unwrap()), 1);
}
