//! A process whose root changes to an empty folder while its threads log: no file can follow the one that is
//! written to, though many are due. Needs the rights of root.

mod common;

use common::skip;
use logdef::{Options, Sink, State, logdef};
use logdef_wire::Record;
use logdef_wire::record::NoteKind;
use std::collections::BTreeMap;
use std::io::{PipeWriter, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Barrier;

const THREADS: u64 = 4;
/// Calls of each thread, of 1,000 bytes: eighty files of all together.
const CALLS: u64 = 5_000;
/// Of these, those before the root changes.
const BEFORE: u64 = 10;
const FILE: u64 = 256 << 10;
const KEPT: u32 = 3;
/// The reason that the log gives.
const NO_FILE: &str = "no new file: directory is gone (errno 2)";

/// What the files of a log hold.
#[derive(Debug, Default)]
struct Found {
    /// Of each thread, how often each of its calls is there.
    calls: [BTreeMap<u64, u32>; THREADS as usize],
    /// The texts of notes.
    notes: Vec<String>,
    /// The highest count of drops in a note.
    noted: u64,
    /// What the records count as dropped.
    dropped: u64,
}

impl Found {
    fn read(directory: &Path) -> Found {
        let mut found = Found::default();
        for entry in std::fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_symlink() || path.is_dir() {
                continue;
            }
            common::records(&std::fs::read(path).unwrap(), |record| found.add(record));
        }
        let mut times = found.calls.iter().flat_map(BTreeMap::values);
        assert!(times.all(|times| *times == 1), "a record twice");
        found
    }

    fn add(&mut self, record: Record<'_>) {
        match record {
            Record::Data(data) => {
                let mut args = data.args.unwrap().iter();
                let mut next = || args.next().unwrap().as_uint().unwrap();
                let calls = &mut self.calls[next() as usize];
                *calls.entry(next()).or_default() += 1;
                self.dropped += data.dropped.unwrap_or(0);
            }
            Record::Note(note) if note.kind == Some(NoteKind::DROPS) => {
                self.noted = self.noted.max(note.dropped.unwrap());
            }
            Record::Note(note) => {
                let text = note.text.unwrap_or_default();
                self.notes.push(String::from_utf8_lossy(text).into_owned());
            }
            _ => {}
        }
    }

    fn records(&self) -> u64 {
        self.calls.iter().map(|calls| calls.len() as u64).sum()
    }
}

fn log(thread: u64, calls: std::ops::Range<u64>) {
    let text = "x".repeat(1000);
    for call in calls {
        logdef!(Info, "%llu %llu %s", thread, call, text);
    }
}

/// Makes an empty folder the root of the process.
fn confine(folder: &Path) {
    let jail = folder.join("jail");
    std::fs::create_dir(&jail).unwrap();
    std::os::unix::fs::chroot(&jail).unwrap();
    std::env::set_current_dir("/").unwrap();
}

/// Logs in threads of a child, whose root changes early; returns what its files hold.
fn logged(options: Options) -> Found {
    let directory = tempfile::tempdir().unwrap();
    common::in_child(|| {
        let options = options.rotate(FILE);
        options.open(directory.path().join("log")).unwrap();
        let [begun, confined] = [(); 2].map(|()| Barrier::new(THREADS as usize + 1));
        std::thread::scope(|scope| {
            for thread in 0..THREADS {
                let (begun, confined) = (&begun, &confined);
                scope.spawn(move || {
                    log(thread, 0..BEFORE);
                    begun.wait();
                    confined.wait();
                    log(thread, BEFORE..CALLS);
                });
            }
            begun.wait();
            confine(directory.path());
            confined.wait();
        });
        logdef::close();
    });
    Found::read(directory.path())
}

/// All records are there where nothing bounds the log.
fn continues_in_its_file(sink: Sink) {
    let found = logged(logdef::options().sink(sink));
    for (thread, calls) in found.calls.iter().enumerate() {
        assert!(calls.keys().copied().eq(0..CALLS), "{thread}, {sink:?}");
    }
    assert_eq!((found.noted, found.dropped), (0, 0), "{sink:?}");
    assert!(!found.notes.is_empty(), "{sink:?}");
    assert!(found.notes.iter().all(|note| note == NO_FILE), "{found:?}");
}

