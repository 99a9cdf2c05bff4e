//! Our exports in Perfetto itself: its trace processor, built as WebAssembly, is asked by SQL for what it shows.
//!
//! `LOGDEF_PERFETTO` names the folder with `trace_processor.wasm` and its `engine_bundle.js`; `.ci/run` puts them
//! there where node and npm are, and runs these tests, which are ignored otherwise.

use logdef_resync::export::fxt::{Exporter, Forms, Options};
use logdef_resync::import::{Entry, LogWriter, Origin};
use logdef_resync::{Event, Input, Merge, MergeOptions, Recovery, Resolver};
use logdef_wire::record::Kind;
use logdef_wire::{Level, Record, Value};
use serde_json::{Value as Json, json};
use std::process::Command;

/// 2027-01-15 08:00:00 UTC.
const EPOCH: u64 = 1_800_000_000_000_000_000;
const EQUAL_TIMES: u64 = 3_000;

/// What Perfetto answers about a trace.
fn ask(trace: &[u8], queries: &[&str]) -> Vec<Json> {
    let engine = std::env::var_os("LOGDEF_PERFETTO");
    let engine = engine.expect("LOGDEF_PERFETTO names a folder with Perfetto's trace processor");
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("trace.fxt");
    std::fs::write(&file, trace).unwrap();
    let script = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/tests/suite/perfetto/query.mjs"
    );
    let output = Command::new("node")
        .arg(script)
        .arg(engine)
        .arg(&file)
        .args(queries)
        .output()
        .expect("LOGDEF_PERFETTO is set, so node is there");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    let answers = str::from_utf8(&output.stdout).unwrap().lines();
    answers
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

fn export(log: Vec<u8>, forms: Forms) -> Vec<u8> {
    let inputs = [Input::from_bytes("log", log)];
    let recovery = Recovery::of(&inputs).unwrap();
    let mut resolver = Resolver::without_images(recovery.tables());
    let mut merge = Merge::new(&inputs, &recovery, MergeOptions::default());
    let mut options = Options::default();
    options.forms = forms;
    let mut exporter = Exporter::new(Vec::new(), options).unwrap();
    while let Some(event) = merge.next().unwrap() {
        if let Event::Frame(frame) = event
            && let Some(Record::Data(data)) = frame.record()
        {
            let resolved = resolver.resolve(&data, frame.place);
            exporter.record(&resolved, &[]).unwrap();
        }
    }
    exporter.finish().unwrap()
}

fn only(log: bool, instant: bool, perfetto: bool) -> Forms {
    Forms {
        log,
        instant,
        perfetto,
    }
}

fn log(entries: &[Entry<'_>]) -> Vec<u8> {
    let mut log = LogWriter::new(Vec::new(), Origin::of(b"perfetto"));
    for entry in entries {
        log.write(entry).unwrap();
    }
    log.finish().unwrap().0
}

/// A record of process 500; the kernel's number of a thread may be lost.
fn entry(tid: Option<u64>, after: u64, format: &str) -> Entry<'_> {
    Entry {
        image: b"/bin/server",
        pid: Some(500),
        tid,
        time: Some(EPOCH + after),
        level: Some(Level::WARN),
        file: Some(b"a.c"),
        line: Some(3),
        format: format.as_bytes(),
        ..Entry::default()
    }
}

