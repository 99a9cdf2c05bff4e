//! The digest of the program's file is taken once, and found in the user's
//! cache directory from then on. Each run of this test program is a process of
//! its own.

use logdef_wire::{Record, frame};
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

const CHILD: &str = "LOGDEF_TEST_LOG";

/// The digest in the first preamble of a run with this cache directory.
fn digest_of_a_run(log: &Path, cache: &Path) -> [u8; 20] {
    let ran = Command::new(std::env::current_exe().unwrap())
        .args(["--ignored", "--exact", "a_child_logs"])
        .env(CHILD, log)
        .env("XDG_CACHE_HOME", cache)
        .output()
        .unwrap();
    assert!(ran.status.success(), "{ran:?}");
    let bytes = fs::read(log).unwrap();
    fs::remove_file(log).unwrap();
    let first = frame::decode(&bytes).unwrap();
    let Record::Preamble(preamble) = Record::decode(first.body).unwrap() else {
        panic!("no preamble");
    };
    preamble.digest.unwrap().try_into().unwrap()
}

#[test]
#[ignore = "child of the other test"]
fn a_child_logs() {
    let options = logdef::options().sink(logdef::Sink::Append);
    options.open(std::env::var_os(CHILD).unwrap()).unwrap();
    logdef::logdef!(Info, "hello");
}

#[test]
fn a_digest_is_remembered_as_long_as_the_file_is_the_same() {
    let directory = tempfile::tempdir().unwrap();
    let (log, cache) = (directory.path().join("log"), directory.path().join("cache"));

    // No cache directory: none is made.
    let right = digest_of_a_run(&log, &cache);
    assert!(!cache.exists());
    fs::create_dir(&cache).unwrap();
    let file = cache.join("logdef/digests");
    // A program that was built just now might be written again without notice: its digest
    // is not kept yet.
    let deadline = Instant::now() + Duration::from_secs(60);
    while !file.exists() {
        assert_eq!(digest_of_a_run(&log, &cache), right);
        assert!(Instant::now() < deadline, "no digest is kept");
    }
    let text = fs::read_to_string(&file).unwrap();
    assert_eq!(digest_of_a_run(&log, &cache), right);
    assert_eq!(fs::read_to_string(&file).unwrap(), text);

    // What is remembered is believed: that is what it is for.
    let hex: String = right.iter().map(|byte| format!("{byte:02x}")).collect();
    assert!(text.starts_with(&hex));
    let other = text.replacen(&hex, &"5a".repeat(20), 1);
    fs::write(&file, other).unwrap();
    assert_eq!(digest_of_a_run(&log, &cache), [0x5a; 20]);

    // Nonsense is not, and neither is a line about another state of the file.
    fs::write(&file, "nonsense").unwrap();
    assert_eq!(digest_of_a_run(&log, &cache), right);
    assert!(fs::read_to_string(&file).unwrap().starts_with(&hex));
    let stale = text
        .replacen(&hex, &"5a".repeat(20), 1)
        .replacen('.', ".1", 1);
    fs::write(&file, stale).unwrap();
    assert_eq!(digest_of_a_run(&log, &cache), right);
}