/// Files that have grown beyond twice their size.
fn large_files(directory: &Path) -> Vec<PathBuf> {
    let files = std::fs::read_dir(directory).unwrap();
    let files = files.map(|entry| entry.unwrap().path());
    let is_large = |path: &PathBuf| path.metadata().unwrap().len() > 2 * FILE;
    let files = files.filter(|path| !path.is_symlink());
    files.filter(is_large).collect()
}

/// Forks a child that logs a little, changes its root, waits for a byte, and logs the rest. It writes to `answers` what
/// `answer` makes of its state, and leaves with 1 if it dropped calls. Returns what the byte is written to, once the
/// child has changed its root: it is to have none of the files that are begun from here on.
fn fork_confined(
    directory: &Path,
    mut answers: PipeWriter,
    answer: impl FnOnce(&State) -> Vec<u8>,
) -> PipeWriter {
    let (mut begun, begin) = std::io::pipe().unwrap();
    let (mut confined, mut confinement) = std::io::pipe().unwrap();
    // SAFETY: the child logs and leaves.
    if unsafe { libc::fork() } == 0 {
        // Else it would wait for a parent that failed.
        drop(begin);
        log(1, 0..BEFORE);
        confine(directory);
        confinement.write_all(&[0]).unwrap();
        begun.read_exact(&mut [0]).unwrap();
        log(1, BEFORE..CALLS);
        let state = logdef::state();
        answers.write_all(&answer(&state)).unwrap();
        // SAFETY: leaves without running what its parent will run.
        unsafe { libc::_exit(i32::from(state.dropped != 0)) };
    }
    drop(confinement);
    confined.read_exact(&mut [0]).unwrap();
    begin
}

/// A forked child, whose root changes, can open no file that its parent begins afterwards: all of its later
/// calls were dropped. It continues in the file that it has.
fn continues_beside_its_parent(sink: Sink, kept: Option<u32>) {
    let directory = tempfile::tempdir().unwrap();
    common::in_child(|| {
        let options = logdef::options().sink(sink).rotate(FILE);
        let options = match kept {
            Some(files) => options.keep(files),
            None => options,
        };
        options.open(directory.path().join("log")).unwrap();
        let (mut answer, answers) = std::io::pipe().unwrap();
        let path = |state: &State| state.path.as_os_str().as_encoded_bytes().to_vec();
        let mut begin = fork_confined(directory.path(), answers, path);
        // Ten files.
        log(0, 0..CALLS / 2);
        begin.write_all(&[0]).unwrap();
        log(0, CALLS / 2..CALLS);
        let mut status = 0;
        // SAFETY: waits for a child of this process.
        unsafe { libc::wait(&raw mut status) };
        assert_eq!((status, logdef::state().dropped), (0, 0), "{sink:?}");
        logdef::close();
        let mut path = [0; 4096];
        let len = answer.read(&mut path).unwrap();
        let path = str::from_utf8(&path[..len]).unwrap();
        assert_eq!(large_files(directory.path()), [Path::new(path)]);
    });
    let found = Found::read(directory.path());
    for calls in &found.calls[..2] {
        assert!(calls.keys().copied().eq(0..CALLS), "{sink:?}");
    }
    // It says why it is there.
    assert_eq!(found.notes, [NO_FILE], "{sink:?}");
}

/// A forked child whose root changes has no file once its parent has begun as many as are kept. It dropped
/// its calls then, and the log did not say so: the child had no place for a note. Its parent writes it.
fn is_counted_by_its_parent(sink: Sink) {
    /// Fills another part of a file; the file with the note is still kept.
    const LAST: u64 = CALLS / 2 + 300;
    let directory = tempfile::tempdir().unwrap();
    common::in_child(|| {
        let options = logdef::options().sink(sink).rotate(FILE).keep(KEPT);
        options.open(directory.path().join("log")).unwrap();
        let (mut answer, answers) = std::io::pipe().unwrap();
        let dropped = |state: &State| state.dropped.to_ne_bytes().to_vec();
        let mut begin = fork_confined(directory.path(), answers, dropped);
        // Ten files.
        log(0, 0..CALLS / 2);
        begin.write_all(&[0]).unwrap();
        let mut dropped = [0; 8];
        answer.read_exact(&mut dropped).unwrap();
        assert_eq!(logdef::state().dropped, 0, "{sink:?}");
        log(0, CALLS / 2..LAST + 1);
        let dropped = u64::from_ne_bytes(dropped);
        assert!(dropped > CALLS / 2, "{sink:?}: {dropped}");
        let found = Found::read(directory.path());
        assert_eq!((found.noted, found.dropped), (dropped, 0), "{sink:?}");
        assert_eq!(found.calls[0].keys().last(), Some(&LAST));
        logdef::close();
    });
}

