//! The process that logs: one peer, one kind of run.

use crate::histogram::Histogram;
use crate::peers::{self, Calls};
use std::sync::Barrier;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Kinds of runs.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Mode {
    /// Two integers and a double, as fast as it goes.
    Doubles,
    /// Two integers and a string, as fast as it goes.
    Strings,
    /// As `Doubles`, each call timed on its own.
    Latency,
    /// Twenty calls, then a sleep of 100 µs, and so on.
    Paced,
    /// Until killed; which calls have returned stands in a shared page.
    Kill,
}

impl Mode {
    const ALL: [Mode; 5] = [
        Mode::Doubles,
        Mode::Strings,
        Mode::Latency,
        Mode::Paced,
        Mode::Kill,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Mode::Doubles => "doubles",
            Mode::Strings => "strings",
            Mode::Latency => "latency",
            Mode::Paced => "paced",
            Mode::Kill => "kill",
        }
    }
}

/// Each thread's records are numbered from this times its index.
pub const NUMBERS: u64 = 200_000_000;
/// The file in which a run of [`Mode::Kill`] says what has returned.
pub const RETURNED: &str = "returned";

const BURST: u64 = 20;
const PAUSE: Duration = Duration::from_micros(100);

pub fn main(args: &[String]) {
    let [peer, mode, threads, records, directory] = args else {
        panic!("five arguments")
    };
    let mode = Mode::ALL.into_iter().find(|m| m.name() == mode).unwrap();
    let (threads, records) = (threads.parse().unwrap(), records.parse().unwrap());
    let calls = peers::load(peer);
    (calls.open)(directory.as_ref());
    if mode == Mode::Kill {
        return until_killed(&calls, threads, directory.as_ref());
    }
    // The first call of each kind is not what is measured.
    (calls.doubles)(0, 1);
    let barrier = Barrier::new(threads);
    let before = cpu(libc::CLOCK_PROCESS_CPUTIME_ID);
    let runs: Vec<Run> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads as u64)
            .map(|thread| {
                let (calls, barrier) = (&calls, &barrier);
                scope.spawn(move || {
                    barrier.wait();
                    work(calls, mode, thread * NUMBERS, records)
                })
            })
            .collect();
        workers.into_iter().map(|w| w.join().unwrap()).collect()
    });
    (calls.flush)();
    let pauses: f64 = runs.iter().map(|run| run.pauses).sum();
    let cpu = cpu(libc::CLOCK_PROCESS_CPUTIME_ID) - before - pauses;
    let mut all = Histogram::new();
    runs.iter().for_each(|run| all.merge(&run.calls));
    let mean = runs.iter().map(|run| run.mean).sum::<f64>() / threads as f64;
    println!("{mean} {}", cpu / (records as f64 * threads as f64));
    let tick = tick();
    for part in [0.5, 0.99, 0.999, 0.9999] {
        println!("{}", all.percentile(part) as f64 * tick);
    }
    println!("{}", all.longest() as f64 * tick);
}

/// What a thread's calls took.
struct Run {
    /// Nanoseconds of wall time for each.
    mean: f64,
    /// Ticks of single ones.
    calls: Histogram,
    /// CPU nanoseconds of the pauses between them, and of telling them apart.
    pauses: f64,
}

fn work(calls: &Calls, mode: Mode, first: u64, records: u64) -> Run {
    let mut run = Run {
        mean: 0.0,
        calls: Histogram::new(),
        pauses: 0.0,
    };
    let start = Instant::now();
    match mode {
        Mode::Doubles => (calls.doubles)(first, records),
        Mode::Strings => (calls.strings)(first, records),
        Mode::Latency => {
            let empty = (0..1000).map(|_| timed(|| ())).min().unwrap();
            for n in first..first + records {
                let ticks = timed(|| (calls.doubles)(n, 1));
                run.calls.add(ticks.saturating_sub(empty));
            }
        }
        Mode::Paced => {
            let clock = || cpu(libc::CLOCK_THREAD_CPUTIME_ID);
            let reading = (0..1000).map(|_| -(clock() - clock())).sum::<f64>() / 1000.0;
            let (mut bursts, before) = (0.0, clock());
            for n in (first..first + records).step_by(BURST as usize) {
                let start = clock();
                (calls.doubles)(n, BURST);
                bursts += clock() - start - reading;
                std::thread::sleep(PAUSE);
            }
            run.pauses = clock() - before - bursts;
        }
        Mode::Kill => unreachable!("has a loop of its own"),
    }
    run.mean = start.elapsed().as_nanos() as f64 / records as f64;
    run
}

fn until_killed(calls: &Calls, threads: usize, directory: &std::path::Path) {
    let returned = shared(directory, threads);
    std::thread::scope(|scope| {
        for (thread, returned) in returned.iter().enumerate() {
            scope.spawn(move || {
                for n in 0.. {
                    (calls.doubles)(thread as u64 * NUMBERS + n, 1);
                    returned.store(n + 1, Ordering::Release);
                }
            });
        }
    });
}

/// How many calls of each thread have returned, in a file that outlives the
/// process.
pub fn shared(directory: &std::path::Path, threads: usize) -> &'static [AtomicU64] {
    use std::os::fd::AsRawFd;
    let file = std::fs::OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .open(directory.join(RETURNED))
        .unwrap();
    file.set_len(4096).unwrap();
    // SAFETY: a new mapping of a file of that length, never unmapped; zeros are
    // atomics, and there are 4096 bytes of them.
    unsafe {
        let at = libc::mmap(
            std::ptr::null_mut(),
            4096,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_SHARED,
            file.as_raw_fd(),
            0,
        );
        assert_ne!(at, libc::MAP_FAILED);
        std::slice::from_raw_parts(at.cast(), threads)
    }
}

/// Ticks of the counter that some work took, and the taking of the time.
#[inline(always)]
fn timed(work: impl FnOnce()) -> u64 {
    let before = counter();
    work();
    counter() - before
}

#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn counter() -> u64 {
    // SAFETY: every x86_64 CPU has both.
    unsafe {
        core::arch::x86_64::_mm_lfence();
        let counter = core::arch::x86_64::_rdtsc();
        core::arch::x86_64::_mm_lfence();
        counter
    }
}

/// Nanoseconds of a tick of [`counter`].
#[cfg(target_arch = "x86_64")]
fn tick() -> f64 {
    let (start, ticks) = (Instant::now(), counter());
    std::thread::sleep(Duration::from_millis(20));
    let elapsed = start.elapsed().as_nanos() as f64;
    elapsed / (counter() - ticks) as f64
}

#[cfg(not(target_arch = "x86_64"))]
fn counter() -> u64 {
    use std::sync::OnceLock;
    static START: OnceLock<Instant> = OnceLock::new();
    START.get_or_init(Instant::now).elapsed().as_nanos() as u64
}

#[cfg(not(target_arch = "x86_64"))]
fn tick() -> f64 {
    1.0
}

/// CPU nanoseconds of this process, all threads, or of this thread, user and
/// system.
fn cpu(clock: libc::clockid_t) -> f64 {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: `time` is valid for writes.
    unsafe { libc::clock_gettime(clock, &mut time) };
    time.tv_sec as f64 * 1e9 + time.tv_nsec as f64
}
