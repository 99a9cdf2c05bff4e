//! A log that keeps some files, and whose folder is moved away, gives up its oldest parts in the
//! file that it has: each as a whole, the oldest first, and none of the disk stays taken.

mod common;

use common::in_child;
use logdef::{Sink, logdef};
use std::collections::HashMap;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

struct Case {
    threads: u64,
    calls: u64,
    file_size: u64,
    keep: u32,
    helper: bool,
}

/// Sizes of files that are no multiple of a chunk's.
const CASES: [Case; 4] = [
    Case {
        threads: 1,
        calls: 60_000,
        file_size: 2_000_000,
        keep: 2,
        helper: false,
    },
    Case {
        threads: 4,
        calls: 30_000,
        file_size: 1_000_000,
        keep: 8,
        helper: false,
    },
    Case {
        threads: 3,
        calls: 60_000,
        file_size: 1_000_000,
        keep: 4,
        helper: true,
    },
    Case {
        threads: 3,
        calls: 200_000,
        file_size: 1_000_000,
        keep: 1,
        helper: true,
    },
];

/// Threads take what is ready in another order each time.
const ROUNDS: usize = 3;

fn log(case: &Case, folder: &Path) {
    let options = logdef::options()
        .sink(Sink::Mapped)
        .rotate(case.file_size)
        .keep(case.keep);
    let options = if case.helper {
        options.helper()
    } else {
        options
    };
    options.open(folder.join("log")).unwrap();
    std::fs::rename(folder, folder.with_extension("moved")).unwrap();
    std::thread::scope(|scope| {
        for thread in 0..case.threads {
            scope.spawn(move || {
                for number in 0..case.calls {
                    logdef!(Info, "%u of %u: %s", number, thread, "some more text");
                }
            });
        }
    });
    assert_eq!(logdef::state().dropped, 0);
    logdef::close();
}

/// The numbers of each thread that the only file holds, which is zeros and whole frames.
fn kept(bytes: &[u8]) -> HashMap<u64, Vec<u64>> {
    let mut kept: HashMap<u64, Vec<u64>> = HashMap::new();
    common::data(bytes, |data| {
        let args = data.args.unwrap();
        let mut args = args.iter().map(|arg| arg.as_uint());
        if let (Some(Some(number)), Some(Some(thread))) = (args.next(), args.next()) {
            kept.entry(thread).or_default().push(number);
        }
    });
    kept
}

fn check(case: &Case, file: &Path) {
    let kept = kept(&std::fs::read(file).unwrap());
    assert!(!kept.is_empty());
    for (thread, mut numbers) in kept {
        numbers.sort_unstable();
        let (first, last) = (numbers[0], numbers[numbers.len() - 1]);
        let missing = last + 1 - first - numbers.len() as u64;
        assert_eq!(missing, 0, "of thread {thread}, from {first} to {last}");
        assert_eq!(last, case.calls - 1, "of thread {thread}");
    }
    // Each thread may have its last chunk in a part that is given up, a quarter of it at most.
    let quarters = u64::from(case.keep) * 4 + case.threads + 1;
    let taken = std::fs::metadata(file).unwrap().blocks() * 512;
    let most = quarters * case.file_size / 4;
    assert!(taken <= most, "{taken} bytes of at most {most}");
}

#[test]
fn parts_of_a_file_are_given_up_as_files_are() {
    if !common::is_advice_followed() {
        return;
    }
    for case in CASES.iter().cycle().take(ROUNDS * CASES.len()) {
        let all = tempfile::tempdir().unwrap();
        let folder = all.path().join("logs");
        std::fs::create_dir(&folder).unwrap();
        in_child(|| log(case, &folder));
        check(case, &all.path().join("logs.moved/log.000001"));
    }
}
