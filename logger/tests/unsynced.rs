//! A rotated log that is never synced holds on to some files only. No call waits until the others are on stable
//! storage: each took milliseconds for that. A later `sync` reaches them all.

mod common;

#[path = "common/seccomp.rs"]
mod seccomp;

use logdef::{Options, Sink, logdef};

fn ways() -> [(&'static str, Options); 2] {
    let [mapped, appended] = [Sink::Mapped, Sink::Append].map(|sink| logdef::options().sink(sink));
    [
        ("mapped", mapped.rotate(128 << 10)),
        ("appended", appended.rotate(16 << 10)),
    ]
}

/// Logs until this number of files was begun.
fn fill(files: usize, folder: &std::path::Path) {
    let text = "x".repeat(1000);
    let begun = || {
        std::fs::read_dir(folder)
            .unwrap()
            .filter(|entry| entry.as_ref().unwrap().metadata().unwrap().is_file())
            .count()
    };
    let before = begun();
    while begun() < before + files {
        for _ in 0..10 {
            logdef!(Info, "%s", text);
        }
    }
}

const SYNCS: [libc::c_long; 3] = [libc::SYS_fsync, libc::SYS_fdatasync, libc::SYS_syncfs];

/// Has a child of each way open a log in a folder, and do something.
fn in_each_way(work: impl Fn(&str, &std::path::Path)) {
    if !seccomp::is_here() {
        return;
    }
    for (way, options) in ways() {
        let folder = tempfile::tempdir().unwrap();
        common::in_child(|| {
            options.open(folder.path().join("log")).unwrap();
            work(way, folder.path());
        });
    }
}

#[test]
fn no_call_waits_for_stable_storage() {
    in_each_way(|way, folder| {
        // The call that made one would be killed.
        seccomp::end_at(&SYNCS);
        fill(200, folder);
        assert_eq!(logdef::state().dropped, 0, "{way}");
    });
}

#[test]
fn a_sync_reaches_files_that_were_let_go_of() {
    in_each_way(|way, folder| {
        fill(200, folder);
        logdef::sync().unwrap();
        // All of them were reached: what is still open is synced by itself.
        seccomp::fail(&[libc::SYS_syncfs], libc::EIO);
        fill(3, folder);
        logdef::sync().unwrap();
        fill(200, folder);
        let refused = logdef::sync().unwrap_err();
        assert_eq!(refused.raw_os_error(), Some(libc::EIO), "{way}");
    });
}

/// A power cut took the name of a new file of an appended log, which was on stable storage itself.
#[test]
fn a_sync_reaches_the_names_of_new_files() {
    if !seccomp::is_here() {
        return;
    }
    let in_one_file = [Sink::Mapped, Sink::Append].map(|sink| logdef::options().sink(sink));
    let rotated = ways().map(|(_, options)| options);
    for (way, options) in in_one_file.into_iter().chain(rotated).enumerate() {
        let folder = tempfile::tempdir().unwrap();
        common::in_child(|| {
            options.open(folder.path().join("log")).unwrap();
            logdef::sync().unwrap();
            seccomp::fail(&[libc::SYS_fsync], libc::EIO);
            logdef!(Info, "in the same file");
            logdef::sync().unwrap();
            if way < 2 {
                std::fs::remove_file(folder.path().join("log")).unwrap();
                logdef::reopen().unwrap();
                logdef!(Info, "in the same file");
                logdef!(Info, "in another file");
            } else {
                fill(2, folder.path());
            }
            let refused = logdef::sync().unwrap_err();
            assert_eq!(refused.raw_os_error(), Some(libc::EIO), "{way}");
        });
    }
}

/// A `sync` of an appended log reported success though the program had closed the descriptors of files that it
/// had not reached.
#[test]
fn a_sync_reaches_files_whose_descriptors_the_program_closed() {
    if !seccomp::is_here() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let [_, (_, options)] = ways();
    common::in_child(|| {
        options.open(folder.path().join("log")).unwrap();
        fill(3, folder.path());
        // SAFETY: no code of this process uses these descriptors but the log's.
        unsafe { libc::syscall(libc::SYS_close_range, 3, u32::MAX, 0) };
        seccomp::fail(&[libc::SYS_syncfs], libc::EIO);
        let refused = logdef::sync().unwrap_err();
        assert_eq!(refused.raw_os_error(), Some(libc::EIO));
    });
}
