//! Hostile strings, in every place of a log that can hold one, through every form of output: none
//! drives the terminal, ends a line, or leaves the field that it stands in.

use crate::fixture::*;
use logdef_wire::msgpack::{Array, Encoder, Map};
use logdef_wire::record::{BacktraceLogdef, Data, Glance, Kind, Preamble};
use logdef_wire::{Avma, Level, Record, Run, Sequence, ThreadNumber};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

/// What an attacker sends, by the name of what it would do.
const STRINGS: [(&str, &[u8]); 13] = [
    ("escape sequence", b"\x1b]0;owned\x07\x1b[2J"),
    ("C1 controls", b"\xc2\x9b31m\xc2\x9d0;owned\xc2\x9c"),
    ("lone C1 byte", b"\x9b31m"),
    ("NUL", b"before\0behind"),
    ("line ends", b"one\r\nFAKE LINE\rFAKE LINE\x0b\x0cFAKE"),
    (
        "separators",
        "a\u{2028}FAKE LINE\u{2029}FAKE\u{85}FAKE".as_bytes(),
    ),
    ("invalid UTF-8", b"\xff\xfe\xc0\xaf\xed\xa0\x80"),
    (
        "turned text",
        "\u{202e}gpj.exe\u{2066}\u{200f}\u{feff}".as_bytes(),
    ),
    ("markup", b"</script><script>alert(1)</script><!--&\"'>"),
    ("formula", b"=HYPERLINK(\"http://x\",\"y\")"),
    ("other formulas", b"@SUM(1)+1-1"),
    ("logfmt", b"\" level=fatal msg=\"FAKE\\\" x=\"1"),
    ("journal field", b"x\nMESSAGE=FAKE\n\nPRIORITY=0"),
];

/// Verbs whose output people see, or whose lines programs read.
const FORMS: [&str; 16] = [
    "view -o short {}",
    "view -o short --color always --hyperlinks --with-context --with-target --provenance {}",
    "view -o short --backtrace full --fold {}",
    "view -o full {}",
    "view -o json {}",
    "view -o logfmt {}",
    "view -o csv {}",
    "check {}",
    "check -o json {}",
    "stats {}",
    "stats -o json {}",
    "dump {}",
    "check --map {}",
    "export --to otlp-json -o - {}",
    "export --to diagnostics-json -o - {}",
    "export --to folded -o - {}",
];

/// A log that holds the string wherever one can stand.
fn log_of(hostile: &[u8]) -> Log {
    let mut log = Log::default();
    log.record(&Record::Preamble(Preamble {
        magic: Some(MAGIC),
        path: Some(hostile),
        version: Some(1),
        run: Some(RUN),
        pid: Some(7),
        realtime: Some(EPOCH),
        ..Preamble::default()
    }));
    log.string(RUN, 0x2000, hostile)
        .string(RUN, 0x2008, hostile);
    log.thread(RUN, 0, &String::from_utf8_lossy(hostile));
    log.note(RUN, EPOCH, hostile);
    log.record(&Record::BacktraceLogdef(BacktraceLogdef {
        magic: Some(MAGIC),
        address: Some(Avma(0x5000)),
        fname: Some(hostile),
        fbase: Some(Avma(0x4000)),
        sname: Some(hostile),
        saddr: Some(Avma(0x4800)),
        run: Some(RUN),
        ..BacktraceLogdef::default()
    }));
    // File and format by address, and the stack.
    log.data(RUN, 0, EPOCH + SECOND, &ACCEPTED, |_| 0);
    let mut stack = [0; 16];
    let mut encoder = Encoder::new(&mut stack);
    encoder.uint(0x5000).unwrap();
    let stack = Array::from_objects(1, encoder.written()).unwrap();
    let mut args = [0; 256];
    let mut args = Encoder::new(&mut args);
    args.raw(hostile).unwrap();
    let mut keys = [0; 512];
    let mut keys = Encoder::new(&mut keys);
    keys.raw(hostile).unwrap();
    keys.raw(hostile).unwrap();
    let kinds = [
        None,
        Some(Kind::BEGIN),
        Some(Kind::END),
        Some(Kind::COUNTER),
    ];
    for (count, kind) in (1..).zip(kinds) {
        log.record(&Record::Data(Data {
            front: Glance {
                run: Some(RUN),
                level: Some(Level::ERROR),
                time: Some(EPOCH + count * SECOND),
                sequence: Some(Sequence::new(ThreadNumber(0), count)),
                ..Glance::default()
            },
            format_text: Some(if kind.is_some() { hostile } else { b"%s" }),
            kind,
            args: Array::from_objects(1, args.written()).ok(),
            keys: Map::from_objects(1, keys.written()).ok(),
            backtrace: Some(stack),
            ..Data::default()
        }));
    }
    log.string(Run(9), 0x2008, b"another")
        .string(RUN, 0x2008, b"at odds");
    log
}

