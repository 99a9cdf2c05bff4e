//! What stands in the way of a forked child's first record, and goes away again: the child's records are there or
//! counted, and it logs as before. What a family wrote whose elders have all ended stays as long as a member
//! lives, within the bound.

mod common;
#[path = "common/tmpfs.rs"]
mod tmpfs;

use common::in_child;
use logdef::{Options, Sink, logdef};
use std::cell::Cell;
use std::collections::BTreeMap;
use std::io::{PipeReader, PipeWriter, Read};
use std::path::Path;

const TEXT: [u8; 1000] = [b'x'; 1000];

fn log(numbers: std::ops::Range<u64>) {
    for number in numbers {
        logdef!(Info, "%llu %s", number, str::from_utf8(&TEXT).unwrap());
    }
}

/// What the files of a log hold.
#[derive(Debug, Default)]
struct Found {
    /// How often each number was logged.
    numbers: BTreeMap<u64, u32>,
    /// How many others the records count as dropped.
    dropped: u64,
    files: u32,
}

fn read(directory: &Path) -> Found {
    let mut found = Found::default();
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap();
        if path.is_symlink() || !name.starts_with("log") {
            continue;
        }
        found.files += 1;
        common::data(&std::fs::read(&path).unwrap(), |data| {
            let number = data.args.unwrap().iter().next().unwrap();
            *found.numbers.entry(number.as_uint().unwrap()).or_default() += 1;
            found.dropped += data.dropped.unwrap_or(0);
        });
    }
    found
}

const FILE: u64 = 64 << 10;
/// Records of a child while the obstacle is there: more than a file holds.
const MEANWHILE: u64 = 100;
/// And when it is gone.
const AFTERWARDS: u64 = 100;
const OF_PARENT: u64 = 10;

/// A log that a child finds an obstacle at.
#[derive(Clone, Copy, Debug)]
struct Log {
    sink: Sink,
    is_rotated: bool,
    /// The child closes its descriptors first.
    closes: bool,
}

impl Log {
    fn all() -> impl Iterator<Item = Log> {
        (0..8).map(|nth| Log {
            sink: [Sink::Mapped, Sink::Append][nth & 1],
            is_rotated: nth & 2 > 0,
            closes: nth & 4 > 0,
        })
    }

    fn options(&self) -> Options {
        let options = logdef::options().sink(self.sink);
        if self.is_rotated {
            options.rotate(FILE)
        } else {
            options
        }
    }

    /// Takes something away before the child's first record, and gives it back later.
    fn check(&self, directory: &Path, take: impl Fn(), give: impl Fn()) {
        println!("{self:?}");
        in_child(|| {
            self.options().open(directory.join("log")).unwrap();
            log(0..OF_PARENT);
            in_child(|| {
                if self.closes {
                    // SAFETY: takes numbers; the log's are high, and the child uses no other descriptor.
                    unsafe { libc::close_range(64, u32::MAX, 0) };
                }
                take();
                log(OF_PARENT..OF_PARENT + MEANWHILE);
                give();
                self.logs_again(directory, OF_PARENT + MEANWHILE);
            });
            let before = read(directory).numbers.len();
            log(1_000_000..1_000_000 + OF_PARENT);
            assert_eq!(logdef::state().dropped, 0, "the parent, {self:?}");
            let after = read(directory).numbers.len();
            assert_eq!(after, before + OF_PARENT as usize, "{self:?}");
        });
    }

    /// In the child: from number `next` on.
    fn logs_again(&self, directory: &Path, next: u64) {
        let next = Cell::new(next);
        common::until_written(|| {
            log(next.get()..next.get() + 1);
            next.set(next.get() + 1);
        });
        let end = next.get() + AFTERWARDS;
        log(next.get()..end);
        let state = logdef::state();
        assert_eq!((logdef::unwritten(), state.errno), (0, None), "{self:?}");
        let found = read(directory);
        assert!(found.numbers.values().all(|times| *times == 1), "{self:?}");
        let is_there = |number: u64| found.numbers.contains_key(&number);
        assert!((0..OF_PARENT).all(is_there), "{self:?}");
        assert!((end - AFTERWARDS..end).all(is_there));
        let missing = end - found.numbers.len() as u64;
        let counted = (state.dropped, found.dropped);
        assert_eq!(counted, (missing, missing), "{self:?}: {found:?}");
    }
}

/// None of six records was there.
#[test]
fn a_child_logs_again_that_had_no_descriptors_at_its_first_record() {
    for each in Log::all() {
        let directory = tempfile::tempdir().unwrap();
        let before = Cell::new(0);
        let take = || before.set(common::limit_descriptors(0));
        let give = || assert_eq!(common::limit_descriptors(before.get()), 0);
        each.check(directory.path(), take, give);
    }
}

