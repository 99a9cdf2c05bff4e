//! The marks *recovered* and *suspect*: every form has them, and every copy.

use crate::fixture::*;
use logdef_wire::msgpack::{Array, Encoder, Map};
use logdef_wire::record::{Data, Glance};
use logdef_wire::{Record, Run, Sequence, ThreadNumber};

fn data(log: &mut Log, run: Run, count: u64, text: &[u8], more: Data<'_>) {
    log.record(&Record::Data(Data {
        front: Glance {
            run: Some(run),
            sequence: Some(Sequence::new(ThreadNumber(0), count)),
            time: Some(EPOCH + count),
            ..Glance::default()
        },
        format_text: Some(text),
        ..more
    }));
}

/// A record alone between two damages, one of a run that only a string named, and one after
/// both: in its thread's order, but the damages are so near that it may be a quotation too.
fn doubtful() -> Log {
    doubtful_with(Data::default())
}

fn doubtful_with(more: Data<'_>) -> Log {
    let mut log = Log::of(RUN, 7, EPOCH);
    data(&mut log, RUN, 0, b"sound one", more);
    log.bytes.extend(b"??");
    data(&mut log, RUN, 1, b"between two", more);
    log.bytes.extend(b"??");
    data(&mut log, Run(0xbad), 0, b"quoted one", more);
    log.bytes.extend(b"??");
    data(&mut log, RUN, 2, b"sound again", more);
    log
}

/// It had no marks, and nothing was said of the damage.
#[test]
fn symbolize_marks_records_and_reports_damage() {
    let mut addresses = [0; 16];
    let mut addresses = Encoder::new(&mut addresses);
    addresses.uint(0x5000).unwrap();
    let files = Files::new();
    let log = doubtful_with(Data {
        backtrace: Array::from_objects(1, addresses.written()).ok(),
        ..Data::default()
    });
    let log = files.put("app.log", &log.bytes);
    let done = logdef("symbolize {}", &log);
    let shown = done.out.replace(&*log.display().to_string(), "");
    assert_eq!(marks(&shown), (2, 0), "{shown}");
    assert!(done.err.contains("damage"), "{}", done.err);
    assert_eq!(logdef("symbolize --strict {}", &log).status, 3);
}

