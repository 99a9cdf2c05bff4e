//! A log that cannot have another file continues in the one that it has: beyond its size if
//! nothing bounds the log, else in place of its oldest chunks. It says so, and when it can
//! have another file again, it does.

mod common;
#[path = "common/tmpfs.rs"]
mod tmpfs;

use logdef::{Sink, logdef};
use logdef_wire::Record;
use logdef_wire::record::NoteKind;
use std::collections::BTreeSet;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// What the files of a log hold.
#[derive(Debug, Default)]
struct Found {
    numbers: BTreeSet<u64>,
    /// The text of each note of the log about itself.
    notes: Vec<String>,
    /// Whether some note names a range that was pruned, and is all zeros.
    pruned: bool,
    /// Bytes of disk.
    blocks: u64,
}

fn read(directory: &Path) -> Found {
    let mut found = Found::default();
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_symlink() {
            continue;
        }
        found.blocks += std::fs::metadata(&path).unwrap().blocks() * 512;
        let bytes = std::fs::read(&path).unwrap();
        common::records_at(&bytes, |at, record| match record {
            Record::Data(data) => {
                let number = data.args.unwrap().iter().next().unwrap();
                found.numbers.insert(number.as_uint().unwrap());
            }
            Record::Note(note) if note.kind == Some(NoteKind::PRUNED) => {
                let start = at as i64 + note.start.unwrap();
                let range = &bytes[start as usize..][..note.size.unwrap() as usize];
                assert!(range.iter().all(|byte| *byte == 0), "zeros");
                found.pruned = true;
            }
            Record::Note(note) => {
                let text = note.text.unwrap_or_default();
                found.notes.push(String::from_utf8_lossy(text).into_owned());
            }
            _ => {}
        });
    }
    found
}

const SIZE: u64 = 1 << 20;

fn log(numbers: std::ops::Range<u64>) {
    let text = "x".repeat(1000);
    for number in numbers {
        logdef!(Info, "%llu %s", number, text);
    }
}

#[test]
fn a_log_that_cannot_have_another_file_continues_in_the_one_that_it_has() {
    let all = tempfile::tempdir().unwrap();
    other_reasons(all.path());
    a_directory_stands_at_the_path();
    many_files_are_kept();
    let bounds = [None, Some(1), Some(3)];
    let bounds = if common::is_advice_followed() {
        &bounds[..]
    } else {
        &bounds[..1]
    };
    for &keep in bounds {
        let directory = all.path().join(format!("{keep:?}"));
        std::fs::create_dir(&directory).unwrap();
        let path = directory.join("log");
        let options = logdef::options().sink(Sink::Mapped).rotate(SIZE);
        let options = match keep {
            Some(keep) => options.keep(keep),
            None => options,
        };
        options.open(&path).unwrap();
        log(0..2_000);
        let before = common::limit_descriptors(0);
        log(2_000..10_000);
        // A thread that ended while the log went on.
        std::thread::scope(|scope| {
            scope.spawn(|| log(10_000..10_100));
        });
        log(10_100..12_000);
        assert_eq!(logdef::unwritten(), 0, "{keep:?}");
        common::limit_descriptors(before);
        assert_eq!(logdef::state().dropped, 0);
        let found = read(&directory);
        let told = ["no new file: too many open files (errno 24)"];
        match keep {
            None => {
                assert_eq!(found.numbers, (0..12_000).collect());
                assert_eq!(found.notes, told);
                assert!(!found.pruned);
            }
            Some(keep) => {
                let most = u64::from(keep) * SIZE + (512 << 10);
                assert!(found.blocks <= most, "{} bytes for {keep}", found.blocks);
                // The newest are there, without a hole.
                let first = *found.numbers.first().unwrap();
                let newest: BTreeSet<u64> = (first..12_000).collect();
                assert_eq!(found.numbers, newest, "{keep} from {first}");
                let least = u64::from(keep - 1) * 900;
                assert!(newest.len() as u64 > least, "{} kept", newest.len());
                assert!(found.pruned);
            }
        }
        log(12_000..20_000);
        assert_eq!(logdef::unwritten(), 0);
        logdef::close();
        let found = read(&directory);
        let files = std::fs::read_dir(&directory).unwrap().count() as u64;
        match keep {
            None => assert_eq!(found.numbers, (0..20_000).collect()),
            Some(keep) => {
                let most = u64::from(keep) * SIZE + (512 << 10);
                assert!(found.blocks <= most, "{} bytes for {keep}", found.blocks);
                assert!(files <= u64::from(keep) + 1, "{files} files");
                assert!(found.numbers.contains(&19_999));
            }
        }
    }
}

