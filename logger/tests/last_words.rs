//! Notes: what a sync made durable, a panic, and the signal that ended a
//! process. The dying is done by children.

mod common;

use logdef::{Sink, logdef};
use logdef_wire::Record;
use logdef_wire::record::{Note, NoteKind};
use std::path::Path;

/// This test binary again as one that dies.
fn child(how: &str, path: &Path) -> std::process::Command {
    let mut child = std::process::Command::new(std::env::current_exe().unwrap());
    child
        .args(["--ignored", "--exact", "the_child_dies", "--nocapture"])
        .env("LOGDEF_TEST_DIE", how)
        .env("LOGDEF_TEST_LOG", path);
    child
}

/// Runs it, in silence.
fn die(how: &str, path: &Path) -> std::process::ExitStatus {
    let mut child = child(how, path);
    child
        .stderr(std::process::Stdio::null())
        .stdout(std::process::Stdio::null());
    child.status().unwrap()
}

#[inline(never)]
fn read(at: *const u8) -> u8 {
    // SAFETY: none; this is the crash.
    unsafe { at.read_volatile() }
}

/// Calls itself until the stack is full.
#[allow(unconditional_recursion, reason = "this is the crash")]
fn fill_stack(depth: u64) -> u64 {
    let room = std::hint::black_box([depth; 64]);
    fill_stack(room[0] + 1) + room[63]
}

#[test]
#[ignore = "child of the other tests"]
fn the_child_dies() {
    let how = std::env::var("LOGDEF_TEST_DIE").unwrap();
    let opens = std::env::var("LOGDEF_TEST_OPENS").map_or(1, |opens| opens.parse().unwrap());
    if how == "ignored" {
        // SAFETY: takes a number and no function.
        unsafe { libc::signal(libc::SIGFPE, libc::SIG_IGN) };
    }
    let of_own_page = how.strip_prefix("page, ");
    if let Some(action) = of_own_page {
        leave_sigbus(action == "ignored");
    }
    for open in 0..opens {
        if open > 0 {
            logdef::close();
        }
        let mut options = logdef::options().sink(Sink::Mapped).note_panics();
        if std::env::var_os("LOGDEF_TEST_GUARD").is_some() {
            options = options.guard_against_truncation();
        }
        let path = std::env::var_os("LOGDEF_TEST_LOG").unwrap();
        if of_own_page.is_none() {
            options = options.note_fatal_signals();
        }
        options.open(path).unwrap();
    }
    logdef!(Info, "about to die of %s", how);
    match &*how {
        "overflow" => {
            let deep = std::thread::Builder::new().name("deep".to_owned());
            let deep = deep.spawn(|| fill_stack(std::hint::black_box(0))).unwrap();
            let _ = deep.join();
        }
        "sent" | "ignored" => {
            // SAFETY: sends this process a signal that the runtime leaves to the system.
            unsafe { libc::raise(libc::SIGFPE) };
        }
        "segv" => {
            let _ = read(std::hint::black_box(64) as *const u8);
        }
        "abort" => std::process::abort(),
        "cut" => {
            cut();
            for number in 0..10 {
                logdef!(Info, "after the cut %d", number);
            }
        }
        "cut, segv" => {
            cut();
            let _ = read(std::hint::black_box(64) as *const u8);
        }
        "cut, abort" => {
            cut();
            std::process::abort();
        }
        _ if of_own_page.is_some() => read_page_that_is_gone(),
        _ => panic!("a panic of {how}"),
    }
}

/// Has SIGBUS ignored, or handled once.
fn leave_sigbus(is_ignored: bool) {
    extern "C" fn returns(_: i32) {}
    // SAFETY: zeros are a valid action, and the handler takes one argument, as its flags say.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = if is_ignored {
            libc::SIG_IGN
        } else {
            returns as *const () as usize
        };
        action.sa_flags = libc::SA_RESETHAND;
        let none = std::ptr::null_mut();
        assert_eq!(libc::sigaction(libc::SIGBUS, &raw const action, none), 0);
    }
}

/// Reads a page of a file of the program's own that was cut.
fn read_page_that_is_gone() {
    use std::os::fd::AsRawFd;
    let file = tempfile::tempfile().unwrap();
    file.set_len(4096).unwrap();
    let (at, fd) = (std::ptr::null_mut(), file.as_raw_fd());
    // SAFETY: maps a page of a file where the kernel finds room.
    let page = unsafe { libc::mmap(at, 4096, libc::PROT_READ, libc::MAP_SHARED, fd, 0) };
    assert_ne!(page, libc::MAP_FAILED);
    file.set_len(0).unwrap();
    read(page.cast());
}

