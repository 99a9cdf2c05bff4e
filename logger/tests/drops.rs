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
    let options = || logdef::options().sink(sink);
    common::in_child(|| {
        options().open(path).unwrap();
        log(10);
        fill();
        log(CALLS);
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
        options().open(path).unwrap();
        log(10);
        fill();
        log(CALLS);
        let dropped = logdef::state().dropped;
        let _ = logdef::sync();
        assert_eq!(read(path).0, dropped, "after a sync");
        log(100);
        assert_eq!(logdef::state().dropped, dropped + 100);
        logdef::close();
        assert_eq!(read(path).0, dropped + 100, "after it was closed");
    });
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
        let mut noted = 0;
        common::records(&std::fs::read(path).unwrap(), |record| {
            if let Record::Note(note) = record {
                noted = noted.max(note.dropped.unwrap_or(0));
            }
        });
        assert_eq!(noted, state.dropped, "{sink:?}");
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
    let mut noted = 0;
    common::records(&std::fs::read(path).unwrap(), |record| {
        if let Record::Note(note) = record {
            noted = noted.max(note.dropped.unwrap_or(0));
        }
    });
    assert_eq!(noted, 100);
    std::fs::remove_file(path).unwrap();
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
        let mut noted = 0;
        common::records(&std::fs::read(&path).unwrap(), |record| {
            if let Record::Note(note) = record {
                noted = noted.max(note.dropped.unwrap_or(0));
            }
        });
        assert_eq!(noted, 100, "{sink:?}");
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
}