/// None of five records was there.
#[test]
fn a_child_logs_again_that_found_no_inode_at_its_first_record() {
    const INODES: u32 = 40;
    let all = tempfile::tempdir().unwrap();
    let options = format!("size=64m,nr_inodes={INODES}");
    let Some(small) = tmpfs::mount_with(all.path(), &options) else {
        return;
    };
    let fillers = || (0..INODES).map(|nth| small.join(format!("filler{nth}")));
    let take = || {
        let is_full = fillers().any(|path| std::fs::File::create(path).is_err());
        assert!(is_full, "there are inodes left");
    };
    let give = || fillers().for_each(|path| drop(std::fs::remove_file(path)));
    for each in Log::all() {
        each.check(&small, take, give);
        for entry in std::fs::read_dir(&small).unwrap() {
            std::fs::remove_file(entry.unwrap().path()).unwrap();
        }
    }
}

/// None of six records was there.
#[test]
fn a_child_logs_again_whose_folder_had_another_name_at_its_first_record() {
    for each in Log::all() {
        let all = tempfile::tempdir().unwrap();
        let [folder, other] = ["folder", "other"].map(|name| all.path().join(name));
        std::fs::create_dir(&folder).unwrap();
        let take = || std::fs::rename(&folder, &other).unwrap();
        let give = || std::fs::rename(&other, &folder).unwrap();
        each.check(&folder, take, give);
    }
}

const GENERATIONS: u64 = 40;
const OF_EACH: u64 = 40;
/// More than two files hold, and less than three do.
const OF_LAST: u64 = 150;
const KEPT: u32 = 4;

/// Leaves without running what the parent will run.
fn leave() -> ! {
    // SAFETY: has no preconditions.
    unsafe { libc::_exit(i32::from(logdef::state().dropped > 0)) }
}

/// Waits for all descendants, which come to this process when theirs end.
fn wait_for_all() {
    loop {
        let mut status = 0;
        // SAFETY: waits for any child of this process.
        if unsafe { libc::waitpid(-1, &raw mut status, 0) } < 0 {
            break;
        }
        assert_eq!(status, 0, "a member dropped a call, or died");
    }
}

/// The `nth` of a family, and all that come after it. The last lives until `go` is closed, and closes
/// `ready` when it has logged.
fn generation(nth: u64, ready: PipeWriter, mut go: PipeReader) -> ! {
    let start = nth * 1_000;
    if nth < GENERATIONS {
        log(start..start + OF_EACH);
        // SAFETY: the child logs and leaves, as this process does.
        match unsafe { libc::fork() } {
            0 => generation(nth + 1, ready, go),
            _ => leave(),
        }
    }
    log(start..start + OF_LAST);
    drop(ready);
    let _ = go.read(&mut [0]);
    log(start + OF_LAST..start + OF_LAST + 10);
    leave();
}

/// How many of the last member's first records are missing.
fn missing_of_last(directory: &Path, wrote: u64) -> usize {
    let found = read(directory);
    let start = GENERATIONS * 1_000;
    let missing = (start..start + wrote).filter(|number| !found.numbers.contains_key(number));
    missing.count()
}

fn the_last_of_a_family_keeps_its_files(sink: Sink, directory: &Path) {
    let options = || logdef::options().sink(sink).rotate(FILE);
    let path = directory.join("log");
    // SAFETY: takes numbers.
    let is_set = unsafe { libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1) };
    assert_eq!(is_set, 0);
    let (mut logged, ready) = std::io::pipe().unwrap();
    let (wait, go) = std::io::pipe().unwrap();
    // SAFETY: the child logs and leaves.
    if unsafe { libc::fork() } == 0 {
        drop(go);
        options().keep(KEPT).open(&path).unwrap();
        generation(0, ready, wait);
    }
    drop((ready, wait));
    assert_eq!(logged.read(&mut [0]).unwrap(), 0);
    let files = read(directory).files;
    assert!(files <= KEPT, "{sink:?}: {files} files");
    assert_eq!(missing_of_last(directory, OF_LAST), 0, "{sink:?}");
    // A program of another family, at the same path, that keeps as little as can be.
    in_child(|| {
        options().keep(1).open(&path).unwrap();
        log(1_000_000..1_001_000);
        assert_eq!(logdef::state().dropped, 0, "{sink:?}");
        logdef::close();
    });
    assert_eq!(missing_of_last(directory, OF_LAST), 0, "{sink:?}");
    drop(go);
    wait_for_all();
    assert_eq!(missing_of_last(directory, OF_LAST + 10), 0, "{sink:?}");
    let files = read(directory).files;
    assert!(files <= KEPT + 1, "{sink:?}: {files} files");
}

/// From the fifteenth on they had no file.
#[test]
fn a_family_whose_elders_end_at_once_keeps_what_its_last_member_wrote() {
    for sink in [Sink::Mapped, Sink::Append] {
        let directory = tempfile::tempdir().unwrap();
        in_child(|| the_last_of_a_family_keeps_its_files(sink, directory.path()));
    }
}
