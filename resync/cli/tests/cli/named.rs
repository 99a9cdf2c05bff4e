//! Arguments that have names, in every form that shows them.

use crate::fixture::{EPOCH, Files, Log, MAGIC, RUN, SECOND, Site, logdef};
use logdef_wire::record::StringLogdef;
use logdef_wire::{Level, Record, Svma};
use serde_json::{Value, json};
use std::path::PathBuf;

const STATED: Site = Site {
    number: 0,
    line: 3,
    level: Level::INFO,
};
const GUESSED: Site = Site {
    number: 1,
    line: 4,
    level: Level::INFO,
};

/// Calls of a template with names, one value of which it does not print, and of a printf format
/// where names can be guessed.
fn log(files: &Files) -> PathBuf {
    let mut log = Log::of(RUN, 7, EPOCH);
    log.string(RUN, 0x2000, b"a.rs")
        .site(RUN, 1, "a.c", b"ms=%d, total: %u");
    log.record(&Record::StringLogdef(StringLogdef {
        magic: Some(MAGIC),
        address: Some(Svma(0x2008)),
        template: Some(b"took {ms:.1} ms of {1}"),
        description: Some(b"b:ms,,user\x1b"),
        run: Some(RUN),
        ..StringLogdef::default()
    }));
    log.thread(RUN, 0, "main");
    for n in 0..3 {
        log.data(RUN, 0, EPOCH + n * SECOND, &STATED, |args| {
            args.float(n as f64 + 0.5).unwrap();
            args.raw(b"all").unwrap();
            args.raw(format!("user {n}").as_bytes()).unwrap();
            3
        });
        log.data(RUN, 0, EPOCH + n * SECOND + 1, &GUESSED, |args| {
            args.uint(n).unwrap();
            args.uint(10).unwrap();
            2
        });
    }
    files.put("named.log", &log.bytes)
}

#[test]
fn names_stand_in_json_in_text_and_in_conditions() {
    let files = Files::new();
    let path = log(&files);
    let view = |words: &str| logdef(&format!("view -o json {words} {{}}"), &path).objects();
    let all = view("");
    assert_eq!(all.len(), 6);
    assert_eq!(all[0]["message"], "took 0.5 ms of all");
    assert_eq!(all[0]["args"], json!([0.5, "all", "user 0"]));
    assert_eq!(all[0]["fields"], json!({"ms": 0.5, "user\u{1b}": "user 0"}));
    // What is guessed is not said to be known: it has a key of its own.
    assert_eq!(all[0].get("guessed"), None);
    assert_eq!(all[1].get("fields"), None);
    assert_eq!(all[1]["guessed"], json!({"ms": 0, "total": 1}));
    assert_eq!(all[1]["args"], json!([0, 10]));

    let messages = |words: &str| -> Vec<Value> {
        view(words)
            .iter()
            .map(|record| record["message"].clone())
            .collect()
    };
    assert_eq!(
        messages("-w ms>1.5"),
        ["took 2.5 ms of all", "ms=2, total: 10"]
    );
    assert_eq!(messages("-w total=10").len(), 3);
    assert_eq!(messages("-w ms=1"), ["ms=1, total: 10"]);
    assert_eq!(messages("-w 1=all -w ms<1"), ["took 0.5 ms of all"]);
    assert_eq!(messages("-w s=1"), [""; 0]);

    // What the text does not print stands after it, made harmless.
    let text = logdef("view {}", &path);
    let line = text.lines()[0].to_string();
    assert!(
        line.contains("took 0.5 ms of all user\\x1b=user 0"),
        "{line}"
    );
}

#[test]
fn names_stand_in_counts() {
    let files = Files::new();
    let path = log(&files);
    let counts = &logdef("stats -o json {}", &path).objects()[0]["call_sites"];
    let (guessed, stated) = (&counts[0], &counts[1]);
    assert_eq!(stated["format"], "took {ms:.1} ms of {1}");
    assert_eq!(stated["names"], json!(["ms", "user\u{1b}"]));
    assert_eq!(stated.get("guessed_names"), None);
    assert_eq!(guessed.get("names"), None);
    assert_eq!(guessed["guessed_names"], json!(["ms", "total"]));

    // Names that the format shows anyway are not repeated.
    let text = logdef("stats {}", &path);
    let of = |line: &str| {
        text.lines()
            .iter()
            .any(|shown| shown.trim_end().ends_with(line))
    };
    assert!(
        of("a.rs:3  took {ms:.1} ms of {1} user\\x1b=…"),
        "{}",
        text.out
    );
    assert!(of("a.c:4  ms=%d, total: %u"), "{}", text.out);
}

#[test]
fn names_stand_in_exports() {
    let files = Files::new();
    let path = log(&files);
    for form in ["otlp-json", "diagnostics-json"] {
        let out = files.path().join(form);
        let words = format!("export --to {form} -o {} {{}}", out.display());
        logdef(&words, &path);
        let text = std::fs::read_to_string(out).unwrap();
        assert!(text.contains("\"ms\"") && text.contains("\"1\""), "{text}");
    }
    let out = files.path().join("fxt");
    logdef(&format!("export --to fxt -o {} {{}}", out.display()), &path);
    let bytes = std::fs::read(out).unwrap();
    assert!(bytes.windows(2).any(|window| window == b"ms"));
}
