//! How `view` shows records: the forms beside text and JSON, times, folds.

use crate::fixture::*;
use logdef_wire::Record;
use logdef_wire::msgpack::{Array, Encoder};
use logdef_wire::record::Data;
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
        "time,level,run,pid,tid,thread,sequence,image,file,line,message,keys"
    );
    assert!(
        done.out.contains(",\"accepted a \"\"b\"\", c:1\",\r\n"),
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
fn times_are_told_as_asked() {
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
            magic: Some(MAGIC),
            file: Some(Svma(0x2020)),
            line: Some(30),
            level: Some(FAILED.level),
            format: Some(Svma(0x2028)),
            run: Some(RUN),
            sequence: Some(Sequence::new(ThreadNumber(1), 5 + count)),
            time: Some(EPOCH + (20 + count) * SECOND),
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
fn strings_that_the_log_lacks_are_told_on_request() {
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
