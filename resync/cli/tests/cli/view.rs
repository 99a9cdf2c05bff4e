//! `view`: text and JSON.

use crate::fixture::*;
use logdef_wire::msgpack::Array;
use logdef_wire::record::{Data, Glance};
use logdef_wire::{Record, Run};
use serde_json::json;
use std::io::{BufRead, BufReader};
use std::process::Stdio;

#[test]
fn a_record_is_a_line_with_time_level_thread_place_and_message() {
    let done = on(&example(), "{}");
    let lines = done.lines();
    assert_eq!(lines.len(), 10);
    assert_eq!(
        lines[0],
        "2027-01-15 08:00:00.000000 INFO  [main/0] src/net.c:10: accepted alpha:0"
    );
    assert_eq!(
        lines[1],
        "2027-01-15 08:00:01.000000 DEBUG [worker/1] src/net.c:20: took 0.500 ms"
    );
    assert_eq!((done.status, &*done.err), (0, ""));
}

#[test]
fn view_is_the_verb_where_none_is_named() {
    assert_eq!(
        on(&example(), "{}").out,
        on(&example(), "view --output short {}").out
    );
}

#[test]
fn a_json_object_has_exactly_the_documented_keys() {
    let mut log = example();
    let mut buffer = [0; 64];
    let mut addresses = logdef_wire::msgpack::Encoder::new(&mut buffer);
    addresses.uint(0x5555_0000_1000).unwrap();
    // The stack was deeper.
    addresses.nil().unwrap();
    log.record(&Record::Data(Data {
        front: Glance {
            magic: Some(MAGIC),
            file: Some(logdef_wire::Svma(0x2020)),
            line: Some(30),
            level: Some(FAILED.level),
            format: Some(logdef_wire::Svma(0x2028)),
            run: Some(RUN),
            thread: Some(0x7fff_0001),
            sequence: Some(logdef_wire::Sequence::new(logdef_wire::ThreadNumber(1), 5)),
            time: Some(EPOCH + 20 * SECOND),
        },
        args: Array::from_objects(0, b"").ok(),
        backtrace: Array::from_objects(2, addresses.written()).ok(),
        ..Data::default()
    }));
    let objects = on(&log, "view -o json {}").objects();
    assert_eq!(
        objects[0],
        json!({
            "time_ns": EPOCH, "level": "INFO", "run": "000000000000abcd", "pid": 77,
            "thread": 0x7fff_0000_u64, "thread_number": 0, "thread_name": "main", "tid": 1000,
            "sequence": 0, "image": "/nowhere/bin/example", "file": "src/net.c", "line": 10,
            "format": "accepted %s:%d", "args": ["alpha", 0], "message": "accepted alpha:0",
        })
    );
    let keys: Vec<_> = objects[10].as_object().unwrap().keys().collect();
    let mut documented = [
        "time_ns",
        "level",
        "run",
        "pid",
        "thread",
        "thread_number",
        "thread_name",
        "tid",
        "sequence",
        "image",
        "file",
        "line",
        "format",
        "args",
        "message",
        "backtrace",
        "backtrace_cut",
    ];
    documented.sort_unstable();
    assert_eq!(keys, documented);
    assert_eq!(
        objects[10]["backtrace"],
        json!([{ "address": 0x5555_0000_1000_u64 }])
    );
    assert_eq!(objects[10]["backtrace_cut"], true);
    let text = on(&log, "view --backtrace full {}").out;
    let cut = "    (the stack is deeper; the backtrace was cut)\n";
    assert_eq!(text.matches(cut).count(), 1, "{text}");
    assert_eq!(objects[9]["sequence"], 4);
}

#[test]
fn json_keys_stand_in_the_documented_order() {
    let line = on(&example(), "view -o json --head 1 {}").out;
    let at = |key: &str| line.find(&format!("\"{key}\":")).expect(key);
    let order = [
        "time_ns",
        "level",
        "run",
        "pid",
        "thread",
        "thread_number",
        "thread_name",
        "tid",
        "sequence",
        "image",
        "file",
        "line",
        "format",
        "args",
        "message",
    ];
    assert!(order.is_sorted_by_key(|key| at(key)));
}

