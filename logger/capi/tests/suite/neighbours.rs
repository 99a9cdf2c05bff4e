//! `tests/c/neighbours.c`: what a log meets in its own process, and programs with pages
//! of 64 KiB.

use crate::compilers::toolchains;
use crate::copies::library_with_copy;
use crate::decode::{Message, messages};
use crate::wild::{APPEND, MAPPED, build_stories, files, numbers, story, succeeded};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

fn program() -> &'static Path {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    PROGRAM.get_or_init(|| build_stories("neighbours"))
}

fn run_story(log: &Path, name: &str, more: &[&str]) {
    let mut command = Command::new(program());
    command.arg(log).arg(name).args(more).env_remove("LOGDEF");
    succeeded(&command.output().unwrap());
}

#[test]
fn a_program_that_becomes_another_by_exec_leaves_its_records_beside_those_of_its_successor() {
    for (sink, file_size) in [(MAPPED, "0"), (MAPPED, "131072"), (APPEND, "0")] {
        let directory = tempfile::tempdir().unwrap();
        let log = directory.path().join("app.log");
        run_story(&log, "execs", &[sink, file_size, "0"]);
        let files = files(directory.path());
        assert_eq!(files.len(), if sink == APPEND { 1 } else { 3 });
        assert!(numbers(&files).into_iter().eq(0..3000), "{files:?}");
    }
}

#[test]
fn a_log_that_was_closed_opens_again_while_threads_log() {
    let directory = tempfile::tempdir().unwrap();
    let log = directory.path().join("app.log");
    run_story(&log, "cycles", &[]);
    let numbers = numbers(&files(directory.path()));
    assert_eq!(numbers.last(), Some(&299));
}

#[test]
fn memory_of_a_child_that_no_fork_handler_saw_stays_its_own() {
    let directory = tempfile::tempdir().unwrap();
    let log = directory.path().join("app.log");
    run_story(&log, "maps", &[]);
    assert!(numbers(&[log]).into_iter().eq(0..100_000));
}

/// A library whose copy of the logger looks for others under a name of its own, as that of
/// another version would.
fn library_of_another_version(directory: &Path) -> PathBuf {
    let library = library_with_copy(directory, "other");
    let mut bytes = std::fs::read(&library).unwrap();
    for name in ["logdef-v1", "logdef_meeting_v1"] {
        let places: Vec<usize> = (0..bytes.len() - name.len())
            .filter(|at| bytes[*at..].starts_with(name.as_bytes()))
            .collect();
        assert!(!places.is_empty(), "{name}");
        for at in places {
            bytes[at + name.len() - 1] = b'9';
        }
    }
    std::fs::write(&library, bytes).unwrap();
    library
}

#[test]
fn two_versions_in_a_process_have_a_log_each() {
    let directory = tempfile::tempdir().unwrap();
    let ours = library_with_copy(directory.path(), "ours");
    let other = library_of_another_version(directory.path());
    let [ours, other] = [&ours, &other].map(|library| library.to_str().unwrap());
    for (first, second) in [("a.log", "b.log"), ("one.log", "one.log")] {
        let [first, second] = [first, second].map(|name| directory.path().join(name));
        let paths = [&first, &second].map(|path| path.to_str().unwrap());
        run_story(&first, "versions", &[ours, paths[0], other, paths[1]]);
        // The earlier one's file makes room for the later one's.
        let of_first = if first == second {
            directory.path().join("one.log.000001")
        } else {
            first
        };
        for (log, name) in [(of_first, "ours"), (second, "other")] {
            let messages = messages(&log);
            let is_own = |message: &Message| message.format.starts_with(name);
            assert!(messages.iter().all(is_own), "{name}");
            let mut runs: Vec<_> = (messages.iter())
                .filter(|message| message.format == format!("{name} %d"))
                .map(|message| message.args[0].int())
                .collect();
            runs.sort();
            assert!(runs.into_iter().eq(-1..500), "{name}");
        }
    }
}

/// A library that makes programs see pages of 64 KiB where it is loaded before all others. Its path has no space,
/// which would make it two.
fn large_pages(directory: &Path) -> PathBuf {
    let library = directory.join("large_pages.so");
    let pages = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/pages/large_pages.c");
    let mut compiler = Command::new(toolchains()[0].cc);
    compiler.args(["-shared", "-fPIC", "-O1", "-o"]);
    let built = compiler.arg(&library).arg(pages).arg("-ldl").status();
    assert!(built.unwrap().success());
    library
}

#[test]
fn c_programs_log_with_pages_of_64_kib() {
    let directory = tempfile::tempdir().unwrap();
    let library = large_pages(directory.path());
    let with_large_pages = |log: &Path, name: &str, more: &[&str]| {
        let mut command = story(log, name, more);
        succeeded(&command.env("LD_PRELOAD", &library).output().unwrap());
    };
    let log = |name: &str| {
        let directory = directory.path().join(name);
        std::fs::create_dir(&directory).unwrap();
        directory.join("app.log")
    };
    let closes = log("closes");
    with_large_pages(&closes, "closes", &[]);
    let all = numbers(&files(closes.parent().unwrap()));
    assert!(all.into_iter().eq(0..20_000));
    let rotates = log("rotates");
    with_large_pages(&rotates, "rotates", &[MAPPED]);
    let kept = files(rotates.parent().unwrap());
    let newest = numbers(&kept);
    assert!(kept.len() == 4 && newest.iter().copied().eq(newest[0]..40_000));
    let forks = log("forks");
    with_large_pages(&forks, "forks", &["0", "0"]);
    assert!(numbers(&[forks]).into_iter().eq(0..10));
}