/// As another program might.
fn cut() {
    let path = std::env::var_os("LOGDEF_TEST_LOG").unwrap();
    let file = std::fs::File::options().write(true).open(path).unwrap();
    file.set_len(0).unwrap();
}

/// Of all files of a directory; its links are names of them.
fn each_record(directory: &Path, mut each: impl FnMut(Record<'_>)) {
    for file in std::fs::read_dir(directory).unwrap().map(Result::unwrap) {
        if file.file_type().unwrap().is_file() {
            common::records(&std::fs::read(file.path()).unwrap(), &mut each);
        }
    }
}

fn last_note(path: &Path, each: impl FnOnce(Note<'_>, usize)) {
    let bytes = std::fs::read(path).unwrap();
    let (mut data, mut each) = (0, Some(each));
    common::records(&bytes, |record| match record {
        Record::Data(_) => data += 1,
        Record::Note(note) => each.take().unwrap()(note, data),
        _ => {}
    });
    assert!(each.is_none(), "no note");
}

#[test]
fn a_fatal_signal_leaves_its_number_address_and_backtrace() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("log");
    let status = die("segv", &path);
    use std::os::unix::process::ExitStatusExt;
    assert_eq!(status.signal(), Some(libc::SIGSEGV), "{status}");
    last_note(&path, |note, data| {
        assert_eq!(data, 1);
        assert_eq!(note.kind, Some(NoteKind::FATAL_SIGNAL));
        assert_eq!(note.signal, Some(libc::SIGSEGV as u64));
        assert_eq!(note.address.unwrap().0, 64);
        assert!(note.backtrace.unwrap().len() > 3);
    });
    let status = die("abort", &path);
    assert_eq!(status.signal(), Some(libc::SIGABRT), "{status}");
    last_note(&path, |note, _| {
        assert_eq!(note.signal, Some(libc::SIGABRT as u64));
    });
}

/// A handler that was installed at each opening took itself for what the signal had before: the
/// instruction failed again, for ever, with a note each time.
#[test]
fn a_program_that_opened_its_log_twice_dies_of_its_signal() {
    use std::os::unix::process::ExitStatusExt;
    let directory = tempfile::tempdir().unwrap();
    for guarded in [false, true] {
        for (how, signal) in [("segv", libc::SIGSEGV), ("abort", libc::SIGABRT)] {
            let path = directory.path().join(format!("{how}-{guarded}"));
            assert_eq!(opened_thrice(how, guarded, &path).signal(), Some(signal));
            last_note(&path, |note, _| {
                assert_eq!(note.signal, Some(signal as u64))
            });
        }
    }
}

/// The guard is asked before the note is written, however often the log was opened.
#[test]
fn a_cut_that_the_guard_survives_is_no_fatal_signal() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("log");
    let status = opened_thrice("cut", true, &path);
    assert!(status.success(), "{status}");
    let mut after = 0;
    each_record(directory.path(), |record| match record {
        Record::Note(note) => assert_ne!(note.kind, Some(NoteKind::FATAL_SIGNAL)),
        Record::Data(_) => after += 1,
        _ => {}
    });
    assert!(after >= 8, "{after} records");
}

/// The note touched the bytes that were gone: without the guard, SIGBUS took the place of the signal that
/// ended the program, and there was no note.
#[test]
fn a_fatal_signal_of_a_cut_log_ends_the_process_and_leaves_its_note() {
    use std::os::unix::process::ExitStatusExt;
    for guarded in [false, true] {
        for (how, signal) in [("cut, segv", libc::SIGSEGV), ("cut, abort", libc::SIGABRT)] {
            let directory = tempfile::tempdir().unwrap();
            let status = opened_thrice(how, guarded, &directory.path().join("log"));
            assert_eq!(status.signal(), Some(signal), "{how}, guarded: {guarded}");
            let mut noted = Vec::new();
            each_record(directory.path(), |record| {
                if let Record::Note(note) = record {
                    noted.extend(note.signal);
                }
            });
            assert_eq!(noted, [signal as u64], "{how}, guarded: {guarded}");
        }
    }
}

