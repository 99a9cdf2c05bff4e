//! Threads that log after the last of their destructors has run, as a handler of a
//! profiling signal may: their memory is used again though they cannot leave it.

use logdef::{Sink, logdef};
use std::sync::atomic::{AtomicU32, Ordering};

mod common;

const THREADS: u64 = 2_000;

static KEY: AtomicU32 = AtomicU32::new(0);

/// Comes in each of the four rounds in which the C library calls destructors, after
/// that of the logger, whose key is the older one.
extern "C" fn ends(round: *mut libc::c_void) {
    let round = round.addr();
    if round == 4 {
        logdef!(Warn, "%u", 0);
    } else {
        set(round + 1);
    }
}

fn set(round: usize) {
    let value = std::ptr::without_provenance(round);
    // SAFETY: the key was created; its values are numbers.
    unsafe { libc::pthread_setspecific(KEY.load(Ordering::Relaxed), value) };
}

/// Bytes of addresses that the process has.
fn addresses() -> u64 {
    // Not by `statm`, where an emulator's own memory counts too.
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    let sizes = maps.lines().map(|line| {
        let (range, _) = line.split_once(' ').unwrap();
        let (start, end) = range.split_once('-').unwrap();
        let [start, end] = [start, end].map(|text| u64::from_str_radix(text, 16).unwrap());
        end - start
    });
    sizes.sum()
}

fn run(number: u64) {
    let thread = std::thread::spawn(move || {
        logdef!(Info, "%llu", number);
        set(1);
    });
    thread.join().unwrap();
}

#[test]
fn memory_of_threads_that_logged_at_their_very_end_is_used_again() {
    let directory = tempfile::tempdir().unwrap();
    let options = logdef::options().sink(Sink::Mapped);
    options.open(directory.path().join("log")).unwrap();
    let mut key = 0;
    // SAFETY: `key` is a place for one; the destructor is never unloaded.
    assert_eq!(unsafe { libc::pthread_key_create(&mut key, Some(ends)) }, 0);
    KEY.store(key, Ordering::Relaxed);
    (0..100).for_each(run);
    let before = addresses();
    (100..THREADS).for_each(run);
    let grown = addresses().saturating_sub(before);
    assert!(grown < 16 << 20, "{grown} bytes of addresses");
    assert_eq!(logdef::state().dropped, 0);
    let bytes = std::fs::read(directory.path().join("log")).unwrap();
    let (mut seen, mut late) = (std::collections::BTreeSet::new(), 0);
    common::data(&bytes, |data| {
        let number = data.args.unwrap().iter().next().unwrap();
        match data.level {
            Some(logdef::Level::WARN) => late += 1,
            _ => {
                seen.insert(number.as_uint().unwrap());
            }
        }
    });
    assert_eq!((seen.len() as u64, late), (THREADS, THREADS));
}
