//! A full disk, and a file that reached the size that files may have: no signal, no
//! waiting, the records that were dropped are counted, and when there is space again
//! the log says so. In the mapped and in the appended log.

use logdef::{Sink, logdef};
use logdef_wire::Record;
use logdef_wire::record::NoteKind;
use std::path::Path;
use std::time::{Duration, Instant};

mod common;
#[path = "common/seccomp.rs"]
mod seccomp;
#[path = "common/tmpfs.rs"]
mod tmpfs;

const CALLS: u64 = 40_000;

fn log_many() {
    let begun = Instant::now();
    for call in 0..CALLS {
        logdef!(Info, "%u: %s", call, "and some text");
    }
    // Far more than it takes, far less than one wait a call would.
    assert!(begun.elapsed() < Duration::from_secs(20));
}

/// Logs before, while and after `take` took the space that `give` gives back.
fn check<T>(sink: Sink, path: &Path, why: &str, take: impl FnOnce() -> T, give: impl FnOnce(T)) {
    logdef::options().sink(sink).open(path).unwrap();
    logdef!(Info, "before %u", 0);
    let taken = take();
    log_many();
    give(taken);
    let lost = common::until_written(|| logdef!(Info, "after %u", 1));
    logdef!(Info, "later %u", 2);
    logdef::close();
    let (mut found, mut dropped, mut noted, mut notes) = (0, 0, 0, Vec::new());
    let mut bytes = std::fs::read(path).unwrap();
    if sink == Sink::Append {
        remove_torn(&mut bytes);
    }
    common::records(&bytes, |record| match record {
        Record::Data(data) => {
            found += 1;
            dropped += data.dropped.unwrap_or(0);
        }
        Record::Note(note) if note.kind == Some(NoteKind::DROPS) => {
            noted = note.dropped.unwrap().max(noted);
        }
        Record::Note(note) => notes.push((
            note.kind.unwrap(),
            String::from_utf8(note.text.unwrap().to_vec()).unwrap(),
        )),
        _ => {}
    });
    assert!(
        dropped > CALLS / 4,
        "{sink:?} {dropped} dropped, {found} found, {notes:?}"
    );
    assert_eq!(found + dropped, CALLS + 3 + lost);
    // Notes report them too, at the latest when the log is closed.
    assert_eq!(noted, dropped, "{sink:?}");
    assert_eq!(notes.len(), 1, "{notes:?}");
    assert_eq!(notes[0].0, NoteKind::SPACE_RETURNED);
    assert!(notes[0].1.starts_with(why), "{notes:?}");
    std::fs::remove_file(path).unwrap();
}

/// Takes out the frame that the full disk cut.
fn remove_torn(bytes: &mut Vec<u8>) {
    use logdef_wire::frame;
    let mut at = 0;
    while let Ok(found) = frame::decode(&bytes[at..]) {
        at += found.len;
    }
    if at < bytes.len() {
        let next = (at + 1..bytes.len()).find(|next| frame::decode(&bytes[*next..]).is_ok());
        bytes.drain(at..next.unwrap());
    }
}

#[test]
fn dropped_records_are_counted_and_space_that_returns_is_noted() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("log");
    for sink in [Sink::Mapped, Sink::Append] {
        check(
            sink,
            &path,
            "file size limit reached (errno 27) for ",
            || common::limit_files(1 << 20),
            |before| assert_eq!(common::limit_files(before), 1 << 20),
        );
    }
    if seccomp::is_here() {
        one_thread_gets_no_blocks(&path);
    }
    // Room for a chunk, and for less than another.
    let Some(small) = tmpfs::mount(directory.path(), 3) else {
        return;
    };
    let path = small.join("log");
    for sink in [Sink::Mapped, Sink::Append] {
        check(
            sink,
            &path,
            "no space left on device (errno 28) for ",
            || tmpfs::fill(&small),
            |filler| std::fs::remove_file(filler).unwrap(),
        );
    }
}

/// Files get no more blocks from one thread, and then some from another.
fn one_thread_gets_no_blocks(path: &Path) {
    let (give, wanted) = std::sync::mpsc::channel();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            check(
                Sink::Mapped,
                path,
                "disk quota exceeded (errno 122) for ",
                || seccomp::fail(&[libc::SYS_fallocate], libc::EDQUOT),
                |()| give.send(()).unwrap(),
            )
        });
        wanted.recv().unwrap();
        logdef::reserve(1 << 20).unwrap();
    });
}
