//! One hand-made byte vector, or several, for every record and argument type, taken
//! down bit by bit from the text of the format. Each is read and compared with a
//! value, and that value is written and compared with the bytes.

use logdef_fuchsia::fxt::{
    Argument, Arguments, Blob, BlobKind, BlobOrigin, Decoded, Event, EventKind, Initialization,
    KernelObject, Koid, LargeBlob, Log, Metadata, ObjectKind, ProcessRef, Profiler, ProviderEvent,
    ProviderId, Raw, RawArgument, Record, RecordHeader, Scheduling, StringIndex, StringRecord,
    StringRef, Thread, ThreadIndex, ThreadRecord, ThreadRef, ThreadState, ThreadWord, Ticks,
    Unknown, UserspaceObject, Value,
};

/// The bytes of a vector: hex digits, with comments from `#` to the end of a line.
fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u32> = text
        .lines()
        .flat_map(|line| line.split('#').next())
        .flat_map(str::chars)
        .filter(|c| !c.is_whitespace())
        .map(|c| c.to_digit(16).expect("a hex digit"))
        .collect();
    assert_eq!(digits.len() % 16, 0, "whole words");
    digits.chunks(2).map(|d| (d[0] * 16 + d[1]) as u8).collect()
}

/// Reads `vector` as `record` and writes `record` as `vector`.
#[track_caller]
fn assert_both_ways<'a>(vector: &str, record: impl Into<Record<Raw<'a>>>) {
    // Leaked, as the two records must have one lifetime to be compared.
    let (bytes, record): (&[u8], _) = (hex(vector).leak(), record.into());
    let decoded = Decoded::decode(bytes).expect("a well-formed record");
    assert_eq!(format!("{:?}", decoded.record), format!("{record:?}"));
    assert_eq!(decoded.record, record);
    assert_eq!(decoded.extra, &[] as &[u8]);
    let mut written = Vec::new();
    assert_eq!(record.encode(&mut written), Ok(bytes.len()));
    assert_eq!(written, bytes);
}

fn string(index: u16) -> StringRef<'static> {
    StringRef::Index(StringIndex::new(index).unwrap())
}

fn thread(index: u8) -> ThreadRef {
    ThreadRef::Index(ThreadIndex::new(index).unwrap())
}

fn inline_thread() -> ThreadRef {
    ThreadRef::Inline(Thread::new(0x1234, 0x5678))
}

const TIME: Ticks = Ticks(0x0102_0304_0506_0708);

#[test]
fn magic_number() {
    assert_both_ways("10 00 04 46 78 54 16 00", Metadata::Magic);
}

#[test]
fn provider_info() {
    assert_both_ways(
        "30 00 11 00 00 00 d0 00 # 3 words, metadata 1, provider 1, 13 bytes of name
         74 65 73 74 5f 70 72 6f # test_pro
         76 69 64 65 72 00 00 00 # vider",
        Metadata::ProviderInfo {
            provider: ProviderId(1),
            name: b"test_provider" as &[u8],
        },
    );
}

#[test]
fn provider_section() {
    assert_both_ways(
        "10 00 82 67 45 23 01 00 # metadata 2, provider 0x12345678",
        Metadata::ProviderSection {
            provider: ProviderId(0x1234_5678),
        },
    );
}

#[test]
fn provider_event() {
    assert_both_ways(
        "10 00 13 00 00 00 00 00 # metadata 3, provider 1, event 0",
        Metadata::ProviderEvent {
            provider: ProviderId(1),
            event: ProviderEvent::BUFFER_FULL,
        },
    );
    assert_both_ways(
        "10 00 f3 ff ff ff 5f 00 # the largest provider, event 5",
        Metadata::ProviderEvent {
            provider: ProviderId(u32::MAX),
            event: ProviderEvent(5),
        },
    );
}

