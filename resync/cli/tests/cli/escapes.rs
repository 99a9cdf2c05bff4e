//! Hostile strings, in every place of a log that can hold one, through every form of output: none
//! drives the terminal, ends a line, or leaves the field that it stands in.

use crate::fixture::*;
use logdef_wire::msgpack::{Array, Encoder, Map};
use logdef_wire::record::{
    BacktraceLogdef, ContextLogdef, Data, Glance, Kind, Preamble, StringLogdef,
};
use logdef_wire::{Avma, Level, Record, Run, Sequence, Svma, ThreadNumber};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

/// What an attacker sends, by the name of what it would do.
const STRINGS: [(&str, &[u8]); 17] = [
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
    ("logfmt, escaped", b"x\\\" level=FATAL standing=FAKE run=0 "),
    ("an escape at the end", b"a b\\"),
    ("journal field", b"x\nMESSAGE=FAKE\n\nPRIORITY=0"),
    (
        "every control",
        b"\x01\x02\x03\x04\x05\x06\x07\x08\t\n\x0b\x0c\r\x0e\x0f\x10\x11\x12\x13\x14\x15\x16\x17\x18\x19\x1a\x1b\x1c\x1d\x1e\x1f\x7f",
    ),
    ("long", &[b'\x1b'; 5_000]),
];

/// Verbs whose output people see, or whose lines programs read.
const FORMS: [&str; 18] = [
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
    "report -o - {}",
    "dump {}",
    "check --map {}",
    "symbolize {}",
    "export --to otlp-json -o - {}",
    "export --to diagnostics-json -o - {}",
    "export --to folded -o - {}",
];

