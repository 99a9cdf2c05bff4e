//! What cannot be read, or not any more: it is said, and the exit status is not that of a clean log.

use crate::fixture::*;
use crate::skip::skip;
use logdef_wire::Run;
use std::fs::{self, Permissions};
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;

/// Runs the command as a user who owns nothing; `None` where that cannot be done.
fn as_another_user(files: &Files, words: &[&str]) -> Option<Done> {
    fs::set_permissions(files.path(), Permissions::from_mode(0o755)).unwrap();
    let mut command = command();
    command.current_dir(files.path()).args(words);
    let is_root = fs::metadata("/proc/self").unwrap().uid() == 0;
    let program = Path::new(env!("CARGO_BIN_EXE_logdef"));
    let may_enter = |folder: &Path| folder.metadata().is_ok_and(|it| it.mode() & 1 == 1);
    if !is_root || !program.ancestors().all(may_enter) {
        skip("only root can be another user, where others may run the program");
        return None;
    }
    Some(run(command.uid(65534).gid(65534), b""))
}

fn with_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

/// An archive of two parts, and the log that is in the second.
#[cfg(target_endian = "little")]
fn archive_of_two_parts(files: &Files) -> (PathBuf, PathBuf) {
    let kept = files.path().join("kept");
    let logs = [Run(1), Run(2)].map(|run| {
        let log = example_of(run, 11, EPOCH);
        let log = files.put(&format!("{}.log", run.0), &log.bytes);
        let done = self::run(command().arg("archive").arg("-o").arg(&kept).arg(&log), b"");
        assert_eq!(done.status, 0, "{}", done.err);
        log
    });
    let [_, log] = logs;
    (kept, log)
}

/// A part that had lost its table of records was no part: the archive was clean without it, and took
/// in the same records again.
#[cfg(target_endian = "little")]
#[test]
fn a_part_of_an_archive_that_lost_its_files_is_not_left_out() {
    type Damage = fn(&Path);
    let damages: [(&str, Damage); 4] = [
        ("records.parquet", |part| {
            fs::remove_file(part.join("records.parquet")).unwrap();
        }),
        ("records.parquet", |part| {
            fs::remove_dir_all(part).unwrap();
            symlink("elsewhere", part).unwrap();
        }),
        ("records.parquet", |part| {
            fs::remove_dir_all(part).unwrap();
            fs::create_dir(part).unwrap();
        }),
        ("images.parquet", |part| {
            fs::remove_file(part.join("images.parquet")).unwrap();
        }),
    ];
    for (missing, damage) in damages {
        let files = Files::new();
        let (kept, log) = archive_of_two_parts(&files);
        damage(&kept.join("part-000002"));
        for words in ["check {}", "view {}", "view --strict {}", "stats {}"] {
            let done = logdef(words, &kept);
            assert_eq!(done.status, 4, "{words}: {}", done.err);
            let why = format!("part-000002: {missing}: ");
            assert!(done.err.contains(&why), "{words}: {}", done.err);
            assert!(!done.out.contains("0002"), "{words}: {}", done.out);
        }
        assert_eq!(logdef("view {}/part-000001", &kept).status, 0);
        let alone = logdef("view {}/part-000002", &kept);
        assert_eq!(alone.status, 4);
        assert!(alone.err.contains(missing), "{}", alone.err);
        let added = run(command().arg("archive").arg("-o").arg(&kept).arg(log), b"");
        assert_eq!(added.status, 4, "{}", added.err);
        let why = format!("kept/part-000002: {missing}: ");
        assert!(added.err.contains(&why), "{}", added.err);
        assert!(!kept.join("part-000003").exists());
    }
}

#[cfg(target_endian = "little")]
#[test]
fn a_part_of_an_archive_that_another_user_closed_is_not_left_out() {
    let files = Files::new();
    let (kept, _) = archive_of_two_parts(&files);
    with_mode(&kept.join("part-000002"), 0);
    for words in [&["check", "kept"][..], &["view", "--strict", "kept"]] {
        let Some(done) = as_another_user(&files, words) else {
            return;
        };
        assert_eq!(done.status, 4, "{}", done.err);
        let why = "cannot read kept/part-000002: records.parquet: Permission denied";
        assert!(done.err.contains(why), "{}", done.err);
    }
    with_mode(&kept.join("part-000002"), 0o755);
}

#[cfg(target_endian = "little")]
#[test]
fn logs_with_names_of_parts_are_no_archive() {
    let files = Files::new();
    files.put("part-000001", &example().bytes);
    let other = example_of(Run(2), 22, EPOCH);
    files.put("part-2", &other.bytes);
    let done = logdef("view {}", files.path());
    assert_eq!((done.status, done.lines().len()), (0, 20), "{}", done.err);
}

