//! The slowest calls: `cargo bench -p logdef --bench stall [-- DIRECTORY [CALLS]]`, best at
//! real-time priority (`chrt -f 10 taskset -c 1`).
//!
//! Each call of one thread is timed, and percentiles are printed, timing included (some
//! 30 ns). The variants: one growing file, the same while `dd` writes to the same file
//! system, rotated, and a log that cannot grow since the disk is full; the first three with a
//! helper thread too, which has to find another CPU than the calls, and the first two also with
//! room that was reserved before the first call for what the helper makes ready. The first
//! variant makes no call, but waits as long as one takes, and so shows what the machine takes
//! from a thread.
//! Each is a process of its own, since a process has one log. The last column is the CPU time
//! of the whole process for a record.

use logdef::{Sink, logdef};
use std::path::Path;
use std::process::{Child, Command, Stdio};

const VARIANTS: [&str; 10] = [
    "no call",
    "plain",
    "helper",
    "beside dd",
    "helper beside dd",
    "helper reserved",
    "helper reserved beside dd",
    "rotated",
    "helper rotated",
    "full",
];

/// What a call takes, timing included.
const NO_CALL_NS: u64 = 100;
/// The helper's four chunks of 4 MiB, and the first ones of the thread on both sides of them.
const RESERVED: u64 = 24 << 20;

fn main() {
    let args: Vec<String> = std::env::args().collect();
    if let Some(at) = args.iter().position(|arg| arg == "--child") {
        return child(&args[at + 1], args[at + 2].parse().unwrap(), &args[at + 3]);
    }
    let mut plain = args.iter().skip(1).filter(|arg| !arg.starts_with("--"));
    let parent = plain
        .next()
        .map_or(std::env::temp_dir(), |directory| directory.into());
    let calls = plain.next().map_or("10000000", |calls| calls);
    println!(
        "{:26} {:>8} {:>8} {:>8} {:>10} {:>10} {:>10} {:>9}",
        "ns a call", "p50", "p99", "p99.9", "p99.99", "p99.999", "max", "CPU"
    );
    for variant in VARIANTS {
        let directory = tempfile::tempdir_in(&parent).unwrap();
        let mut beside = variant.ends_with("dd").then(|| dd(directory.path()));
        let output = Command::new(&args[0])
            .args(["--child", variant, calls])
            .arg(directory.path())
            .stderr(Stdio::inherit())
            .output()
            .unwrap();
        if let Some(dd) = &mut beside {
            let _ = dd.kill();
            let _ = dd.wait();
        }
        assert!(output.status.success(), "{variant}");
        print!("{variant:26} {}", String::from_utf8_lossy(&output.stdout));
    }
}

/// Writes to the same file system, at no real-time priority.
fn dd(directory: &Path) -> Child {
    let script = "while dd if=/dev/zero of=\"$1\" bs=1M count=500; do :; done";
    Command::new("chrt")
        .args(["-o", "0", "sh", "-c", script, "sh"])
        .arg(directory.join("filler"))
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

fn child(variant: &str, calls: usize, directory: &str) {
    let path = Path::new(directory).join("log");
    let mut options = logdef::options().sink(Sink::Mapped);
    if variant.starts_with("helper") {
        options = options.helper();
    }
    if variant.ends_with("rotated") {
        options = options.rotate(64 << 20).keep(4);
    }
    options.open(&path).unwrap();
    if variant.contains("reserved") {
        logdef::reserve(RESERVED).unwrap();
    }
    logdef!(Info, "Logging int: %d, int: %d, double: %f", 0, 0, 0.0);
    let filler = Path::new(directory).join("filler");
    if variant == "full" && !fill(&filler) {
        return println!("skipped: a disk of more than a gigabyte; give a smaller one");
    }
    let is_logging = variant != "no call";
    let mut times = vec![0u32; calls];
    let before = now(libc::CLOCK_PROCESS_CPUTIME_ID);
    for (n, took) in times.iter_mut().enumerate() {
        let n = n as i32;
        let begun = now(libc::CLOCK_MONOTONIC);
        if is_logging {
            logdef!(
                Info,
                "Logging int: %d, int: %d, double: %f",
                n,
                n / 2,
                n as f64 * 0.5
            );
        } else {
            while now(libc::CLOCK_MONOTONIC) - begun < NO_CALL_NS {}
        }
        *took = (now(libc::CLOCK_MONOTONIC) - begun) as u32;
    }
    let cpu = (now(libc::CLOCK_PROCESS_CPUTIME_ID) - before) as f64 / calls as f64;
    times.sort_unstable();
    let at = |part: f64| times[((calls - 1) as f64 * part) as usize];
    println!(
        "{:>8} {:>8} {:>8} {:>10} {:>10} {:>10} {:>9.1}",
        at(0.5),
        at(0.99),
        at(0.999),
        at(0.9999),
        at(0.99999),
        at(1.0),
        cpu
    );
}

/// Fills a small disk. `false` if it is not small.
fn fill(filler: &Path) -> bool {
    let mut file = std::fs::File::create(filler).unwrap();
    let piece = vec![1; 1 << 20];
    for _ in 0..1024 {
        if std::io::Write::write_all(&mut file, &piece).is_err() {
            return true;
        }
    }
    drop(file);
    std::fs::remove_file(filler).unwrap();
    false
}

/// Nanoseconds of a clock.
fn now(clock: libc::clockid_t) -> u64 {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: `time` is valid for writes.
    unsafe { libc::clock_gettime(clock, &mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}
