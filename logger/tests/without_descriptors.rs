//! A program that gives up its descriptors and its folder logs on as far as room was
//! reserved, with new threads and children; what comes then is counted, and the log says so.

mod common;

use common::skip;
use logdef::{Sink, logdef};
use logdef_wire::Record;
use logdef_wire::record::NoteKind;
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

fn log(numbers: std::ops::Range<u64>) {
    let text = "x".repeat(1000);
    for number in numbers {
        logdef!(Info, "%llu %s", number, text);
    }
}

/// Whether memory that is mapped can be mapped once more without its file, as the logger does
/// where it has none: not by an emulator.
fn is_mapped_twice() -> bool {
    let (none, len) = (std::ptr::null_mut(), 64 << 10);
    let flags = libc::MAP_SHARED | libc::MAP_ANONYMOUS;
    // SAFETY: memory of its own, that nothing uses.
    let twice = unsafe {
        let once = libc::mmap(none, len, libc::PROT_READ, flags, -1, 0);
        assert_ne!(once, libc::MAP_FAILED);
        libc::mremap(once, 0, len, libc::MREMAP_MAYMOVE) != libc::MAP_FAILED
    };
    if !twice {
        skip::skip("memory cannot be mapped a second time");
    }
    twice
}

fn a_log_continues_without_descriptors_as_far_as_room_was_reserved() {
    if !is_mapped_twice() {
        return;
    }
    let all = tempfile::tempdir().unwrap();
    let (before, after) = (all.path().join("before"), all.path().join("after"));
    std::fs::create_dir(&before).unwrap();
    common::in_child(|| {
        let path = before.join("log");
        logdef::options().sink(Sink::Mapped).open(&path).unwrap();
        log(0..10);
        logdef::reserve(64 << 20).unwrap();
        std::fs::rename(&before, &after).unwrap();
        // SAFETY: none of them is used any more.
        unsafe { libc::syscall(libc::SYS_close_range, 3, u32::MAX, 0) };
        log(10..8_000);
        common::in_child(|| {
            log(8_000..10_000);
            assert_eq!(logdef::state().dropped, 0, "the child");
        });
        std::thread::scope(|scope| {
            scope.spawn(|| log(10_000..12_000));
        });
        assert_eq!(logdef::state().dropped, 0);
        log(12_000..100_000);
        assert!(logdef::state().dropped > 0);
        logdef::close();
    });
    let (mut numbers, mut noted) = (BTreeSet::new(), 0);
    common::records(
        &std::fs::read(after.join("log")).unwrap(),
        |record| match record {
            Record::Data(data) => {
                let number = data.args.unwrap().iter().next().unwrap();
                numbers.insert(number.as_uint().unwrap());
            }
            Record::Note(note) if note.kind == Some(NoteKind::DROPS) => {
                noted = note.dropped.unwrap().max(noted);
            }
            _ => {}
        },
    );
    let found = numbers.len() as u64;
    assert!((0..12_000).all(|number| numbers.contains(&number)));
    assert!(found > 30_000, "{found} of 64 MB");
    assert_eq!(found + noted, 100_000);
}

/// A daemon whose log another program renames, or removes, when it has closed the descriptors: all of its
/// calls were dropped, for good.
fn an_appended_log_that_was_renamed_without_descriptors_is_continued() {
    type Move = fn(&Path);
    let moves: [(&str, Move); 3] = [
        ("renamed", |path| {
            std::fs::rename(path, path.with_extension("1")).unwrap()
        }),
        ("replaced", |path| {
            std::fs::rename(path, path.with_extension("1")).unwrap();
            std::fs::write(path, "").unwrap();
        }),
        ("removed", |path| std::fs::remove_file(path).unwrap()),
    ];
    for (what, then) in moves {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("log");
        common::in_child(|| {
            logdef::options().sink(Sink::Append).open(&path).unwrap();
            log(0..10);
            // SAFETY: none of them is used any more.
            unsafe { libc::syscall(libc::SYS_close_range, 3, u32::MAX, 0) };
            then(&path);
            log(10..300);
            assert_eq!(logdef::state().dropped, 0, "{what}");
        });
        let mut numbers = BTreeSet::new();
        common::data(&std::fs::read(&path).unwrap(), |data| {
            let number = data.args.unwrap().iter().next().unwrap();
            numbers.insert(number.as_uint().unwrap());
        });
        assert!(
            numbers.iter().copied().eq(10..300),
            "{what}: {} found",
            numbers.len()
        );
    }
}

/// Closes the log's descriptors now and then, for as long as others log.
fn close_them_until(is_over: &AtomicBool) {
    while !is_over.load(Ordering::Relaxed) {
        for fd in 64..160 {
            // SAFETY: touches no memory; the numbers are the log's, in a child that opens no other files.
            unsafe { libc::syscall(libc::SYS_close, fd) };
        }
        std::thread::sleep(Duration::from_micros(50));
    }
}

/// A claim that found its descriptor closed between two system calls was refused, and with it all calls
/// of the next second.
fn descriptors_that_vanish_in_the_middle_of_a_claim_are_had_again() {
    let rotated = || logdef::options().rotate(256 << 10);
    vanish(rotated().sink(Sink::Mapped));
    vanish(rotated().sink(Sink::Mapped).helper());
    vanish(rotated().sink(Sink::Append));
}

fn vanish(options: logdef::Options) {
    const THREADS: u64 = 3;
    const EACH: u64 = 10_000;
    let directory = tempfile::tempdir().unwrap();
    let what = format!("{options:?}");
    let what = &what[..what.find(", clock").unwrap()];
    common::in_child(|| {
        options.open(directory.path().join("log")).unwrap();
        let is_over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| close_them_until(&is_over));
            let log_some = |thread| log(thread * EACH..(thread + 1) * EACH);
            let writers: Vec<_> = (0..THREADS)
                .map(|thread| scope.spawn(move || log_some(thread)))
                .collect();
            writers
                .into_iter()
                .for_each(|thread| thread.join().unwrap());
            is_over.store(true, Ordering::Relaxed);
        });
        let state = logdef::state();
        // One that is closed at each of many attempts of a call that appends costs the call.
        let most = if state.is_mapped { 0 } else { 30 };
        assert!(state.dropped <= most, "{what}: {state:?}");
        std::fs::write(directory.path().join("dropped"), state.dropped.to_string()).unwrap();
    });
    let dropped = directory.path().join("dropped");
    let counted: u64 = std::fs::read_to_string(&dropped).unwrap().parse().unwrap();
    std::fs::remove_file(dropped).unwrap();
    let (numbers, _) = common::numbers(directory.path());
    assert_eq!(numbers.len() as u64 + counted, THREADS * EACH, "{what}");
}

/// One test: a forked child that makes threads may wait for ever for a lock of the standard library which a thread of
/// another test has.
#[test]
fn descriptors_come_and_go() {
    a_log_continues_without_descriptors_as_far_as_room_was_reserved();
    an_appended_log_that_was_renamed_without_descriptors_is_continued();
    descriptors_that_vanish_in_the_middle_of_a_claim_are_had_again();
}
