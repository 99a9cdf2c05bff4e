//! Logs as fast as it can until it is killed, or dies of its own hand. What it logs is
//! defined by [`logdef_samples::story`], so that a reader of the log can check every byte.
//!
//! ```text
//! victim LOG COUNTS THREADS SEED [rotate=BYTES] [append=1] [END=COUNT]
//! ```
//!
//! COUNTS is a file of one 64-bit number per thread. Each thread stores there
//! how many of its calls have returned. The log is mapped, or appended to. END
//! is what a thread does after its last call: `abort`, `segv`, `exit`, `exec` or
//! `eat` all memory.

use logdef::{Sink, logdef};
use logdef_samples::story;
use std::fs::OpenOptions;
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode};
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

/// What a thread does after a number of calls.
#[derive(Clone, Copy)]
struct End<'a>(&'a str, u64);

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [log, counts, threads, seed, more @ ..] = &args[..] else {
        eprintln!("usage: victim LOG COUNTS THREADS SEED [WORD=NUMBER ...]");
        return ExitCode::from(2);
    };
    let threads: u32 = threads.parse().expect("a number of threads");
    let seed: u64 = seed.parse().expect("a seed");
    let counts = OpenOptions::new().read(true).write(true).open(counts);
    let map = memmap2::MmapRaw::map_raw(&counts.expect("the counts")).expect("a map");
    assert!(map.len() >= threads as usize * 8);
    // SAFETY: maps are aligned to pages, and this one holds a word for each thread. It
    // lives as long as the scope below, the file is made for this run, and never truncated.
    let returned =
        unsafe { std::slice::from_raw_parts(map.as_ptr().cast::<AtomicU64>(), threads as usize) };

    let mut options = logdef::options().sink(Sink::Mapped);
    let mut end = End("", u64::MAX);
    for word in more {
        let (word, number) = word.split_once('=').expect("a word and a number");
        let number = number.parse().expect("a number");
        match word {
            "rotate" => options = options.rotate(number),
            "append" => options = options.sink(Sink::Append),
            _ => end = End(word, number),
        }
    }
    if let Err(error) = options.open(log) {
        eprintln!("{log}: {error}");
        return ExitCode::FAILURE;
    }
    thread::scope(|scope| {
        for (number, returned) in (0..threads).zip(returned) {
            // While another thread is in exec, none can be made.
            let log_calls = move || log_calls(seed, number, returned, end);
            while thread::Builder::new()
                .spawn_scoped(scope, log_calls)
                .is_err()
            {}
        }
    });
    ExitCode::SUCCESS
}

fn log_calls(seed: u64, thread: u32, returned: &AtomicU64, End(end, at): End<'_>) {
    for count in 0..=u32::MAX {
        let long = u64::from(count);
        let text = story::text(seed, thread.into(), long);
        let half = f64::from(count) * 0.5;
        // The formats are `story::FORMATS`; they have to be literals.
        match story::kind(seed, thread.into(), long) {
            _ if story::is_error(long) => logdef!(
                Error,
                "record %u of thread %u: %s %.17g %lld",
                count,
                thread,
                &text,
                half,
                -i64::from(count)
            ),
            0 => logdef!(
                Info,
                "record %u of thread %u: %s %.17g %lld",
                count,
                thread,
                &text,
                half,
                -i64::from(count)
            ),
            1 => logdef!(
                Info,
                "record %u of thread %u: %.*s|%c|%p",
                count,
                thread,
                (count % 64) as i32,
                &text,
                char::from(b'a' + (count % 26) as u8),
                (long << 12) as *const u8
            ),
            _ => logdef!(
                Info,
                "record %u of thread %u: %#llx %5.1f %hhd%%",
                count,
                thread,
                story::dice(seed, thread.into(), long),
                f64::from(count) / -8.0,
                count as i8
            ),
        }
        returned.store(long + 1, Ordering::Release);
        if long + 1 == at {
            die(end);
        }
    }
}

fn die(end: &str) {
    match end {
        "abort" => std::process::abort(),
        // SAFETY: none; this is the crash.
        "segv" => unsafe { std::hint::black_box(64 as *mut u8).write_volatile(1) },
        "exit" => std::process::exit(3),
        "exec" => {
            let _ = Command::new("true").exec();
        }
        "eat" => {
            // Each page is touched, and none given back; but not more than a
            // machine can bear, should nothing hold it back.
            for _ in 0..256 {
                std::mem::forget(std::hint::black_box(vec![1u8; 1 << 20]));
            }
            panic!("there was enough to eat");
        }
        _ => panic!("{end} is no end"),
    }
}
