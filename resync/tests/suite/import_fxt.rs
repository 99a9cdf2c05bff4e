//! Traces as logs: what each record of a trace becomes.

use logdef_fuchsia::fxt::{
    Argument, Event, EventKind, Koid, MAX_LOG_LEN, Metadata, ProviderEvent, ProviderId, Scheduling,
    Thread, TickRate, Ticks, Value as Typed, Writer,
};
use logdef_resync::import::fxt;
use logdef_resync::{Event as Merged, Input, Merge, MergeOptions, Recovery, Resolver};
use logdef_wire::record::Kind;
use logdef_wire::{Level, Record, Value};

const THREAD: Thread = Thread {
    process: Koid(100),
    thread: Koid(101),
};

/// A record of the log, as far as the tests ask.
#[derive(Clone, Debug, Default, PartialEq)]
struct Line {
    time: u64,
    message: String,
    level: Option<Level>,
    file: String,
    line: Option<u64>,
    kind: Option<u64>,
    keys: String,
    image: String,
    pid: u64,
    thread: String,
}

fn new() -> Writer<Vec<u8>> {
    let mut trace = Writer::new(Vec::new()).unwrap();
    trace
        .provider(ProviderId(1), "netstack", TickRate::NANOSECONDS)
        .unwrap();
    trace
}

/// The log of a trace, in order; and how many records found no place in it.
fn lines(trace: Writer<Vec<u8>>) -> (Vec<Line>, u64) {
    let trace = Input::from_bytes("trace", trace.finish().unwrap());
    let mut log = Vec::new();
    let imported = fxt::import(&trace, &mut log).unwrap();
    assert_eq!(imported.gaps, 0);
    let inputs = [Input::from_bytes("log", log)];
    let recovery = Recovery::of(&inputs).unwrap();
    assert!(recovery.is_clean());
    let mut resolver = Resolver::without_images(recovery.tables());
    let mut merge = Merge::new(&inputs, &recovery, MergeOptions::default());
    let mut lines = Vec::new();
    while let Some(event) = merge.next().unwrap() {
        let Merged::Frame(frame) = event else {
            continue;
        };
        let Some(Record::Data(data)) = frame.record() else {
            continue;
        };
        let resolved = resolver.resolve(&data, frame.place);
        let mut message = Vec::new();
        resolved.message(&mut message);
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let pairs = data.keys.into_iter().flat_map(|keys| keys.iter());
        let keys: Vec<_> = pairs
            .map(|(key, value)| {
                let mut out = Vec::new();
                logdef_resync::push_value(value, &mut out);
                let Value::Raw(key) = key else { panic!() };
                format!("{}={}", text(key), text(&out))
            })
            .collect();
        let thread = resolved.thread.unwrap();
        lines.push(Line {
            time: data.time.unwrap_or(u64::MAX),
            message: text(&message),
            level: data.level,
            file: text(resolved.file.bytes.unwrap_or_default()),
            line: data.line,
            kind: data.kind.map(|kind| kind.0),
            keys: keys.join(" "),
            image: text(&resolved.image.unwrap().path),
            pid: resolved.run.unwrap().pid.unwrap(),
            thread: text(thread.name.as_deref().unwrap_or_default()),
        });
    }
    assert_eq!(lines.len() as u64, imported.written.records);
    (lines, imported.left_out)
}

fn imported(trace: Writer<Vec<u8>>) -> Vec<(u64, Option<u64>, String, String)> {
    let line = |line: Line| (line.time, line.kind, line.message, line.keys);
    lines(trace).0.into_iter().map(line).collect()
}

fn row(
    time: u64,
    kind: Option<Kind>,
    message: &str,
    keys: &str,
) -> (u64, Option<u64>, String, String) {
    (time, kind.map(|kind| kind.0), message.into(), keys.into())
}

