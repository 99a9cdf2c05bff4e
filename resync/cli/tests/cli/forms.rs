//! How `view` shows records: the forms beside text and JSON, times, folds.

use crate::fixture::*;
use logdef_wire::Record;
use logdef_wire::msgpack::{Array, Encoder};
use logdef_wire::record::{Data, Glance};
use logdef_wire::{Sequence, Svma, ThreadNumber};

fn first(words: &str) -> String {
    on(&example(), &format!("view {words} {{}}")).lines()[0].to_owned()
}

#[test]
fn logfmt_is_pairs() {
    assert_eq!(
        first("-o logfmt"),
        "time=2027-01-15T08:00:00.000000000Z level=INFO run=000000000000abcd pid=77 tid=1000 \
         thread=main sequence=0 image=/nowhere/bin/example file=src/net.c line=10 \
         message=\"accepted alpha:0\""
    );
}

#[test]
fn csv_has_a_head_and_quotes_what_must_be() {
    let mut log = example();
    accepted(&mut log, RUN, 0, EPOCH - SECOND, "a \"b\", c", 1);
    let done = on(&log, "view -o csv {}");
    let lines: Vec<_> = done.out.split("\r\n").collect();
    assert_eq!(
        lines[0],
        "time,level,run,pid,tid,thread,sequence,image,file,line,message,keys,standing,module,target"
    );
    assert!(
        done.out.contains(",\"accepted a \"\"b\"\", c:1\",,,,\r\n"),
        "{}",
        done.out
    );
    assert_eq!(lines.len(), 13);
}

#[test]
fn raw_is_the_message_alone() {
    assert_eq!(first("-o raw"), "accepted alpha:0");
}

#[test]
fn full_is_everything() {
    let done = on(&example(), "view -o full --head 1 {}");
    for part in [
        "INFO  accepted alpha:0\n",
        "at        src/net.c:10\n",
        "format    accepted %s:%d\n",
        "arguments \"alpha\", 0\n",
        "thread    0, tid 1000, record 0\n",
        "run       000000000000abcd, pid 77\n",
        "image     /nowhere/bin/example\n",
    ] {
        assert!(done.out.contains(part), "{part} in {}", done.out);
    }
}

#[test]
fn times_are_printed_in_the_form_that_was_asked_for() {
    assert!(first("--time utc").starts_with("2027-01-15 08:00:00.000000Z INFO"));
    assert!(first("--time mono").starts_with("      5.000000 INFO"));
    let done = on(&example(), "view --time delta {}");
    assert!(done.lines()[0].starts_with("+    0.000000 INFO"));
    assert!(done.lines()[1].starts_with("+    1.000000 DEBUG"));
    let files = Files::new();
    let path = files.put("app.log", &example().bytes);
    let abroad = run(command().arg(&path).env("TZ", "Asia/Tokyo"), b"");
    assert!(abroad.out.starts_with("2027-01-15 17:00:00.000000 INFO"));
}

#[test]
fn neighbours_of_one_call_site_fold_exactly() {
    let mut log = example();
    for step in 0..5 {
        accepted(
            &mut log,
            RUN,
            0,
            EPOCH + (20 + step) * SECOND,
            "gamma",
            step,
        );
    }
    let done = on(&log, "view --fold {}");
    assert_eq!(done.lines().len(), 11);
    assert_eq!(
        done.lines()[10],
        "    … 5 more from there, the last 2027-01-15 08:00:24.000000"
    );
    assert_eq!(on(&log, "view --fold -o json {}").status, 2);
}

fn with_backtraces() -> Log {
    let mut log = example();
    let mut buffer = [0; 64];
    let mut addresses = Encoder::new(&mut buffer);
    addresses.uint(0x5555_0000_1000).unwrap();
    addresses.uint(0x5555_0000_2000).unwrap();
    for count in 0..2 {
        log.record(&Record::Data(Data {
            front: Glance {
                magic: Some(MAGIC),
                file: Some(Svma(0x2020)),
                line: Some(30),
                level: Some(FAILED.level),
                format: Some(Svma(0x2028)),
                run: Some(RUN),
                sequence: Some(Sequence::new(ThreadNumber(1), 5 + count)),
                time: Some(EPOCH + (20 + count) * SECOND),
                ..Glance::default()
            },
            backtrace: Array::from_objects(2, addresses.written()).ok(),
            ..Data::default()
        }));
    }
    log
}

#[test]
fn backtraces_show_whole_once_or_not_at_all() {
    let lines = |words: &str| {
        on(&with_backtraces(), &format!("view {words} {{}}"))
            .lines()
            .len()
    };
    assert_eq!(lines("--backtrace none"), 12);
    assert_eq!(lines("--backtrace short"), 12 + 2 + 1);
    assert_eq!(lines("--backtrace full"), 12 + 2 + 2);
}

#[test]
fn strings_that_the_log_lacks_are_reported_on_request() {
    let log = example();
    let mut stripped = Log::default();
    for frame in log.frames.iter().skip(9) {
        stripped.bytes.extend_from_slice(&log.bytes[frame.clone()]);
    }
    let done = on(&stripped, "view --provenance {}");
    assert!(
        done.lines()[0].ends_with(" (format missing) (file missing)"),
        "{}",
        done.out
    );
    assert_eq!(
        on(&log, "view --provenance {}").out,
        on(&log, "view {}").out
    );
}