/// A child that opens its log three times, and may not take long to die.
fn opened_thrice(how: &str, guarded: bool, path: &Path) -> std::process::ExitStatus {
    let mut child = child(how, path);
    child.env("LOGDEF_TEST_OPENS", "3");
    if guarded {
        child.env("LOGDEF_TEST_GUARD", "1");
    }
    let limit_cpu = || {
        let limit = libc::rlimit {
            rlim_cur: 5,
            rlim_max: 5,
        };
        // SAFETY: a limit of the child's own, before it is executed.
        match unsafe { libc::setrlimit(libc::RLIMIT_CPU, &limit) } {
            0 => Ok(()),
            _ => Err(std::io::Error::last_os_error()),
        }
    };
    use std::os::unix::process::CommandExt;
    // SAFETY: it makes one system call.
    unsafe { child.pre_exec(limit_cpu) };
    let silence = std::process::Stdio::null;
    child.stderr(silence()).stdout(silence()).status().unwrap()
}

/// The runtime's stack for such a handler is too small for a thread's first record.
/// The guard passed SIGBUS on to an action that ignored it, or that was to handle it once, and the same instruction
/// failed again for ever.
#[test]
fn a_page_of_the_programs_own_that_is_gone_ends_it() {
    use std::os::unix::process::ExitStatusExt;
    let directory = tempfile::tempdir().unwrap();
    for how in ["page, ignored", "page, handled once"] {
        let status = opened_thrice(how, true, &directory.path().join("log"));
        assert_eq!(status.signal(), Some(libc::SIGBUS), "{how}: {status}");
    }
}

#[test]
fn a_stack_overflow_of_a_thread_that_never_logged_leaves_a_note() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("log");
    let output = child("overflow", &path).output().unwrap();
    use std::os::unix::process::ExitStatusExt;
    assert_eq!(
        output.status.signal(),
        Some(libc::SIGABRT),
        "{}",
        output.status
    );
    // What the runtime says of it, it says as ever.
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("has overflowed its stack"), "{said}");
    let mut signals = Vec::new();
    common::records(&std::fs::read(&path).unwrap(), |record| {
        if let Record::Note(note) = record {
            let signal = note.signal.unwrap();
            signals.push(signal);
            // Other C libraries than glibc say nothing of the stack frames of their own abort().
            if cfg!(target_env = "gnu") || signal == libc::SIGSEGV as u64 {
                assert!(note.backtrace.unwrap().len() > 3);
            }
        }
    });
    assert_eq!(signals, [libc::SIGSEGV as u64, libc::SIGABRT as u64]);
}

#[test]
fn a_fatal_signal_that_was_sent_ends_the_process_too() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("log");
    let status = die("sent", &path);
    use std::os::unix::process::ExitStatusExt;
    assert_eq!(status.signal(), Some(libc::SIGFPE), "{status}");
    last_note(&path, |note, _| {
        assert_eq!(note.signal, Some(libc::SIGFPE as u64));
    });
}

/// It left last words of a process that lived on.
#[test]
fn a_signal_that_was_sent_and_is_ignored_leaves_no_note() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("log");
    assert!(die("ignored", &path).success());
    common::records(&std::fs::read(&path).unwrap(), |record| {
        assert!(!matches!(record, Record::Note(_)), "{record:?}");
    });
}

#[test]
fn a_panic_leaves_its_message() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("log");
    assert!(!die("boredom", &path).success());
    last_note(&path, |note, _| {
        assert_eq!(note.kind, Some(NoteKind::PANIC));
        let text = std::str::from_utf8(note.text.unwrap()).unwrap();
        assert!(text.contains("a panic of boredom"), "{text}");
        assert!(note.backtrace.unwrap().len() > 3);
    });
}

#[test]
fn a_sync_says_how_far_each_thread_is_durable() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("log");
    logdef::options().sink(Sink::Mapped).open(&path).unwrap();
    for call in 0..7 {
        logdef!(Info, "call %d", call);
    }
    std::thread::spawn(|| logdef!(Info, "from another thread"))
        .join()
        .unwrap();
    logdef::sync().unwrap();
    // One after another: each has the memory of the one before.
    for _ in 0..3 {
        std::thread::spawn(|| logdef!(Info, "from a thread that ends"))
            .join()
            .unwrap();
    }
    logdef::sync().unwrap();
    let mut found = Vec::new();
    common::records(&std::fs::read(&path).unwrap(), |record| {
        if let Record::Durable(durable) = record {
            assert_eq!(durable.errno, None);
            let threads = durable.threads.unwrap();
            let mut threads: Vec<_> = threads
                .iter()
                .map(|(number, count)| (number.as_uint().unwrap(), count.as_uint().unwrap()))
                .collect();
            threads.sort();
            found.push((threads, durable.ended.unwrap()));
        }
    });
    let first = (vec![(0, 6), (1, 0)], 2);
    // Of the threads that ended only the last is named.
    let second = (vec![(0, 6), (4, 0)], 5);
    assert_eq!(found, [first, second]);
}
