//! An exported trace, read back with the trace reader.

use crate::synth;
use logdef_fuchsia::fxt::{
    Argument, BlobKind, EventKind, Item, MAX_LOG_LEN, ObjectKind, Reader, Record as FxtRecord,
    Records, Resolved, Tracker, Value as Typed,
};
use logdef_resync::export::fxt::{Exporter, Forms, Options};
use logdef_resync::{BacktraceEntry, Place, StackEntry, Tables};
use logdef_resync::{Event, Input, Merge, MergeOptions, Recovery, Resolver};
use logdef_wire::msgpack::{Array, Encoder, Map};
use logdef_wire::record::{Data, Glance, Kind};
use logdef_wire::{Avma, Level, Record, Run, Sequence, ThreadNumber};
use std::borrow::Cow;

fn export(log: Vec<u8>, options: Options) -> Vec<u8> {
    let inputs = [Input::from_bytes("log", log)];
    let recovery = Recovery::of(&inputs).unwrap();
    let mut resolver = Resolver::without_images(recovery.tables());
    let mut merge = Merge::new(&inputs, &recovery, MergeOptions::default());
    let mut exporter = Exporter::new(Vec::new(), options).unwrap();
    while let Some(event) = merge.next().unwrap() {
        let Event::Frame(frame) = event else { continue };
        let Some(Record::Data(data)) = frame.record() else {
            continue;
        };
        let stack = resolver.backtrace(&data, frame.place);
        exporter
            .record(&resolver.resolve(&data, frame.place), &stack)
            .unwrap();
    }
    exporter.finish().unwrap()
}

fn options(log: bool, instant: bool, perfetto: bool) -> Options {
    let mut options = Options::default();
    options.forms = Forms {
        log,
        instant,
        perfetto,
    };
    options
}

/// Each record of a trace, spelled out; nothing may be odd about it.
fn read(trace: &[u8], mut with: impl FnMut(&FxtRecord<Resolved<'_>>)) {
    let mut tracker = Tracker::new();
    for item in Records::new(trace) {
        let Item::Record(located) = item else {
            panic!("{item:?}");
        };
        assert_eq!(tracker.track(&located), []);
        with(&tracker.resolve(&located.record));
    }
    let mut report = Vec::new();
    let checked = logdef_fuchsia::fxt::check(
        Reader::new(trace),
        &mut report,
        logdef_fuchsia::fxt::Format::Text,
    )
    .unwrap();
    assert!(checked.is_clean(), "{}", String::from_utf8_lossy(&report));
}

/// The trace of single records, given by hand.
fn export_all(records: &[Data<'_>], options: Options, stack: &[StackEntry]) -> Vec<u8> {
    let tables = Tables::new(1 << 20);
    let mut resolver = Resolver::without_images(&tables);
    let mut exporter = Exporter::new(Vec::new(), options).unwrap();
    let place = Place {
        input: 0,
        offset: 0,
    };
    for data in records {
        let resolved = resolver.resolve(data, place);
        exporter.record(&resolved, stack).unwrap();
    }
    exporter.finish().unwrap()
}

fn data<'a>(text: &'a [u8], time: u64) -> Data<'a> {
    Data {
        front: Glance {
            line: Some(7),
            level: Some(Level::WARN),
            run: Some(Run(9)),
            sequence: Some(Sequence::new(ThreadNumber(0), time)),
            time: Some(time),
            ..Glance::default()
        },
        format_text: Some(text),
        file_text: Some(b"src/a.c"),
        ..Data::default()
    }
}

/// Name, kind, and arguments as text.
type Told = (String, EventKind<u64>, Vec<(String, String)>);

fn events(trace: &[u8]) -> Vec<Told> {
    let mut events = Vec::new();
    read(trace, |record| {
        if let FxtRecord::Event(event) = record {
            let text = |arg: &Argument<'_, Cow<'_, str>>| {
                let value = match &arg.value {
                    Typed::Text(text) => text.to_string(),
                    other => format!("{other:?}"),
                };
                (arg.name.to_string(), value)
            };
            let kind = event.kind.map_time(|time| time.ticks.0);
            let args = event.args.iter().map(text).collect();
            events.push((event.name.to_string(), kind, args));
        }
    });
    events
}

