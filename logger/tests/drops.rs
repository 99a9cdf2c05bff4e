//! A log without room says how many calls were dropped, though the disk stays full and the
//! log is never closed: space for that is reserved.

mod common;

use logdef::{Sink, logdef};
use logdef_wire::Record;
use logdef_wire::record::NoteKind;
use std::path::Path;

#[path = "common/tmpfs.rs"]
mod tmpfs;

/// The highest count of drops in a note, its reason, and the number of data records.
fn read(path: &Path) -> (u64, u64, u64) {
    let (mut noted, mut errno, mut found) = (0, 0, 0);
    common::records(&std::fs::read(path).unwrap(), |record| match record {
        Record::Note(note) if note.kind == Some(NoteKind::DROPS) => {
            assert!(note.since.unwrap() <= note.time.unwrap());
            (noted, errno) = (noted, errno).max((note.dropped.unwrap(), note.errno.unwrap()));
        }
        Record::Data(data) => {
            assert_eq!(data.dropped, None, "no record came after a drop");
            found += 1;
        }
        _ => {}
    });
    (noted, errno, found)
}

/// The highest count of drops in a note of any kind, and the number of data records, in frames that stand
/// one behind the other.
fn noted(path: &Path) -> (u64, u64) {
    let (mut noted, mut found) = (0, 0);
    common::records(&std::fs::read(path).unwrap(), |record| match record {
        Record::Note(note) => noted = noted.max(note.dropped.unwrap_or(0)),
        Record::Data(_) => found += 1,
        _ => {}
    });
    (noted, found)
}

const TEXT: [u8; 60] = [b'x'; 60];

fn log(calls: u32) {
    for call in 0..calls {
        logdef!(Info, "%u %s", call, str::from_utf8(&TEXT).unwrap());
    }
}

/// Logs until calls are dropped for a reason, which `fill` makes and `empty` ends, and looks at what the log says of it: when
/// the process was killed, after a `sync`, and when it was closed.
fn check(sink: Sink, path: &Path, fill: impl Fn(), empty: impl Fn(), errno: i32) {
    const CALLS: u32 = 20_000;
    let overfill = || {
        logdef::options().sink(sink).open(path).unwrap();
        log(10);
        fill();
        log(CALLS);
    };
    common::in_child(|| {
        overfill();
        assert!(logdef::unwritten() > 0 && logdef::state().dropped > 0);
    });
    let (noted, why, found) = read(path);
    let dropped = u64::from(CALLS) + 10 - found;
    assert_eq!(why, errno as u64);
    // It is reported at 1, 16, 256 and so on.
    assert!(
        noted <= dropped && noted >= dropped / 16,
        "{noted} of {dropped}"
    );
    empty();
    std::fs::remove_file(path).unwrap();

    common::in_child(|| {
        overfill();
        let dropped = logdef::state().dropped;
        let _ = logdef::sync();
        assert_eq!(read(path).0, dropped, "after a sync");
        log(100);
        assert_eq!(logdef::state().dropped, dropped + 100);
        logdef::close();
        assert_eq!(read(path).0, dropped + 100, "after it was closed");
    });
    empty();
    std::fs::remove_file(path).unwrap();

    common::in_child(|| {
        overfill();
        // SAFETY: ends the process as a program does that closes no log.
        unsafe { libc::exit(0) };
    });
    let (noted, _, found) = read(path);
    assert_eq!(noted, u64::from(CALLS) + 10 - found, "after it ended");
    empty();
    std::fs::remove_file(path).unwrap();
}

/// The threads that met the full disk have ended: those that log when there is space again report what
/// was dropped, though nothing is synced or closed.
fn check_ended_threads(sink: Sink, path: &Path, fill: impl Fn(), empty: impl Fn()) {
    common::in_child(|| {
        logdef::options().sink(sink).open(path).unwrap();
        log(10);
        fill();
        std::thread::scope(|scope| drop(scope.spawn(|| log(20_000))));
        assert!(logdef::state().dropped > 16);
        logdef::sync().unwrap();
        assert_eq!(read(path).0, logdef::state().dropped, "on record");
        empty();
        // The log tries again after a second.
        while logdef::state().errno.is_some() {
            std::thread::sleep(std::time::Duration::from_millis(50));
            log(1);
        }
        log(1);
        let state = logdef::state();
        assert_eq!(state.unreported, 0);
        assert_eq!(noted(path).0, state.dropped, "{sink:?}");
    });
    std::fs::remove_file(path).unwrap();
}