#[test]
fn initialization() {
    assert_both_ways(
        "21 00 00 00 00 00 00 00
         00 ca 9a 3b 00 00 00 00 # 1 000 000 000",
        Initialization {
            ticks_per_second: 1_000_000_000,
        },
    );
}

#[test]
fn string_record() {
    assert_both_ways(
        "22 00 01 00 05 00 00 00 # index 1, 5 bytes
         68 65 6c 6c 6f 00 00 00 # hello",
        StringRecord {
            index: StringIndex::new(1),
            text: b"hello" as &[u8],
        },
    );
    assert_both_ways(
        "22 00 ff 7f 08 00 00 00 # index 32767, 8 bytes, hence no padding
         63 61 74 65 67 6f 72 79 # category",
        StringRecord {
            index: StringIndex::new(32_767),
            text: b"category" as &[u8],
        },
    );
    // Pointless, but to be put up with: nothing at all, and index zero.
    assert_both_ways(
        "12 00 02 00 00 00 00 00",
        StringRecord {
            index: StringIndex::new(2),
            text: b"" as &[u8],
        },
    );
    assert_both_ways(
        "22 00 00 00 01 00 00 00
         78 00 00 00 00 00 00 00",
        StringRecord {
            index: None,
            text: b"x" as &[u8],
        },
    );
}

#[test]
fn thread_record() {
    let thread = Thread::new(0x1234, 0x5678);
    assert_both_ways(
        "33 00 ff 00 00 00 00 00 # index 255
         34 12 00 00 00 00 00 00
         78 56 00 00 00 00 00 00",
        ThreadRecord {
            index: ThreadIndex::new(255),
            thread,
        },
    );
    assert_both_ways(
        "33 00 00 00 00 00 00 00 # index 0
         34 12 00 00 00 00 00 00
         78 56 00 00 00 00 00 00",
        ThreadRecord {
            index: None,
            thread,
        },
    );
}

fn event(kind: EventKind<Ticks>) -> Event<Raw<'static>> {
    Event {
        time: TIME,
        thread: thread(1),
        category: string(1),
        name: string(2),
        args: Arguments::default(),
        kind,
    }
}

#[test]
fn events_without_a_word_of_their_own() {
    for (number, kind) in [
        ("0", EventKind::Instant),
        ("2", EventKind::DurationBegin),
        ("3", EventKind::DurationEnd),
        ("b", EventKind::Unknown(11)),
        ("f", EventKind::Unknown(15)),
    ] {
        assert_both_ways(
            &format!(
                "24 00 0{number} 01 01 00 02 00 # no arguments, thread 1, category 1, name 2
                 08 07 06 05 04 03 02 01"
            ),
            event(kind),
        );
    }
}

#[test]
fn events_with_a_word_of_their_own() {
    let id = 0x1122_3344_5566_7788;
    for (number, kind) in [
        ("1", EventKind::Counter { id }),
        ("4", EventKind::DurationComplete { end: Ticks(id) }),
        ("5", EventKind::AsyncBegin { id }),
        ("6", EventKind::AsyncInstant { id }),
        ("7", EventKind::AsyncEnd { id }),
        ("8", EventKind::FlowBegin { id }),
        ("9", EventKind::FlowStep { id }),
        ("a", EventKind::FlowEnd { id }),
    ] {
        assert_both_ways(
            &format!(
                "34 00 0{number} 01 01 00 02 00
                 08 07 06 05 04 03 02 01
                 88 77 66 55 44 33 22 11"
            ),
            event(kind),
        );
    }
}