/// Runs the command on `app.log` and other files, and does something when it has opened all of them: the
/// last is a pipe that it waits for.
fn interrupted(files: &Files, words: &str, then: impl FnOnce()) -> Done {
    let pipe = files.path().join("pipe");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status();
    assert!(made.unwrap().success());
    let mut command = std::process::Command::new("sh");
    command
        .arg("-c")
        .arg(format!("ulimit -n 64; exec \"$0\" {words}"))
        .arg(env!("CARGO_BIN_EXE_logdef"))
        .current_dir(files.path());
    let done = std::thread::spawn(move || run(&mut command, b""));
    let mut writer = fs::OpenOptions::new().write(true).open(&pipe).unwrap();
    then();
    let other = example_of(Run(99), 99, EPOCH + 1);
    writer.write_all(&other.bytes).unwrap();
    drop(writer);
    let done = done.join().unwrap();
    fs::remove_file(pipe).unwrap();
    done
}

/// `copytruncate`: what had been in the file was not there when it was read, and the log was clean.
#[test]
fn a_file_that_is_cut_while_it_is_read_is_not_clean() {
    let log = example();
    for kept in [0, log.frames[12].end as u64, log.frames[12].end as u64 + 3] {
        for (words, status) in [
            ("check app.log pipe", 3),
            ("view --strict app.log pipe", 3),
            ("view app.log pipe", 0),
            ("stats --strict app.log pipe", 3),
            ("merge app.log pipe -O merged.log", 0),
        ] {
            let files = Files::new();
            let path = files.put("app.log", &log.bytes);
            let file = fs::OpenOptions::new().write(true).open(&path).unwrap();
            let done = interrupted(&files, words, || file.set_len(kept).unwrap());
            assert_eq!(done.status, status, "{words} {kept}: {}", done.err);
            let said = done.out + &done.err;
            let why =
                format!("app.log: cut while it was read: its bytes from {kept:#x} on are gone");
            assert!(said.contains(&why), "{words} {kept}: {said}");
            if words.starts_with("merge") {
                assert_eq!(logdef("check {}/merged.log", files.path()).status, 3);
            }
        }
    }
}

/// More files than a process may have open are opened again for each read: that of one that was removed
/// ended the command, and those after it were not shown.
#[test]
fn a_file_that_is_removed_while_few_may_be_open_ends_nothing() {
    for words in ["view --strict *.log pipe", "check *.log pipe"] {
        let files = Files::new();
        for number in 0..60 {
            let log = example_of(Run(number), number, EPOCH + number);
            files.put(&format!("{number:02}.log"), &log.bytes);
        }
        let removed = files.path().join("50.log");
        let done = interrupted(&files, words, || fs::remove_file(removed).unwrap());
        assert_eq!(done.status, 3, "{words}: {}", done.err);
        let said = format!("{}{}", done.out, done.err);
        assert!(said.contains("50.log: bytes 0x0.."), "{words}: {said}");
        assert!(said.contains("cannot be read, or not any more"), "{said}");
        if words.starts_with("view") {
            assert_eq!(done.lines().len(), 600, "{words}");
        }
    }
}

/// They were passed over without a word: the folder was clean without them.
#[test]
fn logs_of_a_folder_that_cannot_be_examined_are_not_left_out() {
    let files = Files::new();
    files.put("logs/a.log", &example().bytes);
    files.put("secret/log", &example_of(Run(2), 22, EPOCH).bytes);
    files.put("listed/o.log", &example().bytes);
    let folder = |name: &str| files.path().join(name);
    let link = folder("logs/app.log");
    let refused = |words: &[&str], done: &Done, why: &str| {
        assert_eq!(done.status, 4, "{words:?}: {}", done.err);
        assert!(done.err.contains(why), "{words:?}: {}", done.err);
    };
    for (target, why) in [
        ("../nothing", "no such file"),
        ("app.log", "symbolic links"),
    ] {
        symlink(target, &link).unwrap();
        for words in ["check {}", "view {}", "view {}/*.log"] {
            let done = logdef(words, &folder("logs"));
            refused(&[words], &done, "logs/app.log");
            refused(&[words], &done, why);
        }
        fs::remove_file(&link).unwrap();
    }
    symlink("../secret/log", &link).unwrap();
    assert_eq!(logdef("check {}", &folder("logs")).status, 0);
    with_mode(&folder("secret"), 0o700);
    with_mode(&folder("listed"), 0o744);
    for (words, why) in [
        (&["check", "logs"][..], "logs/app.log: no permission"),
        (&["view", "listed"], "listed/o.log: no permission"),
    ] {
        let Some(done) = as_another_user(&files, words) else {
            return;
        };
        refused(words, &done, why);
    }
}

/// The newest file of a log may be removed by rotation while the folder is read, before its link leads to
/// the next.
#[test]
fn a_link_to_a_rotated_file_that_was_removed_is_no_loss() {
    let files = Files::new();
    files.put("app.log.000002", &example().bytes);
    symlink("app.log.000001", files.path().join("app.log")).unwrap();
    for words in ["check {}", "view --strict {}", "view --strict {}/app*"] {
        let done = logdef(words, files.path());
        assert_eq!((done.status, &*done.err), (0, ""), "{words}");
    }
}