/// A forked child whose root changes drops what it logs after its parent has opened the log again. It has room
/// for notes in its old file, but is killed long after the last of them, which comes after 1, 16 and 256 drops.
fn is_counted_though_it_is_killed() {
    const DROPPED: u64 = 1_000;
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("log");
    common::in_child(|| {
        let options = logdef::options().sink(Sink::Mapped).rotate(FILE);
        options.open(&path).unwrap();
        let (mut begun, mut begin) = std::io::pipe().unwrap();
        let (mut confined, mut confinement) = std::io::pipe().unwrap();
        // SAFETY: the child logs and is killed.
        let child = unsafe { libc::fork() };
        if child == 0 {
            confine(directory.path());
            confinement.write_all(&[0]).unwrap();
            begun.read_exact(&mut [0]).unwrap();
            log(1, 0..DROPPED);
            let is_fine = logdef::state().dropped == DROPPED;
            let signal = if is_fine {
                libc::SIGKILL
            } else {
                libc::SIGABRT
            };
            // SAFETY: ends the process.
            unsafe { libc::kill(libc::getpid(), signal) };
        }
        confined.read_exact(&mut [0]).unwrap();
        std::fs::rename(&path, directory.path().join("old")).unwrap();
        logdef::reopen().unwrap();
        log(0, 0..1);
        begin.write_all(&[0]).unwrap();
        let mut status = 0;
        // SAFETY: waits for a child of this process.
        unsafe { libc::waitpid(child, &raw mut status, 0) };
        assert_eq!(status, libc::SIGKILL);
        // Beyond a part of a file.
        log(0, 1..200);
        let found = Found::read(directory.path());
        assert_eq!((found.noted, found.records()), (DROPPED, 200));
    });
}

/// A mapped log that is bounded gives up its oldest records.
fn keeps_the_newest() {
    let found = logged(logdef::options().sink(Sink::Mapped).keep(KEPT));
    for (thread, calls) in found.calls.iter().enumerate() {
        // None, if all of a thread that was done early are among the oldest.
        if let Some(first) = calls.keys().next() {
            assert!(calls.keys().copied().eq(*first..CALLS), "{thread}");
        }
    }
    assert_eq!((found.noted, found.dropped), (0, 0));
    // Beside the newest part, each thread may have left most of its last chunk, a quarter of a file.
    let least = u64::from(KEPT - 2) * FILE / 1_200;
    let most = u64::from(KEPT + 2) * FILE / 1_000;
    let records = found.records();
    assert!((least..most).contains(&records), "{records}");
}

/// An appended log that is bounded counts what has no room, and has the count where it ends.
fn counts_what_has_no_room() {
    let found = logged(logdef::options().sink(Sink::Append).keep(KEPT));
    let records = found.records();
    assert!(records > FILE / 1_200, "{records}");
    assert_eq!(found.noted, THREADS * CALLS - records);
}

/// Four of five records were lost, and two of four threads were not there at all, in a log that was said to be
/// clean.
#[test]
fn a_log_whose_root_changes_keeps_its_records_or_counts_them() {
    // SAFETY: has no preconditions.
    if unsafe { libc::geteuid() } != 0 {
        return skip::skip("only root may change its root");
    }
    continues_in_its_file(Sink::Mapped);
    continues_in_its_file(Sink::Append);
    continues_beside_its_parent(Sink::Mapped, None);
    continues_beside_its_parent(Sink::Mapped, Some(1000));
    continues_beside_its_parent(Sink::Append, None);
    is_counted_by_its_parent(Sink::Mapped);
    is_counted_by_its_parent(Sink::Append);
    is_counted_though_it_is_killed();
    if common::is_advice_followed() {
        keeps_the_newest();
    }
    counts_what_has_no_room();
}
