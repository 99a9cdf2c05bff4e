//! What a log call costs: `cargo bench -p logdef --bench emit [-- DIRECTORY]`.
//!
//! The workload is that of the loggers we are compared with: `"Logging int:
//! %d, int: %d, double: %f"`, and the same with a 24-character string. Each
//! measurement is a process of its own, since a process has one log. The
//! variants alternate, and medians over the rounds are printed: mean wall time
//! of a call in a tight loop, CPU time of the whole process for a record
//! (everything included: pages, definitions, opening), bytes of a record.

use logdef::{Sink, logdef};
use std::path::Path;
use std::process::Command;
use std::time::Instant;

const ROUNDS: usize = 7;

#[derive(Clone, Copy)]
struct Variant {
    name: &'static str,
    threads: usize,
    records: u64,
}

const VARIANTS: [Variant; 11] = [
    Variant {
        name: "mapped",
        threads: 1,
        records: 2_000_000,
    },
    Variant {
        name: "mapped",
        threads: 2,
        records: 2_000_000,
    },
    Variant {
        name: "mapped-ready",
        threads: 1,
        records: 2_000_000,
    },
    Variant {
        name: "mapped-ready",
        threads: 2,
        records: 2_000_000,
    },
    Variant {
        name: "mapped-ready-string",
        threads: 1,
        records: 2_000_000,
    },
    Variant {
        name: "mapped-string",
        threads: 1,
        records: 2_000_000,
    },
    Variant {
        name: "mapped-braces",
        threads: 1,
        records: 2_000_000,
    },
    Variant {
        name: "mapped-braces-string",
        threads: 1,
        records: 2_000_000,
    },
    Variant {
        name: "append",
        threads: 1,
        records: 300_000,
    },
    Variant {
        name: "append-string",
        threads: 1,
        records: 300_000,
    },
    Variant {
        name: "off",
        threads: 1,
        records: 20_000_000,
    },
];

fn main() {
    let args: Vec<String> = std::env::args().collect();
    if let Some(at) = args.iter().position(|arg| arg == "--child") {
        return child(
            &args[at + 1],
            args[at + 2].parse().unwrap(),
            args[at + 3].parse().unwrap(),
            &args[at + 4],
        );
    }
    let directory = args.iter().skip(1).find(|arg| !arg.starts_with("--"));
    let parent = directory.map_or(std::env::temp_dir(), |directory| directory.into());
    println!(
        "{:20} {:>7} {:>12} {:>14} {:>12}",
        "variant", "threads", "ns a call", "CPU ns/record", "bytes/record"
    );
    let mut results = vec![Vec::new(); VARIANTS.len()];
    for _ in 0..ROUNDS {
        for (variant, results) in VARIANTS.iter().zip(&mut results) {
            let directory = tempfile::tempdir_in(&parent).unwrap();
            let output = Command::new(&args[0])
                .args(["--child", variant.name])
                .args([variant.threads.to_string(), variant.records.to_string()])
                .arg(directory.path())
                .output()
                .unwrap();
            assert!(
                output.status.success(),
                "{}",
                String::from_utf8_lossy(&output.stderr)
            );
            let text = String::from_utf8(output.stdout).unwrap();
            results.push(
                text.split_whitespace()
                    .map(|n| n.parse().unwrap())
                    .collect::<Vec<f64>>(),
            );
        }
    }
    for (variant, results) in VARIANTS.iter().zip(&results) {
        let median = |at: usize| {
            let mut column: Vec<_> = results.iter().map(|row| row[at]).collect();
            column.sort_by(f64::total_cmp);
            column[column.len() / 2]
        };
        println!(
            "{:20} {:>7} {:>12.1} {:>14.1} {:>12.1}",
            variant.name,
            variant.threads,
            median(0),
            median(1),
            median(2)
        );
    }
}

fn child(name: &str, threads: usize, records: u64, directory: &str) {
    let path = Path::new(directory).join("log");
    let sink = if name.starts_with("append") {
        Sink::Append
    } else {
        Sink::Mapped
    };
    logdef::options().sink(sink).open(&path).unwrap();
    if name.starts_with("mapped-ready") {
        // All pages before the clock starts.
        logdef::reserve(records * threads as u64 * 128 + (32 << 20)).unwrap();
    }
    if name == "off" {
        logdef::set_level(logdef::Level::WARN);
    }
    let (string, braces) = (name.ends_with("string"), name.contains("braces"));
    let barrier = std::sync::Barrier::new(threads);
    let cpu_before = cpu();
    let means: Vec<f64> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads)
            .map(|_| {
                scope.spawn(|| {
                    barrier.wait();
                    let start = Instant::now();
                    match (string, braces) {
                        (false, false) => numbers(records),
                        (true, false) => strings(records),
                        (false, true) => numbers_by_braces(records),
                        (true, true) => strings_by_braces(records),
                    }
                    start.elapsed().as_nanos() as f64 / records as f64
                })
            })
            .collect();
        workers
            .into_iter()
            .map(|worker| worker.join().unwrap())
            .collect()
    });
    let all = records as f64 * threads as f64;
    let cpu = (cpu() - cpu_before) / all;
    let bytes: u64 = std::fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap().path().symlink_metadata().unwrap().len())
        .sum();
    let mean = means.iter().sum::<f64>() / threads as f64;
    println!("{mean} {cpu} {}", bytes as f64 / all);
}

#[inline(never)]
fn numbers(records: u64) {
    for n in 0..records {
        let n = std::hint::black_box(n as i32);
        logdef!(
            Info,
            "Logging int: %d, int: %d, double: %f",
            n,
            n / 2,
            n as f64 * 0.5
        );
    }
}

#[inline(never)]
fn strings(records: u64) {
    for n in 0..records {
        let n = std::hint::black_box(n as i32);
        logdef!(
            Info,
            "Logging int: %d, int: %d, string: %s",
            n,
            n / 2,
            "a string of 24 character"
        );
    }
}

#[inline(never)]
fn numbers_by_braces(records: u64) {
    for n in 0..records {
        let n = std::hint::black_box(n as i32);
        let half = n / 2;
        logdef!(
            Info,
            "Logging int: {n}, int: {half}, double: {}",
            n as f64 * 0.5
        );
    }
}

#[inline(never)]
fn strings_by_braces(records: u64) {
    for n in 0..records {
        let n = std::hint::black_box(n as i32);
        let (half, text) = (n / 2, "a string of 24 character");
        logdef!(Info, "Logging int: {n}, int: {half}, string: {text}");
    }
}

/// CPU nanoseconds of this process, user and system.
fn cpu() -> f64 {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: `time` is valid for writes.
    unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &mut time) };
    time.tv_sec as f64 * 1e9 + time.tv_nsec as f64
}
