//! A sync that fails: the caller gets the error, the file is given up, and the log
//! continues in another one, which says why.

use logdef::{Options, Sink, logdef};
use logdef_wire::Record;
use logdef_wire::record::NoteKind;

mod common;
#[path = "common/seccomp.rs"]
mod seccomp;

#[test]
fn a_failed_sync_is_reported_and_another_file_begins() {
    if !seccomp::is_here() {
        return;
    }
    for sink in [Sink::Mapped, Sink::Append] {
        for rotation in [None, Some(1 << 20)] {
            let options = logdef::options().sink(sink);
            fails_once(rotation.map_or(options.clone(), |size| options.rotate(size)));
        }
    }
}

/// A log that was appended to remained in its file, and the next sync said that all of it was on stable storage: the
/// kernel reports a write that failed once.
fn fails_once(options: Options) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("log");
    options.open(&path).unwrap();
    logdef!(Info, "before %d", 0);
    logdef::sync().unwrap();
    let failed = std::thread::spawn(|| {
        logdef!(Info, "thread %d", 1);
        seccomp::fail(&[libc::SYS_fdatasync], libc::EIO);
        logdef::sync().unwrap_err().raw_os_error()
    });
    assert_eq!(failed.join().unwrap(), Some(libc::EIO));
    logdef!(Info, "after %d", 2);
    logdef::sync().unwrap();
    logdef::close();

    // What each file holds: numbers of messages, notes, what syncs said.
    let mut files: Vec<_> = std::fs::read_dir(directory.path())
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| !path.is_symlink())
        .map(|path| {
            use std::os::unix::fs::MetadataExt;
            (std::fs::metadata(&path).unwrap().ino(), path)
        })
        .collect();
    // Under two names: its own, and the number it got when the path became a link.
    files.sort();
    files.dedup_by_key(|(inode, _)| *inode);
    let mut contents: Vec<_> = files
        .into_iter()
        .map(|(_, path)| {
            let (mut numbers, mut notes, mut syncs) = (Vec::new(), Vec::new(), Vec::new());
            common::records(&std::fs::read(&path).unwrap(), |record| match record {
                Record::Data(data) => {
                    let number = data.args.unwrap().iter().next().unwrap();
                    numbers.push(number.as_uint().unwrap());
                }
                Record::Note(note) => {
                    let text = String::from_utf8(note.text.unwrap().to_vec()).unwrap();
                    notes.push((note.kind.unwrap(), text));
                }
                Record::Durable(durable) => {
                    syncs.push((durable.errno, durable.threads.map(|threads| threads.len())));
                }
                _ => {}
            });
            numbers.sort();
            (numbers, notes, syncs)
        })
        .collect();
    contents.sort_by_key(|(numbers, ..)| numbers[0]);
    let [(before, no_notes, first), (after, notes, then)] = &contents[..] else {
        panic!("{contents:?}");
    };
    assert_eq!((&before[..], &after[..]), (&[0, 1][..], &[2][..]));
    let mut at_path = Vec::new();
    common::records(&std::fs::read(&path).unwrap(), |record| {
        if let Record::Data(data) = record {
            at_path.push(data.sequence.unwrap().count());
        }
    });
    assert_eq!(at_path, [1]);
    assert!(no_notes.is_empty());
    let suspect = (NoteKind::SUSPECT, "input/output error".to_string());
    assert_eq!(notes, &[suspect]);
    assert_eq!(first, &[(None, Some(1))]);
    // The threads of the first sync and the one of the second.
    assert_eq!(then, &[(Some(libc::EIO as u64), None), (None, Some(2))]);
}
