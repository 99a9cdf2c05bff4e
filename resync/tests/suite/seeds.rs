//! Campaigns of damaged logs that are always the same ones: each has a seed, and some in a
//! row share what they were made of. An environment variable says how many, and which.

use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

/// What `variable` says, `70000` or `70000..80000`, or else the first of them.
pub fn wanted(variable: &str, otherwise: u64) -> Range<u64> {
    let number = |text: &str| text.parse().expect("a number of damaged logs");
    match std::env::var(variable) {
        Ok(seeds) => match seeds.split_once("..") {
            Some((start, end)) => number(start)..number(end),
            None => 0..number(&seeds),
        },
        Err(_) => 0..otherwise,
    }
}

/// Tries all seeds, on all cores: makes what each `series` of them shares, and tries each with
/// that. Those that panicked.
pub fn failures<O>(
    seeds: &Range<u64>,
    series: u64,
    make: impl Fn(u64) -> O + Sync,
    attempt: impl Fn(&O, u64) + Sync,
) -> Vec<u64> {
    let next = AtomicU64::new(seeds.start / series);
    let failed = Mutex::new(Vec::new());
    let work = || {
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number * series >= seeds.end {
                return;
            }
            let shared = make(number);
            let first = (number * series).max(seeds.start);
            for seed in first..seeds.end.min((number + 1) * series) {
                if catch_unwind(AssertUnwindSafe(|| attempt(&shared, seed))).is_err() {
                    failed.lock().unwrap().push(seed);
                }
            }
        }
    };
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..cores {
            scope.spawn(work);
        }
    });
    let mut failed = failed.into_inner().unwrap();
    failed.sort_unstable();
    failed
}