#[test]
fn a_line_has_process_thread_level_and_place() {
    let mut trace = new();
    let args = [
        Argument::new("severity", "WARN"),
        Argument::new("file", "src/dns.cc"),
        Argument::new("line", 42_u32),
        Argument::new("tries", 3_u32),
        Argument::new("peer", Typed::Text("10.0.0.1")),
        Argument::new("where", Typed::Pointer(16)),
        Argument::new("none", Typed::Null),
    ];
    let event = Event::instant(2_000, THREAD, "net", "50% lost");
    trace.write(event.args(&args)).unwrap();
    trace.log(3_000, THREAD, "plain %s text").unwrap();
    // Names count wherever they stand.
    trace.process_name(THREAD.process, "netstack.cm").unwrap();
    trace.thread_name(THREAD, "dispatcher").unwrap();
    let common = Line {
        image: "netstack".into(),
        pid: 100,
        thread: "dispatcher".into(),
        ..Line::default()
    };
    let expected = [
        Line {
            time: 2_000,
            message: "50% lost".into(),
            level: Some(Level::WARN),
            file: "src/dns.cc".into(),
            line: Some(42),
            keys: "tries=3 peer=\"10.0.0.1\" where=16 none=nil category=\"net\"".into(),
            ..common.clone()
        },
        Line {
            time: 3_000,
            message: "plain %s text".into(),
            ..common
        },
    ];
    assert_eq!(lines(trace), (expected.to_vec(), 0));
}

#[test]
fn spans_flows_and_counters_keep_their_kinds() {
    let mut trace = new();
    let mut write = |kind, time: u64, name| {
        trace
            .write(Event::new(kind, time, THREAD, "netstack", name))
            .unwrap();
    };
    write(EventKind::DurationBegin, 10, "outer");
    write(EventKind::AsyncBegin { id: 7 }, 11, "request");
    write(EventKind::AsyncInstant { id: 7 }, 12, "halfway");
    write(EventKind::FlowBegin { id: 8 }, 13, "arrow");
    write(EventKind::AsyncEnd { id: 7 }, 14, "request");
    write(EventKind::DurationEnd, 15, "outer");
    // Written when it ends, as tracers do.
    write(EventKind::DurationComplete { end: Ticks(9) }, 5, "done");
    let values = [
        Argument::new("read", 3_u32),
        Argument::new("rate", 0.5),
        Argument::new("unit", "bytes"),
    ];
    let counter = Event::new(
        EventKind::Counter { id: 4 },
        16,
        THREAD,
        "netstack",
        "disk 100%",
    );
    trace.write(counter.args(&values)).unwrap();
    let (begin, end) = (Some(Kind::BEGIN), Some(Kind::END));
    let expected = [
        row(5, begin, "done", ""),
        row(9, end, "", ""),
        row(10, begin, "outer", ""),
        row(11, begin, "request", "span=7"),
        row(12, None, "halfway", "span=7"),
        row(13, None, "arrow", "flow_begin=8"),
        row(14, end, "", "span=7"),
        row(15, end, "", ""),
        row(
            16,
            Some(Kind::COUNTER),
            "disk 100%: read 3, rate 0.5",
            "id=4 unit=\"bytes\"",
        ),
    ];
    assert_eq!(imported(trace), expected);
}

#[test]
fn a_log_record_and_its_instant_are_one_line_and_its_pieces_are_joined() {
    let mut trace = new();
    let long = "x".repeat(MAX_LOG_LEN) + "y";
    trace.log(5, THREAD, &long[..MAX_LOG_LEN]).unwrap();
    trace.log(5, THREAD, &long[MAX_LOG_LEN..]).unwrap();
    trace.log(6, THREAD, "said twice").unwrap();
    trace
        .write(Event::instant(6, THREAD, "c", "said twice"))
        .unwrap();
    trace.log(6, THREAD, "one").unwrap();
    trace
        .write(Event::instant(6, THREAD, "c", "another"))
        .unwrap();
    // Not the same: another time, another text, another thread.
    trace.log(7, THREAD, "a").unwrap();
    trace.write(Event::instant(8, THREAD, "c", "a")).unwrap();
    trace.write(Event::instant(8, THREAD, "c", "b")).unwrap();
    trace.log(9, THREAD, "c").unwrap();
    trace
        .write(Event::instant(9, Thread::new(100, 102), "c", "c"))
        .unwrap();
    let messages: Vec<_> = imported(trace).into_iter().map(|line| line.2).collect();
    let expected = [
        &long,
        "said twice",
        "one",
        "another",
        "a",
        "a",
        "b",
        "c",
        "c",
    ];
    assert_eq!(messages, expected);
}

