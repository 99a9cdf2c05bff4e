//! `tests/c/wild.c`: what real programs and administrators do around a log, and what
//! the log must not do to them.

mod bounds;
mod opened;
mod pipes;
mod streams;

use crate::compilers::skip::skip;
use crate::compilers::{source, toolchains};
use crate::decode::{Message, Value, messages, records};
use crate::installed::{build, prefix};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::OnceLock;

/// The program, built once.
pub fn program() -> &'static Path {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    PROGRAM.get_or_init(|| build_stories("wild"))
}

/// Builds a program of stories.
pub fn build_stories(name: &str) -> PathBuf {
    let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let flags = ["-std=c11", "-D_GNU_SOURCE", "-O1", "-pthread"];
    let sources = [source(&format!("{name}.c"))];
    build(toolchains()[0].cc, &flags, &sources, &program);
    program
}

/// A story of the program's, to be run.
pub fn story(log: &Path, name: &str, more: &[&str]) -> Command {
    let mut command = Command::new(program());
    command.arg(log).arg(name).args(more);
    command.env_remove("LOGDEF").env_remove("LOGDEF_STDERR");
    command
}

pub fn succeeded(output: &Output) {
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}: {said}", output.status);
}

/// The files in a directory that are no links, by name.
pub fn files(directory: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(directory).unwrap();
    let mut files: Vec<_> = entries
        .map(|entry| entry.unwrap().path())
        .filter(|path| !path.is_symlink())
        .collect();
    files.sort();
    files
}

/// The first arguments of all records in these files, sorted. Nothing else is in them.
pub fn numbers(files: &[PathBuf]) -> Vec<i128> {
    let all = files.iter().flat_map(|file| messages(file));
    let mut numbers: Vec<_> = all.map(|message: Message| message.args[0].int()).collect();
    numbers.sort();
    numbers
}

/// Sinks as `logdef.h` numbers them.
pub const MAPPED: &str = "1";
pub const APPEND: &str = "2";

#[test]
fn a_program_without_standard_streams_does_not_print_into_its_log() {
    for (sink, file_size) in [(MAPPED, "0"), (MAPPED, "131072"), (APPEND, "0")] {
        let directory = tempfile::tempdir().unwrap();
        let log = directory.path().join("app.log");
        let mut command = Command::new("sh");
        command.args(["-c", "exec \"$0\" \"$@\" <&- >&- 2>&-"]);
        command.arg(program()).arg(&log);
        let output = command.args(["prints", sink, file_size]).output().unwrap();
        succeeded(&output);
        let numbers = numbers(&files(directory.path()));
        assert!(numbers.iter().copied().eq(0..2500), "{sink} {file_size}");
    }
}

#[test]
fn a_program_that_closes_everything_gets_no_low_descriptor_of_the_log() {
    let directory = tempfile::tempdir().unwrap();
    let log = directory.path().join("app.log");
    let status = story(&log, "closes", &[]).status().unwrap();
    assert!(status.success());
    let numbers = numbers(&files(directory.path()));
    assert!(numbers.iter().copied().eq(0..20000));
}

#[test]
fn files_that_logdef_did_not_write_survive_rotation() {
    let directory = tempfile::tempdir().unwrap();
    let log = directory.path().join("app.log");
    let strangers = [
        "app.log.1",
        "app.log.20261119",
        "app.log.20261120",
        "app.log.20261121",
        "app.log.1000000",
        "app.log.1700000000",
    ];
    for stranger in strangers {
        std::fs::write(directory.path().join(stranger), "a text log\n").unwrap();
    }
    succeeded(&story(&log, "rotates", &[MAPPED]).output().unwrap());
    for stranger in strangers {
        assert!(directory.path().join(stranger).exists(), "{stranger}");
    }
    let ours = files(directory.path());
    assert_eq!(ours.len(), strangers.len() + 4, "{ours:?}");
    let newest = std::fs::read_link(&log).unwrap();
    assert_eq!(
        newest.as_os_str().len(),
        "app.log.000000".len(),
        "{newest:?}"
    );
}

