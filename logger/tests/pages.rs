//! Pages of 64 KiB: the log of a program that logs in several threads, rotates, forks and
//! is killed. A library that is loaded before all others makes the program see such pages.
//! This program is its own victim.

use common::skip;
use logdef::{Sink, logdef};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

mod common;

const VICTIM: &str = "LOGDEF_TEST_VICTIM";
const THREADS: u64 = 4;
const CALLS: u64 = 20_000;

fn main() {
    let last = std::env::args().next_back().unwrap();
    if std::env::var_os(VICTIM).is_some() {
        return log_and_wait(Path::new(&last));
    }
    let directory = tempfile::tempdir().unwrap();
    let Some(library) = build(directory.path()) else {
        return;
    };
    for keep in [0, 4] {
        let at = directory.path().join(format!("keeps {keep}"));
        std::fs::create_dir(&at).unwrap();
        check(&library, &at, keep);
    }
}

/// Logs in threads and in a child, says so, and waits for its end.
fn log_and_wait(path: &Path) {
    // SAFETY: has no preconditions.
    let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    assert_eq!(page, 64 << 10, "the library was loaded");
    let keep: u32 = std::env::var(VICTIM).unwrap().parse().unwrap();
    let options = logdef::options().sink(Sink::Mapped).rotate(1 << 20);
    let options = match keep {
        0 => options,
        keep => options.keep(keep),
    };
    options.open(path).unwrap();
    let log = |thread: u64| (0..CALLS).for_each(|n| logdef!(Info, "%llu %llu", thread, n));
    std::thread::scope(|scope| {
        (0..THREADS).for_each(|thread| drop(scope.spawn(move || log(thread))));
    });
    // SAFETY: the child logs and leaves.
    match unsafe { libc::fork() } {
        0 => {
            log(THREADS);
            // SAFETY: leaves without running what the parent will run.
            unsafe { libc::_exit(0) }
        }
        child => {
            let mut status = 0;
            // SAFETY: waits for a child of this process.
            assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
            assert_eq!(status, 0);
        }
    }
    assert_eq!(logdef::state().dropped, 0);
    println!("done");
    std::io::stdin().read_line(&mut String::new()).unwrap();
}

/// Compiles the library. `None`, with a word about it, if there is no compiler.
fn build(directory: &Path) -> Option<PathBuf> {
    let library = directory.join("large_pages.so");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/pages/large_pages.c");
    let mut compiler = Command::new("cc");
    compiler.args(["-shared", "-fPIC", "-O1", "-Wall", "-Werror", "-o"]);
    let built = compiler.arg(&library).arg(source).arg("-ldl").status();
    match built {
        Ok(status) => assert!(status.success()),
        Err(error) => {
            skip::skip(format!("cc: {error}"));
            return None;
        }
    }
    Some(library)
}

fn check(library: &Path, directory: &Path, keep: u32) {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .arg(directory.join("log"))
        .env("LD_PRELOAD", library)
        .env(VICTIM, keep.to_string())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let line = common::line_of(&mut child);
    let _ = child.kill();
    let _ = child.wait();
    assert_eq!(line, "done");

    let mut found = BTreeMap::<u64, Vec<u64>>::new();
    let mut bytes = 0;
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_symlink() {
            continue;
        }
        let log = std::fs::read(path).unwrap();
        bytes += log.len() as u64;
        common::data(&log, |data| {
            let mut args = data.args.unwrap().iter();
            let mut next = || args.next().unwrap().as_uint().unwrap();
            found.entry(next()).or_default().push(next());
        });
    }
    for (thread, numbers) in &mut found {
        numbers.sort_unstable();
        // All of them, or the newest of those that came last.
        let first = numbers[0];
        assert!(numbers.iter().copied().eq(first..CALLS), "thread {thread}");
    }
    let threads = found.len() as u64;
    match keep {
        0 => assert_eq!(
            found.values().map(Vec::len).sum::<usize>() as u64,
            (THREADS + 1) * CALLS
        ),
        _ => assert!(threads >= 1 && bytes <= 4 << 20, "{threads}, {bytes} bytes"),
    }
}
