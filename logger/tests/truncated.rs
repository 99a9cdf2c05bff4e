//! With the guard, a log whose file another process truncates, or punches a hole into on a
//! full disk, continues in another file.

use logdef::{Sink, logdef};
use logdef_wire::Record;
use logdef_wire::record::NoteKind;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

mod common;
#[path = "common/tmpfs.rs"]
mod tmpfs;

fn open(path: &Path) {
    let options = logdef::options().sink(Sink::Mapped);
    options.guard_against_truncation().open(path).unwrap();
}

/// Numbers, dropped calls and notes in all files of a log.
fn read(directory: &Path) -> (Vec<u64>, u64, Vec<NoteKind>) {
    let (mut numbers, mut dropped, mut notes) = (Vec::new(), 0, Vec::new());
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_symlink() || !path.to_str().unwrap().contains("log") {
            continue;
        }
        common::records(&std::fs::read(path).unwrap(), |record| match record {
            Record::Data(data) => {
                numbers.push(data.args.unwrap().iter().next().unwrap().as_uint().unwrap());
                dropped += data.dropped.unwrap_or(0);
            }
            Record::Note(note) => notes.push(note.kind.unwrap()),
            _ => {}
        });
    }
    numbers.sort();
    // A plain file that the path no longer leads to has two names.
    numbers.dedup();
    (numbers, dropped, notes)
}

static PASSED_ON: AtomicU32 = AtomicU32::new(0);

extern "C" fn whose(_: i32, _: *mut libc::siginfo_t, _: *mut libc::c_void) {
    PASSED_ON.fetch_add(1, Ordering::Relaxed);
}

#[test]
fn the_log_continues_in_another_file() {
    // SAFETY: a handler that counts.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = whose as *const () as usize;
        action.sa_flags = libc::SA_SIGINFO;
        libc::sigaction(libc::SIGBUS, &action, std::ptr::null_mut());
    }
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("log");
    open(&path);
    std::thread::scope(|scope| {
        // Another thread, in a chunk of its own.
        let (go, wait) = std::sync::mpsc::channel::<()>();
        let (logged, has_logged) = std::sync::mpsc::channel::<()>();
        scope.spawn(move || {
            logdef!(Info, "%u", 1_000_000);
            logged.send(()).unwrap();
            wait.recv().unwrap();
            logdef!(Info, "%u", 1_000_001);
            logdef!(Info, "%u", 1_000_002);
        });
        for call in 0..100u32 {
            logdef!(Info, "%u", call);
        }
        has_logged.recv().unwrap();
        let status = Command::new("truncate").arg("-s0").arg(&path).status();
        assert!(status.unwrap().success());
        for call in 100..200u32 {
            logdef!(Info, "%u", call);
        }
        go.send(()).unwrap();
    });
    // SAFETY: a SIGBUS that the log did not cause gets to the program's handler.
    unsafe { libc::raise(libc::SIGBUS) };
    assert_eq!(PASSED_ON.load(Ordering::Relaxed), 1);
    logdef::close();
    let (numbers, dropped, notes) = read(directory.path());
    // The first call afterwards is lost with the page, and counted. The other thread
    // had been sent away by then.
    let expected: Vec<_> = (101..200).chain([1_000_001, 1_000_002]).collect();
    assert_eq!(numbers, expected);
    let told = [NoteKind::SUSPECT, NoteKind::DROPS];
    assert_eq!((dropped, &notes[..]), (1, &told[..]));

    let Some(small) = tmpfs::mount(directory.path(), 2) else {
        return;
    };
    let path = small.join("log");
    open(&path);
    logdef!(Info, "%u", 1);
    let file = std::fs::File::options().write(true).open(&path).unwrap();
    // SAFETY: a descriptor of ours.
    let punched = unsafe {
        use std::os::fd::AsRawFd;
        let mode = libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE;
        libc::fallocate(file.as_raw_fd(), mode, 0, 16 << 10)
    };
    assert_eq!(punched, 0);
    let filler = tmpfs::fill(&small);
    for call in 2..200u32 {
        logdef!(Info, "%u", call);
    }
    std::fs::remove_file(filler).unwrap();
    let lost = common::until_written(|| logdef!(Info, "%u", 200));
    logdef!(Info, "%u", 201);
    let (numbers, dropped, notes) = read(&small);
    assert_eq!(numbers, [200, 201]);
    assert_eq!(dropped, 198 + lost);
    assert!(notes.contains(&NoteKind::SUSPECT) && notes.contains(&NoteKind::SPACE_RETURNED));
}
