//! `view --follow`: logs that grow.

use crate::fixture::*;
use rustix::process::{Pid, Signal, kill_process};
use std::fs::OpenOptions;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdout, Stdio};

/// A command that follows, and its lines.
struct Following {
    child: Child,
    lines: std::io::Lines<BufReader<ChildStdout>>,
}

impl Following {
    fn new(words: &str, path: &std::path::Path) -> Following {
        let mut child = command()
            .args(["view", "-o", "raw", "--follow"])
            .args(words.split_whitespace())
            .arg(path)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        Following { child, lines }
    }

    fn line(&mut self) -> String {
        self.lines.next().unwrap().unwrap()
    }
}

impl Drop for Following {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn what_is_appended_comes_whole_and_with_its_strings() {
    let log = example();
    let files = Files::new();
    let half = log.frames[12].start + 10;
    let path = files.put("app.log", &log.bytes[..half]);
    let mut following = Following::new("--tail 1", &path);
    assert_eq!(following.line(), "accepted alpha:2");
    let mut file = OpenOptions::new().append(true).open(&path).unwrap();
    file.write_all(&log.bytes[half..]).unwrap();
    assert_eq!(following.line(), "took 1.500 ms");
    assert_eq!(following.line(), "accepted alpha:4");
}

/// `logdef view -f app.log | head -1` stayed until the program logged again.
#[test]
fn it_ends_with_the_reader_of_its_output() {
    let files = Files::new();
    let path = files.put("app.log", &example().bytes);
    let mut following = Following::new("--tail 1", &path);
    following.line();
    let Following { child, lines } = &mut following;
    let (nothing, _) = std::io::pipe().unwrap();
    let nothing = ChildStdout::from(std::os::fd::OwnedFd::from(nothing));
    *lines = BufReader::new(nothing).lines();
    assert!(child.wait().unwrap().success());
}

#[test]
fn a_file_that_is_not_there_yet_is_waited_for() {
    let files = Files::new();
    let path = files.path().join("app.log");
    let mut following = Following::new("--head 1 --grep took", &path);
    std::fs::write(&path, example().bytes).unwrap();
    assert_eq!(following.line(), "took 0.500 ms");
    assert!(following.lines.next().is_none(), "it ends at the head");
    assert_eq!(following.child.wait().unwrap().code(), Some(0));
}

/// It once waited for a record, of which it then showed none.
#[test]
fn a_follower_that_wants_no_record_ends() {
    let files = Files::new();
    let path = files.put("app.log", b"");
    let done = logdef("view --follow --head 0 {}", &path);
    assert_eq!((done.status, &*done.out), (0, ""), "{}", done.err);
}

#[test]
fn rotation_is_followed() {
    let files = Files::new();
    let path = files.put("app.log", &example().bytes);
    let mut following = Following::new("--tail 1", &path);
    assert_eq!(following.line(), "accepted beta:9");
    std::fs::rename(&path, files.path().join("app.log.1")).unwrap();
    let next = example_of(logdef_wire::Run(9), 9, EPOCH + 100 * SECOND);
    std::fs::write(&path, next.bytes).unwrap();
    assert_eq!(following.line(), "accepted alpha:0");
}

#[test]
fn standard_input_cannot_be_followed() {
    let done = run(command().args(["view", "--follow", "-"]), b"");
    assert_eq!(done.status, 2);
    assert!(done.err.contains("--follow needs files"));
}

#[test]
fn a_folder_is_followed_through_links_and_children_without_copies() {
    let files = Files::new();
    files.put("app.log.000001", &example().bytes);
    let link = files.path().join("app.log");
    std::os::unix::fs::symlink("app.log.000001", &link).unwrap();
    for path in [files.path(), &link] {
        let mut following = Following::new("--tail 1", path);
        assert_eq!(following.line(), "accepted beta:9");
        let epoch = EPOCH + 100 * SECOND;
        let child = files.path().join("app.log.77-1");
        std::fs::write(&child, example_of(logdef_wire::Run(9), 9, epoch).bytes).unwrap();
        let lines: Vec<_> = (0..10).map(|_| following.line()).collect();
        assert_eq!(lines[9], "accepted beta:9");
        std::fs::remove_file(&child).unwrap();
    }
}

/// A tail is of all files, whichever is read first.
#[test]
fn following_begins_with_the_last_records_of_all_files() {
    let files = Files::new();
    let late = example_of(logdef_wire::Run(1), 1, EPOCH);
    files.put("a.log", &late.bytes);
    files.put(
        "b.log",
        &example_of(logdef_wire::Run(2), 2, EPOCH - SECOND / 2).bytes,
    );
    let mut following = Following::new("--tail 3", files.path());
    let lines: Vec<_> = (0..3).map(|_| following.line()).collect();
    let failed = "cannot open /tmp/x: No such file or directory";
    assert_eq!(lines, [failed, "accepted beta:9", "accepted beta:9"]);
}

/// The status of a follower that has what it wanted is that of what it met on the way.
#[test]
fn a_strict_follower_ends_with_the_state_of_what_it_read() {
    use logdef_wire::msgpack::Map;
    use logdef_wire::record::{Data, Glance, Note, NoteKind};
    use logdef_wire::{Record, Run, Sequence, ThreadNumber};

    let data = |run: Run, count: u64, dropped: Option<u64>| {
        Record::Data(Data {
            front: Glance {
                run: Some(run),
                sequence: Some(Sequence::new(ThreadNumber(0), count)),
                time: Some(EPOCH + count),
                ..Glance::default()
            },
            dropped,
            format_text: Some(if count == 9 { b"the last" } else { b"another!" }),
            ..Data::default()
        })
    };
    let log = |records: &[Record<'_>]| {
        let mut log = Log::of(RUN, 1, EPOCH);
        log.record(&data(RUN, 0, None));
        for record in records {
            log.record(record);
        }
        log.record(&data(RUN, 9, None));
        log
    };
    let counts: Vec<_> = (1..9).map(|count| data(RUN, count, None)).collect();
    let mut damaged = log(&counts);
    let at = damaged.frames[5].start + 12;
    damaged.bytes[at] ^= 1;
    let mut torn = log(&counts);
    torn.record(&data(RUN, 10, None));
    torn.bytes.truncate(torn.bytes.len() - 3);
    let note = |kind, dropped, threads| Note {
        run: Some(RUN),
        kind: Some(kind),
        time: Some(EPOCH + 8),
        dropped,
        threads,
        ..Note::default()
    };
    let pruned = Map::from_objects(1, &[0, 9]).unwrap();
    let drops = [
        &counts[..],
        &[Record::Note(note(NoteKind::DROPS, Some(2), None))],
    ]
    .concat();
    let before = [&counts[..4], &[data(RUN, 7, Some(2)), data(RUN, 8, None)]].concat();
    let states = [
        ("clean", log(&counts), 0),
        ("missing", log(&counts[..7]), 3),
        (
            "pruned",
            log(&[Record::Note(note(NoteKind::PRUNED, None, Some(pruned)))]),
            0,
        ),
        ("dropped before a record", log(&before), 3),
        ("dropped, by a note", log(&drops), 3),
        ("damaged", damaged, 3),
        ("torn", torn, 0),
    ];
    let files = Files::new();
    for (state, log, status) in states {
        let path = files.put("app.log", &log.bytes);
        let words = "view --follow --head 1 --grep last -o raw {}";
        let done = logdef(&words.replace("{}", "--strict {}"), &path);
        assert_eq!(done.status, status, "{state}: {}", done.err);
        assert!(done.out.ends_with("the last\n"), "{state}: {}", done.out);
        assert_eq!(logdef(words, &path).status, 0, "{state}");
        let check = logdef("check {}", &path);
        assert_eq!(check.status, status, "check, {state}: {}", check.out);
        let said = done.err.contains("pruned");
        assert_eq!(said, state == "pruned", "{state}: {}", done.err);
    }
}

/// Part of a log of one thread that is rotated: its records follow on those of the part before.
fn part(number: u64) -> Log {
    let mut log = Log::of(RUN, 7, EPOCH);
    log.site(RUN, 0, "src/net.c", b"accepted %s:%d");
    log.thread(RUN, 0, "main");
    let first = number * RECORDS;
    log.counts = vec![first];
    for count in first..first + RECORDS {
        accepted(&mut log, RUN, 0, EPOCH + count * SECOND, "gamma", count);
    }
    log
}

/// Records of a part.
const RECORDS: u64 = 50;

/// Sends a signal and waits until the process is stopped, or is not.
fn send(signal: Signal, child: &Child, stops: bool) {
    let pid = child.id();
    kill_process(Pid::from_child(child), signal).unwrap();
    let is_stopped = || {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
        stat.rsplit_once(") ").unwrap().1.starts_with('T')
    };
    while is_stopped() != stops {
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
}

/// What a terminal does to it that stops, or that scrolled back, while the log rotates three times.
#[test]
fn a_follower_that_was_stopped_shows_all_that_is_there_and_says_what_is_not() {
    for kept in [5, 1] {
        let files = Files::new();
        let path = files.put("app.log", &part(0).bytes);
        let mut command = command();
        command.args(["view", "-o", "json", "--follow", "--tail", "1000"]);
        command.arg(&path).stdout(Stdio::piped());
        let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut shown = Vec::new();
        let mut show_until = |count: u64, child: &mut Child| {
            let last = format!("\"message\":\"accepted gamma:{count}\"");
            for line in lines.by_ref() {
                shown.push(line.unwrap());
                if shown.last().unwrap().contains(&last) {
                    return shown.clone();
                }
            }
            panic!("it ended: {:?}", child.wait());
        };
        show_until(RECORDS - 1, &mut child);
        send(Signal::STOP, &child, true);
        let old = |number: u64| files.path().join(format!("app.log.{number}"));
        for number in 1..=3 {
            for older in (1..=kept).rev().filter(|number| old(*number).exists()) {
                if older == kept {
                    std::fs::remove_file(old(older)).unwrap();
                } else {
                    std::fs::rename(old(older), old(older + 1)).unwrap();
                }
            }
            std::fs::rename(&path, old(1)).unwrap();
            std::fs::write(&path, part(number).bytes).unwrap();
        }
        send(Signal::CONT, &child, false);
        let shown = show_until(4 * RECORDS - 1, &mut child);
        child.kill().unwrap();
        let done = child.wait_with_output().unwrap();
        let said = String::from_utf8(done.stderr).unwrap();
        let whole = logdef("view -o json {}", files.path()).out;
        let of_first = if kept == 1 { RECORDS as usize } else { 0 };
        assert!(shown[of_first..].iter().eq(whole.lines()), "{kept} kept");
        let word = "50 records missing from record 50 on: they are in no file, or not any more";
        assert_eq!(said.contains(word), kept == 1, "{said}");
        assert_eq!(said.lines().count(), usize::from(kept == 1), "{said}");
    }
}

/// A piece that is written before its place is shown when what should stand before it does not come for
/// long. When that comes after all, each of its records is marked, and a line says so. It once came
/// without a word.
#[test]
fn what_comes_behind_a_later_record_of_its_thread_is_marked_as_late() {
    let mut log = Log::of(RUN, 7, EPOCH);
    log.site(RUN, 0, "src/net.c", b"accepted %s:%d");
    log.thread(RUN, 0, "main");
    let record = |count: u64| {
        let mut log = Log {
            counts: vec![count],
            ..Log::default()
        };
        accepted(&mut log, RUN, 0, EPOCH + count * SECOND, "gamma", count);
        log.bytes
    };
    let piece = [log.bytes.clone(), record(0), record(3)].concat();
    let rest: Vec<_> = (1..5).flat_map(record).collect();
    for (form, marked) in [
        ("json", "gamma:1\",\"late\":true"),
        ("short", "[late] accepted gamma:1"),
        ("logfmt", "standing=late"),
    ] {
        let files = Files::new();
        let path = files.put("app.log", &piece);
        let mut command = command();
        command.args(["view", "-o", form, "--follow", "-n", "5"]);
        command.arg(&path).stdout(Stdio::piped());
        let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut line = || lines.next().unwrap().unwrap();
        let mut shown = vec![line(), line()];
        let mut file = OpenOptions::new().append(true).open(&path).unwrap();
        file.write_all(&rest).unwrap();
        shown.extend((0..3).map(|_| line()));
        let done = child.wait_with_output().unwrap();
        let said = String::from_utf8(done.stderr).unwrap();
        for (number, line) in [0, 3, 1, 2, 4].iter().zip(&shown) {
            assert!(line.contains(&format!("gamma:{number}")), "{shown:?}");
        }
        let late: Vec<_> = shown.iter().map(|line| line.contains("late")).collect();
        assert_eq!(late, [false, false, true, true, false], "{shown:?}");
        assert!(shown[2].contains(marked), "{}", shown[2]);
        assert!(
            said.contains("/0: 2 records missing from record 1 on"),
            "{said}"
        );
        assert!(
            said.contains("/0: 2 records of 1 to 2 late: record 3 stood above"),
            "{said}"
        );
    }
}