#[test]
fn times_are_put_in_order_and_made_nanoseconds() {
    let mut trace = Writer::new(Vec::new()).unwrap();
    let slow = TickRate::new(1_000).unwrap();
    trace.provider(ProviderId(1), "slow", slow).unwrap();
    for ticks in [30, 10, 20] {
        trace.log(ticks, THREAD, "tick").unwrap();
    }
    let times: Vec<_> = imported(trace).into_iter().map(|line| line.0).collect();
    assert_eq!(times, [10_000_000, 20_000_000, 30_000_000]);
}

#[test]
fn what_has_no_place_in_a_log_is_counted_and_a_full_buffer_reported() {
    let mut trace = new();
    trace
        .write(Scheduling::<logdef_fuchsia::fxt::Plain<'_>>::ThreadWakeup {
            time: Ticks(1),
            cpu: 0,
            thread: THREAD.thread,
            args: &[],
        })
        .unwrap();
    trace
        .write(Metadata::ProviderEvent {
            provider: ProviderId(1),
            event: ProviderEvent::BUFFER_FULL,
        })
        .unwrap();
    let (lines, left_out) = lines(trace);
    assert_eq!(left_out, 1);
    assert_eq!(lines.len(), 1);
    assert_eq!(lines[0].level, Some(Level::WARN));
}

/// What a log says, record by record: time, message, kind.
fn said(log: Vec<u8>) -> Vec<(Option<u64>, String, Option<u64>)> {
    let rows = all(log).into_iter();
    rows.map(|row| (row.time, row.message, row.kind)).collect()
}

/// All that a record of a log says, but for the numbers of run and record.
#[derive(Debug, Default, PartialEq)]
struct Row {
    time: Option<u64>,
    message: String,
    kind: Option<u64>,
    level: Option<Level>,
    place: (Option<Vec<u8>>, Option<u64>),
    format: Option<Vec<u8>>,
    description: Vec<u8>,
    /// Arguments, keys, and the stack.
    values: String,
    image: Vec<u8>,
    thread: (Option<u64>, Option<u64>, Option<Vec<u8>>),
    dropped: Option<u64>,
}

fn all(log: Vec<u8>) -> Vec<Row> {
    let inputs = [Input::from_bytes("log", log)];
    let recovery = Recovery::of(&inputs).unwrap();
    let mut resolver = Resolver::without_images(recovery.tables());
    let mut merge = Merge::new(&inputs, &recovery, MergeOptions::default());
    let mut rows = Vec::new();
    while let Some(event) = merge.next().unwrap() {
        let Merged::Frame(frame) = event else {
            continue;
        };
        let Some(Record::Data(data)) = frame.record() else {
            continue;
        };
        let stack = resolver.backtrace(&data, frame.place);
        let stack: Vec<_> = stack.iter().map(|of| (of.address, &of.logged)).collect();
        let resolved = resolver.resolve(&data, frame.place);
        let mut message = Vec::new();
        resolved.message(&mut message);
        let args: Vec<_> = data.args.into_iter().flatten().collect();
        let keys: Vec<_> = data.keys.into_iter().flat_map(|keys| keys.iter()).collect();
        let thread = resolved.thread.unwrap();
        rows.push(Row {
            time: data.time,
            message: String::from_utf8_lossy(&message).into_owned(),
            kind: data.kind.map(|kind| kind.0),
            level: data.level,
            place: (resolved.file.bytes.map(Vec::from), data.line),
            format: resolved.format.bytes.map(Vec::from),
            description: resolved.description.as_bytes().to_vec(),
            values: format!("{args:?} {keys:?} {stack:?}"),
            image: resolved.image.unwrap().path.clone(),
            thread: (resolved.run.unwrap().pid, thread.tid, thread.name.clone()),
            dropped: data.dropped,
        });
    }
    rows
}

fn exported(log: Vec<u8>, options: logdef_resync::export::fxt::Options) -> Vec<u8> {
    use logdef_resync::export::fxt::Exporter;
    let inputs = [Input::from_bytes("log", log)];
    let recovery = Recovery::of(&inputs).unwrap();
    let mut resolver = Resolver::without_images(recovery.tables());
    let mut merge = Merge::new(&inputs, &recovery, MergeOptions::default());
    let mut exporter = Exporter::new(Vec::new(), options).unwrap();
    while let Some(event) = merge.next().unwrap() {
        if let Merged::Frame(frame) = event
            && let Some(Record::Data(data)) = frame.record()
        {
            let stack = resolver.backtrace(&data, frame.place);
            exporter
                .record(&resolver.resolve(&data, frame.place), &stack)
                .unwrap();
        }
    }
    exporter.finish().unwrap()
}