/// A log that holds the string wherever one can stand.
pub fn log_of(hostile: &[u8]) -> Log {
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
    let mut args = [0; 8 << 10];
    let mut args = Encoder::new(&mut args);
    args.raw(hostile).unwrap();
    let mut keys = [0; 16 << 10];
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
    log.record(&Record::ContextLogdef(ContextLogdef {
        run: Some(RUN),
        id: Some(1),
        keys: Map::from_objects(1, keys.written()).ok(),
        ..ContextLogdef::default()
    }));
    let of_site = [&b"r:"[..], hostile, b"\t", hostile, b"\t", hostile].concat();
    log.record(&Record::StringLogdef(StringLogdef {
        magic: Some(MAGIC),
        address: Some(Svma(0x3000)),
        string: Some(hostile),
        description: Some(&of_site),
        run: Some(RUN),
        ..StringLogdef::default()
    }));
    log.record(&Record::Data(Data {
        front: Glance {
            magic: Some(MAGIC),
            format: Some(Svma(0x3000)),
            run: Some(RUN),
            level: Some(Level::INFO),
            time: Some(EPOCH + 9 * SECOND),
            sequence: Some(Sequence::new(ThreadNumber(0), 5)),
            ..Glance::default()
        },
        context: Some(1),
        args: Array::from_objects(1, args.written()).ok(),
        ..Data::default()
    }));
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
            // No name is longer than 255 bytes.
            .take(200)
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

/// What the record says that was logged with `%s`, as each form's own parser reads it.
#[test]
fn every_form_gives_a_hostile_text_back() {
    let files = Files::new();
    for (name, hostile) in STRINGS {
        let path = files.put("app.log", &log_of(hostile).bytes);
        let text = String::from_utf8_lossy(hostile).into_owned();
        let json = logdef("view -o json {}", &path).objects();
        assert_eq!(json[1]["message"], *text, "{name}");

        let logfmt = logdef("view -o logfmt {}", &path).out;
        let shown = logfmt.lines().nth(1).unwrap();
        assert_eq!(pair(shown, "message").unwrap(), text, "{name}");
        assert_eq!(pair(shown, "standing"), None, "{name}");
        assert_eq!(pair(shown, "level").unwrap(), "ERROR", "{name}");
        let csv = rows(&logdef("view -o csv {}", &path).out);
        assert!(csv.iter().all(|row| row.len() == csv[0].len()), "{name}");
        let cell = csv[2][10].strip_prefix('\'').unwrap_or(&csv[2][10]);
        let short = logdef("view -o short {}", &path).out;
        assert!(short.contains(cell), "{name}: {short}");

        let otlp = logdef("export --to otlp-json -o - {}", &path).out;
        let otlp: Vec<serde_json::Value> = otlp
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        let bodies = otlp.iter().flat_map(|line| {
            let records = &line["resourceLogs"][0]["scopeLogs"][0]["logRecords"];
            records.as_array().unwrap()
        });
        let bodies: Vec<_> = bodies.map(|of| &of["body"]["stringValue"]).collect();
        assert_eq!(bodies[1], &*text, "{name}");

        let journal = files.path().join("journal");
        let words = format!("export --to journald -o {} {{}}", journal.display());
        assert_eq!(logdef(&words, &path).status, 0);
        let entries = entries(&std::fs::read(&journal).unwrap());
        std::fs::remove_file(journal).unwrap();
        let field = |name: &str| entries[1].iter().find(|(of, _)| of == name).unwrap();
        assert_eq!(field("MESSAGE").1, text.as_bytes(), "{name}");
        for (field, _) in entries.iter().flatten() {
            let is_known = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_';
            assert!(field.chars().all(is_known), "{name}: {field}");
        }
    }
}

/// The value of a key of logfmt: the last, as parsers have it.
fn pair(line: &str, key: &str) -> Option<String> {
    let (mut rest, mut found) = (line, None);
    while !rest.is_empty() {
        let (name, value) = rest.split_once('=')?;
        let (value, behind) = match value.strip_prefix('"') {
            Some(quoted) => {
                let mut end = 0;
                while quoted.as_bytes()[end] != b'"' {
                    let is_escape = quoted.as_bytes()[end] == b'\\';
                    end += if is_escape { 2 } else { 1 };
                }
                let (quoted, behind) = value.split_at(end + 2);
                (serde_json::from_str(quoted).unwrap(), behind)
            }
            None => {
                let end = value.find(' ').unwrap_or(value.len());
                (value[..end].to_owned(), &value[end..])
            }
        };
        if name == key {
            found = Some(value);
        }
        rest = behind.trim_start_matches(' ');
    }
    found
}

/// The cells of CSV, as RFC 4180 has it.
fn rows(csv: &str) -> Vec<Vec<String>> {
    let (mut rows, mut row, mut cell) = (Vec::new(), Vec::new(), String::new());
    let mut chars = csv.chars().peekable();
    let mut is_quoted = false;
    while let Some(c) = chars.next() {
        match c {
            '"' if is_quoted && chars.peek() == Some(&'"') => cell.extend(chars.next()),
            '"' => is_quoted = !is_quoted,
            ',' if !is_quoted => row.push(std::mem::take(&mut cell)),
            '\r' if !is_quoted => assert_eq!(chars.peek(), Some(&'\n')),
            '\n' if !is_quoted => {
                row.push(std::mem::take(&mut cell));
                rows.push(std::mem::take(&mut row));
            }
            c => cell.push(c),
        }
    }
    rows
}

/// The entries of the journal's export format: names and values.
fn entries(bytes: &[u8]) -> Vec<Vec<(String, Vec<u8>)>> {
    let (mut entries, mut entry, mut rest) = (Vec::new(), Vec::new(), bytes);
    while !rest.is_empty() {
        let end = rest.iter().position(|byte| *byte == b'\n').unwrap();
        let (line, behind) = (&rest[..end], &rest[end + 1..]);
        if line.is_empty() {
            entries.push(std::mem::take(&mut entry));
            rest = behind;
        } else if let Some(equals) = line.iter().position(|byte| *byte == b'=') {
            let name = String::from_utf8(line[..equals].to_vec()).unwrap();
            entry.push((name, line[equals + 1..].to_vec()));
            rest = behind;
        } else {
            let len = u64::from_le_bytes(behind[..8].try_into().unwrap()) as usize;
            let name = String::from_utf8(line.to_vec()).unwrap();
            entry.push((name, behind[8..8 + len].to_vec()));
            assert_eq!(behind[8 + len], b'\n');
            rest = &behind[9 + len..];
        }
    }
    entries
}

/// Files that are looked at afterwards: pictures in a browser, traces through `fxt`.
#[test]
fn no_string_of_a_log_leaves_its_place_in_pictures_and_traces() {
    let files = Files::new();
    for (name, hostile) in STRINGS {
        let path = files.put("app.log", &log_of(hostile).bytes);
        for words in ["check --map", "stats --svg"] {
            let picture = files.path().join("out.svg");
            let done = logdef(&format!("{words} {} {{}}", picture.display()), &path);
            assert!(picture.exists(), "{name}, {words}: {}", done.err);
            let drawn = std::fs::read_to_string(&picture).unwrap();
            assert_harmless(&drawn, name);
            assert_eq!(drawn.matches("<script").count(), 0, "{name}");
            for part in drawn.split('&').skip(1) {
                assert!(
                    part.split_once(';').is_some_and(|(of, _)| of.len() < 6),
                    "{part}"
                );
            }
            std::fs::remove_file(picture).unwrap();
        }
        let trace = files.path().join("out.fxt");
        let words = format!("export --to fxt --as all -o {} {{}}", trace.display());
        assert_eq!(logdef(&words, &path).status, 0, "{name}");
        for words in [
            "fxt dump {}",
            "fxt dump --json {}",
            "fxt stat {}",
            "fxt check {}",
        ] {
            let done = logdef(words, &trace);
            assert_eq!(
                (done.status, &*done.err),
                (0, ""),
                "{name}, {words}: {}",
                done.out
            );
            assert_harmless(&done.out, &format!("{name}, {words}"));
        }
        std::fs::remove_file(trace).unwrap();
    }
}

#[test]
fn a_text_with_addresses_does_not_drive_the_terminal() {
    let files = Files::new();
    for (name, hostile) in STRINGS {
        let text = [b"#0 0x1234 in ", hostile, b" +0x1\n#1 0x5 end\n"].concat();
        let path = files.put("crash.txt", &text);
        let done = logdef("symbolize --image /bin/true@0x1000 {}", &path);
        // It ends lines where its input does.
        let lines = done
            .out
            .replace("FAKE", "fake")
            .replace("MESSAGE=", "")
            .replace("PRIORITY=", "");
        assert_harmless(&lines.replace('\t', " "), name);
        assert_harmless(&done.err, name);
        assert!(
            done.out.ends_with("#1 0x5 end\n"),
            "{name}: {} {}",
            done.out,
            done.err
        );
    }
}
