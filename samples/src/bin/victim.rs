//! Logs as fast as it can until it is killed. What it logs is told by
//! [`logdef_samples::story`], so that a reader of the log can check every byte.
//!
//! ```text
//! victim LOG COUNTS THREADS SEED
//! ```
//!
//! COUNTS is a file of one 64-bit number per thread. Each thread stores there
//! how many of its calls have returned.

use logdef::logdef;
use logdef_samples::story;
use std::fs::OpenOptions;
use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [log, counts, threads, seed] = &args[..] else {
        eprintln!("usage: victim LOG COUNTS THREADS SEED");
        return ExitCode::from(2);
    };
    let threads: u32 = threads.parse().expect("a number of threads");
    let seed: u64 = seed.parse().expect("a seed");
    let counts = OpenOptions::new().read(true).write(true).open(counts);
    let map = memmap2::MmapRaw::map_raw(&counts.expect("the counts")).expect("a map");
    assert!(map.len() >= threads as usize * 8);
    // SAFETY: maps are aligned to pages, and this one holds so many words. It
    // lives as long as the scope below, the file is made for this run, and
    // nobody cuts it.
    let returned =
        unsafe { std::slice::from_raw_parts(map.as_ptr().cast::<AtomicU64>(), threads as usize) };

    if let Err(error) = logdef::open(log) {
        eprintln!("{log}: {error}");
        return ExitCode::FAILURE;
    }
    thread::scope(|scope| {
        for (number, returned) in (0..threads).zip(returned) {
            scope.spawn(move || tell(seed, number, returned));
        }
    });
    ExitCode::SUCCESS
}

fn tell(seed: u64, thread: u32, returned: &AtomicU64) {
    for count in 0..=u32::MAX {
        let text = story::text(seed, thread.into(), count.into());
        let half = f64::from(count) * 0.5;
        let minus = -i64::from(count);
        // The format is `story::FORMAT`; it has to be a literal.
        if story::is_error(count.into()) {
            logdef!(
                Error,
                "record %u of thread %u: %s %.17g %lld",
                count,
                thread,
                &text,
                half,
                minus
            );
        } else {
            logdef!(
                Info,
                "record %u of thread %u: %s %.17g %lld",
                count,
                thread,
                &text,
                half,
                minus
            );
        }
        returned.store(u64::from(count) + 1, Ordering::Release);
    }
}