/// What no output may hold, but the colours and links that the command itself writes.
fn assert_harmless(text: &str, what: &str) {
    let mut own = text.replace("\x1b]8;;", "").replace("\x1b\\", "");
    while let Some(start) = own.find("\x1b[") {
        let len = own[start + 2..].find('m').expect(what);
        let digits = &own[start + 2..start + 2 + len];
        let is_color = digits.bytes().all(|b| b.is_ascii_digit() || b == b';');
        assert!(is_color, "{what}: {digits:?}");
        own.replace_range(start..start + 3 + len, "");
    }
    let is_bad = |c: &char| {
        c.is_control() && *c != '\n'
            || matches!(c, '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{200f}' | '\u{feff}')
    };
    let bad = own.chars().find(is_bad);
    assert_eq!(bad, None, "{what}: {own}");
    for line in own.lines() {
        let is_forged = ["FAKE", "MESSAGE=", "PRIORITY="];
        assert!(
            !is_forged.iter().any(|it| line.starts_with(it)),
            "{what}: {line}"
        );
    }
}

/// Rows of CSV end with a carriage return and a line feed.
fn lines_of(out: &str, form: &str) -> String {
    if form.contains("csv") {
        out.replace("\r\n", "\n")
    } else {
        out.to_owned()
    }
}

#[test]
fn no_string_of_a_log_leaves_its_place_in_any_form() {
    let files = Files::new();
    for (name, hostile) in STRINGS {
        let path = files.put("app.log", &log_of(hostile).bytes);
        for form in FORMS {
            let done = logdef(form, &path);
            let what = format!("{name}, {form}");
            assert!(matches!(done.status, 0 | 3), "{what}: {}", done.err);
            assert_harmless(&done.err, &what);
            assert_harmless(&lines_of(&done.out, form), &what);
            if form.contains("json") {
                let values = serde_json::Deserializer::from_str(&done.out);
                for value in values.into_iter::<serde_json::Value>() {
                    assert!(value.is_ok(), "{what}: {value:?}");
                }
            }
        }
    }
}

/// A damaged log under a hostile name: what every verb says of it.
#[test]
fn no_name_of_a_file_drives_the_terminal() {
    let mut bytes = example().bytes;
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    for (name, hostile) in STRINGS {
        let file: Vec<u8> = hostile
            .iter()
            .copied()
            .filter(|b| !b"\0/".contains(b))
            .collect();
        let files = Files::new();
        let path = files.path().join(OsStr::from_bytes(&file));
        std::fs::write(&path, &bytes).unwrap();
        for form in FORMS {
            let words = form.replace("{}", "");
            let done = run(command().args(words.split_whitespace()).arg(&path), b"");
            let what = format!("{name}, {form}");
            assert!(matches!(done.status, 0 | 3), "{what}: {}", done.err);
            assert_harmless(&done.err, &what);
            assert_harmless(&lines_of(&done.out, form), &what);
        }
    }
}
