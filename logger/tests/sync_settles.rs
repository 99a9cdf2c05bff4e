//! When `sync` has returned, the log's path leads to its newest file and no file is left that is not
//! kept, whichever thread made that file.

mod common;

use logdef::Sink;
use std::ffi::{c_char, c_int};
use std::io::{Read, Write};
use std::path::Path;
use std::sync::Barrier;
use std::sync::atomic::{AtomicI32, AtomicU32, Ordering};
use std::time::Duration;

const ROUNDS: u32 = 50;
const FILE: u64 = 64 << 10;
const KEPT: usize = 2;

/// The thread that fills files.
static FILLS: AtomicI32 = AtomicI32::new(0);

/// In the place of the C library's. The thread asks when the file that it made has become the log's newest:
/// others may have the CPU then.
#[unsafe(no_mangle)]
extern "C" fn clock_gettime(clock: libc::clockid_t, time: *mut libc::timespec) -> c_int {
    // SAFETY: asks for a number.
    if unsafe { libc::gettid() } == FILLS.load(Ordering::Relaxed) {
        let time = libc::timespec {
            tv_sec: 0,
            tv_nsec: 100_000,
        };
        // SAFETY: the time is a whole one, and what is left of it is not asked for.
        unsafe { libc::nanosleep(&time, std::ptr::null_mut()) };
    }
    // SAFETY: the caller's memory is for a time.
    unsafe { libc::syscall(libc::SYS_clock_gettime, clock, time) as c_int }
}

/// Links that this process has made.
static LINKS: AtomicU32 = AtomicU32::new(0);

/// In the place of the C library's, which may take a while.
#[unsafe(no_mangle)]
extern "C" fn symlink(target: *const c_char, at: *const c_char) -> c_int {
    LINKS.fetch_add(1, Ordering::Relaxed);
    std::thread::sleep(Duration::from_millis(1));
    // SAFETY: the caller's strings end in a NUL.
    unsafe { libc::symlinkat(target, libc::AT_FDCWD, at) }
}

/// The names of the files, and that of the one to which the path leads.
fn listed(directory: &Path) -> (Vec<String>, String) {
    let entries = std::fs::read_dir(directory).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut files: Vec<_> = names.filter(|name| name != "log").collect();
    files.sort();
    let link = std::fs::read_link(directory.join("log")).unwrap();
    (files, link.into_os_string().into_string().unwrap())
}

/// A thread had begun a file, which others wrote to, and had come neither to the link nor to the oldest
/// file: the `sync` of another one returned before it.
#[test]
fn a_sync_leaves_nothing_of_a_rotation_to_be_done() {
    // Where a sync takes no time, if there is such a file system.
    let directory = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir());
    let directory = directory.unwrap();
    let options = logdef::options().sink(Sink::Mapped).rotate(FILE);
    let options = options.keep(KEPT as u32);
    options.open(directory.path().join("log")).unwrap();
    let (begin, end) = (Barrier::new(2), Barrier::new(2));
    let mut unsettled = Vec::new();
    std::thread::scope(|threads| {
        threads.spawn(|| {
            // SAFETY: asks for a number.
            FILLS.store(unsafe { libc::gettid() }, Ordering::Relaxed);
            let text = "x".repeat(1000);
            for _ in 0..ROUNDS {
                begin.wait();
                common::fill_file(&text);
                end.wait();
            }
        });
        for round in 0..ROUNDS {
            let file = logdef::state().path;
            begin.wait();
            while logdef::state().path == file {
                std::hint::spin_loop();
            }
            logdef::sync().unwrap();
            let (files, link) = listed(directory.path());
            end.wait();
            if files.len() > KEPT || files.last() != Some(&link) {
                unsettled.push((round, files, link));
            }
        }
    });
    assert_eq!(unsettled, []);
    a_child_leaves_to_its_parent_what_that_has_done();
    assert_eq!(logdef::state().dropped, 0);
}

/// It may have given up the right to set the link, and would have noted that the path leads elsewhere.
fn a_child_leaves_to_its_parent_what_that_has_done() {
    let (mut ready, mut rotated) = std::io::pipe().unwrap();
    std::thread::scope(|threads| {
        threads.spawn(|| {
            common::fill_file("by the parent, while it has a child");
            logdef::sync().unwrap();
            rotated.write_all(b"\n").unwrap();
        });
        common::in_child(|| {
            ready.read_exact(&mut [0]).unwrap();
            LINKS.store(0, Ordering::Relaxed);
            logdef::sync().unwrap();
            assert_eq!(LINKS.load(Ordering::Relaxed), 0);
        });
    });
}