/// A log of these entries, exported in the default forms and imported again, says the same of each.
fn comes_back(entries: &[logdef_resync::import::Entry<'_>]) {
    use logdef_resync::import::{LogWriter, Origin};
    let mut log = LogWriter::new(Vec::new(), Origin::of(b"kept"));
    for entry in entries {
        log.write(entry).unwrap();
    }
    let log = log.finish().unwrap().0;
    let trace = exported(log.clone(), Default::default());
    let checked = logdef_fuchsia::fxt::check(
        logdef_fuchsia::fxt::Reader::new(&trace[..]),
        std::io::sink(),
        logdef_fuchsia::fxt::Format::Text,
    );
    assert!(checked.unwrap().is_clean());
    let mut again = Vec::new();
    fxt::import(&Input::from_bytes("trace", trace), &mut again).unwrap();
    let (expected, found) = (all(log), all(again));
    assert_eq!(found.len(), expected.len());
    for (found, expected) in found.iter().zip(&expected) {
        assert_eq!(found, expected);
    }
}

#[test]
fn what_an_event_has_no_place_for_survives_the_way_through_a_trace() {
    use logdef_resync::import::Entry;
    use logdef_wire::record::BacktraceLogdef;
    use logdef_wire::{Array, Avma};
    let common = Entry {
        image: b"/opt/server/bin/server",
        pid: Some(10),
        tid: Some(11),
        thread_name: Some(b"work\xffer"),
        time: Some(1_800_000_000_000_000_000),
        level: Some(Level::WARN),
        file: Some(b"src/a.c"),
        line: Some(3),
        ..Entry::default()
    };
    let addresses = [0xcd, 0x12, 0x34, 0xcd, 0x56, 0x78, 0xc0];
    let known = [BacktraceLogdef {
        address: Some(Avma(0x1234)),
        fname: Some(b"/lib/libc.so.6"),
        fbase: Some(Avma(0x1000)),
        sname: Some(b"serve"),
        saddr: Some(Avma(0x1200)),
        build_id: Some(b"\x01\x02"),
        load_bias: Some(0x1000),
        ..BacktraceLogdef::default()
    }];
    let many: Vec<_> = (0..20).map(Value::Uint).collect();
    let long = "y".repeat(3_000);
    let wide = 1_u128 << 100;
    let wide = wide.to_be_bytes();
    comes_back(&[
        Entry {
            kind: Some(Kind::COUNTER),
            format: b"disk: read %d, written %d",
            args: &[Value::Uint(3), Value::Int(-4)],
            keys: &[(b"disk", Value::Raw(b"sda")), (b"7", Value::Uint(1))],
            ..common
        },
        Entry {
            kind: Some(Kind::COUNTER),
            format: b"depth %d",
            args: &[Value::Uint(3)],
            dropped: 2,
            ..common
        },
        Entry {
            format: b"failed: %s",
            args: &[Value::Raw(b"why")],
            backtrace: Array::from_objects(3, &addresses).ok(),
            addresses: &known,
            ..common
        },
        Entry {
            format: b"not \xff text %s",
            args: &[Value::Raw(b"\xfe\x80")],
            file: Some(b"\xc3.c"),
            keys: &[(b"\xf0key", Value::Raw(b"\xed\xa0"))],
            ..common
        },
        Entry {
            image: b"/opt/other/bin/server",
            format: b"said",
            description: b"r\tapp::net\tdns",
            ..common
        },
        Entry {
            format: b"{} {name}",
            description: b"b:,name\tapp",
            args: &[Value::Ext(1, &wide), Value::Raw(long.as_bytes())],
            ..common
        },
        Entry {
            format: b"many",
            args: &many,
            keys: &[(b"severity", Value::Raw(b"mine"))],
            ..common
        },
        Entry {
            kind: Some(Kind::BEGIN),
            format: b"span \xff",
            ..common
        },
        Entry {
            kind: Some(Kind::END),
            format: b"ended %s",
            args: &[Value::Raw(b"\xff")],
            ..common
        },
    ]);
}

#[test]
fn what_is_exported_by_default_and_imported_again_is_the_same_log() {
    use logdef_resync::import::{Entry, LogWriter, Origin};
    let long = "x".repeat(70_000);
    let named: &[(&[u8], Value<'_>)] = &[(b"span", Value::Uint(7))];
    let entry = |format: &'static str, kind: Option<Kind>| Entry {
        image: b"/bin/server",
        pid: Some(10),
        tid: Some(11),
        level: Some(Level::INFO),
        file: Some(b"a.c"),
        line: Some(3),
        format: format.as_bytes(),
        kind,
        ..Entry::default()
    };
    let (begin, end, counter) = (Some(Kind::BEGIN), Some(Kind::END), Some(Kind::COUNTER));
    let many: Vec<_> = (0..40).map(|at| format!("v{at}=%llu")).collect();
    let many = many.join(", ");
    let numbers: Vec<_> = (0..40).map(Value::Uint).collect();
    let entries = [
        entry("started", None),
        entry("load", begin),
        entry("same span", begin),
        entry("same span", end),
        entry("", end),
        entry("ends what never began", end),
        Entry {
            keys: named,
            ..entry("request", begin)
        },
        Entry {
            keys: named,
            ..entry("request done", end)
        },
        Entry {
            args: &[Value::Uint(3)],
            ..entry("queue depth %llu", counter)
        },
        Entry {
            args: &[Value::Float(0.25), Value::Int(-4), Value::Uint(255)],
            ..entry("disk: %.2f%% read, %lld written, %#llx", counter)
        },
        Entry {
            args: &numbers,
            format: many.as_bytes(),
            ..entry("", counter)
        },
        Entry {
            args: &[Value::Raw(long.as_bytes())],
            ..entry("%s", None)
        },
        Entry {
            args: &[Value::Raw(long.as_bytes())],
            ..entry("%s", begin)
        },
        Entry {
            args: &[Value::Raw(long.as_bytes())],
            ..entry("%s", end)
        },
        entry("", None),
    ];
    // Once with a time for each, and once all at one time.
    for step in [1, 0] {
        let mut log = LogWriter::new(Vec::new(), Origin::of(b"spans"));
        for (at, entry) in entries.iter().enumerate() {
            let time = Some(1_800_000_000_000_000_000 + step * at as u64);
            log.write(&Entry { time, ..*entry }).unwrap();
        }
        let log = log.finish().unwrap().0;
        let trace = exported(log.clone(), Default::default());
        let mut again = Vec::new();
        let trace = Input::from_bytes("trace", trace);
        fxt::import(&trace, &mut again).unwrap();
        let (expected, found) = (said(log), said(again));
        assert_eq!(found.len(), expected.len(), "{step}");
        for (found, expected) in found.iter().zip(&expected) {
            assert_eq!(found, expected);
        }
    }
}

#[test]
fn the_direction_of_a_flow_is_kept_and_its_category_is_no_file() {
    let mut trace = new();
    for (time, kind) in [
        (1, EventKind::FlowBegin { id: 5 }),
        (2, EventKind::FlowStep { id: 5 }),
        (3, EventKind::FlowEnd { id: 5 }),
    ] {
        trace
            .write(Event::new(kind, Ticks(time), THREAD, "net", "packet"))
            .unwrap();
    }
    // Our exporter writes the name of the provider as category, which says nothing new.
    trace
        .write(Event::instant(4, THREAD, "netstack", "own"))
        .unwrap();
    let (lines, _) = lines(trace);
    let keys: Vec<_> = lines.iter().map(|line| &*line.keys).collect();
    let expected = [
        "category=\"net\" flow_begin=5",
        "category=\"net\" flow_step=5",
        "category=\"net\" flow_end=5",
        "",
    ];
    assert_eq!(keys, expected);
    assert!(lines.iter().all(|line| line.file.is_empty()));
}

#[test]
fn a_time_that_a_log_cannot_hold_is_left_out_and_counted() {
    let mut trace = Writer::new(Vec::new()).unwrap();
    trace
        .provider(ProviderId(1), "slow", TickRate::new(1).unwrap())
        .unwrap();
    trace.log(5, THREAD, "in time").unwrap();
    trace.log(u64::MAX, THREAD, "late").unwrap();
    let trace = Input::from_bytes("trace", trace.finish().unwrap());
    let mut log = Vec::new();
    let imported = fxt::import(&trace, &mut log).unwrap();
    assert_eq!(imported.untimed, 1);
    let said = said(log);
    let late = said
        .iter()
        .find(|(_, message, _)| message == "late")
        .unwrap();
    assert_eq!(late.0, None);
}
