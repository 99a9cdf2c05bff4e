//! Spans and counters: as lines, as objects, and through a trace and back.

use crate::fixture::*;
use logdef_resync::import::{Entry, LogWriter, Origin};
use logdef_wire::Value;
use logdef_wire::record::Kind;

fn log() -> Vec<u8> {
    let base = Entry {
        image: b"/bin/app",
        pid: Some(7),
        tid: Some(8),
        level: Some(logdef_wire::Level::INFO),
        file: Some(b"a.c"),
        line: Some(1),
        ..Entry::default()
    };
    let at = |millis: u64| Some(EPOCH + millis * 1_000_000);
    let span: [(&[u8], Value<'_>); 1] = [(b"span", Value::Uint(42))];
    let hostile: [(&[u8], Value<'_>); 1] = [(b"\"\x1b", Value::Bool(true))];
    let entries = [
        Entry {
            kind: Some(Kind::BEGIN),
            format: b"load a.csv",
            time: at(0),
            ..base
        },
        Entry {
            kind: Some(Kind::BEGIN),
            format: b"GET /",
            keys: &span,
            time: at(1),
            ..base
        },
        Entry {
            kind: Some(Kind::COUNTER),
            format: b"queue depth %u",
            args: &[Value::Uint(3)],
            time: at(2),
            ..base
        },
        Entry {
            kind: Some(Kind::END),
            format: b"7 rows",
            time: at(12),
            ..base
        },
        Entry {
            kind: Some(Kind::END),
            tid: Some(9),
            keys: &span,
            time: at(1501),
            ..base
        },
        Entry {
            kind: Some(Kind::END),
            time: at(1600),
            keys: &hostile,
            ..base
        },
    ];
    let mut log = LogWriter::new(Vec::new(), Origin::of(b"test"));
    for entry in &entries {
        log.write(entry).unwrap();
    }
    log.finish().unwrap().0
}

const MESSAGES: [&str; 6] = [
    "begin: load a.csv",
    "begin: GET / span=42",
    "queue depth 3",
    "end of load a.csv after 12.000 ms: 7 rows",
    "end of GET / after 1.500 s span=42",
    "end \"\\x1b=true",
];

fn messages(file: &std::path::Path) -> Vec<String> {
    let shown = logdef("view {}", file);
    assert_eq!(shown.status, 0, "{}", shown.err);
    let message = |line: &str| line.split_once("a.c:1: ").unwrap().1.to_owned();
    shown.out.lines().map(message).collect()
}

#[test]
fn an_end_says_what_ended_and_how_long_it_took() {
    let files = Files::new();
    assert_eq!(messages(&files.put("app.log", &log())), MESSAGES);
}

#[test]
fn objects_have_kinds_and_keys() {
    let files = Files::new();
    let shown = logdef("view -o json {}", &files.put("app.log", &log()));
    let objects = shown.objects();
    let kinds: Vec<_> = objects
        .iter()
        .map(|o| o["kind"].as_str().unwrap())
        .collect();
    assert_eq!(kinds, ["begin", "begin", "counter", "end", "end", "end"]);
    assert_eq!(objects[1]["keys"], serde_json::json!({"span": 42}));
    assert!(objects[0].get("keys").is_none());
    assert_eq!(objects[5]["keys"].as_object().unwrap().len(), 1);
}

#[test]
fn a_trace_keeps_spans_and_counters() {
    let files = Files::new();
    let log = files.put("app.log", &log());
    let (trace, back) = (files.path().join("a.fxt"), files.path().join("back.log"));
    let export = format!("export --to fxt --as instant -o {} {{}}", trace.display());
    assert_eq!(logdef(&export, &log).status, 0);
    let import = format!("import --from fxt -o {} {{}}", back.display());
    assert_eq!(logdef(&import, &trace).status, 0);
    let shown = logdef("view -o json {}", &back).out;
    let kind = |line: &str| {
        let object: serde_json::Value = serde_json::from_str(line).unwrap();
        let kind = object["kind"].as_str().unwrap_or("message").to_owned();
        (kind, object["message"].as_str().unwrap().to_owned())
    };
    let found: Vec<_> = shown.lines().map(kind).collect();
    let expected = [
        ("begin", "load a.csv"),
        ("begin", "GET /"),
        ("counter", "queue depth 3"),
        ("end", "7 rows"),
        ("end", ""),
        ("end", ""),
    ];
    let expected = expected.map(|(kind, message)| (kind.to_owned(), message.to_owned()));
    assert_eq!(found, expected);
}