/// A record with a text of its own, arguments and keys.
fn odd(text: &[u8], args: &[&[u8]], keys: &[(&str, &str)]) -> Log {
    let (mut first, mut second) = ([0; 256], [0; 256]);
    let mut encoder = Encoder::new(&mut first);
    args.iter().for_each(|arg| encoder.raw(arg).unwrap());
    let mut pairs = Encoder::new(&mut second);
    for (key, value) in keys {
        pairs.raw(key.as_bytes()).unwrap();
        pairs.raw(value.as_bytes()).unwrap();
    }
    let mut log = Log::of(RUN, 1, EPOCH);
    log.record(&Record::Data(Data {
        front: Glance {
            run: Some(RUN),
            level: Some(logdef_wire::Level::INFO),
            time: Some(EPOCH),
            sequence: Some(Sequence::new(ThreadNumber(0), 0)),
            ..Glance::default()
        },
        format_text: Some(text),
        args: Array::from_objects(args.len() as u32, encoder.written()).ok(),
        keys: logdef_wire::msgpack::Map::from_objects(keys.len() as u32, pairs.written()).ok(),
        ..Data::default()
    }));
    log
}

#[test]
fn keys_of_the_program_cannot_pass_for_columns() {
    let log = odd(
        b"real",
        &[],
        &[("level", "FATAL"), ("message", "fake"), ("user", "me")],
    );
    let line = on(&log, "view -o logfmt {}").out;
    for key in ["level", "message"] {
        assert_eq!(line.matches(&format!(" {key}=")).count(), 1, "{line}");
        assert!(line.contains(&format!(" keys.{key}=")), "{line}");
    }
    assert!(line.contains(" user=me"), "{line}");
}

#[test]
fn no_cell_of_csv_is_a_formula() {
    for text in ["=1+1", "+cmd", "-cmd", "@sum"] {
        let done = on(&odd(text.as_bytes(), &[], &[]), "view -o csv {}");
        assert!(done.out.contains(&format!(",'{text},")), "{}", done.out);
    }
    let done = on(&odd(b"-5", &[], &[]), "view -o csv {}");
    assert!(done.out.contains(",-5,"), "{}", done.out);
}

#[test]
fn a_text_that_ends_a_line_does_not_show_it() {
    let done = on(&odd(b"one\ntwo\n", &[], &[]), "view {}");
    assert!(done.out.ends_with(" one\\ntwo\n"), "{}", done.out);
    assert_eq!(
        on(&odd(b"end\n\n", &[], &[]), "view -o raw {}").out,
        "end\n\n"
    );
}

#[test]
fn a_long_double_is_a_number_in_json() {
    // 1.5 and infinity, as x87 has them.
    let number = [0, 0, 0, 0, 0, 0, 0, 0xc0, 0xff, 0x3f];
    let infinite = [0, 0, 0, 0, 0, 0, 0, 0x80, 0xff, 0x7f];
    let log = odd(b"%s %Lf %Lg", &[b"0123456789", &number, &infinite], &[]);
    let record: serde_json::Value = serde_json::from_str(&on(&log, "view -o json {}").out).unwrap();
    assert_eq!(
        record["args"],
        serde_json::json!(["0123456789", 1.5, "inf"])
    );
}

#[test]
fn links_are_for_the_terminal_or_for_an_editor() {
    let view = |words: &[&str], variable: Option<&str>| {
        let files = Files::new();
        let mut log = Log::of(RUN, 7, EPOCH);
        log.site(RUN, 2, "/src/net.c", b"here");
        log.data(RUN, 0, EPOCH, &FAILED, |_| 0);
        let path = files.put("app.log", &log.bytes);
        let mut command = command();
        command.arg("view").args(words).arg(path);
        command.envs(variable.map(|link| ("LOGDEF_HYPERLINKS", link)));
        let done = run(&mut command, b"");
        assert_eq!(done.status, 0, "{}", done.err);
        done.out
    };
    assert!(view(&["--hyperlinks"], None).contains("\x1b]8;;file://"));
    let vscode = "\x1b]8;;vscode://file/src/net.c:30\x1b\\/src/net.c:30\x1b]8;;\x1b\\: here";
    assert!(view(&["--hyperlinks=vscode"], None).contains(vscode));
    // Once for good, and only where a terminal is.
    assert!(view(&["--color", "always"], Some("vscode")).contains("vscode://"));
    assert!(!view(&[], Some("vscode")).contains("\x1b"));
    assert!(!view(&["--color", "always", "--hyperlinks=none"], Some("vscode")).contains("8;;"));
    assert!(!view(&["--color", "always"], Some("nonsense")).contains("8;;"));
}

/// Programs that printed lines before have a newline in each format, and texts of several lines have
/// others.
#[test]
fn a_newline_at_the_end_of_a_message_is_not_shown() {
    const PRINTED: Site = Site {
        number: 3,
        line: 7,
        level: logdef_wire::Level::INFO,
    };
    let mut log = Log::of(RUN, 77, EPOCH);
    log.site(RUN, 3, "src/old.c", b"half %d\nof two\n")
        .thread(RUN, 0, "main");
    log.data(RUN, 0, EPOCH, &PRINTED, |args| {
        args.uint(1).unwrap();
        1
    });
    for (form, message) in [
        ("text", "src/old.c:7: half 1\\nof two\n"),
        ("full", "INFO  half 1\\nof two\n"),
        ("json", r#""message":"half 1\nof two"}"#),
        ("csv", r",half 1\nof two,"),
        ("logfmt", r#" message="half 1\nof two""#),
        ("raw", "half 1\nof two\n"),
    ] {
        let words = format!("view -o {form} {{}}").replace("-o text", "");
        let shown = on(&log, &words).out;
        assert!(shown.contains(message), "{form}: {shown}");
        assert!(!shown.contains("two\n\n"), "{form}: {shown}");
    }
}
