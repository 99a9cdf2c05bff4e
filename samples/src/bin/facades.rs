//! Logs by `log` and `tracing` as fast as it can until it is killed.
//!
//! ```text
//! facades LOG COUNTS THREADS [plain|fork|confined]
//! ```
//!
//! COUNTS is a file of one 64-bit number for each thread: how many of its rounds have returned. A
//! round is an event of `tracing` in a span of its own and a record of `log`. All is done by a
//! forked child, or by a process that has given up its rights, its directory and its descriptors,
//! if that is asked for.

use logdef::Sink;
use std::fs::OpenOptions;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use tracing_subscriber::prelude::*;

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [log, counts, threads, how] = &args[..] else {
        panic!("usage: facades LOG COUNTS THREADS plain|fork|confined");
    };
    let threads: u32 = threads.parse().expect("a number of threads");
    let counts = OpenOptions::new().read(true).write(true).open(counts);
    let map = memmap2::MmapRaw::map_raw(&counts.expect("the counts")).expect("a map");
    assert!(map.len() >= threads as usize * 8);
    // SAFETY: maps are aligned to pages, and this one holds a word for each thread. It lives as
    // long as the scope below, the file is made for this run, and never truncated.
    let returned =
        unsafe { std::slice::from_raw_parts(map.as_ptr().cast::<AtomicU64>(), threads as usize) };
    let options = logdef::options().sink(Sink::Mapped);
    options.open(log).expect("a log");
    logdef_log::init().expect("no logger before");
    let layers = tracing_subscriber::registry().with(logdef_tracing::layer());
    tracing::subscriber::set_global_default(layers).expect("no subscriber before");
    match &how[..] {
        "fork" => {
            log::info!("parent");
            // SAFETY: this process has one thread.
            let child = unsafe { libc::fork() };
            assert!(child >= 0, "no child");
            if child > 0 {
                // SAFETY: waits for the child; the kill is for the group.
                unsafe { libc::waitpid(child, std::ptr::null_mut(), 0) };
                return;
            }
        }
        "confined" => confine(),
        _ => {}
    }
    thread::scope(|scope| {
        for (thread, returned) in (0..threads).zip(returned) {
            scope.spawn(move || log_calls(thread, returned));
        }
    });
}

/// Gives up what a program that drops its privileges does, as far as it has it.
fn confine() {
    logdef::reserve(64 << 20).expect("room");
    let nobody = 65534;
    // SAFETY: these take no pointers but to a literal, and descriptors from 3 on are the log's.
    unsafe {
        libc::chroot(c"/proc/self/fdinfo".as_ptr());
        libc::setgid(nobody);
        libc::setuid(nobody);
    }
}

fn log_calls(thread: u32, returned: &AtomicU64) {
    for round in 0..u64::MAX {
        let span = tracing::info_span!("round", thread, round);
        span.in_scope(|| tracing::info!(target: "story", thread, round, "event {}", round * 3));
        drop(span);
        log::info!(target: "tale", round, half = round as f64 / 2.0; "record of thread {thread}");
        returned.store(round + 1, Ordering::Release);
    }
}
