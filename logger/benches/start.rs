//! What opening a log costs: `cargo bench -p logdef --bench start`.
//!
//! Each measurement is a process of its own: this program, as it is and with
//! 100 MiB of nothing at its end, with its digest in the user's cache and
//! without a cache. Printed are medians over the rounds of wall and CPU time from
//! before `open` until the first record is written. The file is in the page
//! cache; from a disk, reading it for the digest takes longer by far.

use logdef::{Sink, logdef};
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

const ROUNDS: usize = 15;
const PADDING: u64 = 100 << 20;

fn main() {
    if let Some(log) = std::env::var_os("LOGDEF_BENCH_LOG") {
        return child(log.as_ref());
    }
    let directory = tempfile::tempdir().unwrap();
    let small = std::env::current_exe().unwrap();
    let large = directory.path().join("large");
    std::fs::copy(&small, &large).unwrap();
    let len = std::fs::metadata(&large).unwrap().len();
    let file = std::fs::File::options().append(true).open(&large).unwrap();
    file.set_len(len + PADDING).unwrap();
    drop(file);
    // What was just written is not remembered yet.
    std::thread::sleep(Duration::from_secs(4));
    let cache = directory.path().join("cache");
    std::fs::create_dir(&cache).unwrap();

    println!(
        "{:>8} {:>8} {:>12} {:>12}",
        "MiB", "cache", "wall us", "CPU us"
    );
    for program in [&small, &large] {
        for cache in [directory.path().join("none"), cache.clone()] {
            let run = || run(program, &cache, &directory.path().join("log"));
            run();
            let mut results: Vec<_> = (0..ROUNDS).map(|_| run()).collect();
            let mut median = |of: fn(&(u64, u64)) -> u64| {
                results.sort_by_key(of);
                of(&results[ROUNDS / 2])
            };
            let (wall, cpu) = (median(|result| result.0), median(|result| result.1));
            let size = std::fs::metadata(program).unwrap().len() >> 20;
            let name = if cache.exists() { "warm" } else { "none" };
            println!("{size:>8} {name:>8} {wall:>12} {cpu:>12}");
        }
    }
}

fn run(program: &Path, cache: &Path, log: &Path) -> (u64, u64) {
    let output = Command::new(program)
        .env("LOGDEF_BENCH_LOG", log)
        .env("XDG_CACHE_HOME", cache)
        .output()
        .unwrap();
    assert!(output.status.success());
    std::fs::remove_file(log).unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let (wall, cpu) = text.trim().split_once(' ').unwrap();
    (wall.parse().unwrap(), cpu.parse().unwrap())
}

fn child(log: &Path) {
    let (start, before) = (Instant::now(), cpu());
    logdef::options().sink(Sink::Mapped).open(log).unwrap();
    logdef!(Info, "open");
    println!("{} {}", start.elapsed().as_micros(), cpu() - before);
}

/// Microseconds of CPU time of the process.
fn cpu() -> u64 {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: `time` is valid for writes.
    unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &mut time) };
    time.tv_sec as u64 * 1_000_000 + time.tv_nsec as u64 / 1000
}