#[test]
fn processes_with_one_rotated_path_leave_each_others_files_alone() {
    let directory = tempfile::tempdir().unwrap();
    let log = directory.path().join("app.log");
    let mut slow = story(&log, "waits", &[MAPPED, "131072", "2"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut done = BufReader::new(slow.stdout.take().unwrap()).lines();
    let mut go = slow.stdin.take().unwrap();
    writeln!(go, "go").unwrap();
    done.next().unwrap().unwrap();
    let of_slow = files(directory.path());
    for _ in 0..3 {
        succeeded(&story(&log, "rotates", &[MAPPED]).output().unwrap());
    }
    for file in &of_slow {
        assert!(file.exists(), "{file:?}");
    }
    assert!(numbers(&of_slow).into_iter().eq(0..1000));
    drop(go);
    assert!(slow.wait().unwrap().success());
    // No process writes to any of them now: four are kept.
    succeeded(&story(&log, "rotates", &[MAPPED]).output().unwrap());
    assert_eq!(files(directory.path()).len(), 4);
}

#[test]
fn two_hundred_processes_that_start_at_once_all_get_a_log() {
    let directory = tempfile::tempdir().unwrap();
    let log = directory.path().join("app.log");
    let starters: Vec<_> = (0..200)
        .map(|_| story(&log, "starts", &[]).spawn().unwrap())
        .collect();
    for mut starter in starters {
        assert!(starter.wait().unwrap().success());
    }
    let files = files(directory.path());
    assert_eq!((files.len(), numbers(&files).len()), (200, 200));
}

#[test]
fn a_users_link_is_followed_and_stays() {
    for sink in [MAPPED, APPEND] {
        let directory = tempfile::tempdir().unwrap();
        let data = directory.path().join("data");
        std::fs::create_dir(&data).unwrap();
        let log = directory.path().join("app.log");
        std::os::unix::fs::symlink("data/real.log", &log).unwrap();
        succeeded(&story(&log, "logs", &[sink]).output().unwrap());
        assert_eq!(
            std::fs::read_link(&log).unwrap(),
            Path::new("data/real.log")
        );
        assert_eq!(files(&data), [data.join("real.log")]);
        assert!(numbers(&files(&data)).into_iter().eq(0..10), "{sink}");
    }
}

#[test]
fn standard_output_by_name_is_a_stream() {
    let directory = tempfile::tempdir().unwrap();
    let link = directory.path().join("docker.log");
    std::os::unix::fs::symlink("/dev/stdout", &link).unwrap();
    for path in ["/dev/stdout", "/proc/self/fd/1", "/dev/fd/1"] {
        for path in [Path::new(path), &link] {
            let into = directory.path().join("redirected.log");
            let redirected = std::fs::File::create(&into).unwrap();
            let status = story(path, "logs", &["0"]).stdout(redirected).status();
            assert!(status.unwrap().success(), "{path:?}");
            assert!(numbers(&[into]).into_iter().eq(0..10), "{path:?}");
        }
    }
    assert_eq!(std::fs::read_link(&link).unwrap(), Path::new("/dev/stdout"));
    let mapped = story(Path::new("/dev/stdout"), "logs", &[MAPPED]).output();
    let said = String::from_utf8(mapped.unwrap().stderr).unwrap();
    assert_eq!(said, format!("errno {}\n", libc::EINVAL));
}

/// A shell with mounts of its own, which runs a script.
fn in_namespace(script: &str) -> Command {
    let mut command = Command::new("unshare");
    command.args(["-m", "sh", "-e", "-c", script, "sh"]);
    command
}

/// Whether the machine allows what a script mounts in the directory `DIR`. Asked by itself: a story that fails there
/// is no reason to leave a test out.
fn may_mount(script: &str, directory: &Path) -> bool {
    let output = in_namespace(script).env("DIR", directory).output();
    let may = output.as_ref().is_ok_and(|output| output.status.success());
    if !may {
        skip(format_args!("no mounts of a test's own here: {output:?}"));
    }
    may
}

/// As root `/dev` could be written to: in a mount namespace of its own.
#[test]
fn a_link_in_dev_is_not_replaced() {
    let directory = tempfile::tempdir().unwrap();
    let into = directory.path().join("redirected.log");
    let mounts = "mount -t tmpfs none /dev\n";
    if !may_mount(mounts, directory.path()) {
        return;
    }
    let script = "ln -s /proc/self/fd/1 /dev/stdout
        \"$@\" >\"$INTO\"
        test \"$(readlink /dev/stdout)\" = /proc/self/fd/1";
    let output = in_namespace(&[mounts, script].concat())
        .arg(program())
        .args(["/dev/stdout", "logs", "0"])
        .env("INTO", &into)
        .env("LD_LIBRARY_PATH", prefix().join("lib"))
        .output();
    succeeded(&output.unwrap());
    assert!(numbers(&[into]).into_iter().eq(0..10));
}

#[test]
fn an_appended_log_keeps_its_bound() {
    let directory = tempfile::tempdir().unwrap();
    let log = directory.path().join("app.log");
    succeeded(&story(&log, "records", &[APPEND]).output().unwrap());
    let kept = files(directory.path());
    let size = |file: &PathBuf| std::fs::metadata(file).unwrap().len();
    assert_eq!(kept.len(), 8, "{kept:?}");
    assert!(kept.iter().map(size).sum::<u64>() <= 1 << 20);
    let numbers = numbers(&kept);
    assert!(numbers.iter().copied().eq(numbers[0]..100_000));
    assert_eq!(
        std::fs::canonicalize(&log).unwrap(),
        std::fs::canonicalize(&kept[7]).unwrap()
    );
    // Rotated files are files: a pipe has none.
    let output = story(Path::new("/dev/stdout"), "records", &[APPEND]).output();
    let output = output.unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    let why = format!("(errno {})\n", libc::EINVAL);
    assert!(!output.status.success() && said.ends_with(&why), "{said}");
}

#[test]
fn an_appended_log_that_was_removed_continues_in_another_file() {
    let directory = tempfile::tempdir().unwrap();
    let log = directory.path().join("app.log");
    succeeded(&story(&log, "survives", &[]).output().unwrap());
    assert!(numbers(&[log]).into_iter().eq(0..10));
}

#[test]
fn files_to_keep_without_a_size_are_refused() {
    let directory = tempfile::tempdir().unwrap();
    succeeded(
        &story(&directory.path().join("app.log"), "keeps", &[])
            .output()
            .unwrap(),
    );
}

/// Microseconds from the begin of an opening to a fork.
const DELAYS: [i32; 8] = [0, 50, 100, 200, 400, 800, 1600, 3200];

/// The numbers in a log and in that of a child which was forked then, if it has one, and whether the child logged to
/// the first.
fn forked(delay: i32, just_logs: bool) -> (Vec<i128>, Option<Vec<i128>>, bool) {
    let directory = tempfile::tempdir().unwrap();
    let log = directory.path().join("app.log");
    let delay = delay.to_string();
    let just_logs = u8::from(just_logs).to_string();
    // No digest is remembered, which makes opening take longer.
    let mut command = story(&log, "forks", &[&delay, &just_logs]);
    let command = command.env("XDG_CACHE_HOME", directory.path().join("none"));
    let is_parents = printed(&command.output().unwrap()) == [1];
    let child = directory.path().join("app.log.child.log");
    let of_child = child.exists().then(|| numbers(&[child]));
    (numbers(&[log]), of_child, is_parents)
}

#[test]
fn a_child_forked_while_another_thread_opens_the_log_can_log() {
    for delay in DELAYS {
        let (log, of_child, _) = forked(delay, false);
        assert!(log.into_iter().eq(0..10), "{delay}");
        assert!(of_child.unwrap().into_iter().eq(0..10), "{delay}");
    }
}

/// A fork waits for an opening that has begun, and the child's calls are in that log. Those of a child that was forked
/// before are kept until it opens one.
#[test]
fn a_child_that_just_logs_has_its_calls_in_its_parents_log_or_keeps_them() {
    for delay in [&[-1, 1_000_000], &DELAYS[..]].concat() {
        let (log, of_child, is_parents) = forked(delay, true);
        assert_ne!((delay, is_parents), (-1, true));
        assert_ne!((delay, is_parents), (1_000_000, false));
        if is_parents {
            assert!(log.into_iter().eq(0..20), "{delay}");
            assert_eq!(of_child, None, "{delay}");
        } else {
            assert!(log.into_iter().eq(0..10), "{delay}");
            assert!(of_child.unwrap().into_iter().eq(10..20), "{delay}");
        }
    }
}

#[test]
fn the_mirror_does_not_write_to_what_took_the_number_of_standard_error() {
    let directory = tempfile::tempdir().unwrap();
    let database = directory.path().join("database");
    let log = directory.path().join("app.log");
    let mut command = story(&log, "mirrors", &[database.to_str().unwrap()]);
    let output = command.env("LOGDEF_STDERR", "1").output().unwrap();
    succeeded(&output);
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(
        said.contains("shown 1") && !said.contains("shown 2"),
        "{said}"
    );
    assert_eq!(std::fs::read(database).unwrap(), b"");
    assert_eq!(messages(&log).len(), 2);
}

/// The texts of a log's notes, with their kinds.
fn notes(log: &Path) -> Vec<(i128, String)> {
    let notes = records(log).into_iter().filter(|record| record.tag == 6);
    let text = |note: crate::decode::Record| {
        let text = note.field(3).unwrap().raw().to_vec();
        (
            note.field(1).unwrap().int(),
            String::from_utf8(text).unwrap(),
        )
    };
    notes.map(text).collect()
}

#[test]
fn a_wrong_setting_of_the_environment_is_printed_and_noted() {
    let directory = tempfile::tempdir().unwrap();
    let log = directory.path().join("app.log");
    let mut command = story(&log, "logs", &["0"]);
    let command = command.env("LOGDEF", "info,x=bogus");
    let command = command.env("LOGDEF_CTL", "true");
    let output = command.env("LOGDEF_STDERR", "bogus").output().unwrap();
    succeeded(&output);
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(numbers(std::slice::from_ref(&log)).into_iter().eq(0..10));
    let notes = notes(&log);
    let words = [
        "LOGDEF_CTL: `true`",
        "LOGDEF_STDERR: `bogus`",
        "LOGDEF: `x=bogus`",
    ];
    assert_eq!(notes.len(), words.len(), "{notes:?}");
    for ((kind, text), word) in notes.iter().zip(words) {
        assert!(*kind == 11 && text.starts_with(word), "{text}");
        assert!(said.contains(&format!("logdef: {text}\n")), "{said}");
    }
}

/// Whether the log of a program is mapped on an overlay in a mount namespace of its own, above a tmpfs or the file
/// system of the build. `None` if there can be none.
fn is_mapped_on_overlay(above_tmpfs: bool) -> Option<bool> {
    let make_directory = || {
        let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        for name in ["lower", "disk", "merged"] {
            std::fs::create_dir(directory.path().join(name)).unwrap();
        }
        directory
    };
    let disk = if above_tmpfs {
        "mount -t tmpfs none disk\n"
    } else {
        ""
    };
    let overlay = "mkdir disk/upper disk/work
        mount -t overlay overlay -o lowerdir=lower,upperdir=disk/upper,workdir=disk/work merged\n";
    let mounts = ["cd \"$DIR\"\n", disk, overlay].concat();
    if !may_mount(&mounts, make_directory().path()) {
        return None;
    }
    let directory = make_directory();
    let script = "\"$@\"\ncp disk/upper/app.log app.log";
    let output = in_namespace(&[&mounts, script].concat())
        .arg(program())
        .arg(directory.path().join("merged/app.log"))
        .args(["says_why", "0"])
        .env("DIR", directory.path())
        .output()
        .unwrap();
    succeeded(&output);
    let log = directory.path().join("app.log");
    assert_eq!(numbers(std::slice::from_ref(&log)), [0]);
    let notes = notes(&log);
    assert!(notes.len() == 1 && notes[0].0 == 10, "{notes:?}");
    let is_mapped = notes[0].1.starts_with("mapped: overlayfs");
    let said = format!("{} {}\n", u8::from(is_mapped), notes[0].1);
    assert_eq!(String::from_utf8_lossy(&output.stdout), said);
    Some(is_mapped)
}

/// It is mapped above ext4 and XFS, and not above what does not say that it keeps what is reserved.
#[test]
fn an_overlay_is_mapped_where_it_keeps_what_is_reserved() {
    let is_mapped = is_mapped_on_overlay(false);
    assert_ne!(is_mapped, Some(false), "above the file system of the build");
    assert_ne!(is_mapped_on_overlay(true), Some(true), "above tmpfs");
}

#[test]
fn a_log_that_is_renamed_and_reopened_loses_nothing() {
    for sink in [MAPPED, APPEND] {
        let directory = tempfile::tempdir().unwrap();
        let log = directory.path().join("app.log");
        succeeded(&story(&log, "reopens", &[sink]).output().unwrap());
        let files = files(directory.path());
        // The empty files that others made are gone, or are the log's.
        let names = ["app.log", "app.log-1", "app.log-2", "app.log-3"];
        let expected: Vec<_> = names.map(|name| directory.path().join(name)).into();
        assert_eq!(files, expected, "{sink}");
        assert!(numbers(&files).into_iter().eq(0..200_008), "{sink}");
    }
}

#[test]
fn a_program_can_ask_what_its_log_is_doing() {
    let directory = tempfile::tempdir().unwrap();
    succeeded(
        &story(&directory.path().join("app.log"), "asks", &[])
            .output()
            .unwrap(),
    );
}

/// What a story printed, as numbers.
fn printed(output: &Output) -> Vec<i128> {
    succeeded(output);
    let words = String::from_utf8_lossy(&output.stdout);
    let words = words.split_whitespace();
    words.map(|word| word.parse().unwrap()).collect()
}

/// How many calls the notes of some files say were dropped, and the records besides.
fn counted(files: &[PathBuf]) -> i128 {
    let records = files.iter().flat_map(|file| records(file));
    let noted = records.filter(|record| record.tag == 6 && record.field(1) == Some(&Value::Int(8)));
    let noted = noted.map(|note| note.field(14).unwrap().int()).max();
    let of_records = files.iter().flat_map(|file| messages(file));
    let of_records = of_records.map(|message| message.dropped).sum();
    noted.unwrap_or(0).max(of_records)
}

/// Every thread of a log that had to rotate then dropped its calls for a second, and a program that
/// had ended by then left no trace of them.
#[test]
fn a_log_loses_nothing_while_there_are_no_descriptors_and_counts_what_a_bound_takes() {
    for sink in [MAPPED, APPEND] {
        for (files_kept, ends) in [
            ("0", "20000"),
            ("0", "-1"),
            ("1000", "20000"),
            ("1000", "-1"),
        ] {
            let directory = tempfile::tempdir().unwrap();
            let log = directory.path().join("app.log");
            let output = story(&log, "lacks", &[sink, files_kept, ends]).output();
            let dropped = printed(&output.unwrap())[0];
            let files = files(directory.path());
            let numbers = numbers(&files);
            let case = format!("{sink} {files_kept} {ends}: {dropped} dropped");
            assert_eq!(numbers.len() as i128 + dropped, 40_000, "{case}");
            // Without an end of the log the count is written at 1, 16, 256 and so on.
            let counted = counted(&files);
            let least = if ends == "-1" { dropped / 16 } else { dropped };
            assert!(
                (least..=dropped).contains(&counted),
                "{case}, {counted} counted"
            );
            // Only where a new file is all that could take them.
            let may_drop = (sink, files_kept) == (APPEND, "1000");
            assert!(dropped == 0 || may_drop, "{case}");
        }
    }
}

#[test]
fn a_program_can_ask_what_is_wrong_with_its_log() {
    for sink in [MAPPED, APPEND] {
        let directory = tempfile::tempdir().unwrap();
        let log = directory.path().join("app.log");
        let output = story(&log, "suffers", &[sink]).output().unwrap();
        let [called, dropped] = printed(&output)[..] else {
            panic!("{output:?}");
        };
        let files = files(directory.path());
        assert_eq!(numbers(&files).len() as i128 + dropped, called);
        assert_eq!(counted(&files), dropped);
    }
    // A sink that was asked for needs no reason; the test of overlays has one that does.
    let directory = tempfile::tempdir().unwrap();
    let log = directory.path().join("app.log");
    for (sink, expected) in [(MAPPED, "1 \n"), (APPEND, "0 \n")] {
        let output = story(&log, "says_why", &[sink]).output().unwrap();
        succeeded(&output);
        assert_eq!(String::from_utf8_lossy(&output.stdout), expected);
    }
}

/// SIGXFSZ ended it when a digest, the page of `ctl` or a line on standard error was written.
#[test]
fn a_program_whose_files_may_have_no_byte_is_not_ended() {
    for sink in [MAPPED, APPEND] {
        let directory = tempfile::tempdir().unwrap();
        let log = directory.path().join("app.log");
        let story = story(&log, "says_why", &[sink]);
        let output = Command::new("sh")
            .args(["-c", "ulimit -f 0; exec \"$@\"", "sh"])
            .arg(story.get_program())
            .args(story.get_args())
            .env("LOGDEF_CTL", "1")
            .env("LOGDEF_STDERR", "info")
            .env("XDG_CACHE_HOME", directory.path())
            .stderr(std::fs::File::create(directory.path().join("said")).unwrap())
            .output()
            .unwrap();
        succeeded(&output);
        assert!(
            output
                .stdout
                .starts_with(if sink == MAPPED { b"1" } else { b"0" })
        );
    }
}

#[test]
fn calls_before_the_log_is_open_are_shown_and_those_of_a_daemon_are_written() {
    let directory = tempfile::tempdir().unwrap();
    let log = directory.path().join("app.log");
    let mut never_open = story(&log, "early", &["0"]);
    let output = never_open.env("LOGDEF_STDERR", "info").output().unwrap();
    succeeded(&output);
    let said = String::from_utf8_lossy(&output.stderr);
    let ends: Vec<_> = said.lines().map(|line| &line[line.len() - 7..]).collect();
    assert_eq!(ends, ["early 0", "early 1"], "{said}");
    assert!(!log.exists());

    let output = story(&log, "early", &["1"]).output().unwrap();
    succeeded(&output);
    assert!(output.stderr.is_empty());
    assert!(numbers(std::slice::from_ref(&log)).into_iter().eq(0..3));
    // Each is shown once, that after the log was closed too.
    std::fs::remove_file(&log).unwrap();
    let mut shown = story(&log, "early", &["1"]);
    let output = shown.env("LOGDEF_STDERR", "info").output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(said.lines().count(), 4, "{said}");
}