#[test]
fn event_with_everything_spelled_out() {
    let args: [RawArgument<'_>; 2] = [
        Argument {
            name: string(3),
            value: Value::I32(-2),
            extra: &[],
        },
        Argument {
            name: StringRef::Inline(b"k"),
            value: Value::Null,
            extra: &[],
        },
    ];
    assert_both_ways(
        "b4 00 24 00 03 80 09 80 # 11 words, type 4, 2 arguments, thread 0, 3 and 9 bytes
         08 07 06 05 04 03 02 01
         34 12 00 00 00 00 00 00
         78 56 00 00 00 00 00 00
         63 61 74 00 00 00 00 00 # cat
         6e 69 6e 65 62 79 74 65 # ninebyte
         73 00 00 00 00 00 00 00 # s
         11 00 03 00 fe ff ff ff
         20 00 01 80 00 00 00 00
         6b 00 00 00 00 00 00 00 # k
         01 00 00 00 00 00 00 00 # the end",
        Event {
            time: TIME,
            thread: inline_thread(),
            category: StringRef::Inline(b"cat"),
            name: StringRef::Inline(b"ninebytes"),
            args: Arguments::from(&args[..]),
            kind: EventKind::DurationComplete { end: Ticks(1) },
        },
    );
}

#[test]
fn references_to_the_empty_string() {
    assert_both_ways(
        "24 00 00 01 00 00 00 80 # category 0; name spelled out with no bytes
         08 07 06 05 04 03 02 01",
        Event {
            category: StringRef::Empty,
            name: StringRef::Inline(b""),
            ..event(EventKind::Instant)
        },
    );
}

/// An argument in an instant event: `words` is the size of the argument.
#[track_caller]
fn assert_argument(
    words: usize,
    vector: &str,
    name: StringRef<'_>,
    value: Value<'_, StringRef<'_>>,
) {
    let args = [Argument {
        name,
        value,
        extra: &[],
    }];
    assert_both_ways(
        &format!(
            "{:x}4 00 10 01 01 00 02 00 # one argument
             08 07 06 05 04 03 02 01
             {vector}",
            words + 2
        ),
        Event {
            args: Arguments::from(&args[..]),
            ..event(EventKind::Instant)
        },
    );
}

#[test]
fn arguments_in_their_header() {
    assert_argument(1, "10 00 03 00 00 00 00 00", string(3), Value::Null);
    assert_argument(1, "11 00 03 00 ff ff ff ff", string(3), Value::I32(-1));
    assert_argument(
        1,
        "11 00 03 00 00 00 00 80",
        string(3),
        Value::I32(i32::MIN),
    );
    assert_argument(
        1,
        "12 00 03 00 ef cd ab 89",
        string(3),
        Value::U32(0x89ab_cdef),
    );
    assert_argument(
        1,
        "16 00 03 00 04 00 00 00",
        string(3),
        Value::Text(string(4)),
    );
    assert_argument(
        1,
        "16 00 00 00 00 00 00 00",
        StringRef::Empty,
        Value::Text(StringRef::Empty),
    );
    assert_argument(1, "19 00 03 00 01 00 00 00", string(3), Value::Bool(true));
    assert_argument(1, "19 00 03 00 00 00 00 00", string(3), Value::Bool(false));
    assert_argument(1, "1a 00 03 00 00 00 00 00", string(3), Value::Blob(b""));
}

#[test]
fn arguments_with_a_word() {
    assert_argument(
        2,
        "23 00 ff 7f 00 00 00 00  fe ff ff ff ff ff ff ff",
        string(32_767),
        Value::I64(-2),
    );
    assert_argument(
        2,
        "24 00 03 00 00 00 00 00  ff ff ff ff ff ff ff ff",
        string(3),
        Value::U64(u64::MAX),
    );
    assert_argument(
        2,
        "25 00 03 00 00 00 00 00  00 00 00 00 00 00 f8 3f",
        string(3),
        Value::F64(1.5),
    );
    assert_argument(
        2,
        "27 00 03 00 00 00 00 00  78 56 34 12 ff 7f 00 00",
        string(3),
        Value::Pointer(0x7fff_1234_5678),
    );
    assert_argument(
        2,
        "28 00 03 00 00 00 00 00  63 00 00 00 00 00 00 00",
        string(3),
        Value::Koid(Koid(99)),
    );
}

