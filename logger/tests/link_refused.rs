//! A rotated log whose path cannot be made to lead to the newest file any more, as where a program gave
//! up its privileges and the directory lets users remove only what is theirs: files are files all the
//! same, those that are not kept go, and no record is lost.

use common::in_child;
use logdef::{Options, Sink, logdef};
use logdef_wire::Record;
use std::collections::BTreeSet;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

mod common;
#[path = "common/seccomp.rs"]
mod seccomp;

const RECORDS: u32 = 100_000;
const SIZE: u64 = 1 << 20;
const KEPT: u32 = 3;
/// Records that the files which are kept hold at least, the newest of them not counted.
const KEPT_RECORDS: u32 = 18_000;

/// What is done between the first record and the others.
type Before = fn();

fn stays_in_bounds(options: Options, before: Before) {
    let directory = tempfile::tempdir().unwrap();
    let all = std::fs::Permissions::from_mode(0o1777);
    std::fs::set_permissions(directory.path(), all).unwrap();
    let path = directory.path().join("log");
    in_child(|| {
        options.rotate(SIZE).keep(KEPT).open(&path).unwrap();
        logdef!(Warn, "number %u", 0u32);
        before();
        for number in 0..RECORDS {
            logdef!(Info, "number %u", number);
        }
        assert_eq!(logdef::state().dropped, 0);
        logdef::close();
    });
    let (numbers, _) = common::numbers(directory.path());
    let newest = RECORDS - KEPT_RECORDS..RECORDS;
    let missing = newest.filter(|number| !numbers.contains(&u64::from(*number)));
    assert_eq!(missing.count(), 0);
    assert!(numbers.len() < RECORDS as usize, "nothing was removed");
    let files = files_in(directory.path());
    assert!(files.iter().any(|file| says_why(file)), "{files:?}");
    let bytes = files.iter().map(|file| file.metadata().unwrap().len());
    let bytes: u64 = bytes.sum();
    // The first file may be another user's.
    assert!(bytes <= u64::from(KEPT + 1) * SIZE, "{bytes} bytes");
}

/// The log's own files, the link not among them.
fn files_in(directory: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(directory).unwrap();
    let paths = entries.map(|entry| entry.unwrap().path());
    paths.filter(|path| !path.is_symlink()).collect()
}

fn says_why(file: &Path) -> bool {
    let mut says = false;
    common::records(&std::fs::read(file).unwrap(), |record| {
        if let Record::Note(note) = record {
            let text = String::from_utf8_lossy(note.text.unwrap_or_default());
            says |= text.starts_with("the path leads to an older file: ");
        }
    });
    says
}

fn give_up_privileges() {
    // SAFETY: takes numbers.
    assert_eq!(unsafe { libc::setuid(65534) }, 0);
}

/// A file that could not be removed stayed for good, though later it could have been.
fn a_removal_that_was_refused(sink: Sink) {
    let directory = tempfile::tempdir().unwrap();
    let set_mode = |mode| {
        let mode = std::fs::Permissions::from_mode(mode);
        std::fs::set_permissions(directory.path(), mode).unwrap();
    };
    set_mode(0o1777);
    let become_user = |user| {
        // SAFETY: takes a number.
        assert_eq!(unsafe { libc::seteuid(user) }, 0);
    };
    in_child(|| {
        let options = logdef::options().sink(sink).rotate(64 << 10).keep(2);
        options.open(directory.path().join("log")).unwrap();
        let log = || (0..4_000u32).for_each(|number| logdef!(Info, "number %u", number));
        log();
        become_user(65_534);
        log();
        let refused = files_in(directory.path()).len();
        assert!(refused > 2, "{refused} files");
        become_user(0);
        set_mode(0o777);
        become_user(65_534);
        log();
        logdef::close();
    });
    let files = files_in(directory.path());
    assert!(files.len() <= 2, "{sink:?}: {files:?}");
}

fn deny_links() {
    #[cfg(target_arch = "x86_64")]
    seccomp::fail(&[libc::SYS_symlink], libc::EDQUOT);
    seccomp::fail(&[libc::SYS_symlinkat], libc::EDQUOT);
}

/// A log that cannot be opened, since its path cannot be made to lead to it, leaves no file, and takes none that is kept.
fn refused_openings_change_nothing(sink: Sink) {
    let directory = tempfile::tempdir().unwrap();
    let open = || {
        let options = logdef::options().sink(sink).rotate(SIZE).keep(KEPT);
        options.open(directory.path().join("log"))
    };
    in_child(|| {
        open().unwrap();
        for number in 0..RECORDS {
            logdef!(Info, "number %u", number);
        }
        logdef::close();
    });
    let names = || {
        files_in(directory.path())
            .into_iter()
            .collect::<BTreeSet<_>>()
    };
    let before = names();
    in_child(|| {
        deny_links();
        let descriptors = || std::fs::read_dir("/proc/self/fd").unwrap().count();
        let had = descriptors();
        for _ in 0..3 {
            assert!(open().is_err());
        }
        assert!(descriptors() <= had + 1, "{sink:?}");
    });
    assert_eq!(names(), before, "{sink:?}");
}

fn each_sink(before: Before) {
    for sink in [Sink::Mapped, Sink::Append] {
        stays_in_bounds(logdef::options().sink(sink), before);
    }
}

#[test]
fn a_log_stays_in_its_bounds_where_its_path_can_lead_to_no_new_file() {
    // SAFETY: has no preconditions.
    if unsafe { libc::geteuid() } == 0 {
        each_sink(give_up_privileges);
        stays_in_bounds(logdef::options().helper(), give_up_privileges);
        a_removal_that_was_refused(Sink::Mapped);
        a_removal_that_was_refused(Sink::Append);
    } else {
        common::skip::skip("only root can become another user");
    }
    if seccomp::is_here() {
        each_sink(deny_links);
        refused_openings_change_nothing(Sink::Mapped);
        refused_openings_change_nothing(Sink::Append);
    }
}
