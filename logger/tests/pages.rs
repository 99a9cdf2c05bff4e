//! Pages of 64 KiB: the log of a program that logs in several threads, rotates, forks and
//! is killed, and one whose file another program cuts short. A library that is loaded before all others makes
//! the program see such pages. This program is its own victim.

use common::skip;
use logdef::{Sink, logdef};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Barrier;

mod common;

const VICTIM: &str = "LOGDEF_TEST_VICTIM";
/// The victim whose file is cut short; of another one it says how many files are kept.
const GUARDED: &str = "guarded";
const THREADS: u64 = 4;
const CALLS: u64 = 20_000;
/// Calls of a thread before the file is cut, which fit its first chunk.
const CUT_AT: u64 = 100;

fn main() {
    let last = std::env::args().next_back().unwrap();
    if let Ok(victim) = std::env::var(VICTIM) {
        return log_and_wait(Path::new(&last), &victim);
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
    check_guarded(&library, &directory.path().join("guarded"));
}

fn log_and_wait(path: &Path, victim: &str) {
    // SAFETY: has no preconditions.
    let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    assert_eq!(page, 64 << 10, "the library was loaded");
    match victim {
        GUARDED => log_though_it_is_cut(path),
        keep => log_in_threads_and_a_child(path, keep.parse().unwrap()),
    }
    println!("done");
    std::io::stdin().read_line(&mut String::new()).unwrap();
}

/// Logs while another program cuts the file to nothing.
fn log_though_it_is_cut(path: &Path) {
    let options = logdef::options().sink(Sink::Mapped);
    options.guard_against_truncation().open(path).unwrap();
    let [begun, is_cut] = [(); 2].map(|()| Barrier::new(THREADS as usize + 1));
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let (begun, is_cut) = (&begun, &is_cut);
            scope.spawn(move || {
                let log = |n: u64| logdef!(Info, "%llu %llu", thread, n);
                (0..CUT_AT).for_each(log);
                begun.wait();
                is_cut.wait();
                (CUT_AT..CALLS).for_each(log);
            });
        }
        begun.wait();
        let status = Command::new("truncate").arg("-s0").arg(path).status();
        assert!(status.unwrap().success());
        is_cut.wait();
    });
    logdef!(Info, "%llu %llu", THREADS, logdef::state().dropped);
}

/// Logs in threads and in a child, and drops nothing.
fn log_in_threads_and_a_child(path: &Path, keep: u32) {
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

/// What a victim leaves that is killed when it has logged: of each thread the numbers, in order; bytes; calls
/// that the records count as dropped.
fn left_by(library: &Path, directory: &Path, victim: &str) -> (BTreeMap<u64, Vec<u64>>, u64, u64) {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .arg(directory.join("log"))
        .env("LD_PRELOAD", library)
        .env(VICTIM, victim)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let line = common::line_of(&mut child);
    let _ = child.kill();
    let _ = child.wait();
    assert_eq!(line, "done");

    let mut found = BTreeMap::<u64, Vec<u64>>::new();
    let (mut bytes, mut dropped) = (0, 0);
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
            dropped += data.dropped.unwrap_or(0);
        });
    }
    found
        .values_mut()
        .for_each(|numbers| numbers.sort_unstable());
    (found, bytes, dropped)
}

fn check(library: &Path, directory: &Path, keep: u32) {
    let (found, bytes, _) = left_by(library, directory, &keep.to_string());
    for (thread, numbers) in &found {
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

/// What was cut is gone; of all calls after it there is a record, or it was lost with its page, and counted.
fn check_guarded(library: &Path, directory: &Path) {
    std::fs::create_dir(directory).unwrap();
    let (mut found, _, counted) = left_by(library, directory, GUARDED);
    let dropped = found.remove(&THREADS).unwrap();
    assert_eq!(found.len() as u64, THREADS);
    for (thread, numbers) in &mut found {
        let first = numbers[0];
        assert!(numbers.iter().copied().eq(first..CALLS), "thread {thread}");
        assert!((CUT_AT..CALLS).contains(&first), "thread {thread}: {first}");
    }
    let after = THREADS * (CALLS - CUT_AT);
    let missing = after - found.values().map(Vec::len).sum::<usize>() as u64;
    assert!(missing > 0, "no record was lost with its page");
    assert_eq!((&dropped[..], counted), (&[missing][..], missing));
}