#[test]
fn arguments_with_streams() {
    assert_argument(
        2,
        "26 00 03 00 03 80 00 00  61 62 63 00 00 00 00 00",
        string(3),
        Value::Text(StringRef::Inline(b"abc")),
    );
    assert_argument(
        3,
        "36 00 02 80 01 80 00 00  6e 6d 00 00 00 00 00 00  76 00 00 00 00 00 00 00",
        StringRef::Inline(b"nm"),
        Value::Text(StringRef::Inline(b"v")),
    );
    assert_argument(
        3,
        "38 00 02 80 00 00 00 00  6e 6d 00 00 00 00 00 00  07 00 00 00 00 00 00 00",
        StringRef::Inline(b"nm"),
        Value::Koid(Koid(7)),
    );
    assert_argument(
        3,
        "3a 00 02 80 03 00 00 00  6e 6d 00 00 00 00 00 00  de ad be 00 00 00 00 00",
        StringRef::Inline(b"nm"),
        Value::Blob(&[0xde, 0xad, 0xbe]),
    );
    assert_argument(
        3,
        "3b 00 02 80 78 56 34 12  6e 6d 00 00 00 00 00 00  01 02 03 04 05 06 07 08",
        StringRef::Inline(b"nm"),
        Value::Unknown {
            kind: 11,
            data: 0x1234_5678,
            body: &[1, 2, 3, 4, 5, 6, 7, 8],
        },
    );
}

#[test]
fn blob_record() {
    assert_both_ways(
        "25 00 02 00 05 00 01 00 # name 2, 5 bytes, type 1
         01 02 03 04 05 00 00 00",
        Blob {
            name: string(2),
            kind: BlobKind::DATA,
            data: &[1, 2, 3, 4, 5][..],
        },
    );
    assert_both_ways(
        "35 00 02 80 08 00 03 00 # name of 2 bytes, 8 bytes, type 3
         70 62 00 00 00 00 00 00 # pb
         0a 0b 0c 0d 0e 0f 10 11",
        Blob {
            name: StringRef::Inline(b"pb"),
            kind: BlobKind::PERFETTO,
            data: &[10, 11, 12, 13, 14, 15, 16, 17][..],
        },
    );
}

#[test]
fn userspace_object() {
    assert_both_ways(
        "26 00 01 02 00 00 00 00 # thread 1, name 2, no arguments
         78 56 34 12 ff 7f 00 00",
        UserspaceObject {
            process: ProcessRef::Index(ThreadIndex::new(1).unwrap()),
            pointer: 0x7fff_1234_5678,
            name: string(2),
            args: Arguments::default(),
        },
    );
    let args = [Argument {
        name: string(3),
        value: Value::U32(1),
        extra: &[],
    }];
    assert_both_ways(
        "56 00 00 03 80 01 00 00 # process spelled out, name of 3 bytes, 1 argument
         78 56 34 12 ff 7f 00 00
         34 12 00 00 00 00 00 00 # the process alone
         6f 62 6a 00 00 00 00 00 # obj
         12 00 03 00 01 00 00 00",
        UserspaceObject {
            process: ProcessRef::Inline(Koid(0x1234)),
            pointer: 0x7fff_1234_5678,
            name: StringRef::Inline(b"obj"),
            args: Arguments::from(&args[..]),
        },
    );
}

#[test]
fn kernel_object() {
    assert_both_ways(
        "27 00 01 02 00 00 00 00 # a process, name 2, no arguments
         34 12 00 00 00 00 00 00",
        KernelObject {
            kind: ObjectKind::PROCESS,
            koid: Koid(0x1234),
            name: string(2),
            args: Arguments::default(),
        },
    );
    let args = [Argument {
        name: string(5),
        value: Value::Koid(Koid(0x1234)),
        extra: &[],
    }];
    assert_both_ways(
        "57 00 02 04 80 01 00 00 # a thread, name of 4 bytes, 1 argument
         78 56 00 00 00 00 00 00
         6d 61 69 6e 00 00 00 00 # main
         28 00 05 00 00 00 00 00
         34 12 00 00 00 00 00 00",
        KernelObject {
            kind: ObjectKind::THREAD,
            koid: Koid(0x5678),
            name: StringRef::Inline(b"main"),
            args: Arguments::from(&args[..]),
        },
    );
}

