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
fn check(path: &Path, fill: impl Fn(), empty: impl Fn(), errno: i32) {
    const CALLS: u32 = 20_000;
    let options = || logdef::options().sink(Sink::Mapped);
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

#[test]
fn a_log_without_room_says_how_many_calls_were_dropped() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("log");
    let limit_files = || {
        common::limit_files(128 << 10);
    };
    // The limit goes with the child.
    check(&path, limit_files, || (), libc::EFBIG);
    let Some(small) = tmpfs::mount(directory.path(), 2) else {
        return;
    };
    let path = small.join("log");
    let fill = || drop(tmpfs::fill(&small));
    let empty = || std::fs::remove_file(small.join("filler")).unwrap();
    check(&path, fill, empty, libc::ENOSPC);
}
