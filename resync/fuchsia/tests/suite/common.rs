//! A trace that holds every record type, built with the raw layer, for the tests
//! that damage it.

use logdef_fuchsia::fxt::{
    Arguments, Blob, BlobKind, BlobOrigin, Event, EventKind, Initialization, KernelObject, Koid,
    LargeBlob, Log, Metadata, ObjectKind, ProcessRef, Profiler, ProviderEvent, ProviderId, Raw,
    RawArgument, Record, RecordHeader, Scheduling, StringIndex, StringRecord, StringRef, Thread,
    ThreadIndex, ThreadRecord, ThreadRef, ThreadState, ThreadWord, Ticks, Unknown, UserspaceObject,
    Value,
};

pub fn string(index: u16) -> StringRef<'static> {
    StringRef::Index(StringIndex::new(index).unwrap())
}

pub fn thread(index: u8) -> ThreadRef {
    ThreadRef::Index(ThreadIndex::new(index).unwrap())
}

fn arg(
    name: StringRef<'static>,
    value: Value<'static, StringRef<'static>>,
) -> RawArgument<'static> {
    RawArgument {
        name,
        value,
        extra: &[],
    }
}

/// Every record type, event type and argument type, with references of every form.
pub fn every_record() -> Vec<Record<Raw<'static>>> {
    let inline = ThreadRef::Inline(Thread::new(0x1234, 0x5678));
    let time = |n: u64| Ticks(1_700_000_000_000_000_000 + n * 1_000_003);
    let name = StringRef::Inline(b"spelled out");
    let args: &'static [RawArgument<'static>] = vec![
        arg(string(3), Value::Null),
        arg(string(3), Value::I32(-5)),
        arg(string(4), Value::U32(5)),
        arg(string(3), Value::I64(i64::MIN)),
        arg(string(4), Value::U64(u64::MAX)),
        arg(string(3), Value::F64(0.1)),
        arg(string(4), Value::Text(string(2))),
        arg(StringRef::Inline(b"text"), Value::Text(name)),
        arg(string(3), Value::Pointer(0x7fff_0000_1000)),
        arg(string(4), Value::Koid(Koid(0x1234))),
        arg(string(3), Value::Bool(true)),
        arg(string(4), Value::Blob(b"twelve bytes")),
        arg(
            string(3),
            Value::Unknown {
                kind: 13,
                data: 7,
                body: b"8 bytes.",
            },
        ),
    ]
    .leak();
    let some = Arguments::from(&args[5..9]);
    let mut records: Vec<Record<Raw<'static>>> = vec![
        Metadata::Magic.into(),
        Metadata::ProviderInfo {
            provider: ProviderId(1),
            name: b"first provider" as &[u8],
        }
        .into(),
        Initialization {
            ticks_per_second: 1_000_000_000,
        }
        .into(),
    ];
    for (index, text) in ["category", "a name", "key", "another key"]
        .iter()
        .enumerate()
    {
        records.push(
            StringRecord {
                index: StringIndex::new(index as u16 + 1),
                text: text.as_bytes(),
            }
            .into(),
        );
    }
    records.push(
        ThreadRecord {
            index: ThreadIndex::new(1),
            thread: Thread::new(0x1234, 0x5679),
        }
        .into(),
    );
    for (n, kind) in [
        EventKind::Instant,
        EventKind::Counter { id: 77 },
        EventKind::DurationBegin,
        EventKind::DurationEnd,
        EventKind::DurationComplete { end: time(100) },
        EventKind::AsyncBegin { id: 78 },
        EventKind::AsyncInstant { id: 78 },
        EventKind::AsyncEnd { id: 78 },
        EventKind::FlowBegin { id: 79 },
        EventKind::FlowStep { id: 79 },
        EventKind::FlowEnd { id: 79 },
        EventKind::Unknown(12),
    ]
    .into_iter()
    .enumerate()
    {
        records.push(
            Event {
                time: time(n as u64),
                thread: if n % 2 == 0 { thread(1) } else { inline },
                category: string(1),
                name: if n % 3 == 0 { name } else { string(2) },
                args: Arguments::from(&args[n.min(9)..][..n % 4]),
                kind,
            }
            .into(),
        );
    }
    let blob = |name| Blob::<Raw<'static>> {
        name,
        kind: BlobKind::PERFETTO,
        data: b"some bytes that are no record of any kind" as &[u8],
    };
    let more: Vec<Record<Raw<'static>>> = vec![
        Event {
            time: time(20),
            thread: inline,
            category: name,
            name,
            args: Arguments::from(args),
            kind: EventKind::Instant,
        }
        .into(),
        Metadata::ProviderEvent {
            provider: ProviderId(1),
            event: ProviderEvent::BUFFER_FULL,
        }
        .into(),
        blob(string(2)).into(),
        Unknown {
            header: RecordHeader(0x3b),
            body: b"sixteen bytes of" as &[u8],
        }
        .into(),
        Metadata::ProviderInfo {
            provider: ProviderId(2),
            name: b"second" as &[u8],
        }
        .into(),
        blob(name).into(),
        Metadata::ProviderSection {
            provider: ProviderId(1),
        }
        .into(),
        UserspaceObject {
            process: ProcessRef::Index(ThreadIndex::new(1).unwrap()),
            pointer: 0x7fff_0000_1000,
            name,
            args: some,
        }
        .into(),
        UserspaceObject {
            process: ProcessRef::Inline(Koid(0x1234)),
            pointer: 0x7fff_0000_2000,
            name: string(2),
            args: Arguments::default(),
        }
        .into(),
        KernelObject {
            kind: ObjectKind::THREAD,
            koid: Koid(0x5679),
            name,
            args: Arguments::from(&args[9..10]),
        }
        .into(),
        Scheduling::ContextSwitch {
            time: time(21),
            cpu: 300,
            outgoing: Koid(0x5678),
            outgoing_state: ThreadState::BLOCKED,
            incoming: Koid(0x5679),
            args: Arguments::from(&args[1..2]),
        }
        .into(),
        Scheduling::ThreadWakeup {
            time: time(22),
            cpu: 1,
            thread: Koid(0x5678),
            args: Arguments::from(&args[9..10]),
        }
        .into(),
        Scheduling::LegacyContextSwitch {
            time: time(23),
            cpu: 3,
            outgoing: inline,
            outgoing_state: ThreadState::DEAD,
            outgoing_priority: 16,
            incoming: thread(1),
            incoming_priority: 17,
        }
        .into(),
        Log {
            time: time(24),
            thread: thread(1),
            message: "a log message with an ä".as_bytes(),
        }
        .into(),
        LargeBlob {
            category: string(1),
            name,
            origin: Some(BlobOrigin {
                time: time(25),
                thread: inline,
                args: some,
            }),
            data: b"a blob that could be larger" as &[u8],
        }
        .into(),
        Profiler::Module {
            time: time(26),
            process: ProcessRef::Inline(Koid(0x1234)),
            thread: ThreadWord::Standard,
            module: 5,
            name: b"libsome.so" as &[u8],
            build_id: b"0123456789abcdefghij" as &[u8],
        }
        .into(),
        Profiler::Mapping {
            time: time(27),
            process: ProcessRef::Index(ThreadIndex::new(1).unwrap()),
            thread: ThreadWord::Standard,
            module: 5,
            start: 0x7f00_0000_0000,
            range: 0x10_0000,
            vaddr: 0x1000,
            flags: 5,
        }
        .into(),
        Profiler::Backtrace {
            time: time(28),
            thread: thread(1),
            frames: b"\x00\x10\x00\x00\x00\x7f\0\0\x10\x20\x00\x00\x00\x7f\0\0" as &[u8],
        }
        .into(),
        LargeBlob {
            category: name,
            name: string(2),
            origin: None,
            data: b"another" as &[u8],
        }
        .into(),
        Log {
            time: time(29),
            thread: inline,
            message: b"the last but one" as &[u8],
        }
        .into(),
        Log {
            time: time(30),
            thread: thread(1),
            message: b"the last" as &[u8],
        }
        .into(),
    ];
    records.extend(more);
    records
}

/// The trace of [`every_record`], and where each record begins; the last entry is
/// the end.
pub fn trace() -> (Vec<u8>, Vec<usize>) {
    let mut bytes = Vec::new();
    let mut starts = vec![0];
    for record in every_record() {
        record.encode(&mut bytes).unwrap();
        starts.push(bytes.len());
    }
    (bytes, starts)
}