#[test]
fn context_switch() {
    assert_both_ways(
        "48 00 d0 bc 3a 00 00 10 # no arguments, cpu 0xabcd, state 3, subtype 1
         08 07 06 05 04 03 02 01
         78 56 00 00 00 00 00 00
         79 56 00 00 00 00 00 00",
        Scheduling::ContextSwitch {
            time: TIME,
            cpu: 0xabcd,
            outgoing: Koid(0x5678),
            outgoing_state: ThreadState::BLOCKED,
            incoming: Koid(0x5679),
            args: Arguments::default(),
        },
    );
}

#[test]
fn thread_wakeup() {
    let args = [Argument {
        name: string(3),
        value: Value::I32(10),
        extra: &[],
    }];
    assert_both_ways(
        "48 00 11 00 00 00 00 20 # 1 argument, cpu 1, subtype 2
         08 07 06 05 04 03 02 01
         78 56 00 00 00 00 00 00
         11 00 03 00 0a 00 00 00",
        Scheduling::ThreadWakeup {
            time: TIME,
            cpu: 1,
            thread: Koid(0x5678),
            args: Arguments::from(&args[..]),
        },
    );
}

#[test]
fn legacy_context_switch() {
    let switch = |outgoing, incoming| Scheduling::LegacyContextSwitch {
        time: TIME,
        cpu: 1,
        outgoing,
        outgoing_state: ThreadState::SUSPENDED,
        outgoing_priority: 0x10,
        incoming,
        incoming_priority: 0x1f,
    };
    assert_both_ways(
        "28 00 01 12 20 00 f1 01 # cpu 1, state 2, threads 1 and 2, priorities 16 and 31
         08 07 06 05 04 03 02 01",
        switch(thread(1), thread(2)),
    );
    assert_both_ways(
        "68 00 01 02 00 00 f1 01
         08 07 06 05 04 03 02 01
         34 12 00 00 00 00 00 00 # outgoing
         78 56 00 00 00 00 00 00
         09 00 00 00 00 00 00 00 # incoming
         0a 00 00 00 00 00 00 00",
        switch(inline_thread(), ThreadRef::Inline(Thread::new(9, 10))),
    );
    assert_both_ways(
        "48 00 01 02 f0 0f f1 01 # incoming thread 255
         08 07 06 05 04 03 02 01
         34 12 00 00 00 00 00 00
         78 56 00 00 00 00 00 00",
        switch(inline_thread(), thread(255)),
    );
}

#[test]
fn log_record() {
    assert_both_ways(
        "39 00 02 00 01 00 00 00 # 2 bytes, thread 1
         08 07 06 05 04 03 02 01
         68 69 00 00 00 00 00 00 # hi",
        Log {
            time: TIME,
            thread: thread(1),
            message: b"hi" as &[u8],
        },
    );
    assert_both_ways(
        "49 00 00 00 00 00 00 00 # no bytes, thread spelled out
         ff ff ff ff ff ff ff ff
         34 12 00 00 00 00 00 00
         78 56 00 00 00 00 00 00",
        Log {
            time: Ticks(u64::MAX),
            thread: inline_thread(),
            message: b"" as &[u8],
        },
    );
}

