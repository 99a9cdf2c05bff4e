//! A thread that makes chunks ready ahead: every record is there with it as without, in
//! threads, children and rotated files; it blocks all signals and ends when the log does.

mod common;

use logdef::{Helper, Sink, logdef};
use std::path::Path;

/// The threads of the process that are the logger's, and the signals that they block.
fn helpers() -> Vec<u64> {
    let tasks = std::fs::read_dir("/proc/self/task").unwrap();
    let of = |task: std::fs::DirEntry| {
        let (name, blocked) = name_and_blocked(&task.path())?;
        (name == "logdef").then_some(blocked)
    };
    tasks.filter_map(|task| of(task.unwrap())).collect()
}

/// The name of a thread and the signals that it blocks; `None` if it has ended.
fn name_and_blocked(task: &Path) -> Option<(String, u64)> {
    let status = std::fs::read_to_string(task.join("status")).ok()?;
    let field = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name))?;
        Some(line.trim().to_owned())
    };
    let blocked = u64::from_str_radix(&field("SigBlk:")?, 16).unwrap();
    Some((field("Name:")?, blocked))
}

/// What the system shows of a thread that blocks all signals: under an emulator not all.
fn all_signals() -> u64 {
    let show = || {
        // SAFETY: a valid set, for this thread only.
        unsafe {
            let mut all = std::mem::zeroed();
            libc::sigfillset(&raw mut all);
            libc::pthread_sigmask(libc::SIG_BLOCK, &raw const all, std::ptr::null_mut());
        }
        name_and_blocked(Path::new("/proc/thread-self")).unwrap().1
    };
    std::thread::spawn(show).join().unwrap()
}

fn log(numbers: std::ops::Range<u32>) {
    let text = "x".repeat(2000);
    for number in numbers {
        logdef!(Info, "%u %s", number, text);
        assert_eq!(logdef::unwritten(), 0);
    }
}

/// Bytes that are mapped of the files of a directory.
fn mapped(directory: &Path) -> u64 {
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    let of = |line: &str| {
        let (from, to) = line.split_once(' ')?.0.split_once('-')?;
        Some(u64::from_str_radix(to, 16).ok()? - u64::from_str_radix(from, 16).ok()?)
    };
    let ours = maps
        .lines()
        .filter(|line| line.contains(directory.to_str().unwrap()));
    ours.filter_map(of).sum()
}

fn in_threads(options: logdef::Options, directory: &Path) {
    options.open(directory.join("log")).unwrap();
    assert_eq!(logdef::state().helper, Helper::Runs);
    common::until("it starts", || helpers().len() == 1);
    // All but those by which the C library changes rights, and those that cannot be.
    let may_pass =
        1 << 31 | 1 << 32 | 1 << 33 | 1 << (libc::SIGKILL - 1) | 1 << (libc::SIGSTOP - 1);
    assert_eq!(helpers()[0] | may_pass, all_signals() | may_pass);
    std::thread::scope(|scope| {
        for thread in 0..4 {
            scope.spawn(move || log(thread * 10_000..thread * 10_000 + 5_000));
        }
    });
    // The parent is in the middle of things; the child has no helper, and needs none.
    common::in_child(|| {
        assert_eq!((logdef::state().helper, helpers().len()), (Helper::None, 0));
        log(50_000..55_000);
        logdef::close();
    });
    log(40_000..45_000);
    let state = logdef::state();
    assert_eq!((state.dropped, state.unreported), (0, 0));
    // A chunk a thread, and what is ready.
    common::until("little is mapped", || {
        mapped(directory) <= (5 + 4) * (4 << 20) + (1 << 20)
    });
}

#[test]
fn a_helper_loses_no_record_and_ends_with_the_log() {
    let all: std::collections::HashSet<u64> = (0..6)
        .flat_map(|part| part * 10_000..part * 10_000 + 5_000)
        .collect();
    for (name, rotation) in [
        ("one", None),
        ("many", Some(1 << 20)),
        ("large", Some(32 << 20)),
    ] {
        let directory = tempfile::tempdir().unwrap();
        let options = logdef::options().sink(Sink::Mapped).helper();
        let options = rotation.map_or(options.clone(), |size| options.rotate(size));
        in_threads(options, directory.path());
        // Rights are changed in all threads: it does not hang.
        // SAFETY: has no preconditions, and changes nothing.
        unsafe { assert_eq!(libc::setuid(libc::getuid()), 0) };
        logdef::close();
        assert_eq!(logdef::state().helper, Helper::None);
        common::until("it ends", || helpers().is_empty());
        let (seen, _) = common::numbers(directory.path());
        let lost: Vec<_> = all.difference(&seen).collect();
        assert!(lost.is_empty(), "{name}: {lost:?}");
        assert_eq!(seen, all, "{name}");
        common::in_child(|| logdef!(Info, "%u after the end", 0));
    }

    // One that cannot be started: the log works.
    let options = logdef::options().sink(Sink::Mapped).helper();
    let few = libc::rlimit {
        rlim_cur: 1,
        rlim_max: 1,
    };
    common::in_child(|| {
        // SAFETY: a user who has a process already may have no thread more.
        unsafe {
            if libc::setuid(65_534) != 0 {
                return;
            }
            assert_eq!(libc::setrlimit(libc::RLIMIT_NPROC, &raw const few), 0);
        }
        let path = std::env::temp_dir().join(format!("logdef-helper-{}", std::process::id()));
        std::fs::create_dir(&path).unwrap();
        options.clone().open(path.join("log")).unwrap();
        let helper = logdef::state().helper;
        assert_eq!(helper, Helper::Failed(libc::EAGAIN), "{helper:?}");
        log(0..5_000);
        let (seen, _) = common::numbers(&path);
        assert_eq!(seen.len(), 5_000);
        std::fs::remove_dir_all(&path).unwrap();
    });

    // Killed at any moment, what was acknowledged is there.
    let directory = tempfile::tempdir().unwrap();
    for _ in 0..3 {
        let path = directory.path().join("log");
        let (mut told, mut tell) = std::io::pipe().unwrap();
        // SAFETY: the child logs until it is killed.
        let child = unsafe { libc::fork() };
        if child == 0 {
            let options = logdef::options().sink(Sink::Mapped).helper();
            options.rotate(1 << 20).open(path).unwrap();
            for number in 0..u32::MAX {
                log(number..number + 1);
                use std::io::Write;
                if number % 100 == 0 {
                    tell.write_all(&number.to_ne_bytes()).unwrap();
                }
            }
        }
        drop(tell);
        use std::io::Read;
        let mut last = [0; 4];
        for _ in 0..50 {
            told.read_exact(&mut last).unwrap();
        }
        // SAFETY: a child of this process.
        unsafe {
            libc::kill(child, libc::SIGKILL);
            libc::waitpid(child, std::ptr::null_mut(), 0);
        }
        let last = u32::from_ne_bytes(last);
        let mut found = 0;
        for entry in std::fs::read_dir(directory.path()).unwrap() {
            let path = entry.unwrap().path();
            if !path.is_symlink() {
                found += common::whole_records(&std::fs::read(&path).unwrap());
            }
            std::fs::remove_file(path).unwrap();
        }
        assert!(found > last, "{found} of {last}");
    }
}
