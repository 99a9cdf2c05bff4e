//! A log whose file another program truncates while a thread claims its next chunk continues in
//! another file.

mod common;

use logdef::{Sink, logdef};
use logdef_wire::Record;
use logdef_wire::record::NoteKind;
use std::collections::BTreeSet;
use std::ffi::{c_int, c_ulong, c_void};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};

/// What is cut short before the next pages are made ready.
static CUT: Mutex<Option<PathBuf>> = Mutex::new(None);
/// How often that was done.
static CUTS: AtomicU32 = AtomicU32::new(0);

fn cut() {
    if let Some(path) = CUT.lock().unwrap().take() {
        let file = std::fs::File::options().write(true).open(path).unwrap();
        file.set_len(0).unwrap();
        CUTS.fetch_add(1, Ordering::Relaxed);
    }
}

/// In the place of the C library's.
#[unsafe(no_mangle)]
extern "C" fn madvise(at: *mut c_void, len: usize, advice: c_int) -> c_int {
    if advice == libc::MADV_POPULATE_WRITE {
        cut();
    }
    // SAFETY: as the caller's.
    unsafe { libc::syscall(libc::SYS_madvise, at, len, advice) as c_int }
}

/// In the place of the C library's.
#[unsafe(no_mangle)]
extern "C" fn process_vm_readv(
    process: libc::pid_t,
    into: *const libc::iovec,
    count: c_ulong,
    from: *const libc::iovec,
    from_count: c_ulong,
    flags: c_ulong,
) -> isize {
    cut();
    // SAFETY: as the caller's.
    unsafe {
        let number = libc::SYS_process_vm_readv;
        libc::syscall(number, process, into, count, from, from_count, flags) as isize
    }
}

/// Numbers, dropped calls and notes of the files of a log.
fn read(directory: &Path) -> (BTreeSet<u64>, u64, Vec<NoteKind>) {
    let (mut numbers, mut dropped, mut notes) = (BTreeSet::new(), 0, Vec::new());
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_symlink() {
            continue;
        }
        common::records(&std::fs::read(path).unwrap(), |record| match record {
            Record::Data(data) => {
                let mut args = data.args.unwrap().iter();
                numbers.insert(args.next().unwrap().as_uint().unwrap());
                dropped += data.dropped.unwrap_or(0);
            }
            Record::Note(note) => notes.push(note.kind.unwrap()),
            _ => {}
        });
    }
    (numbers, dropped, notes)
}

/// The kernel said EFAULT, and all calls of the next second were dropped.
#[test]
fn the_log_continues_in_another_file_at_once() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("log");
    let options = logdef::options().sink(Sink::Mapped);
    options.guard_against_truncation().open(&path).unwrap();
    let text = "x".repeat(1000);
    // As many as three chunks hold at least, the first of which is small.
    const BEFORE: u32 = 100;
    const CALLS: u32 = 2000;
    for call in 0..CALLS {
        if call == BEFORE {
            *CUT.lock().unwrap() = Some(path.clone());
        }
        logdef!(Info, "%u %s", call, &text);
    }
    assert_eq!(CUTS.load(Ordering::Relaxed), 1);
    assert_eq!(logdef::state().dropped, 0);
    logdef::close();
    let (numbers, dropped, notes) = read(directory.path());
    let first = *numbers.first().unwrap();
    assert!(first > BEFORE.into() && first < (CALLS / 2).into());
    let rest: BTreeSet<_> = (first..CALLS.into()).collect();
    assert_eq!((numbers, dropped), (rest, 0));
    assert_eq!(notes, [NoteKind::SUSPECT]);
}