/// Logs more than some files, while no new one can be made; says what the note gives as the
/// reason. All records are there.
fn continues_where_no_file_can_be_made(
    sink: Sink,
    directory: &Path,
    take: impl FnOnce(),
    give: impl FnOnce(),
) -> String {
    let options = logdef::options().sink(sink).rotate(SIZE);
    options.open(directory.join("log")).unwrap();
    log(0..100);
    take();
    log(100..4_000);
    assert_eq!(logdef::unwritten(), 0);
    give();
    log(4_000..8_000);
    assert_eq!(logdef::state().dropped, 0);
    logdef::close();
    let found = read(directory);
    assert_eq!(found.numbers, (0..8_000).collect());
    let told: BTreeSet<String> = found.notes.into_iter().collect();
    assert_eq!(told.len(), 1, "{told:?}");
    told.into_iter().next().unwrap()
}

/// The other reasons than descriptors for which no file can be made. In children, since one
/// of them gives up its rights.
fn other_reasons(all: &Path) {
    let under = |name: &str| {
        let directory = all.join(name);
        std::fs::create_dir(&directory).unwrap();
        directory
    };
    // SAFETY: has no preconditions.
    let is_root = unsafe { libc::geteuid() } == 0;
    if let Some(small) = tmpfs::mount_with(all, "size=64m,nr_inodes=40") {
        common::in_child(|| {
            let fillers = || (0..40).map(|n| small.join(format!("filler{n}")));
            let fill = || fillers().all(|path| std::fs::File::create(path).is_ok());
            let why = continues_where_no_file_can_be_made(
                Sink::Mapped,
                &small,
                || assert!(!fill(), "there are inodes left"),
                || fillers().for_each(|path| drop(std::fs::remove_file(path))),
            );
            assert!(why.contains("(errno 28)"), "{why}");
        });
    }
    let set_mode = |directory: &Path, mode| {
        let mode = std::os::unix::fs::PermissionsExt::from_mode(mode);
        std::fs::set_permissions(directory, mode).unwrap();
    };
    // Root gives up its rights first.
    for sink in [Sink::Mapped, Sink::Append] {
        let directory = under(&format!("read only {sink:?}"));
        common::in_child(|| {
            if is_root {
                set_mode(all, 0o755);
                std::os::unix::fs::chown(&directory, Some(65_534), None).unwrap();
                // SAFETY: gives up rights, in a child that only logs.
                assert_eq!(unsafe { libc::setuid(65_534) }, 0);
            }
            let why = continues_where_no_file_can_be_made(
                sink,
                &directory,
                || set_mode(&directory, 0o555),
                || set_mode(&directory, 0o755),
            );
            assert!(why.contains("(errno 13)"), "{why}");
        });
    }
    let directory = under("root's");
    if is_root {
        common::in_child(|| {
            let why = continues_where_no_file_can_be_made(
                Sink::Mapped,
                &directory,
                // SAFETY: gives up rights, in a child that only logs.
                || assert_eq!(unsafe { libc::seteuid(65_534) }, 0),
                // SAFETY: takes them back.
                || assert_eq!(unsafe { libc::seteuid(0) }, 0),
            );
            assert!(why.contains("(errno 13)"), "{why}");
        });
    }
}

/// The log grew by a file's size for each file that it keeps beyond those of which it still knows the
/// place in memory, 64: 34,828 KiB where it may have 25,600.
fn many_files_are_kept() {
    const KEEP: u64 = 100;
    const SIZE: u64 = 256 << 10;
    let directory = tempfile::tempdir().unwrap();
    common::in_child(|| {
        let options = logdef::options().sink(Sink::Mapped).rotate(SIZE);
        let options = options.keep(KEEP as u32);
        options.open(directory.path().join("log")).unwrap();
        log(0..30_000);
        common::limit_descriptors(0);
        log(30_000..60_000);
        assert_eq!(logdef::unwritten(), 0);
    });
    let found = read(directory.path());
    assert!(found.blocks <= (KEEP + 2) * SIZE, "{} bytes", found.blocks);
    let first = *found.numbers.first().unwrap();
    assert_eq!(found.numbers, (first..60_000).collect(), "from {first}");
    assert!(found.numbers.len() as u64 > KEEP * 200);
}

/// An appended log whose path cannot be opened again says so.
fn a_directory_stands_at_the_path() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("log");
    common::in_child(|| {
        logdef::options().sink(Sink::Append).open(&path).unwrap();
        log(0..10);
        std::fs::rename(&path, path.with_extension("1")).unwrap();
        std::fs::create_dir(&path).unwrap();
        logdef::reopen().unwrap();
        log(10..20);
        logdef::close();
    });
    std::fs::remove_dir(&path).unwrap();
    let found = read(directory.path());
    assert_eq!(found.numbers, (0..20).collect());
    assert_eq!(
        found.notes,
        ["no new file: a directory is there (errno 21)"]
    );
}