#[test]
fn every_record_has_the_forms_that_were_asked_for() {
    let log = synth::chunked(Run(7), 3, 60, 4096, 5);
    for (log_form, instant, perfetto) in [
        (true, false, false),
        (false, true, false),
        (true, true, false),
        (false, false, true),
        (true, true, true),
    ] {
        let trace = export(log.bytes.clone(), options(log_form, instant, perfetto));
        let (mut logs, mut events, mut named, mut blobs) = (0, 0, 0, 0);
        read(&trace, |record| match record {
            FxtRecord::Log(_) => logs += 1,
            FxtRecord::Event(_) => events += 1,
            FxtRecord::KernelObject(_) => named += 1,
            FxtRecord::Blob(blob) if blob.kind == BlobKind::PERFETTO => blobs += 1,
            _ => {}
        });
        assert!(trace.windows(14).any(|text| text == b"record 0 says "));
        let if_asked = |form| if form { 60 } else { 0 };
        assert_eq!((logs, events), (if_asked(log_form), if_asked(instant)));
        assert_eq!(blobs > 0, perfetto);
        assert_eq!(named, 4, "one process and three threads");
    }
}

/// Time, thread and text of each record, as the trace has to contain them.
fn expected(log: &[u8]) -> Vec<(u64, u64, String)> {
    let inputs = [Input::from_bytes("log", log.to_vec())];
    let recovery = Recovery::of(&inputs).unwrap();
    let mut resolver = Resolver::without_images(recovery.tables());
    let mut merge = Merge::new(&inputs, &recovery, MergeOptions::default());
    let mut told = Vec::new();
    while let Some(event) = merge.next().unwrap() {
        let Event::Frame(frame) = event else { continue };
        let Some(Record::Data(data)) = frame.record() else {
            continue;
        };
        let resolved = resolver.resolve(&data, frame.place);
        let mut message = Vec::new();
        resolved.message(&mut message);
        let tid = resolved.thread.unwrap().tid.unwrap();
        let text = String::from_utf8_lossy(&message).into_owned();
        told.push((data.time.unwrap(), tid, text));
    }
    told
}

/// 20 000 records; a million with `LOGDEF_SLOW=1`.
#[test]
fn a_trace_reads_back_equal_to_its_log() {
    let records = if synth::slow() { 1_000_000 } else { 20_000 };
    let log = synth::chunked(Run(7), 4, records, 1 << 20, 6).bytes;
    let expected = expected(&log);
    assert_eq!(expected.len() as u64, records);
    let trace = export(log, options(true, true, false));
    let (mut logs, mut instants) = (Vec::new(), Vec::new());
    read(&trace, |record| match record {
        FxtRecord::Log(log) => {
            let text = log.message.to_string();
            logs.push((log.time.ticks.0, log.thread.thread.0, text));
        }
        FxtRecord::Event(event) => {
            let mut args = event.args.iter();
            let text = match args.find(|arg| arg.name == "message").map(|arg| &arg.value) {
                // The name is the beginning of it.
                Some(Typed::Text(text)) => text.to_string(),
                _ => event.name.to_string(),
            };
            instants.push((event.time.ticks.0, event.thread.thread.0, text));
        }
        _ => {}
    });
    assert!(logs == expected, "log records");
    assert!(instants == expected, "instants");
}

#[test]
fn processes_threads_and_providers_have_their_names() {
    let log = synth::chunked(Run(7), 2, 10, 4096, 5);
    let trace = export(log.bytes, Options::default());
    let (mut providers, mut objects) = (Vec::new(), Vec::new());
    read(&trace, |record| match record {
        FxtRecord::Metadata(logdef_fuchsia::fxt::Metadata::ProviderInfo { name, .. }) => {
            providers.push(name.to_string());
        }
        FxtRecord::KernelObject(object) => {
            let is_process = object.kind == ObjectKind::PROCESS;
            objects.push((is_process, object.koid.0, object.name.to_string()));
        }
        FxtRecord::Initialization(init) => assert_eq!(init.ticks_per_second, 1_000_000_000),
        _ => {}
    });
    assert_eq!(providers, ["example"]);
    objects.sort();
    assert_eq!(objects.len(), 3);
    assert_eq!(objects[0].1, 1000, "{objects:?}");
    assert_eq!((objects[2].0, objects[2].1), (true, 7));
    assert_eq!(objects[2].2, "example");
}

#[test]
fn an_instant_says_all_that_the_record_does() {
    let mut args = [0; 64];
    let mut encoder = Encoder::new(&mut args);
    encoder.uint(5).unwrap();
    encoder.int(-3).unwrap();
    encoder.float(0.5).unwrap();
    encoder.raw(b"text").unwrap();
    encoder.nil().unwrap();
    let args = encoder.written();
    let keys = [0xa4, b'u', b's', b'e', b'r', 0xa1, b'x', 0xa1, b'n', 0x07];
    let record = Data {
        args: Array::from_objects(5, args).ok(),
        keys: Map::from_objects(2, &keys).ok(),
        dropped: Some(2),
        ..data(b"%d %d %f %s %s", 100)
    };
    let stack = [StackEntry {
        address: Avma(0x1139),
        logged: Some(BacktraceEntry {
            sname: Some(b"serve".as_slice().into()),
            ..BacktraceEntry::default()
        }),
        ..StackEntry::default()
    }];
    let trace = export_all(&[record], options(false, true, false), &stack);
    let expected = [
        ("severity", "WARN"),
        ("file", "src/a.c"),
        ("line", "U32(7)"),
        ("dropped_logs", "U32(2)"),
        ("backtrace", "0x1139 serve\n"),
        ("1", "U32(5)"),
        ("2", "I32(-3)"),
        ("3", "F64(0.5)"),
        ("4", "text"),
        ("5", "Null"),
        ("user", "x"),
        ("n", "U32(7)"),
        ("format", "%d %d %f %s %s"),
    ];
    let expected = expected.map(|(name, value)| (name.to_owned(), value.to_owned()));
    let found = events(&trace);
    assert_eq!(found[0].0, "5 -3 0.500000 text (null)");
    assert_eq!(found[0].2, expected);
}