#[test]
fn profiler_module() {
    let build_id: Vec<u8> = (1..=20).collect();
    let module = |process, thread| Profiler::Module {
        time: TIME,
        process,
        thread,
        module: 99,
        name: b"test_module.so" as &[u8],
        build_id: &build_id[..],
    };
    let rest = "74 65 73 74 5f 6d 6f 64 # test_mod
                75 6c 65 2e 73 6f 00 00 # ule.so
                01 02 03 04 05 06 07 08
                09 0a 0b 0c 0d 0e 0f 10
                11 12 13 14 00 00 00 00";
    assert_both_ways(
        &format!(
            "7a 00 30 30 06 e0 40 01 # subtype 0, thread 3, module 99, 14 and 20 bytes
             08 07 06 05 04 03 02 01
             {rest}"
        ),
        module(
            ProcessRef::Index(ThreadIndex::new(3).unwrap()),
            ThreadWord::Standard,
        ),
    );
    let inline = ProcessRef::Inline(Koid(0x1234));
    assert_both_ways(
        &format!(
            "9a 00 00 30 06 e0 40 01
             08 07 06 05 04 03 02 01
             34 12 00 00 00 00 00 00
             00 00 00 00 00 00 00 00 # the thread, always zero
             {rest}"
        ),
        module(inline, ThreadWord::Standard),
    );
    assert_both_ways(
        &format!(
            "8a 00 00 30 06 e0 40 01 # as some wrote it in 2025: no thread word
             08 07 06 05 04 03 02 01
             34 12 00 00 00 00 00 00
             {rest}"
        ),
        module(inline, ThreadWord::Missing),
    );
}

#[test]
fn profiler_mapping() {
    let mapping = |process, thread| Profiler::Mapping {
        time: TIME,
        process,
        thread,
        module: 0x65,
        start: 0x1000,
        range: 0x2000,
        vaddr: 0x3000,
        flags: 5,
    };
    let rest = "00 10 00 00 00 00 00 00
                00 20 00 00 00 00 00 00
                00 30 00 00 00 00 00 00";
    assert_both_ways(
        &format!(
            "5a 00 31 50 06 50 00 00 # subtype 1, thread 3, module 0x65, flags 5
             08 07 06 05 04 03 02 01
             {rest}"
        ),
        mapping(
            ProcessRef::Index(ThreadIndex::new(3).unwrap()),
            ThreadWord::Standard,
        ),
    );
    assert_both_ways(
        &format!(
            "7a 00 01 50 06 50 00 00
             08 07 06 05 04 03 02 01
             34 12 00 00 00 00 00 00
             07 00 00 00 00 00 00 00 # not zero as it should be
             {rest}"
        ),
        mapping(
            ProcessRef::Inline(Koid(0x1234)),
            ThreadWord::NonZero(Koid(7)),
        ),
    );
}

#[test]
fn profiler_backtrace() {
    let frames = hex("99 14 4b 96 2a 40 00 00  3b 29 e0 4a 00 00 00 00");
    assert_both_ways(
        "6a 00 02 20 00 00 00 00 # subtype 2, thread spelled out, 2 frames
         08 07 06 05 04 03 02 01
         34 12 00 00 00 00 00 00
         78 56 00 00 00 00 00 00
         99 14 4b 96 2a 40 00 00
         3b 29 e0 4a 00 00 00 00",
        Profiler::Backtrace {
            time: TIME,
            thread: inline_thread(),
            frames: &frames[..],
        },
    );
    let addresses: Vec<u64> = logdef_fuchsia::fxt::stack_frames(&frames).collect();
    assert_eq!(addresses, [0x402a_964b_1499, 0x4ae0_293b]);
}

#[test]
fn large_blob_with_metadata() {
    let args = [Argument {
        name: string(3),
        value: Value::I32(42),
        extra: &[],
    }];
    assert_both_ways(
        "6f 00 00 00 00 00 00 00 # 6 words, large type 0, format 0
         01 00 02 00 11 00 00 00 # category 1, name 2, 1 argument, thread 1
         08 07 06 05 04 03 02 01
         11 00 03 00 2a 00 00 00
         05 00 00 00 00 00 00 00 # 5 bytes
         01 02 03 04 05 00 00 00",
        LargeBlob {
            category: string(1),
            name: string(2),
            origin: Some(BlobOrigin {
                time: TIME,
                thread: thread(1),
                args: Arguments::from(&args[..]),
            }),
            data: &[1, 2, 3, 4, 5][..],
        },
    );
}