/// Keys that an import keeps parts of other stores' records in took a record's message, its time and its mark, though
/// a program had them.
#[test]
fn no_key_of_a_program_unmarks_a_record() {
    let mut keys = [0; 128];
    let mut keys = Encoder::new(&mut keys);
    for name in ["diagnostics.no_payload", "diagnostics.no_message"] {
        keys.raw(name.as_bytes()).unwrap();
        keys.bool(true).unwrap();
    }
    let files = Files::new();
    let log = doubtful_with(Data {
        keys: Map::from_objects(2, keys.written()).ok(),
        ..Data::default()
    });
    let log = files.put("app.log", &log.bytes);
    let done = logdef("export --to diagnostics-json -o - {}", &log);
    assert_eq!(
        done.out.matches(r#""standing":"recovered""#).count(),
        2,
        "{}",
        done.out
    );
    for message in ["sound one", "between two", "sound again"] {
        assert!(done.out.contains(message), "{message}: {}", done.out);
    }
}

/// How many records an output marks as recovered, and how many as suspect.
fn marks(out: &str) -> (usize, usize) {
    (
        out.matches("recovered").count(),
        out.matches("suspect").count(),
    )
}

#[test]
fn every_form_of_a_view_marks_records() {
    let files = Files::new();
    let log = files.put("app.log", &doubtful().bytes);
    for form in ["text", "json", "full", "csv", "logfmt"] {
        for (asked, expected) in [("", (2, 0)), ("--suspects", (2, 1))] {
            let words = format!("view {{}} --color never -o {form} {asked}");
            let done = logdef(&words, &log);
            let shown = done.out.replace(&*log.display().to_string(), "");
            assert_eq!(marks(&shown), expected, "{words}: {shown} {}", done.err);
            // What is said is true whether they were asked for or not.
            let said = "1 suspect frame, shown only with --suspects: ";
            assert!(done.err.contains(said), "{words}: {}", done.err);
        }
    }
}

/// Of a damaged log, and of a copy, which says by notes what stood beside damage.
#[test]
fn following_marks_and_leaves_out_what_a_view_does() {
    let files = Files::new();
    let log = files.put("app.log", &doubtful().bytes);
    let copy = files.path().join("copy.log");
    let words = format!("recover {{}} --suspects -o {}", copy.display());
    assert_eq!(logdef(&words, &log).status, 0);
    for file in [&log, &copy] {
        for asked in ["", "--suspects"] {
            let viewed = logdef(&format!("view {{}} -o json {asked}"), file).out;
            let head = viewed.lines().count();
            let words = format!("view {{}} --follow -o json -n {head} {asked}");
            let followed = logdef(&words, file).out;
            let standing = |line: &str| {
                let found = line.split_once(r#""standing":""#);
                let message = line.split_once(r#""message":""#).unwrap().1;
                let first = |text: &str| text.split('"').next().unwrap_or_default().to_owned();
                (found.map(|(_, rest)| first(rest)), first(message))
            };
            let sorted = |out: &str| {
                let mut found: Vec<_> = out.lines().map(standing).collect();
                found.sort();
                found
            };
            assert_eq!(
                sorted(&followed),
                sorted(&viewed),
                "{asked} {}",
                file.display()
            );
        }
    }
}

#[test]
fn every_export_marks_records() {
    let files = Files::new();
    let log = files.put("app.log", &doubtful().bytes);
    for (form, recovered, suspect) in [
        (
            "otlp-json",
            r#""key":"standing","value":{"stringValue":"recovered"}"#,
            r#""stringValue":"suspect""#,
        ),
        (
            "diagnostics-json",
            r#""standing":"recovered""#,
            r#""standing":"suspect""#,
        ),
        (
            "journald",
            "LOGDEF_STANDING=recovered\n",
            "LOGDEF_STANDING=suspect\n",
        ),
        ("fuchsia", "standing", "suspect"),
        ("fxt", "standing", "suspect"),
    ] {
        for asked in ["", "--suspects"] {
            let output = files.path().join(format!("{form}{asked}"));
            let words = format!("export --to {form} -o {} {{}} {asked}", output.display());
            let done = logdef(&words, &log);
            assert_eq!(done.status, 0, "{}", done.err);
            let bytes = std::fs::read(&output).unwrap();
            let text = String::from_utf8_lossy(&bytes);
            assert!(text.contains(recovered), "{words}: {text}");
            assert_eq!(text.contains(suspect), !asked.is_empty(), "{words}: {text}");
        }
    }
}

#[test]
fn what_was_exported_as_a_trace_and_imported_is_marked_as_it_was() {
    let files = Files::new();
    let log = files.put("app.log", &doubtful().bytes);
    for asked in ["", "--suspects"] {
        let (trace, back) = (files.path().join("trace"), files.path().join("back.log"));
        let words = format!("export --to fxt {asked} -o {} {{}}", trace.display());
        assert_eq!(logdef(&words, &log).status, 0);
        let words = format!("import --from fxt -o {} {{}}", back.display());
        assert_eq!(logdef(&words, &trace).status, 0);
        let said = |log: &std::path::Path| {
            let shown = logdef(&format!("view -o json {asked} {{}}"), log).objects();
            let said = shown
                .iter()
                .map(|line| [line["message"].clone(), line["standing"].clone()]);
            (said.collect::<Vec<_>>(), logdef("check {}", log).status)
        };
        assert_eq!(said(&log), said(&back), "{asked}");
        let counted = |log: &std::path::Path| {
            let found = logdef("check -o json {}", log).objects().remove(0);
            (found["missing"].clone(), found["damaged"]["bytes"].clone())
        };
        assert_eq!(counted(&log), counted(&back), "{asked}");
        std::fs::remove_file(&trace).unwrap();
        std::fs::remove_file(&back).unwrap();
    }
}

#[test]
fn a_copy_shows_what_the_damaged_log_showed_and_checks_as_it_did() {
    let files = Files::new();
    let log = files.put("app.log", &doubtful().bytes);
    for verb in ["recover", "merge"] {
        for asked in ["", "--suspects"] {
            let copy = files.path().join(format!("{verb}{asked}.log"));
            let words = format!("{verb} {{}} -o {} {asked}", copy.display());
            let done = logdef(&words, &log);
            assert_eq!(done.status, 0, "{}", done.err);
            for view in ["view {} -o json", "view {} -o csv"] {
                assert_eq!(logdef(view, &copy).out, logdef(view, &log).out, "{words}");
            }
            let view = format!("view {{}} -o logfmt {asked}");
            assert_eq!(logdef(&view, &copy).out, logdef(&view, &log).out, "{words}");
            assert_eq!(
                logdef("check {}", &copy).status,
                logdef("check {}", &log).status
            );
        }
    }
}

/// The later one was shown as any other, though one of the two is no record of that program.
#[test]
fn a_record_that_conflicts_with_one_before_it_is_marked() {
    let files = Files::new();
    let mut log = Log::of(RUN, 7, EPOCH);
    for text in ["one", "two", "three"] {
        data(&mut log, RUN, 0, text.as_bytes(), Data::default());
    }
    data(&mut log, RUN, 0, b"one", Data::default());
    data(&mut log, RUN, 1, b"last", Data::default());
    let log = files.put("app.log", &log.bytes);
    let shown = logdef("view {}", &log).out;
    for (text, is_marked) in [("one", 0), ("two", 1), ("three", 1), ("last", 0)] {
        let lines: Vec<_> = shown.lines().filter(|line| line.ends_with(text)).collect();
        let [line] = lines[..] else {
            panic!("{text} in {shown}");
        };
        assert_eq!(line.matches("[conflicting]").count(), is_marked, "{line}");
    }
    let shown = logdef("view -o json {}", &log).out;
    assert_eq!(shown.matches(r#""conflicting":true"#).count(), 2, "{shown}");
    let shown = logdef("view -o csv {}", &log).out;
    assert_eq!(shown.matches(",conflicting,").count(), 2, "{shown}");
    let shown = logdef("export --to diagnostics-json -o - {}", &log).out;
    assert_eq!(
        shown.matches(r#""standing":"conflicting""#).count(),
        2,
        "{shown}"
    );
}
