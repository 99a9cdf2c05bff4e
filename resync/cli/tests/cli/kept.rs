//! Records that `view` keeps to show them later: however many bytes they are, what is shown is the
//! same as without, and they take little memory.

use crate::fixture::Files;
use crate::watched;
use logdef_wire::msgpack::{Array, Encoder};
use logdef_wire::record::{Data, Glance};
use logdef_wire::{Level, Record, Run, Sequence, ThreadNumber, frame};
use std::path::Path;
use std::process::Command;

/// Records of `len` bytes each, of two threads; the last one has other words.
fn log(records: u64, len: usize) -> Vec<u8> {
    let mut log = Vec::new();
    let text = vec![b'x'; len];
    let mut buffer = vec![0; len + 300];
    for count in 0..records {
        let mut values = vec![0; len + 50];
        let mut encoder = Encoder::new(&mut values);
        encoder.uint(count).unwrap();
        let is_last = count + 1 == records;
        encoder
            .raw(if is_last { b"the end" } else { &text })
            .unwrap();
        let data = Data {
            front: Glance {
                run: Some(Run(5)),
                sequence: Some(Sequence::new(ThreadNumber(count % 2), count / 2)),
                time: Some(1_800_000_000_000_000_000 + count),
                level: Some(Level::INFO),
                ..Glance::default()
            },
            format_text: Some(b"%d %s"),
            args: Array::from_objects(2, encoder.written()).ok(),
            ..Data::default()
        };
        let record = Record::Data(data);
        let len = frame::encode(&mut buffer, |encoder| record.encode(encoder)).unwrap();
        log.extend_from_slice(&buffer[..len]);
    }
    log
}

fn view(words: &[&str], path: &Path) -> Vec<u8> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_logdef"));
    let output = command.arg("view").args(words).arg(path).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    output.stdout
}

#[test]
fn what_is_kept_beyond_memory_is_shown_as_it_was() {
    let files = Files::new();
    let path = files.path().join("long.log");
    std::fs::write(&path, log(30, 1 << 20)).unwrap();
    let whole = view(&["-o", "raw"], &path);
    let ends: Vec<_> = (0..whole.len()).filter(|at| whole[*at] == b'\n').collect();
    assert_eq!(ends.len(), 30);
    for tail in [2, 17, 20, 29] {
        let shown = view(&["-o", "raw", "--tail", &tail.to_string()], &path);
        assert!(shown == whole[ends[29 - tail] + 1..], "{tail}");
        let shown = view(
            &[
                "-o",
                "raw",
                "--grep",
                "the end",
                "-B",
                &(tail - 1).to_string(),
            ],
            &path,
        );
        assert!(shown == whole[ends[29 - tail] + 1..], "{tail}");
    }
    for words in [
        &["--tail", "1000000"][..],
        &["--grep", "the end", "-C", "1000000"],
    ] {
        assert!(view(&[&["-o", "raw"], words].concat(), &path) == whole);
    }
    // Both at once.
    let both = ["-o", "raw", "--grep", "the end", "-B", "25", "--tail", "19"];
    assert!(view(&both, &path) == whole[ends[10] + 1..]);
}

#[test]
fn what_is_kept_takes_a_part_of_memory() {
    let files = Files::new();
    let path = files.path().join("long.log");
    std::fs::write(&path, log(28, 8 << 20)).unwrap();
    for words in [
        "view --tail 1000000 -o raw",
        "view --grep nowhere -C 1000000",
        "view --follow --tail 200000 -o raw",
    ] {
        let watched = watched::run(env!("CARGO_BIN_EXE_logdef"), words, &path, 600);
        let peak = watched.peak >> 20;
        assert!(peak < 200, "{words}: {peak} MiB");
        assert_eq!(watched.status, 0, "{words}");
    }
}

#[test]
fn where_there_is_no_room_for_what_is_kept_that_is_said() {
    let files = Files::new();
    let path = files.path().join("long.log");
    std::fs::write(&path, log(40, 1 << 20)).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_logdef"));
    command.args(["view", "--tail", "1000000"]).arg(&path);
    let folder = files.path().join("not there");
    let output = command.env("TMPDIR", &folder).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(output.stdout.is_empty());
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("cannot write a temporary file"), "{said}");
    assert!(said.contains(&*folder.to_string_lossy()), "{said}");
    let mut command = Command::new(env!("CARGO_BIN_EXE_logdef"));
    command
        .args(["view", "--follow", "--tail", "2000000"])
        .arg(&path);
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("at most"), "{said}");
}