#[test]
fn large_blob_without_metadata() {
    assert_both_ways(
        "6f 00 00 00 00 01 00 00 # 6 words, large type 0, format 1
         01 80 01 80 00 00 00 00 # names of 1 byte each
         63 00 00 00 00 00 00 00 # c
         6e 00 00 00 00 00 00 00 # n
         08 00 00 00 00 00 00 00 # 8 bytes
         01 02 03 04 05 06 07 08",
        LargeBlob {
            category: StringRef::Inline(b"c"),
            name: StringRef::Inline(b"n"),
            origin: None,
            data: &[1, 2, 3, 4, 5, 6, 7, 8][..],
        },
    );
}

#[test]
fn large_blob_of_more_words_than_12_bits_hold() {
    // 0x12345 words: header, format header, size, and 0x12342 words of data.
    let data = vec![7; 0x12342 * 8];
    let record = Record::from(LargeBlob {
        category: string(1),
        name: string(2),
        origin: None,
        data: &data[..],
    });
    let mut written = Vec::new();
    record.encode(&mut written).unwrap();
    let head = hex("5f 34 12 00 00 01 00 00 # 0x12345 words from bit 4 on
         01 00 02 00 00 00 00 00
         10 1a 09 00 00 00 00 00 # 0x91a10 bytes");
    assert_eq!(written[..24], head);
    assert_eq!(written.len(), 0x12345 * 8);
    assert_eq!(Decoded::decode(&written).unwrap().record, record);
}

#[test]
fn types_without_a_meaning_yet_are_kept() {
    for vector in [
        "2b 00 11 22 33 44 55 66  01 02 03 04 05 06 07 08 # record type 11",
        "1e 00 ff ff ff ff ff ff # record type 14",
        "10 00 00 00 00 00 00 00 # metadata type 0",
        "20 00 05 00 00 00 00 00  01 02 03 04 05 06 07 08 # metadata type 5",
        "10 00 14 00 00 00 00 00 # trace info type 1",
        "28 00 00 00 00 00 00 30  01 02 03 04 05 06 07 08 # scheduling type 3",
        "2a 00 03 00 00 00 00 00  01 02 03 04 05 06 07 08 # profiler subtype 3",
        "2f 00 00 00 10 00 00 00  01 02 03 04 05 06 07 08 # large type 1",
        "2f 00 00 00 00 02 00 00  01 02 03 04 05 06 07 08 # large blob format 2",
    ] {
        let bytes = hex(vector);
        assert_both_ways(
            vector,
            Unknown {
                header: RecordHeader(u64::from_le_bytes(bytes[..8].try_into().unwrap())),
                body: &bytes[8..],
            },
        );
    }
}

#[test]
fn appended_words_are_kept_and_written_back() {
    let bytes = hex("54 00 10 01 01 00 02 00 # an instant of 5 words
         08 07 06 05 04 03 02 01
         21 00 03 00 07 00 00 00 # an argument of 2 words that needs one
         aa aa aa aa aa aa aa aa
         02 00 00 00 00 00 00 00 # a scope");
    let decoded = Decoded::decode(&bytes).unwrap();
    assert_eq!(decoded.extra, &bytes[32..]);
    let Record::Event(event) = decoded.record else {
        panic!("{decoded:?}");
    };
    let arg = event.args.iter().next().unwrap();
    assert_eq!(arg.value, Value::I32(7));
    assert_eq!(arg.extra, &bytes[24..32]);
    let mut written = Vec::new();
    decoded.encode(&mut written).unwrap();
    assert_eq!(written, bytes);
}