#[test]
#[ignore = "needs Perfetto's trace processor, which comes by npm: .ci/run runs it"]
fn perfetto_shows_every_span_mark_and_counter_of_our_events() {
    let (begin, end, counter) = (Some(Kind::BEGIN), Some(Kind::END), Some(Kind::COUNTER));
    let of = |kind, entry: Entry<'static>| Entry { kind, ..entry };
    let named: &[(&[u8], Value<'_>)] = &[(b"span", Value::Uint(u64::MAX))];
    let numbers: Vec<_> = (0..17).map(Value::Uint).collect();
    let format: String = (0..17).map(|at| format!("v{at} %d ")).collect();
    let (one, two) = (Some(501), Some(502));
    let log = log(&[
        of(begin, entry(one, 10, "outer")),
        of(begin, entry(one, 20, "inner")),
        // A thread whose number is lost is not one of the others.
        entry(None, 25, "lost"),
        entry(two, 26, "two"),
        of(end, entry(one, 30, "")),
        of(end, entry(one, 40, "outer")),
        Entry {
            keys: named,
            ..of(begin, entry(one, 50, "request"))
        },
        Entry {
            keys: named,
            ..of(end, entry(two, 70, "answered"))
        },
        Entry {
            format: format.as_bytes(),
            args: &numbers,
            ..of(counter, entry(one, 80, ""))
        },
    ]);
    let queries = [
        "select s.ts, s.dur, s.name, t.tid from slice s join thread_track k on s.track_id = k.id \
         join thread t using (utid) order by s.ts",
        "select ts, dur, name from slice where track_id not in (select id from thread_track)",
        "select c.ts, c.value, k.name from counter c join counter_track k on c.track_id = k.id \
         order by c.value",
        "select name, value from stats where severity = 'error' and value > 0",
    ];
    // Spans and counters are the same events in both forms, messages marks of two kinds.
    for forms in [only(true, true, false), only(false, false, true)] {
        let answers = ask(&export(log.clone(), forms), &queries);
        let at = |after: u64| (EPOCH + after).to_string();
        let invented = ((1 << 30) + 1).to_string();
        let slices = json!([
            [at(10), "30", "outer", "501"],
            [at(20), "10", "inner", "501"],
            [at(25), "0", "lost", invented],
            [at(26), "0", "two", "502"],
        ]);
        assert_eq!(answers[0], slices);
        assert_eq!(answers[1], json!([[at(50), "20", "request"]]));
        let counters = answers[2].as_array().unwrap();
        assert_eq!(counters.len(), 17);
        for (row, number) in counters.iter().zip(0..) {
            assert_eq!(row[0], json!(at(80)));
            assert_eq!(row[1].as_f64(), Some(f64::from(number)));
        }
        assert_eq!(answers[3], json!([]));
    }
}

#[test]
#[ignore = "needs Perfetto's trace processor, which comes by npm: .ci/run runs it"]
fn perfettos_log_table_has_every_record_of_equal_times_too() {
    let levels = [
        (Level::DEBUG, "3"),
        (Level::INFO, "4"),
        (Level::WARN, "5"),
        (Level::ERROR, "6"),
        (Level::FATAL, "7"),
    ];
    let long = "x".repeat(60_000);
    let mut entries: Vec<_> = levels
        .iter()
        .map(|(level, _)| Entry {
            level: Some(*level),
            ..entry(Some(501), 1, "level")
        })
        .collect();
    entries.push(entry(Some(501), 2, &long));
    entries.extend((0..EQUAL_TIMES).map(|_| entry(Some(501), 3, "same")));
    let trace = export(log(&entries), only(false, false, true));
    let queries = [
        "select prio, msg from android_logs where msg = 'level' order by ts",
        "select length(msg) from android_logs where msg like 'x%'",
        "select count(*), count(distinct ts), max(ts) - min(ts) from android_logs where msg = 'same'",
        "select name, value from stats where severity = 'error' and value > 0",
    ];
    let answers = ask(&trace, &queries);
    let expected: Vec<_> = levels
        .iter()
        .map(|(_, prio)| json!([prio, "level"]))
        .collect();
    assert_eq!(answers[0], json!(expected));
    assert_eq!(answers[1], json!([["60000"]]));
    let count = EQUAL_TIMES.to_string();
    assert_eq!(
        answers[2],
        json!([[count, count, (EQUAL_TIMES - 1).to_string()]])
    );
    assert_eq!(answers[3], json!([]));
}

#[test]
#[ignore = "needs Perfetto's trace processor, which comes by npm: .ci/run runs it"]
fn what_the_log_lost_is_a_row_of_perfettos_log_table() {
    let mut losses = logdef_resync::Losses::default();
    losses.missing = 5;
    losses.dropped = 2;
    let tables = logdef_resync::Tables::new(0);
    let mut resolver = Resolver::without_images(&tables);
    let data = logdef_wire::record::Data {
        front: logdef_wire::record::Glance {
            time: Some(EPOCH),
            ..Default::default()
        },
        format_text: Some(b"last"),
        ..Default::default()
    };
    let mut options = Options::default();
    options.forms = only(false, false, true);
    let mut exporter = Exporter::new(Vec::new(), options).unwrap();
    let place = logdef_resync::Place {
        input: 0,
        offset: 0,
    };
    exporter
        .record(&resolver.resolve(&data, place), &[])
        .unwrap();
    exporter.lost(&losses).unwrap();
    let trace = exporter.finish().unwrap();
    // Any reader of protobuf finds it.
    let verdict = "not clean: 5 records missing, 2 records dropped";
    let has_verdict = trace
        .windows(verdict.len())
        .any(|part| part == verdict.as_bytes());
    assert!(has_verdict);
    let queries = ["select prio, msg from android_logs order by id"];
    let answers = ask(&trace, &queries);
    // No level, and WARN.
    assert_eq!(answers[0], json!([["0", "last"], ["5", verdict]]));
}