#[test]
fn numbers_that_json_has_not_are_strings() {
    let mut log = example();
    log.data(RUN, 0, EPOCH + 30 * SECOND, &TOOK, |args| {
        for value in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1.0, 1e300] {
            args.float(value).unwrap();
        }
        args.uint(u64::MAX).unwrap();
        args.int(i64::MIN).unwrap();
        args.nil().unwrap();
        args.bool(true).unwrap();
        9
    });
    let objects = on(&log, "view -o json {}").objects();
    assert_eq!(
        objects[10]["args"],
        json!([
            "nan",
            "inf",
            "-inf",
            1.0,
            1e300,
            u64::MAX,
            i64::MIN,
            null,
            true
        ])
    );
}

#[test]
fn what_a_log_holds_cannot_drive_the_terminal() {
    let hostile = "\x1b]0;owned\x07\nFAKE LINE\u{9b}31m\u{202e}";
    let mut log = example();
    log.thread(RUN, 0, "na\x1bme\n");
    log.note(RUN, EPOCH + 41 * SECOND, hostile.as_bytes());
    accepted(&mut log, RUN, 0, EPOCH + 40 * SECOND, hostile, 1);
    for form in ["short", "full", "json", "logfmt", "csv"] {
        let done = on(&log, &format!("view -o {form} --color always {{}}"));
        let text = done.out + &done.err;
        for bad in ["\x1b]", "\x07", "\u{9b}", "\u{202e}", "\nFAKE", "a\x1bm"] {
            assert!(!text.contains(bad), "{bad:?} in {form}: {text}");
        }
        assert!(text.contains("FAKE LINE"));
    }
}

#[test]
fn colour_obeys_the_flag_and_the_environment() {
    let files = Files::new();
    let path = files.put("app.log", &example().bytes);
    assert!(!logdef("{}", &path).out.contains('\x1b'));
    assert!(logdef("--color always {}", &path).out.contains('\x1b'));
    assert!(!logdef("--color never {}", &path).out.contains('\x1b'));
    let forced = run(command().arg(&path).env("CLICOLOR_FORCE", "1"), b"");
    assert!(forced.out.contains('\x1b'));
    let refused = run(
        command()
            .arg(&path)
            .env("CLICOLOR_FORCE", "1")
            .env("NO_COLOR", "1"),
        b"",
    );
    assert!(!refused.out.contains('\x1b'));
}

#[test]
fn a_reader_that_has_enough_is_no_error() {
    let mut log = example();
    for step in 0..20_000 {
        accepted(
            &mut log,
            RUN,
            0,
            EPOCH + 50 * SECOND + step,
            "gamma-gamma-gamma",
            step,
        );
    }
    let files = Files::new();
    let path = files.put("app.log", &log.bytes);
    let mut child = command()
        .arg(&path)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap())
        .read_line(&mut line)
        .unwrap();
    assert!(line.ends_with("accepted alpha:0\n"));
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
}

#[test]
fn a_record_without_its_logdefs_still_shows_what_it_has() {
    let log = example();
    let stripped = Log {
        bytes: log.frames[9..]
            .iter()
            .flat_map(|frame| log.bytes[frame.clone()].to_vec())
            .collect(),
        ..Log::default()
    };
    let done = on(&stripped, "{}");
    assert_eq!(
        done.lines()[0],
        "2027-01-15 08:00:00.000000 INFO  [thread/0] ?0x2000:10: ?0x2008 \"alpha\", 0"
    );
    let json = on(&stripped, "view -o json {}").objects();
    assert_eq!(json[0]["args"], json!(["alpha", 0]));
    assert_eq!(json[0].get("format"), None);
    assert_eq!(json[0].get("file"), None);
}

