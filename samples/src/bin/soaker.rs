//! Logs for as long as it lives: eight threads at full speed, and a child each
//! second. Now and then, as SEED says, its descriptors run short, and if CLOSES is 1 those of its log are closed
//! under it, as by a program that closes all that it did not open.
//!
//! ```text
//! soaker LOG COUNTS LIFE SEED CLOSES
//! ```
//!
//! Each record names LIFE, so that those of an earlier process are known from its own.
//!
//! COUNTS is a file of 64-bit numbers, three for each thread: first of all threads, how many of its calls
//! have returned; then of all, how many up to the last one that left a record; then of all, how many were
//! dropped. One more counts the children that have ended, and a last one the calls of theirs that were dropped, or that
//! went to an earlier file, which is removed before the newest.

use logdef::{Sink, logdef};
use logdef_samples::smash::Random;
use std::fs::OpenOptions;
use std::path::Path;
use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

const THREADS: usize = 8;
/// What each child logs before it ends.
const RECORDS_OF_A_CHILD: u64 = 3;
/// How many calls a thread may be ahead of the last one. On a busy machine a thread may stand for half a second, in which
/// the others could write all that the log keeps, so that nothing of that thread were in it.
const AHEAD: u64 = 8192;
/// At how many calls a thread looks for the others.
const LOOK: u64 = 1024;
const WORDS: usize = 3 * THREADS + 2;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [log, counts, life, seed, closes] = &args[..] else {
        eprintln!("usage: soaker LOG COUNTS LIFE SEED CLOSES");
        return ExitCode::from(2);
    };
    let life: u32 = life.parse().expect("LIFE is a number");
    let mut random = Random(seed.parse().expect("SEED is a number"));
    let words = map(Path::new(counts));
    let options = logdef::options()
        .sink(Sink::Mapped)
        .rotate(16 << 20)
        .keep(4);
    if let Err(error) = options.open(log) {
        eprintln!("{log}: {error}");
        return ExitCode::FAILURE;
    }
    for thread in 0..THREADS {
        thread::spawn(move || log_calls(thread, life, words));
    }
    let folder = Path::new(log).parent().expect("a folder");
    let [ended, dropped] = [0, 1].map(|part| &words[3 * THREADS + part]);
    for generation in 0u32.. {
        thread::sleep(Duration::from_millis(500 + random.below(1000)));
        if random.below(3) == 0 && closes == "1" {
            close_some(folder, &mut random);
        }
        let limit = (random.below(3) == 0).then(|| limit_descriptors(3 + random.below(4)));
        bear(generation, life, Path::new(log), dropped);
        ended.fetch_add(1, Ordering::Release);
        if let Some(limit) = limit {
            thread::sleep(Duration::from_millis(random.below(150)));
            limit_descriptors(limit);
        }
    }
    ExitCode::SUCCESS
}

/// The words of a file.
fn map(counts: &Path) -> &'static [AtomicU64] {
    let counts = OpenOptions::new().read(true).write(true).open(counts);
    let map = memmap2::MmapRaw::map_raw(&counts.expect("the counts")).expect("a map");
    assert!(map.len() >= WORDS * 8);
    // SAFETY: maps are aligned to pages, and this one holds these words. It is never
    // unmapped, and the file is never truncated.
    let words = unsafe { std::slice::from_raw_parts(map.as_ptr().cast(), WORDS) };
    std::mem::forget(map);
    words
}

/// A thread that logs without pause but for others that are late. Its texts differ in length.
fn log_calls(thread: usize, life: u32, words: &[AtomicU64]) {
    let [returned, written, dropped] = [0, 1, 2].map(|part| &words[part * THREADS + thread]);
    let text = "abcdefghijklmnopqrstuvwxyz".repeat(8);
    for count in 0u64.. {
        while count % LOOK == 0 && count > least(&words[..THREADS]) + AHEAD {
            thread::sleep(Duration::from_micros(100));
        }
        let length = (count % 200) as usize;
        logdef!(
            Info,
            "record %llu of thread %u of life %u: %s",
            count,
            thread as u32,
            life,
            &text[..length]
        );
        returned.store(count + 1, Ordering::Release);
        if logdef::unwritten() == 0 {
            written.store(count + 1, Ordering::Release);
        } else {
            dropped.fetch_add(1, Ordering::Release);
        }
    }
}

/// What the last of the threads has come to.
fn least(returned: &[AtomicU64]) -> u64 {
    let counts = returned.iter().map(|count| count.load(Ordering::Acquire));
    counts.min().unwrap_or(0)
}

/// A forked child that logs and ends, and counts what it could not write to the newest file.
fn bear(generation: u32, life: u32, log: &Path, dropped: &AtomicU64) {
    // SAFETY: the child calls only `logdef!`, system calls, an atomic and the allocator, which the C library keeps
    // usable in a forked child of a program with threads.
    match unsafe { libc::fork() } {
        0 => {
            for count in 0..RECORDS_OF_A_CHILD {
                logdef!(
                    Info,
                    "record %llu of child %u of life %u",
                    count,
                    generation,
                    life
                );
            }
            let state = logdef::state();
            let newest = std::fs::read_link(log).unwrap_or_default();
            // It had no descriptor for the newest. Numbers have six digits.
            let is_earlier = state.path.file_name() < newest.file_name();
            let missing = if is_earlier {
                RECORDS_OF_A_CHILD
            } else {
                state.dropped
            };
            dropped.fetch_add(missing, Ordering::Release);
            // SAFETY: takes a number and returns nowhere.
            unsafe { libc::_exit(0) }
        }
        // SAFETY: a null status is allowed.
        child => unsafe { libc::waitpid(child, std::ptr::null_mut(), 0) },
    };
}

/// Lets the process have no descriptor from `most` on, and returns what the limit was.
fn limit_descriptors(most: u64) -> u64 {
    let mut limit = libc::rlimit {
        rlim_cur: 0,
        rlim_max: 0,
    };
    // SAFETY: `limit` is a place for one limit.
    unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit) };
    let before = limit.rlim_cur;
    limit.rlim_cur = most;
    // SAFETY: the call reads one `rlimit`, which lives during it.
    unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &limit) };
    before
}

/// Closes descriptors that lead into the log's folder: about half of them, or all.
fn close_some(folder: &Path, random: &mut Random) {
    let Ok(entries) = std::fs::read_dir("/proc/self/fd") else {
        return;
    };
    let all = random.below(2) == 0;
    for entry in entries.flatten() {
        let leads = std::fs::read_link(entry.path()).is_ok_and(|to| to.starts_with(folder));
        let number = entry
            .file_name()
            .to_str()
            .and_then(|name| name.parse().ok());
        if let Some(number) = number.filter(|_| leads && (all || random.below(2) == 0)) {
            // SAFETY: takes a number. The descriptor is the log's, which bears that it is closed.
            unsafe { libc::close(number) };
        }
    }
}
