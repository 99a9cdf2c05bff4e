//! A campaign of damaged logs against the oracle of [`mutant`]. Always the same ones:
//! `LOGDEF_MUTANTS` says how many, and `LOGDEF_MUTANTS=70000..80000` which.

mod mutant;
mod synth;

use mutant::Originals;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use synth::Random;

/// Damaged logs of one set of originals.
const SERIES: u64 = 4096;

#[test]
fn no_accident_costs_more_than_it_touched() {
    let seeds = seeds();
    let next = AtomicU64::new(seeds.start / SERIES);
    let failed = Mutex::new(Vec::new());
    let work = || {
        loop {
            let series = next.fetch_add(1, Ordering::Relaxed);
            if series * SERIES >= seeds.end {
                return;
            }
            let originals = Originals::new(series);
            let first = (series * SERIES).max(seeds.start);
            for seed in first..seeds.end.min((series + 1) * SERIES) {
                let mutant = originals.mutant(&mut Random::new(seed));
                if catch_unwind(AssertUnwindSafe(|| originals.check(mutant))).is_err() {
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
    assert!(failed.is_empty(), "seeds {failed:?}");
}

fn seeds() -> Range<u64> {
    let number = |text: &str| text.parse().expect("a number of damaged logs");
    match std::env::var("LOGDEF_MUTANTS") {
        Ok(seeds) => match seeds.split_once("..") {
            Some((start, end)) => number(start)..number(end),
            None => 0..number(&seeds),
        },
        Err(_) if synth::slow() => 0..72_000,
        Err(_) => 0..500,
    }
}