#[test]
fn damage_is_reported_beside_the_data_and_not_in_it() {
    let mut log = example();
    let at = log.frames[11].start + 20;
    log.bytes[at] ^= 1;
    let done = on(&log, "{}");
    assert_eq!(done.lines().len(), 9);
    assert!(!done.out.contains("damage"));
    assert!(
        done.err
            .contains("damage: checksum mismatch, 1 record missing"),
        "{}",
        done.err
    );
    assert_eq!(done.status, 0);
    assert_eq!(on(&log, "view --strict {}").status, 3);
}

#[test]
fn notes_of_the_log_about_itself_are_shown() {
    let mut log = example();
    log.note(RUN, EPOCH + 9 * SECOND, b"it is over");
    let done = on(&log, "{}");
    assert_eq!(done.lines().len(), 11);
    assert!(done.out.contains(" -- panic: it is over\n"));
}

#[test]
fn what_call_sites_share_is_never_taken_from_another() {
    let mut log = Log::default();
    for (run, text) in [(Run(1), "one %d"), (Run(2), "two %d")] {
        log.counts.clear();
        let own = Log::of(run, 10 + run.0, EPOCH);
        log.bytes.extend_from_slice(&own.bytes);
        log.site(run, 0, &format!("{text}.c"), text.as_bytes());
        for line in 0..2000 {
            let site = Site { line, ..ACCEPTED };
            let time = EPOCH + (run.0 * 2000 + line) * SECOND;
            log.data(run, 0, time, &site, |args| {
                args.uint(line).unwrap();
                1
            });
        }
    }
    let objects = on(&log, "view -o json {}").objects();
    assert_eq!(objects.len(), 4000);
    for (number, object) in objects.iter().enumerate() {
        let text = ["one %d", "two %d"][number / 2000];
        assert_eq!(object["format"], text);
        assert_eq!(object["file"], format!("{text}.c"));
        assert_eq!(object["line"], number % 2000);
        assert_eq!(object["args"], json!([number % 2000]));
    }
}

/// Three runs of what claims to be one image: two disagree about a string, and the
/// third has lost its own.
fn at_odds() -> Log {
    let mut log = Log::default();
    for (number, format) in [
        (1, Some("accepted %s:%d")),
        (2, Some("rejected %d:%s")),
        (3, None),
    ] {
        let run = Run(number);
        let mut part = Log::of(run, number, EPOCH + number * SECOND);
        part.string(run, 0x2000, b"src/net.c");
        if let Some(format) = format {
            part.string(run, 0x2008, format.as_bytes());
        }
        accepted(&mut part, run, 0, EPOCH + number * SECOND, "alpha", number);
        log.bytes.extend(part.bytes);
    }
    log
}

#[test]
fn strings_at_odds_are_reported_and_each_run_keeps_its_own() {
    let said = "logdef 123456789abcdef0:0x2008 is both \"accepted %s:%d\" and \"rejected %d:%s\"; each run keeps its own";
    let check = |done: Done| {
        let lines = done.lines();
        assert!(lines[0].ends_with("accepted alpha:1"), "{}", lines[0]);
        // Its arguments are of other types than its format: that is for all to see.
        assert!(lines[1].contains("rejected "), "{}", lines[1]);
        assert!(
            !lines[2].contains("cepted") && !lines[2].contains("jected"),
            "{}",
            lines[2]
        );
        assert!(lines[2].contains("alpha"), "{}", lines[2]);
        assert_eq!(lines.len(), 3);
        assert_eq!(done.err.matches(said).count(), 1, "{}", done.err);
    };
    let files = Files::new();
    let path = files.put("app.log", &at_odds().bytes);
    check(logdef("view {}", &path));
    let joined = files.path().join("joined.log");
    let merge = run(command().args(["merge", "-o"]).arg(&joined).arg(&path), b"");
    assert_eq!(merge.err.matches(said).count(), 1, "{}", merge.err);
    check(logdef("view {}", &joined));
    let done = logdef("check {}", &path);
    assert!((done.out + &done.err).contains(said));
}