#[test]
fn what_is_too_many_shares_the_last_argument() {
    let objects: Vec<u8> = (0..30).collect();
    let record = Data {
        args: Array::from_objects(30, &objects).ok(),
        ..data(b"x", 100)
    };
    let trace = export_all(&[record], options(false, true, false), &[]);
    let args = events(&trace).remove(0).2;
    assert_eq!(args.len(), 15);
    let rest: Vec<String> = (11..30).map(|number| number.to_string()).collect();
    assert_eq!(args[14], ("more".to_owned(), rest.join(", ")));
    assert_eq!(args[13], ("11".to_owned(), "U32(10)".to_owned()));
}

#[test]
fn a_long_message_continues_in_further_log_records() {
    // Three bytes each, so that no limit falls between characters.
    let text = "\u{20ac}".repeat(30_000);
    let trace = export_all(&[data(text.as_bytes(), 5)], options(true, true, true), &[]);
    let mut parts = Vec::new();
    read(&trace, |record| {
        if let FxtRecord::Log(log) = record {
            assert_eq!(log.time.ticks.0, 5);
            parts.push(log.message.to_string());
        }
    });
    assert_eq!(parts.len(), text.len().div_ceil(MAX_LOG_LEN));
    assert_eq!(parts.concat(), text);
    let (name, _, args) = events(&trace).remove(0);
    let message = &args.iter().find(|(name, _)| name == "message").unwrap().1;
    // What is cut ends with a mark.
    for cut in [&name, message] {
        assert!(text.starts_with(cut.strip_suffix('…').unwrap()));
    }
}

#[test]
fn spans_and_counters_are_events_of_their_own_kind() {
    let named = [0xa4, b's', b'p', b'a', b'n', 0x2a];
    let keys = Map::from_objects(1, &named).ok();
    let values = [0x03, 0x04];
    let kind = |kind, record| Data {
        kind: Some(kind),
        ..record
    };
    let on = |thread, record: Data<'static>| Data {
        front: Glance {
            sequence: Some(Sequence::new(ThreadNumber(thread), record.time.unwrap())),
            ..record.front
        },
        ..record
    };
    let records = [
        kind(Kind::BEGIN, data(b"load", 1)),
        kind(
            Kind::BEGIN,
            Data {
                keys,
                ..data(b"request", 2)
            },
        ),
        Data {
            args: Array::from_objects(2, &values).ok(),
            ..kind(Kind::COUNTER, data(b"disk: read %d, written %d", 3))
        },
        kind(
            Kind::END,
            Data {
                keys,
                ..on(1, data(b"answered", 4))
            },
        ),
        kind(Kind::END, data(b"", 5)),
        kind(Kind::END, data(b"an end too many", 6)),
        kind(Kind::COUNTER, data(b"no number", 7)),
    ];
    let expected = [
        ("load", EventKind::DurationBegin),
        ("request", EventKind::AsyncBegin { id: 42 }),
        ("disk", EventKind::Counter { id: 0 }),
        ("request", EventKind::AsyncEnd { id: 42 }),
        ("load", EventKind::DurationEnd),
        ("an end too many", EventKind::Instant),
        ("no number", EventKind::Instant),
    ];
    let trace = export_all(&records, options(true, true, false), &[]);
    let found = events(&trace);
    let kinds: Vec<_> = found
        .iter()
        .map(|(name, kind, _)| (&**name, *kind))
        .collect();
    assert_eq!(kinds, expected);
    let text = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    let counted = [text("read", "U32(3)"), text("written", "U32(4)")];
    assert_eq!(found[2].2, counted);
    assert!(found[3].2.contains(&text("message", "answered")));
    // Perfetto knows these events, and gets packets of the messages only.
    let trace = export_all(&records, options(false, false, true), &[]);
    assert_eq!(events(&trace).len(), 5);
}

