//! A forked child that logs little, while its parent fills one file after another: its
//! next record is in a file that is kept, and when it is killed the disk has its share back.

mod common;

use logdef::{Sink, logdef};
use std::io::{Read, Write};
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

const SIZE: u64 = 1 << 20;

/// A forked child that logs each number that it reads.
struct Child {
    pid: i32,
    orders: UnixStream,
}

impl Child {
    fn new() -> Child {
        let (mut ours, orders) = UnixStream::pair().unwrap();
        // SAFETY: the child logs, and ends by a signal or here.
        let pid = unsafe { libc::fork() };
        assert!(pid >= 0, "no process");
        if pid == 0 {
            drop(orders);
            let mut number = [0];
            while ours.read_exact(&mut number).is_ok() {
                std::thread::sleep(Duration::from_millis(2));
                logdef!(Warn, "%u of the child", number[0]);
                let _ = ours.write_all(&number);
            }
            // SAFETY: leaves without running what the parent will run.
            unsafe { libc::_exit(0) };
        }
        Child { pid, orders }
    }

    fn log(&mut self, number: u8) {
        self.orders.write_all(&[number]).unwrap();
        let mut logged = [0];
        self.orders.read_exact(&mut logged).unwrap();
        assert_eq!(logged, [number]);
    }

    fn kill(self) {
        // SAFETY: a child of this process.
        unsafe {
            assert_eq!(libc::kill(self.pid, libc::SIGKILL), 0);
            assert_eq!(libc::waitpid(self.pid, std::ptr::null_mut(), 0), self.pid);
        }
    }
}

/// Logs as much as fills some files.
fn fill(files: u64) {
    let text = "x".repeat(4000);
    for number in 0..files * SIZE / 4096 {
        logdef!(Info, "%llu %s", number, text);
    }
}

/// Fills some files, as far as no new one can be made.
fn fill_without_descriptors(files: u64) {
    let before = common::limit_descriptors(0);
    fill(files);
    common::limit_descriptors(before);
}

/// Bytes of disk that the files of a log take.
fn blocks(directory: &Path) -> u64 {
    let files = std::fs::read_dir(directory).unwrap();
    let of = |file: std::fs::DirEntry| file.path().symlink_metadata().unwrap().blocks() * 512;
    files.map(|file| of(file.unwrap())).sum()
}

#[test]
fn a_child_that_was_idle_continues_in_a_file_that_is_kept() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("log");
    let open = || {
        let options = logdef::options().sink(Sink::Mapped).rotate(SIZE).keep(2);
        options.open(&path).unwrap();
        logdef!(Info, "%u opened", 0);
    };

    open();
    let mut child = Child::new();
    for number in 1..=3 {
        child.log(number);
        fill(3);
        child.log(number + 10);
        let (_, seen) = common::numbers(directory.path());
        assert!(seen.contains(&u64::from(number + 10)), "{seen:?}");
    }
    child.kill();
    logdef::close();

    // Opened again under another name: the child does not stay behind.
    open();
    let mut child = Child::new();
    child.log(1);
    let moved = directory.path().join("moved");
    let newest = std::fs::canonicalize(&path).unwrap();
    std::fs::rename(&newest, &moved).unwrap();
    logdef::reopen().unwrap();
    logdef!(Info, "%u is the last in the old file", 0);
    child.log(2);
    std::fs::remove_file(&moved).unwrap();
    let (_, seen) = common::numbers(directory.path());
    assert!(seen.contains(&2), "{seen:?}");
    child.kill();
    logdef::close();

    // Killed children give their chunks back, where the log overwrites its oldest.
    for entry in std::fs::read_dir(directory.path()).unwrap() {
        std::fs::remove_file(entry.unwrap().path()).unwrap();
    }
    open();
    let mut children: Vec<_> = (0..30).map(|_| Child::new()).collect();
    children.iter_mut().for_each(|child| child.log(1));
    fill_without_descriptors(4);
    let taken = blocks(directory.path());
    children.into_iter().for_each(Child::kill);
    fill_without_descriptors(4);
    let after = blocks(directory.path());
    assert!(
        after <= 2 * SIZE + (64 << 10),
        "{after} bytes, {taken} before"
    );
    assert_eq!(logdef::unwritten(), 0);
}