/// Reading a pipe waits for a program that writes to it.
#[test]
fn a_pattern_names_no_pipes() {
    let files = Files::new();
    files.put("a.log", &example().bytes);
    let pipe = files.path().join("f.log");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status();
    assert!(made.unwrap().success());
    let done = logdef("check {}/*.log", files.path());
    assert_eq!((done.status, &*done.err), (0, ""), "{}", done.out);
}

/// The command waited without a word.
#[test]
fn what_cannot_be_followed_yet_is_said() {
    let files = Files::new();
    let folder = files.path().join("logs");
    fs::create_dir(&folder).unwrap();
    for (word, why) in [
        ("logs", "no log in directory"),
        ("logs/nothing*.log", "no file matches"),
    ] {
        let mut command = command();
        command
            .current_dir(files.path())
            .args(["view", "--follow", "--head", "1", "-o", "raw", word])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut line = String::new();
        let mut said = BufReader::new(child.stderr.take().unwrap());
        said.read_line(&mut line).unwrap();
        assert!(line.contains(why) && line.contains(word), "{line}");
        let log = files.put("logs/nothing.log", &example().bytes);
        assert!(child.wait().unwrap().success());
        line.clear();
        said.read_to_string(&mut line).unwrap();
        assert_eq!(line, "");
        fs::remove_file(log).unwrap();
    }
}

/// The status was that of a list without gaps.
#[test]
fn a_list_of_processes_lacks_those_of_logs_that_cannot_be_read() {
    let files = Files::new();
    files.put("a.log", &example().bytes);
    symlink("nothing", files.path().join("c.log")).unwrap();
    for words in [
        &["ctl", "."][..],
        &["ctl", "a.log", "c.log"],
        &["ctl", "list"],
    ] {
        let done = run(command().current_dir(files.path()).args(words), b"");
        assert_eq!(done.status, 4, "{words:?}: {}", done.err);
        assert!(done.err.contains("c.log: no such file"), "{}", done.err);
        assert!(done.out.contains("pid 77"), "{words:?}: {}", done.out);
    }
    fs::create_dir(files.path().join("empty")).unwrap();
    assert_eq!(logdef("ctl {}/empty", files.path()).status, 0);
    with_mode(&files.path().join("empty"), 0o700);
    if let Some(done) = as_another_user(&files, &["ctl", "empty"]) {
        assert_eq!(done.status, 4, "{}", done.err);
    }
}

/// A log that was just begun was no log, while an empty file was one.
#[test]
fn a_log_of_zeros_is_a_log_of_nothing() {
    let files = Files::new();
    let path = files.put("app.log", &[0; 32768]);
    for words in ["view {}", "view --strict {}"] {
        let done = logdef(words, &path);
        assert_eq!(
            (done.status, &*done.out, &*done.err),
            (0, "", ""),
            "{words}"
        );
    }
    for words in ["check {}", "stats {}", "merge {} -O {}.merged"] {
        let done = logdef(words, &path);
        assert_eq!(done.status, 0, "{words}: {}", done.err);
    }
    // A log does not begin with another byte.
    let mut bytes = [0; 32768];
    bytes[20_000] = b'x';
    let done = logdef("view {}", &files.put("x.log", &bytes));
    assert!(done.status == 4 && done.err.contains("no frame in"));
}

#[test]
fn a_variable_that_is_set_to_nothing_is_not_set() {
    let files = Files::new();
    let path = files.put("app.log", &example().bytes);
    let usual = logdef("view {}", &path);
    for name in [
        "LOGDEF_OUTPUT",
        "LOGDEF_TIME",
        "LOGDEF_BACKTRACE",
        "LOGDEF_ZONE",
        "LOGDEF_SPOOL",
        "LOGDEF_IMAGE_DIR",
        "LOGDEF_DEBUG_DIR",
        "LOGDEF_HYPERLINKS",
        "LOGDEF_PAGER",
    ] {
        let done = run(command().env(name, "").arg("view").arg(&path), b"");
        assert_eq!((done.status, &*done.err), (0, ""), "{name}");
        assert_eq!(done.out, usual.out, "{name}");
        let wrong = run(command().env(name, "\u{1}").arg("view").arg(&path), b"");
        let has_values = !["DIR", "LINKS", "PAGER"]
            .iter()
            .any(|end| name.ends_with(end));
        assert_eq!(wrong.status == 2, has_values, "{name}: {}", wrong.err);
    }
}

/// Records know no time after 2554.
#[test]
fn a_time_behind_all_records_limits_nothing() {
    let files = Files::new();
    let path = files.put("app.log", &example().bytes);
    for (words, lines) in [
        ("view --until 9999-12-31 {}", 10),
        ("view --since 2554-07-22 {}", 0),
    ] {
        let done = logdef(words, &path);
        assert_eq!((done.status, &*done.err), (0, ""), "{words}");
        assert_eq!(done.lines().len(), lines, "{words}");
    }
}