#[test]
fn equal_times_on_a_thread_are_made_distinct_where_asked_and_for_perfetto() {
    let records: Vec<_> = (0..600).map(|_| data(b"same", 50)).collect();
    for (asked, perfetto) in [(false, false), (true, false), (false, true)] {
        let mut options = options(false, true, perfetto);
        options.break_ties = asked;
        let break_ties = asked || perfetto;
        let trace = export_all(&records, options, &[]);
        let mut times = Vec::new();
        read(&trace, |record| {
            if let FxtRecord::Event(event) = record {
                times.push(event.time.ticks.0);
            }
        });
        assert_eq!(times.len(), 600);
        let expected = |at: u64| if break_ties { 50 + at } else { 50 };
        assert!(
            times
                .iter()
                .zip(0..)
                .all(|(time, at)| *time == expected(at))
        );
    }
}

/// Name, process and thread of each event.
fn placed(trace: &[u8]) -> Vec<(String, u64, u64)> {
    let mut placed = Vec::new();
    read(trace, |record| {
        if let FxtRecord::Event(event) = record {
            let thread = event.thread;
            placed.push((event.name.to_string(), thread.process.0, thread.thread.0));
        }
    });
    placed
}

#[test]
fn a_thread_whose_number_is_lost_is_shown_as_no_other_thread() {
    use logdef_wire::Magic;
    let tables = {
        // Of the threads 1, 2 and 3 of process 500 only the kernel's number of 2 is left: 502.
        let log = synth::chunked(Run(7), 4, 40, 4096, 5).bytes;
        let inputs = [Input::from_bytes("log", log)];
        Recovery::of(&inputs).unwrap()
    };
    let of = |run, magic, number: u64| {
        let mut record = data(b"x", 5);
        (record.run, record.magic) = (run, magic);
        record.sequence = Some(Sequence::new(ThreadNumber(number), 0));
        record
    };
    let mut resolver = Resolver::without_images(tables.tables());
    let mut exporter = Exporter::new(Vec::new(), options(false, true, false)).unwrap();
    let place = Place {
        input: 0,
        offset: 0,
    };
    let mut records = Vec::new();
    // Threads of a known process: the first four are known, the others are not.
    records.extend((0..8).map(|number| of(Some(Run(7)), None, number)));
    // Processes that no preamble describes.
    records.extend((0..3).map(|run| of(Some(Run(100 + run)), None, 0)));
    // Records that name no run, of two images.
    records.extend((0..2).map(|magic| of(None, Some(Magic(magic)), 0)));
    for data in &records {
        exporter
            .record(&resolver.resolve(data, place), &[])
            .unwrap();
    }
    let placed = placed(&exporter.finish().unwrap());
    let threads: std::collections::HashSet<_> = placed.iter().map(|(_, _, tid)| tid).collect();
    assert_eq!(threads.len(), records.len());
    let processes: std::collections::HashSet<_> = placed.iter().map(|(_, pid, _)| pid).collect();
    assert_eq!(processes.len(), 1 + 3 + 2);
    assert!(placed[..8].iter().all(|(_, pid, _)| *pid == 7));
    for (_, _, tid) in &placed[4..] {
        // Beyond what any kernel gives, within what Perfetto keeps.
        assert!((1 << 30..1 << 31).contains(tid), "{tid}");
    }
}

#[test]
fn a_record_without_a_time_is_never_in_1970() {
    let without = |text: &'static [u8]| {
        let mut record = data(text, 0);
        record.time = None;
        record
    };
    let records = [
        data(b"first", 1 << 60),
        without(b"between"),
        data(b"last", (1 << 60) + 5),
    ];
    let trace = export_all(&records, options(true, true, false), &[]);
    let mut times = Vec::new();
    read(&trace, |record| match record {
        FxtRecord::Event(event) => times.push(event.time.ticks.0),
        FxtRecord::Log(log) => times.push(log.time.ticks.0),
        _ => {}
    });
    assert!(times.iter().all(|time| *time >= 1 << 60), "{times:?}");
    let between = &events(&trace)[1];
    assert!(
        between
            .2
            .contains(&("time".to_owned(), "unknown".to_owned()))
    );
}

#[test]
fn a_counter_shows_all_its_values() {
    let values: Vec<u8> = (0..17).collect();
    let format = (0..17).map(|at| format!("v{at} %d ")).collect::<String>();
    let record = Data {
        kind: Some(Kind::COUNTER),
        args: Array::from_objects(17, &values).ok(),
        ..data(format.as_bytes(), 9)
    };
    for perfetto in [false, true] {
        let trace = export_all(&[record], options(false, !perfetto, perfetto), &[]);
        let found = events(&trace);
        let values: Vec<_> = found.iter().flat_map(|(_, _, args)| args.clone()).collect();
        assert_eq!(values.len(), 17);
        assert_eq!(values[16], ("v16".to_owned(), "U32(16)".to_owned()));
        assert!(found.iter().all(|(name, ..)| name == "v0"));
    }
}