/// A disk that is full from the start has no room for a note: a `sync` fails, and the log that is opened
/// next reports the drops.
fn check_full_from_the_start(path: &Path, fill: impl Fn(), empty: impl Fn()) {
    let open = || logdef::options().sink(Sink::Append).open(path).unwrap();
    common::in_child(|| {
        fill();
        open();
        log(100);
        assert!(logdef::sync().is_err(), "nothing is on record");
        logdef::close();
        assert_eq!(std::fs::read(path).unwrap().len(), 0);
        empty();
        open();
        log(1);
        logdef::close();
    });
    assert_eq!(noted(path), (100, 1));
    std::fs::remove_file(path).unwrap();
}

/// Threads that met the full disk at the same time took together what was kept for notes, and the disk cut
/// their records.
fn check_threads_at_once(path: &Path, fill: impl Fn(), empty: impl Fn()) {
    const THREADS: u64 = 8;
    const EACH: u64 = 300;
    let text = "x".repeat(4_000);
    let log_long = || (0..EACH).for_each(|call| logdef!(Info, "%llu %s", call, text.as_str()));
    common::in_child(|| {
        let options = logdef::options().sink(Sink::Append);
        options.open(path).unwrap();
        log(10);
        std::thread::scope(|scope| {
            for _ in 0..THREADS {
                scope.spawn(log_long);
            }
            fill();
        });
        logdef::close();
        let dropped = logdef::state().dropped;
        let (noted, found) = noted(path);
        assert_eq!((noted, found + dropped), (dropped, 10 + THREADS * EACH));
    });
    empty();
    std::fs::remove_file(path).unwrap();
}

/// The process that met the full disk reports it when its file has been removed, since another of its family
/// went on: the note stood in the file that had no name.
fn check_file_is_gone(path: &Path, fill: impl Fn(), empty: impl Fn()) {
    let options = logdef::options().sink(Sink::Append);
    common::in_child(|| {
        options.rotate(30_000).keep(2).open(path).unwrap();
        log(10);
        fill();
        log(3_000);
        empty();
        common::in_child(|| log(2_000));
        logdef::sync().unwrap();
        let dropped = logdef::state().dropped;
        logdef::close();
        let folder = path.parent().unwrap();
        let files = std::fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().path());
        let logs = files.filter(|file| file.is_file() && !file.is_symlink());
        let most = logs.map(|file| noted(&file).0).max();
        assert!(
            dropped > 0 && most == Some(dropped),
            "{most:?} of {dropped}"
        );
    });
}

/// A child that is forked while the log is closed does not report what its parent dropped.
#[test]
fn drops_before_a_fork_are_the_parent_s() {
    let directory = tempfile::tempdir().unwrap();
    let [of_parent, of_child] = ["parent", "child"].map(|name| directory.path().join(name));
    common::in_child(|| {
        logdef::open(directory.path().join("first")).unwrap();
        log(1);
        logdef::close();
        log(100);
        common::in_child(|| {
            log(7);
            logdef::open(&of_child).unwrap();
            log(2);
        });
        logdef::open(&of_parent).unwrap();
        log(2);
    });
    assert_eq!([noted(&of_parent), noted(&of_child)], [(100, 2), (7, 2)]);
}

/// What was dropped while no log was open stands in no thread's sequence, so that the count of the first
/// record is all there is: a note has it too.
#[test]
fn calls_between_two_logs_are_noted() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("log");
    for sink in [Sink::Mapped, Sink::Append] {
        let open = || logdef::options().sink(sink).open(&path).unwrap();
        common::in_child(|| {
            open();
            log(1);
            logdef::close();
            log(100);
            std::fs::remove_file(&path).unwrap();
            open();
            log(2);
        });
        assert_eq!(noted(&path), (100, 2), "{sink:?}");
        std::fs::remove_file(&path).unwrap();
    }
}

#[test]
fn a_log_without_room_says_how_many_calls_were_dropped() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("log");
    let limit_files = || {
        common::limit_files(128 << 10);
    };
    for sink in [Sink::Mapped, Sink::Append] {
        // The limit goes with the child.
        check(sink, &path, limit_files, || (), libc::EFBIG);
    }
    let Some(small) = tmpfs::mount(directory.path(), 2) else {
        return;
    };
    let path = small.join("log");
    let fill = || drop(tmpfs::fill(&small));
    let empty = || std::fs::remove_file(small.join("filler")).unwrap();
    for sink in [Sink::Mapped, Sink::Append] {
        check(sink, &path, fill, empty, libc::ENOSPC);
        check_ended_threads(sink, &path, fill, empty);
    }
    check_full_from_the_start(&path, fill, empty);
    check_threads_at_once(&path, fill, empty);
    check_file_is_gone(&path, fill, empty);
    for file in std::fs::read_dir(&small).unwrap() {
        std::fs::remove_file(file.unwrap().path()).unwrap();
    }
    // The limit of a file's size holds for what is reserved in memory, too.
    check(Sink::Append, &path, limit_files, || (), libc::EFBIG);
}
